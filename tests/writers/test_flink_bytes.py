"""The generator writes what Flink writes: a job's snapshot of the same rows (golden data, job ``shapes``) against its own.

Flink's tables give the entries of a key group in the order of their hash codes, the generator in order of the rows; and
the states of a key group follow each other by an identity hash, in an order of the JVM's. So the bytes of each state's
entries in a key group are compared as a multiset, and everything else byte for byte.
"""

from __future__ import annotations

import json
import struct
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from stateextract.columnar.interpreter import interpret
from stateextract.metadata.model import KeyGroupsHandle, OperatorState, RelativeHandle
from stateextract.metadata.parser import parse_metadata
from stateextract.state.header import parse_header
from stateextract.state.row_layout import row_layout
from tests.conformance.notation import comparable, from_truth
from tests.golden.shapes_input import ROWS, SEED
from tests.writers.generate import plan_operators, write_snapshot
from tests.writers.plain import decompress
from tests.writers.shapes import SHAPES, rows

GOLDEN = Path(__file__).parents[1] / "golden" / "data"
KEY_GROUPS = 16
CASES = {"none": "f23-shapes-checkpoint", "snappy": "f23-shapes-checkpoint-snappy"}


@dataclass
class StateFile:
    """A state file in pieces.

    :param entries: their bytes by key group and state id.
    :param groups: the bytes that name the key groups.
    :param sizes: bytes of each key group before compression.
    """

    handle: KeyGroupsHandle
    head: bytes
    groups: list[bytes]
    entries: dict[tuple[int, int], Counter[bytes]]
    sizes: list[int]


def flink_snapshot(compression: str) -> Path:
    folder = GOLDEN / CASES[compression]
    return folder / json.loads((folder / "expected.json").read_text())["snapshot"]


def generated_snapshot(folder: Path, compression: str) -> Path:
    plans = plan_operators(list(SHAPES), entries=ROWS, max_parallelism=KEY_GROUPS, seed=SEED)
    write_snapshot(folder / "chk-1", plans, seed=SEED, compression=compression)
    return folder / "chk-1"


def stateful(snapshot: Path) -> dict[str, OperatorState]:
    operators = parse_metadata((snapshot / "_metadata").read_bytes()).operators
    return {operator.uid or "": operator for operator in operators if operator.subtasks}


def state_file(snapshot: Path, operator: OperatorState) -> StateFile:
    (subtask,) = operator.subtasks
    handle = subtask.managed_keyed
    assert isinstance(handle, KeyGroupsHandle)
    assert isinstance(handle.stream, RelativeHandle)
    data = (snapshot / handle.stream.path).read_bytes()
    assert len(data) == handle.stream.size
    head = parse_header(data)
    assert head.end == handle.offsets[0]
    layouts = [row_layout(head, meta).layout for meta in head.states]
    out = StateFile(handle, data[: head.end], [], {}, [])
    for key_group, (start, end) in enumerate(zip(handle.offsets, [*handle.offsets[1:], len(data)], strict=True)):
        body = decompress("snappy", data[start + 4 : end]) if head.compressed else data[start + 4 : end]
        out.groups.append(data[start : start + 4])
        out.sizes.append(len(body))
        pos = 0
        for _ in layouts:
            state_id, count = struct.unpack_from(">Hi", body, pos)
            pos += 6
            assert (key_group, state_id) not in out.entries
            entries = out.entries[key_group, state_id] = Counter()
            for _ in range(count):
                begin = pos
                _, pos = interpret(layouts[state_id], body, pos, len(body))
                entries[body[begin:pos]] += 1
        assert pos == len(body)
    return out


def pairs(compression: str, folder: Path) -> Iterator[tuple[StateFile, StateFile]]:
    """Flink's file and the generator's, for each operator."""
    flink, generated = flink_snapshot(compression), generated_snapshot(folder, compression)
    operators = stateful(flink), stateful(generated)
    assert list(operators[0]) == list(operators[1]) == ["counters", "customers"]
    for uid, operator in operators[0].items():
        yield state_file(flink, operator), state_file(generated, operators[1][uid])


@pytest.mark.parametrize("compression", CASES)
def test_heads_and_entries_are_flinks(tmp_path: Path, compression: str) -> None:
    for flink, generated in pairs(compression, tmp_path):
        assert generated.head == flink.head
        assert generated.groups == flink.groups
        assert generated.entries == flink.entries
        assert sum(sum(entries.values()) for entries in flink.entries.values()) == ROWS * len(
            parse_header(flink.head).states
        )
        assert generated.sizes == flink.sizes
        if compression == "none":
            assert generated.handle.offsets == flink.handle.offsets
            assert generated.handle.stream.size == flink.handle.stream.size


def masked(snapshot: Path, operators: dict[str, OperatorState], compression: str) -> bytes:
    """``_metadata`` without what must differ: random names, the checkpoint's number and what compression made of the
    order of the entries."""
    data = bytearray((snapshot / "_metadata").read_bytes())
    struct.pack_into(">q", data, 8, 0)
    for operator in operators.values():
        handle = operator.subtasks[0].managed_keyed
        assert isinstance(handle, KeyGroupsHandle)
        assert isinstance(handle.stream, RelativeHandle)
        for name in (handle.stream.path, handle.handle_id):
            at = data.index(name.encode())
            data[at : at + len(name)] = bytes(len(name))
        if compression != "none":
            numbers = struct.pack(f">{len(handle.offsets)}q", *handle.offsets)
            at = data.index(numbers)
            data[at : at + len(numbers)] = bytes(len(numbers))
            at = data.index(struct.pack(">q", handle.stream.size), at)
            data[at : at + 8] = bytes(8)
    return bytes(data)


@pytest.mark.parametrize("compression", CASES)
def test_metadata_is_flinks(tmp_path: Path, compression: str) -> None:
    """But for the source, an operator without state that the generator does not write."""
    flink, generated = flink_snapshot(compression), generated_snapshot(tmp_path, compression)
    theirs = masked(flink, stateful(flink), compression)
    ours = masked(generated, stateful(generated), compression)
    source = b"\x00\x0eSource: shapes\x00\x06shapes"
    at = theirs.index(source)
    # Name and uid, the id of 16 bytes, parallelism, max parallelism, no coordinator state, no subtasks.
    length = len(source) + 16 + 4 + 4 + 1 + 4
    assert theirs[at + length - 13 : at + length] == struct.pack(">iibi", 1, KEY_GROUPS, 0, 0)
    assert struct.unpack_from(">i", theirs, 20) == (3,)
    assert ours[:20] + struct.pack(">i", 3) + ours[24:] == theirs[:at] + theirs[at + length :]


@pytest.mark.parametrize("shape", sorted(SHAPES))
def test_the_job_was_given_these_rows(shape: str) -> None:
    document = json.loads((GOLDEN / CASES["none"] / "expected.json").read_text())
    states = {state["name"]: state for operator in document["operators"] for state in operator["states"]}
    expected = rows(shape, SEED, 0, ROWS)
    assert expected["key"].to_pylist() == [row["key"] for row in states[shape]["rows"]]
    for value, row in zip(expected["value"], states[shape]["rows"], strict=True):
        assert from_truth(row["value"], expected.schema.field("value").type) == comparable(
            value, expected.schema.field("value").type
        )
