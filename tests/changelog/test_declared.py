"""Metadata records, heads made of them, and where the key's serializer is found."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

import stateextract
from stateextract.changelog.declared import (
    UNKNOWN_KEY,
    header_of,
    key_of_header,
    merged_header,
    parse_changes_header,
    parse_declaration,
    timer_key,
    unknown_key,
)
from stateextract.changelog.keys import find_key
from stateextract.changelog.records import Change
from stateextract.errors import FormatError, StateExtractError, UnsupportedError, UnsupportedVersionError
from stateextract.metadata.model import SubtaskState
from stateextract.state.header import parse_header
from stateextract.state.keys.key_groups import key_group_of_hash
from tests.changelog.writer import (
    ADD,
    ADD_ELEMENT,
    ADD_OR_UPDATE,
    CLEAR,
    MERGE_NS,
    REMOVE,
    SET,
    TTL_CONFIG,
    VOID,
    change,
    declare,
    handle,
    in_memory,
    timer,
)
from tests.state.keyed_writer import FORMS, LONG, STRING, Entry, Keyed, State, head, i32, i64, proxy, write
from tests.state.unknown_classes import unknown_classes
from tests.writers.flink_writer import BOOLEAN, DOUBLE, INT, flink_string, list_of, map_of, simple, tuple_of, versioned

VALUE = State("s", kind="VALUE", value=LONG)
TIMERS = State("timers", kind="TIMER", namespace=LONG)
UNKNOWN = versioned("com.example.ShapeSerializerSnapshot", 1, b"\x00\x00\x00\x07")
TTL_VALUE = State("s", kind="VALUE", value=STRING)


@pytest.mark.parametrize("version", [6, 7])
def test_a_value_state(version: int) -> None:
    record = declare(VALUE, 0x102, version=version)
    declared = parse_declaration(record)
    assert (declared.state_id, declared.meta.name, declared.meta.kind) == (0x102, "s", "VALUE")
    assert declared.data == VALUE.meta(LONG) == record[5:-5]
    assert record[-5:] == b"\x00\x00\x01\x02\x00"


def test_what_follows_the_meta() -> None:
    assert parse_declaration(declare(VALUE, 5, default=i64(9))).state_id == 5
    assert parse_declaration(declare(TTL_VALUE, 6, ttl=True)).state_id == 6
    assert parse_declaration(declare(TIMERS, 7)).meta.kind == "TIMER"


def test_an_unknown_serializer_is_passed_over() -> None:
    declared = parse_declaration(declare(State("s", kind="VALUE", value=UNKNOWN), 1))
    assert unknown_classes(declared.meta) == ("com.example.ShapeSerializerSnapshot",)
    assert declared.data == State("s", kind="VALUE", value=UNKNOWN).meta(LONG)


@pytest.mark.parametrize("location", ["value", "namespace", "in a map"])
def test_an_unknown_serializer_of_any_shape_is_skipped(location: str) -> None:
    odd = versioned("com.example.OddSerializerSnapshot", 1, b"\x07\x01\x02 bytes that only the class knows \xff\xfe")
    state = {
        "value": State("s", kind="VALUE", value=odd),
        "namespace": State("s", kind="VALUE", namespace=odd),
        "in a map": State("s", kind="MAP", value=map_of(STRING, odd)),
    }[location]
    declared = parse_declaration(declare(state, 0x102))
    assert (declared.state_id, unknown_classes(declared.meta)) == (0x102, ("com.example.OddSerializerSnapshot",))
    assert declared.data == state.meta(LONG)
    value = declared.meta.serializers["VALUE_SERIALIZER"]
    assert [nested.class_name.rpartition(".")[2] for nested in value.nested] == (
        ["StringSerializer$StringSerializerSnapshot", "OddSerializerSnapshot"] if location == "in a map" else []
    )


OPERATOR_STATE = VALUE.meta(LONG)[:3] + i32(1) + VALUE.meta(LONG)[7:] + b"\x00\x00\x00\x01\x01"


def with_tail(tail: bytes, state: State = VALUE) -> bytes:
    return b"\x08" + i32(7) + state.meta(LONG) + tail


@pytest.mark.parametrize(
    ("record", "kind", "message"),
    [
        (b"\x08" + i32(5) + VALUE.meta(LONG) + bytes(5), UnsupportedVersionError, "version 5"),
        (b"\x07" + declare(VALUE, 0)[1:], FormatError, "operation 7 among metadata"),
        (declare(VALUE, 0) + b"\x00", FormatError, "1 bytes after the meta"),
        (declare(VALUE, 0)[:-1], FormatError, "ends inside a backend type"),
        (with_tail(b"\x00\x00\x00\x01\x03"), FormatError, "backend type 3 of KEY_VALUE state"),
        (with_tail(b"\x00\x01\x00", TIMERS), FormatError, "backend type 0 of PRIORITY_QUEUE state"),
        (b"\x08" + i32(7) + OPERATOR_STATE, FormatError, "OPERATOR state in a changelog"),
        (with_tail(b"\x00\x00\xff\xff\x00"), FormatError, "negative state id -1"),
        (with_tail(b"\x01no java\x00\x00\x01\x00"), FormatError, "no Java object"),
        (with_tail(b"\x01" + TTL_CONFIG + b"\x01\x00\x01\x00"), FormatError, "a time to live and a default value"),
        (with_tail(b"\x01\xac\xed\x00\x05"), FormatError, "negative length -4 of a time to live"),
        (with_tail(b"\x00\x01\x00"), FormatError, "negative length -2 of a default value"),
        (b"\x08", FormatError, "ends inside"),
    ],
)
def test_what_is_no_declaration(record: bytes, kind: type[StateExtractError], message: str) -> None:
    with pytest.raises(kind, match=message):
        parse_declaration(record)


def test_a_head_of_declarations() -> None:
    metas = [VALUE.meta(LONG), TIMERS.meta(LONG), VALUE.meta(LONG)]
    data = header_of(proxy(STRING), metas)
    parsed = parse_changes_header(data)
    assert [meta.name for meta in parsed.states] == ["s", "timers"]
    assert parsed.key_serializer.class_name.endswith("StringSerializerSnapshot")
    assert key_of_header(parsed, data) == proxy(STRING)
    nothing = parse_changes_header(header_of(unknown_key(), []))
    assert (nothing.key_serializer.class_name, nothing.states) == (UNKNOWN_KEY, ())
    with pytest.raises(FormatError, match="a changelog of 32768 states"):
        header_of(proxy(LONG), [b"%d" % n for n in range(1 << 15)])


def test_a_merged_head() -> None:
    changed = State("s", kind="VALUE", value=STRING)
    data = head(Keyed([VALUE, TIMERS]), True)
    base = parse_header(data, 0, len(data))
    more = parse_changes_header(header_of(proxy(LONG), [TIMERS.meta(LONG), changed.meta(LONG)]))
    assert merged_header(None, more) is more
    merged = merged_header(base, more)
    assert [(m.name, m.serializers["VALUE_SERIALIZER"].class_name.split(".")[-1][:8]) for m in merged.states] == [
        ("s", "LongSeri"), ("timers", "TimerSer"), ("s", "StringSe"),
    ]  # fmt: skip
    assert merged.compressed


def declare_queue(element: bytes, state_id: int) -> bytes:
    """A priority queue that is not one of timers."""
    name = State("queue", kind="VALUE", value=LONG).meta(LONG)[:7]
    tail = struct.pack(">hB", state_id, 3)
    return b"\x08" + i32(7) + name + i32(3, 0, 1) + b"\x00\x10VALUE_SERIALIZER" + proxy(element) + tail


def test_the_key_of_timers() -> None:
    assert timer_key(parse_declaration(declare(VALUE, 0))) is None
    for key in (LONG, tuple_of(LONG, STRING)):
        assert timer_key(parse_declaration(declare(TIMERS, 0, key))) == proxy(key)
    record = declare_queue(LONG, 0)
    assert parse_declaration(record).meta.kind == "PRIORITY_QUEUE"
    assert timer_key(parse_declaration(record)) is None


# ---- where the key's serializer is found


def group_of(hash_code: int, most: int) -> int:
    return key_group_of_hash(hash_code, most)


def sets(keys: dict[bytes, int], state: State = VALUE, value: bytes = i64(1)) -> list[tuple[int, bytes]]:
    """A log of one change per key, filed under the key groups given."""
    return [(-1, declare(state, 0)), *((group, change(SET, 0, key, VOID, value)) for key, group in keys.items())]


def tried(*logs: list[tuple[int, bytes]], most: int = 128) -> tuple[str, int, int] | None:
    found = find_key([[Change(group, 0, data) for group, data in log] for log in logs], most)
    return None if found is None else (found.name, found.keys, found.changes)


def string_hash(text: str) -> int:
    code = 0
    for character in text:
        code = code * 31 + ord(character) & 0xFFFFFFFF
    return code


LONGS = {i64(n): group_of(n, 128) for n in range(20)}
STRINGS = {flink_string(t): group_of(string_hash(t), 128) for t in ("", "a", "abc", "lorem ipsum")}


def test_trial() -> None:
    assert tried(sets(LONGS)) == ("Long", 20, 20)
    assert tried(sets(dict(list(LONGS.items())[:5])), sets(LONGS)) == ("Long", 20, 25)
    assert tried(sets(STRINGS)) == ("String", 4, 4)
    assert tried(sets(STRINGS, State("s", kind="VALUE", value=STRING), flink_string("of any length"))) == (
        "String",
        4,
        4,
    )
    ints = {struct.pack(">i", n): group_of(n, 128) for n in (1, -2, 3)}
    assert tried(sets(ints)) == ("Int", 3, 3)
    booleans = {b"\x00": group_of(1237, 128), b"\x01": group_of(1231, 128)}
    assert tried(sets(booleans)) == ("Boolean", 2, 2)


LISTS = State("s", kind="LIST", value=list_of(INT))
MAPS = State("s", kind="MAP", value=map_of(STRING, INT))
SUMS = State("s", kind="REDUCING", value=LONG)
K, ONE = flink_string("k"), i32(1)


@pytest.mark.parametrize(
    ("state", "operation", "operands", "wrong"),
    [
        (VALUE, CLEAR, b"", [b"x"]),
        (LISTS, SET, i32(2, 1, 2), [i32(2, 1), i32(2, 1, 2) + b"x"]),
        (LISTS, ADD, i32(1, 7), [i32(1)]),
        (LISTS, ADD_ELEMENT, ONE, [b"", ONE + b"x"]),
        (MAPS, ADD, ONE + K + b"\x00" + ONE, [ONE + K, ONE + K + b"\x00" + ONE + b"x"]),
        (MAPS, ADD_OR_UPDATE, K + ONE, [K, K + ONE + b"x"]),
        (MAPS, REMOVE, K, [b"", K + b"x"]),
        (SUMS, MERGE_NS, VOID + i32(2) + VOID + VOID, [VOID + i32(2) + VOID, VOID + ONE + VOID + VOID]),
        (State("s", kind="VALUE", value=UNKNOWN), SET, b"whatever it is", []),
    ],
)
def test_trial_by_each_operation(state: State, operation: int, operands: bytes, wrong: list[bytes]) -> None:
    """A key is one after which the rest of each record is what its operation has."""

    def log(operands: bytes) -> list[tuple[int, bytes]]:
        changes = [(group, change(operation, 0, key, VOID, operands)) for key, group in LONGS.items()]
        return [(-1, declare(state, 0)), *changes]

    assert tried(log(operands)) == ("Long", 20, 20)
    assert [tried(log(other)) for other in wrong] == [None] * len(wrong)


def test_trial_by_an_operation_that_the_state_does_not_have() -> None:
    assert tried([(-1, declare(VALUE, 0)), *((g, change(ADD_ELEMENT, 0, k, VOID, i64(1))) for k, g in LONGS.items())]) is None


def test_trial_leaves_queues_out() -> None:
    """Their records have no key that could be looked at alone."""
    queue = [(-1, declare_queue(LONG, 1)), (3, change(ADD_ELEMENT, 1, i32(1), i64(7)))]
    assert tried([*sets(LONGS), *queue]) == ("Long", 20, 20)
    assert tried(queue) is None


def test_trial_by_texts_whose_hash_is_not_known() -> None:
    """In the place of a lone surrogate a column has U+FFFD."""
    unknown = {b"\x02" + b"\x80\xb0\x03": group_of(0xD800, 128), flink_string("\ufffd"): group_of(0xFFFD, 128)}
    assert tried(sets({**unknown, **STRINGS})) == ("String", 4, 6)
    assert tried(sets({**STRINGS, **unknown})) == ("String", 4, 6)
    assert tried(sets(unknown)) is None


@pytest.mark.parametrize("most", [2, 128, 1 << 15])
def test_trial_by_many_keys(most: int) -> None:
    """More keys than the power of the key groups has room for in a double (147 of 128 key groups, 1024 of 2)."""
    keys = {i64(n): group_of(n, most) for n in range(3000)}
    assert tried(sets(keys), most=most) == ("Long", 2000, 3000)


def test_how_many_keys_are_evidence() -> None:
    """One wrong type in 100 may pass by chance: 7 keys of two key groups, 2 of 10, 1 of 128."""
    for most, enough in ((2, 7), (10, 2), (128, 1)):
        for keys in range(1, 9):
            found = tried(sets({i64(n): group_of(n, most) for n in range(keys)}), most=most)
            assert (found is not None) == (keys >= enough), (most, keys)


def test_trial_refuses_what_does_not_fit() -> None:
    assert tried(sets({**LONGS, i64(99): group_of(98, 128)})) is None
    assert tried([*sets(LONGS), (3, change(SET, 0, i64(5), VOID, i64(1)))]) is None
    assert tried(sets(LONGS), most=100) is None
    assert tried([(-1, declare(VALUE, 0))]) is None
    assert tried([]) is None
    assert tried([*sets(LONGS), (1, b"\x01\x00")]) is None
    # Doubles hash as the longs of the same bits, so nothing tells them apart; dates of other bytes do not fit.
    tuples = {i64(1) + i64(2): 5}
    assert tried(sets(tuples)) is None
    # One key group proves nothing.
    assert tried(sets(dict.fromkeys(LONGS, 0)), most=1) is None


def snapshot(folder: Path, *subtasks: SubtaskState) -> stateextract.Snapshot:
    return stateextract.open_snapshot(str(write(folder, subtasks, 128)), decoder="interpreter")


def subtask(index: int, log: list[tuple[int, bytes]], groups: range, *parts: Keyed) -> SubtaskState:
    materialized = [FORMS["heap"](part) for part in parts]
    return SubtaskState(index, managed_keyed=handle(groups, materialized, [in_memory(log, groups)]))


LOW, HIGH = range(64), range(64, 128)
IN_LOW, IN_HIGH = ({k: g for k, g in LONGS.items() if g in groups} for groups in (LOW, HIGH))


def test_the_key_by_trial(tmp_path: Path) -> None:
    opened = snapshot(tmp_path, subtask(0, sets(IN_LOW), LOW), subtask(1, sets(IN_HIGH), HIGH))
    operator = opened.operator("op")
    assert operator.problems == []
    assert operator.notes == [
        "the snapshot does not record the type of the keys: Long was found by trial and fits 20 changes of 20 keys"
    ]
    assert sorted(operator.state("s").to_table()["key"].to_pylist()) == list(range(20))


def test_the_key_by_a_queue_of_timers(tmp_path: Path) -> None:
    log = [*sets({i64(5): 100}), (-1, declare(TIMERS, 1, DOUBLE))]
    opened = snapshot(tmp_path, subtask(0, log, range(128)))
    assert opened.operator("op").notes == []
    assert opened.operator("op").state("s").to_table()["key"].to_pylist() == [struct.unpack(">d", i64(5))[0]]


def test_the_key_by_another_subtask(tmp_path: Path) -> None:
    materialized = Keyed([VALUE], DOUBLE, range(3), 128)
    log = sets({i64(1): 100})
    opened = snapshot(tmp_path, subtask(0, log, HIGH), subtask(1, sets({}), LOW, materialized))
    assert opened.operator("op").state("s").to_table()["key"].to_pylist() == [5e-324]


def test_no_key_to_be_found(tmp_path: Path) -> None:
    """Names of the states and their number can be told all the same."""
    log = [*sets({i64(1): 9}), (-1, declare(State("other", kind="LIST", value=list_of(INT)), 1))]
    opened = snapshot(tmp_path, subtask(0, log, LOW), subtask(1, log, HIGH))
    operator = opened.operator("op")
    assert [(s.name, s.kind, s.coverage.status) for s in operator.states] == [
        ("other", "list", "unsupported"), ("s", "value", "unsupported"),
    ]  # fmt: skip
    (problem,) = operator.problems
    assert type(problem) is UnsupportedError
    assert "does not contain the serializer of the keys" in problem.message
    with pytest.raises(UnsupportedError, match="does not contain the serializer of the keys") as caught:
        operator.state("s").to_table()
    assert (caught.value.operator, caught.value.state) == ("op", "s")


def test_the_key_of_what_was_materialized(tmp_path: Path) -> None:
    entries = [Entry(1, b"\x01", i64(1)), Entry(2, b"\x00", i64(2))]
    base = Keyed([State("s", entries, value=LONG)], BOOLEAN, range(4), 128)
    log = [(-1, declare(VALUE, 0)), (2, change(SET, 0, b"\x00", VOID, i64(5)))]
    table = snapshot(tmp_path, subtask(0, log, range(128), base)).operator("op").state("s").to_table()
    assert sorted(zip(table["key"].to_pylist(), table["value"].to_pylist(), strict=True)) == [(False, 5), (True, 1)]


def test_simple_snapshots_are_flinks() -> None:
    """The candidates are written by hand here and there."""
    from stateextract.changelog import keys

    for name in ("String", "Long", "Int", "Short", "Byte", "Boolean"):
        expected = proxy(simple(f"org.apache.flink.api.common.typeutils.base.{name}Serializer"))
        assert keys._CANDIDATES[name] == expected
    assert timer(0, b"k", b"n") == b"\x80" + bytes(7) + b"kn"
