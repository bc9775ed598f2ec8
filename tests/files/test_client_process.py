"""Clients in a helper process: the same files as without, and errors where the helper ends or does not answer.

Azure's own client is used, with a server on the loopback address.
"""

from __future__ import annotations

import os
import pickle
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pyarrow.parquet as pq
import pytest
from pyarrow import fs

from stateextract.errors import NoAnswerError, StateExtractError, UnreadableFileError
from stateextract.files import client_process
from stateextract.files.client_process import ClientProcess
from stateextract.files.connect import STORES, connect
from stateextract.files.filesystem import Store
from stateextract.job.execute import in_this_process
from stateextract.job.output import Output
from stateextract.job.run import run_job
from stateextract.options import JobOptions
from tests.golden.expected import DATA, load

KEY = "c2VjcmV0"


def ended(reason: str) -> StateExtractError:
    return UnreadableFileError(f"it ended: {reason}")


def local() -> ClientProcess:
    return ClientProcess("LocalFileSystem", {}, 30, "hdfs", ended)


def helper_of(client: ClientProcess) -> int:
    assert client._helper is not None
    return client._helper._child.pid


def facts(found: list[fs.FileInfo]) -> list[tuple[Any, ...]]:
    return [(info.path, info.base_name, info.type, info.size, info.mtime_ns) for info in found]


# -- the same as without a helper


def test_a_whole_file_system(tmp_path: Path) -> None:
    client, root = local(), str(tmp_path)
    client.create_dir(f"{root}/a/b")
    data = os.urandom(9 << 20)
    with client.open_output_stream(f"{root}/a/b/f") as stream:
        for at in range(0, len(data), 300_000):
            stream.write(data[at : at + 300_000])
            assert stream.tell() == min(at + 300_000, len(data))
    assert (tmp_path / "a/b/f").read_bytes() == data
    with client.open_input_stream(f"{root}/a/b/f") as file:
        assert file.read() == data
    with client.open_input_file(f"{root}/a/b/f") as file, ThreadPoolExecutor(4) as threads:
        assert file.size() == len(data)
        offsets = range(0, len(data), 1 << 20)
        assert list(threads.map(lambda at: file.read_at(50, at), offsets)) == [data[at : at + 50] for at in offsets]
    plain = fs.LocalFileSystem()
    for what in (f"{root}/a", f"{root}/a/b/f", f"{root}/none"):
        assert facts([client.get_file_info(what)]) == facts([plain.get_file_info(what)])
    for selector in (fs.FileSelector(root), fs.FileSelector(root, recursive=True)):
        assert facts(client.get_file_info(selector)) == facts(plain.get_file_info(selector)) != []
    assert client.get_file_info(fs.FileSelector(f"{root}/none", allow_not_found=True)) == []
    for wrong in (client.open_input_file, client.delete_file, lambda path: client.get_file_info(fs.FileSelector(path))):
        with pytest.raises(FileNotFoundError):
            wrong(f"{root}/none")
    client.move(f"{root}/a/b/f", f"{root}/g")
    client.delete_dir(f"{root}/a")
    assert sorted(os.listdir(tmp_path)) == ["g"]
    client.delete_file(f"{root}/g")
    assert os.listdir(tmp_path) == []


def test_a_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its store is read and written, by renames as on HDFS."""
    monkeypatch.setitem(STORES, "hdfs", STORES["hdfs"]._replace(make=lambda *_: (local(), "/")))
    case = DATA / "f120-kinds-checkpoint"
    outcomes = [
        run_job(
            JobOptions(snapshot=f"{root}{case / load(case)['snapshot']}", output=f"{root}{tmp_path / name}"),
            in_this_process,
        )
        for name, root in (("here", ""), ("there", "hdfs://"))
    ]
    assert outcomes[0].exit_code == outcomes[1].exit_code
    here, there = (
        {d.folder: pq.read_table(tmp_path / name / d.folder).to_pylist() for d in outcome.manifest.datasets}
        for name, outcome in zip(("here", "there"), outcomes, strict=True)
    )
    assert repr(here) == repr(there)
    assert sum(map(len, here.values())) > 100
    assert {p for p in os.listdir(tmp_path / "there") if p[0] == "_"} == {
        "_SUCCESS",
        "_coverage.json",
        "_manifest.json",
    }


# -- helpers that end or do not answer


def test_a_helper_that_ends_and_the_next_one(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"abc")
    client = local()
    file = client.open_input_file(f"{tmp_path}/f")
    first = helper_of(client)
    os.kill(first, signal.SIGABRT)
    with pytest.raises(UnreadableFileError, match="it ended: exit code -6"):
        file.read_at(3, 0)
    with client.open_input_file(f"{tmp_path}/f") as again:
        assert again.read() == b"abc"
    assert helper_of(client) != first


def test_a_helper_that_does_not_answer(tmp_path: Path) -> None:
    client = local()
    client.make()
    client._timeout = 1
    stream = client.open_output_stream(f"{tmp_path}/f")
    stream.write(b"x")
    os.kill(helper_of(client), signal.SIGSTOP)
    try:
        started = time.monotonic()
        for call in (stream.close, lambda: client.get_file_info(f"{tmp_path}/f")):
            with pytest.raises(NoAnswerError, match="the store did not answer within 1 s"):
                call()
        assert 2 <= time.monotonic() - started < 10
    finally:
        os.kill(helper_of(client), signal.SIGCONT)


def test_a_helper_that_never_starts_is_not_started_for_each_call(monkeypatch: pytest.MonkeyPatch) -> None:
    script = "import os, sys; print('  what():  No token. ', file=sys.stderr, flush=True); os.abort()"
    monkeypatch.setattr(client_process, "_SCRIPT", script)
    client = local()
    made = []
    monkeypatch.setattr(
        client_process, "_Helper", lambda *a, make=client_process._Helper: (made.append(1), make(*a))[1]
    )
    for _ in range(5):
        with pytest.raises(UnreadableFileError) as caught:
            client.get_file_info("/")
        assert caught.value.message == "it ended: No token"
    assert made == [1]


def test_no_secret_is_in_a_command_line_and_no_helper_is_left() -> None:
    client = ClientProcess("S3FileSystem", {"access_key": "a", "secret_key": "secret", "region": "r"}, 30, "s3", ended)
    client.make()
    process = Path(f"/proc/{helper_of(client)}")
    assert b"client_process" in (process / "cmdline").read_bytes()
    assert b"secret" not in (process / "cmdline").read_bytes()
    child = client._helper._child  # type: ignore[union-attr]
    del client
    assert child.wait(20) == 0


def test_errors_of_which_no_copy_can_be_made() -> None:
    class Odd(Exception):
        def __init__(self, a: int, b: int) -> None:
            super().__init__(f"{a} and {b}")

    number, good, error = pickle.loads(client_process._pickled(3, False, Odd(1, 2)))
    assert (number, good, type(error), str(error)) == (3, False, OSError, "1 and 2")


# -- Azure


class Blobs(BaseHTTPRequestHandler):
    """As much of Azure as reading one blob needs; ``answers`` says what comes for each range."""

    protocol_version = "HTTP/1.1"
    data = bytes(range(250))
    answers: ClassVar[list[str]] = []
    goes_on: ClassVar[threading.Event]

    def log_message(self, *_: Any) -> None: ...

    def do_GET(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        wanted = self.headers.get("x-ms-range") or self.headers.get("Range")
        if self.command == "PUT" or "action=" in self.path or "comp=list" in self.path:
            self.goes_on.wait(60)  # this server is for reading
            return
        body, status = b"", 200
        headers = {
            "Content-Length": len(self.data), "ETag": '"x"', "Last-Modified": "Mon, 01 Jan 2024 00:00:00 GMT",
            "x-ms-creation-time": "Mon, 01 Jan 2024 00:00:00 GMT", "x-ms-blob-type": "BlockBlob", "x-ms-request-id": "1",
            "x-ms-version": "2020-02-10", "x-ms-lease-state": "available", "x-ms-lease-status": "unlocked",
            "x-ms-server-encrypted": "true", "x-ms-default-encryption-scope": "a",
        }  # fmt: skip
        for name in ("has-immutability-policy", "has-legal-hold", "deny-encryption-scope-override",
                     "immutable-storage-with-versioning-enabled"):  # fmt: skip
            headers[f"x-ms-{name}"] = "false"
        if wanted:
            first, last = map(int, wanted.removeprefix("bytes=").split("-"))
            body, status = self.data[first : last + 1], 206
            headers["Content-Range"] = f"bytes {first}-{last}/{len(self.data)}"
            headers["Content-Length"] = len(body)
            how = self.answers.pop(0)
            if how == "end":
                headers = {
                    "Content-Length": len(body)
                }  # what is missing ends the SDK's process, as a missing token does
            elif how == "mute":
                self.goes_on.wait(60)
                return
        elif self.command == "GET":
            headers["Content-Length"] = 0
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(body)

    do_HEAD = do_PUT = do_GET


@pytest.fixture
def azure() -> Iterator[dict[str, str]]:
    """Options that lead to a server on the loopback address."""
    Blobs.goes_on = threading.Event()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Blobs)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    place = f"127.0.0.1:{server.server_port}"
    yield {
        "blob_storage_authority": place, "dfs_storage_authority": place, "blob_storage_scheme": "http",
        "dfs_storage_scheme": "http", "account_key": KEY,
    }  # fmt: skip
    Blobs.goes_on.set()
    server.shutdown()
    server.server_close()


URI = "abfs://box@acc.dfs.core.windows.net"


def test_azure_without_credentials(azure: dict[str, str]) -> None:
    """The SDK sends no token without TLS, which is an exception that nothing catches."""
    del azure["account_key"]
    with pytest.raises(UnreadableFileError) as caught:
        Store({"abfs": azure}).info(f"{URI}/x")
    assert caught.value.message == (
        "Azure's client ended, which it does without valid credentials: Bearer token authentication is not permitted for non "
        "TLS protected (https) endpoints"
    )
    assert caught.value.advice is not None
    assert caught.value.advice.startswith("set AZURE_TENANT_ID,")
    assert caught.value.file == f"{URI}/x"


def test_azures_client_ends_in_the_middle_of_a_file(azure: dict[str, str]) -> None:
    Blobs.answers[:] = ["good", "end", "good"]
    store = Store({"abfs": azure}, timeout=30)
    with store.open(f"{URI}/x") as file:
        assert file.read_at(3, 4) == b"\3\4\5\6"
        with pytest.raises(
            UnreadableFileError, match="Azure's client ended, which it does without valid credentials: "
        ):
            file.read_at(7, 2)
        with pytest.raises(UnreadableFileError, match="Azure's client ended"):
            file.read_at(7, 2)
    assert store.read(f"{URI}/x")[8:10] == b"\x08\x09"


def test_azure_does_not_answer(azure: dict[str, str]) -> None:
    Blobs.answers[:] = ["mute"] * 9
    client, base = connect("abfs", "box@acc.dfs.core.windows.net", azure, 30)
    started = time.monotonic()
    with client.open_input_file(f"{base}/x") as file:
        client._timeout = 1
        with pytest.raises(NoAnswerError, match="did not answer within 1 s"):
            file.read_at(2, 0)
    with pytest.raises(NoAnswerError, match="did not answer within 1 s"):
        Output(f"{URI}/out", client, f"{base}/out").write(f"{base}/out/f", b"abc")
    assert time.monotonic() - started < 20
