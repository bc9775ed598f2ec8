"""A real S3 protocol: which ranges of which objects are read, and a job that reads from and writes to a bucket."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyarrow import fs

import stateextract
from stateextract.errors import MissingFileError, SnapshotNotFoundError, UnreadableFileError
from stateextract.files import window
from stateextract.files.piece import FilePiece
from stateextract.job.execute import in_this_process
from stateextract.job.run import run_job
from stateextract.metadata.model import FileHandle, KeyGroupsHandle, RelativeHandle
from stateextract.metadata.parser import parse_metadata
from stateextract.options import JobOptions
from stateextract.snapshot import open_files as snapshot_files
from tests.golden.expected import DATA, load
from tests.metadata.writer import metadata
from tests.writers.generate import Written, plan_operators, write_snapshot
from tests.writers.shapes import rows

pytest.importorskip("moto")

ENTRIES = 30_000
CREDENTIALS = {
    "AWS_ACCESS_KEY_ID": "tests",
    "AWS_SECRET_ACCESS_KEY": "tests",
    "AWS_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
}


@dataclass
class Bucket:
    """A bucket, and what was asked of it."""

    files: fs.FileSystem
    requests: list[tuple[str, str, str | None]] = field(default_factory=list)

    def ranges(self) -> dict[str, list[tuple[int, int]]]:
        """First and last byte of every ranged read, by object, in order."""
        found: dict[str, list[tuple[int, int]]] = {}
        for method, path, text in self.requests:
            if method == "GET" and text is not None:
                first, _, last = text.removeprefix("bytes=").partition("-")
                found.setdefault(path.removeprefix("/flink/"), []).append((int(first), int(last)))
        return {name: sorted(set(ranges)) for name, ranges in found.items()}


@pytest.fixture(scope="module")
def server() -> Iterator[Bucket]:
    """A server of this process, spoken to over HTTP; it notes every request."""
    from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import WSGIRequestHandler, make_server

    class Silent(WSGIRequestHandler):
        def log(self, type: str, message: str, *args: Any) -> None: ...

    requests: list[tuple[str, str, str | None]] = []
    application = DomainDispatcherApplication(create_backend_app)

    def noting(environ: dict[str, Any], start_response: Any) -> Any:
        requests.append((environ["REQUEST_METHOD"], environ["PATH_INFO"], environ.get("HTTP_RANGE")))
        return application(environ, start_response)

    http = make_server("127.0.0.1", 0, noting, threaded=True, request_handler=Silent)
    thread = threading.Thread(target=http.serve_forever, daemon=True)
    thread.start()
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {**CREDENTIALS, "AWS_ENDPOINT_URL": f"http://127.0.0.1:{http.port}"}.items():
            patch.setenv(name, value)
        files, _ = fs.FileSystem.from_uri("s3://flink/?allow_bucket_creation=true")
        files.create_dir("flink")
        yield Bucket(files, requests)
    http.shutdown()
    thread.join()


@pytest.fixture(scope="module")
def snapshot(server: Bucket, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Written]:
    """A snapshot of two operators of two files each, here and at ``s3://flink/job/chk-1``."""
    folder = tmp_path_factory.mktemp("snapshot") / "chk-1"
    written = write_snapshot(folder, plan_operators(["long-long", "pojo"], entries=ENTRIES, files=2))
    local = fs.LocalFileSystem()
    fs.copy_files(str(folder), "flink/job/chk-1", source_filesystem=local, destination_filesystem=server.files)
    return folder, written


@pytest.fixture
def bucket(server: Bucket, snapshot: tuple[Path, Written]) -> Bucket:
    server.requests.clear()
    return server


def objects(folder: Path) -> dict[str, list[tuple[str, int, int]]]:
    """By operator: name, size, and end of the head of each of its files."""
    metadata = parse_metadata((folder / "_metadata").read_bytes())
    found: dict[str, list[tuple[str, int, int]]] = {}
    for operator in metadata.operators:
        for subtask in operator.subtasks:
            handle = subtask.managed_keyed
            assert isinstance(handle, KeyGroupsHandle)
            assert isinstance(handle.stream, RelativeHandle)
            name = f"job/chk-1/{handle.stream.path}"
            found.setdefault(str(operator.uid), []).append((name, handle.stream.size, handle.offsets[0]))
    return found


@pytest.mark.parametrize("uri", ["s3://flink/job/chk-1", "s3a://flink/job/chk-1/_metadata", "s3p://flink/job"])
def test_a_state_is_read_by_its_ranges(bucket: Bucket, snapshot: tuple[Path, Written], uri: str) -> None:
    folder, _ = snapshot
    state = stateextract.open_snapshot(uri).operator("counters").state("long-long")
    found = state.to_table().select(["key", "value"])
    assert found.sort_by("key").equals(rows("long-long", 1, 0, ENTRIES).sort_by("key"))
    operators = objects(folder)
    ranges = bucket.ranges()
    assert set(ranges) == {"job/chk-1/_metadata", *(name for name, _, _ in operators["counters"])}
    assert ranges["job/chk-1/_metadata"] == [(0, (folder / "_metadata").stat().st_size - 1)]
    for name, size, head in operators["counters"]:
        assert ranges[name] == [(0, head - 1), (head, size - 1)]


def test_counting_reads_no_more_than_counts(bucket: Bucket, snapshot: tuple[Path, Written]) -> None:
    """The first bytes of each key group, which lie too far from one another to be read together."""
    folder, _ = snapshot
    state = stateextract.open_snapshot("s3://flink/job/chk-1").operator("customers").state("pojo")
    bucket.requests.clear()
    assert state.count() == ENTRIES
    for name, _, _ in objects(folder)["customers"]:
        assert sum(last - first + 1 for first, last in bucket.ranges()[name]) == 64 * 10


def test_a_lookup_reads_its_key_group_alone(bucket: Bucket, snapshot: tuple[Path, Written]) -> None:
    state = stateextract.open_snapshot("s3://flink/job/chk-1").operator("counters").state("long-long")
    key = state.to_table()["key"][7].as_py()
    bucket.requests.clear()
    assert state.get(key).num_rows == 1
    (ranges,) = bucket.ranges().values()
    ((first, last),) = ranges
    assert last - first < 10_000


def test_several_reads_are_under_way(
    bucket: Bucket, snapshot: tuple[Path, Written], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each byte of the key groups is asked for once all the same."""
    folder, _ = snapshot
    step = 50_000
    monkeypatch.setattr(window, "READ", step)
    monkeypatch.setattr(snapshot_files, "READ", step)
    began: list[int] = []
    start_read = FilePiece.start_read
    monkeypatch.setattr(FilePiece, "start_read", lambda *a: (began.append(a[1]), start_read(*a))[1])
    found = stateextract.open_snapshot("s3://flink/job/chk-1").operator("counters").state("long-long").to_table()
    assert found.select(["key", "value"]).sort_by("key").equals(rows("long-long", 1, 0, ENTRIES).sort_by("key"))
    ranges = bucket.ranges()
    expected = []
    for name, size, head in objects(folder)["counters"]:
        pieces = [(at, min(at + step, size) - 1) for at in range(head, size, step)]
        assert ranges[name] == [(0, head - 1), *pieces]
        expected += [first for first, _ in pieces]
    assert began == expected


def test_databases(bucket: Bucket, tmp_path: Path) -> None:
    """Their files are opened before their turn, each once for each state, and no byte is read twice by it.

    The contents of sessions are read with the mapping state of the sessions, which has their bounds.
    """
    folder = DATA / "f23-changes-checkpoint-rocksdb-incremental"
    local = fs.LocalFileSystem()
    fs.copy_files(str(folder), "flink/golden", source_filesystem=local, destination_filesystem=bucket.files)
    here, there = (stateextract.open_snapshot(f"{root}/{load(folder)['snapshot']}") for root in (folder, "s3://flink/golden"))
    read: dict[tuple[str | None, str], list[str]] = {}
    for mine, other in zip(here.states, there.states, strict=True):
        bucket.requests.clear()
        if mine.coverage.status == "decoded":
            assert other.to_table().equals(mine.to_table())
            gets = [(path, text) for method, path, text in bucket.requests if method == "GET" and text]
            assert len(gets) == len(set(gets))
            heads = [path for method, path, _ in bucket.requests if method == "HEAD"]
            assert len(heads) == len(set(heads))
            read[other.operator.name, other.name] = sorted({path for path, _ in gets})
    assert sum(map(len, read.values())) > 30
    mapping = read["sessions", "merging-window-set"]
    contents = read["sessions", "window-contents"]
    assert (len(mapping), len(contents)) == (5, 8)
    assert {*mapping} < {*contents}
    jobs = []
    for number, root in enumerate((folder, "s3://flink/golden")):
        options = JobOptions(snapshot=f"{root}/{load(folder)['snapshot']}", output=str(tmp_path / str(number)))
        outcome = run_job(options, in_this_process)
        assert outcome.exit_code == 0
        jobs.append([(d.state_name, d.rows) for d in outcome.manifest.datasets])
    assert jobs[0] == jobs[1]


def test_a_job_reads_and_writes_a_bucket(bucket: Bucket, snapshot: tuple[Path, Written]) -> None:
    folder, _ = snapshot
    target = "s3a://flink/warehouse/state"
    options = JobOptions(snapshot="s3a://flink/job/chk-1", output=target, operator=("customers",))
    outcome = run_job(options, in_this_process)
    assert outcome.exit_code == 0
    for name, _, head in objects(folder)["counters"]:
        assert bucket.ranges()[name] == [(0, head - 1)]
    (dataset,) = outcome.manifest.datasets
    tables = [pq.read_table(f"flink/warehouse/state/{f.path}", filesystem=bucket.files) for f in dataset.files]
    (table,) = tables
    assert table.select(["key", "value"]).sort_by("key").equals(rows("pojo", 1, 0, ENTRIES).sort_by("key"))
    left = bucket.files.get_file_info(fs.FileSelector("flink/warehouse/state"))
    assert {info.base_name for info in left} == {"_SUCCESS", "_coverage.json", "_manifest.json", "customers"}


def test_what_is_not_there(bucket: Bucket, snapshot: tuple[Path, Written]) -> None:
    with pytest.raises(SnapshotNotFoundError, match="s3://flink/job/chk-2/_metadata does not exist"):
        stateextract.open_snapshot("s3a://flink/job/chk-2/_metadata")
    name, _, _ = objects(snapshot[0])["counters"][1]
    for part in ("_metadata", objects(snapshot[0])["counters"][0][0].rpartition("/")[2]):
        bucket.files.copy_file(f"flink/job/chk-1/{part}", f"flink/torn/chk-1/{part}")
    with pytest.raises(MissingFileError) as caught:
        stateextract.open_snapshot("s3://flink/torn/chk-1").operator("counters").state("long-long").to_table()
    assert caught.value.file == f"s3://flink/torn/chk-1/{name.rpartition('/')[2]}"


def test_a_history(server: Bucket, snapshot: tuple[Path, Written], tmp_path: Path) -> None:
    from stateextract.audit.history.history_files import read_history
    from stateextract.cli import run

    page = tmp_path / "report.html"
    asked = ["history", "s3://flink/job", "-o", "s3a://flink/history", "--state", "long-long", "--format", "json"]
    assert run(asked) == 0
    server.requests.clear()
    assert run([*asked, "--skip-existing"]) == 0
    assert not [
        path for _, path, _ in server.requests if path.startswith("/flink/job/chk-1/") and "_metadata" not in path
    ]
    (one,) = read_history("s3://flink/history")
    assert one.snapshot.path == "s3://flink/job/chk-1/_metadata"
    assert [s.rows for _, s in one.document().states if s.state_name == "long-long"] == [ENTRIES]
    assert run(["report", "--from", "s3://flink/history", "-o", str(page)]) == 0
    assert "s3://flink/job/chk-1/_metadata" in page.read_text()


def test_files_in_another_store_are_read_where_it_is_allowed(
    bucket: Bucket, snapshot: tuple[Path, Written], tmp_path: Path
) -> None:
    """A local ``_metadata`` of which the files stayed in the bucket; the workers of both engines are given what is allowed."""
    from stateextract.spark import source_read

    here = tmp_path / "copy" / "chk-1"
    here.mkdir(parents=True)
    whole = parse_metadata((snapshot[0] / "_metadata").read_bytes())
    operators = []
    for operator in whole.operators:
        tasks = []
        for task in operator.subtasks:
            handle = task.managed_keyed
            assert isinstance(handle, KeyGroupsHandle)
            assert isinstance(handle.stream, RelativeHandle)
            away = FileHandle(handle.stream.size, f"s3a://flink/job/chk-1/{handle.stream.path}")
            tasks.append(replace(task, managed_keyed=replace(handle, stream=away)))
        operators.append(replace(operator, subtasks=tuple(tasks)))
    (here / "_metadata").write_bytes(metadata(replace(whole, operators=tuple(operators))))
    job = JobOptions(snapshot=str(here), output=str(tmp_path / "out"), operator=("customers",))
    refused = "the snapshot names a file in another store than its own, s3://flink,"
    with pytest.raises(UnreadableFileError, match=refused):
        run_job(job, in_this_process)
    spark = {"path": str(here), "operatorUid": "customers", "stateName": "pojo"}
    with pytest.raises(UnreadableFileError, match=f"{refused}.* allowStores s3://flink"):
        source_read.planned(spark)
    assert bucket.requests == []
    expected = rows("pojo", 1, 0, ENTRIES).sort_by("key")
    opened = stateextract.open_snapshot(str(here), allow_stores=["s3a://flink/job"])
    assert opened.operator("customers").state("pojo").to_table().select(["key", "value"]).sort_by("key").equals(expected)
    outcome = run_job(replace(job, allow_store=("s3://flink",)), in_this_process)
    (dataset,) = outcome.manifest.datasets
    assert dataset.rows == ENTRIES
    plan, schema = source_read.planned({**spark, "allowStores": "s3://flink"})
    plan = source_read.with_schema(plan, schema)
    batches = [batch for split in source_read.splits(plan) for batch in source_read.read(source_read.for_tasks(plan), split)]
    assert sum(batch.num_rows for batch in batches) == ENTRIES
