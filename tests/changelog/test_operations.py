"""What each operation makes of a row, in exact bytes; and what Flink never writes is refused."""

from __future__ import annotations

import struct
from typing import Any

import pytest

from serializers import DescribeContext
from stateextract.changelog.changed_rows import MapRow, ValueRow, Written
from stateextract.changelog.changed_states import ChangedState, changed_state
from stateextract.changelog.declared import header_of, parse_changes_header
from stateextract.changelog.identity import HeapIdentity, PairIdentity
from stateextract.changelog.overlay import Overlay
from stateextract.changelog.records import Change
from stateextract.errors import FormatError, StateExtractError, TruncatedError, UnsupportedError
from tests.changelog.writer import (
    ADD,
    ADD_ELEMENT,
    ADD_OR_UPDATE,
    CLEAR,
    MERGE_NS,
    REMOVE,
    SET,
    SET_INTERNAL,
    VOID,
    change,
    declare,
    timer,
)
from tests.state.keyed_writer import LONG, STRING, State, i32, i64, proxy
from tests.writers.flink_writer import flink_string, list_of, map_of, tuple_of

KEY, NS, OTHER = i64(7), i64(100), i64(200)
GROUP = 2
X, Y = flink_string("x"), flink_string("y")

VALUE = State("s", kind="VALUE", value=LONG)
LIST = State("s", kind="LIST", value=list_of(LONG), namespace=LONG)
MAP = State("s", kind="MAP", value=map_of(STRING, LONG))
SUM = State("s", kind="REDUCING", value=LONG, namespace=LONG)
TIMERS = State("s", kind="TIMER", namespace=LONG)
EMPTY = State("s", kind="LIST", value=list_of(LONG), namespace=tuple_of())


def make(meta: bytes) -> ChangedState:
    head = parse_changes_header(header_of(proxy(LONG), [meta]))
    return changed_state(head, head.states[0], DescribeContext())


def overlay(state: State, *records: bytes, empty_maps: bool = True) -> Overlay:
    """The state declared with id 3, and changes of key group 2."""
    made = Overlay({"s"}, make, HeapIdentity, empty_maps)
    made.apply(Change(-1, 0, declare(state, 3)))
    for location, record in enumerate(records, 1):
        made.apply(Change(GROUP, location, record))
    return made


def parts(row: Any) -> list[Any]:
    """A row's parts: ids of materialized rows, and (count, bytes) of what was written."""
    assert isinstance(row, ValueRow)
    assert row.group == GROUP
    return [(p.count, bytes(p.data)) if isinstance(p, Written) else p for p in row.parts]


def row(state: State, *records: bytes, namespace: bytes = VOID) -> list[Any]:
    rows = overlay(state, *records).states["s"].rows
    assert list(rows) == [namespace + KEY]
    return parts(rows[namespace + KEY])


def test_values() -> None:
    set_1, set_2 = (change(SET, 3, KEY, VOID, i64(n)) for n in (1, 2))
    cleared = change(CLEAR, 3, KEY, VOID)
    assert row(VALUE, set_1) == [(1, i64(1))]
    assert row(VALUE, set_1, set_2) == [(1, i64(2))]
    assert row(VALUE, set_1, cleared) == []
    assert row(VALUE, cleared, set_2) == [(1, i64(2))]
    counted = overlay(VALUE, set_1, cleared).states["s"]
    assert (counted.counts[GROUP], counted.sizes[GROUP]) == (2, len(set_1) + len(cleared))


def test_lists() -> None:
    own = NS + KEY
    update = change(SET, 3, KEY, NS, i32(2), i64(1), i64(2))
    add = change(ADD_ELEMENT, 3, KEY, NS, i64(3))
    add_all = change(ADD, 3, KEY, NS, i32(2), i64(4), i64(5))
    assert row(LIST, update, namespace=NS) == [(2, i64(1, 2))]
    assert row(LIST, change(SET_INTERNAL, 3, KEY, NS, i32(1), i64(9)), namespace=NS) == [(1, i64(9))]
    assert row(LIST, add, namespace=NS) == [own, (1, i64(3))]
    assert row(LIST, add_all, namespace=NS) == [own, (2, i64(4, 5))]
    assert row(LIST, add, add_all, namespace=NS) == [own, (3, i64(3, 4, 5))]
    assert row(LIST, update, add, add_all, namespace=NS) == [(5, i64(1, 2, 3, 4, 5))]
    assert row(LIST, add, update, namespace=NS) == [(2, i64(1, 2))]
    assert row(LIST, update, change(SET, 3, KEY, NS, i32(0)), namespace=NS) == []
    assert row(LIST, add, change(CLEAR, 3, KEY, NS), namespace=NS) == []
    assert row(LIST, change(CLEAR, 3, KEY, NS), add, namespace=NS) == [(1, i64(3))]
    assert overlay(LIST, change(ADD, 3, KEY, NS, i32(0))).states["s"].rows == {}


def test_merged_lists() -> None:
    source = i64(300)
    merge = change(MERGE_NS, 3, KEY, NS, NS, i32(2), OTHER, source)
    rows = overlay(LIST, merge).states["s"].rows
    assert {k: parts(r) for k, r in rows.items()} == {
        NS + KEY: [NS + KEY, OTHER + KEY, source + KEY], OTHER + KEY: [], source + KEY: [],
    }  # fmt: skip
    written = (
        overlay(
            LIST,
            change(SET, 3, KEY, OTHER, i32(1), i64(1)),
            change(CLEAR, 3, KEY, source),
            change(ADD_ELEMENT, 3, KEY, NS, i64(2)),
            merge,
            change(ADD_ELEMENT, 3, KEY, NS, i64(3)),
            change(ADD_ELEMENT, 3, KEY, OTHER, i64(4)),
        )
        .states["s"]
        .rows
    )
    assert parts(written[NS + KEY]) == [NS + KEY, (1, i64(2)), (2, i64(1, 3))]
    assert parts(written[OTHER + KEY]) == [(1, i64(4))]
    assert parts(written[source + KEY]) == []
    nothing = overlay(LIST, change(CLEAR, 3, KEY, OTHER), change(MERGE_NS, 3, KEY, NS, NS, i32(1), OTHER))
    assert list(nothing.states["s"].rows) == [OTHER + KEY]


def test_merged_numbers() -> None:
    set_target, set_source = change(SET_INTERNAL, 3, KEY, NS, i64(1)), change(SET_INTERNAL, 3, KEY, OTHER, i64(2))
    merge = change(MERGE_NS, 3, KEY, NS, NS, i32(1), OTHER)
    rows = overlay(SUM, set_target, set_source, merge).states["s"].rows
    assert {k: parts(r) for k, r in rows.items()} == {NS + KEY: [(1, i64(1)), (1, i64(2))], OTHER + KEY: []}
    rows = overlay(SUM, set_target, set_source, merge, change(SET_INTERNAL, 3, KEY, NS, i64(9))).states["s"].rows
    assert parts(rows[NS + KEY]) == [(1, i64(9))]
    assert row(SUM, change(SET, 3, KEY, NS, i64(5)), namespace=NS) == [(1, i64(5))]


def map_row(*records: bytes, **options: bool) -> MapRow:
    found = overlay(MAP, *records, **options).states["s"].rows[VOID + KEY]
    assert isinstance(found, MapRow)
    return found


def merged(row: MapRow, base: list[tuple[bytes, bytes]] | None) -> list[tuple[bytes, bytes]] | None:
    """The entries of a row over materialized ones, all by one serializer."""
    found = row.over(base, make(MAP.meta(LONG)))
    assert found is None or len(found) < 2
    return None if found is None else [entry for _, entries in found for entry in entries]


def test_maps() -> None:
    put = change(ADD_OR_UPDATE, 3, KEY, VOID, X, i64(1))
    put_all = change(ADD, 3, KEY, VOID, i32(2), X, b"\x00", i64(2), Y, b"\x01")
    remove = change(REMOVE, 3, KEY, VOID, X)
    cleared = change(CLEAR, 3, KEY, VOID)
    assert map_row(put).entries == {X: b"\x00" + i64(1)}
    assert map_row(put, put_all).entries == {X: b"\x00" + i64(2), Y: b"\x01"}
    assert map_row(put_all, remove).entries == {X: None, Y: b"\x01"}
    assert map_row(cleared, put_all, remove).entries == {Y: b"\x01"}
    assert map_row(change(ADD_ELEMENT, 3, KEY, VOID, X, i64(1))).entries == {X: b"\x00" + i64(1)}
    base = [(X, b"\x00" + i64(8)), (flink_string("z"), b"\x01")]
    assert merged(map_row(put), base) == [(flink_string("z"), b"\x01"), (X, b"\x00" + i64(1))]
    assert merged(map_row(remove), base) == [(flink_string("z"), b"\x01")]
    assert merged(map_row(remove), base[:1]) is None
    assert merged(map_row(remove), None) is None
    cleared_row = map_row(put, cleared, put_all)
    assert not cleared_row.includes_base
    assert merged(cleared_row, None) == [(X, b"\x00" + i64(2)), (Y, b"\x01")]


def test_maps_that_are_empty() -> None:
    nothing = change(ADD, 3, KEY, VOID, i32(0))
    remove = change(REMOVE, 3, KEY, VOID, X)
    assert merged(map_row(nothing), None) == []
    assert merged(map_row(remove, nothing), []) == []
    assert merged(map_row(nothing, remove), None) is None
    assert merged(map_row(nothing, change(CLEAR, 3, KEY, VOID)), None) is None
    # RocksDB has no such rows.
    assert overlay(MAP, nothing, empty_maps=False).states["s"].rows == {}


def test_queues() -> None:
    one, two = timer(-5, KEY, NS), timer(8, KEY, NS)
    add_one = change(ADD_ELEMENT, 3, i32(1), one)
    both = change(ADD_ELEMENT, 3, i32(2), one, two)
    poll = change(REMOVE, 3, one)
    assert overlay(TIMERS, add_one, add_one).states["s"].queue == {one: GROUP}
    assert overlay(TIMERS, both, poll).states["s"].queue == {one: -1 - GROUP, two: GROUP}
    assert overlay(TIMERS, poll, add_one).states["s"].queue == {one: GROUP}


@pytest.mark.parametrize(
    ("state", "operations"),
    [
        (VALUE, {CLEAR, SET}),
        (LIST, {CLEAR, SET, SET_INTERNAL, ADD, MERGE_NS, ADD_ELEMENT}),
        (MAP, {CLEAR, ADD, ADD_ELEMENT, ADD_OR_UPDATE, REMOVE}),
        (SUM, {CLEAR, SET, SET_INTERNAL, MERGE_NS}),
        (TIMERS, {ADD_ELEMENT, REMOVE}),
    ],
)
def test_other_operations_are_refused(state: State, operations: set[int]) -> None:
    for operation in {*range(8), 8, 9, 255} - operations:
        with pytest.raises(FormatError, match=f"operation {operation} on ") as caught:
            overlay(state, change(operation, 3, KEY, VOID, i64(1)))
        assert (caught.value.offset, caught.value.state, caught.value.key_group) == (0, "s", GROUP)


@pytest.mark.parametrize(
    ("state", "record", "kind", "offset"),
    [
        (VALUE, change(SET, 3), TruncatedError, 3),
        (VALUE, b"\x01\x00", TruncatedError, 0),
        (VALUE, change(SET, 4, KEY, VOID, i64(1)), FormatError, 1),
        (VALUE, change(SET, 3, KEY), TruncatedError, 11),
        (VALUE, change(CLEAR, 3, KEY, VOID, b"x"), FormatError, 12),
        (LIST, change(SET, 3, KEY, NS, i32(-1)), FormatError, 19),
        (LIST, change(SET, 3, KEY, NS, i32(0), b"x"), FormatError, 23),
        (LIST, change(ADD, 3, KEY, NS, b"\x00\x00"), TruncatedError, 19),
        (LIST, change(ADD, 3, KEY, NS, i32(0), b"x"), FormatError, 23),
        (LIST, change(MERGE_NS, 3, KEY, NS, OTHER, i32(0)), FormatError, 19),
        (LIST, change(MERGE_NS, 3, KEY, NS, NS, i32(1)), TruncatedError, 31),
        (LIST, change(MERGE_NS, 3, KEY, NS, NS, i32(1 << 30), OTHER), TruncatedError, 39),
        (LIST, change(MERGE_NS, 3, KEY, NS, NS, i32(0), b"x"), FormatError, 31),
        (MAP, change(REMOVE, 3, KEY, VOID, X, b"x"), FormatError, 14),
        (MAP, change(ADD, 3, KEY, VOID, i32(1 << 30), X, b"\x01"), TruncatedError, 19),
        (MAP, change(ADD, 3, KEY, VOID, i32(2), X, b"\x00", i64(1)), TruncatedError, 27),
        (MAP, change(ADD, 3, KEY, VOID, i32(1), X, b"\x01", b"x"), FormatError, 19),
        (MAP, change(ADD, 3, KEY, VOID, i32(1), X), TruncatedError, 16),
        (EMPTY, change(MERGE_NS, 3, KEY, i32(1 << 30)), FormatError, 15),
        (TIMERS, change(ADD_ELEMENT, 3, i32(2), timer(1, KEY, NS)), TruncatedError, 31),
        (TIMERS, change(REMOVE, 3, timer(1, KEY, NS), b"x"), FormatError, 27),
    ],
)
def test_what_cannot_be_a_change(state: State, record: bytes, kind: type[StateExtractError], offset: int) -> None:
    with pytest.raises(StateExtractError) as caught:
        overlay(state, record)
    assert type(caught.value) is kind, caught.value
    assert (caught.value.offset, caught.value.key_group) == (offset, GROUP)


@pytest.mark.parametrize(
    ("state", "record"),
    [(VALUE, change(SET, 3, KEY, VOID, i64(1))), (MAP, change(ADD_OR_UPDATE, 3, KEY, VOID, X, i64(1)))],
)
def test_a_key_is_in_one_key_group(state: State, record: bytes) -> None:
    made = overlay(state, record)
    with pytest.raises(FormatError, match="the key was changed in another key group before") as caught:
        made.apply(Change(GROUP + 1, 2, record))
    error = caught.value
    assert (error.state, error.key_group, error.offset, error.expected) == ("s", 3, 3, "key group 2")


def test_a_state_stays_of_one_kind() -> None:
    made = overlay(VALUE)
    with pytest.raises(UnsupportedError, match="the state is of another kind than before: LIST") as caught:
        made.apply(Change(-1, 9, declare(LIST, 4)))
    assert (caught.value.state, caught.value.offset) == ("s", 0)


def test_an_id_means_what_was_declared_last() -> None:
    made = Overlay({"s", "t"}, make, HeapIdentity)
    made.apply(Change(-1, 0, declare(VALUE, 3)))
    made.apply(Change(GROUP, 1, change(SET, 3, KEY, VOID, i64(1))))
    made.apply(Change(-1, 2, declare(State("t", kind="VALUE", value=LONG), 3)))
    made.apply(Change(GROUP, 3, change(SET, 3, KEY, VOID, i64(2))))
    made.apply(Change(-1, 4, declare(State("not wanted", kind="VALUE", value=LONG), 3)))
    made.apply(Change(GROUP, 5, change(99, 3, b"nobody looks at it")))
    assert {name: parts(s.rows[VOID + KEY]) for name, s in made.states.items()} == {
        "s": [(1, i64(1))], "t": [(1, i64(2))],
    }  # fmt: skip


def test_memory_is_counted_and_key_groups_are_forgotten() -> None:
    made = overlay(MAP, change(ADD_OR_UPDATE, 3, KEY, VOID, X, i64(1)))
    made.apply(Change(3, 9, change(ADD_OR_UPDATE, 3, i64(8), VOID, X, i64(1) * 1000)))
    for _ in range(100):
        made.apply(Change(GROUP, 1, change(ADD_OR_UPDATE, 3, KEY, VOID, X, i64(2))))
    held = made.held
    made.measure()
    assert 8000 < made.held < held
    made.keep({GROUP})
    assert made.held < 2000
    assert list(made.states["s"].rows) == [VOID + KEY]
    assert dict(made.states["s"].counts) == {GROUP: 101}


def test_ids_of_pairs() -> None:
    identity = PairIdentity(1, False)
    assert identity.of(5, KEY, NS) == b"\x05" + KEY + NS
    assert identity.pair_key(5, b"\x05" + KEY + NS) == b"\x00\x05" + KEY + NS
    long = b"k" * 300
    assert PairIdentity(2, True).of(0x201, long, b"n") == b"\x02\x01" + long + struct.pack("<H", 300) + b"n\x01"
    assert PairIdentity(1, True).of(1, b"", b"n") == b"\x01\x00n\x01"
    with pytest.raises(FormatError, match="key group 256"):
        identity.of(256, KEY, NS)
    heap = HeapIdentity(make(LIST.meta(LONG)))
    assert heap.of(5, KEY, NS) == NS + KEY
    assert heap.pair_key(5, NS + KEY) == b"\x00\x05" + KEY + NS
