"""HDFS by clients that need no Java: hdfs-native, and WebHDFS by HTTP. As much of pyarrow's file systems as is used.

The calls are those of Hadoop's ``ClientProtocol`` and of its REST API ``NamenodeWebHdfsMethods``. What the clients raise
becomes an ``OSError`` with the first line of Hadoop's message. Each call is given to a function that bounds its time, because
neither client does. May import: errors, store_files. Does not look at URIs, and chooses no server: that is ``connect.py``.
"""

from __future__ import annotations

import errno
import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar

from stateextract.errors import StateExtractError, UsageError
from stateextract.files.store_files import InputFile, OutputFile

T = TypeVar("T")

Limit = Callable[[Callable[[], Any]], Any]
"""Makes a call and gives what it returns, or raises ``NoAnswerError`` if that takes too long."""

_RPC_ERROR = re.compile(r'\w*RPCError\("(?P<name>[\w.$]+)", "(?P<text>.*)"\)', re.DOTALL)
_DENIED = ("AccessControlException", "SecretManager$InvalidToken")


class Source(Protocol):
    """A file open for reading, as a client has it."""

    def size(self) -> int: ...

    def read(self, offset: int, length: int) -> bytes:
        """All of these bytes, which are in the file."""


class Sink(Protocol):
    """A file open for writing, as a client has it."""

    def write(self, data: bytes) -> None: ...

    def close(self) -> None:
        """Make the file complete."""


class HadoopFileSystem(ABC):
    """What this project uses of ``pyarrow.fs.FileSystem``, made of what each client of HDFS can do.

    :ivar type_name: the type of the file system, which says what a rename does.
    """

    type_name: str

    def __init__(self, limit: Limit) -> None:
        self._limit = limit

    def call(self, work: Callable[[], T]) -> T:
        """Make a call of the client within the time that it has."""

        def translated() -> T:
            with _os_errors():
                return work()

        answer: T = self._limit(translated)
        return answer

    def get_file_info(self, what: Any) -> Any:
        from pyarrow import fs

        if not isinstance(what, fs.FileSelector):
            return self.call(lambda: self._info(what)) or fs.FileInfo(what, fs.FileType.NotFound)
        try:
            return self.call(lambda: list(self._walk(what.base_dir, what.recursive)))
        except FileNotFoundError:
            if what.allow_not_found:
                return []
            raise

    def _walk(self, folder: str, recursive: bool) -> Iterator[Any]:
        for info in self._list(folder):
            if info.path.rstrip("/") == folder.rstrip("/"):
                raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), folder)
            yield info
            if recursive and not info.is_file:
                yield from self._walk(info.path, True)

    def create_dir(self, path: str, recursive: bool = True) -> None:
        self.call(lambda: self._make_dir(path))

    def delete_file(self, path: str) -> None:
        self._remove(path, recursive=False)

    def delete_dir(self, path: str) -> None:
        self._remove(path, recursive=True)

    def _remove(self, path: str, recursive: bool) -> None:
        if not self.call(lambda: self._delete(path, recursive)):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)

    def move(self, source: str, target: str) -> None:
        self.call(lambda: self._rename(source, target))

    def open_input_file(self, path: str) -> _InputFile:
        return _InputFile(self, *self.call(lambda: _sized(self._open(path))))

    open_input_stream = open_input_file

    def open_output_stream(self, path: str) -> _OutputFile:
        return _OutputFile(self, self.call(lambda: self._create(path)))

    @abstractmethod
    def _info(self, path: str) -> Any:
        """Return a ``FileInfo``, or None if there is nothing."""

    @abstractmethod
    def _list(self, folder: str) -> Iterator[Any]:
        """Return the ``FileInfo`` of all that is directly in a directory; of a file, its own."""

    @abstractmethod
    def _make_dir(self, path: str) -> None:
        """Make a directory and those above it."""

    @abstractmethod
    def _delete(self, path: str, recursive: bool) -> bool:
        """Delete a file or directory; False if there is nothing."""

    @abstractmethod
    def _rename(self, source: str, target: str) -> None: ...

    @abstractmethod
    def _open(self, path: str) -> Source: ...

    @abstractmethod
    def _create(self, path: str) -> Sink:
        """Open a file for writing, which replaces the one that may be there."""


def _sized(source: Source) -> tuple[Source, int]:
    return source, source.size()


class _InputFile(InputFile):
    def __init__(self, filesystem: HadoopFileSystem, source: Source, size: int) -> None:
        self._filesystem, self._source, self._size = filesystem, source, size

    def size(self) -> int:
        return self._size

    def read_at(self, length: int, offset: int) -> bytes:
        length = min(length, self._size - offset)
        if length <= 0:
            return b""
        data = self._filesystem.call(lambda: self._source.read(offset, length))
        if len(data) != length:
            # A server that takes no notice of the range gives the whole file.
            raise OSError(errno.EIO, f"HDFS gave {len(data)} bytes for {length}")
        return data

    def close(self) -> None: ...


class _OutputFile(OutputFile):
    def __init__(self, filesystem: HadoopFileSystem, sink: Sink) -> None:
        super().__init__()
        self._filesystem, self._sink = filesystem, sink

    def _send(self, data: bytes) -> None:
        self._filesystem.call(lambda: self._sink.write(data))

    def _complete(self) -> None:
        self._filesystem.call(self._sink.close)


@contextmanager
def _os_errors() -> Iterator[None]:
    """Raise ``OSError`` for all that a client raises, with the first line of Hadoop's message, which has a stack trace."""
    try:
        yield
    except (StateExtractError, MemoryError):
        raise
    except FileNotFoundError as error:
        if "is not a file" in str(error):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR)) from None
        raise FileNotFoundError(errno.ENOENT, _first_line(str(error))) from None
    except PermissionError as error:
        raise PermissionError(errno.EACCES, _first_line(str(error))) from None
    except OSError as error:
        raise OSError(error.errno or errno.EIO, _first_line(error.strerror or str(error))) from None
    except BaseException as error:
        # A panic of Rust is not an Exception.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        match = _RPC_ERROR.match(str(error))
        if match is None:
            raise OSError(errno.EIO, _first_line(str(error)) or type(error).__name__) from None
        text = _first_line(match["text"].replace('\\"', '"').replace("\\n", "\n"))
        if match["name"].endswith(_DENIED):
            raise PermissionError(errno.EACCES, text) from None
        raise OSError(errno.EIO, f"{match['name'].rpartition('.')[2]}: {text}") from None


def _first_line(text: str) -> str:
    return text.partition("\n")[0].strip()


# -- hdfs-native


class NativeFileSystem(HadoopFileSystem):
    """HDFS by hdfs-native.

    :param make: makes the client. A process that was forked makes its own, since it has none of the client's threads.
    """

    type_name = "hdfs-native"

    def __init__(self, make: Callable[[], Any], limit: Limit) -> None:
        super().__init__(limit)
        self._make = make
        self._made: tuple[int, Any] = 0, None
        self.call(self._client)

    def _client(self) -> Any:
        process, client = self._made
        if process != os.getpid():
            try:
                client = self._make()
            except TypeError as error:
                raise UsageError(f"a storage option is not valid: {error}") from None
            self._made = os.getpid(), client
        return client

    def _info(self, path: str) -> Any:
        try:
            return _native_info(self._client().get_file_info(path))
        except FileNotFoundError:
            return None

    def _list(self, folder: str) -> Iterator[Any]:
        return map(_native_info, self._client().list_status(folder, False))

    def _make_dir(self, path: str) -> None:
        self._client().mkdirs(path, 0o755, True)

    def _delete(self, path: str, recursive: bool) -> bool:
        return bool(self._client().delete(path, recursive))

    def _rename(self, source: str, target: str) -> None:
        self._client().rename(source, target, True)  # in one step, as ``rename2`` of ``ClientProtocol``

    def _open(self, path: str) -> Source:
        return _NativeSource(self._client().read(path))

    def _create(self, path: str) -> Sink:
        return _NativeSink(self._client(), path)


def _native_info(status: Any) -> Any:
    from pyarrow import fs

    if status.isdir:
        return fs.FileInfo(status.path, fs.FileType.Directory, mtime_ns=status.modification_time * 1_000_000)
    return fs.FileInfo(status.path, fs.FileType.File, mtime_ns=status.modification_time * 1_000_000, size=status.length)


class _NativeSource:
    def __init__(self, reader: Any) -> None:
        self._reader = reader

    def size(self) -> int:
        return len(self._reader)

    def read(self, offset: int, length: int) -> bytes:
        data: bytes = self._reader.read_range(offset, length)
        return data


class _NativeSink:
    """A file, block by block.

    hdfs-native asks for a next block once, and HDFS refuses it as long as the DataNode has not reported the last one
    (``NotReplicatedYetException``). Only at the end of a file does hdfs-native wait for the report. So at the end of a block
    the file is closed, and opened again to append.
    """

    def __init__(self, client: Any, path: str) -> None:
        from hdfs_native import WriteOptions

        self._client, self._path = client, path
        self._writer = client.create(path, WriteOptions(overwrite=True))
        self._block = int(client.get_file_info(path).blocksize)
        self._room = self._block

    def write(self, data: bytes) -> None:
        left = memoryview(data)
        while left:
            if not self._room:
                self._writer.close()
                self._writer = self._client.append(self._path)
                self._room = self._block
            self._writer.write(left[: self._room])
            done = min(self._room, len(left))
            self._room -= done
            left = left[done:]

    def close(self) -> None:
        self._writer.close()


# -- WebHDFS


class WebFileSystem(HadoopFileSystem):
    """HDFS by its REST API.

    :param client: ``fsspec.implementations.webhdfs.WebHDFS``, which makes the requests and knows ways to log in. Its files and
        its rename are not used: they take the text of an error for data, and no notice of a rename that was refused.
    """

    type_name = "hdfs"

    def __init__(self, client: Any, limit: Limit) -> None:
        super().__init__(limit)
        self._client = client

    def _json(self, operation: str, method: str, path: str, **parameters: Any) -> Mapping[str, Any]:
        answer: Mapping[str, Any] = self._client._call(operation, method, path, **parameters).json()
        return answer

    def _info(self, path: str) -> Any:
        try:
            return _web_info(path, self._json("GETFILESTATUS", "get", path)["FileStatus"])
        except FileNotFoundError:
            return None

    def _list(self, folder: str) -> Iterator[Any]:
        statuses = self._json("LISTSTATUS", "get", folder)["FileStatuses"]["FileStatus"]
        return (_web_info(f"{folder.rstrip('/')}/{one['pathSuffix']}", one) for one in statuses)

    def _make_dir(self, path: str) -> None:
        self._check(self._json("MKDIRS", "put", path), path)

    def _delete(self, path: str, recursive: bool) -> bool:
        return bool(self._json("DELETE", "delete", path, recursive="true" if recursive else "false")["boolean"])

    def _rename(self, source: str, target: str) -> None:
        self._check(self._json("RENAME", "put", source, destination=target), f"{source} to {target}")

    def _check(self, answer: Mapping[str, Any], what: str) -> None:
        if not answer["boolean"]:
            raise OSError(errno.EIO, f"HDFS refused it: {what}")

    def _open(self, path: str) -> Source:
        return _WebSource(self._client, path)

    def _create(self, path: str) -> Sink:
        return _WebSink(self._client, path)


def _web_info(path: str, status: Mapping[str, Any]) -> Any:
    from pyarrow import fs

    time = status["modificationTime"] * 1_000_000
    if status["type"] == "DIRECTORY":
        return fs.FileInfo(path, fs.FileType.Directory, mtime_ns=time)
    return fs.FileInfo(path, fs.FileType.File, mtime_ns=time, size=status["length"])


class _WebSource:
    def __init__(self, client: Any, path: str) -> None:
        self._client, self._path = client, path

    def size(self) -> int:
        status = self._client._call("GETFILESTATUS", "get", self._path).json()["FileStatus"]
        if status["type"] == "DIRECTORY":
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        return int(status["length"])

    def read(self, offset: int, length: int) -> bytes:
        data: bytes = self._client._call("OPEN", "get", self._path, offset=offset, length=length).content
        return data


class _WebSink:
    """A file that is made empty, and appended to: the REST API has no open files."""

    def __init__(self, client: Any, path: str) -> None:
        self._client, self._path = client, path
        self._send("CREATE", "put", b"", overwrite="true")

    def _send(self, operation: str, method: str, data: bytes, **parameters: Any) -> None:
        """Send data to the DataNode that the NameNode names."""
        answer = self._client._call(operation, method, self._path, redirect=False, **parameters)
        location = self._client._apply_proxy(answer.headers["Location"])
        headers = {"content-type": "application/octet-stream"}
        self._client.session.request(method, location, data=data, headers=headers).raise_for_status()

    def write(self, data: bytes) -> None:
        self._send("APPEND", "post", data)

    def close(self) -> None: ...
