"""Damaged input: only documented errors come out, with the place, in bounded time and memory.

Small snapshots made here are damaged in one exact place and read through the Python API; golden files are damaged ten
thousand times at random, in processes with a limit of memory.
"""

from __future__ import annotations

import os
import struct
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import stateextract
from stateextract.api import State
from stateextract.columnar.layout import Text
from stateextract.errors import (
    ChecksumError,
    FormatError,
    MissingFileError,
    StateExtractError,
    TruncatedError,
    UndecodableError,
    UnreadableFileError,
)
from tests.depth import examples
from tests.job.snapshots import UNKNOWN, flink, numbered, write_snapshot
from tests.mutation_runs import SEED, outcomes_of

ROOT = Path(__file__).resolve().parents[2]
ENGINES = ("interpreter", "kernel")
ROWS = numbered(8, max_parallelism=4)
OPERATOR = "op"
NUMBERS = {i % 4: {(j, 10 * j) for j in range(8) if j % 4 == i % 4} for i in range(4)}


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def made(
    folder: Path, states: tuple[str, ...] = ("numbers",), compressed: bool = False, **values: bytes
) -> tuple[Path, Path]:
    """A snapshot of one file with key groups 0 to 3; the folder and the file."""
    path = write_snapshot(
        folder / "chk-7",
        {OPERATOR: dict.fromkeys(states, ROWS)},
        parallelism=1,
        max_parallelism=4,
        compressed=compressed,
        values=values,
    )
    return path, path / f"{OPERATOR}-0"


def state_of(path: Path, name: str = "numbers", **options: Any) -> State:
    return stateextract.open_snapshot(str(path), **options).operator(OPERATOR).state(name)


def pairs(state: State) -> set[tuple[int, int]]:
    table = state.to_table()
    return set(zip(table["key"].to_pylist(), table["value"].to_pylist(), strict=True))


def failure(path: Path, kind: type[StateExtractError], **options: Any) -> StateExtractError:
    with pytest.raises(StateExtractError) as caught:
        state_of(path, **options).to_table()
    assert type(caught.value) is kind, caught.value
    return caught.value


def first_group(file: Path) -> int:
    """Offset of key group 0: the first of its id, a state id and two entries."""
    return file.read_bytes().index(struct.pack(">iHi", 0, 0, 2))


# ---- one exact damage


def test_whole(tmp_path: Path, engine: str) -> None:
    path, _ = made(tmp_path)
    assert pairs(state_of(path, decoder=engine)) == {(i, 10 * i) for i in range(8)}


@pytest.mark.parametrize("compressed", [False, True])
def test_a_cut_file(tmp_path: Path, engine: str, compressed: bool) -> None:
    """Cut by one byte, in its head, and to nothing: it is shorter than the handle says."""
    path, file = made(tmp_path, compressed=compressed)
    data = file.read_bytes()
    for length in (len(data) - 1, 40, 0):
        file.write_bytes(data[:length])
        error = failure(path, TruncatedError, decoder=engine)
        assert (error.file, error.operator, error.offset) == (str(file), OPERATOR, length)
        assert f"the file has {length} bytes" in error.message


def test_a_file_that_is_gone_or_may_not_be_read(tmp_path: Path, engine: str) -> None:
    path, file = made(tmp_path)
    moved = tmp_path / "elsewhere"
    file.rename(moved)
    error = failure(path, MissingFileError, decoder=engine)
    assert (error.file, error.operator) == (str(file), OPERATOR)
    moved.rename(file)
    file.chmod(0)
    with nobody(tmp_path):
        error = failure(path, UnreadableFileError, decoder=engine)
    assert (error.file, error.message) == (str(file), "permission denied")
    file.unlink()
    file.mkdir()
    assert failure(path, MissingFileError, decoder=engine).operator == OPERATOR


@contextmanager
def nobody(folder: Path) -> Iterator[None]:
    """Root may read everything: go on as a user who may not, but who reaches the folder."""
    if os.geteuid() != 0:
        yield
        return
    for above in (folder, *folder.parents):
        above.chmod(above.stat().st_mode | 0o055)
        if above == Path(tempfile.gettempdir()):
            break
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


def test_a_count_of_two_billion(tmp_path: Path, engine: str) -> None:
    """Of entries, with only two there; the rows before are not given out."""
    path, file = made(tmp_path)
    data, at = file.read_bytes(), first_group(file)
    file.write_bytes(data[: at + 6] + b"\x7f\xff\xff\xff" + data[at + 10 :])
    error = failure(path, TruncatedError, decoder=engine)
    assert (error.state, error.key_group, error.operator, error.file) == ("numbers", 0, OPERATOR, str(file))
    assert error.offset == at + 10 + 2 * 17
    assert error.message == "the data ends inside entry 3 of 2147483647"


@pytest.mark.parametrize(("count", "shown"), [(b"\x80\x00\x00\x00", -(2**31)), (b"\xff\xff\xff\xff", -1)])
def test_a_negative_count(tmp_path: Path, engine: str, count: bytes, shown: int) -> None:
    path, file = made(tmp_path)
    data, at = file.read_bytes(), first_group(file)
    file.write_bytes(data[: at + 6] + count + data[at + 10 :])
    error = failure(path, FormatError, decoder=engine)
    assert (error.state, error.key_group) == ("numbers", 0)
    assert error.message == f"a negative number of entries, {shown}"


@pytest.mark.parametrize("engine_", ENGINES)
def test_a_text_of_two_billion_characters(engine_: str) -> None:
    """A length that no bytes stand behind allocates nothing: the end of the data is reported."""
    from stateextract.columnar.convert.policy import Policy
    from stateextract.columnar.decode.decoder import Stop, make_decoder
    from stateextract.columnar.layout import struct as struct_
    from stateextract.files.block import Block

    layout = struct_(value=Text("flink"))
    decoder = make_decoder(layout, Policy(), engine=engine_)
    data = b"\xff\xff\xff\xff\x07" + b"abc"
    progress = decoder.decode(Block.of(data), 0, len(data), 1)
    assert (progress.stop, progress.entries) == (Stop.NEED_INPUT, 0)


def test_another_key_group(tmp_path: Path, engine: str) -> None:
    """Its number stands in front of each key group of a heap body."""
    path, file = made(tmp_path)
    data = file.read_bytes()
    second = data.index(struct.pack(">iHi", 1, 0, 2))
    file.write_bytes(data[:second] + struct.pack(">i", 9) + data[second + 4 :])
    error = failure(path, FormatError, decoder=engine)
    assert (error.key_group, error.operator, error.file, error.offset) == (1, OPERATOR, str(file), second)
    assert error.message == "found key group 9"


@pytest.mark.parametrize("compressed", [False, True])
def test_key_groups_without_entries(tmp_path: Path, engine: str, compressed: bool) -> None:
    """Those that are like one before are passed over; what is damaged in them is found all the same."""
    states = {"numbers": {6: [(6, 60)]}, "others": {}}
    path = write_snapshot(
        tmp_path / "chk-7", {OPERATOR: states}, parallelism=1, max_parallelism=8, compressed=compressed
    )
    state = state_of(path, decoder=engine)
    assert pairs(state) == {(6, 60)}
    counters = state.coverage.counters
    assert (counters.key_groups, counters.entries, counters.bytes) == (8, 1, 8 * 6 + 17)
    file = path / f"{OPERATOR}-0"
    data = file.read_bytes()
    nothing = data[data.rindex(struct.pack(">i", 7)) + 4 :]
    start, end = (data.index(struct.pack(">i", group) + nothing) for group in (4, 5))
    for at in range(start, end):
        if data[at] == 0xFF and at > start + 4:
            continue  # between streams chunks of other types may stand, which are passed over
        file.write_bytes(data[:at] + bytes([data[at] ^ 0x40]) + data[at + 1 :])
        with pytest.raises(StateExtractError) as caught:
            state_of(path, decoder=engine).to_table()
        assert caught.value.key_group == 4, at
    file.write_bytes(data)
    assert pairs(state_of(path, decoder=engine)) == {(6, 60)}


def test_another_state_id(tmp_path: Path, engine: str) -> None:
    path, file = made(tmp_path)
    data, at = file.read_bytes(), first_group(file)
    file.write_bytes(data[: at + 4] + b"\x00\x07" + data[at + 6 :])
    error = failure(path, FormatError, decoder=engine)
    assert (error.key_group, error.operator, error.file) == (0, OPERATOR, str(file))
    assert error.message == "state id 7 is not in the header"


def test_offsets_beyond_the_file(tmp_path: Path, engine: str) -> None:
    path, file = made(tmp_path)
    metadata = path / "_metadata"
    last = file.read_bytes().index(struct.pack(">iHi", 3, 0, 2))
    data = metadata.read_bytes()
    assert data.count(struct.pack(">q", last)) == 1
    for offset in (2**31, 2**62, -5):
        metadata.write_bytes(data.replace(struct.pack(">q", last), struct.pack(">q", offset)))
        error = failure(path, FormatError, decoder=engine)
        assert (error.file, error.operator, error.key_group) == (str(file), OPERATOR, 3)
        assert f"key group 3 begins at {offset}" in error.message


@pytest.mark.parametrize("compressed", [False, True])
def test_a_wrong_compression_flag(tmp_path: Path, engine: str, compressed: bool) -> None:
    path, file = made(tmp_path, compressed=compressed)
    data = file.read_bytes()
    file.write_bytes(data[:4] + bytes([not compressed]) + data[5:])
    error = failure(path, FormatError, decoder=engine)
    assert (error.file, error.operator) == (str(file), OPERATOR)
    if compressed:
        assert "state id 65286" in error.message  # 0xFF06, where the Snappy stream begins
    else:
        assert "a Snappy stream begins with a chunk" in error.message


def test_a_wrong_checksum(tmp_path: Path, engine: str) -> None:
    path, file = made(tmp_path, compressed=True)
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)
    error = failure(path, ChecksumError, decoder=engine)
    assert (error.file, error.operator, error.key_group) == (str(file), OPERATOR, 3)
    # Unchecked, the last byte of the last value is another one.
    assert (7, 71) in pairs(state_of(path, decoder=engine, verify_checksums=False))


def test_bytes_behind_the_last_state(tmp_path: Path, engine: str) -> None:
    path, file = made(tmp_path)
    data, at = file.read_bytes(), first_group(file)
    file.write_bytes(data[: at + 6] + struct.pack(">i", 1) + data[at + 10 :])
    error = failure(path, FormatError, decoder=engine)
    assert (error.message, error.key_group) == ("bytes follow the last state of the key group", 0)
    assert error.offset == at + 10 + 17


# ---- an unknown serializer in the middle of other states

THREE = ("before", "middle", "behind")
WORDS = "values of com.example.ShapeSerializerSnapshot cannot be decoded"


@pytest.mark.parametrize("compressed", [False, True])
def test_unknown_serializer_fails(tmp_path: Path, engine: str, compressed: bool) -> None:
    path, file = made(tmp_path, THREE, compressed, middle=UNKNOWN)
    with pytest.raises(UndecodableError, match=WORDS) as caught:
        state_of(path, "middle", decoder=engine).to_table()
    assert (caught.value.operator, caught.value.state, caught.value.file) == (OPERATOR, "middle", str(file))
    every = {(i, 10 * i) for i in range(8)}
    before = state_of(path, "before", decoder=engine)
    behind = state_of(path, "behind", decoder=engine)
    if compressed:
        assert pairs(before) == pairs(behind) == every
    else:
        assert pairs(before) == every
        with pytest.raises(UndecodableError, match=WORDS) as caught:
            behind.to_table()
        assert (caught.value.state, caught.value.key_group) == ("middle", 0)
        assert "go on without it and without 'behind' after it" in (caught.value.advice or "")


@pytest.mark.parametrize("mode", ["skip", "raw"])
@pytest.mark.parametrize("compressed", [False, True])
def test_unknown_serializer_is_passed_over(tmp_path: Path, engine: str, compressed: bool, mode: Any) -> None:
    path, _ = made(tmp_path, THREE, compressed, middle=UNKNOWN)
    every = {(i, 10 * i) for i in range(8)}
    before = state_of(path, "before", decoder=engine, on_undecodable=mode)
    assert pairs(before) == every
    assert before.coverage.status == "decoded"
    behind = state_of(path, "behind", decoder=engine, on_undecodable=mode)
    if compressed:
        assert pairs(behind) == every
        assert behind.coverage.status == "decoded"
    else:
        assert pairs(behind) == set()
        assert (behind.coverage.status, behind.coverage.counters.lost_key_groups) == ("skipped", 4)
        assert (behind.coverage.reason or "").startswith("unreadable after state 'middle' in the same key group: " + WORDS)
    middle = state_of(path, "middle", decoder=engine, on_undecodable=mode)
    assert middle.to_table().num_rows == 0
    assert middle.coverage.status == {"skip": "skipped", "raw": "raw"}[mode]
    assert (middle.coverage.reason or "").startswith(WORDS)
    counters = middle.coverage.counters
    assert (counters.rows, counters.lost_key_groups, counters.lost_entries) == (0, 4, 8)
    assert counters.raw_rows == (4 if mode == "raw" else 0)


@pytest.mark.parametrize("compressed", [False, True])
def test_raw_bytes_of_an_unknown_serializer(tmp_path: Path, engine: str, compressed: bool) -> None:
    path, _ = made(tmp_path, THREE, compressed, middle=UNKNOWN)
    rows = state_of(path, "middle", decoder=engine).raw_batches().read_all().to_pylist()
    entries = {g: b"".join(struct.pack(">bqq", 0, *row) for row in ROWS[g]) for g in range(4)}
    # Uncompressed, nobody knows where the state ends, so its bytes are all up to the end of the key group.
    tails = {g: b"" if compressed else struct.pack(">Hi", 2, 2) + entries[g] for g in range(4)}
    assert rows == [
        {
            "key": None,
            "key_bytes": None,
            "key_group": g,
            "part": 0,
            "entries": 2,
            "bytes": entries[g] + tails[g],
            "reason": f"{WORDS}: the serializer's snapshot class is not known",
            "subtask": 0,
        }
        for g in range(4)
    ]


def test_an_unknown_serializer_without_entries_costs_nothing(tmp_path: Path, engine: str) -> None:
    path = write_snapshot(
        tmp_path / "chk-7",
        {OPERATOR: {"before": ROWS, "middle": {}, "behind": ROWS}},
        parallelism=1,
        max_parallelism=4,
        values={"middle": UNKNOWN},
    )
    assert pairs(state_of(path, "behind", decoder=engine)) == {(i, 10 * i) for i in range(8)}


def test_an_unknown_key_takes_everything(tmp_path: Path, engine: str) -> None:
    path, file = made(tmp_path, ("numbers",), numbers=flink.LONG)
    data = file.read_bytes()
    long, other = flink.LONG, flink.LONG.replace(b"LongSerializer", b"LungSerializer")
    file.write_bytes(data.replace(long, other, 1))
    error = failure(path, UndecodableError, decoder=engine)
    assert "LungSerializer" in error.message
    assert (error.operator, error.state) == (OPERATOR, "numbers")


# ---- mutations

RUNS = [
    (case, engine)
    for case in (
        "f20-records-native",
        "f23-evolution-checkpoint",
        "f20-async-native-rescaled",
        "f23-custom-native-snappy",
        "f117-keys-native",
    )
    for engine in ENGINES
]


@pytest.mark.slow
@pytest.mark.parametrize(("case", "engine_"), RUNS)
def test_mutations(case: str, engine_: str) -> None:
    count = examples(300)
    outcomes = outcomes_of("tests.state.mutations", case, SEED, count, engine_, count=count)
    # Damage in every region was found.
    for region in ("metadata", "head", "body"):
        assert any(name.startswith(f"{region}: ") and name.endswith("Error") for name in outcomes)
