"""A comparison from options to its result, and to published datasets if they are wanted.

``plan → tasks → summary``, and with an output ``plan → staging → tasks → manifest → publish``, by the extract job's own
means (``job/commit.py``, ``job/execute.py``, ``job/writer.py``): nothing is visible before the end, and a comparison that
fails leaves nothing behind.
"""

from __future__ import annotations

import json
import pickle
import uuid
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

from stateextract.diff.diff_plan import DiffContext, DiffOptions, DiffPlan, DiffState, DiffUnit, make_diff_plan
from stateextract.diff.diff_task import DiffRunner
from stateextract.diff.pairing import compile_once
from stateextract.diff.summary import NOT_COMPARED, DiffCounts
from stateextract.job.commit import Commit, open_commit, publishing
from stateextract.job.execute import Execute, Tasks, in_this_process, reports_of
from stateextract.job.output import open_output, refuse_inside
from stateextract.job.output_manifest import Dataset, Job, Manifest, describe_schema
from stateextract.job.run import by_folder, empty_file
from stateextract.job.split import writer_options
from stateextract.job.writer import TaskWriter, WriterOptions, WrittenFile
from stateextract.options import JobOptions
from stateextract.outcome import Status
from stateextract.printable import json_document
from stateextract.snapshot.headers import OnHeaders, ignore_progress
from stateextract.version import VERSION


@dataclass(frozen=True)
class TaskReport:
    """What one task found.

    :param counts: by the number of the state.
    :param bytes_read: of both snapshots.
    """

    counts: dict[int, DiffCounts]
    files: Sequence[WrittenFile]
    bytes_read: int = 0

    def to_bytes(self) -> bytes:
        """For the way back from a task."""
        counts = [[number, found.as_dict()] for number, found in self.counts.items()]
        document = counts, [asdict(f) for f in self.files], self.bytes_read
        return zlib.compress(json.dumps(document).encode(), 1)

    @classmethod
    def from_bytes(cls, data: bytes) -> TaskReport:
        """The inverse of :meth:`to_bytes`."""
        counts, files, bytes_read = json.loads(zlib.decompress(data))
        by_number = {number: DiffCounts.from_dict(found) for number, found in counts}
        return cls(by_number, [WrittenFile(**file) for file in files], bytes_read)


@dataclass(frozen=True)
class _Shared:
    """What all tasks share.

    :param output: where changes are written; ``None``: they are only counted.
    :param folder: path that the tasks' files are relative to; :param job: id of the run.
    """

    context: DiffContext
    output: str | None = None
    folder: str = ""
    job: str = ""
    writer: WriterOptions = field(default_factory=WriterOptions)

    def tasks(self, splits: Sequence[Sequence[DiffUnit]]) -> Tasks:
        """One task for each split."""
        sizes = [sum(unit.size for unit in units) for units in splits]
        return Tasks(open_shared, pickle.dumps(self), sizes, [pickle.dumps(units) for units in splits], compile_once)


@dataclass(frozen=True)
class DiffResult:
    """A comparison that was carried out.

    :param counts: by the number of the state. Of one that was compared incrementally, ``before`` and ``after`` count the rows
        that were looked at.
    :param bytes_read: of both snapshots by all tasks, without the headers that the plan is made of.
    :param manifest: of the datasets that were written, if any were.
    """

    plan: DiffPlan
    counts: Sequence[DiffCounts]
    bytes_read: int = 0
    manifest: Manifest | None = None

    @property
    def differs(self) -> bool:
        """Whether any row was added, removed or changed; those of a state that one snapshot lacks are too."""
        return any(counts.differs for counts in self.counts)

    @property
    def complete(self) -> bool:
        """Whether all rows could be compared; coordinators' state, which has none, is distinguished."""
        states = all(state.how is not None for state in self.plan.states)
        left_out = any(counts.left_out for counts in self.counts)
        return states and not left_out and not self.plan.unread

    @property
    def compared(self) -> bool:
        """Whether anything was compared: the rows of a state, or the bytes of a coordinator."""
        return any(state.how is not None for state in self.plan.states) or bool(self.plan.coordinators)

    def document(self) -> dict[str, Any]:
        before, after = self.plan.coverages
        return {
            "before": {"snapshot": before.snapshot, "checkpoint_id": before.checkpoint_id, "snapshot_kind": before.kind},
            "after": {"snapshot": after.snapshot, "checkpoint_id": after.checkpoint_id, "snapshot_kind": after.kind},
            "differs": self.differs,
            "complete": self.complete,
            "bytes": self.plan.context.size,
            "bytes_read": self.bytes_read,
            "states": [_describe(state, self.counts[state.number]) for state in self.plan.states],
            "not_compared": [
                {"operator_label": operator, "what": what, "reason": reason} for operator, what, reason in self.plan.unread
            ],
            "coordinators": [pair.as_dict() for pair in self.plan.coordinators],
        }


def _describe(state: DiffState, counts: DiffCounts) -> dict[str, Any]:
    compared = state.how is not None
    whole = compared and not state.incremental
    return {
        "operator_id": state.operator_id,
        "operator_uid": state.uid,
        "operator_name": state.operator_name,
        "operator_label": state.label,
        "state_name": state.name,
        "state_scope": state.scope,
        "state_kind": state.kind,
        "presence": state.presence,
        "status": "compared" if compared and not counts.left_out else Status.PARTIAL if compared else NOT_COMPARED,
        "reason": state.reason,
        "way": ("full" if whole else "incremental") if compared else None,
        "full_reason": state.full_reason,
        "rows_before": None if state.incremental else counts.before,
        "rows_after": None if state.incremental else counts.after,
        "added": counts.added,
        "removed": counts.removed,
        "changed": counts.changed,
        "unchanged": None if state.incremental else counts.unchanged,
        "changed_fields": dict(sorted(counts.fields.items())),
        "changed_entries": {path: asdict(entries) for path, entries in sorted(counts.entries.items())},
        "schema_changes": [
            {"path": change.path, "change": change.change, "before": change.before, "after": change.after}
            for change in state.schema_changes
        ],
        "key_groups_left_out": counts.left_out,
        "problems": counts.reasons,
        "remarks": counts.remarks,
        "adjusted_values": counts.adjusted,
    }


def run_diff(
    before: JobOptions,
    after: JobOptions,
    options: DiffOptions,
    execute: Execute = in_this_process,
    output: str | None = None,
    on_headers: OnHeaders = ignore_progress,
) -> DiffResult:
    """Compare two snapshots.

    :param before: reads the earlier one; :param after: the later one, and says how Parquet is written.
    :param execute: runs the tasks.
    :param output: folder for datasets of changes; ``None``: changes are only counted.
    :param on_headers: as of :func:`stateextract.diff.diff_plan.make_diff_plan`.
    :raises StateExtractError: then nothing was published.
    """
    plan = make_diff_plan(before, after, options, on_headers=on_headers)
    splits = packed(plan.units, after.split_bytes)
    if output is None:
        context = replace(plan.context, rows=False)
        return _result(plan, reports_of(execute, _Shared(context).tasks(splits), TaskReport.from_bytes))
    for side in plan.context.sides:
        refuse_inside(output, side.metadata_uri)
    commit = open_commit(output, after)
    with publishing(commit):
        shared = _Shared(plan.context, output, commit.task_folder, commit.job, writer_options(after))
        reports = reports_of(execute, shared.tasks(splits), TaskReport.from_bytes)
        result = _result(plan, reports)
        manifest = _manifest(plan, commit, reports, result.counts, after, options)
        coverage = json_document(result.document(), indent=1).encode()
        result = replace(result, manifest=commit.publish(manifest, coverage))
    return result


def packed(units: Sequence[DiffUnit], split_bytes: int) -> list[list[DiffUnit]]:
    """Units in runs of about ``split_bytes``."""
    splits: list[list[DiffUnit]] = []
    filled = 0
    for unit in units:
        if not splits or filled + unit.size / 2 > split_bytes:
            splits.append([])
            filled = 0
        splits[-1].append(unit)
        filled += unit.size
    return splits


def _result(plan: DiffPlan, reports: Iterable[TaskReport]) -> DiffResult:
    counts = [DiffCounts() for _ in plan.states]
    bytes_read = 0
    for report in reports:
        bytes_read += report.bytes_read
        for number, found in report.counts.items():
            counts[number].add(found)
    return DiffResult(plan, counts, bytes_read)


def _manifest(
    plan: DiffPlan,
    commit: Commit,
    reports: Iterable[TaskReport],
    counts: Sequence[DiffCounts],
    job: JobOptions,
    options: DiffOptions,
) -> Manifest:
    files = by_folder(file for report in reports for file in report.files)
    datasets = []
    for state in plan.states:
        if state.output is None:
            continue
        written = files.get(state.folder)
        if not written and counts[state.number].left_out:
            continue  # an empty dataset would say that nothing changed
        if not written:
            written = [empty_file(state.folder, state.output, commit, job)]
        datasets.append(_dataset(state, state.output, written, commit.job))
    finished = datetime.now(UTC).isoformat(timespec="seconds")
    earlier, later = plan.coverages
    given = {"diff-before": earlier.snapshot, "diff-last-access": options.last_access,
            "diff-common-fields": options.common_fields, "diff-full": options.full}  # fmt: skip
    entry = Job(commit.job, VERSION, finished, later.snapshot, later.checkpoint_id, later.metadata_version,
                {**job.lines(), **given})  # fmt: skip
    return Manifest(commit.job, {commit.job: entry}, datasets)


def _dataset(state: DiffState, schema: pa.Schema, files: Sequence[WrittenFile], job: str) -> Dataset:
    return Dataset(
        state.folder, state.operator_id, state.uid, state.operator_name, state.name, state.kind, False,
        sum(file.rows for file in files), list(files),
        describe_schema(schema), schema.to_string(), [], job,
    )  # fmt: skip


# -- running


def open_shared(data: bytes) -> Callable[[int, bytes], bytes]:
    """Open what all tasks share; see :class:`stateextract.job.execute.Tasks`. The bytes are of this process's kin, and never
    of a file."""
    shared: _Shared = pickle.loads(data)
    runner = DiffRunner(shared.context)
    return lambda number, units: _run_split(shared, number, pickle.loads(units), runner).to_bytes()


def _run_split(shared: _Shared, task: int, units: Sequence[DiffUnit], runner: DiffRunner) -> TaskReport:
    """Compare the units of one split, and write what they changed if that is wanted.

    An attempt that fails deletes what it wrote.
    """
    counts: dict[int, DiffCounts] = {}
    read_before = runner.bytes_read
    writer = None
    if shared.output is not None:
        stem = f"part-{task:05d}-{shared.job}-{uuid.uuid4().hex[:8]}"
        writer = TaskWriter(open_output(shared.output).fs, shared.folder, stem, shared.writer)
    try:
        for unit in units:
            for changes in runner.run(unit):
                counts.setdefault(changes.state.number, DiffCounts()).add(changes.counts)
                if writer is not None and changes.rows is not None:
                    writer.add(changes.state.folder, changes.rows)
        files = writer.finish() if writer is not None else []
    except BaseException:
        if writer is not None:
            writer.abort()
        raise
    return TaskReport(counts, files, runner.bytes_read - read_before)
