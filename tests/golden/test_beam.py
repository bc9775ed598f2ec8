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
from stateextract.errors import FormatError, StateExtractError, TruncatedError, UndecodableError
from stateextract.files.javastream import JavaArray, JavaEnum, JavaObject, JavaValue

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


@pytest.mark.parametrize(
    ("raw", "pane"),
    [
        (b"\x0f", (True, True, "UNKNOWN", 0, 0)), (b"\x0c", (False, False, "UNKNOWN", -1, 0)),
        (b"\x01", (True, False, "EARLY", 0, -1)), (b"\x10\x05", (False, False, "EARLY", 5, -1)),
        (b"\x16\x05", (False, True, "ON_TIME", 5, 5)), (b"\x28\x85\x01\x03", (False, False, "LATE", 133, 3)),
    ],
)  # fmt: skip
def test_panes(raw: bytes, pane: tuple[bool, bool, str, int, int]) -> None:
    """All three encodings of ``PaneInfoCoder``."""
    assert tuple(_decode(Coder("x.PaneInfo$PaneInfoCoder"), raw).values()) == pane


def test_a_pane_with_metadata_of_the_element() -> None:
    with pytest.raises(UndecodableError, match="an element of Beam has metadata, which are not read") as caught:
        _decode(Coder("x.PaneInfo$PaneInfoCoder"), b"\x8f")
    assert caught.value.offset == 0


INSTANT_5 = b"\x80" + bytes(6) + b"\x05"


def test_work_items() -> None:
    """A key, timers and elements, each of which has its time, its windows and its pane."""
    coder = Coder("x.KeyedWorkItemCoder", (TEXT, LONG, Coder("x.GlobalWindow$Coder")))
    element = INSTANT_5 + b"\x00\x00\x00\x01" + b"\x0f" + b"\x07"
    timer = b"\x01t" + b"\x01f" + b"\x01n" + INSTANT_5 + INSTANT_5 + b"\x0aEVENT_TIME"
    pane = {"is_first": True, "is_last": True, "timing": "UNKNOWN", "index": 0, "non_speculative_index": 0}
    found = _decode(coder, b"\x01k" + b"\x00\x00\x00\x01" + timer + b"\x00\x00\x00\x01" + element)
    assert found["key"] == "k"
    assert [(e["timestamp"], e["windows"], e["pane"], e["value"]) for e in found["elements"]] == [(5, [True], pane, 7)]
    assert [tuple(timer.values()) for timer in found["timers"]] == [("t", "f", "n", 5, 5, "EVENT_TIME")]


def test_unions() -> None:
    coder = Coder("x.UnionCoder", (LONG, TEXT))
    assert _decode(coder, b"\x00\x05") == {"_0": 5, "_1": None}
    assert _decode(coder, b"\x01\x01a") == {"_0": None, "_1": "a"}
    read = read_coder(_object("x.UnionCoder", elementCoders=_list_of(_object("x.VarLongCoder"), _object("x.StringUtf8Coder"))))
    assert read == coder
    many = Coder("x.UnionCoder", (LONG,) * 129)
    assert coder_layout(many) == Undecodable("x.UnionCoder", "a number of a part has more than one byte")


def test_logical_types() -> None:
    """They are stored as their base type, which may be null; classes that do not say theirs are known or not decoded."""

    def row(base: FieldType, logical: str = "com.acme.Type") -> Coder:
        known = (base,) if base.name else ()
        type_ = FieldType("LOGICAL_TYPE", True, known, (), logical)
        return Coder("x.RowCoder", schema=FieldType("ROW", fields=(("a", type_),)))

    assert _decode(row(FieldType("INT64")), b"\x01\x00\x05") == {"a": 5}
    assert _decode(row(FieldType("INT64")), b"\x01\x01\x01") == {"a": None}
    assert _decode(row(FieldType("STRING", nullable=True)), b"\x01\x00\x01\x01b") == {"a": "b"}
    assert _decode(row(FieldType("STRING", nullable=True)), b"\x01\x00\x00") == {"a": None}
    with pytest.raises(UndecodableError, match=r"com\.acme\.Type"):
        _decode(row(FieldType("")), b"\x01\x00\x05")


def _object(class_name: str, /, **fields: JavaValue) -> JavaObject:
    return JavaObject(class_name, {class_name: fields})


def _type(name: str, **fields: JavaValue) -> JavaObject:
    return _object("x.FieldType", typeName=JavaEnum("x.TypeName", name), **fields)


def _list_of(*values: JavaValue) -> JavaObject:
    return _object("com.google.common.collect.ImmutableList$SerializedForm", elements=JavaArray("[L", list(values)))


@pytest.mark.parametrize(
    ("logical", "expected"),
    [
        ({"fieldType": _type("STRING")}, FieldType("STRING")),
        ({}, FieldType("INT32")),
    ],
)
def test_logical_types_of_a_schema(logical: dict[str, JavaValue], expected: FieldType) -> None:
    name = "org.apache.beam.sdk.schemas.logicaltypes.EnumerationType"
    field = _object("x.Field", name="a", type=_type("LOGICAL_TYPE", nullable=True, logicalType=_object(name, **logical)))
    coder = read_coder(_object("x.RowCoder", schema=_object("x.Schema", fields=_list_of(field))))
    type_ = FieldType("LOGICAL_TYPE", True, (expected,), (), name)
    assert coder == Coder("x.RowCoder", schema=FieldType("ROW", fields=(("a", type_),)))


def test_coders_that_java_has_once() -> None:
    """Enums, and Avro's with the schema in a supplier."""
    assert read_coder(JavaEnum("x.Coders", "ONE")) == Coder("x.Coders")
    supplier = _object("x.Supplier", schema='"int"')
    assert read_coder(_object("x.AvroCoder", schemaSupplier=supplier)) == Coder("x.AvroCoder", avro='"int"')
    assert read_coder(_object("x.AvroCoder")) == Coder("x.AvroCoder")


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
        (Coder("x.AvroCoder", avro='"bytes"'), b"\x01"),
        (Coder("x.IterableCoder", (LONG,)), b"\xff\xff\xff\xff\x7f\x05"),
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


_FIELD = _object("x.Field", name="a", type=None)
_LOGICAL = _object("x.Field", name="a", type=_type("LOGICAL_TYPE", logicalType=None))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, "a coder is not an object"),
        (_object("x.UnionCoder", elementCoders=_object("x.MyList")), "a list of Java objects is of a class that is not known"),
        (_object("x.RowCoder", schema=None), "a schema is not an object"),
        (_object("x.RowCoder", schema=_object("x.S", fields=_list_of(None))), "a field of a schema has no name"),
        (_object("x.RowCoder", schema=_object("x.S", fields=_list_of(_FIELD))), "the type of a field has no name"),
        (_object("x.RowCoder", schema=_object("x.S", fields=_list_of(_LOGICAL))), "a logical type is not an object"),
    ],
)
def test_what_is_no_coder(value: JavaValue, message: str) -> None:
    with pytest.raises(FormatError, match=f"^{message}"):
        read_coder(value)


def test_coders_that_are_nested_too_deeply() -> None:
    deep = _object("x.VarLongCoder")
    for _ in range(51):
        deep = _object("x.NullableCoder", valueCoder=deep)
    with pytest.raises(FormatError, match="nested more than 50 deep"):
        read_coder(deep)
    number = _object("x.Integer", value="1")
    outputs = _object("x.Map", keys=JavaArray("[I", [number]), values=JavaArray("[L", [deep]))
    with pytest.raises(FormatError, match="the number of an output is not a number"):
        read_coder(_object("x.DoFnOperator$TaggedKvCoder", idsToCoders=outputs))
    schema = '"int"'
    for _ in range(70):
        schema = f'{{"type": {schema}}}'
    nested = coder_layout(Coder("x.AvroCoder", avro=schema))
    assert nested == Undecodable("AvroCoder", "its schema is nested too deeply")
    assert _decode(Coder("x.AvroCoder", avro='{"type": {"type": "long"}}'), b"\x0a") == 5


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
