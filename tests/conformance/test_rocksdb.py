"""Native RocksDB and ForSt snapshots: every database opens, and its pairs are as many, and where, as they should be."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from stateextract.files.filesystem import Store
from stateextract.files.prefetch import FilePrefetcher
from stateextract.metadata.locate import Locator, find_snapshot
from stateextract.metadata.model import IncrementalHandle
from stateextract.metadata.opener import Opener
from stateextract.metadata.parser import parse_metadata
from stateextract.rocksdb import RocksDB, RocksOptions, open_rocksdb
from stateextract.state.header import parse_header
from tests.conformance.conftest import flink_cases, flink_files
from tests.conformance.handles import keyed_files, snapshot_folders

ENGINES = ("kernel", "interpreter")


def native_folders() -> list[Path]:
    """Snapshots with a database among their files."""
    return [
        folder
        for folder in snapshot_folders()
        if any(
            isinstance(use.handle, IncrementalHandle)
            for operator in parse_metadata((folder / "_metadata").read_bytes()).operators
            for use in operator.handles()
        )
    ]


class Subtask(NamedTuple):
    operator: str
    index: int
    prefix_bytes: int
    handle: IncrementalHandle
    head: bytes
    db: RocksDB


def databases(folder: Path, engine: str) -> Iterator[Subtask]:
    store = Store()
    locator = Locator(find_snapshot(str(folder), store), store)
    most = {one.id: one.max_parallelism for one in parse_metadata((folder / "_metadata").read_bytes()).operators}
    for file in keyed_files(folder):
        if isinstance(file.handle, IncrementalHandle):
            db = open_rocksdb(
                file.handle, Opener(locator, FilePrefetcher(store)), RocksOptions(engine=engine)
            )
            yield Subtask(
                file.operator, file.subtask, 1 if most[file.operator] <= 128 else 2, file.handle, file.data, db
            )


def framed(data: bytes) -> list[tuple[bytes, bytes]]:
    pairs = []
    pos = 0
    while pos < len(data):
        fields = []
        for _ in range(2):
            size = int.from_bytes(data[pos : pos + 4], "big")
            fields.append(data[pos + 4 : pos + 4 + size])
            pos += 4 + size
        pairs.append((fields[0], fields[1]))
    assert pos == len(data)
    return pairs


def pairs_of(task: Subtask, name: str, first: int, last: int) -> list[tuple[bytes, bytes]]:
    source = task.db.pairs(name, first, last, task.prefix_bytes)
    room = memoryview(bytearray(1 << 16))
    data = bytearray()
    while n := source.read_into(room):
        data += room[:n]
    pairs = framed(bytes(data))
    assert source.pairs == len(pairs)
    return pairs


Places = dict[tuple[str, str], "Counter[tuple[int, int]]"]


def places(folder: Path, engine: str) -> Places:
    """For each operator and state, how many pairs there are in each subtask and key group."""
    found: Places = defaultdict(Counter)
    for task in databases(folder, engine):
        for name in task.db.column_families:
            own = found[task.operator, name]
            pairs = pairs_of(task, name, 0, 32767)
            assert pairs == sorted(pairs), name
            assert len({key for key, _ in pairs}) == len(pairs)
            for key, _ in pairs:
                group = int.from_bytes(key[: task.prefix_bytes], "big")
                assert group in task.handle.key_groups
                own[task.index, group] += 1
    return found


def pairs_in(row: dict[str, Any]) -> int:
    """How many pairs a row of the expected files is: a map is one for each entry."""
    value = row.get("value")
    return len(value["map"]) if isinstance(value, dict) and "map" in value else 1


NATIVE = native_folders()
FLINKS = [folder for folder in NATIVE if flink_files() in folder.parents]
CASES = [folder for folder in NATIVE if flink_cases() in folder.parents]


def test_the_files_are_there() -> None:
    assert len(FLINKS) >= 16
    assert len(CASES) >= 2


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("folder", FLINKS, ids=lambda folder: folder.name)
def test_pairs_of_flinks_files(folder: Path, engine: str) -> None:
    path = flink_files() / "expected" / f"{folder.relative_to(flink_files())}.json"
    expected: Places = {}
    for operator in json.loads(path.read_text())["operators"]:
        for state in operator["states"]:
            if state["scope"] == "keyed":
                counts: Counter[tuple[int, int]] = Counter()
                for row in state["rows"]:
                    entries = pairs_in(row) if state["kind"] == "MAP" else 1
                    counts[row["subtask"], row["key_group"]] += entries
                expected[operator["id"], state["name"]] = counts
    # The broadcast jobs have keyed states and never wrote to them.
    assert any(expected.values()) == ("broadcast" not in folder.name)
    assert places(folder, engine) == expected


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("folder", CASES, ids=lambda folder: folder.parents[2].name)
def test_pairs_of_cases(folder: Path, engine: str) -> None:
    case = next(parent for parent in folder.parents if (parent / "truth.json").exists())
    expected: dict[tuple[str, str], int] = {}
    for operator in json.loads((case / "truth.json").read_text())["operators"]:
        for state in operator["keyed_states"]:
            count = (
                sum(len(row["value"]["$map"]) for row in state["rows"]) if state["kind"] == "MAP" else state["count"]
            )
            expected[operator["operator_id"], state["name"]] = count
    assert sum(expected.values()) > 50
    assert {key: counts.total() for key, counts in places(folder, engine).items()} == expected


@pytest.mark.parametrize("folder", NATIVE, ids=lambda folder: "-".join(folder.parts[-4:])[-60:])
def test_families_are_the_states_of_the_head(folder: Path) -> None:
    for task in databases(folder, "kernel"):
        assert set(task.db.column_families) == {state.name for state in parse_header(task.head).states}


@pytest.mark.parametrize("folder", NATIVE, ids=lambda folder: "-".join(folder.parts[-4:])[-60:])
def test_live_files_are_the_handles(folder: Path) -> None:
    for task in databases(folder, "kernel"):
        listed = {
            name: stream.size for name, stream in (*task.handle.shared, *task.handle.private) if name.endswith(".sst")
        }
        files = chain.from_iterable(family.files for family in task.db.column_families.values())
        assert {task.db.local_name(live): live.size for live in files} == listed
