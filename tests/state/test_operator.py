"""Operator state files, written here and read by both engines."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from random import Random
from typing import Any

import pytest

import tests.kryo
from serializers import DescribeContext
from stateextract.errors import FormatError, StateExtractError, TruncatedError, UndecodableError
from stateextract.metadata.model import OperatorStatePartition
from stateextract.state.counters import Counters
from stateextract.state.header import parse_operator_header
from stateextract.state.operator import (
    Partition,
    note_of_1_18_0,
    operator_header_end,
    partitions,
    read_operator_state,
)
from stateextract.state.state_columns import ReadOptions
from stateextract.state.target import FileRead
from tests.state.operator_writer import Lists, i32, i64, simple, string, utf

ENGINES = ("kernel", "interpreter")
FORMS = ("plain", "compressed", "1.18", "1.18.0")
STRING, LONG, INT = simple("String"), simple("Long"), simple("Int")
UNKNOWN = utf("com.example.UnknownSnapshot") + i32(3)


def read(
    data: bytes,
    states: list[OperatorStatePartition],
    options: ReadOptions,
    wanted: Collection[str] | None = None,
    subtask: int = 0,
    skip_broadcast_states: Collection[str] = (),
    parts: list[Partition] | None = None,
) -> tuple[dict[str, list[dict[str, Any]]], Counters]:
    """The rows of each state; raw ones under its name with ``!raw``."""

    def read_at(at: int, n: int) -> bytes:
        return data[at : at + n]

    head = parse_operator_header(data, 0, operator_header_end(states, len(data), read_at))
    parts = partitions(head, states, len(data)) if parts is None else parts
    counters = Counters()
    rows: dict[str, list[dict[str, Any]]] = {}
    names = {s.name for s in states} if wanted is None else wanted
    file_read = FileRead(names, options, counters, subtask)
    for piece in read_operator_state(read_at, head, parts, len(data), file_read, skip_broadcast_states):
        rows.setdefault(piece.state + ("!raw" if piece.raw else ""), []).extend(piece.batch.to_pylist())
    return rows, counters


def some(form: str, version: int = 6) -> tuple[bytes, list[OperatorStatePartition]]:
    return Lists(
        {
            ("names", "SPLIT_DISTRIBUTE", STRING): [string("a"), string("bcd"), string("e" * 20)],
            ("none", "SPLIT_DISTRIBUTE", LONG): [],
            ("numbers", "UNION", LONG): [i64(7), i64(-1)],
        },
        {("rules", STRING, INT): [(string("x"), i32(1)), (string("y"), i32(2))]},
        form,
        version,
    ).write()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("form", "version"), [("plain", 5), *((form, 6) for form in FORMS)])
def test_all_kinds(form: str, version: int, engine: str) -> None:
    data, states = some(form, version)
    rows, counters = read(data, states, ReadOptions(engine=engine), subtask=3)
    assert rows == {
        "names": [{"value": v, "index": i, "subtask": 3} for i, v in enumerate(["a", "bcd", "e" * 20])],
        "numbers": [{"value": v, "index": i, "subtask": 3} for i, v in enumerate([7, -1])],
        "rules": [{"key": "x", "value": 1}, {"key": "y", "value": 2}],
    }
    assert {name: (t.rows, t.entries, t.bytes) for name, t in counters.states.items()} == {
        "names": (3, 3, 2 + 4 + 21), "none": (0, 0, 0), "numbers": (2, 2, 16), "rules": (2, 2, 4 + 2 * 6),
    }  # fmt: skip
    assert list(counters.states["rules"].copies) == ["3"]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["names", "none", "numbers", "rules"])
def test_one_state_alone(name: str, form: str, engine: str) -> None:
    data, states = some(form)
    whole, of_all = read(data, states, ReadOptions(engine=engine))
    rows, counters = read(data, states, ReadOptions(engine=engine), {name})
    assert rows == ({name: whole[name]} if name in whole else {})
    assert counters.states == {name: of_all.states[name]}


def test_only_the_bytes_of_a_wanted_state_are_read() -> None:
    data, states = some("plain")
    head = parse_operator_header(data)
    asked = []

    def read_at(at: int, n: int) -> bytes:
        asked.append((at, n))
        return data[at : at + n]

    parts = partitions(head, states, len(data))
    file_read = FileRead({"numbers"}, ReadOptions(), Counters(), 0)
    pieces = list(read_operator_state(read_at, head, parts, len(data), file_read))
    assert [p.batch.num_rows for p in pieces] == [2]
    assert asked == [(states[2].offsets[0], 16)]


def test_the_handle_may_name_the_states_in_any_order() -> None:
    data, states = some("plain")
    rows, _ = read(data, states[::-1], ReadOptions())
    assert rows == read(data, states, ReadOptions())[0]


def test_a_run_of_elements() -> None:
    data, states = some("plain")
    names = states[0].offsets
    part = Partition("names", "SPLIT_DISTRIBUTE", names[1:2], names[2], first=1)
    rows, counters = read(data, states, ReadOptions(), parts=[part])
    assert rows == {"names": [{"value": "bcd", "index": 1, "subtask": 0}]}
    assert counters.states["names"].bytes == part.size == 4


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("form", FORMS)
def test_elements_larger_than_a_chunk_and_a_batch(form: str, engine: str) -> None:
    texts = [f"{i:06d}" * 9 for i in range(6000)]
    data, states = Lists({("many", "UNION", STRING): [string(t) for t in texts]}, form=form).write()
    rows, counters = read(data, states, ReadOptions(engine=engine, batch_rows=1000, subtask_column=False))
    assert rows == {"many": [{"value": t, "index": i} for i, t in enumerate(texts)]}
    assert counters.states["many"].rows == 6000


@pytest.mark.parametrize("engine", ENGINES)
def test_a_broadcast_map_larger_than_a_batch(engine: str) -> None:
    entries = [(string(f"k{i}"), i32(i)) for i in range(2500)]
    data, states = Lists({}, {("rules", STRING, INT): entries}).write()
    rows, counters = read(data, states, ReadOptions(engine=engine, batch_rows=1000, subtask_column=False))
    assert rows == {"rules": [{"key": f"k{i}", "value": i} for i in range(2500)]}
    assert (counters.states["rules"].rows, counters.states["rules"].entries) == (2500, 2500)


def test_copies_of_a_broadcast_map() -> None:
    def copy(subtask: int, entries: list[tuple[bytes, bytes]], skip: bool) -> Counters:
        data, states = Lists({}, {("rules", STRING, INT): entries}).write()
        skipped = {"rules"} if skip else ()
        rows, counters = read(data, states, ReadOptions(), subtask=subtask, skip_broadcast_states=skipped)
        assert bool(rows) is not skip
        assert counters.states["rules"].entries == len(entries)
        return counters

    x, y, z = (string("x"), i32(1)), (string("y"), i32(2)), (string("y"), i32(3))
    counters = copy(0, [x, y], False)
    counters.add(copy(1, [y, x], True))
    assert (counters.states["rules"].rows, counters.states["rules"].differing) == (2, [])
    counters.add(copy(4, [x, z], True))
    counters.add(copy(2, [x], True))
    assert counters.states["rules"].differing == [2, 4]
    assert Counters.from_dict(counters.as_dict()) == counters


def test_all_copies_have_their_subtask() -> None:
    data, states = Lists({}, {("rules", STRING, INT): [(string("x"), i32(1))]}).write()
    rows, _ = read(data, states, ReadOptions(all_copies=True), subtask=2)
    assert rows == {"rules": [{"key": "x", "value": 1, "subtask": 2}]}
    rows, _ = read(data, states, ReadOptions(all_copies=True, subtask_column=False), subtask=2)
    assert rows == {"rules": [{"key": "x", "value": 1}]}


# ---- what cannot be decoded


def unknown(form: str) -> tuple[bytes, list[OperatorStatePartition]]:
    return Lists(
        {("odd", "SPLIT_DISTRIBUTE", UNKNOWN): [b"abc", b"", b"de"], ("numbers", "UNION", LONG): [i64(7)]}, form=form
    ).write()


@pytest.mark.parametrize("form", ["plain", "compressed"])
def test_undecodable_elements_fail_are_skipped_or_raw(form: str) -> None:
    data, states = unknown(form)
    if form == "compressed":
        # An element without bytes has no chunk of its own: its offset is the next one's.
        states[0] = OperatorStatePartition("odd", "SPLIT_DISTRIBUTE", states[0].offsets[::2])
    count = len(states[0].offsets)
    with pytest.raises(UndecodableError) as caught:
        read(data, states, ReadOptions())
    assert (caught.value.state, "raw" in (caught.value.advice or "")) == ("odd", True)
    numbers = [{"value": 7, "index": 0, "subtask": 0}]
    rows, counters = read(data, states, ReadOptions(on_undecodable="skip"))
    assert rows == {"numbers": numbers}
    assert (counters.states["odd"].lost_entries, counters.states["odd"].raw_rows) == (count, 0)
    rows, counters = read(data, states, ReadOptions(on_undecodable="raw"))
    assert rows["numbers"] == numbers
    assert [r["bytes"] for r in rows["odd!raw"]] == ([b"abc", b"", b"de"] if form == "plain" else [b"abc", b"de"])
    assert [r["entries"] for r in rows["odd!raw"]] == [1] * count
    rows, _ = read(data, states, ReadOptions(), {"numbers"})
    assert rows == {"numbers": numbers}


def test_undecodable_elements_with_the_offsets_of_1_18() -> None:
    data, states = unknown("1.18")
    with pytest.raises(UndecodableError) as caught:
        read(data, states, ReadOptions(on_undecodable="skip"))
    assert "1.18" in (caught.value.advice or "")


def test_offsets_behind_full_chunks_are_those_of_1_18() -> None:
    """Elements of more than a chunk: the offsets rise, and are wrong all the same."""
    elements = [b"a" * 70_000, b"b" * 70_000]
    for form, trusted in (("compressed", True), ("1.18", False)):
        data, states = Lists({("odd", "UNION", UNKNOWN): elements}, form=form).write()
        assert states[0].offsets[0] < states[0].offsets[1]
        if trusted:
            rows, _ = read(data, states, ReadOptions(on_undecodable="raw"))
            assert [r["bytes"] for r in rows["odd!raw"]] == elements
        else:
            with pytest.raises(UndecodableError):
                read(data, states, ReadOptions(on_undecodable="raw"))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("form", ["plain", "compressed"])
def test_only_the_elements_that_cannot_be_decoded_are_lost(form: str, engine: str) -> None:
    """A list of Either whose right side nobody knows."""
    either = utf("org.apache.flink.api.java.typeutils.runtime.JavaEitherSerializerSnapshot")
    either += i32(3, 911108, 1) + i32(1333245, 1, 2) + LONG + UNKNOWN
    elements = [b"\1" + i64(1), b"\0??", b"\1" + i64(2), b"\1" + i64(3), b"\0!", b"\1" + i64(4)]
    data, states = Lists({("mixed", "UNION", either): elements, ("behind", "UNION", INT): [i32(5)]}, form=form).write()
    rows, counters = read(data, states, ReadOptions(on_undecodable="raw", engine=engine, subtask_column=False))
    assert [(r["index"], r["value"]["left"]) for r in rows["mixed"]] == [(0, 1), (2, 2), (3, 3), (5, 4)]
    assert [r["bytes"] for r in rows["mixed!raw"]] == [b"\0??", b"\0!"]
    assert rows["behind"] == [{"value": 5, "index": 0}]
    assert (counters.states["mixed"].entries, counters.states["mixed"].lost_entries) == (4, 2)
    rows, _ = read(data, states, ReadOptions(engine=engine, subtask_column=False), {"behind"})
    assert rows == {"behind": [{"value": 5, "index": 0}]}


def test_an_undecodable_map_is_lost_from_there_on() -> None:
    data, states = Lists(
        {}, {("odd", INT, UNKNOWN): [(i32(1), b"?")], ("rules", STRING, INT): [(string("x"), i32(1))]}
    ).write()
    rows, counters = read(data, states, ReadOptions(on_undecodable="raw"))
    assert rows["rules"] == [{"key": "x", "value": 1}]
    assert [(r["bytes"], r["entries"]) for r in rows["odd!raw"]] == [(i32(1) + b"?", 1)]
    assert counters.states["odd"].copies == {}


KRYO = next(
    bytes.fromhex(line.split("\t")[4])
    for line in Path(tests.kryo.__file__).with_name("libraries2.txt").read_text(encoding="utf-8").splitlines()
    if line.startswith("List.of one\t")
)
"""A Kryo serializer of ``Object``."""
ONE = bytes.fromhex("020a")  # Integer 5
MORE, LESS = ONE + b"\0", b"\2"
KRYO2 = DescribeContext(2)


@pytest.mark.parametrize("form", ["plain", "compressed"])
def test_elements_of_objects_that_are_described_wrongly(form: str) -> None:
    """Their lengths are known, so bytes too many or too few are those elements' problem."""
    elements = [ONE, MORE, ONE, LESS, ONE]
    data, states = Lists({("odd", "UNION", KRYO): elements, ("behind", "UNION", INT): [i32(5)]}, form=form).write()
    rows, counters = read(data, states, ReadOptions(on_undecodable="raw", subtask_column=False, context=KRYO2))
    assert [(r["index"], r["value"]["json"]) for r in rows["odd"]] == [(0, "5"), (2, "5"), (4, "5")]
    assert [r["bytes"] for r in rows["odd!raw"]] == [MORE, LESS]
    assert rows["behind"] == [{"value": 5, "index": 0}]
    assert (counters.states["odd"].entries, counters.states["odd"].lost_entries) == (3, 2)
    with pytest.raises(UndecodableError, match="the entry cannot be decoded: it does not end at its recorded length"):
        read(data, states, ReadOptions(context=KRYO2))
    rows, _ = read(data, states, ReadOptions(subtask_column=False, context=KRYO2), {"behind"})
    assert rows == {"behind": [{"value": 5, "index": 0}]}


@pytest.mark.parametrize("form", ["plain", "compressed"])
@pytest.mark.parametrize("bad", [LESS, b"\2\xff\xff\xff\xff\xff\xff", b"\1\5"])
def test_a_map_of_objects_that_are_described_wrongly(form: str, bad: bytes) -> None:
    data, states = Lists({}, {("odd", INT, KRYO): [(i32(1), ONE), (i32(2), bad)]}, form=form).write()
    rows, counters = read(data, states, ReadOptions(on_undecodable="skip", subtask_column=False, context=KRYO2))
    assert [(r["key"], r["value"]["json"]) for r in rows["odd"]] == [(1, "5")]
    assert counters.states["odd"].lost_entries == 1
    with pytest.raises(UndecodableError, match="the entry cannot be decoded"):
        read(data, states, ReadOptions(context=KRYO2))


# ---- damage


@pytest.mark.parametrize(
    ("change", "error", "match"),
    [
        (lambda s: [*s, OperatorStatePartition("other", "UNION", ())], FormatError, "not in the header"),
        (lambda s: [*s, s[0]], FormatError, "twice"),
        (lambda s: [OperatorStatePartition("names", "UNION", s[0].offsets), *s[1:]], FormatError, "as UNION"),
        (lambda s: [*s[:3], OperatorStatePartition("rules", "BROADCAST", s[3].offsets * 2)], FormatError, "2 offsets"),
        (lambda s: [OperatorStatePartition("names", s[0].mode, s[0].offsets[::-1]), *s[1:]], FormatError, "fall"),
        (lambda s: [OperatorStatePartition("names", s[0].mode, (*s[0].offsets, 1 << 40)), *s[1:]], FormatError, "fall"),
        (lambda s: [OperatorStatePartition("names", s[0].mode, s[0].offsets[:2]), *s[1:]], FormatError, "bytes follow"),
        (lambda s: s[:2], FormatError, "bytes follow"),
        (
            lambda s: [OperatorStatePartition("names", s[0].mode, (*s[0].offsets, s[0].offsets[2] + 1)), *s[1:]],
            FormatError,
            "ends inside element 3",
        ),
    ],
)  # fmt: skip
def test_a_handle_that_does_not_fit(change: Any, error: type[StateExtractError], match: str) -> None:
    data, states = some("plain")
    with pytest.raises(error, match=match):
        read(data, change(states), ReadOptions())


@pytest.mark.parametrize("form", FORMS)
def test_bytes_that_are_missing_or_too_many(form: str) -> None:
    data, states = some(form)
    with pytest.raises(TruncatedError):
        read(data[:-1], states, ReadOptions())
    with pytest.raises(StateExtractError):
        read(data + b"\0", states, ReadOptions())


def test_counts_that_cannot_be() -> None:
    data, states = some("plain")
    at = states[3].offsets[0]
    for count in (i32(-1), i32(1 << 30)):
        with pytest.raises(StateExtractError) as caught:
            read(data[:at] + count + data[at + 4 :], states, ReadOptions())
        assert caught.value.state == "rules"


@pytest.mark.parametrize("form", FORMS)
def test_mutations(form: str) -> None:
    """Damage is read as something else or refused; nothing else ever happens."""
    data, states = some(form)
    random = Random(form)
    refused = 0
    for _ in range(600):
        at = random.randrange(len(data))
        damaged = bytearray(data)
        kind = random.randrange(3)
        if kind == 0:
            damaged[at] ^= 1 << random.randrange(8)
        elif kind == 1:
            damaged[at : at + 4] = random.choice([b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff", bytes(4)])
        else:
            del damaged[at : at + random.randrange(1, 9)]
        try:
            read(bytes(damaged), states, ReadOptions(engine="interpreter"))
        except StateExtractError:
            refused += 1
    assert refused > 300


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("filled", [(), (0,), (1,), (2,), (0, 2), (1, 2), (0, 1, 2)])
def test_empty_states_anywhere(filled: tuple[int, ...], form: str, engine: str) -> None:
    """Flink 1.18.0 leaves the identifier of a stream for each of them, which no offset names (FLINK-34063)."""
    lists = {(f"l{n}", "UNION", LONG): [i64(n), i64(10 + n)] * (n in filled) for n in range(3)}
    for maps in ({}, {("rules", STRING, INT): []}, {("rules", STRING, INT): [(string("x"), i32(1))]}):
        data, states = Lists(lists, maps, form).write()
        head = parse_operator_header(data)
        assert operator_header_end(states, len(data), lambda at, n, data=data: data[at : at + n]) == head.end  # type: ignore[misc]
        rows, _ = read(data, states, ReadOptions(engine=engine))
        found = {name: [row["value"] for row in read_rows] for name, read_rows in rows.items()}
        expected = {f"l{n}": [n, 10 + n] for n in filled} | ({"rules": [1]} if any(maps.values()) else {})
        assert found == expected


def noted(states: list[OperatorStatePartition], data: bytes) -> str | None:
    return note_of_1_18_0(parse_operator_header(data), states, len(data), lambda at, n: data[at : at + n])


def test_what_is_said_of_a_file_of_1_18_0() -> None:
    one, two, none = ((name, "UNION", LONG) for name in ("one", "two", "none"))
    whole = "Flink 1.18.0 wrote this compressed operator state, which contains an empty state (FLINK-34063). "
    for form in FORMS:
        for lists in ({none: []}, {one: [i64(1)], two: [i64(2)]}, {one: [i64(1)], none: []}, {none: [], one: [i64(1)]}):
            data, states = Lists(lists, form=form).write()
            told = noted(states, data)
            # An empty state after the only one with elements looks like one of any release.
            assert (told is not None) == (form == "1.18.0" and list(lists) == [none, one])
    data, states = Lists({none: [], one: [i64(1)]}, form="1.18.0").write()
    assert noted(states, data) == whole + "stateextract reads all of it."
    data, states = Lists({one: [i64(1)], none: [], two: [i64(2)]}, form="1.18.0").write()
    assert noted(states, data) == whole + "stateextract reads all of it."
    # Flink looks for the streams in the order of the handle, and for the elements where their offsets say.
    refused = whole + "stateextract reads all of it. Flink itself cannot restore this file."
    assert noted([states[2], states[1], states[0]], data) == refused
    data, states = Lists({none: [], two: [i64(1), i64(2)]}, form="1.18.0").write()
    assert noted(states, data) == refused


def test_a_file_without_elements() -> None:
    for form in FORMS:
        data, states = Lists({("none", "UNION", LONG): []}, form=form).write()
        end = operator_header_end(states, len(data), lambda at, n, data=data: data[at : at + n])  # type: ignore[misc]
        assert end == len(data) - (0 if form == "plain" else 10)
        assert read(data, states, ReadOptions()) == ({}, read(data, states, ReadOptions())[1])
