"""The schema that two snapshots of a state are compared with, and how they differ.

Both are united like the schemas of one state's files (``columnar/arrow/unite_schemas.py``). Where a type changed and no
number holds all values of both, both become text. May import pyarrow, schemas and errors.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from stateextract.columnar.arrow.unite_schemas import LAST_ACCESS, VALUE, merge_schemas, ttl_value
from stateextract.diff.comparable_types import ELEMENT
from stateextract.errors import UnsupportedError

ADDED, REMOVED, RETYPED = "added", "removed", "retyped"


@dataclass(frozen=True)
class SchemaChange:
    """A column or field that is not the same on both sides.

    :param place: names of columns and fields; ``element`` is what is in a list or map, of maps ``struct<key, value>``.
    :param before: its type; ``None``: there was none. :param after: likewise.
    """

    place: tuple[str, ...]
    before: str | None
    after: str | None

    @property
    def path(self) -> str:
        """The names, separated by dots."""
        return ".".join(self.place)

    @property
    def change(self) -> str:
        """``added``, ``removed`` or ``retyped``."""
        return ADDED if self.before is None else REMOVED if self.after is None else RETYPED

    def __str__(self) -> str:
        if self.before is None:
            return f"{self.path} added ({self.after})"
        if self.after is None:
            return f"{self.path} removed ({self.before})"
        return f"{self.path} {self.before} → {self.after}"


def schema_changes(before: pa.Schema, after: pa.Schema) -> list[SchemaChange]:
    """What differs between two schemas, in the order of columns."""
    return list(_changes(pa.struct(list(before)), pa.struct(list(after)), ()))


def _changes(a: pa.DataType, b: pa.DataType, place: tuple[str, ...]) -> Iterator[SchemaChange]:
    if a == b:
        return
    if ttl_value(b, a, _as_text) is not None:
        yield SchemaChange((*place, LAST_ACCESS), None, str(b.field(LAST_ACCESS).type))
        yield from _changes(a, b.field(VALUE).type, (*place, VALUE))
    elif ttl_value(a, b, _as_text) is not None:
        yield SchemaChange((*place, LAST_ACCESS), str(a.field(LAST_ACCESS).type), None)
        yield from _changes(a.field(VALUE).type, b, (*place, VALUE))
    elif pa.types.is_struct(a) and pa.types.is_struct(b):
        yield from _field_changes({f.name: f.type for f in a}, {f.name: f.type for f in b}, place)
    elif pa.types.is_map(a) and pa.types.is_map(b):
        yield from _changes(a.key_type, b.key_type, (*place, ELEMENT, "key"))
        yield from _changes(a.item_type, b.item_type, (*place, ELEMENT, "value"))
    elif pa.types.is_list(a) and pa.types.is_list(b):
        yield from _changes(a.value_type, b.value_type, (*place, ELEMENT))
    else:
        yield SchemaChange(place, str(a), str(b))


def _field_changes(
    a: dict[str, pa.DataType], b: dict[str, pa.DataType], place: tuple[str, ...]
) -> Iterator[SchemaChange]:
    for name in dict.fromkeys([*a, *b]):
        where = (*place, name)
        if name not in a:
            yield SchemaChange(where, None, str(b[name]))
        elif name not in b:
            yield SchemaChange(where, str(a[name]), None)
        else:
            yield from _changes(a[name], b[name], where)


def merged_schema(before: pa.Schema, after: pa.Schema) -> pa.Schema:
    """The schema that holds the rows of both.

    :raises UnsupportedError: where a column is nested on one side and something else on the other.
    """
    return merge_schemas([before, after], _as_text)


def _as_text(a: pa.DataType, b: pa.DataType, path: str) -> pa.DataType:
    """Text holds the values of any two types that are not nested."""
    if pa.types.is_nested(a) or pa.types.is_nested(b):
        raise UnsupportedError(f"{path} was {a} and is {b}, which cannot be compared")
    return pa.binary() if pa.types.is_binary(a) or pa.types.is_binary(b) else pa.string()
