"""The figures of the golden snapshots equal those computed the plain way, and do not depend on the kind of snapshot."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from typing import Any

import pyarrow as pa
import pytest

from stateextract import open_snapshot
from stateextract.audit.document import OperatorDocument, StateDocument, Statistics
from stateextract.audit.statistics import StatisticsOptions, statistics
from stateextract.job.execute import in_this_process, processes
from stateextract.options import JobOptions
from tests.audit.brute import check_state
from tests.golden.expected import DATA, load

AS_OF = 1_700_000_000_000
TTL = 90 * 86_400_000
CASES = (
    "f113-keys-checkpoint",
    "f113-windows-checkpoint-snappy",
    "f117-types-native-snappy",
    "f117-avro-canonical",
    "f117-changes-checkpoint-rocksdb-changelog-materialized",
    "f120-kinds-checkpoint",
    "f120-sql-checkpoint",
    "f120-scala-checkpoint",
    "f120-kryo-checkpoint-snappy",
)
"""One of each job, over kinds of snapshots."""


def place(name: str) -> str:
    return str(DATA / name / load(DATA / name)["snapshot"])


def maps(name: str) -> Any:
    """One of the jobs has a map with a null key."""
    return "list" if "types" in name else "map"


def read(name: str, **more: Any) -> Statistics:
    options = JobOptions(snapshot=place(name), out_of_range="null", maps=maps(name), **more)
    return statistics(options, StatisticsOptions(as_of_ms=AS_OF, ttls={"": TTL}))


@pytest.mark.parametrize("name", CASES)
def test_figures_equal_the_plain_way(name: str) -> None:
    check(name)


def check(name: str) -> int:
    document = read(name)
    assert Statistics.from_json(document.to_json()) == document
    snapshot = open_snapshot(place(name), on_undecodable="skip", out_of_range="null", maps=maps(name))
    known = {(s.operator.id, s.name, s.kind): s for s in snapshot.states}
    checked = 0
    for operator, state in document.states:
        if state.status not in ("decoded", "partial"):
            continue
        if state.state_name is None:
            assert state.state_kind == "coordinator"
            continue
        source = next(s for s in known.values() if same(s, operator, state))
        table = pa.Table.from_batches(list(source.to_batches()), source.schema)
        check_state(state, table, AS_OF, TTL, operator.operator_max_parallelism)
        assert state.file_bytes == source.coverage.counters.bytes
        checked += 1
    assert checked
    totals = document.totals
    assert totals.rows == sum(state.rows for _, state in document.states)
    assert totals.decoded_bytes == sum(state.decoded_bytes for _, state in document.states)
    return checked


def same(source: Any, operator: OperatorDocument, state: StateDocument) -> bool:
    kinds = {"list (split)": "operator", "list (union)": "operator", "broadcast": "operator"}
    return (source.operator.id, source.name, source.scope) == (
        operator.operator_id, state.state_name, kinds.get(state.state_kind, "keyed")
    )  # fmt: skip


ALIKE = (
    (
        "f120-changes-checkpoint-changelog",
        "f120-changes-checkpoint-rocksdb-changelog-materialized",
        "f120-changes-native-rocksdb-incremental",
        "f120-changes-checkpoint-rocksdb-incremental-merged",
    ),
    ("f120-changes-canonical-rocksdb-snappy", "f120-changes-checkpoint-rocksdb-incremental"),
)
"""Snapshots of one state, of equal parallelism."""


def figures(document: Statistics) -> dict[tuple[str, str], str]:
    """What does not say in which bytes a state was, without last accesses, which are those of the job's run."""
    return {
        (operator.operator_label, str(state.state_name)): json.dumps(asdict(replace(state, form="", file_bytes=0, times=times)))
        for operator, state in document.states
        for times in [state.times and (replace(state.times, progress_ms=None) if by_access(state) else state.times)]
        if state.rows and state.ttl is None
    }  # fmt: skip


def by_access(state: StateDocument) -> bool:
    return state.times is not None and state.times.progress_of == "last access"


@pytest.mark.parametrize("names", ALIKE)
def test_every_kind_of_snapshot_gives_the_same(names: tuple[str, ...]) -> None:
    first, *others = [figures(read(name)) for name in names]
    assert len(first) > 5
    for other in others:
        assert other == first


def test_processes_give_the_same() -> None:
    name = "f120-kinds-checkpoint"
    options = JobOptions(snapshot=place(name), out_of_range="null", split_bytes=300_000)
    question = StatisticsOptions(as_of_ms=AS_OF, ttls={"": TTL})
    assert statistics(options, question, processes(2)) == statistics(options, question, in_this_process)
