"""Names of fields that snapshots do not hold: those of SQL's rows, of tuples and of rows, given from outside.

A ``NameRule`` names the fields of one row in one state of one operator; ``named_row`` gives a layout with the names
in their places. Where no rule fits, ``f0``, ``f1``, … stay. Rules come out of a compiled plan or of a file
(``stateextract/state/plan_names.py``). Plain values; knows no bytes and no files.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from serializers.logical_types import in_row
from serializers.names import Names
from serializers.sql_type import ANYWHERE, PATTERN, LogicalType, NameRule
from stateextract.columnar.layout import (
    Case,
    Field,
    Layout,
    List,
    ListValue,
    Map,
    MapValue,
    Nullable,
    RowValue,
    Struct,
    Switch,
)
from stateextract.columnar.layout.binary import BinaryRow, Framed
from stateextract.errors import UsageError


def named_row(layout: Struct, state: str, rules: Sequence[NameRule]) -> Struct:
    """The layout of a state's entries with the names that the rules for the state give; the first that fits wins."""
    mine = [rule for rule in rules if _concerns(rule, state)]
    if not mine:
        return layout
    parts = []
    for f in layout.fields:
        part = f.layout
        for rule in mine:
            if rule.path[0] == f.name and rule.path[1:] != (ANYWHERE,):
                part = _at(part, rule.path[1:], rule, state)
        found = [rule for rule in mine if rule.path == (f.name, ANYWHERE)]
        parts.append(Field(f.name, _everywhere(part, found) if found else part))
    return Struct(tuple(parts))


def _concerns(rule: NameRule, state: str) -> bool:
    if rule.state.startswith(PATTERN):
        return re.fullmatch(rule.state.removeprefix(PATTERN), state) is not None
    return rule.state in ("", state)


# ---- one row, by its path


def _at(layout: Layout, path: tuple[str, ...], rule: NameRule, state: str) -> Layout:
    if path == (ANYWHERE,):
        return _everywhere(layout, [rule])
    if isinstance(layout, Nullable | Framed):
        return replace(layout, inner=_at(layout.inner, path, rule, state))
    if _is_ttl(layout) and path[:1] != ("value",):
        return _at(layout, ("value", *path), rule, state)
    if not path:
        if isinstance(layout, RowValue | Struct) and len(layout.fields) == len(rule.names):
            return _renamed(layout, rule.names)
        have = len(layout.fields) if isinstance(layout, RowValue | Struct) else 0
        raise UsageError(
            f"the names of {'.'.join(rule.path)} are {len(rule.names)}", expected=f"{have}", state=state,
            advice="give a name for each field, in order",
        )  # fmt: skip
    step, rest = path[0], path[1:]
    if isinstance(layout, ListValue) and step == "element":
        return replace(layout, element=_at(layout.element, rest, rule, state))
    if isinstance(layout, MapValue) and step in ("key", "value"):
        if step == "key":
            return replace(layout, key=_at(layout.key, rest, rule, state))
        return replace(layout, value=_at(layout.value, rest, rule, state))
    if isinstance(layout, RowValue | Struct) and any(f.name == step for f in layout.fields):
        fields = [Field(f.name, _at(f.layout, rest, rule, state)) if f.name == step else f for f in layout.fields]
        return replace(layout, fields=tuple(fields))
    if rule.path[-1] == ANYWHERE:  # of a plan, which may be of another job
        return layout
    raise UsageError(f"there is no {'.'.join(rule.path)} to be named", state=state, advice=f"{step!r} is not found")


def _is_ttl(layout: Layout) -> bool:
    return isinstance(layout, Struct) and [f.name for f in layout.fields] == ["last_access", "value"]


def _renamed(layout: RowValue | Struct, names: Sequence[str]) -> Layout:
    kind = isinstance(layout, RowValue) and layout.kind
    free = Names([RowValue.KIND_FIELD] if kind else [])
    fields = tuple(Field(free.take(name), f.layout) for name, f in zip(names, layout.fields, strict=True))
    return replace(layout, fields=fields)


# ---- every row that has the types


def _everywhere(node: Layout, rules: Sequence[NameRule]) -> Layout:
    match node:
        case BinaryRow():
            return next((_renamed(node, rule.names) for rule in rules if _has_types(node, rule)), node)
        case Nullable() | Framed():
            return replace(node, inner=_everywhere(node.inner, rules))
        case List():
            return replace(node, element=_everywhere(node.element, rules))
        case Map():
            return replace(node, key=_everywhere(node.key, rules), value=_everywhere(node.value, rules))
        case Struct():
            return replace(node, fields=_fields(node.fields, rules))
        case Switch():
            return replace(node, cases=tuple(Case(c.tag, _fields(c.fields, rules)) for c in node.cases))
    return node


def _fields(group: Sequence[Field], rules: Sequence[NameRule]) -> tuple[Field, ...]:
    return tuple(Field(f.name, _everywhere(f.layout, rules)) for f in group)


def _has_types(row: BinaryRow, rule: NameRule) -> bool:
    return len(row.fields) == len(rule.types) and all(
        _agrees(type_, f.layout) for type_, f in zip(rule.types, row.fields, strict=True)
    )


def _agrees(type_: LogicalType, layout: Layout) -> bool:
    """Where a plan does not record a part of a type, any column agrees."""
    return type_.root in ("", "RAW") or in_row(type_).arrow_type == layout.arrow_type
