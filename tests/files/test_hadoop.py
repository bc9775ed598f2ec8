"""HDFS without a cluster: how clients are made, what becomes of their errors, and files of several blocks.

The same calls against Hadoop itself: ``tests/world/hdfs``.
"""

from __future__ import annotations

import os
import sys
import threading
from types import SimpleNamespace
from typing import Any

import pytest

from stateextract.errors import EnvironmentProblem, NoAnswerError, UsageError
from stateextract.files.connect import connect
from stateextract.files.hadoop import NativeFileSystem, WebFileSystem

TRACE = "\\n\\tat org.apache.hadoop.hdfs.server.namenode.FSPermissionChecker.check(FSPermissionChecker.java:661)"
DENIED = 'Permission denied: user=a, access=READ, inode=\\"/x\\":root:supergroup:drwx------'


class PanicException(BaseException):
    """As that of PyO3, which no module has."""


class Client:
    """In the place of hdfs-native's."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        self.arguments = arguments, named
        self.events: list[tuple[Any, ...]] = []
        self.error: BaseException = FileNotFoundError("/none")

    def create(self, path: str, options: Any) -> Client:
        self.events.append(("create", options.overwrite))
        return self

    append = create

    def get_file_info(self, path: str) -> Any:
        if path != "/f":
            raise self.error
        return SimpleNamespace(path=path, isdir=False, blocksize=10, length=0, modification_time=0)

    def write(self, data: memoryview) -> None:
        self.events.append(("write", bytes(data)))

    def close(self) -> None:
        self.events.append(("close",))


@pytest.fixture
def library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hdfs_native", SimpleNamespace(Client=Client, WriteOptions=SimpleNamespace))  # type: ignore[arg-type]
    monkeypatch.setattr("importlib.util.find_spec", lambda name: name)


def native(client: Any) -> NativeFileSystem:
    return NativeFileSystem(lambda: client, lambda work: work())


@pytest.mark.parametrize(
    ("uri", "options", "expected"),
    [
        ("hdfs://nn:8020", {}, (("hdfs://nn:8020", {}), {})),
        ("hdfs://", {"fs.defaultFS": "hdfs://ha"}, ((None, {"fs.defaultFS": "hdfs://ha"}), {})),
        ("viewfs://c", {"client": "hdfs-native", "config_dir": "/etc/h", "dfs.a": True},
         (("viewfs://c", {"dfs.a": "True"}), {"config_dir": "/etc/h"})),
    ],
)  # fmt: skip
@pytest.mark.usefixtures("library")
def test_arguments(uri: str, options: dict[str, Any], expected: Any) -> None:
    files, base = connect(*uri.split("://"), options, 7)
    assert base == "/"
    assert files._client().arguments == expected


def test_clients_that_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="the storage option client is 'java'; expected hdfs-native or libhdfs"):
        connect("hdfs", "nn", {"client": "java"}, 7)
    monkeypatch.setitem(sys.modules, "hdfs_native", None)
    monkeypatch.setitem(sys.modules, "fsspec.implementations.webhdfs", None)
    with pytest.raises(EnvironmentProblem, match=r"hdfs:// needs the package hdfs-native. Pip install 'stateextract\[hdfs\]'"):
        connect("hdfs", "nn", {"client": "hdfs-native"}, 7)
    with pytest.raises(EnvironmentProblem, match="webhdfs:// needs the packages fsspec and requests"):
        connect("webhdfs", "nn:9870", {}, 7)


@pytest.mark.parametrize(
    ("raised", "kind", "text"),
    [
        (RuntimeError(f'RPCError("org.apache.hadoop.security.AccessControlException", "{DENIED}{TRACE}")'),
         PermissionError, 'Permission denied: user=a, access=READ, inode="/x":root:supergroup:drwx------'),
        (RuntimeError(f'FatalRPCError("org.apache.hadoop.ipc.StandbyException", "standby{TRACE}")'),
         OSError, "StandbyException: standby"),
        (RuntimeError('SASLError("no")'), OSError, 'SASLError("no")'),
        (PanicException("of Rust"), OSError, "of Rust"),
        (OSError("Connection refused\n at x"), OSError, "Connection refused"),
        (FileNotFoundError("Path is not a file: /a\n\tat x"), IsADirectoryError, os.strerror(21)),
    ],
)  # fmt: skip
def test_errors(raised: BaseException, kind: type[OSError], text: str) -> None:
    client = Client()
    client.error = raised
    with pytest.raises(kind) as caught:
        native(client).open_output_stream("/g") if kind is IsADirectoryError else native(client).get_file_info("/g")
    assert type(caught.value) is kind
    assert caught.value.strerror == text


@pytest.mark.usefixtures("library")
def test_a_file_is_closed_at_the_end_of_each_block() -> None:
    client = Client()
    client.append = lambda path: client.events.append(("append",)) or client  # type: ignore[method-assign]
    with native(client).open_output_stream("/f") as file:
        for data in (b"0123", b"456789", b"abcdefghijk"):
            file.write(data)
            file.flush()
    assert client.events == [
        ("create", True), ("write", b"0123"), ("write", b"456789"),
        ("close",), ("append",), ("write", b"abcdefghij"), ("close",), ("append",), ("write", b"k"), ("close",),
    ]  # fmt: skip


@pytest.mark.usefixtures("library")
def test_a_call_that_takes_too_long_leaves_the_file_to_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    """The caller has a limit of the same length, and either of them may be the first."""
    goes_on = threading.Event()
    monkeypatch.setattr(Client, "get_file_info", lambda *_: goes_on.wait(60))
    files, _ = connect("hdfs", "nn", {}, 1)
    with pytest.raises(NoAnswerError) as caught:
        files.get_file_info("/g")
    goes_on.set()
    assert caught.value.file is None


@pytest.mark.parametrize("content", [b"0123456789", b"01"])
def test_a_server_that_ignores_the_range_is_an_error(content: bytes) -> None:
    status = {"FileStatus": {"type": "FILE", "length": 10}}
    client = SimpleNamespace(_call=lambda *_, **__: SimpleNamespace(json=lambda: status, content=content))
    file = WebFileSystem(client, lambda work: work()).open_input_file("/a")
    with pytest.raises(OSError, match=f"HDFS gave {len(content)} bytes for 3"):
        file.read_at(3, 2)


def test_an_answer_of_another_form_is_an_error_of_a_file() -> None:
    client = SimpleNamespace(_call=lambda *_, **__: SimpleNamespace(json=lambda: None))
    with pytest.raises(OSError, match="not subscriptable"):
        WebFileSystem(client, lambda work: work()).get_file_info("/a")


def test_what_webhdfs_refuses_is_an_error() -> None:
    """It answers with status 200 and ``false``."""
    client = SimpleNamespace(_call=lambda *_, **__: SimpleNamespace(json=lambda: {"boolean": False}))
    files = WebFileSystem(client, lambda work: work())
    for change in (lambda: files.move("/a", "/b"), lambda: files.create_dir("/a")):
        with pytest.raises(OSError, match="HDFS refused it: /a"):
            change()
    with pytest.raises(FileNotFoundError):
        files.delete_file("/a")
