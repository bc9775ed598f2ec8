"""Narrow rows: layouts of entries of which only some columns are wanted.

What is not selected is skipped (``SkippedValue``), so it costs no column and hardly any time; fields of structs below a column
are left out alike. Some parts are needed for others: a map's length says whether its row is there at all, and rows that
are flattened follow the elements.

May import layouts, rows and columns; knows no bytes.
"""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from stateextract.columnar.layout import (
    Field,
    Layout,
    List,
    Map,
    MaskedStruct,
    Nullable,
    SkippedValue,
    Struct,
    Subclass,
    Subclasses,
)
from stateextract.state.row_layout import RowLayout
from stateextract.state.state_columns import ReadOptions, flattens, splits_ttl


def project_row(row: RowLayout, options: ReadOptions) -> RowLayout:
    """The row without what is not wanted of it; the row itself where everything is."""
    selected = None if options.columns is None else options.columns.get(row.name)
    if selected is None:
        return row
    fields = tuple(Field(f.name, _part(f, row, selected, options)) for f in row.layout.fields)
    return replace(row, layout=Struct(fields))


def _part(field: Field, row: RowLayout, selected: pa.Schema, options: ReadOptions) -> Layout:
    layout = field.layout
    if layout.arrow_type is None:
        return layout
    match field.name:
        case "timestamp" if row.kind == "TIMER":
            return layout if {"timestamp", "timestamp_ms"} & set(selected.names) else SkippedValue(layout)
        case "namespace" if set(row.window_columns) & set(selected.names):
            return layout
        case "value" if options.flatten and flattens(row):
            return _elements(layout, selected)
        case "value" if splits_ttl(row, options) and {"value", "last_access"} & set(selected.names):
            return layout
        case "value" if row.kind == "MAP" and isinstance(layout, Map):
            # Its entries are counted: an empty map may be no row, and in pairs each entry is one of its own.
            return projected(layout, _type(selected, "value")) if "value" in selected.names else _counted(layout)
    return projected(layout, _type(selected, field.name))


def _type(selected: pa.Schema, name: str) -> pa.DataType | None:
    return selected.field(name).type if name in selected.names else None


def _elements(layout: Layout, selected: pa.Schema) -> Layout:
    """Lists and maps whose elements become rows."""
    value = {"value", "last_access"} & set(selected.names)
    if isinstance(layout, List):
        return layout if value else replace(layout, element=SkippedValue(layout.element))
    assert isinstance(layout, Map)
    projected = layout if "map_key" in selected.names else replace(layout, key=SkippedValue(layout.key))
    return projected if value else _without_values(projected)


def _counted(layout: Map) -> Map:
    """A map of which only the number of entries is known."""
    return _without_values(replace(layout, key=SkippedValue(layout.key)))


def _without_values(layout: Map) -> Map:
    value = layout.value
    # Pairs have a flag before a map's value, whatever becomes of the rest.
    projected = replace(value, inner=SkippedValue(value.inner)) if isinstance(value, Nullable) else SkippedValue(value)
    return replace(layout, value=projected)


def projected(layout: Layout, selected: pa.DataType | None) -> Layout:
    """A layout with those fields of its structs only that a type has.

    :param selected: what is wanted of the column; ``None``: nothing, so it is skipped.
    """
    if selected is None:
        return SkippedValue(layout)
    match layout:
        case Nullable():
            return replace(layout, inner=projected(layout.inner, selected))
        case Struct() | MaskedStruct() if pa.types.is_struct(selected):
            return replace(layout, fields=_fields(layout.fields, selected))
        case Subclasses() if pa.types.is_struct(selected):
            below = tuple(Subclass(s.class_name, s.tag, _fields(s.fields, selected)) for s in layout.subclasses)
            return replace(layout, fields=_fields(layout.fields, selected), subclasses=below)
    return layout


def _fields(fields: tuple[Field, ...], selected: pa.StructType) -> tuple[Field, ...]:
    names = {f.name: f.type for f in selected}
    return tuple(
        f if f.layout.wire_type is None else Field(f.name, projected(f.layout, names.get(f.name))) for f in fields
    )
