"""Where errors say that something is wrong: which body it is, and which byte, also in compressed files."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import stateextract
from stateextract.errors import ChecksumError, FormatError, StateExtractError, TruncatedError
from stateextract.metadata.model import (
    InlineHandle,
    KeyGroupsHandle,
    NestedKeyGroupsHandle,
    OperatorState,
    OperatorStateHandle,
    RelativeHandle,
    SubtaskState,
)
from tests.state.keyed_writer import Entry, Keyed, State, canonical, heap, i32, i64, write_operators
from tests.state.operator_writer import Lists, simple
from tests.writers import flink_writer as flink
from tests.writers.plain import decompress

ENGINES = ("interpreter", "kernel")
NUMBERS = State("numbers", [Entry(n % 4, i64(n), i64(10 * n)) for n in range(40)])
OTHERS = State("others", [Entry(n % 4, i64(n), i64(20 * n)) for n in range(40)])
ENTRY = 1 + 8 + 8
BYTES = flink.simple(f"{flink.TYPEUTILS}.array.BytePrimitiveArraySerializer")


def written(folder: Path, subtask: SubtaskState, version: int = 6, max_parallelism: int = 4) -> Path:
    operator = OperatorState("0f" * 16, "op" if version >= 5 else None, None, 1, max_parallelism, subtasks=(subtask,))
    return write_operators(folder, [operator], version)


def on_disk(folder: Path, handle: KeyGroupsHandle, data: bytes, **more: Any) -> Path:
    """The snapshot with its file's bytes beside ``_metadata``, perhaps others than they were."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "state").write_bytes(data)
    moved = KeyGroupsHandle(handle.code, handle.first, handle.offsets, RelativeHandle("state", len(data)), "id")
    return written(folder, SubtaskState(0, managed_keyed=moved), **more)


def failure(path: Path, engine: Any, state: str = "numbers", operator: str = "0f" * 16) -> StateExtractError:
    with pytest.raises(StateExtractError) as caught:
        stateextract.open_snapshot(str(path), decoder=engine).operator(operator).state(state).to_table()
    assert (caught.value.file or "").startswith(str(path))
    return caught.value


# ---- which body it is


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("group", [1, 3])
def test_a_damaged_key_group_number(group: int, engine: str, tmp_path: Path) -> None:
    """Of a release where the handle does not say which body the file has: it stays a heap body."""
    handle = heap(Keyed([NUMBERS]), code=3)
    data = bytearray(handle.stream.data)  # type: ignore[union-attr]
    at = handle.offsets[group]
    data[at : at + 4] = i32(1 << 24)
    error = failure(on_disk(tmp_path, handle, bytes(data), version=3), engine)
    assert type(error) is FormatError
    assert (error.message, error.expected) == ("found key group 16777216", f"key group {group}")
    assert (error.key_group, error.offset, error.plain_offset) == (group, at, None)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_damaged_pair_of_a_full_snapshot(engine: str, tmp_path: Path) -> None:
    handle = canonical(Keyed([NUMBERS]), code=3)
    data = bytearray(handle.stream.data)  # type: ignore[union-attr]
    at = handle.offsets[2]
    data[at : at + 2] = b"\x00\x09"
    error = failure(on_disk(tmp_path, handle, bytes(data), version=3), engine)
    assert (error.message, error.key_group) == ("state id 9 is not in the header", 2)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("form", [heap, canonical])
def test_a_key_group_that_may_be_either(form: Any, engine: str, tmp_path: Path) -> None:
    """The only one is 0, and its first entry is larger than what is looked at beforehand."""
    large = State("numbers", [Entry(0, i64(0), i32(1 << 17) + bytes(1 << 17))], "VALUE", BYTES)
    keyed = Keyed([large], groups=range(1), max_parallelism=1)
    handle = form(keyed, code=3)
    data = handle.stream.data
    path = on_disk(tmp_path, handle, data, version=3, max_parallelism=1)
    state = stateextract.open_snapshot(str(path), decoder=engine).operators[0].state("numbers")
    assert state.to_table()["value"].to_pylist() == [bytes(1 << 17)]
    if form is canonical:
        path = on_disk(tmp_path, handle, data[:-2] + b"\x00\x07", version=3, max_parallelism=1)
        error = failure(path, engine)
        assert type(error) is FormatError
        assert error.message.startswith("the key group can be read neither as a heap body (")
        assert f"nor as a full snapshot (state id 7 is not in the header at {len(data)})" in error.message
        assert error.key_group == 0


# ---- which byte it is


def test_the_sentence() -> None:
    error = FormatError("it is wrong", file="f", offset=40, plain_offset=7)
    assert (
        str(error) == "it is wrong; in file f, byte offset 40, where compressed bytes begin, byte 7 of what they hold."
    )


@pytest.mark.parametrize("engine", ENGINES)
def test_in_a_compressed_heap_body(engine: str, tmp_path: Path) -> None:
    """The last state's count is one too many; its stream is the second of the key group."""
    keyed = Keyed([NUMBERS, OTHERS])
    handle = heap(keyed, compressed=True)
    plain = heap(keyed)
    data = handle.stream.data  # type: ignore[union-attr]
    start, end = handle.offsets[1], handle.offsets[2]
    body = plain.stream.data[plain.offsets[1] + 4 : plain.offsets[2]]  # type: ignore[union-attr]
    one, two = body[: len(body) // 2], body[len(body) // 2 :]
    changed = i32(1) + flink.compress_snappy_framed(one) + flink.compress_snappy_framed(two[:2] + i32(11) + two[6:])
    assert decompress("snappy", changed[4:])[: len(one)] == one
    assert len(changed) == end - start
    error = failure(on_disk(tmp_path, handle, data[:start] + changed + data[end:]), engine)
    assert type(error) is TruncatedError
    assert error.message == "the data ends inside entry 11 of 11"
    assert (error.state, error.key_group) == ("others", 1)
    assert (error.offset, error.plain_offset) == (start + 4, len(one) + 6 + 10 * ENTRY)


@pytest.mark.parametrize("engine", ENGINES)
def test_in_a_compressed_full_snapshot(engine: str, tmp_path: Path) -> None:
    keyed = Keyed([NUMBERS])
    handle, plain = canonical(keyed, compressed=True), canonical(keyed)
    data = handle.stream.data  # type: ignore[union-attr]
    start = handle.offsets[3]
    body = plain.stream.data[plain.offsets[3] :]  # type: ignore[union-attr]
    pair = 4 + 10 + 4 + 8
    at = 2 + 4 * pair + 4 + 10
    changed = body[:at] + i32(-8) + body[at + 4 :]
    error = failure(on_disk(tmp_path, handle, data[:start] + flink.compress_snappy_framed(changed)), engine)
    assert type(error) is FormatError
    assert (error.state, error.key_group) == ("numbers", 3)
    assert (error.offset, error.plain_offset) == (start, at)


@pytest.mark.parametrize("engine", ENGINES)
def test_in_the_compressed_bytes_themselves(engine: str, tmp_path: Path) -> None:
    handle = canonical(Keyed([NUMBERS]), compressed=True)
    data = bytearray(handle.stream.data)  # type: ignore[union-attr]
    start = handle.offsets[2]
    data[start + 10 + 4] ^= 1  # the checksum of the first chunk
    error = failure(on_disk(tmp_path, handle, bytes(data)), engine)
    assert type(error) is ChecksumError
    assert (error.key_group, error.offset, error.plain_offset) == (2, start + 10, None)


@pytest.mark.parametrize("engine", ENGINES)
def test_in_compressed_operator_state(engine: str, tmp_path: Path) -> None:
    """An element that is too short: the stream ends inside it."""
    elements = {("list", "SPLIT_DISTRIBUTE", simple("Long")): [i64(1), i64(2), i64(3)[:5]]}
    data, states = Lists(elements, form="compressed").write()
    handle = OperatorStateHandle(4, tuple(states), InlineHandle("x", data))
    path = written(tmp_path, SubtaskState(0, managed_operator=handle))
    error = failure(path, engine, "list")
    assert type(error) is TruncatedError
    start = (path / "_metadata").read_bytes().index(data)
    header_end = states[0].offsets[0] - 10
    assert (error.offset, error.plain_offset, error.state) == (start + header_end, 16, "list")


@pytest.mark.parametrize("engine", ENGINES)
def test_inline_bytes_in_nested_key_groups(tmp_path: Path, engine: str) -> None:
    """They are read, and their errors told, where they stand in ``_metadata``, which is not its beginning."""
    handle = heap(Keyed([NUMBERS]))
    assert isinstance(handle.stream, InlineHandle)
    data = handle.stream.data

    def path(name: str, stored: bytes) -> Path:
        nested = NestedKeyGroupsHandle(0, (1, 2), NestedKeyGroupsHandle(0, (), InlineHandle("heap", stored)))
        keyed = KeyGroupsHandle(12, 0, handle.offsets, nested, "id")
        return written(tmp_path / name, SubtaskState(0, managed_keyed=keyed))

    snapshot = stateextract.open_snapshot(str(path("sound", data)), decoder=engine)  # type: ignore[arg-type]
    rows = snapshot.operator("op").state("numbers").to_table().to_pylist()
    assert sorted((row["key"], row["value"]) for row in rows) == [(n, 10 * n) for n in range(40)]
    last = handle.offsets[3]
    folder = path("damaged", data[:last] + i32(9) + data[last + 4 :])
    with pytest.raises(FormatError, match="found key group 9") as caught:
        stateextract.open_snapshot(str(folder), decoder=engine).operator("op").state("numbers").to_table()  # type: ignore[arg-type]
    at = (folder / "_metadata").read_bytes().index(data[:last])
    assert (caught.value.file, caught.value.offset) == (str(folder / "_metadata"), at + last)
    assert at > 0


@pytest.mark.parametrize("compressed", [False, True])
def test_elements_that_all_begin_behind_the_file(tmp_path: Path, compressed: bool) -> None:
    """Where the head ends is only known from them."""
    longs = {("longs", "UNION", flink.LONG): [i64(n) for n in range(3)]}
    data, (state,) = Lists(longs, form="compressed" if compressed else "plain").write()
    first = len(data) + 40
    states = (replace(state, offsets=(first, first + 8)),)
    handle = OperatorStateHandle(4, states, InlineHandle("x", data))
    snapshot = stateextract.open_snapshot(str(written(tmp_path, SubtaskState(0, managed_operator=handle))))
    (problem,) = snapshot.operator("op").problems
    end = first - 10 if compressed else first
    assert (type(problem), problem.message, problem.operator) == (
        FormatError,
        f"the first data begins only at {end}",
        "op",
    )
    assert problem.expected == f"an offset in the file's {len(data)} bytes"
    assert problem.file == str(tmp_path / "_metadata")
