"""States as a changelog knows them: where the parts of their records end, and which operations they take.

A :class:`ChangedState` is made once for each distinct declaration. May import heads, rows and layouts; applies nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

from serializers import DescribeContext
from stateextract.columnar.layout import Layout, List, Map, Nullable, Struct
from stateextract.columnar.layout.value_end import ValueEnd, value_end_of
from stateextract.errors import UnsupportedError
from stateextract.state.header import KeyedHeader, StateMeta
from stateextract.state.row_layout import RowLayout, row_layout
from stateextract.state.state_columns import value_layout

VALUE, LIST, MAP, MERGED, QUEUE = "value", "list", "map", "merged", "queue"
"""Shapes: what the changes of a state do to its rows. ``MERGED``: reducing and aggregating state."""

_SHAPES = {"VALUE": VALUE, "LIST": LIST, "MAP": MAP, "REDUCING": MERGED, "AGGREGATING": MERGED}


@dataclass(frozen=True, eq=False)
class ChangedState:
    """One state by one declaration.

    :param row: the layout of its entries.
    :param shape: one of those above.
    :param key: and ``namespace``, ``value``: where those end.
    :param element: of a list, where an element ends; of a queue, where that does.
    :param user_key: and ``user_value``: of a map, where those end, a null's flag not included.
    """

    meta: StateMeta
    row: RowLayout
    shape: str
    key: ValueEnd
    namespace: ValueEnd
    value: ValueEnd
    element: ValueEnd
    user_key: ValueEnd
    user_value: ValueEnd

    @property
    def name(self) -> str:
        return self.row.name

    def same_values(self, other: ChangedState) -> bool:
        """Whether values of both have the same bytes, so that parts of them can be in one value."""
        return self is other or self.meta == other.meta or self.row.layout == other.row.layout

    def same_user_keys(self, other: ChangedState) -> bool:
        """Whether the user keys of both, which are maps, have the same bytes."""
        mine, theirs = value_layout(self.row), value_layout(other.row)
        return self is other or (isinstance(mine, Map) and isinstance(theirs, Map) and mine.key == theirs.key)


def changed_state(header: KeyedHeader, meta: StateMeta, context: DescribeContext) -> ChangedState:
    """A state as its declaration says.

    :param header: the head that has ``meta``.
    :raises UnsupportedError: for kinds of state and serializers of lists and maps that no changelog is known to have.
    """
    row = row_layout(header, meta, context)
    fields = {field.name: field.layout for field in row.layout.fields}
    nothing = Struct(())
    shape = QUEUE if meta.backend_type == "PRIORITY_QUEUE" else _SHAPES.get(row.kind)
    value = value_layout(row) or nothing
    element: Layout = row.layout if shape == QUEUE else nothing
    user_key: Layout = nothing
    user_value: Layout = nothing
    if shape == LIST and isinstance(value, List) and not value.blocks and not value.null_mask:
        element = value.element
    elif shape == MAP and isinstance(value, Map) and isinstance(value.value, Nullable) and not value.blocks:
        user_key, user_value = value.key, value.value.inner
    elif shape is None or shape in (LIST, MAP):
        raise UnsupportedError(
            f"changes of {row.kind} state with the serializer {row.value_serializer.class_name} are not understood"
        )
    parts = (fields.get("key", nothing), fields.get("namespace", nothing), value, element, user_key, user_value)
    return ChangedState(meta, row, shape, *map(value_end_of, parts))
