"""ForSt's databases: read like RocksDB's as far as they are; what would be other is refused by name."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

import stateextract
from stateextract.errors import UnsupportedError
from stateextract.files.filesystem import Store
from stateextract.files.prefetch import FilePrefetcher
from stateextract.job.execute import in_this_process
from stateextract.job.run import run_job
from stateextract.metadata.locate import Locator, find_snapshot
from stateextract.metadata.model import IncrementalHandle, InlineHandle, OperatorState, SubtaskState
from stateextract.metadata.opener import Opener
from stateextract.metadata.parser import parse_metadata
from stateextract.options import JobOptions
from stateextract.rocksdb import open_rocksdb
from stateextract.rocksdb.table import Table
from tests.golden.test_rows import check
from tests.state.keyed_writer import Entry, Keyed, State, i64, rocksdb, write_operators
from tests.writers import sst as writer

FOLDER = Path(__file__).parent / "forst"
DOCUMENT = json.loads((FOLDER / "expected.json").read_text())
SNAPSHOT = FOLDER / DOCUMENT["snapshot"]
MANIFEST = "MANIFEST-000005"


@pytest.mark.parametrize("engine", ["interpreter", "kernel"])
def test_rows(engine: Any) -> None:
    """All states of the asynchronous API, and timers, which ForSt leaves in raw keyed state."""
    operator = stateextract.open_snapshot(str(SNAPSHOT), decoder=engine).operator("async")
    (expected,) = [o["states"] for o in DOCUMENT["operators"] if o["uid"] == "async"]
    assert {s.name for s in operator.states} == {s["name"] for s in expected}
    assert {s.form for s in operator.states} == {"SST files", "raw keyed state"}
    for state in expected:
        check(operator.state(state["name"]), state)


def test_a_job(tmp_path: Path) -> None:
    outcome = run_job(JobOptions(snapshot=str(SNAPSHOT), output=str(tmp_path), split_bytes=1), in_this_process)
    assert outcome.exit_code == 0
    expected = {s["name"]: len(s["rows"]) for o in DOCUMENT["operators"] for s in o["states"]}
    timers = sum(rows for name, rows in expected.items() if name.startswith("_timer_state/"))
    others = {name: rows for name, rows in expected.items() if not name.startswith("_timer_state/")}
    assert {d.state_name: d.rows for d in outcome.manifest.datasets} == {**others, "timers": timers}


def test_what_it_consists_of() -> None:
    """Two-level indexes everywhere, and range deletions of what the other subtask has: the test would miss its point."""
    store = Store()
    found = find_snapshot(str(SNAPSHOT), store)
    locator = Locator(found, store)
    kinds, deletions = set(), 0
    for operator in parse_metadata(store.read(found.metadata_uri)).operators:
        for subtask in operator.subtasks:
            if isinstance(subtask.managed_keyed, IncrementalHandle):
                db = open_rocksdb(subtask.managed_keyed, Opener(locator, FilePrefetcher(store)))
                for live in chain.from_iterable(family.files for family in db.column_families.values()):
                    table: Table = db.open_table(live)
                    kinds.add(table.properties.index_type)
                    deletions += len(table.range_deletions)
    assert kinds == {2}
    assert deletions > 0


Change = Callable[[IncrementalHandle], IncrementalHandle]


def with_file(name: str) -> Change:
    return lambda handle: replace(handle, private=(*handle.private, (name, InlineHandle("x", b"x"))))


def with_edit(record: bytes) -> Change:
    """One more record in the MANIFEST."""

    def change(handle: IncrementalHandle) -> IncrementalHandle:
        (listed,) = [stream.data for name, stream in handle.private if name == MANIFEST]  # type: ignore[attr-defined]
        return writer.with_file(handle, MANIFEST, listed + writer.log_file([record]))

    return change


@pytest.mark.parametrize(
    ("change", "name", "what"),
    [
        (with_file("000031.blob"), "000031.blob", "blob files"),
        (with_file("000032.log"), "000032.log", "a write log"),
        (with_edit(writer.varint(400)), MANIFEST, "blob files"),
        (with_edit(writer.varint(77)), MANIFEST, "type 77"),
    ],
)
def test_what_makes_a_database_unreadable_is_reported_by_name(
    change: Change, name: str, what: str, tmp_path: Path
) -> None:
    """In the report, with the states that cannot be read for it, before any task; the rest is extracted."""
    keyed = Keyed([State("numbers", [Entry(0, i64(1), i64(10))]), State("others", [Entry(0, i64(1), i64(10))])])
    tasks = [SubtaskState(0, managed_keyed=handle) for handle in (change(rocksdb(keyed)), rocksdb(keyed))]
    operators = [
        OperatorState(f"{n:032x}", uid, uid, 1, 4, subtasks=(tasks[n],)) for n, uid in enumerate(("op", "sound"))
    ]
    path = write_operators(tmp_path / "chk-1", operators)
    operator = stateextract.open_snapshot(str(path)).operator("op")
    assert {s.name: s.coverage.status for s in operator.states} == {"numbers": "unsupported", "others": "unsupported"}
    assert all(name in (s.coverage.reason or "") and what in (s.coverage.reason or "") for s in operator.states)
    with pytest.raises(UnsupportedError, match=re.escape(name)):
        operator.state("numbers").to_table()
    outcome = run_job(JobOptions(snapshot=str(path), output=str(tmp_path / "out")), in_this_process)
    assert outcome.exit_code == 3
    assert {(d.operator_uid, d.state_name, d.rows) for d in outcome.manifest.datasets} == {
        ("sound", "numbers", 1),
        ("sound", "others", 1),
    }
    alone = JobOptions(snapshot=str(path), output=str(tmp_path / "alone"), operator=("op",))
    with pytest.raises(UnsupportedError, match="no selected state can be read") as caught:
        run_job(alone, in_this_process)
    assert name in str(caught.value)
