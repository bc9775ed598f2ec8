"""Checkpoints of Apache Beam's runner for Flink (``frameworks/make_frameworks.py``): every state has the values of its job.

The job (``frameworks/beam/BeamJob.java``) sees the numbers 0 to 199, the number n at n seconds after :data:`START`.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import stateextract
from serializers.beam.coder_layouts import coder_layout
from serializers.beam.coders import Coder, FieldType, read_coder
from stateextract.columnar.interpreter import interpret
from stateextract.columnar.layout import Undecodable
from stateextract.errors import FormatError, StateExtractError, TruncatedError
from stateextract.files.javastream import JavaArray, JavaObject, JavaValue

DATA = Path(__file__).parent / "frameworks" / "data"
START = datetime(2024, 1, 1, tzinfo=UTC)
USERS: dict[str, list[int]] = {f"user-{u}": list(range(u, 200, 5)) for u in range(5)}
CASES = ("beam-2.62.0-hashmap", "beam-2.62.0-rocksdb", "beam-2.70.0-hashmap")
ALL = tuple(name for name in CASES if "rocksdb" not in name)


def at(seconds: int) -> datetime:
    return START + timedelta(seconds=seconds)


def opened(case: str) -> stateextract.Snapshot:
    (checkpoint,) = (DATA / case).glob("chk-*")
    return stateextract.open_snapshot(str(checkpoint))


def stateful(case: str) -> stateextract.Operator:
    """The operator of the stateful function."""
    return next(o for o in opened(case).operators if any(s.name == "total" for s in o.states))


def values(state: stateextract.State) -> dict[Any, Any]:
    """By key; maps are in no order."""
    rows = state.to_table().to_pylist()
    assert {row["namespace"] for row in rows} == {"//"}
    found = {row["key"]: row["value"] for row in rows}
    assert len(found) == len(rows)
    return found


def by_user(value: Callable[[str, list[int]], Any]) -> dict[str, Any]:
    return {user: value(user, numbers) for user, numbers in USERS.items()}


def _row(n: int) -> dict[str, Any]:
    return {
        "name": f"r{n}", "count": n, "note": None if n % 2 == 0 else "odd", "tags": ["t", f"u{n}"], "marks": [("k", n)],
        "home": {"city": f"c{n}", "zip": None if n % 2 == 0 else n}, "at": at(n), "price": "12.50",
        "raw": bytes([1, n]), "even": n % 2 == 0, "half": n / 2, "small": -3, "short": 700, "single": 0.5,
    }  # fmt: skip


def _per(user: str, numbers: list[int]) -> list[tuple[str, int]]:
    total, last = 0, {}
    for n in numbers:
        total += n
        last[f"b{n % 3}"] = total % 1000 - 500
    return sorted(last.items())


EXPECTED: dict[str, dict[str, Any]] = {
    "total": by_user(lambda user, ns: sum(ns)),
    "fixed": by_user(lambda user, ns: -sum(ns)),
    "names": by_user(lambda user, ns: [f"n{n}ü" for n in ns if n < 40]),
    "per": by_user(_per),
    "odd": by_user(lambda user, ns: sorted((-n, True) for n in ns if n % 2 and n < 20)),
    "ev": by_user(
        lambda user, ns: {
            "class": "golden.BeamJob$Ev",
            "json": json.dumps({"amount": sum(ns), "user": user}, separators=(",", ":")),
        }
    ),
    "sum": by_user(lambda user, ns: {"class": "[J", "json": f"[{sum(ns)}]"}),
    "price": by_user(lambda user, ns: str(Decimal(ns[-1] - 196).scaleb(-2))),
    "at": by_user(lambda user, ns: at(ns[-1])),
    "maybe": by_user(lambda user, ns: [None, f"m{ns[-1]}"]),
    "pairs": by_user(lambda user, ns: [{"key": f"a{ns[-1]}", "value": [(ns[-1], "x")]}, {"key": "b", "value": []}]),
    "range": by_user(lambda user, ns: {"from": ns[-1], "to": 10 * ns[-1]}),
    "row": by_user(lambda user, ns: _row(ns[-1])),
}


@pytest.mark.parametrize("case", CASES)
def test_states_of_a_function(case: str) -> None:
    operator = stateful(case)
    for name, expected in EXPECTED.items():
        found = values(operator.state(name))
        if name in ("per", "odd"):
            found = {key: sorted(entries) for key, entries in found.items()}
        assert found == expected, name


@pytest.mark.parametrize("case", CASES)
def test_timers(case: str) -> None:
    operator = stateful(case)
    for kind, timer, time in (
        ("event", "later", datetime(2030, 1, 1, tzinfo=UTC)),
        ("processing", "clock", datetime(2100, 1, 1, tzinfo=UTC)),
    ):
        rows = operator.state(f"_timer_state/{kind}_beam-timer").to_table().to_pylist()
        assert sorted(row["key"] for row in rows) == sorted(USERS)
        for row in rows:
            data = row["namespace"]
            assert (data["timer_id"], data["namespace"], data["timestamp"]) == (f"ts-{timer}", "//", time)
            assert data["domain"] == f"{kind.upper()}_TIME"
            assert row["timestamp"] == time + timedelta(milliseconds=1)


def _windowed(case: str, keep: Callable[[Any], bool]) -> stateextract.State:
    """The state ``buf`` whose values are such."""
    states = [s for o in opened(case).operators for s in o.states if s.name == "buf"]
    return next(s for s in states if keep(s.to_table()["value"][0].as_py()))


@pytest.mark.parametrize("case", CASES)
def test_sum_in_windows(case: str) -> None:
    expected: dict[tuple[str, int], int] = defaultdict(int)
    for user, numbers in USERS.items():
        for n in numbers:
            expected[user, n // 120] += n
    state = _windowed(case, lambda value: isinstance(value, int) and value > 200)
    found = state.to_table().to_pylist()
    ends = sorted({row["namespace"] for row in found})
    assert {(row["key"], ends.index(row["namespace"])): row["value"] for row in found} == expected


@pytest.mark.parametrize("case", ALL)
def test_mean_and_count(case: str) -> None:
    mean = _windowed(case, lambda value: isinstance(value, dict)).to_table().to_pylist()
    assert {row["key"]: row["value"] for row in mean} == by_user(lambda user, ns: {"count": 40, "sum": float(sum(ns))})
    count = _windowed(case, lambda value: value == 40).to_table().to_pylist()
    assert {row["key"]: row["value"] for row in count} == dict.fromkeys(USERS, 40)


@pytest.mark.parametrize("case", ALL)
def test_sessions(case: str) -> None:
    """The merged windows, and the elements, which Beam 2.62 had made bytes of."""
    operator = next(o for o in opened(case).operators if any(s.name == "tree" for s in o.states))
    trees = {row["key"]: row["value"] for row in operator.state("tree").to_table().to_pylist()}
    assert trees == by_user(
        lambda user, ns: [
            ({"start": at(ns[0]), "end": at(ns[-1] + 30)}, [{"start": at(ns[0]), "end": at(ns[0] + 30)}])
        ]
    )
    elements = {row["key"]: row["value"] for row in operator.state("buf").to_table().to_pylist()}
    assert elements == by_user(lambda user, ns: [_varint(n) for n in ns] if "2.62" in case else ns)


@pytest.mark.parametrize("case", ALL)
def test_keys(case: str) -> None:
    """The key's coder is found in another state of the operator."""
    lasts = [s for o in opened(case).operators for s in o.states if s.name == "last"]
    found = {str(s.schema.field("key").type): s for s in lasts}
    assert values(found["int64"]) == {n % 3 - 1: n for n in (197, 198, 199)}
    pairs = found["struct<key: string, value: int32>"].to_table().to_pylist()
    assert sorted((row["key"]["key"], row["key"]["value"], row["value"]) for row in pairs) == [("p0", 0, 198), ("p1", 1, 199)]


@pytest.mark.parametrize("case", CASES)
def test_everything_is_decoded(case: str) -> None:
    states = [s for o in opened(case).operators for s in o.states]
    for state in states:
        state.to_table()
        assert state.coverage.status == "decoded", (state.name, state.coverage.reason)
    assert len(states) > 20


def _varint(n: int) -> bytes:
    n &= (1 << 64) - 1
    raw = bytearray()
    while n > 0x7F:
        raw.append(n & 0x7F | 0x80)
        n >>= 7
    return bytes([*raw, n])


def _decode(coder: Coder, raw: bytes) -> Any:
    value, end = interpret(coder_layout(coder), memoryview(raw), 0, len(raw))
    assert end == len(raw)
    return value


LONG, INT, TEXT = Coder("x.VarLongCoder"), Coder("x.VarIntCoder"), Coder("x.StringUtf8Coder")


@pytest.mark.parametrize("n", [0, 1, 127, 128, -1, (1 << 63) - 1, -(1 << 63)])
def test_long(n: int) -> None:
    assert _decode(LONG, _varint(n)) == n


@pytest.mark.parametrize("n", [0, 300, -1, -(1 << 31), (1 << 31) - 1])
def test_int(n: int) -> None:
    assert _decode(INT, _varint(n & 0xFFFFFFFF)) == n


def test_iterable_of_unknown_length() -> None:
    raw = b"\xff\xff\xff\xff" + b"\x02" + _varint(5) + _varint(-6) + b"\x01" + _varint(7) + b"\x00"
    assert _decode(Coder("x.IterableCoder", (LONG,)), raw) == [5, -6, 7]
    assert _decode(Coder("x.IterableCoder", (LONG,)), b"\x00\x00\x00\x01\x05") == [5]


def test_row_with_fewer_fields_than_its_schema() -> None:
    schema = FieldType("ROW", fields=(("a", FieldType("INT64")), ("b", FieldType("STRING"))))
    assert _decode(Coder("x.RowCoder", schema=schema), b"\x01\x00\x05") == {"a": 5, "b": None}


MARK = """{"type":"record","name":"KafkaCheckpointMark","fields":[{"name":"partitions","type":{"type":"array","items":
{"type":"record","name":"PartitionMark","fields":[{"name":"topic","type":"string"},{"name":"partition","type":"int"},
{"name":"nextOffset","type":"long"},{"name":"watermarkMillis","type":["null","long"]}]},"java-class":"java.util.List"}}]}"""
"""The schema in the coder of what KafkaIO's source keeps; the last field could not be null there."""


def test_offsets_of_kafka_in_a_source() -> None:
    """Avro's own encoding: zigzag numbers, an array in blocks."""
    coder = Coder("org.apache.beam.sdk.coders.AvroCoder", avro=MARK)
    first = b"\x0corders" + b"\x06" + _varint(2 * 4711) + b"\x02" + _varint(1)
    second = b"\x02x" + b"\x00" + b"\x01" + b"\x00"
    marks = [
        {"topic": "orders", "partition": 3, "nextOffset": 4711, "watermarkMillis": -1},
        {"topic": "x", "partition": 0, "nextOffset": -1, "watermarkMillis": None},
    ]
    assert _decode(coder, b"\x04" + first + second + b"\x00") == {"partitions": marks}
    assert _decode(coder, b"\x02" + first + b"\x01" + bytes([2 * len(second)]) + second + b"\x00") == {"partitions": marks}
    assert _decode(coder, b"\x00") == {"partitions": []}
    with pytest.raises(FormatError):
        _decode(coder, b"\x7f\x00")


def test_unknown_parts() -> None:
    assert coder_layout(Coder("com.acme.MyCoder")) == Undecodable("com.acme.MyCoder", "the coder's class is not known")
    reordered = FieldType("ROW", fields=(("a", FieldType("INT64")),), reordered=True)
    assert isinstance(coder_layout(Coder("x.RowCoder", schema=reordered)), Undecodable)
    unnamed = '{"type":"record","fields":[{"name":5,"type":"int"}]}'
    for schema in ("", unnamed, '{"type":"enum","symbols":["A"]}', '["int","string"]'):
        assert isinstance(coder_layout(Coder("x.AvroCoder", avro=schema)), Undecodable)


@pytest.mark.parametrize(
    ("coder", "raw"),
    [
        (LONG, b"\xff" * 11),
        (INT, _varint(1 << 40)),
        (TEXT, _varint(0xFFFFFFFF) + b"a"),
        (Coder("x.IterableCoder", (LONG,)), b"\xff\xff\xff\xfe"),
        (Coder("x.PaneInfo$PaneInfoCoder"), b"\x35"),
        (Coder("x.BigIntegerCoder"), b"\x00"),
        (Coder("x.LengthPrefixCoder", (LONG,)), b"\x02\x01\x01"),
        (Coder("x.RowCoder", schema=FieldType("ROW", fields=())), b"\x01\x00"),
    ],
)
def test_damaged(coder: Coder, raw: bytes) -> None:
    with pytest.raises(FormatError):
        _decode(coder, raw)


def test_cut_off() -> None:
    with pytest.raises(TruncatedError):
        _decode(TEXT, b"\x05abc")


def _object(name: str, **fields: JavaValue) -> JavaObject:
    return JavaObject(name, {name: fields})


def test_coders_that_are_bombs_or_damaged() -> None:
    """Two references to one object at each level make a tree of 2^30 coders; an immutable map has two arrays."""
    bomb = _object("x.VarLongCoder")
    for _ in range(30):
        bomb = _object("x.KvCoder", keyCoder=bomb, valueCoder=bomb)
    with pytest.raises(FormatError, match="more than 10,000 parts"):
        read_coder(bomb)
    outputs = _object("x.Map", keys=JavaArray("[I", [_object("x.Integer", value=1)]), values=JavaArray("[L", []))
    with pytest.raises(FormatError, match="another number of keys"):
        read_coder(_object("x.DoFnOperator$TaggedKvCoder", idsToCoders=outputs))


def test_a_map_in_the_outer_context_is_not_guessed() -> None:
    """Its last value has no length if the value's coder leaves that out, as that of texts does."""
    numbers, texts = Coder("x.MapCoder", (TEXT, LONG)), Coder("x.MapCoder", (LONG, TEXT))
    assert coder_layout(numbers, outer=True) == coder_layout(numbers)
    assert isinstance(coder_layout(texts, outer=True), Undecodable)


def test_damaged_snapshot(tmp_path: Path) -> None:
    """A serializer that is no Java object any more: its state cannot be decoded, the others can."""
    (source,) = (DATA / "beam-2.70.0-hashmap").glob("chk-*")
    copy = tmp_path / source.name
    copy.mkdir()
    for file in source.iterdir():
        raw = file.read_bytes()
        (copy / file.name).write_bytes(raw.replace(b"sr\x00Corg.apache.beam", b"sr\x00Corg.apache.xeam"))
    snapshot = stateextract.open_snapshot(str(copy))
    states = [s for o in snapshot.operators for s in o.states]
    reasons = {str(s.coverage.reason) for s in states if s.coverage.status != "decoded"}
    assert any("the serializer of a coder is of another class" in reason for reason in reasons)
    with pytest.raises(StateExtractError):
        next(s for s in states if s.name == "total").to_table()
