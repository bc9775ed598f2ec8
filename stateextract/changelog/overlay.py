"""The overlay: what the changes of some key groups make of their states, over what was materialized.

:meth:`Overlay.apply` takes the records in order. Each is ``u8 operation · i16 state id``, then for key-value state key,
namespace and operands, for queues the operands at once; ``S`` is the state's value serializer::

    0 CLEAR                                          all key-value state
    1 SET                    S                       value; list, where an empty one removes the row
    2 SET_INTERNAL           S                       reducing, aggregating
    3 ADD                    S                       list: append all; map: put all
    4 MERGE_NS               target · i32 n · sources × n        list, reducing, aggregating
    5 ADD_ELEMENT            element                 list; queue: i32 n · element × n
    6 ADD_OR_UPDATE_ELEMENT  user key · user value   map
    7 REMOVE_ELEMENT         user key                map; queue: element
    8 METADATA                                       ``declared.py``

Keys are equal if their bytes are. What changes need of the materialized rows is not looked up but noted: a row of the
overlay says which materialized values are parts of it, and the caller that reads those gives them when he comes to them
(``base.py``). Only what is left of the changes is kept: a value is held once however often it was set.

Flink's classes: ``ChangelogBackendLogApplier``, ``KvStateChangeApplier`` and its kin, ``KeyGroupedInternalPriorityQueue``
and ``PriorityQueueStateChangeApplier``.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from stateextract.changelog.changed_rows import PART_COST, ROW_COST, MapRow, ValuePart, ValueRow, Written
from stateextract.changelog.changed_states import LIST, MAP, MERGED, QUEUE, VALUE, ChangedState
from stateextract.changelog.declared import parse_declaration
from stateextract.changelog.records import METADATA_GROUP, Change, Operation
from stateextract.columnar.convert.policy import MAX_VALUE_BYTES
from stateextract.errors import (
    FormatError,
    StateExtractError,
    TruncatedError,
    UndecodableError,
    UnsupportedError,
    ValueRefusedError,
)

Declare: TypeAlias = Callable[[bytes], ChangedState]
"""Makes a state of the bytes of its meta."""

_HEAD = 3  # bytes of operation and state id
_LARGE_ADVICE = "set --max-value-bytes to a larger size if there is the memory for it"


class Identity(Protocol):
    """The identity of rows: the bytes that identify materialized entries."""

    def of(self, group: int, key: bytes, namespace: bytes) -> bytes: ...


@dataclass(eq=False)
class StateOverlay:
    """The changes of one state.

    :param state: by its last declaration.
    :param rows: by id; :param queue: of a queue, by element its key group, or -1 - that where it was removed.
    :param counts: records applied, by key group; :param sizes: their bytes.
    :param broken: why a record could not be understood; then nothing is known of the state any more.
    :param refused: that record and all of the state that came after it; :param lost: how many had been applied before.
    """

    state: ChangedState
    rows: dict[bytes, ValueRow | MapRow] = field(default_factory=dict)
    queue: dict[bytes, int] = field(default_factory=dict)
    counts: Counter[int] = field(default_factory=Counter)
    sizes: Counter[int] = field(default_factory=Counter)
    broken: UndecodableError | None = None
    refused: list[Change] = field(default_factory=list)
    lost: int = 0

    @property
    def name(self) -> str:
        return self.state.name

    @property
    def shape(self) -> str:
        return self.state.shape


class Overlay:
    """Changes of some key groups.

    ``held``: bytes of memory that it takes, at most about.

    :param selected: names of the states whose changes are applied.
    :param declare: makes a state of its meta's bytes.
    :param identity: makes the id of a row, for a state.
    :param empty_maps: putting nothing into a map that is not there makes an empty one.
    :param most: bytes of the largest list.
    """

    def __init__(
        self,
        selected: Collection[str],
        declare: Declare,
        identity: Callable[[ChangedState], Identity],
        empty_maps: bool = True,
        most: int = MAX_VALUE_BYTES,
    ) -> None:
        self.states: dict[str, StateOverlay] = {}
        self.held = 0
        self._selected = selected
        self._declare = declare
        self._identity = identity
        self.empty_maps = empty_maps
        self.most = most
        self._bound: dict[int, _Bound | None] = {}

    def apply(self, change: Change) -> None:
        """Apply the next record.

        :raises FormatError: where it cannot be one; with the state if that is known, and the offset in the record.
        """
        group, location, record = change
        if group == METADATA_GROUP:
            self._bind(record)
            return
        if len(record) < _HEAD:
            raise TruncatedError("a change without the id of its state", offset=0, key_group=group)
        operation, state_id = struct.unpack_from(">BH", record)
        if state_id not in self._bound:
            raise FormatError(f"a change of state {state_id}, which was not declared", offset=1, key_group=group)
        bound = self._bound[state_id]
        if bound is None:
            return
        if bound.overlay.broken is not None:
            bound.overlay.refused.append(change)
            self.held += ROW_COST + len(record)
            return
        try:
            apply = _OPERATIONS.get((bound.state.shape, operation))
            if apply is None:
                raise FormatError(f"operation {operation} on {bound.state.row.kind} state", offset=0)
            apply(self, bound, group, location, record)
        except StateExtractError as error:
            raise error.at(state=bound.state.name, key_group=group) from None
        bound.overlay.counts[group] += 1
        bound.overlay.sizes[group] += len(record)

    def give_up(self, state: str, change: Change, error: UndecodableError) -> None:
        """A change of the state could not be understood: what it did is not known, so neither is any row."""
        overlay = self.states[state]
        overlay.broken = error
        overlay.lost = sum(overlay.counts.values())
        overlay.rows, overlay.queue, overlay.counts, overlay.sizes = {}, {}, Counter(), Counter()
        overlay.refused.append(change)
        self.held += ROW_COST + len(change.data)

    def keep(self, groups: Collection[int]) -> None:
        """Forget the rows of all other key groups."""
        for state in self.states.values():
            state.rows = {key: row for key, row in state.rows.items() if row.group in groups}
            state.queue = {e: group for e, group in state.queue.items() if max(group, -1 - group) in groups}
            state.refused = [change for change in state.refused if change.key_group in groups]
            for counter in (state.counts, state.sizes):
                for group in counter.keys() - set(groups):
                    del counter[group]
        self.measure()

    def measure(self) -> None:
        """Set ``held`` to the bytes that are held, of which what was overwritten since no longer counts."""
        self.held = sum(map(_held, self.states.values()))

    # -- declarations

    def _bind(self, record: bytes) -> None:
        declaration = parse_declaration(record)
        bound = None
        if declaration.meta.name in self._selected:
            state = self._declare(declaration.data)
            overlay = self.states.setdefault(state.name, StateOverlay(state))
            if overlay.shape != state.shape:
                raise UnsupportedError(
                    f"the state is of another kind than before: {state.row.kind}", state=state.name, offset=0
                )
            overlay.state = state
            bound = _Bound(state, overlay, self._identity(state))
        self._bound[declaration.state_id] = bound

    # -- rows

    def value_row(self, bound: _Bound, group: int, location: int, key: bytes) -> ValueRow:
        """The row with that id; if it was not changed before, it is as it was materialized."""
        row = bound.overlay.rows.get(key)
        if row is None:
            self.held += ROW_COST + len(key)
            row = bound.overlay.rows[key] = ValueRow(group, location, [key])
        elif row.group != group:
            raise _two_groups(row.group)
        assert isinstance(row, ValueRow)
        return row

    def map_row(self, bound: _Bound, group: int, location: int, key: bytes) -> MapRow:
        row = bound.overlay.rows.get(key)
        if row is None:
            self.held += ROW_COST + len(key)
            row = bound.overlay.rows[key] = MapRow(group, location)
        elif row.group != group:
            raise _two_groups(row.group)
        assert isinstance(row, MapRow)
        row.location = location
        return row

    def put(self, bound: _Bound, row: MapRow, user_key: bytes, value: bytes | None) -> None:
        """Put an entry into a map, or remove it."""
        if user_key not in row.entries:
            self.held += PART_COST + len(user_key)
        self.held += len(value or b"")
        row.put(bound.state, user_key, value)


@dataclass(frozen=True, eq=False)
class _Bound:
    """What a state id means."""

    state: ChangedState
    overlay: StateOverlay
    identity: Identity

    def id_at(self, group: int, record: bytes) -> tuple[bytes, bytes, int]:
        """The id of the record's row, the key's bytes, and where the operands begin."""
        end = len(record)
        key_end = self.state.key(record, _HEAD, end)
        namespace_end = self.state.namespace(record, key_end, end)
        key = record[_HEAD:key_end]
        return self.identity.of(group, key, record[key_end:namespace_end]), key, namespace_end


def _two_groups(other: int) -> FormatError:
    return FormatError("the key was changed in another key group before", expected=f"key group {other}", offset=_HEAD)


def _ends(record: bytes, pos: int) -> None:
    if pos != len(record):
        raise FormatError(f"{len(record) - pos} bytes follow a change", offset=pos)


def _count(record: bytes, pos: int, what: str) -> int:
    if len(record) - pos < 4:
        raise TruncatedError(f"the data ends inside the number of {what}", offset=pos)
    count = int.from_bytes(record[pos : pos + 4], "big", signed=True)
    if count < 0:
        raise FormatError(f"a negative number of {what}, {count}", offset=pos)
    return count


# -- operations; each takes the overlay, what the state id means, key group, place and record


def _clear(overlay: Overlay, bound: _Bound, group: int, location: int, record: bytes) -> None:
    row_id, _, pos = bound.id_at(group, record)
    _ends(record, pos)
    overlay.value_row(bound, group, location, row_id).parts = []


def _set(overlay: Overlay, bound: _Bound, group: int, location: int, record: bytes) -> None:
    row_id, _, pos = bound.id_at(group, record)
    row = overlay.value_row(bound, group, location, row_id)
    overlay.held += len(record) - pos + PART_COST
    row.parts = [Written(bound.state, location, 1, record[pos:])]


def _set_list(overlay: Overlay, bound: _Bound, group: int, location: int, record: bytes) -> None:
    row_id, _, pos = bound.id_at(group, record)
    count = _count(record, pos, "elements")
    row = overlay.value_row(bound, group, location, row_id)
    row.parts = []
    if count:
        _append(overlay, bound, row, location, count, record[pos + 4 :])
    else:
        _ends(record, pos + 4)


def _add_all(overlay: Overlay, bound: _Bound, group: int, location: int, record: bytes) -> None:
    row_id, _, pos = bound.id_at(group, record)
    count = _count(record, pos, "elements")
    if count:
        row = overlay.value_row(bound, group, location, row_id)
        _append(overlay, bound, row, location, count, record[pos + 4 :])
    else:
        _ends(record, pos + 4)


def _add(overlay: Overlay, bound: _Bound, group: int, location: int, record: bytes) -> None:
    row_id, _, pos = bound.id_at(group, record)
    row = overlay.value_row(bound, group, location, row_id)
    _append(overlay, bound, row, location, 1, record[pos:])


def _append(overlay: Overlay, bound: _Bound, row: ValueRow, location: int, count: int, data: bytes) -> None:
    overlay.held += len(data)
    last = row.parts[-1] if row.parts else None
    if isinstance(last, Written) and last.state is bound.state:
        last.extend(location, count, data)
        if len(last.data) > overlay.most:
            raise ValueRefusedError(
                f"the changes make a list of at least {len(last.data)} bytes", expected=f"at most {overlay.most}",
                advice=_LARGE_ADVICE,
            )  # fmt: skip
        return
    overlay.held += PART_COST
    row.parts.append(Written(bound.state, location, count, data))


def _merge(overlay: Overlay, bound: _Bound, group: int, location: int, record: bytes) -> None:
    """The record's own namespace is the target, which comes once more."""
    target_id, key, pos = bound.id_at(group, record)
    end = len(record)
    target_end = bound.state.namespace(record, pos, end)
    again = record[pos:target_end]
    if bound.identity.of(group, key, again) != target_id:
        raise FormatError("namespaces are merged into another one than the change's own", offset=pos)
    count = _count(record, target_end, "namespaces")
    pos = target_end + 4
    merged: list[ValuePart] = []
    for _ in range(count):
        namespace_end = bound.state.namespace(record, pos, end)
        if namespace_end == pos:
            raise FormatError("namespaces without bytes are merged", offset=pos)
        source = overlay.value_row(bound, group, location, bound.identity.of(group, key, record[pos:namespace_end]))
        merged += source.parts
        source.parts = []
        pos = namespace_end
    _ends(record, pos)
    if merged:
        target = overlay.value_row(bound, group, location, target_id)
        overlay.held += 8 * len(merged)
        target.parts = [*target.parts, *merged]
        target.location = location


def _clear_map(overlay: Overlay, bound: _Bound, group: int, location: int, record: bytes) -> None:
    row_id, _, pos = bound.id_at(group, record)
    _ends(record, pos)
    row = overlay.map_row(bound, group, location, row_id)
    row.clear()


def _put_all(overlay: Overlay, bound: _Bound, group: int, location: int, record: bytes) -> None:
    row_id, _, pos = bound.id_at(group, record)
    count = _count(record, pos, "entries")
    pos += 4
    if not count:
        _ends(record, pos)
        if overlay.empty_maps:
            overlay.map_row(bound, group, location, row_id).stays_empty = True
        return
    row = overlay.map_row(bound, group, location, row_id)
    end = len(record)
    for left in range(count, 0, -1):
        value_start = bound.state.user_key(record, pos, end)
        if value_start >= end:
            raise TruncatedError(f"the data ends inside {left} entries", offset=pos)
        # The last one is what is left, so its value need not be understood.
        is_null = record[value_start] != 0
        after = value_start + 1
        if not is_null:
            after = end if left == 1 else bound.state.user_value(record, after, end)
        value = b"\x01" if is_null else record[value_start:after]
        overlay.put(bound, row, record[pos:value_start], value)
        pos = after
    _ends(record, pos)


def _put(overlay: Overlay, bound: _Bound, group: int, location: int, record: bytes) -> None:
    row_id, _, pos = bound.id_at(group, record)
    value_start = bound.state.user_key(record, pos, len(record))
    row = overlay.map_row(bound, group, location, row_id)
    overlay.put(bound, row, record[pos:value_start], b"\x00" + record[value_start:])


def _remove(overlay: Overlay, bound: _Bound, group: int, location: int, record: bytes) -> None:
    row_id, _, pos = bound.id_at(group, record)
    _ends(record, bound.state.user_key(record, pos, len(record)))
    row = overlay.map_row(bound, group, location, row_id)
    row.stays_empty = False
    overlay.put(bound, row, record[pos:], None)


def _register(overlay: Overlay, bound: _Bound, group: int, location: int, record: bytes) -> None:
    count = _count(record, _HEAD, "elements")
    pos, end = _HEAD + 4, len(record)
    for _ in range(count):
        after = bound.state.element(record, pos, end)
        if after == pos:
            raise FormatError("elements without bytes", offset=pos)
        _queue(overlay, bound, group, record[pos:after])
        pos = after
    _ends(record, pos)


def _poll(overlay: Overlay, bound: _Bound, group: int, location: int, record: bytes) -> None:
    _ends(record, bound.state.element(record, _HEAD, len(record)))
    _queue(overlay, bound, -1 - group, record[_HEAD:])


def _queue(overlay: Overlay, bound: _Bound, group: int, element: bytes) -> None:
    queue = bound.overlay.queue
    if element not in queue:
        overlay.held += PART_COST + len(element)
    queue[element] = group


_Apply: TypeAlias = Callable[[Overlay, _Bound, int, int, bytes], None]

_OPERATIONS: dict[tuple[str, int], _Apply] = {
    (VALUE, Operation.CLEAR): _clear,
    (VALUE, Operation.SET): _set,
    (LIST, Operation.CLEAR): _clear,
    (LIST, Operation.SET): _set_list,
    (LIST, Operation.SET_INTERNAL): _set_list,
    (LIST, Operation.ADD): _add_all,
    (LIST, Operation.MERGE_NS): _merge,
    (LIST, Operation.ADD_ELEMENT): _add,
    (MAP, Operation.CLEAR): _clear_map,
    (MAP, Operation.ADD): _put_all,
    (MAP, Operation.ADD_ELEMENT): _put,
    (MAP, Operation.ADD_OR_UPDATE_ELEMENT): _put,
    (MAP, Operation.REMOVE_ELEMENT): _remove,
    (MERGED, Operation.CLEAR): _clear,
    (MERGED, Operation.SET): _set,
    (MERGED, Operation.SET_INTERNAL): _set,
    (MERGED, Operation.MERGE_NS): _merge,
    (QUEUE, Operation.ADD_ELEMENT): _register,
    (QUEUE, Operation.REMOVE_ELEMENT): _poll,
}


def _held(state: StateOverlay) -> int:
    held = sum(PART_COST + len(element) for element in state.queue)
    held += sum(ROW_COST + len(change.data) for change in state.refused)
    for key, row in state.rows.items():
        held += ROW_COST + len(key)
        if isinstance(row, MapRow):
            layers = [row.entries, *(entries for _, entries in row.older)]
            held += sum(PART_COST + len(k) + len(v or b"") for entries in layers for k, v in entries.items())
        else:
            held += sum(PART_COST + len(part.data) if isinstance(part, Written) else 8 for part in row.parts)
    return held
