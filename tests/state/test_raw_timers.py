"""Timers in raw keyed state: the same rows as the same timers in a heap body."""

from __future__ import annotations

import struct
from random import Random
from typing import Any

import pytest

from serializers import read_snapshot, register
from stateextract.columnar.layout import Undecodable
from stateextract.errors import (
    FormatError,
    StateExtractError,
    TruncatedError,
    UndecodableError,
    UnsupportedError,
    UnsupportedVersionError,
)
from stateextract.files.reader import Reader
from stateextract.state.bodies.body import BodyKind
from stateextract.state.bodies.heap import KeyGroupRange
from stateextract.state.bodies.raw_timers import is_timers, timers_header
from stateextract.state.counters import Counters
from stateextract.state.engine import read_key_groups
from stateextract.state.header import KeyedHeader
from stateextract.state.row_layout import row_layout
from stateextract.state.state_columns import ReadOptions, state_schema
from stateextract.state.target import FileRead
from tests.state.operator_writer import i32, i64, simple, string, timers, utf

ENGINES = ("kernel", "interpreter")
STRING = simple("String")
WINDOW = utf(
    "org.apache.flink.streaming.api.windowing.windows.TimeWindow$Serializer$TimeWindowSerializerSnapshot"
) + i32(3)
UNKNOWN = utf("com.example.UnknownSnapshot") + i32(3)
OPAQUE = "com.example.timers.OpaqueSnapshot"
register(OPAQUE, Undecodable("com.example.timers.Opaque", "it is made for this test"))
EVENT, PROCESSING = "_timer_state/event_user-timers", "_timer_state/processing_user-timers"

A, B = (string("a"), i64(0, 1000), 999), (string("bb"), i64(1000, 2000), 1999)
C = (string("c"), i64(0, 1), -5)


def group(*queues: list[Any], key: bytes = STRING) -> bytes:
    return timers({"user-timers": (queues[0], queues[1])}, key, WINDOW)


def file(groups: dict[int, bytes]) -> tuple[bytes, list[KeyGroupRange]]:
    data, ranges = b"", []
    for number, content in groups.items():
        ranges.append(KeyGroupRange(number, len(data), len(data) + len(content)))
        data += content
    return data, ranges


def read(
    data: bytes, ranges: list[KeyGroupRange], options: ReadOptions, wanted: set[str] | None = None
) -> tuple[dict[str, list[dict[str, Any]]], Counters, KeyedHeader]:
    def read_at(at: int, n: int) -> bytes:
        return data[at : at + n]

    head = timers_header(read_at, ranges[0])
    names = {m.name for m in head.states} if wanted is None else wanted
    counters = Counters()
    rows: dict[str, list[dict[str, Any]]] = {}
    for piece in read_key_groups(read_at, head, ranges, FileRead(names, options, counters, 1), BodyKind.RAW):
        rows.setdefault(piece.state + ("!raw" if piece.raw else ""), []).extend(piece.batch.to_pylist())
    return rows, counters, head


def ms(rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return [(r["key"], r["timestamp_ms"], r["key_group"], r["subtask"]) for r in rows]


@pytest.mark.parametrize("engine", ENGINES)
def test_rows(engine: str) -> None:
    data, ranges = file({4: group([A, B], []), 5: group([], []), 9: group([C], [A])})
    rows, counters, head = read(data, ranges, ReadOptions(engine=engine))
    assert [m.name for m in head.states] == [EVENT, PROCESSING]
    assert ms(rows[EVENT]) == [("a", 999, 4, 1), ("bb", 1999, 4, 1), ("c", -5, 9, 1)]
    assert ms(rows[PROCESSING]) == [("a", 999, 9, 1)]
    assert (counters.states[EVENT].rows, counters.states[EVENT].key_groups) == (3, 3)
    window = rows[EVENT][1]["namespace"]
    assert (window["start"].timestamp(), window["end"].timestamp()) == (1.0, 2.0)


def test_the_columns_are_those_of_timers_kept_as_state() -> None:
    data, ranges = file({0: group([A], [])})
    rows, _, head = read(data, ranges, ReadOptions())
    row = row_layout(head, head.states[0])
    assert list(rows[EVENT][0]) == state_schema(row, ReadOptions()).names
    # The same timer in a heap body: the time first, its sign flipped.
    timer = struct.pack(">Q", 999 ^ (1 << 63)) + A[0] + A[1]
    body = i32(0) + b"\0\0" + i32(1) + timer + b"\0\1" + i32(0)
    whole = [KeyGroupRange(0, 0, len(body))]
    pieces = read_key_groups(lambda at, n: body[at : at + n], head, whole, FileRead({EVENT}, ReadOptions(), Counters(), 1))
    assert [r for p in pieces for r in p.batch.to_pylist()] == rows[EVENT]


@pytest.mark.parametrize("engine", ENGINES)
def test_several_services_and_one_queue_alone(engine: str) -> None:
    content = timers({"one": ([A], [B]), "two": ([C], [])}, STRING, WINDOW)
    data, ranges = file({7: content})
    rows, _, head = read(data, ranges, ReadOptions(engine=engine))
    assert {m.name for m in head.states} == {
        f"_timer_state/{k}_{s}" for k in ("event", "processing") for s in ("one", "two")
    }
    assert [ms(rows[n]) for n in ("_timer_state/event_one", "_timer_state/event_two")] == [
        [("a", 999, 7, 1)], [("c", -5, 7, 1)],
    ]  # fmt: skip
    alone, counters, _ = read(data, ranges, ReadOptions(engine=engine), {"_timer_state/event_two"})
    assert alone == {"_timer_state/event_two": rows["_timer_state/event_two"]}
    assert list(counters.states) == ["_timer_state/event_two"]


def test_many_timers_and_batches() -> None:
    many = [(string(f"k{i}"), i64(i, i + 1), i) for i in range(20_000)]
    data, ranges = file({0: group(many, many[:3])})
    rows, counters, _ = read(data, ranges, ReadOptions(batch_rows=1000))
    assert [r["timestamp_ms"] for r in rows[EVENT]] == list(range(20_000))
    assert len(rows[PROCESSING]) == 3
    assert counters.states[EVENT].entries == 20_000


def test_version_1_has_its_serializers_as_pairs() -> None:
    javas = i32(1, 4) + b"\xac\xed\x00\x05"
    first, second = javas + i32(2) + STRING, i32(2) + WINDOW
    buffer = first + javas + second
    pairs = i32(2, 0, len(javas), len(first), len(first) + len(javas)) + i32(len(buffer)) + buffer
    content = b"\xf1\xcd\x85\x9f" + i32(1, 1) + utf("user-timers") + pairs + i32(1) + A[0] + A[1] + i64(A[2]) + i32(0)
    data, ranges = file({0: content})
    assert ms(read(data, ranges, ReadOptions())[0][EVENT]) == [("a", 999, 0, 1)]


@pytest.mark.parametrize("keep", ["skip", "raw"])
def test_keys_that_nobody_can_decode(keep: Any) -> None:
    either = utf("org.apache.flink.api.java.typeutils.runtime.JavaEitherSerializerSnapshot") + i32(3, 911108, 1)
    either += i32(1333245, 1, 2) + simple("Long") + utf(OPAQUE)
    either += i32(3)
    good, bad = (b"\1" + i64(5), i64(0, 1), 8), (b"\0??", i64(0, 1), 9)
    data, ranges = file({0: group([good, bad], [good], key=either), 1: group([], [good], key=either)})
    with pytest.raises(UndecodableError):
        read(data, ranges, ReadOptions())
    rows, counters, head = read(data, ranges, ReadOptions(on_undecodable=keep))
    assert [m.name for m in head.states] == [EVENT, PROCESSING]
    assert [r["timestamp_ms"] for r in rows[EVENT]] == [8]
    assert [(r["timestamp_ms"], r["key_group"]) for r in rows[PROCESSING]] == [(8, 1)]
    assert (counters.states[EVENT].lost_key_groups, counters.states[PROCESSING].lost_key_groups) == (1, 1)
    assert ("raw" in keep) == bool(rows.get(EVENT + "!raw"))


def test_what_is_no_timers() -> None:
    assert not is_timers(lambda at, n: b"abc"[at : at + n], KeyGroupRange(0, 0, 3))
    with pytest.raises(UnsupportedError, match="not one of timers"):
        timers_header(lambda at, n: b"user bytes"[at : at + n], KeyGroupRange(0, 0, 10))


@pytest.mark.parametrize(
    ("second", "error", "match"),
    [
        (group([A], [])[:-1], TruncatedError, "ends inside"),
        (group([A], []) + b"\0", FormatError, "bytes follow"),
        (b"\0" + group([A], [])[1:], FormatError, "marker"),
        (b"\xf1\xcd\x85\x9f" + i32(3, 0), UnsupportedVersionError, "version 3"),
        (b"\xf1\xcd\x85\x9f" + i32(2, -1), FormatError, "services"),
        (timers({"other": ([], [])}, STRING, WINDOW), FormatError, "not in the other"),
        (group([], [], key=simple("Int")), FormatError, "serializers"),
        (b"\xf1\xcd\x85\x9f" + i32(2, 1) + utf("user-timers") + STRING + WINDOW + i32(-2), FormatError, "negative"),
    ],
)
def test_damage(second: bytes, error: type[StateExtractError], match: str) -> None:
    data, ranges = file({2: group([A], [B]), 3: second})
    with pytest.raises(error, match=match) as caught:
        read(data, ranges, ReadOptions())
    assert caught.value.key_group == 3


def test_mutations() -> None:
    data, ranges = file({2: group([A, B, C], [B])})
    options = ReadOptions(engine="interpreter", on_undecodable="skip")

    def damaged_at(damaged: bytearray) -> Any:
        return lambda at, n: bytes(damaged[at : at + n])

    random = Random(5)
    refused = 0
    for _ in range(500):
        at = random.randrange(len(data))
        damaged = bytearray(data)
        if random.randrange(2):
            damaged[at] ^= 1 << random.randrange(8)
        else:
            damaged[at : at + 4] = random.choice([b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff", bytes(4)])
        try:
            head = timers_header(damaged_at(damaged), ranges[0])
            names = {m.name for m in head.states}
            read = FileRead(names, options, Counters(), 1)
            for piece in read_key_groups(damaged_at(damaged), head, ranges, read, BodyKind.RAW):
                piece.batch.validate(full=True)
        except StateExtractError:
            refused += 1
    assert refused > 200


def test_the_writers_snapshots_are_read() -> None:
    assert read_snapshot(Reader(WINDOW)).class_name.endswith("TimeWindowSerializerSnapshot")
