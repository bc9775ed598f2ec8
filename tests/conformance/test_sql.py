"""SQL's state in the savepoints of Flink's restore tests: every row of every keyed state, as others read it.

The savepoints hold canonical bodies, one exec node's state each; the compiled plan lies beside. Rows must be those of
``flink-files/expected``, whichever engine decodes them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stateextract.metadata.model import KeyGroupsHandle
from stateextract.metadata.parser import parse_metadata
from stateextract.state.body import BodyKind, body_kind
from stateextract.state.engine import KeyGroupRange, ReadOptions, Tally, read_key_groups, state_schema
from stateextract.state.head import parse_head
from stateextract.state.rows import row_layout
from tests.conformance.conftest import flink_files
from tests.conformance.handles import KeyedFile, keyed_files
from tests.conformance.notation import same_rows
from tests.conformance.state_rows import ReadState, expected_rows, rows_of

ROOT = flink_files() / "sql-restore-tests"
SAVEPOINTS = sorted(p.parent for p in ROOT.rglob("savepoint/_metadata"))


def name_of(folder: Path) -> str:
    return str(folder.parent.relative_to(ROOT))


def expected_states(folder: Path) -> dict[tuple[str, str], Any]:
    path = flink_files() / "expected" / f"{folder.relative_to(flink_files())}.json"
    operators = json.loads(path.read_text())["operators"]
    return {(o["id"], s["name"]): s for o in operators for s in o["states"] if s["scope"] == "keyed"}


def read_savepoint(folder: Path, options: ReadOptions) -> dict[tuple[str, str], ReadState]:
    """All keyed states, by operator and name."""
    metadata = parse_metadata((folder / "_metadata").read_bytes())
    max_parallelism = {operator.id: operator.max_parallelism for operator in metadata.operators}
    found: dict[tuple[str, str], ReadState] = {}
    for file in keyed_files(folder):
        for name, state in read_file(file, options, max_parallelism[file.operator]):
            known = found.setdefault((file.operator, name), ReadState())
            known.schemas += state.schemas
            known.batches += state.batches
            known.tally.add(state.tally)
    return found


def read_file(file: KeyedFile, options: ReadOptions, max_parallelism: int) -> Iterator[tuple[str, ReadState]]:
    handle, data = file.handle, file.data
    assert isinstance(handle, KeyGroupsHandle)
    head = parse_head(data, 0, file.head_end)

    def read_at(at: int, n: int) -> bytes:
        return data[at : at + n]

    form = body_kind(handle.code, handle.offsets, handle.first, head.compressed, read_at, states=len(head.states))
    assert form is BodyKind.FULL_SNAPSHOT
    starts = [(group, offset) for group, offset in enumerate(handle.offsets, handle.first) if offset]
    ends = [*[offset for _, offset in starts[1:]], len(data)] if starts else []
    ranges = [KeyGroupRange(group, start, end) for (group, start), end in zip(starts, ends, strict=True)]
    tally = Tally()
    states = {meta.name: ReadState([state_schema(row_layout(head, meta), options)]) for meta in head.states}
    for piece in read_key_groups(
        read_at, head, ranges, set(states), options, tally, file.subtask, form, max_parallelism
    ):
        assert not piece.raw
        piece.batch.validate(full=True)
        states[piece.state].batches.append(piece.batch)
    for name, state in states.items():
        state.tally = tally.of(name)
    yield from states.items()


@pytest.mark.parametrize("engine", ["kernel", "interpreter"])
@pytest.mark.parametrize("folder", SAVEPOINTS, ids=name_of)
def test_rows(folder: Path, engine: str) -> None:
    expected = expected_states(folder)
    found = read_savepoint(folder, ReadOptions(engine=engine))
    assert set(found) == set(expected)
    for key, state in found.items():
        table = state.table()
        assert same_rows(expected_rows(expected[key], table.schema), rows_of(table)) is None, key
        assert (state.tally.rows, state.tally.problems) == (table.num_rows, [])


def test_there_are_all_of_them() -> None:
    assert len(SAVEPOINTS) == 123
