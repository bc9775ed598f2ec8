"""What a path inside a snapshot can make this project open: nothing but regular files of stores that the user named."""

from __future__ import annotations

import json
import os
import pickle
import re
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

import stateextract
from stateextract.cli import run
from stateextract.doors import Door
from stateextract.errors import FormatError, NoAnswerError, StateExtractError, UnreadableFileError, UsageError
from stateextract.files.connect import STORES
from stateextract.files.filesystem import Store, _ArrowFile, split_uri
from stateextract.job.plan import make_plan
from stateextract.job.split import SplitContext
from stateextract.metadata.file import MOST_BYTES, read_metadata
from stateextract.metadata.locate import FoundSnapshot, Locator
from stateextract.metadata.model import (
    ChangelogFilesHandle,
    ChangelogHandle,
    FileHandle,
    IncrementalHandle,
    KeyedStateHandle,
    KeyGroupsHandle,
    NestedKeyGroupsHandle,
    OperatorState,
    OperatorStateHandle,
    OperatorStatePartition,
    SegmentHandle,
    SnapshotMetadata,
    StreamHandle,
    SubtaskState,
)
from stateextract.options import JobOptions, from_lines, make_options
from stateextract.snapshot.stores import open_store
from stateextract.snapshot.tables import SnapshotTables
from stateextract.spark.source_options import STATE, STATE_OPTIONS, job_options, parse_options
from tests.conftest import ROOT
from tests.metadata.writer import metadata
from tests.state.keyed_writer import write
from tests.stores import put_stores_into_memory

HOSTILE = Path(os.environ.get("HOSTILE", ROOT.parent / "shared" / "hostile"))
hostile = pytest.mark.skipif(not HOSTILE.is_dir(), reason="the hostile inputs are not there (HOSTILE)")
FSSPEC = (
    "asyncwrapper", "data", "dbfs", "dir", "ftp", "generic", "gist", "github", "hf", "jlab", "jupyter", "reference",
)  # fmt: skip


class Listener:
    """Accepts connections on the loopback address, and counts them."""

    def __init__(self, port: int = 0) -> None:
        self._socket = socket.create_server(("127.0.0.1", port))
        self.port: int = self._socket.getsockname()[1]
        self.seen: list[bytes] = []
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with connection:
                connection.settimeout(1)
                try:
                    self.seen.append(connection.recv(4096))
                except OSError:
                    self.seen.append(b"")

    def close(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        self._thread.join()


@pytest.fixture
def credentials(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Credentials that a client would send."""
    values = {
        "AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "secret", "AWS_SESSION_TOKEN": "token", "AWS_REGION": "eu-west-1",
        "AWS_EC2_METADATA_DISABLED": "true",
    }  # fmt: skip
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    user = {"type": "authorized_user", "client_id": "i", "client_secret": "s", "refresh_token": "t"}
    (tmp_path / "google.json").write_text(json.dumps(user))
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "google.json"))


@pytest.fixture
def listener(credentials: None) -> Iterator[Listener]:
    found = Listener()
    yield found
    found.close()


@pytest.fixture
def known_port(credentials: None) -> Iterator[Listener]:
    """On the port that the hostile files name."""
    deadline = time.monotonic() + 60
    while True:  # another run of this test may have it
        try:
            found = Listener(18999)
            break
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.5)
    yield found
    found.close()


def test_the_listener_sees_a_client(listener: Listener) -> None:
    """It would: this is what the hostile files did."""
    from pyarrow import fs

    options = f"region=us-east-1&scheme=http&endpoint_override=127.0.0.1:{listener.port}"
    client, _ = fs.FileSystem.from_uri(f"s3://b/?{options}")

    def ask() -> None:
        with pytest.raises(OSError, match="b"):
            client.get_file_info("b/x")

    threading.Thread(target=ask, daemon=True).start()
    deadline = time.monotonic() + 20
    while not listener.seen and time.monotonic() < deadline:
        time.sleep(0.05)
    assert b"AWS4-HMAC-SHA256" in listener.seen[0]


# -- every way in which a URI of a file reaches a store

COMMANDS = ("inspect", "states", "files", "validate", "schema", "count", "head", "stats")


def through_all_doors(folder: Path, out: Path) -> None:
    """Whatever comes of it, it is a documented error or a report."""
    for command in (
        *([name, str(folder)] for name in COMMANDS),
        ["diff", str(folder), str(folder)],
        ["report", str(folder), "-o", str(out / "report.html")],
        ["history", str(folder), "-o", str(out / "history")],
        ["extract", str(folder), "-o", str(out / "data"), "--engine", "local"],
    ):
        assert run(command) in (1, 2, 3), command
    for options in (JobOptions(snapshot=str(folder)), JobOptions(snapshot=str(folder), on_undecodable="skip")):
        with pytest.raises(StateExtractError):
            make_plan(options)
    tables = SnapshotTables(JobOptions(snapshot=str(folder)))
    for table in ("operators", "states", "files", "key_groups", "serializers"):
        list(getattr(tables, table)())
    snapshot = stateextract.open_snapshot(str(folder))
    assert snapshot.missing_files().paths
    list(snapshot.states)


@hostile
@pytest.mark.parametrize("name", ["uri-query-s3", "uri-query-gs"])
def test_a_query_in_an_authority_reaches_nobody(name: str, known_port: Listener, tmp_path: Path) -> None:
    started = time.monotonic()
    through_all_doors(HOSTILE / name, tmp_path)
    (problem,) = stateextract.open_snapshot(str(HOSTILE / name)).operators[0].problems
    scheme = name.rpartition("-")[2]
    said = f"is not a valid authority for {scheme}://; expected {scheme}://bucket/path; in file {scheme}://b?"
    assert said in str(problem)
    assert known_port.seen == []
    assert time.monotonic() - started < 60


def handles(uri: str) -> dict[str, SubtaskState]:
    """A subtask that refers to ``uri``, in each way that there is."""
    file: StreamHandle = FileHandle(100, uri)
    other = FileHandle(3, "/nowhere/at/all")
    groups = KeyGroupsHandle(12, 0, (10,), file, "h")

    def changelog(materialized: tuple[KeyedStateHandle, ...], *files: StreamHandle) -> ChangelogHandle:
        log = ChangelogFilesHandle(13, 0, 1, tuple((0, one) for one in files), 10, 10, "c")
        return ChangelogHandle(14, 0, 1, 10, materialized, (log,), 1, 2, "h")

    keyed: dict[str, KeyedStateHandle] = {
        "key groups": groups,
        "savepoint": KeyGroupsHandle(7, 0, (10,), file),
        "nested": KeyGroupsHandle(12, 0, (10,), NestedKeyGroupsHandle(0, (1,), file), "h"),
        "segment": KeyGroupsHandle(12, 0, (10,), SegmentHandle(0, 100, "SHARED", uri, "l"), "h"),
        "database": IncrementalHandle(11, 1, "b", 0, 1, file, (("000001.sst", file),), (("CURRENT", file),), 1, "h"),
        "file of a database": IncrementalHandle(11, 1, "b", 0, 1, other, (("000001.sst", file),), (("CURRENT", file),), 1, "h"),
        "changelog": changelog((), file),
        "materialized": changelog((groups,), other),
    }  # fmt: skip
    found = {name: SubtaskState(0, None, None, handle, None, (), ()) for name, handle in keyed.items()}
    found["raw keyed"] = SubtaskState(0, None, None, None, groups, (), ())
    lists = OperatorStateHandle(4, (OperatorStatePartition("s", "SPLIT_DISTRIBUTE", (10,)),), file)
    found["operator state"] = SubtaskState(0, lists, None, None, None, (), ())
    segment = SegmentHandle(0, 100, "SHARED", uri, "l")
    merged = OperatorStateHandle(17, (OperatorStatePartition("s", "BROADCAST", (10,)),), segment, uri, uri)
    found["merged operator state"] = SubtaskState(0, merged, None, None, None, (), ())
    return found


def snapshot_of(folder: Path, subtask: SubtaskState) -> Path:
    operator = OperatorState("0" * 31 + "1", "op", "n", 1, 1, subtasks=(subtask,))
    folder.mkdir(parents=True)
    (folder / "_metadata").write_bytes(metadata(SnapshotMetadata(6, 7, (), (operator,), None)))
    return folder


@pytest.mark.parametrize("way", handles(""))
def test_no_way_leads_to_another_store(
    way: str, listener: Listener, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A store of a valid form: where its client would connect is the listener."""
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{listener.port}")
    folder = snapshot_of(tmp_path / "chk-7", handles("s3a://other/x/y")[way])
    through_all_doors(folder, tmp_path)
    assert listener.seen == []
    problems = [str(problem) for o in stateextract.open_snapshot(str(folder)).operators for problem in o.problems]
    # The others name a file that is missing as well.
    if way not in ("file of a database", "materialized"):
        assert problems
        assert all("set allow_stores s3://other" in text for text in problems)


MUTATIONS = (
    "s3://b?endpoint_override=127.0.0.1:{port}&scheme=http/x/y",
    "s3a://b?endpoint_override=127.0.0.1:{port}&scheme=http/x/y",
    "S3://b?endpoint_override=127.0.0.1:{port}&scheme=http/x/y",
    "s3://b#?endpoint_override=127.0.0.1:{port}/x/y",
    "s3://id:secret@b?endpoint_override=127.0.0.1:{port}/x/y",
    "s3://id:secret@b/x/y",
    "s3://b%3Fendpoint_override=127.0.0.1:{port}/x/y",
    "s3://b\\?endpoint_override=127.0.0.1:{port}/x/y",
    "s3://b\n?endpoint_override=127.0.0.1:{port}/x/y",
    "s3://b\t/x/y",
    "s3://b /x/y",
    " s3://b/x/y",
    "s3://127.0.0.1:{port}/x/y",
    "s3://[::1]:{port}/x/y",
    "s3:///x/y",
    "s3:/b/x/y",
    "s3://bück/x/y",
    "s3://other/x/y",
    "gs://b?endpoint_override=127.0.0.1:{port}&scheme=http/x/y",
    "gs://anonymous@b?endpoint_override=127.0.0.1:{port}/x/y",
    "gs://other/x/y",
    "abfs://c@127.0.0.1:{port}/x/y",
    "abfs://c@acc.dfs.core.windows.net:{port}/x/y",
    "abfs://c@acc.dfs.core.windows.net?enable_tls=false/x/y",
    "abfss://c@acc.dfs.127.0.0.1/x/y",
    "hdfs://127.0.0.1:{port}/x/y",
    "hdfs://user@127.0.0.1:{port}/x/y",
    "hdfs://127.0.0.1:{port}?user=root/x/y",
    "viewfs://127.0.0.1:{port}/x/y",
    "http://127.0.0.1:{port}/x/y",
    "https://127.0.0.1:{port}/x/y",
    "sftp://127.0.0.1:{port}/x/y",
    "smb://127.0.0.1:{port}/x/y",
    "simplecache::http://127.0.0.1:{port}/x/y",
    "filecache://127.0.0.1:{port}/x/y",
    "oss://127.0.0.1:{port}/x/y",
    "lakefs://127.0.0.1:{port}/x/y",
    "file://127.0.0.1:{port}/x/y",
    "mock://127.0.0.1:{port}/x/y",
    "memory://127.0.0.1:{port}/x/y",
)


@pytest.mark.parametrize("uri", MUTATIONS)
def test_mutations(uri: str, listener: Listener, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Another port of the environment, which the valid names of other stores would lead to.
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{listener.port}")
    monkeypatch.setenv("CLOUD_STORAGE_EMULATOR_ENDPOINT", f"http://127.0.0.1:{listener.port}")
    folder = snapshot_of(tmp_path / "chk-7", handles(uri.format(port=listener.port))["key groups"])
    snapshot = stateextract.open_snapshot(str(folder))
    assert snapshot.missing_files().count == 1
    assert len(snapshot.missing_files().paths) == 1
    (problem,) = snapshot.operators[0].problems
    assert isinstance(problem, StateExtractError)
    assert run(["inspect", str(folder)]) in (0, 1, 3)
    assert listener.seen == []


@hostile
@pytest.mark.parametrize("name", FSSPEC)
def test_protocols_of_fsspec(name: str, credentials: None) -> None:
    started = time.monotonic()
    (problem,) = stateextract.open_snapshot(str(HOSTILE / "uri-fsspec" / name)).operators[0].problems
    assert type(problem) is UnreadableFileError
    assert f"{name}:// is not the scheme of a supported store; expected a local path or one of s3, gs, abfs" in str(problem)
    assert f"in file {name}://127.0.0.1:9/x/y" in str(problem)
    assert time.monotonic() - started < 5


@hostile
def test_azure_does_not_end_the_process() -> None:
    without = {name: value for name, value in os.environ.items() if not name.startswith("AZURE")}
    command = [sys.executable, "-m", "stateextract", "states", str(HOSTILE / "uri-abfs-abort")]
    found = subprocess.run(command, capture_output=True, text=True, timeout=60, env=without, check=False)
    assert found.returncode == 1
    said = re.sub(r"\s+", " ", found.stdout + found.stderr)
    assert "'c@127.0.0.1' is not a valid authority for abfs://" in said
    assert "Azure" not in found.stderr


# -- which stores


def locator(snapshot: str, *pairs: tuple[str, str], allow: tuple[str, ...] = ()) -> Locator:
    return Locator(FoundSnapshot(f"{snapshot}/_metadata", snapshot), Store(allow=allow), pairs)


def is_open(where: Locator, uri: str) -> bool:
    try:
        where.store.check(uri)
    except UnreadableFileError:
        return False
    return True


def test_its_own_store_those_of_the_path_map_and_those_allowed() -> None:
    pairs = ("hdfs://old/x", "gs://copy/x"), ("/old", "/data/copy")
    mine = locator("s3a://mine/job/chk-1", *pairs, allow=("s3p://third/a", "/x"))
    cases = {
        "s3://mine/other/job/f": True,
        "s3n://mine/f": True,
        "gs://copy/anything": True,
        "s3://third/a": True,
        "s3://third/a/b": True,
        "s3://third/ab": False,
        "s3://third/a/../b": False,
        "s3://third/": False,
        "hdfs://old/x/f": False,
        "gs://mine/f": False,
        "s3://mine2/f": False,
        "/data/copy/f": True,
        "file:///data/copy/f": True,
        "/data/copy/../secret": False,
        "/data/copies/f": False,
        "/x/f": True,
        "/etc/passwd": False,
        "relative": False,
        "": False,
    }
    assert {uri: is_open(mine, uri) for uri in cases} == cases


def test_of_a_local_snapshot_all_local_files() -> None:
    here = locator("/data/chk-1", ("/old", "s3://copy/x"))
    cases = {"/anything": True, "file:/x": True, "s3://copy/y": True, "s3://other/y": False, "hdfs:///x": False}
    assert {uri: is_open(here, uri) for uri in cases} == cases


def test_two_names_of_one_store() -> None:
    azure = locator("abfs://box@account.dfs.core.windows.net/job/chk-1")
    assert is_open(azure, "abfss://box@account.dfs.core.windows.net/x")
    assert is_open(azure, "wasbs://box@account.blob.core.windows.net/x")
    assert not is_open(azure, "wasb://box@account2.blob.core.windows.net/x")
    assert not is_open(azure, "wasb://box@account.blob.core.chinacloudapi.cn/x")
    assert not is_open(azure, "abfss://box2@account.dfs.core.windows.net/x")
    assert not is_open(azure, "abfss://box@account2.dfs.core.windows.net/x")
    hadoop = locator("hdfs://nn:8020/job/chk-1")
    assert is_open(hadoop, "hdfs://nn:8020/x")
    assert not is_open(hadoop, "hdfs://nn:8021/x")


def test_the_error_names_the_store_and_the_option(tmp_path: Path) -> None:
    folder = snapshot_of(tmp_path / "chk-7", handles("s3a://other/x/y")["key groups"])
    (problem,) = stateextract.open_snapshot(str(folder)).operators[0].problems
    assert problem.message == (
        "the snapshot names a file in another store than its own, s3://other, which is not opened unless it is allowed"
    )
    assert problem.advice == (
        "if you trust that store, set allow_stores s3://other; if the snapshot was moved, set path_map OLD=NEW"
    )
    assert problem.file == "s3://other/x/y"
    assert problem.worded(Door.SPARK).advice == (
        "if you trust that store, set allowStores s3://other; if the snapshot was moved, set pathMap OLD=NEW"
    )


@pytest.mark.parametrize("text", ["s3:///", "other", "s3://b?x=y", "http://host", "s3://u@b", "", "./x"])
def test_what_cannot_be_allowed(text: str) -> None:
    with pytest.raises(UsageError, match=r"is not a store that can be allowed"):
        open_store(JobOptions(allow_store=(text,)))


def test_all_doors_allow(tmp_path: Path) -> None:
    """The command line, the job file, Spark's options, Python, and what workers are given."""
    config = tmp_path / "job.toml"
    config.write_text('[input]\nallow-stores = ["s3://a", "/b"]\nstore-timeout = 5\n')
    values = parse_options({"path": "x", "allowStores": "s3://a, /b", "storeTimeout": "5"}, STATE_OPTIONS, STATE)
    context = SplitContext("j", "o", "f", "m", job_options(values, STATE_OPTIONS), [])
    for options in (
        make_options({"allow_store": ["s3://a", "/b"], "store_timeout": "5"}),
        make_options({}, str(config)),
        job_options(values, STATE_OPTIONS),
        from_lines(make_options({}, str(config)).lines()),
        SplitContext.from_bytes(context.to_bytes()).options,
        pickle.loads(pickle.dumps(make_options({}, str(config)))),
    ):
        store = open_store(options)
        assert [str(place) for place in store.allow] == ["s3://a/", "/b"]
        assert store.timeout == 5
    folder = snapshot_of(tmp_path / "chk-7", handles("s3a://other/x/y")["key groups"])
    for stores, allowed in (((), False), (("s3://other",), True), ("s3://other", True)):
        where = stateextract.open_snapshot(str(folder), allow_stores=stores)._opened.source.locator
        assert is_open(where, "s3://other/x/y") is allowed


# -- local files


def special(tmp_path: Path) -> dict[str, Path]:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "link").symlink_to(tmp_path / "fifo")
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(str(tmp_path / "socket"))
    found = {"a FIFO": "fifo", "a FIFO ": "link", "a socket": "socket", "a device": "/dev/zero"}
    return {what: tmp_path / name for what, name in found.items()}


def test_a_link_to_itself_concerns_no_other_file(tmp_path: Path) -> None:
    path = write(tmp_path / "job" / "chk-7", [])
    for folder in (path, path.parent):
        (folder / "link").symlink_to(folder / "link")
    assert [entry.name for entry in Store().list(str(path))] == ["_metadata", "link"]
    for place in (path, path.parent):
        assert stateextract.open_snapshot(str(place)).checkpoint_id == 7
    with pytest.raises(UnreadableFileError, match="symbolic links"):
        Store().open(str(path / "link"))


def test_only_regular_files_are_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[object] = []
    real = os.open
    monkeypatch.setattr(os, "open", lambda *a, **k: (opened.append(a[0]), real(*a, **k))[1])
    for what, path in special(tmp_path).items():
        with pytest.raises(UnreadableFileError, match=f"it is {what.strip()} and is not opened; expected a regular file"):
            Store().open(str(path))
    with pytest.raises(UnreadableFileError, match="directory"):
        Store().open(str(tmp_path))
    assert opened == []


def test_a_file_that_becomes_a_fifo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the look at it and its opening: that waits for no writer."""
    fifo = special(tmp_path)["a FIFO"]
    regular = os.stat(__file__)
    monkeypatch.setattr(os, "stat", lambda *_, **__: regular)
    before = set(os.listdir("/proc/self/fd"))
    with pytest.raises(UnreadableFileError, match="it is a FIFO"):
        Store().open(str(fifo))
    assert set(os.listdir("/proc/self/fd")) == before


@pytest.mark.parametrize("way", ["changelog", "key groups", "operator state", "segment", "database"])
def test_special_files_as_handles(way: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    folder = snapshot_of(tmp_path / "chk-7", handles(str(tmp_path / "fifo"))[way])
    started = time.monotonic()
    problems = [str(p) for o in stateextract.open_snapshot(str(folder)).operators for p in o.problems]
    assert problems
    assert time.monotonic() - started < 10


@pytest.mark.parametrize("named", ["f", "chk-1/_metadata"])
def test_a_fifo_for_metadata(named: str, tmp_path: Path) -> None:
    """Those of ``fifo-metadata``."""
    path = tmp_path / named
    path.parent.mkdir(exist_ok=True)
    os.mkfifo(path)
    for command in ("inspect", "states", "stats", "files"):
        asked = [sys.executable, "-m", "stateextract", command, str(path)]
        found = subprocess.run(asked, capture_output=True, text=True, timeout=60, check=False)
        assert found.returncode == 1
        assert "it is a FIFO and is not opened" in re.sub(r"\s+", " ", found.stderr)


@hostile
def test_a_changelog_that_is_a_fifo(tmp_path: Path) -> None:
    """The file of ``changelog-fifo``, with a FIFO where it says."""
    data = (HOSTILE / "changelog-fifo" / "_metadata").read_bytes()
    place = tmp_path / "hostile-fifo"
    os.mkfifo(place)
    snapshot = tmp_path / "chk-1"
    snapshot.mkdir()
    (snapshot / "_metadata").write_bytes(data)
    opened = stateextract.open_snapshot(str(snapshot), {"/tmp": str(tmp_path)})
    started = time.monotonic()
    problems = [str(p) for o in opened.operators for p in o.problems]
    assert any(f"it is a FIFO and is not opened; expected a regular file; in file {place}" in text for text in problems)
    assert time.monotonic() - started < 10


# -- stores that do not answer, and what they raise


@pytest.fixture
def mute() -> Iterator[int]:
    """A port that accepts and never answers."""
    connections = []
    with socket.create_server(("127.0.0.1", 0)) as made:

        def accept() -> None:
            while True:
                try:
                    connections.append(made.accept())
                except OSError:
                    return

        threading.Thread(target=accept, daemon=True).start()
        yield made.getsockname()[1]
        made.shutdown(socket.SHUT_RDWR)
    for connection, _ in connections:
        connection.close()


def test_a_store_that_never_answers(mute: int, credentials: None) -> None:
    """S3, Google's and Azure's clients by the command's option; and the process ends."""
    environment = {**os.environ, "AWS_ENDPOINT_URL": f"http://127.0.0.1:{mute}"}
    command = [sys.executable, "-m", "stateextract", "inspect", "s3://b/x", "--store-timeout", "2"]
    started = time.monotonic()
    found = subprocess.run(command, capture_output=True, text=True, timeout=60, env=environment, check=False)
    assert found.returncode == 1
    assert found.stderr == (
        "Error: the store did not answer within 2 s; in file s3://b/x. Check the network and the store's address; "
        "to wait longer, set --store-timeout SECONDS.\n"
    )
    assert time.monotonic() - started < 20


@pytest.mark.parametrize("scheme", ["s3", "gs"])
def test_a_store_that_never_answers_is_not_asked_for_each_file(scheme: str, mute: int, credentials: None) -> None:
    options = {"endpoint_override": f"127.0.0.1:{mute}", "scheme": "http"}
    store = Store({scheme: {**options, **({"anonymous": True} if scheme == "gs" else {})}}, timeout=1)
    started = time.monotonic()
    for name in range(50):
        with pytest.raises(NoAnswerError, match="did not answer within 1 s") as caught:
            store.open(f"{scheme}://b/{name}")
        assert caught.value.file in (f"{scheme}://b/{name}", "gs://b")  # Google's client runs in a helper process
    with pytest.raises(NoAnswerError):
        store.info(f"{scheme}://b/x")
    with pytest.raises(NoAnswerError):
        store.list(f"{scheme}://b/x")
    assert time.monotonic() - started < 10


def test_a_read_that_never_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    put_stores_into_memory(monkeypatch)
    store = Store(timeout=1)
    store._call(split_uri("hdfs:///f"), lambda filesystem, path: filesystem.open_output_stream(path).close())
    goes_on = threading.Event()

    class Stuck:
        def size(self) -> int:
            return 10

        def read_at(self, length: int, offset: int) -> bytes:
            goes_on.wait(60)
            return b""

        def close(self) -> None: ...

    with pytest.raises(NoAnswerError, match="did not answer within 1 s"), _ArrowFile(Stuck(), "hdfs:///f", 1) as file:
        file.read_at(0, 5)
    with pytest.raises(NoAnswerError), _ArrowFile(Stuck(), "hdfs:///f", 1) as file:
        file.start_read(0, 5).result()
    goes_on.set()


def test_large_reads_are_given_time_for_each_piece() -> None:
    class Slow:
        asked: ClassVar[list[tuple[int, int]]] = []

        def size(self) -> int:
            return 20 << 20

        def read_at(self, length: int, offset: int) -> bytes:
            time.sleep(0.4)
            self.asked.append((offset, length))
            return bytes([offset >> 20]) * length

        def close(self) -> None: ...

    with _ArrowFile(Slow(), "hdfs:///f", 1) as file:
        data = file.read_at(1 << 20, 30 << 20)
    assert Slow.asked == [(1 << 20, 8 << 20), (9 << 20, 8 << 20), (17 << 20, 3 << 20)]
    assert data == b"\x01" * (8 << 20) + b"\x09" * (8 << 20) + b"\x11" * (3 << 20)


def test_azure_on_purpose() -> None:
    """Without credentials the SDK ends the process that asks: not this one."""
    without = {name: value for name, value in os.environ.items() if not name.startswith(("AZURE", "IDENTITY", "MSI"))}
    uri = "abfs://box@account.dfs.core.windows.net/job/chk-1"
    command = [sys.executable, "-m", "stateextract", "inspect", uri, "--store-timeout", "20"]
    found = subprocess.run(command, capture_output=True, text=True, timeout=120, env=without, check=False)
    assert found.returncode == 1
    assert found.stderr.startswith(("Error: Azure's client ended, which it does", "Error: the store did not answer"))
    assert f"in file {uri}" in found.stderr
    lines = "from stateextract.job.output import open_output", f"try: open_output({uri!r}, 20)"
    command = [sys.executable, "-c", "\n".join((*lines, "except Exception as error: print(type(error).__name__)"))]
    found = subprocess.run(command, capture_output=True, text=True, timeout=120, env=without, check=False)
    assert (found.returncode, found.stdout) in ((0, "UnreadableFileError\n"), (0, "NoAnswerError\n"))


@pytest.mark.parametrize(
    "raised",
    [TypeError("no host"), ValueError("bad"), RecursionError("deep"), AttributeError("x"), ImportError("ossfs"), KeyError("k"),
     RuntimeError(), OSError("gone"), PermissionError("no")],
    ids=lambda error: type(error).__name__,
)  # fmt: skip
def test_whatever_a_file_system_raises(raised: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        def __getattr__(self, name: str) -> Any:
            raise raised

    def broken(*_: Any) -> tuple[Any, str]:
        return Broken(), "bucket"

    def not_made(*_: Any) -> tuple[Any, str]:
        raise raised

    for make in (broken, not_made):
        monkeypatch.setitem(STORES, "oss", STORES["oss"]._replace(make=make))
        store = Store()
        for act in (store.open, store.info, store.list, store.read, store.size, store.exists):
            with pytest.raises(UnreadableFileError) as caught:
                act("oss://bucket/x")
            assert caught.value.file == "oss://bucket/x"
        with pytest.raises(StateExtractError) as said:
            stateextract.open_snapshot("oss://bucket/x")
        assert "oss://bucket/x" in str(said.value)


# -- _metadata


@pytest.mark.parametrize("first", [b"\0", struct.pack(">ii", 0x4960672D, 99), struct.pack(">ii", 0x4960672D, 1)])
def test_a_huge_file_that_is_no_metadata(first: bytes, tmp_path: Path) -> None:
    """As in ``huge-metadata``: what its first bytes say is said before the others are read."""
    path = tmp_path / "_metadata"
    path.write_bytes(first)
    os.truncate(path, 200 << 30)
    started = time.monotonic()
    with pytest.raises(StateExtractError, match=r"not a Flink snapshot|version") as caught:
        stateextract.open_snapshot(str(path))
    assert caught.value.file == str(path)
    assert run(["inspect", str(path)]) == 1
    assert time.monotonic() - started < 5


def test_metadata_beyond_the_limit(tmp_path: Path) -> None:
    path = tmp_path / "_metadata"
    path.write_bytes(struct.pack(">ii", 0x4960672D, 4))
    os.truncate(path, MOST_BYTES + 1)
    with pytest.raises(FormatError, match="the _metadata file has 1073741825 bytes; expected at most 1073741824"):
        stateextract.open_snapshot(str(path))
    with pytest.raises(FormatError, match="the _metadata file has 1073741825 bytes"):
        make_plan(JobOptions(snapshot=str(path)))
    assert run(["history", str(path), "-o", str(tmp_path / "out"), "--skip-existing"]) == 1


def test_metadata_is_read_in_two_pieces(tmp_path: Path) -> None:
    task = handles("/x")["key groups"]
    operators = tuple(OperatorState(f"{i:032x}", "u" * 60_000, "n", 1, 8, subtasks=(task,)) for i in range(30))
    path = tmp_path / "_metadata"
    path.write_bytes(metadata(SnapshotMetadata(6, 7, (), operators, None)))
    assert path.stat().st_size > 1 << 20
    found, data = read_metadata(Store(), str(path))
    assert found.operators == operators
    assert data == path.read_bytes()
