"""``flink-state-diff`` as a stream, in this process as Spark calls it: offsets, batches, and what happens when Flink deletes
checkpoints. ``tests/sinks/test_running_job.py`` runs it in Spark on a job that runs."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from pyarrow.fs import FileSelector, FileType

from stateextract.errors import SnapshotDeletedError, SnapshotNotFoundError, UnsupportedError, UsageError
from stateextract.job.output import open_output
from stateextract.spark import register
from stateextract.spark.data_sources import FlinkStateDiffSource
from stateextract.spark.source_retained import Retained
from tests.job.snapshots import write_snapshot
from tests.spark.sources import Loaded, again, make
from tests.stores import put_stores_into_memory
from tests.writers import flink_writer as flink

JOB, OTHER = "0" * 32, "f" * 32
START = {"job": "", "checkpoint": 0}
GOLDEN = Path(__file__).resolve().parents[1] / "golden" / "data"
Row = tuple[str, int | None, int | None, int | None]


class Query:
    """A streaming query: what Spark keeps of it, over restarts."""

    def __init__(self, path: Path, **options: Any) -> None:
        self.path, self.options = path, options
        self.offset: Any = None
        self.start()

    def start(self) -> None:
        loaded = Loaded(make(FlinkStateDiffSource, {"path": self.path, "stateName": "count", **self.options}))
        self.schema, self.source = loaded.schema, loaded.source
        self.reader = loaded.source.streamReader(loaded.schema)

    def latest(self) -> Any:
        if self.offset is None:
            assert self.reader.initialOffset() == START
        return self.reader.latestOffset()

    def rows(self, end: Any) -> list[Row]:
        """The rows of a batch up to an offset, as tasks make them of copies."""
        tasks = again(self.reader.partitions(self.offset or START, end))
        worker = again(self.source.streamReader(self.schema))
        found = [row for task in tasks for batch in worker.read(task) for row in batch.to_pylist()]
        return sorted(
            ((row["change"], row["key"], *((row[side] or {}).get("value") for side in ("before", "after"))) for row in found),
            key=lambda row: (row[1] is not None, row[1]),
        )

    def batch(self) -> list[Row]:
        """The next batch."""
        end = self.latest()
        rows = self.rows(end)
        self.reader.commit(end)
        self.offset = end
        return rows


def checkpoint(jobs: Path, number: int, rows: Mapping[int, int], job: str = JOB, operator: str = "op") -> Path:
    """A checkpoint of a job; they complete a second after each other."""
    groups: dict[int, list[tuple[int, int]]] = {}
    for key, value in rows.items():
        groups.setdefault(key % 8, []).append((key, value))
    folder = write_snapshot(jobs / job / f"chk-{number}", {operator: {"count": groups}}, checkpoint=number)
    os.utime(folder / "_metadata", (1_700_000_000 + number, 1_700_000_000 + number))
    return folder


def added(rows: Mapping[int, int]) -> list[Row]:
    return [("added", key, None, value) for key, value in sorted(rows.items())]


def test_the_first_batch_is_the_newest_checkpoint_and_the_others_what_changed_since(tmp_path: Path) -> None:
    checkpoint(tmp_path, 1, {1: 10})
    checkpoint(tmp_path, 2, {1: 10, 2: 20, 9: 90})
    (tmp_path / JOB / "chk-3").mkdir()  # is being written
    query = Query(tmp_path / JOB)
    assert query.latest() == {"job": JOB, "checkpoint": 2}
    assert query.batch() == added({1: 10, 2: 20, 9: 90})
    assert query.latest() == query.offset
    assert query.rows(query.offset) == []
    checkpoint(tmp_path, 4, {1: 10, 2: 21, 9: 90, 3: 30})
    checkpoint(tmp_path, 5, {1: 10, 2: 22, 3: 30})
    assert query.batch() == [("changed", 2, 20, 22), ("added", 3, None, 30), ("removed", 9, 90, None)]
    query.start()
    checkpoint(tmp_path, 6, {1: 11, 2: 22, 3: 30})
    assert query.batch() == [("changed", 1, 10, 11)]


def test_a_query_starts_with_the_checkpoint_that_is_given(tmp_path: Path) -> None:
    for number in (1, 2, 3):
        checkpoint(tmp_path, number, {1: number})
    query = Query(tmp_path, startingCheckpoint=2)
    assert query.batch() == added({1: 2})
    assert query.batch() == [("changed", 1, 2, 3)]
    with pytest.raises(SnapshotNotFoundError, match=r"no complete checkpoint 7 at .*Set startingCheckpoint to one"):
        Query(tmp_path, startingCheckpoint=7).batch()


def test_a_batch_that_is_repeated_is_the_same(tmp_path: Path) -> None:
    checkpoint(tmp_path, 1, {1: 10})
    query = Query(tmp_path)
    end = query.latest()
    first = query.rows(end)
    checkpoint(tmp_path, 2, {1: 11})
    query.start()
    assert query.rows(end) == first == added({1: 10})
    query.offset = end
    assert query.batch() == [("changed", 1, 10, 11)]


def test_a_job_is_followed_under_its_next_id(tmp_path: Path) -> None:
    checkpoint(tmp_path, 7, {1: 10, 2: 20})
    query = Query(tmp_path)
    query.batch()
    checkpoint(tmp_path, 8, {1: 11, 2: 20}, OTHER)
    assert query.batch() == [("changed", 1, 10, 11)]
    assert query.offset == {"job": OTHER, "checkpoint": 8}
    # The first job runs too, and the query does not go from one to the other and back.
    checkpoint(tmp_path, 9, {1: 99})
    with pytest.raises(UsageError, match=r"complete checkpoints at .* at the same time\. Give the checkpoint directory of one"):
        query.batch()


def test_another_job_is_not_taken_for_one_that_removed_everything(tmp_path: Path) -> None:
    checkpoint(tmp_path, 1, {1: 10})
    query = Query(tmp_path, operatorUid="op")
    query.batch()
    checkpoint(tmp_path, 2, {1: 10}, OTHER, "another")
    with pytest.raises(UnsupportedError, match="the operator is not in the checkpoint any more"):
        query.batch()


@pytest.mark.parametrize("deleted", [1, 2])
def test_a_checkpoint_that_is_gone_stops_the_query_or_begins_anew(tmp_path: Path, deleted: int) -> None:
    checkpoint(tmp_path, 1, {1: 10, 2: 20})
    query = Query(tmp_path)
    query.batch()
    checkpoint(tmp_path, 2, {1: 11})
    end = query.latest()
    checkpoint(tmp_path, 3, {1: 12})
    shutil.rmtree(tmp_path / JOB / f"chk-{deleted}")
    with pytest.raises(SnapshotNotFoundError) as caught:
        query.rows(end)
    assert str(caught.value) == (
        f"checkpoint {deleted} of job {JOB}, which the query needs to know what changed, is not at {tmp_path} any more. Set "
        "onMissingBase to full, so that the next batch has the whole state; set state.checkpoints.num-retained in Flink to "
        "more checkpoints than complete while a batch is read, or set retainIn."
    )
    query.options["onMissingBase"] = "full"
    query.start()
    assert query.rows(end) == [("reset", None, None, None), *added({1: 11 if deleted == 1 else 12})]
    query.offset = end
    # What the sink has is not known where a batch was replaced, so the next one begins anew, too.
    changed = [("changed", 1, 11, 12)]
    assert query.batch() == (changed if deleted == 1 else [("reset", None, None, None), *added({1: 12})])


def test_a_checkpoint_that_is_deleted_while_a_task_reads_it(tmp_path: Path) -> None:
    checkpoint(tmp_path, 1, {1: 10})
    query = Query(tmp_path)
    (task,) = query.reader.partitions(START, query.latest())
    shutil.rmtree(tmp_path / JOB / "chk-1")
    with pytest.raises(SnapshotDeletedError, match="Start the query again, with onMissingBase set to full; set state"):
        list(query.reader.read(task))


def test_with_a_directory_of_its_own_a_query_needs_no_checkpoint_of_flink(tmp_path: Path) -> None:
    jobs, kept = tmp_path / "jobs", tmp_path / "kept"
    checkpoint(jobs, 1, {1: 10, 2: 20})
    query = Query(jobs, retainIn=kept)
    end = query.latest()
    # By default, Flink deletes a checkpoint when the next one completes.
    checkpoint(jobs, 2, {1: 11, 2: 20})
    shutil.rmtree(jobs / JOB / "chk-1")
    assert query.rows(end) == added({1: 10, 2: 20})
    query.start()
    assert query.rows(end) == added({1: 10, 2: 20})
    query.offset = end
    assert query.batch() == [("changed", 1, 10, 11)]
    assert [path.name for path in kept.glob("*/chk-*/_metadata")] == ["_metadata"]
    assert sorted({path.parent.name for path in kept.rglob("op-*")}) == ["chk-2"]
    # Links, not copies.
    assert {path.stat().st_nlink for path in kept.rglob("op-*")} == {2}
    checkpoint(jobs, 3, {2: 21})
    shutil.rmtree(jobs / JOB / "chk-2")
    query.start()
    assert query.batch() == [("removed", 1, 11, None), ("changed", 2, 20, 21)]


def test_checkpoints_are_kept_in_a_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_stores_into_memory(monkeypatch)
    folder = f"oss://bucket/{tmp_path.name}/kept"
    checkpoint(tmp_path, 1, {1: 10, 2: 20})
    query = Query(tmp_path, retainIn=folder)
    end = query.latest()
    checkpoint(tmp_path, 2, {1: 11})
    shutil.rmtree(tmp_path / JOB / "chk-1")
    query.start()
    assert query.rows(end) == added({1: 10, 2: 20})
    query.offset = end
    assert query.batch() == [("changed", 1, 10, 11), ("removed", 2, 20, None)]
    output = open_output(folder)
    files = output.fs.get_file_info(FileSelector(output.root, recursive=True))
    kept = {file.path.removeprefix(output.root).strip("/") for file in files if file.type == FileType.File}
    assert kept == {"_retained-by-stateextract", *(f"{JOB}/chk-2/{name}" for name in ("_metadata", "op-0", "op-1"))}


def test_a_checkpoint_that_is_deleted_before_it_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs = tmp_path / "jobs"
    checkpoint(jobs, 1, {1: 10})
    query = Query(jobs, retainIn=tmp_path / "kept")
    query.batch()
    checkpoint(jobs, 2, {1: 11})
    copy, numbers = Retained._copy, iter((3,))

    def deleting(self: Retained, store: Any, uri: str, relative: str) -> None:
        copy(self, store, uri, relative)
        for number in numbers:
            shutil.rmtree(jobs / JOB / "chk-2")
            checkpoint(jobs, number, {1: 12})

    monkeypatch.setattr(Retained, "_copy", deleting)
    assert query.batch() == [("changed", 1, 10, 12)]
    assert query.offset == {"job": JOB, "checkpoint": 3}
    # What was kept of the other one is gone.
    assert {path.parent.name for path in (tmp_path / "kept").rglob("op-*")} == {"chk-3"}
    folder = checkpoint(jobs, 4, {1: 13})
    (folder / "op-0").unlink()
    with pytest.raises(SnapshotNotFoundError, match=r"files of the newest checkpoint .*chk-4 are missing"):
        query.batch()


def test_a_directory_of_something_else_is_not_used(tmp_path: Path) -> None:
    jobs, other = tmp_path / "jobs", tmp_path / "other"
    checkpoint(jobs, 1, {1: 10})
    other.mkdir()
    (other / "mine").write_text("mine")
    with pytest.raises(UsageError, match=r"retainIn\) is not empty"):
        Query(jobs, retainIn=other)
    for inside in (jobs / "kept", jobs, tmp_path):
        with pytest.raises(UsageError, match="one is inside the other"):
            Query(jobs, retainIn=inside)
    assert [path.name for path in other.iterdir()] == ["mine"]


def test_files_that_checkpoints_share_are_kept_as_long_as_one_needs_them(tmp_path: Path) -> None:
    (source,) = (GOLDEN / "f23-changes-checkpoint-rocksdb-incremental").glob("?" * 32)
    jobs, kept = tmp_path / "jobs", tmp_path / "kept"
    shutil.copytree(source, jobs / source.name)
    query = Query(jobs, retainIn=kept, stateName="sum")
    end = query.latest()
    shutil.rmtree(jobs / source.name)
    assert len(query.rows(end)) == 16
    files = {path.relative_to(kept) for path in kept.rglob("*") if path.is_file()}
    assert {path.parts[1] for path in files if len(path.parts) > 1} == {source.glob("chk-*").__next__().name, "shared"}
    query.reader.commit(end)
    assert {path.relative_to(kept) for path in kept.rglob("*") if path.is_file()} == files
    query.reader.latest = None
    query.reader.commit({"job": source.name, "checkpoint": 99})
    assert [path.name for path in kept.rglob("*") if path.is_file()] == ["_retained-by-stateextract"]


def test_new_columns_stop_a_query_until_it_is_started_again(tmp_path: Path) -> None:
    for number in (1, 2):
        values = {"count": flink.tuple_of(*[flink.LONG] * number)}
        write_snapshot(tmp_path / JOB / f"chk-{number}", {"op": {"count": {}}}, values=values, checkpoint=number)
        if number == 1:
            query = Query(tmp_path)
            query.batch()
    with pytest.raises(UnsupportedError, match=r"other columns than when the query started: .*Start the query again"):
        query.batch()
    query.start()
    assert query.batch() == []


def test_without_a_checkpoint_a_schema_is_needed(tmp_path: Path) -> None:
    with pytest.raises(SnapshotNotFoundError, match=r"no complete checkpoint at .*or give the stream a schema"):
        Query(tmp_path)
    checkpoint(tmp_path / "later", 1, {1: 10})
    schema = Query(tmp_path / "later").schema
    query = FlinkStateDiffSource({"path": str(tmp_path / "none"), "stateName": "count"}).streamReader(schema)
    assert query.initialOffset() == query.latestOffset() == START
    query.partitions(START, START)
    with pytest.raises(SnapshotNotFoundError, match="Check the path"):
        query.latestOffset.__func__(_later(query))


def _later(reader: Any) -> Any:
    reader.is_new, reader.latest = False, None
    return reader


def test_a_path_is_for_streams(tmp_path: Path) -> None:
    checkpoint(tmp_path, 1, {1: 10})
    with pytest.raises(UsageError, match=r"a path is for streams\. Use spark\.readStream, or give two snapshots"):
        make(FlinkStateDiffSource, {"path": tmp_path}).reader(Query(tmp_path).schema)


@pytest.mark.spark
def test_spark_runs_it(tmp_path: Path, spark: Any) -> None:
    register(spark)
    jobs, batches = tmp_path / "jobs", []

    def run() -> Any:
        stream = spark.readStream.format("flink-state-diff").option("stateName", "count").option("retainIn", tmp_path / "kept")
        query = (
            stream.load(str(jobs))
            .writeStream.foreachBatch(lambda batch, number: batches.append((number, batch.toArrow().to_pylist())))
            .option("checkpointLocation", str(tmp_path / "query"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        return json.loads(query.lastProgress.json)["sources"][0]["endOffset"] if query.lastProgress else None

    checkpoint(jobs, 1, {1: 10, 2: 20})
    assert run() == {"job": JOB, "checkpoint": 1}
    checkpoint(jobs, 2, {1: 11, 2: 20})
    shutil.rmtree(jobs / JOB / "chk-1")
    assert run() == {"job": JOB, "checkpoint": 2}
    assert [(n, sorted((r["change"], r["key"], r["after"]["value"]) for r in rows)) for n, rows in batches] == [
        (0, [("added", 1, 10), ("added", 2, 20)]), (1, [("changed", 1, 11)]),
    ]  # fmt: skip
