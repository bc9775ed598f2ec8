"""What must hold on every store, as one class of tests: a directory of ``tests/world`` derives a class from it for its store.

    @pytest.fixture(scope="module")
    def store() -> Iterator[WorldStore]: ...

    @pytest.mark.world
    class TestGcs(StoreTests): ...

Snapshots are put into the store by its own means, not by the code that is tested.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import stateextract
from stateextract.audit.history.history_files import read_history
from stateextract.cli import run
from stateextract.errors import (
    MissingFileError,
    OutputError,
    SnapshotNotFoundError,
    StateExtractError,
    UnreadableFileError,
)
from stateextract.job.execute import in_this_process
from stateextract.job.run import run_job
from stateextract.metadata.model import FileHandle, KeyGroupsHandle, RelativeHandle
from stateextract.metadata.parser import parse_metadata
from stateextract.options import JobOptions
from tests.golden.expected import DATA, load
from tests.metadata.writer import metadata
from tests.world.relay import Relay
from tests.writers.generate import plan_operators, write_snapshot
from tests.writers.shapes import rows

ENTRIES = 30_000
CASES = {
    "heap": "f120-kinds-checkpoint",
    "RocksDB": "f23-changes-checkpoint-rocksdb-incremental",
    "changelog": "f120-changes-checkpoint-changelog-materialized",
}


class WorldStore(ABC):
    """A store that runs behind a relay, and a bucket (container, directory) of it that is the tests' own.

    :ivar root: its URI, for example ``gs://flink``.
    :ivar other: the URI of another store of the same kind, which no test allows; empty if there is none.
    :ivar renames: whether a job stages its files and renames them there.
    :ivar many: files of the directory that is listed.
    :ivar page: objects that one answer to a listing has at most; 0: a listing is one request.
    :ivar opens_whole: its client asks for the whole object when a file is opened, and drops the answer.
    """

    root: str
    other: str = ""
    renames = False
    many = 20_000
    page = 1000
    opens_whole = False

    def __init__(self, relay: Relay) -> None:
        self.relay = relay
        self.directory: Path | None = None

    @abstractmethod
    def put(self, path: str, data: bytes) -> None:
        """Write a file of the tests' bucket, without directories or markers of directories if the store has none."""

    @abstractmethod
    def get(self, path: str) -> bytes:
        """A whole file."""

    @abstractmethod
    def delete(self, path: str) -> None: ...

    @abstractmethod
    def names(self, path: str) -> list[str]:
        """The paths of all files below a directory, relative to it and sorted."""

    @abstractmethod
    def deny(self, patch: pytest.MonkeyPatch) -> list[str]:
        """Let the store refuse this process, by wrong credentials or its answers; what no message may contain."""

    def put_many(self, path: str, number: int) -> None:
        """Fill a directory with files of one byte."""
        with ThreadPoolExecutor(16) as threads:
            list(threads.map(lambda n: self.put(f"{path}/{n:08d}", b"x"), range(number)))

    def upload(self, directory: Path, path: str) -> None:
        for file in sorted(directory.rglob("*")):
            if file.is_file():
                self.put(f"{path}/{file.relative_to(directory)}", file.read_bytes())


class StoreTests:
    """Tests of one store; each takes what it has put there before with it in its own directory."""

    @pytest.fixture(autouse=True)
    def cleared(self, store: WorldStore) -> Iterator[None]:
        store.relay.clear()
        yield
        store.relay.clear()

    @pytest.fixture
    def written(self, store: WorldStore, tmp_path_factory: pytest.TempPathFactory) -> Path:
        """A heap snapshot of two operators of two files each, here and at ``job/chk-1`` of the store; made once."""
        if store.directory is None:
            store.directory = tmp_path_factory.mktemp("snapshot") / "chk-1"
            write_snapshot(store.directory, plan_operators(["long-long", "pojo"], entries=ENTRIES, files=2))
            store.upload(store.directory, "job/chk-1")
        store.relay.clear()
        return store.directory

    # -- reading

    @pytest.mark.smoke
    @pytest.mark.parametrize("kind", CASES)
    def test_a_snapshot_is_read(self, kind: str, store: WorldStore) -> None:
        directory = DATA / CASES[kind]
        store.upload(directory, f"golden/{kind}")
        path = load(directory)["snapshot"]
        here, there = (stateextract.open_snapshot(f"{root}/{path}") for root in (directory, f"{store.root}/golden/{kind}"))
        compared = 0
        for mine, other in zip(here.states, there.states, strict=True):
            assert (mine.name, mine.coverage.status) == (other.name, other.coverage.status)
            if mine.coverage.status == "decoded":
                found = other.to_table()
                assert found.equals(mine.to_table())
                compared += found.num_rows
        assert compared > 30
        job = path.rpartition("/")[0]
        newest = stateextract.open_snapshot(f"{store.root}/golden/{kind}/{job}")
        assert newest.path == f"{store.root}/golden/{kind}/{path}"

    def test_a_lookup_reads_its_key_group_alone(self, store: WorldStore, written: Path) -> None:
        state = stateextract.open_snapshot(f"{store.root}/job/chk-1").operator("counters").state("long-long")
        key = state.to_table()["key"][7].as_py()
        store.relay.clear()
        assert state.get(key).num_rows == 1
        whole = sum(file.stat().st_size for file in written.iterdir())
        assert store.opens_whole or store.relay.received < 30_000 < whole / 10
        ranges = [request for request in store.relay.requests if request.first is not None]
        assert len(store.relay.requests) <= 4
        assert all(one.last is not None and one.last - (one.first or 0) < 10_000 for one in ranges)

    def test_a_lookup_in_rocksdb_reads_files_of_its_state_alone(self, store: WorldStore) -> None:
        directory = DATA / CASES["RocksDB"]
        store.upload(directory, "lookup")
        states = stateextract.open_snapshot(f"{store.root}/lookup/{load(directory)['snapshot']}").states
        state = next(one for one in states if one.coverage.status == "decoded" and one.to_table().num_rows)
        key = state.to_table()["key"][0].as_py()
        store.relay.clear()
        assert state.get(key).num_rows
        whole = sum(file.stat().st_size for file in directory.rglob("*") if file.is_file())
        assert store.opens_whole or store.relay.received < whole / 3

    def test_what_is_not_there(self, store: WorldStore, written: Path) -> None:
        with pytest.raises(SnapshotNotFoundError, match=f"{store.root}/job/chk-2/_metadata does not exist"):
            stateextract.open_snapshot(f"{store.root}/job/chk-2/_metadata")
        with pytest.raises(SnapshotNotFoundError, match="does not exist"):
            stateextract.open_snapshot(f"{store.root}/nowhere/at/all")

    # -- finding snapshots

    def test_a_listing_of_many_files(self, store: WorldStore, written: Path) -> None:
        """Neither finding the newest snapshot nor the list of all makes a request for each file."""
        store.upload(written, "many/job/chk-41")
        store.upload(written, "many/job/chk-42")
        store.put_many("many/job/shared", store.many)
        pages = store.many // store.page if store.page else 0
        store.relay.clear()
        assert stateextract.open_snapshot(f"{store.root}/many/job").path == f"{store.root}/many/job/chk-42"
        assert len(store.relay.requests) <= pages + 15
        store.relay.clear()
        found = stateextract.list_snapshots(f"{store.root}/many").snapshots
        assert [str(one.path).rpartition("/")[2] for one in found] == ["chk-41", "chk-42"]
        assert {str(one.status) for one in found} == {"complete"}
        assert len(store.relay.requests) <= 4 * pages + 40

    # -- writing

    @pytest.mark.smoke
    def test_a_job_reads_and_writes_a_store(self, store: WorldStore, written: Path) -> None:
        output = f"{store.root}/warehouse/state"
        options = JobOptions(snapshot=f"{store.root}/job/chk-1", output=output, operator=("customers",))
        outcome = run_job(options, in_this_process)
        assert outcome.exit_code == 0
        first = store.names("warehouse/state")
        assert self.customers(store, outcome).equals(rows("pojo", 1, 0, ENTRIES).sort_by("key"))
        with pytest.raises(OutputError, match="the output is not empty"):
            run_job(options, in_this_process)
        again = run_job(replace(options, mode="overwrite"), in_this_process)
        assert self.customers(store, again).equals(rows("pojo", 1, 0, ENTRIES).sort_by("key"))
        left = store.names("warehouse/state")
        (dataset,) = again.manifest.datasets
        published = {file.path for file in dataset.files}
        assert {name for name in left if name[0] != "_" and not name.endswith("/")} == published
        assert published.isdisjoint(first)
        assert {name for name in left if name[0] == "_"} == {"_SUCCESS", "_coverage.json", "_manifest.json"}

    def test_a_history(self, store: WorldStore, written: Path, tmp_path: Path) -> None:
        asked = ["history", f"{store.root}/job", "-o", f"{store.root}/history", "--state", "long-long", "--format", "json"]
        assert run(asked) == 0
        (one,) = read_history(f"{store.root}/history")
        assert [s.rows for _, s in one.document().states if s.state_name == "long-long"] == [ENTRIES]

    def customers(self, store: WorldStore, outcome: Any) -> Any:
        import pyarrow as pa

        (dataset,) = outcome.manifest.datasets
        data = [store.get(f"warehouse/state/{file.path}") for file in dataset.files]
        return pa.concat_tables([pq.read_table(pa.BufferReader(one)) for one in data]).select(["key", "value"]).sort_by("key")

    def test_a_job_whose_writes_are_cut_publishes_nothing(self, store: WorldStore, written: Path) -> None:
        """The next job finds what the cut one could not remove, and removes it."""
        output = f"{store.root}/cut/state"
        options = JobOptions(snapshot=str(written), output=output, operator=("customers",), store_timeout=3)

        def cut(*arguments: Any) -> Any:
            reports = in_this_process(*arguments)
            store.relay.cut()
            return reports

        with pytest.raises(StateExtractError):
            run_job(options, cut)
        store.relay.clear()
        assert not {"_SUCCESS", "_manifest.json"} & set(store.names("cut/state"))

    # -- failures

    @pytest.mark.smoke
    def test_access_that_is_denied(
        self, store: WorldStore, written: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        secrets = store.deny(monkeypatch)
        uri = f"{store.root}/job/chk-1"
        with pytest.raises(UnreadableFileError) as caught:
            stateextract.open_snapshot(uri)
        assert "refused access" in caught.value.message
        assert caught.value.file == uri
        assert caught.value.advice
        assert run(["extract", "--snapshot", str(written), "--output", f"{store.root}/denied", "--store-timeout", "5"]) == 1
        assert run(["states", f"{uri}/_metadata", "--store-timeout", "5"]) == 1
        text = str(caught.value) + "".join(capsys.readouterr())
        assert f"{store.root}/denied" in text
        assert not [secret for secret in secrets if secret in text]

    def test_a_connection_that_is_cut(self, store: WorldStore, written: Path) -> None:
        """The error says what cannot be read; the same snapshot is read when the connection is there again."""
        state = stateextract.open_snapshot(f"{store.root}/job/chk-1", store_timeout=3).operator("counters").state("long-long")
        assert state.count() == ENTRIES
        store.relay.cut(after=20_000)
        started = time.monotonic()
        with pytest.raises(UnreadableFileError) as caught:
            state.to_table()
        assert time.monotonic() - started < 30
        assert (caught.value.file or "").startswith(f"{store.root}/job/chk-1/")
        store.relay.clear()
        time.sleep(3.1)  # a store that did not answer is not asked for so long
        found = stateextract.open_snapshot(f"{store.root}/job/chk-1").operator("counters").state("long-long").to_table()
        assert found.select(["key", "value"]).sort_by("key").equals(rows("long-long", 1, 0, ENTRIES).sort_by("key"))

    def test_a_store_that_answers_no_more(self, store: WorldStore, written: Path) -> None:
        state = stateextract.open_snapshot(f"{store.root}/job/chk-1", store_timeout=4).operator("counters").state("long-long")
        assert state.count() == ENTRIES
        store.relay.freeze()
        started = time.monotonic()
        with pytest.raises(UnreadableFileError) as caught:
            state.to_table()
        assert time.monotonic() - started < 30
        assert (caught.value.file or "").startswith(f"{store.root}/job/chk-1/")

    def test_a_file_that_is_gone(self, store: WorldStore, written: Path) -> None:
        """A checkpoint that Flink deletes while it is read: the error names the file."""
        store.upload(written, "gone/chk-1")
        state = stateextract.open_snapshot(f"{store.root}/gone/chk-1").operator("counters").state("long-long")
        (first, *_) = relative_files(written, "counters")
        store.delete(f"gone/chk-1/{first}")
        with pytest.raises(MissingFileError) as caught:
            state.to_table()
        assert caught.value.file == f"{store.root}/gone/chk-1/{first}"

    # -- trust

    def test_no_file_leads_to_another_store(self, store: WorldStore, written: Path, tmp_path: Path) -> None:
        """A snapshot in the store, whose files are said to be in another one: the other one is sent nothing at all."""
        if not store.other:
            pytest.skip("there is one store only")
        store.put("led/chk-1/_metadata", moved(written, store.other))
        store.relay.clear()
        name = store.other.partition("://")[2].partition("@")[0].partition("/")[0]
        refused = f"the snapshot names a file in another store than its own, {store.other}, which is not opened"
        with pytest.raises(UnreadableFileError, match=refused):
            stateextract.open_snapshot(f"{store.root}/led/chk-1").operator("counters").state("long-long").to_table()
        with pytest.raises(UnreadableFileError, match=refused):
            run_job(JobOptions(snapshot=f"{store.root}/led/chk-1", output=str(tmp_path / "out")), in_this_process)
        assert store.relay.requests
        assert not [request for request in store.relay.requests if name in request.path]


def relative_files(directory: Path, uid: str) -> list[str]:
    """The names of an operator's files."""
    operators = parse_metadata((directory / "_metadata").read_bytes()).operators
    return [
        task.managed_keyed.stream.path
        for operator in operators
        if operator.uid == uid
        for task in operator.subtasks
        if isinstance(task.managed_keyed, KeyGroupsHandle) and isinstance(task.managed_keyed.stream, RelativeHandle)
    ]


def moved(directory: Path, store: str) -> bytes:
    """The snapshot's ``_metadata`` with its files in another store."""
    whole = parse_metadata((directory / "_metadata").read_bytes())
    operators = []
    for operator in whole.operators:
        tasks = []
        for task in operator.subtasks:
            handle = task.managed_keyed
            assert isinstance(handle, KeyGroupsHandle)
            assert isinstance(handle.stream, RelativeHandle)
            away = FileHandle(handle.stream.size, f"{store}/away/chk-9/{handle.stream.path}")
            tasks.append(replace(task, managed_keyed=replace(handle, stream=away)))
        operators.append(replace(operator, subtasks=tuple(tasks)))
    return metadata(replace(whole, operators=tuple(operators)))
