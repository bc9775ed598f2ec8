"""Keys and filters: key groups that need not be read, and rows that need not be handed over.

They come as the source's options ``keys`` and ``keyGroups``, which are exact, or from Spark, which pushes filters down and
applies them once more to whatever comes, so that leaving out too little is never wrong. A key lies in one key group, so
a query for some keys needs no other key groups; fields of a key that is a struct count alike if filters name each of them.
Comparisons of ``key_group`` do it directly. What is left of Spark's filters is applied before rows go to the JVM, on columns
whose values compare there as they do here.

Filters are known by their class' name and fields, since PySpark 4.0 has no such classes. Knows no files; imports pyarrow.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from serializers import SerializerSnapshot
from stateextract.columnar.convert.policy import Policy
from stateextract.errors import UsageError
from stateextract.state.keys.key_groups import key_scalar
from stateextract.state.keys.lookup import groups_by_serializer

KEY, KEY_GROUP = "key", "key_group"
_MOST_KEYS = 10_000
_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "EqualTo": pc.equal,
    "EqualNullSafe": pc.equal,
    "GreaterThan": pc.greater,
    "GreaterThanOrEqual": pc.greater_equal,
    "LessThan": pc.less,
    "LessThanOrEqual": pc.less_equal,
}


@dataclass(frozen=True)
class RowFilter:
    """A comparison that every row has to pass.

    :param path: a column, then fields of structs.
    :param kind: the class of Spark's filter.
    :param values: of the column's type; several for ``In``.
    """

    path: tuple[str, ...]
    kind: str
    values: tuple[pa.Scalar, ...]

    def mask(self, batch: pa.RecordBatch) -> pa.BooleanArray:
        """Which rows pass; null where the column is."""
        column = batch.column(self.path[0])
        if len(self.path) > 1:
            column = pc.struct_field(column, list(self.path[1:]))
        if self.kind == "In":
            return pc.is_in(column, pa.array([v.as_py() for v in self.values], self.values[0].type))
        return _COMPARISONS[self.kind](column, self.values[0])


def row_filters(filters: Iterable[Any], schema: pa.Schema) -> tuple[RowFilter, ...]:
    """Those of Spark's filters that can be applied here.

    :param schema: the columns that there are.
    """
    return tuple(f for f in (_row_filter(filter_, schema) for filter_ in filters) if f is not None)


def _row_filter(filter_: Any, schema: pa.Schema) -> RowFilter | None:
    kind = type(filter_).__name__
    if kind not in _COMPARISONS and kind != "In":
        return None
    path = tuple(filter_.attribute)
    type_ = _type_at(path, schema)
    if type_ is None or not _compares_alike(type_):
        return None
    raw = filter_.value if kind == "In" else (filter_.value,)
    values = _scalars((v for v in raw if v is not None), type_)
    return RowFilter(path, kind, values) if values else None


def _type_at(path: Sequence[str], schema: pa.Schema) -> pa.DataType | None:
    type_: pa.DataType = pa.struct(list(schema))
    for step in path:
        index = type_.get_field_index(step) if pa.types.is_struct(type_) else -1
        if index < 0:
            return None
        type_ = type_.field(index).type
    return type_


def _compares_alike(type_: pa.DataType) -> bool:
    """Whether Arrow orders such values as Spark does; floating point it does not."""
    kinds = (pa.types.is_integer, pa.types.is_string, pa.types.is_boolean, pa.types.is_timestamp, pa.types.is_date)
    return any(is_(type_) for is_ in kinds)


def _scalars(values: Iterable[Any], type_: pa.DataType) -> tuple[pa.Scalar, ...] | None:
    """Values of a column's type; ``None`` where one is not of it."""
    try:
        return tuple(key_scalar(value, type_) for value in values)
    except UsageError:
        return None


# -- key groups


def selected_key_groups(
    filters: Sequence[Any], schema: pa.Schema, max_parallelism: int, policy: Policy
) -> Callable[[SerializerSnapshot | None], frozenset[int] | None]:
    """The key groups that can hold rows which pass, for a file by the serializer of its keys; ``None``: any.

    :param schema: with the column ``key``, as the filters see it.
    """
    numbers = _numbers(filters, max_parallelism) if KEY_GROUP in schema.names else None
    return groups_by_serializer(_keys(filters, schema), numbers, max_parallelism, policy)


def _keys(filters: Sequence[Any], schema: pa.Schema) -> list[pa.Scalar] | None:
    """The keys that a row may have; ``None`` if they are not known."""
    if KEY not in schema.names:
        return None
    type_ = schema.field(KEY).type
    known: dict[tuple[str, ...], list[Any]] = {}
    for path, values in _equalities(filters):
        if path[0] == KEY and (path not in known or len(values) < len(known[path])):
            known[path] = values
    found = _candidates((KEY,), type_, known)
    if found is None:
        return None
    try:
        return [key_scalar(value, type_) for value in found]
    except UsageError:
        return None


def _candidates(
    path: tuple[str, ...], type_: pa.DataType, known: Mapping[tuple[str, ...], list[Any]]
) -> list[Any] | None:
    """The values that a column or field may have, from what the filters say of it or of all its fields."""
    if path in known:
        return known[path]
    if not pa.types.is_struct(type_):
        return None
    fields = [_candidates((*path, f.name), f.type, known) for f in type_]
    if any(values is None for values in fields) or math.prod(len(v or ()) for v in fields) > _MOST_KEYS:
        return None
    names = [f.name for f in type_]
    return [dict(zip(names, values, strict=True)) for values in itertools.product(*(v or () for v in fields))]


def _equalities(filters: Sequence[Any]) -> Iterator[tuple[tuple[str, ...], list[Any]]]:
    for filter_ in filters:
        match type(filter_).__name__:
            case "EqualTo" | "EqualNullSafe":
                yield tuple(filter_.attribute), [filter_.value]
            case "In":
                yield tuple(filter_.attribute), [v for v in filter_.value if v is not None]
            case "IsNull":
                yield tuple(filter_.attribute), [None]


def _numbers(filters: Sequence[Any], max_parallelism: int) -> frozenset[int] | None:
    """The key groups that comparisons of the column ``key_group`` leave; ``None``: all."""
    schema = pa.schema([pa.field(KEY_GROUP, pa.int32())])
    own = [f for f in row_filters(filters, schema) if f.path == (KEY_GROUP,)]
    if not own:
        return None
    batch = pa.record_batch([pa.array(range(max_parallelism), pa.int32())], schema=schema)
    for f in own:
        batch = batch.filter(f.mask(batch))
    return frozenset(batch.column(0).to_pylist())
