"""What happens in Spark's processes for ``flink-state-diff`` as a stream: which checkpoints a batch compares, and its tasks.

An offset is a checkpoint: the job's id and the checkpoint's number. The first batch has all rows of one checkpoint, each later
batch what differs between its two checkpoints. Of checkpoints that completed in between nothing is read: a batch has each key
once, with its last value. Spark may repeat a batch, so the two checkpoints have to be there until ``commit``. Where one of them
is not, the batch cannot be made, and has the whole state instead, if the user wants that (``onMissingBase``): a sink may have
seen any part of what is lost.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from stateextract.diff.compare import CHANGE
from stateextract.diff.diff_plan import DiffState
from stateextract.diff.summary import GONE
from stateextract.errors import (
    MissingFileError,
    SnapshotDeletedError,
    SnapshotNotFoundError,
    UnsupportedError,
    UsageError,
    leaving,
)
from stateextract.files.filesystem import Store
from stateextract.metadata.file import read_metadata
from stateextract.options import JobOptions
from stateextract.snapshot.completed import (
    Completed,
    completed_checkpoint,
    completed_checkpoints,
    newest_completed,
)
from stateextract.snapshot.stores import open_store
from stateextract.spark import source_diff
from stateextract.spark.source_diff import PlannedDiff, diff_job, plan_of_state
from stateextract.spark.source_options import DIFF, DOORS, STREAM_OPTIONS, parse_options
from stateextract.spark.source_retained import Retained
from stateextract.spark.source_types import arrow_schema, check_given, spark_schema

Offset = dict[str, Any]
"""``job`` and ``checkpoint``."""

RESET = "reset"
"""The change of the row that begins a batch of the whole state where changes are not known."""

_START: Offset = {"job": "", "checkpoint": 0}
_NOTHING = b""
_KEEP = "set state.checkpoints.num-retained in Flink to more checkpoints than complete while a batch is read, or set retainIn"


class _CheckpointStream:
    """The checkpoints of a job as a query's options name them."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self.values = parse_options(options, STREAM_OPTIONS, DIFF)
        self.path: str = self.values["path"]
        self.job = diff_job(self.values, STREAM_OPTIONS)
        self.store: Store = open_store(self.job)
        self.retained = Retained(self.values["retainIn"], self.job) if self.values["retainIn"] else None

    def newest(self) -> Completed | None:
        """The newest checkpoint that can be read."""
        if self.retained is None:
            return newest_completed(self.path, self.store)
        while (found := newest_completed(self.path, self.store)) is not None:
            if self.retained.keep(found, self.store):
                return found
            # Flink deleted it meanwhile. There is a newer one, or it is the job's last.
            if found == newest_completed(self.path, self.store):
                raise SnapshotNotFoundError(
                    f"files of the newest checkpoint {found.folder} are missing", advice="`stateextract files` lists them"
                )
        return None

    def one(self, offset: Offset) -> tuple[Completed, JobOptions] | None:
        """A checkpoint, and the options of a job that reads it; ``None``: it is gone."""
        if self.retained is not None and (kept := self.retained.one(offset["job"], offset["checkpoint"])) is not None:
            return kept, self.retained.reads(kept)
        found = completed_checkpoint(self.path, self.store, offset["job"], offset["checkpoint"])
        return None if found is None else (found, replace(self.job, snapshot=found.folder))


@leaving(DOORS[DIFF])
def columns(options: Mapping[str, str]) -> Any:
    """The ``StructType`` of the rows, by the newest checkpoint.

    :raises StateExtractError: where there is none, or it does not have the state.
    """
    stream = _CheckpointStream(options)
    found = stream.newest()
    if found is None:
        raise _none_complete(stream, "start the query after the first checkpoint, or give the stream a schema")
    one = stream.one(_offset(found))
    if one is None:
        raise _deleted(found.folder)
    return spark_schema(plan_of_state(None, one[1], stream.values)[0].schema)


def initial_offset() -> Offset:
    """Before all checkpoints."""
    return dict(_START)


@leaving(DOORS[DIFF])
def latest_offset(options: Mapping[str, str], known: Offset | None, is_new: bool) -> Offset:
    """The newest complete checkpoint; for a new query the one to start with.

    :param known: what was the newest before.
    :raises SnapshotNotFoundError: where a query goes on and there is no checkpoint.
    """
    stream = _CheckpointStream(options)
    number = stream.values["startingCheckpoint"]
    if is_new and number:
        return _starting(stream, number)
    found = stream.newest()
    if found is None:
        if known is not None:
            return known
        if is_new:
            return initial_offset()
        raise _none_complete(stream)
    if known is not None and known["job"] == found.job and known["checkpoint"] > found.number:
        return known  # The newest one was deleted, and the one before was not.
    return _offset(found)


def _starting(stream: _CheckpointStream, number: int) -> Offset:
    found = [one for one in completed_checkpoints(stream.path, stream.store) if one.number == number]
    if not found:
        raise SnapshotNotFoundError(
            f"no complete checkpoint {number} at {stream.path}",
            advice="set startingCheckpoint to one that `stateextract checkpoints` lists, or leave it out",
        )
    if len(found) > 1:
        raise UsageError(
            f"startingCheckpoint is {number}, and several jobs at {stream.path} have it: {', '.join(one.job for one in found)}",
            advice="give the checkpoint directory of one job",
        )
    if stream.retained is not None and not stream.retained.keep(found[0], stream.store):
        raise _deleted(found[0].folder)
    return _offset(found[0])


@leaving(DOORS[DIFF])
def partitions(
    options: Mapping[str, str], schema: Any, declared: Any, start: Offset, end: Offset
) -> list[bytes]:
    """What each task of a batch does.

    :param schema: what Spark expects of the rows.
    :param declared: what :func:`columns` found when the query started; ``None``: the user gave the schema.
    :raises StateExtractError: where a checkpoint cannot be read, or is gone and the user does not want the whole state.
    """
    if start == end:
        return []
    stream = _CheckpointStream(options)
    if start != _START and start["job"] != end["job"]:
        _refuse_two_jobs(stream, start["job"], end["job"])
    try:
        base = None if start == _START else _present(stream, start)
        plan = _plan(stream, base, _present(stream, end), schema, declared)
        is_reset = False
    except (MissingFileError, SnapshotNotFoundError):
        there = [stream.one(offset) is not None for offset in (start, end) if offset != _START]
        if all(there):
            raise  # A file is missing of a checkpoint that is there.
        if stream.values["onMissingBase"] == "fail":
            raise
        if not there[-1]:
            newest = stream.newest()
            if newest is None:
                raise _none_complete(stream) from None
            end = _offset(newest)
        plan = _plan(stream, None, _present(stream, end), schema, declared)
        is_reset = True
    shared = replace(plan, splits=()).to_bytes()
    tasks = [(shared, pickle.dumps(units)) for units in plan.splits]
    return [pickle.dumps(task) for task in ([(shared, _NOTHING)] if is_reset else []) + tasks]


def _present(stream: _CheckpointStream, offset: Offset) -> JobOptions:
    found = stream.one(offset)
    if found is None:
        raise SnapshotNotFoundError(
            f"checkpoint {offset['checkpoint']} of job {offset['job']}, which the query needs to know what changed, is not at "
            f"{stream.path} any more",
            advice=f"set onMissingBase to full, so that the next batch has the whole state; {_KEEP}",
        )
    return found[1]


def _plan(
    stream: _CheckpointStream, before: JobOptions | None, after: JobOptions, schema: Any, declared: Any
) -> PlannedDiff:
    plan, state = plan_of_state(before, after, stream.values)
    if state.presence == GONE:
        _refuse_lost_operator(stream, state, after, plan)
    have = plan.schema
    if declared is not None and have != arrow_schema(declared):
        _refuse_new_columns(stream, after, arrow_schema(declared))
    elif declared is None:
        check_given(arrow_schema(schema), have)
    return replace(plan, given=arrow_schema(schema))


def _refuse_new_columns(stream: _CheckpointStream, after: JobOptions, declared: pa.Schema) -> None:
    """Values of columns that the query does not have would be lost; columns that are gone are null."""
    have = plan_of_state(None, after, stream.values)[0].schema
    try:
        check_given(have, declared)
    except UsageError as error:
        raise UnsupportedError(
            f"the state has other columns than when the query started: {error.message}",
            advice="start the query again, and add the columns to its sink", file=after.snapshot,
        ) from None  # fmt: skip


def _refuse_lost_operator(stream: _CheckpointStream, state: DiffState, after: JobOptions, plan: PlannedDiff) -> None:
    """A state that nothing was put into yet is not in a checkpoint; an operator that is not there is of another job."""
    metadata, _ = read_metadata(stream.store, plan.context.sides[1].metadata_uri)
    if all(operator.id != state.operator_id for operator in metadata.operators):
        raise UnsupportedError(
            "the operator is not in the checkpoint any more", operator=state.label, state=state.name, file=after.snapshot,
            advice="if the directory has checkpoints of different jobs, give the directory of one",
        )  # fmt: skip


def _refuse_two_jobs(stream: _CheckpointStream, before: str, after: str) -> None:
    """Of two jobs that run at the same time neither goes on where the other ended."""
    found = completed_checkpoints(stream.path, stream.store)
    last = max((one.time for one in found if one.job == before), default=None)
    first = min((one.time for one in found if one.job == after), default=None)
    if last is not None and first is not None and last > first:
        raise UsageError(
            f"the jobs {before} and {after} complete checkpoints at {stream.path} at the same time",
            advice="give the checkpoint directory of one of them",
        )


def read(task: bytes) -> Iterator[pa.RecordBatch]:
    """The rows of a task.

    :raises StateExtractError: with file, operator, state, key group and offset.
    """
    shared, units = pickle.loads(task)
    if units == _NOTHING:
        given = PlannedDiff.from_bytes(shared).given
        assert given is not None
        yield pa.RecordBatch.from_pylist([{CHANGE: RESET} if CHANGE in given.names else {}], given)
        return
    try:
        yield from source_diff.read(shared, units, complete=True)
    except SnapshotDeletedError as error:
        error.advice = f"start the query again, with onMissingBase set to full; {_KEEP}"
        raise


@leaving(DOORS[DIFF])
def commit(options: Mapping[str, str], needed: Sequence[Offset]) -> None:
    """Batches are done: other checkpoints than these are not kept any longer."""
    stream = _CheckpointStream(options)
    if stream.retained is not None:
        stream.retained.forget_all_but([(offset["job"], offset["checkpoint"]) for offset in needed])


def _offset(found: Completed) -> Offset:
    return {"job": found.job, "checkpoint": found.number}


def _none_complete(stream: _CheckpointStream, advice: str = "check the path") -> SnapshotNotFoundError:
    return SnapshotNotFoundError(f"no complete checkpoint at {stream.path}", advice=advice)


def _deleted(folder: str) -> SnapshotNotFoundError:
    return SnapshotNotFoundError(f"Flink has deleted {folder} meanwhile", advice="start the query again")
