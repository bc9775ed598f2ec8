"""Whatever the reader of one operator raises, the other operators are whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from stateextract.audit.statistics import statistics
from stateextract.changelog import replay
from stateextract.diff.diff_plan import DiffOptions
from stateextract.diff.diff_run import run_diff
from stateextract.errors import FormatError, UndecodableError
from stateextract.job.execute import in_this_process
from stateextract.job.run import JobResult, run_job
from stateextract.options import JobOptions
from stateextract.snapshot import content
from stateextract.snapshot import headers as heads
from stateextract.snapshot.inventory import NamedState
from stateextract.snapshot.part_reader import PartReader
from stateextract.snapshot.tables import SnapshotTables
from tests.diff.pairs import golden

HEAP, CANONICAL, SST, LOG = (
    "f117-changes-checkpoint", "f117-changes-canonical-rocksdb", "f117-changes-checkpoint-rocksdb-incremental",
    "f117-changes-checkpoint-changelog",
)  # fmt: skip
ERRORS = [OverflowError("too large"), KeyError("x"), FormatError("bytes"), pa.ArrowInvalid("array"), RecursionError(),
          UndecodableError("class X"), UnicodeDecodeError("utf-8", b"\xff", 0, 1, "start"), MemoryError()]  # fmt: skip

Raise = Callable[[str], None]
Install = Callable[[pytest.MonkeyPatch, Raise], None]
"""Makes a reader call a function with the label of its operator, first."""


def _in_tasks(module: Any, name: str) -> Install:
    """Of a function that knows no operators: the task that reads is asked."""

    def install(patch: pytest.MonkeyPatch, fails: Raise) -> None:
        current = [""]
        pieces, function = PartReader.pieces, getattr(module, name)

        def known(self: PartReader, part: Any, targets: Any, counters: Any) -> Iterator[Any]:
            current[0] = targets.label
            for piece in pieces(self, part, targets, counters):
                yield piece
                current[0] = targets.label

        def failing(*arguments: Any, **named: Any) -> Any:
            fails(current[0])
            return function(*arguments, **named)

        patch.setattr(PartReader, "pieces", known)
        patch.setattr(module, name, failing)

    return install


def _after_rows(patch: pytest.MonkeyPatch, fails: Raise) -> None:
    """When rows were given out."""
    pieces = PartReader.pieces

    def failing(self: PartReader, part: Any, targets: Any, counters: Any) -> Iterator[Any]:
        yield from pieces(self, part, targets, counters)
        fails(targets.label)

    patch.setattr(PartReader, "pieces", failing)


def _heads(patch: pytest.MonkeyPatch, fails: Raise) -> None:
    for name in ("_operator_state", "_key_groups", "_raw", "_meta_file", "_changelog"):
        method = getattr(heads.HeaderReader, name)

        def failing(self: Any, work: Any, handle: Any, *, method: Callable[..., Any] = method) -> Any:
            fails(heads.operator_label(self._snapshot.operators[work.operator]))
            return method(self, work, handle)

        patch.setattr(heads.HeaderReader, name, failing)


def _layouts(patch: pytest.MonkeyPatch, fails: Raise) -> None:
    rows = NamedState.rows

    def failing(self: NamedState, context: Any) -> Any:
        fails(_LABELS[self.files[0].operator])
        return rows(self, context)

    patch.setattr(NamedState, "rows", failing)


_LABELS: list[str] = []

READERS: list[tuple[str, Install]] = [
    (HEAP, _heads), (HEAP, _layouts), (HEAP, _after_rows), (HEAP, _in_tasks(content, "read_key_groups")),
    (HEAP, _in_tasks(content, "read_operator_state")), (HEAP, _in_tasks(content, "parse_header")),
    (CANONICAL, _in_tasks(content, "read_key_groups")), (SST, _heads), (SST, _in_tasks(content, "read_database")),
    (LOG, _heads), (LOG, _in_tasks(replay, "parse_changes_header")),
]  # fmt: skip


def _rows(outcome: JobResult) -> dict[tuple[str, str | None], tuple[str, int]]:
    return {(e.label, e.state): (str(e.status), e.read.rows) for e in outcome.coverage.entries}


def _run(case: str, output: Path, **more: Any) -> JobResult:
    return run_job(JobOptions(snapshot=golden(case), output=str(output), **more), in_this_process)


@cache
def _figures(case: str) -> dict[tuple[str, str], int | None]:
    measured = statistics(JobOptions(snapshot=golden(case)))
    return {(o.operator_label, s.state_name): s.rows for o, s in measured.states}


@pytest.mark.parametrize("number", range(len(READERS)))
def test_no_operator_takes_others_with_it(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case, install = READERS[number]
    error = ERRORS[number % len(ERRORS)]
    figures = _figures(case)
    _LABELS[:] = [heads.operator_label(o) for o in _operators(case)]
    reached: dict[str, None] = {}
    with monkeypatch.context() as patch:
        install(patch, lambda label: reached.update({label: None}))
        whole = _rows(_run(case, tmp_path / "whole"))
    labels = [label for label in dict.fromkeys(label for label, _ in whole) if label in reached]
    assert labels, "no operator has state of this form"
    for victim in labels[:2]:  # the others are read alike

        def fails(label: str, victim: str = victim) -> None:
            if label == victim:
                raise error

        with monkeypatch.context() as patch:
            install(patch, fails)
            try:
                outcome = _run(case, tmp_path / f"without-{labels.index(victim)}")
            except Exception as raised:
                raise AssertionError(f"{victim}: {raised!r}") from raised
            found = _rows(outcome)
            measured = statistics(JobOptions(snapshot=golden(case)))
        assert {key: value for key, value in found.items() if key[0] != victim} == {
            key: value for key, value in whole.items() if key[0] != victim
        }
        assert len(found) > sum(key[0] == victim for key in found)
        assert outcome.exit_code == 3
        lost = [e for e in outcome.coverage.entries if e.label == victim and e.status not in ("decoded", "no state")]
        assert lost
        assert all(e.reason for e in lost)
        assert not any(d.rows for d in outcome.datasets if d.state_name in {e.state for e in lost if not e.read.rows} and
                       (d.operator_uid or d.operator_name or d.operator_id) == victim)  # fmt: skip
        others = {(o.operator_label, s.state_name): s.rows for o, s in measured.states if o.operator_label != victim}
        assert others == {key: rows for key, rows in figures.items() if key[0] != victim}


def _operators(case: str) -> Any:
    from stateextract import open_snapshot

    return [operator._state for operator in open_snapshot(golden(case)).operators]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str | None], tuple[str, int]]:
    return _rows(_run(HEAP, tmp_path_factory.mktemp("whole") / "out"))


@pytest.mark.parametrize("error", ERRORS, ids=lambda e: type(e).__name__)
def test_any_exception(
    error: Exception, whole: dict[tuple[str, str | None], tuple[str, int]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    victim = next(label for (label, _), (status, rows) in whole.items() if rows)

    def fails(label: str) -> None:
        if label == victim:
            raise error

    _after_rows(monkeypatch, fails)
    found = _rows(_run(HEAP, tmp_path / "out"))
    assert {key: v for key, v in found.items() if key[0] != victim} == {
        key: v for key, v in whole.items() if key[0] != victim
    }
    assert {rows for (label, _), (_, rows) in found.items() if label == victim} == {0}
    with pytest.raises(type(error)):
        _run(HEAP, tmp_path / "strict", strict=True)


@pytest.mark.parametrize("install", [_heads, _layouts])
def test_metadata_tables_go_on(install: Install, monkeypatch: pytest.MonkeyPatch) -> None:
    _LABELS[:] = [heads.operator_label(o) for o in _operators(HEAP)]

    def tables() -> dict[str, list[dict[str, Any]]]:
        made = SnapshotTables(JobOptions(snapshot=golden(HEAP)))
        return {name: list(getattr(made, name)()) for name in ("states", "key_groups", "serializers")}

    whole = tables()
    victim = next(row["operator_id"] for row in whole["serializers"])

    def fails(label: str) -> None:
        if label == victim:
            raise OverflowError("too large")

    install(monkeypatch, fails)
    found = tables()
    for name, rows in whole.items():
        others = [row for row in rows if row["operator_id"] != victim]
        assert [row for row in found[name] if row["operator_id"] != victim] == others
        assert others or name != "states"
    if install is _layouts:
        return  # a forecast describes the serializers of one file by itself
    lost = [row for row in found["states"] if row["operator_id"] == victim]
    assert "unreadable" in {row["status"] for row in lost}
    assert any("OverflowError: too large" in str(row["reason"]) for row in lost)


def test_a_comparison_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    job = JobOptions(snapshot=golden(HEAP))
    whole = run_diff(job, job, DiffOptions())
    victim = next(state.label for state in whole.plan.states if whole.counts[state.number].before)

    def fails(label: str) -> None:
        if label == victim:
            raise OverflowError("too large")

    _after_rows(monkeypatch, fails)
    found = run_diff(job, job, DiffOptions())
    for state in found.plan.states:
        counts, before = found.counts[state.number], whole.counts[state.number]
        if state.label != victim:
            assert (counts, counts.left_out) == (before, [])
        else:
            assert (counts.before, counts.differs) == (0, False)
    assert (whole.complete, found.complete, found.differs) == (True, False, False)
