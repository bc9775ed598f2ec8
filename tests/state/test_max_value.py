"""The largest value: what is larger is an error of ours, in every form, and nothing is made of it."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import stateextract
from stateextract.columnar.convert.policy import Policy
from stateextract.columnar.decode.decoder import make_decoder
from stateextract.columnar.decode.pair_decoder import make_pair_decoder
from stateextract.columnar.layout import Field, Layout, List, Map, Nullable, Number, Python, Skip, Struct, Text
from stateextract.columnar.layout import struct as struct_of
from stateextract.columnar.layout.binary import BinaryArray
from stateextract.columnar.program.pair_programs import PairLayout
from stateextract.errors import FormatError, StateExtractError, UsageError, ValueRefusedError
from stateextract.files.block import Block
from stateextract.files.window import RangeSource, Window
from stateextract.metadata.model import SubtaskState
from tests.changelog.writer import Job, handle, in_memory
from tests.state.keyed_writer import FORMS, STRING, Entry, Keyed, State, i64, write
from tests.writers import flink_writer as flink
from tests.writers.flink_writer import flink_string, list_of

ENGINES = ("interpreter", "kernel")
LONG = Number(pa.int64())


def test_a_window_knows_its_largest_item() -> None:
    data = bytes(range(200))

    def window(limit: int | None = None) -> Window:
        made = Window(RangeSource(lambda at, n: data[at : at + n], 0, 200), most=50)
        made.limit = limit
        return made

    w = window()
    assert w.need(50)
    assert w.end - w.pos == 50  # more is there, and not given out
    with pytest.raises(ValueRefusedError, match="a value of at least 51 bytes; expected at most 50; in byte offset 0"):
        w.need(51)
    w.pos += 50
    assert w.need(50)
    w.skip(120)
    assert (w.offset(), w.need(31), w.end - w.pos) == (170, False, 30)
    # A length that no bytes stand behind is damage, as ever.
    assert window().need(201) is False
    assert window(limit=60).need(61) is False


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("form", FORMS)
def test_every_form(form: str, engine: Any, tmp_path: Path) -> None:
    values = [flink_string("x" * n) for n in (10, 1900, 100)]
    entries = [Entry(0, i64(n), value) for n, value in enumerate(values)]
    path = write(tmp_path, [SubtaskState(0, managed_keyed=FORMS[form](Keyed([State("s", entries, value=STRING)])))])

    def read(most: int) -> Any:
        snapshot = stateextract.open_snapshot(str(path), decoder=engine, max_value_bytes=most)
        return snapshot.operator("op").state("s").to_table()

    assert sorted(map(len, read(2000)["value"].to_pylist())) == [10, 100, 1900]
    with pytest.raises(ValueRefusedError, match=r"at least .* bytes; expected at most 1800; .*max_value_bytes") as e:
        read(1800)
    assert e.value.state == "s"


@pytest.mark.parametrize("engine", ENGINES)
def test_flattened_the_elements_count_alone(engine: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stateextract.state.bodies.heap.LARGE", 1000)
    entries = [Entry(0, i64(1), [flink_string("x" * 90)] * 50)]
    keyed = Keyed([State("s", entries, "LIST", list_of(STRING))])
    path = write(tmp_path, [SubtaskState(0, managed_keyed=FORMS["heap"](keyed))])

    def read(**options: Any) -> Any:
        return stateextract.open_snapshot(str(path), decoder=engine, **options).operator("op").state("s").to_table()

    assert read(flatten=True, max_value_bytes=1000)["list_index"].to_pylist() == list(range(50))
    with pytest.raises(ValueRefusedError, match="expected at most 1000"):
        read(max_value_bytes=1000)


WIDE = Nullable(Struct(tuple(Field(f"f{i}", Nullable(LONG)) for i in range(1000))))
"""A byte for a null of many columns."""


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("blocks", [False, True])
def test_few_bytes_that_stand_for_many_columns(blocks: bool, engine: str) -> None:
    """Refused before there is room for them."""
    layout, n = struct_of(a=List(WIDE, blocks=blocks)), 50_000
    data = (b"\xd0\x86\x03" if blocks else struct.pack(">i", n)) + b"\1" * n + b"\0"
    decoder = make_decoder(layout, Policy(max_value_bytes=1 << 20), engine=engine, batch_bytes=1 << 20)
    with pytest.raises(ValueRefusedError, match=r"one row needs \d+ bytes in memory; expected at most 4194304"):
        decoder.decode(Block.of(data), 0, len(data), 1)


@pytest.mark.parametrize("engine", ENGINES)
def test_few_bytes_in_the_list_of_a_pair(engine: str) -> None:
    fields = (Field("namespace", Skip(0)), Field("key", LONG), Field("value", List(WIDE)))
    key, value = b"\0" + i64(1), b"\1," * 50_000 + b"\1"
    data = struct.pack(">i", len(key)) + key + struct.pack(">i", len(value)) + value
    policy = Policy(max_value_bytes=1 << 20)
    decoder = make_pair_decoder(PairLayout("list", fields, 1, False), policy, engine, batch_bytes=1 << 20)
    decoder.begin(0)
    with pytest.raises(ValueRefusedError, match=r"one row needs \d+ bytes in memory; expected at most 4194304"):
        decoder.decode(Block.of(data), 0, len(data), 1)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("form", ["canonical", "RocksDB"])
def test_a_flattened_list_of_a_pair_that_may_be_kept_as_bytes(
    form: str, engine: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With ``raw`` it is needed as a whole, and so it is bounded."""
    monkeypatch.setattr("stateextract.state.bodies.heap.LARGE", 1000)
    keyed = Keyed([State("s", [Entry(0, i64(1), [flink_string("x" * 90)] * 50)], "LIST", list_of(STRING))])
    path = write(tmp_path, [SubtaskState(0, managed_keyed=FORMS[form](keyed))])

    def read(**options: Any) -> Any:
        snapshot = stateextract.open_snapshot(str(path), decoder=engine, flatten=True, **options)
        return snapshot.operator("op").state("s").to_table()

    assert read(max_value_bytes=1000).num_rows == 50
    assert read(max_value_bytes=5000, on_undecodable="raw").num_rows == 50
    with pytest.raises(ValueRefusedError, match=r"at least \d+ bytes; expected at most 1000"):
        read(max_value_bytes=1000, on_undecodable="raw")


@pytest.mark.parametrize("flatten", [False, True])
@pytest.mark.parametrize("base", [None, "heap", "canonical", "RocksDB"])
def test_a_list_under_a_changelog(base: str | None, flatten: bool, tmp_path: Path) -> None:
    """Its elements are in the log, or most of them are materialized."""
    element, key = flink_string("x" * 90), i64(1)
    job = Job([State("s", kind="LIST", value=list_of(STRING)), State("timers", kind="TIMER")])
    if base is not None:
        job.update("s", 0, key, [element] * 45)
        materialized = job.materialize()
    for _ in range(5 if base else 50):
        job.add("s", 0, key, element)
    job.register("timers", 0, 1, key)  # which tells the key's type where nothing is materialized
    log = in_memory(job.log, range(4))
    parts = [] if base is None else [FORMS[base](materialized)]
    path = write(tmp_path, [SubtaskState(0, managed_keyed=handle(range(4), parts, [log]))])

    def read(most: int) -> Any:
        snapshot = stateextract.open_snapshot(str(path), flatten=flatten, max_value_bytes=most)
        return snapshot.operator("op").state("s").to_table()

    assert read(5000).num_rows == (50 if flatten else 1)
    with pytest.raises(ValueRefusedError, match=r"at least \d+ bytes; expected at most 4000") as caught:
        read(4000)
    assert caught.value.state == "s"


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("nested", [False, True])
def test_slots_that_point_to_the_same_bytes(nested: bool, engine: str) -> None:
    """500 texts of 10,000 letters, or 30 in each of 30 arrays, of less than 20 kB."""
    n, size = (30, 10_000) if nested else (500, 10_000)

    def array(count: int, content: bytes) -> bytes:
        front = struct.pack("<i", count) + bytes((count + 31) // 32 * 4)
        slot = struct.pack("<q", len(front) + 8 * count << 32 | len(content))
        return front + slot * count + content

    section = array(n, b"x" * size)
    element: Layout = Text("utf8")
    if nested:
        section, element = array(n, section), BinaryArray(element)
    data = struct.pack(">i", len(section)) + section
    assert len(data) < 20_000
    layout = struct_of(a=BinaryArray(element))
    policy = Policy(max_value_bytes=1 << 20)
    decoder = make_decoder(layout, policy, engine=engine, batch_bytes=1 << 20)
    with pytest.raises(ValueRefusedError, match=r"one row needs \d+ bytes in memory; expected at most 4194304"):
        decode_one(decoder, data)
    decoder = make_decoder(layout, Policy(), engine=engine)
    decode_one(decoder, data)
    (row,) = decoder.flush().to_pylist()
    assert row == {"a": [["x" * size] * n] * n if nested else ["x" * size] * n}


def decode_one(decoder: Any, data: bytes) -> None:
    assert decoder.decode(Block.of(data), 0, len(data), 1).entries == 1


def test_values_that_refer_to_the_same_object() -> None:
    """As in Kryo's bytes, where an object is a number the second time."""

    def decode(data: memoryview, pos: int, end: int) -> tuple[Any, int]:
        return ["x" * 1000] * (1000 * data[pos]), pos + 1

    layout = struct_of(a=Python(decode, pa.list_(pa.string())))
    policy = Policy(max_value_bytes=1 << 20)
    decoder = make_decoder(layout, policy, engine="interpreter", batch_bytes=1 << 20)
    with pytest.raises(ValueRefusedError, match="one row needs 5040008 bytes in memory; expected at most 4194304"):
        decoder.decode(Block.of(b"\5"), 0, 1, 1)
    # Many of them are in several batches.
    assert decoder.decode(Block.of(b"\1" * 9), 0, 9, 9).entries == 2
    decoder.flush()
    with pytest.raises(ValueRefusedError, match="one row needs 5040008 bytes"):
        decoder.decode_whole(Block.of(b"\5"), 0, 1)


def test_a_batch_ends_before_its_nulls_are_too_many() -> None:
    decoder = make_decoder(struct_of(a=WIDE), Policy(), engine="interpreter", batch_bytes=1 << 20)
    progress = decoder.decode(Block.of(b"\1" * 1000), 0, 1000, 1000)
    assert progress.entries == -(-(1 << 20) // (1 + 9 * 1000))


@pytest.mark.parametrize("engine", ENGINES)
def test_a_list_of_numbers_tells_its_size(engine: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of it would be asked for at once; flattened it is read in parts, however small the largest row is."""
    monkeypatch.setattr("stateextract.state.bodies.heap.LARGE", 1000)
    keyed = Keyed([State("s", [Entry(0, i64(1), [i64(n) for n in range(400)])], "LIST", list_of(flink.LONG))])
    path = write(tmp_path, [SubtaskState(0, managed_keyed=FORMS["heap"](keyed))])
    snapshot = stateextract.open_snapshot(str(path), decoder=engine, flatten=True, max_value_bytes=1000)
    assert snapshot.operator("op").state("s").to_table()["value"].to_pylist() == list(range(400))


@pytest.mark.parametrize("engine", ENGINES)
def test_a_map_of_many_pairs(engine: str) -> None:
    """Each pair is small, and all of them are one row."""
    fields = (Field("namespace", Skip(0)), Field("key", LONG), Field("value", Map(LONG, Nullable(LONG))))
    layout = PairLayout("map", fields, 1, False)
    pairs = []
    for n in range(40_000):
        key = b"\0" + i64(1) + i64(n)
        pairs.append(struct.pack(">i", len(key)) + key + struct.pack(">i", 9) + b"\0" + i64(n))
    data = b"".join(pairs)

    def read(most: int, flat: bool = False) -> int:
        policy = Policy(max_value_bytes=most)
        decoder = make_pair_decoder(layout, policy, engine, batch_rows=1000, batch_bytes=1 << 16, flat=flat)
        decoder.begin(0)
        pos = done = rows = 0
        while done < len(pairs):
            progress = decoder.decode(Block.of(data), pos, len(data), len(pairs) - done)
            pos, done = progress.pos, done + progress.entries
            rows += len(decoder.flush(last=done == len(pairs)))
        return rows

    assert read(10 << 20) == 1
    assert read(1 << 16, flat=True) == len(pairs)
    with pytest.raises(ValueRefusedError, match="max-value-bytes"):
        read(1 << 16)


def test_the_option() -> None:
    with pytest.raises(UsageError, match="max_value_bytes cannot be 0; expected 1 or more"):
        Policy(max_value_bytes=0)
    assert issubclass(ValueRefusedError, StateExtractError)
    assert not issubclass(ValueRefusedError, FormatError)
