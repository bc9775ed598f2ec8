"""HDFS by hdfs-native and by WebHDFS, against Hadoop's MiniDFSCluster."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from pyarrow import fs

import stateextract
from stateextract.errors import UnreadableFileError
from stateextract.files.connect import connect
from stateextract.files.filesystem import split_uri
from stateextract.job.execute import in_this_process
from stateextract.job.output import open_output
from stateextract.job.run import run_job
from stateextract.metadata.model import FileHandle, KeyGroupsHandle, RelativeHandle
from stateextract.metadata.parser import parse_metadata
from stateextract.options import JobOptions
from tests.metadata.writer import metadata
from tests.world.hdfs.mini_cluster import MiniCluster, mini_cluster
from tests.world.store_tests import StoreTests, WorldStore
from tests.writers.generate import plan_operators, write_snapshot
from tests.writers.shapes import rows

requests = pytest.importorskip("requests")
pytestmark = pytest.mark.world

BLOCK = 1 << 20
ENTRIES = 30_000
MANY = 2_000_000


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A heap snapshot of two operators of two files each."""
    directory = tmp_path_factory.mktemp("snapshot") / "chk-1"
    write_snapshot(directory, plan_operators(["long-long", "pojo"], entries=ENTRIES, files=2))
    return directory


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MiniCluster]:
    with mini_cluster(tmp_path_factory.mktemp("cluster")) as found:
        yield found


# -- the file system


@pytest.fixture(params=["hdfs", "webhdfs"])
def files(request: pytest.FixtureRequest, cluster: MiniCluster) -> fs.FileSystem:
    authority = cluster.address if request.param == "hdfs" else cluster.web
    return connect(request.param, authority, {}, 30)[0]


@pytest.mark.smoke
def test_the_file_system(files: fs.FileSystem) -> None:
    """What pyarrow's file systems do, with names as they are, and a file of several blocks."""
    root = "/root é%20#?&=x"
    files.create_dir(f"{root}/a/b")
    data = bytes(range(256)) * (3 * BLOCK // 256) + b"end"
    with files.open_output_stream(f"{root}/a/f") as stream:
        for at in range(0, len(data), 777_777):
            stream.write(data[at : at + 777_777])
        assert stream.tell() == len(data)
    files.open_output_stream(f"{root}/a/empty").close()
    with files.open_input_file(f"{root}/a/f") as file:
        assert file.size() == len(data)
        assert file.read_at(10, BLOCK - 5) == data[BLOCK - 5 : BLOCK + 5]
        assert file.read_at(100, len(data) - 3) == b"end"
        assert file.read_at(5, len(data)) == b""
        assert file.read() == data
    info = files.get_file_info(f"{root}/a/f")
    assert (info.type, info.size, info.base_name) == (fs.FileType.File, len(data), "f")
    assert files.get_file_info(f"{root}/none").type == fs.FileType.NotFound
    found = files.get_file_info(fs.FileSelector(root, recursive=True))
    assert {(one.path, one.type.name, one.size) for one in found} == {
        (f"{root}/a", "Directory", None), (f"{root}/a/b", "Directory", None), (f"{root}/a/f", "File", len(data)),
        (f"{root}/a/empty", "File", 0),
    }  # fmt: skip
    assert files.get_file_info(fs.FileSelector(f"{root}/none", allow_not_found=True)) == []
    files.move(f"{root}/a", f"{root}/c")
    files.delete_file(f"{root}/c/f")
    for fail, error in (
        (lambda: files.delete_file(f"{root}/c/f"), FileNotFoundError),
        (lambda: files.open_input_file(f"{root}/c/f"), FileNotFoundError),
        (lambda: files.open_input_file(f"{root}/c"), IsADirectoryError),
        (lambda: files.get_file_info(fs.FileSelector(f"{root}/none")), FileNotFoundError),
        (lambda: files.get_file_info(fs.FileSelector(f"{root}/c/empty")), NotADirectoryError),
        (lambda: files.move(f"{root}/none", f"{root}/x"), OSError),
        (lambda: files.delete_file(f"{root}/c"), OSError),
    ):
        with pytest.raises(error):
            fail()
    files.delete_dir(root)
    assert files.get_file_info(root).type == fs.FileType.NotFound


def test_a_file_replaces_another_in_one_step(cluster: MiniCluster) -> None:
    for uri in (f"hdfs://{cluster.address}/replaced", f"webhdfs://{cluster.web}/replaced"):
        output = open_output(uri)
        for name in ("a", "b"):
            output.write(output.path(name), name.encode())
        output.replace(output.path("a"), output.path("b"))
        assert output.read(output.path("b")) == b"a"
        assert output.fs.get_file_info(output.path("a")).type == fs.FileType.NotFound


# -- what must hold on every store


class Faults:
    """In the place of a relay: the DataNode's count of bytes, and its faults."""

    requests: tuple[Any, ...] = ()

    def __init__(self, cluster: MiniCluster) -> None:
        self._cluster = cluster
        self._stopped = self._frozen = False
        self._before = 0

    @property
    def received(self) -> int:
        """Bytes that the DataNode has sent."""
        return int(self._cluster.ask("bytes-read")) - self._before

    def clear(self) -> None:
        if self._frozen:
            self._cluster.server.thaw()
        if self._stopped:
            self._cluster.ask("start-datanodes")
        self._stopped = self._frozen = False
        self._before += self.received

    def cut(self, after: int = 0) -> None:
        self._cluster.ask("stop-datanodes")
        self._stopped = True

    def freeze(self) -> None:
        self._cluster.server.freeze()
        self._frozen = True


class HdfsStore(WorldStore):
    """A directory that others may not read; written by plain requests of WebHDFS."""

    renames = True

    def __init__(self, cluster: MiniCluster, root: str) -> None:
        super().__init__(Faults(cluster))  # type: ignore[arg-type]
        self.root = root
        self._cluster = cluster
        self._directory = split_uri(root).path
        self._call("put", "MKDIRS", "", permission="700")

    def _call(self, method: str, operation: str, path: str, data: bytes | None = None, **parameters: str) -> Any:
        url = f"http://{self._cluster.web}/webhdfs/v1{self._directory}/{quote(path)}"
        parameters |= {"op": operation, "user.name": os.environ.get("USER", "root")}
        answer = requests.request(method, url, params=parameters, allow_redirects=data is None, timeout=60)
        if data is not None:
            answer = requests.put(answer.headers["Location"], data=data, timeout=60)
        answer.raise_for_status()
        return answer

    def put(self, path: str, data: bytes) -> None:
        self._call("put", "CREATE", path, data, overwrite="true")

    def get(self, path: str) -> bytes:
        data: bytes = self._call("get", "OPEN", path).content
        return data

    def delete(self, path: str) -> None:
        self._call("delete", "DELETE", path)

    def names(self, path: str) -> list[str]:
        return sorted(self._walk(path, ""))

    def _walk(self, path: str, prefix: str) -> Iterator[str]:
        try:
            found = self._call("get", "LISTSTATUS", path).json()["FileStatuses"]["FileStatus"]
        except requests.HTTPError:  # the test asks what is in a directory that may not be there
            return
        for one in found:
            name = one["pathSuffix"]
            if one["type"] == "DIRECTORY":
                yield from self._walk(f"{path}/{name}", f"{prefix}{name}/")
            else:
                yield prefix + name

    def deny(self, patch: pytest.MonkeyPatch) -> list[str]:
        patch.setenv("HADOOP_USER_NAME", "stranger")
        return []

    def put_many(self, path: str, number: int) -> None:
        self._cluster.ask(f"files {self._directory}/{path} {number}")


@pytest.fixture(scope="module", params=["hdfs", "webhdfs"])
def store(request: pytest.FixtureRequest, cluster: MiniCluster) -> WorldStore:
    authority = cluster.address if request.param == "hdfs" else cluster.web
    return HdfsStore(cluster, f"{request.param}://{authority}/by-{request.param}")


class TestHdfs(StoreTests): ...


# -- snapshots


def upload(directory: Path, uri: str) -> None:
    target = open_output(uri)
    for file in directory.rglob("*"):
        if file.is_file():
            target.write(target.path(str(file.relative_to(directory))), file.read_bytes())


def check_rows(found: stateextract.State) -> None:
    table = found.to_table().select(["key", "value"]).sort_by("key")
    assert table.equals(rows("long-long", 1, 0, ENTRIES).sort_by("key"))


def moved(directory: Path, place: str) -> bytes:
    """The snapshot's ``_metadata`` with absolute paths in another place, as Flink writes them of files that are shared."""
    whole = parse_metadata((directory / "_metadata").read_bytes())
    operators = []
    for operator in whole.operators:
        tasks = []
        for task in operator.subtasks:
            handle = task.managed_keyed
            assert isinstance(handle, KeyGroupsHandle)
            assert isinstance(handle.stream, RelativeHandle)
            away = FileHandle(handle.stream.size, f"{place}/{handle.stream.path}")
            tasks.append(replace(task, managed_keyed=replace(handle, stream=away)))
        operators.append(replace(operator, subtasks=tuple(tasks)))
    return metadata(replace(whole, operators=tuple(operators)))


def test_uris_of_hdfs_in_metadata(cluster: MiniCluster, written: Path, tmp_path: Path) -> None:
    """They are read where the snapshot lies, and elsewhere if that is allowed or mapped."""
    store = f"hdfs://{cluster.address}"
    upload(written, f"{store}/absolute/chk-1")
    (tmp_path / "_metadata").write_bytes(moved(written, f"{store}/absolute/chk-1"))
    upload(tmp_path, f"{store}/absolute/other/chk-2")
    there = f"{store}/absolute/other/chk-2"
    check_rows(stateextract.open_snapshot(there).operator("counters").state("long-long"))
    refused = f"the snapshot names a file in another store than its own, {store}, which is not opened"
    with pytest.raises(UnreadableFileError, match=refused):
        stateextract.open_snapshot(str(tmp_path)).operator("counters").state("long-long").to_table()
    for uri, options in (
        (str(tmp_path), {"allow_stores": [store]}),
        (str(tmp_path), {"path_map": {f"{store}/absolute": f"webhdfs://{cluster.web}/absolute"}}),
        (there, {"path_map": {f"{store}/absolute/chk-1": str(written)}}),
    ):
        check_rows(stateextract.open_snapshot(uri, **options).operator("counters").state("long-long"))
    (tmp_path / "_metadata").write_bytes(moved(written, "hdfs://gone.invalid:8020/x"))
    upload(tmp_path, there)
    with pytest.raises(UnreadableFileError, match=r"in another store than its own, hdfs://gone\.invalid:8020,"):
        stateextract.open_snapshot(there).operator("counters").state("long-long").to_table()


@pytest.mark.smoke
def test_the_default_file_system(cluster: MiniCluster, written: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of Hadoop's configuration files, or of an option."""
    upload(written, f"hdfs://{cluster.address}/default/chk-1")
    options = {"hdfs": {"fs.defaultFS": f"hdfs://{cluster.address}"}}
    check_rows(stateextract.open_snapshot("hdfs:///default", storage_options=options).operator("counters").state("long-long"))
    monkeypatch.setenv("HADOOP_CONF_DIR", str(cluster.conf))
    check_rows(stateextract.open_snapshot("hdfs:///default/chk-1").operator("counters").state("long-long"))


def test_a_name_service(written: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A job goes on when the active NameNode becomes the standby one; when both are lost, it fails in the time that it has."""
    with mini_cluster(tmp_path / "ha", "ha", f"dfs.blocksize={16 * BLOCK}") as cluster:
        monkeypatch.setenv("HADOOP_CONF_DIR", str(cluster.conf))
        upload(written, "hdfs://minidfs/flink/chk-1")
        state = stateextract.open_snapshot("hdfs://minidfs/flink/chk-1").operator("counters").state("long-long")
        check_rows(state)
        job = JobOptions(snapshot="hdfs://minidfs/flink/chk-1", output="hdfs://minidfs/out", operator=("counters",))

        def fail_over(*arguments: object) -> object:
            reports = in_this_process(*arguments)  # type: ignore[arg-type]
            cluster.ask("failover")
            return reports

        outcome = run_job(job, fail_over)
        assert outcome.exit_code == 0
        assert [dataset.rows for dataset in outcome.manifest.datasets] == [ENTRIES]
        check_rows(state)
        big = tmp_path / "big" / "chk-1"
        write_snapshot(big, plan_operators(["long-long"], entries=MANY, files=1))
        upload(big, "hdfs://minidfs/big/chk-1")
        opened = stateextract.open_snapshot("hdfs://minidfs/big/chk-1", store_timeout=5)
        batches = opened.operator("counters").state("long-long").to_batches()
        assert next(batches).num_rows < MANY
        cluster.server.kill()
        started = time.monotonic()
        with pytest.raises(UnreadableFileError) as caught:
            sum(batch.num_rows for batch in batches)
        assert time.monotonic() - started < 60
        assert str(caught.value.file).startswith("hdfs://minidfs/big/chk-1/")
