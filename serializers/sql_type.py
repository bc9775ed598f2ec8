"""SQL's types and the names of rows' fields, as plain values that travel to the tasks.

Both come from several places (Java objects in snapshots, compiled plans, files) and are used in others; here is only what
they are. Imports nothing of the project.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

ANYWHERE = "*"
"""In a path: any row below."""
PATTERN = "re:"
"""A state that begins so is a regular expression for names of states."""


@dataclass(frozen=True)
class LogicalType:
    """A type of SQL.

    :param root: name of the constant of ``LogicalTypeRoot``; empty where the object is not a type that is known.
    :param class_name: Java class.
    :param nullable: as declared; only the bytes of a value show whether it is null.
    :param precision: digits of decimals, times and timestamps.
    :param scale: digits after a decimal's point.
    :param children: element, key and value, fields, attributes, or the source of a distinct type.
    :param names: of the fields or attributes.
    """

    root: str
    class_name: str
    nullable: bool = True
    precision: int = 0
    scale: int = 0
    children: tuple[LogicalType, ...] = ()
    names: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.root or self.class_name


@dataclass(frozen=True)
class NameRule:
    """The names of one row's fields.

    :param operator: id of the operator.
    :param state: name of the state; empty: all of the operator; after ``re:`` an expression for the names.
    :param path: the column (``key``, ``namespace``, ``value``) and the way down from there, by dots: ``element``,
        ``key``, ``value``, or a field's name; ``*`` after the column: every row with these types.
    :param names: of the fields, in order.
    :param types: of the fields: a row whose columns have others is left alone. Empty: only the number counts, and a row
        of another number is an error.
    """

    operator: str
    state: str
    path: tuple[str, ...]
    names: tuple[str, ...]
    types: tuple[LogicalType, ...] = ()


def encode_rules(rules: Sequence[NameRule]) -> list[Any]:
    """Plain lists and strings; the inverse of :func:`decode_rules`."""
    return [[r.operator, r.state, list(r.path), list(r.names), [_encode(t) for t in r.types]] for r in rules]


def decode_rules(values: Sequence[Any]) -> tuple[NameRule, ...]:
    """The inverse of :func:`encode_rules`."""
    return tuple(
        NameRule(operator, state, tuple(path), tuple(names), tuple(map(_decode, types)))
        for operator, state, path, names, types in values
    )


def _encode(t: LogicalType) -> list[Any]:
    return [t.root, t.class_name, t.nullable, t.precision, t.scale, [_encode(c) for c in t.children], list(t.names)]


def _decode(values: Sequence[Any]) -> LogicalType:
    root, class_name, nullable, precision, scale, children, names = values
    return LogicalType(root, class_name, nullable, precision, scale, tuple(map(_decode, children)), tuple(names))
