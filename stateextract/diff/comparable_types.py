"""What of a column's type a comparison must know beyond Arrow's: where order means nothing, and what is not compared.

A set comes as a list, and a map whose keys may be null as a list of ``struct<key, value>``: Arrow's type does not show that
their order is that of a hash table. The layout does. May import layouts.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from stateextract.columnar.layout import (
    Field,
    Layout,
    List,
    Logical,
    Map,
    MaskedStruct,
    Nullable,
    Python,
    SkippedValue,
    Struct,
    Subclasses,
    Switch,
)
from stateextract.columnar.layout.binary import BinaryArray, BinaryMap, BinaryRow, Framed
from stateextract.state.row_layout import RowLayout

ELEMENT = "element"
LAST_ACCESS = "last_access"


@dataclass(frozen=True)
class Shape:
    """Of one column, or part of one.

    :param unordered: the order of the elements means nothing.
    :param ignored: differences do not count.
    :param children: by the name of a struct's field; of a list or map under :data:`ELEMENT`, a map's element being
        ``struct<key, value>``.
    """

    unordered: bool = False
    ignored: bool = False
    children: Mapping[str, Shape] = field(default_factory=dict)

    def of(self, name: str) -> Shape:
        """The shape of a part."""
        return self.children.get(name, PLAIN)


PLAIN = Shape()


def merged(shapes: Iterable[Shape]) -> Shape:
    """What is unordered or ignored in one of them is so in the result."""
    result = PLAIN
    for shape in shapes:
        names = dict.fromkeys([*result.children, *shape.children])
        children = {name: merged_pair(result.of(name), shape.of(name)) for name in names}
        result = Shape(result.unordered or shape.unordered, result.ignored or shape.ignored, children)
    return result


def merged_pair(a: Shape, b: Shape) -> Shape:
    """:func:`merged` of two."""
    if a is PLAIN or a == b:
        return b
    return a if b is PLAIN else merged([a, b])


def row_shape(row: RowLayout, flatten: bool, last_access: bool) -> Shape:
    """The shape of a state's columns, by their names.

    :param flatten: the rows are those of elements or entries.
    :param last_access: whether a mere change of the last access counts.
    """
    columns = dict(_fields(row.layout.fields).children)
    hidden = Shape(ignored=not last_access)
    value = columns.get("value", PLAIN)
    within = row.ttl and not row.splits_ttl and row.kind in ("LIST", "MAP")
    if flatten and row.kind in ("LIST", "MAP"):
        element = value.of(ELEMENT)
        columns["map_key"], columns["value"] = element.of("key"), element
        if row.kind == "MAP":
            columns["value"] = element.of("value")
        if within:
            columns["value"] = columns["value"].of("value")
    elif row.splits_ttl:
        columns["value"] = value.of("value")
    elif within:
        element = value.of(ELEMENT)
        path = ["value", LAST_ACCESS] if row.kind == "MAP" else [LAST_ACCESS]
        columns["value"] = Shape(value.unordered, value.ignored, {ELEMENT: _with(element, path, hidden)})
    columns[LAST_ACCESS] = hidden
    return Shape(children=columns)


def hidden_at(shape: Shape, place: Sequence[str]) -> Shape:
    """The shape without what is at a place, by the names of columns and fields."""
    return _with(shape, place, Shape(ignored=True))


def _with(shape: Shape, path: Sequence[str], what: Shape) -> Shape:
    """The shape with another one at the end of a path."""
    if not path:
        return what
    children = {**shape.children, path[0]: _with(shape.of(path[0]), path[1:], what)}
    return Shape(shape.unordered, shape.ignored, children)


def layout_shape(layout: Layout) -> Shape:
    """The shape of what a layout describes."""
    match layout:
        case Map() | BinaryMap():
            return Shape(True, children={ELEMENT: _fields([Field("key", layout.key), Field("value", layout.value)])})
        case List():
            element = layout_shape(layout.element)
            return Shape(layout.unordered, children={} if element is PLAIN else {ELEMENT: element})
        case BinaryArray():
            element = layout_shape(layout.element)
            return PLAIN if element is PLAIN else Shape(children={ELEMENT: element})
        case Struct() | MaskedStruct() | BinaryRow():
            return _fields(layout.fields)
        case Switch():
            return merged(_fields(case.fields) for case in layout.cases)
        case Subclasses():
            return merged([_fields(layout.fields), *(_fields(below.fields) for below in layout.subclasses)])
        case Nullable() | Framed() | Logical() | SkippedValue():
            return layout_shape(layout.inner)
        case Python() if layout.inner is not None:
            return layout_shape(layout.inner)
    return PLAIN


def _fields(fields: Iterable[Field]) -> Shape:
    children = {f.name: layout_shape(f.layout) for f in fields}
    children = {name: shape for name, shape in children.items() if shape is not PLAIN}
    return Shape(children=children) if children else PLAIN
