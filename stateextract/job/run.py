"""A job from options to published datasets, but for who runs the tasks.

``plan → staging → tasks → manifest and coverage → publish``; the caller says who runs the tasks
(``execute.py``). Whatever goes wrong before the manifest is written leaves the output as it was.

Must not know of Spark.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq

from serializers.connectors import coordinator_type, decode_coordinator
from stateextract.errors import FormatError, MissingFileError, OutputError, StateExtractError, UnsupportedError
from stateextract.job.commit import Commit, open_commit, publishing
from stateextract.job.execute import Execute, Tasks, in_this_process, reports_of
from stateextract.job.output import refuse_inside
from stateextract.job.output_manifest import (
    Dataset,
    Job,
    Manifest,
    SourceFile,
    describe_schema,
    joined_ranges,
)
from stateextract.job.plan import COORDINATOR_STATE, Plan, PlannedCoordinator, PlannedState, make_plan
from stateextract.job.split import SplitContext, plan_file
from stateextract.job.task import SplitReport, encode_plan_location, open_runner
from stateextract.job.writer import WrittenFile, parquet_settings
from stateextract.options import JobOptions
from stateextract.outcome import ExitCode, Status
from stateextract.printable import pluralize
from stateextract.snapshot.coverage import CoverageReport
from stateextract.snapshot.headers import OnHeaders, ignore_progress
from stateextract.version import VERSION

if TYPE_CHECKING:
    from stateextract.screen import Screen


_WRITTEN = (Status.DECODED, Status.PARTIAL, Status.RAW)
"""Statuses of states of which there is something."""


@dataclass(frozen=True)
class JobResult:
    """A job that published. ``exit_code`` is 0, or 3 where not all rows that were selected are there."""

    manifest: Manifest
    coverage: CoverageReport
    exit_code: int

    @property
    def datasets(self) -> list[Dataset]:
        """The datasets that this job wrote; the manifest has those of earlier ones too."""
        return [dataset for dataset in self.manifest.datasets if dataset.job == self.manifest.job]

    def show(self, screen: Screen, output: str) -> None:
        """Print the coverage report and what was written where."""
        self.coverage.show(screen)
        rows = sum(dataset.rows for dataset in self.datasets)
        screen.say(self.coverage.summary())
        screen.say(f"Wrote {pluralize(rows, 'row')} in {pluralize(len(self.datasets), 'dataset')} to {output}.")


def run_job(
    options: JobOptions,
    execute: Execute = in_this_process,
    on_headers: OnHeaders = ignore_progress,
) -> JobResult:
    """Run a job.

    :param execute: runs the tasks.
    :param on_headers: as of :func:`stateextract.job.plan.make_plan`.
    :raises StateExtractError: then nothing was published.
    """
    plan = make_plan(options, on_headers=on_headers)
    refuse_inside(options.output, plan.found.metadata_uri)
    commit = open_commit(options.output, options)
    with publishing(commit):
        context = SplitContext(
            commit.job, options.output, commit.task_folder, plan.found.metadata_uri, options, plan.operators,
            describe=plan.describe, size=sum(plan.sizes),
        )  # fmt: skip
        content, context_bytes = plan_file(context, plan.splits)
        commit.write_plan(content)
        tasks = Tasks(open_runner, encode_plan_location(options.output, commit.plan_file, context_bytes), plan.sizes)
        reports = reports_of(execute, tasks, SplitReport.from_bytes)
        manifest = _manifest(plan, commit, options, reports)
        coverage = plan.coverage
        if not manifest.datasets and coverage.exit_code() == ExitCode.FAILED:
            raise _nothing(coverage)
        outcome = JobResult(commit.publish(manifest, coverage.to_json()), coverage, coverage.exit_code())
    return outcome


def _manifest(plan: Plan, commit: Commit, options: JobOptions, reports: Sequence[SplitReport]) -> Manifest:
    """The job's manifest; fills in the coverage entries of the plan on the way."""
    files = by_folder(file for report in reports for file in report.files)
    sources = _sources(plan, reports)
    datasets = []
    _finalize(plan, reports)
    for states in _by_folder(plan.states):
        first = states[0]
        raw = files.pop(first.target.raw_folder, [])
        rows = files.pop(first.target.folder, [])
        if len(states) == 1 and first.entry.status not in _WRITTEN:
            # Splits that had no value which is refused have written their rows.
            _remove([*raw, *rows], commit)
            continue
        if not rows and any(state.untyped is None and state.entry.status == Status.DECODED for state in states):
            rows = [empty_file(first.target.folder, first.target.schema, commit, options)]
        mine = sources.get(first.target.folder, [])
        for state in states:
            state.entry.folder = first.target.folder if rows else None
            state.entry.raw_folder = first.target.raw_folder if raw and state.entry.read.raw_rows else None
        if rows:
            datasets.append(_dataset(first, commit.job, rows, mine, raw=False))
        if raw:
            datasets.append(_dataset(first, commit.job, raw, mine, raw=True))
    datasets += [_coordinator(planned, plan.found.metadata_uri, commit, options) for planned in plan.coordinators]
    if files:
        raise OutputError(f"a task reported files of no state: {sorted(files)[:3]}")
    finished = datetime.now(UTC).isoformat(timespec="seconds")
    metadata = plan.metadata
    job = Job(commit.job, VERSION, finished, plan.found.metadata_uri, metadata.checkpoint_id, metadata.version,
              options.lines())  # fmt: skip
    return Manifest(commit.job, {commit.job: job}, datasets)


def by_folder(files: Iterable[WrittenFile]) -> dict[str, list[WrittenFile]]:
    """The files of each dataset."""
    found: dict[str, list[WrittenFile]] = {}
    for file in files:
        found.setdefault(file.path.rsplit("/", 1)[0], []).append(file)
    return found


def _nothing(coverage: CoverageReport) -> StateExtractError:
    """The error where no state could be read."""
    entry = next(entry for entry in coverage.entries if entry.reason is not None)
    more = sum(entry.reason is not None for entry in coverage.entries) - 1
    kinds: dict[str, type[StateExtractError]] = {
        Status.UNSUPPORTED: UnsupportedError, Status.MISSING: MissingFileError,
    }  # fmt: skip
    return kinds.get(entry.status, FormatError)(
        f"no selected state can be read: {entry.reason}" + (f" (and {pluralize(more, 'more state')})" if more else ""),
        operator=entry.label, state=entry.state,
    )  # fmt: skip


def _finalize(plan: Plan, reports: Sequence[SplitReport]) -> None:
    """Fill in the coverage entries."""
    refused = {(operator, name): error for report in reversed(reports) for operator, name, error in report.refused}
    for state in plan.states:
        for report in reports:
            for part in report.parts:
                if part.operator == state.operator and state.name in part.counters.states:
                    state.entry.read.add(part.counters.states[state.name])
        error = refused.get((state.operator, state.name))
        together = sum(other.target.folder == state.target.folder for other in plan.states) > 1
        if error is not None and not together:
            state.entry.refuse(error)
            continue
        if error is not None:
            # The files of the dataset have rows of other states, too.
            state.entry.read.problem(str(error))
            state.entry.read.failure = error.status
        if state.refused and state.entry.read.incomplete:
            state.entry.read.failure = Status.UNSUPPORTED
        state.entry.finalize()


def _remove(files: Sequence[WrittenFile], commit: Commit) -> None:
    for file in files:
        with suppress(OSError):  # which no manifest names
            commit.output.fs.delete_file(f"{commit.task_folder}/{file.path}")


def _by_folder(states: Iterable[PlannedState]) -> list[list[PlannedState]]:
    """The states of each dataset."""
    found: dict[str, list[PlannedState]] = {}
    for state in states:
        found.setdefault(state.target.folder, []).append(state)
    return list(found.values())


def _sources(plan: Plan, reports: Sequence[SplitReport]) -> dict[str, list[SourceFile]]:
    """Where each dataset's rows came from, by its folder: one source per file, whichever splits read it."""
    found: dict[str, dict[int, tuple[list[int], int, int]]] = {}
    for report in reports:
        for part in report.parts:
            groups = list(range(part.key_groups[0], part.key_groups[1] + 1))
            for name, counters in part.counters.states.items():
                folder = plan.operators[part.operator].states[name].folder
                by_file = found.setdefault(folder, {})
                known, rows, raw = by_file.get(part.file, ([], 0, 0))
                by_file[part.file] = (known + groups, rows + counters.rows, raw + counters.raw_rows)
    return {
        folder: [
            SourceFile(plan.files[number].uri, plan.files[number].subtask, joined_ranges(groups), rows, raw)
            for number, (groups, rows, raw) in sorted(by_file.items())
        ]
        for folder, by_file in found.items()
    }


def _dataset(
    state: PlannedState,
    job: str,
    files: Sequence[WrittenFile],
    sources: Sequence[SourceFile],
    *,
    raw: bool,
) -> Dataset:
    schema = state.target.raw_schema if raw else state.target.schema
    assert schema is not None
    rows = sum(file.rows for file in files)
    read = sum(source.raw_rows if raw else source.rows for source in sources)
    folder = state.target.raw_folder if raw else state.target.folder
    if rows != read:
        raise OutputError(f"{pluralize(read, 'row')} read, but {rows:,} written", file=folder, state=state.name)
    entry = state.entry
    return Dataset(
        folder, str(entry.operator_id), entry.uid, entry.operator_name, state.dataset, entry.kind, raw, rows,
        list(files), describe_schema(schema), schema.to_string(),
        list(sources), job, entry.role if state.dataset == state.name else "all timers of the operator",
    )  # fmt: skip


def _coordinator(planned: PlannedCoordinator, uri: str, commit: Commit, options: JobOptions) -> Dataset:
    """The dataset of a coordinator, one row; the driver has its bytes."""
    value = pa.array([decode_coordinator(planned.data)], coordinator_type())
    table = pa.table({"value": value})
    file = file_of_driver(f"{planned.folder}/part-00000-{commit.job}-0.parquet", table, commit, options)
    entry = planned.entry
    entry.read.entries = entry.read.rows = 1
    entry.folder = planned.folder
    return Dataset(
        planned.folder, str(entry.operator_id), entry.uid, entry.operator_name, COORDINATOR_STATE, entry.kind, False, 1,
        [file], describe_schema(table.schema), table.schema.to_string(),
        [SourceFile(uri, None, [], 1)], commit.job, entry.role,
    )  # fmt: skip


def empty_file(folder: str, schema: pa.Schema, commit: Commit, options: JobOptions) -> WrittenFile:
    """A Parquet file without rows, so that a dataset without rows has its schema too."""
    return file_of_driver(f"{folder}/part-empty-{commit.job}-0.parquet", schema.empty_table(), commit, options)


def file_of_driver(path: str, table: pa.Table, commit: Commit, options: JobOptions) -> WrittenFile:
    """Write a file that belongs to no task.

    :param path: relative to where tasks write.
    """
    fs = commit.output.fs
    full = f"{commit.task_folder}/{path}"
    try:
        fs.create_dir(full.rpartition("/")[0], recursive=True)
        with fs.open_output_stream(full) as stream:
            pq.write_table(table, stream, **parquet_settings(options.compression, {}))
        return WrittenFile(path, table.num_rows, int(fs.get_file_info(full).size))
    except OSError as error:
        raise OutputError(f"the output cannot be written: {error}", file=commit.output.uri) from error
