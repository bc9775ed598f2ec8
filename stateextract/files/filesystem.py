"""Files by URI: sizes, listings and exact ranged reads.

Local files are read with ``pread``; all else goes through the file systems of ``connect.py``. Flink's names for S3
(``s3a``, ``s3p``, ``s3n``) and its one-slash local paths (``file:/data/x``) are understood. A URI's path is taken literally,
never percent-decoded: that is how Flink writes it.

Only what is asked for is read, and a read that comes back short is an error. Of local files only regular ones are opened.
Whatever the operating system or a file system raises becomes ``MissingFileError`` or ``UnreadableFileError`` with the file's
URI. A store that was confined (:meth:`Store.confined`) opens nothing but what lies in given places, whatever URI it is given:
paths that come out of files are opened with such a one. May import: errors, connect, store_files, threads. Knows
nothing of Flink's formats.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, wait
from typing import Any, NamedTuple, Self, TypeVar

import pyarrow as pa

from stateextract.errors import (
    MissingFileError,
    NoAnswerError,
    StateExtractError,
    TruncatedError,
    UnreadableFileError,
    UsageError,
)
from stateextract.files.connect import TIMEOUT, access_error, connect, problem_of, within, without_queries
from stateextract.files.second_thread import done
from stateextract.files.store_files import PIECE
from stateextract.files.threads import READING

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]+):(?=/)")
_ALIASES = {"s3a": "s3", "s3p": "s3", "s3n": "s3"}
_SAME_STORE = {"abfss": "abfs", "wasb": "abfs", "wasbs": "abfs", "cosn": "cos"}
_ABSENT = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG})


_SPECIAL = {
    stat.S_IFIFO: "a FIFO", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device",
}  # fmt: skip
_READ_ONLY = os.O_RDONLY | sum(getattr(os, name, 0) for name in ("O_NONBLOCK", "O_NOCTTY", "O_CLOEXEC"))

T = TypeVar("T")


class DirectoryEntry(NamedTuple):
    """One file or folder. ``mtime`` is in seconds since 1970; None where a store does not report it."""

    name: str
    uri: str
    is_dir: bool
    mtime: float | None
    size: int | None


class OpenFile(ABC):
    """A file open for reads at any position, from any thread."""

    remote = False
    """A read takes long to begin, so several should be under way at once."""

    @abstractmethod
    def read_at(self, offset: int, length: int) -> bytes:
        """The bytes from ``offset`` on: ``length`` of them, fewer only at the end of the file."""

    def read_into(self, offset: int, room: memoryview) -> int:
        """Fill ``room`` with the bytes from ``offset`` on, and say how many: fewer only at the end of the file."""
        data = self.read_at(offset, len(room))
        room[: len(data)] = data
        return len(data)

    def start_read(self, offset: int, length: int) -> Future[bytes]:
        """As :meth:`read_at`, without waiting for it."""
        return done(lambda: self.read_at(offset, length))

    @abstractmethod
    def size(self) -> int: ...

    @abstractmethod
    def close(self) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


# -- URIs


class Address(NamedTuple):
    """A URI taken apart; ``scheme`` is "file" for local paths, whose ``path`` is absolute."""

    scheme: str
    authority: str
    path: str

    def __str__(self) -> str:
        return self.path if self.scheme == "file" else f"{self.scheme}://{self.authority}{self.path}"


def split_uri(uri: str) -> Address:
    """Takes a URI or local path apart, with aliases resolved and superfluous slashes removed.

    :raises UnreadableFileError: for an empty path, which a shell makes of a variable that is not set.
    """
    if not uri:
        raise UnreadableFileError("the path is empty")
    match = _SCHEME.match(uri)
    if match is None:
        return Address("file", "", os.path.abspath(uri))
    scheme, rest = match[1].lower(), uri[match.end() :]
    authority = ""
    if rest.startswith("//"):
        authority, slash, rest = rest[2:].partition("/")
        rest = slash + rest
    path = re.sub("/{2,}", "/", rest).rstrip("/") or "/"
    if scheme == "file":
        return Address("file", "", os.path.abspath(path))
    return Address(_ALIASES.get(scheme, scheme), authority, path)


def is_remote(uri: str) -> bool:
    """Whether it is not on a local file system."""
    return split_uri(uri).scheme != "file"


def normalize(uri: str) -> str:
    """The one way in which this project writes a URI: an absolute path where it is local."""
    return str(split_uri(uri))


def parent(uri: str) -> str:
    """The folder of ``uri``; of a root, the root itself."""
    address = split_uri(uri)
    return str(address._replace(path=address.path.rpartition("/")[0] or "/"))


def name_of(uri: str) -> str:
    """The last part of the path."""
    return split_uri(uri).path.rpartition("/")[2]


def join(uri: str, *parts: str) -> str:
    """``uri`` with parts added to its path."""
    return normalize("/".join((uri.rstrip("/"), *(part.strip("/") for part in parts))))


# -- the store


class Store:
    """Opens any URI. One object serves many threads and can be sent to other processes.

    :param options: for each scheme, arguments of pyarrow's file system of that name, for example
        ``{"s3": {"endpoint_override": "http://localhost:9000", "region": "eu-central-1"}}``; for fsspec its keyword
        arguments.
    :param allow: stores and folders that a confined store opens in addition to its own, for example ``s3://other-bucket``.
    :param timeout: seconds that a store has for one answer.
    :raises UsageError: for one of ``allow`` that is none.
    """

    def __init__(
        self,
        options: Mapping[str, Mapping[str, Any]] | None = None,
        *,
        allow: Sequence[str] = (),
        timeout: int = TIMEOUT,
    ) -> None:
        self.options: dict[str, dict[str, Any]] = {}
        for scheme, values in (options or {}).items():
            self.options.setdefault(_family(scheme), {}).update(values)
        self.timeout = timeout
        self.allow = tuple(map(_allowed, (allow,) if isinstance(allow, str) else allow))
        self._roots: tuple[Address, ...] | None = None
        self._lock = threading.Lock()
        self._connections: dict[tuple[str, str], _Connection] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("options", "timeout", "allow", "_roots")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _lock=threading.Lock(), _connections={})

    def confined(self, snapshot: str | None, *others: str) -> Store:
        """The same store for URIs that come out of a file: it opens nothing outside of these places and of ``allow``.

        :param snapshot: the store that it lies in is a place, with all that is in it; ``None``: there is no such place.
        :param others: likewise; but of local paths only what lies below them.
        """
        roots = [] if snapshot is None else [split_uri(snapshot)._replace(path="/")]
        roots += [one if one.scheme == "file" else one._replace(path="/") for one in map(split_uri, others)]
        store = object.__new__(type(self))
        store.__dict__.update(self.__dict__, _roots=(*roots, *self.allow))  # with the same connections
        return store

    def check(self, uri: str) -> None:
        """Raise where this store does not open a URI, wherever it leads.

        :raises UnreadableFileError: with the store, and the option that allows it.
        """
        address = split_uri(uri)
        problem = None if address.scheme == "file" else problem_of(address.scheme, address.authority)
        if problem is not None:
            raise problem.at(file=str(address))
        if self._roots is None or any(is_inside(address, root) for root in self._roots):
            return
        if address.scheme == "file":
            raise UnreadableFileError(
                "the snapshot is in a store and names a local file, which is not opened unless it is allowed",
                advice="if the snapshot was moved, set --path-map OLD=NEW; if you trust it, set --allow-store to the file's "
                "directory",
                file=str(address),
            )
        store = f"{address.scheme}://{address.authority}"
        raise UnreadableFileError(
            f"the snapshot names a file in another store than its own, {store}, which is not opened unless it is allowed",
            advice=f"if you trust that store, set --allow-store {store}; if the snapshot was moved, set --path-map OLD=NEW",
            file=str(address),
        )

    def read(self, uri: str) -> bytes:
        """All bytes of a file.

        :raises TruncatedError: if it ends before the size that its store says.
        """
        with self.open(uri) as file:
            size = file.size()
            data = file.read_at(0, size)
        if len(data) != size:
            early = f"the file ends {size - len(data)} bytes too early"
            raise TruncatedError(early, expected=f"{size} bytes", file=normalize(uri), offset=len(data))
        return data

    def open(self, uri: str) -> OpenFile:
        """Open a file for ranged reads."""
        self.check(uri)
        address = split_uri(uri)
        if address.scheme == "file":
            with _OurErrors(str(address)):
                return _LocalFile(address.path)
        return self._call(address, lambda fs, path: _ArrowFile(fs.open_input_file(path), str(address), self.timeout))

    def info(self, uri: str) -> DirectoryEntry | None:
        """What is there; None if nothing is."""
        self.check(uri)
        address = split_uri(uri)
        if address.scheme == "file":
            with _OurErrors(str(address)):
                try:
                    return _local_entry(address.path, os.stat(address.path))
                except OSError as error:
                    if error.errno in _ABSENT:
                        return None
                    raise
        found = self._call(address, lambda fs, path: fs.get_file_info(path))
        return None if found.type == _arrow_fs().FileType.NotFound else _arrow_entry(found, name_of(uri), str(address))

    def size(self, uri: str) -> int:
        found = self.info(uri)
        if found is None or found.is_dir:
            raise MissingFileError("no such file", file=normalize(uri))
        if found.size is not None:
            return found.size
        with self.open(uri) as file:
            return file.size()

    def exists(self, uri: str) -> bool:
        return self.info(uri) is not None

    def list(self, uri: str) -> list[DirectoryEntry]:
        """What lies directly in a folder, by name."""
        self.check(uri)
        address = split_uri(uri)
        if address.scheme == "file":
            with _OurErrors(str(address)):
                return sorted(self._list_local(address.path), key=lambda entry: entry.name)
        found = self._call(address, lambda fs, path: fs.get_file_info(_arrow_fs().FileSelector(path)))
        entries = [_arrow_entry(one, one.base_name, join(str(address), one.base_name)) for one in found]
        return sorted(entries, key=lambda entry: entry.name)

    def place(self, uri: str) -> str:
        """Where a folder is; equal for links to one place."""
        address = split_uri(uri)
        return os.path.realpath(address.path) if address.scheme == "file" else str(address)

    def is_link(self, uri: str) -> bool:
        """Whether a name of a local folder leads to another one."""
        address = split_uri(uri)
        return address.scheme == "file" and os.path.islink(address.path)

    def _list_local(self, path: str) -> Iterator[DirectoryEntry]:
        with os.scandir(path) as entries:
            for entry in entries:
                try:
                    yield _local_entry(entry.path, entry.stat())
                except FileNotFoundError:
                    pass  # a link to nowhere is as good as absent
                except OSError:  # a link to itself, for example: an error where the file is wanted, and nowhere else
                    yield DirectoryEntry(entry.name, entry.path, False, None, None)

    def _call(self, address: Address, work: Callable[[Any, str], T]) -> T:
        """What ``work`` gives for the address's file system and the path there."""
        key = store_of(address)
        with self._lock:
            connection = self._connections.get(key)
            if connection is None:
                connection = self._connections[key] = _Connection(address, self.options.get(key[0], {}), self.timeout)
        return connection.call(address, work)


def _allowed(text: str) -> Address:
    """A store or folder that the user allows."""
    address = split_uri(text or ".")
    if address.scheme == "file":
        if _SCHEME.match(text) is None and not os.path.isabs(text):
            raise UsageError(f"{text!r} is not a store that can be allowed", expected="s3://bucket, or an absolute path")
        return address
    problem = problem_of(address.scheme, address.authority)
    if problem is not None:
        raise UsageError(f"{text!r} is not a store that can be allowed: {problem.message}", expected=problem.expected)
    return address


def is_inside(address: Address, root: Address) -> bool:
    """Whether an address is in a place: the store, and below the place's path."""
    if store_of(address) != store_of(root):
        return False
    path = address.path
    return root.path == "/" or (f"{path}/".startswith(root.path + "/") and ".." not in path.split("/"))


def _family(scheme: str) -> str:
    """One name for all schemes of a kind of store."""
    scheme = _ALIASES.get(scheme, scheme)
    return _SAME_STORE.get(scheme, scheme)


def store_of(address: Address) -> tuple[str, str]:
    """Scheme and authority, the same for two names of one store."""
    scheme = _family(address.scheme)
    return scheme, address.authority.replace(".blob.", ".dfs.", 1) if scheme == "abfs" else address.authority


class _Connection:
    """The client of one store, made when it is first asked.

    A store that never answered is not asked again for as long as it had for its answer: a snapshot has many files.
    """

    def __init__(self, address: Address, options: dict[str, Any], timeout: int) -> None:
        self._address = address
        self._options = options
        self._timeout = timeout
        self._lock = threading.Lock()
        self._made: tuple[Any, str] | None = None
        self._answered = False
        self._no_answer: tuple[float, NoAnswerError] | None = None

    def call(self, address: Address, work: Callable[[Any, str], T]) -> T:
        with _RemoteErrors(str(address)):
            filesystem, base = self._client()
            inner = address.path.lstrip("/")
            path = f"{base.rstrip('/')}/{inner}".rstrip("/") if base.strip("/") else base + inner
            return self._within(lambda: work(filesystem, path), str(address))

    def _client(self) -> tuple[Any, str]:
        with self._lock:
            if self._made is None:
                scheme, authority, _ = self._address
                uri = f"{scheme}://{authority}"
                self._made = self._within(lambda: connect(scheme, authority, self._options, self._timeout), uri)
                self._answered = False
            return self._made

    def _within(self, work: Callable[[], T], uri: str) -> T:
        if self._no_answer is not None and time.monotonic() < self._no_answer[0]:
            error = self._no_answer[1]
            raise NoAnswerError(error.message, advice=error.advice, file=uri)
        try:
            answer = within(self._timeout, work, uri)
        except NoAnswerError as error:
            if not self._answered:
                self._no_answer = time.monotonic() + self._timeout, error
            raise
        self._answered = True
        return answer


class _LocalFile(OpenFile):
    """A local file; ``pread`` has no shared position, so threads do not meet."""

    def __init__(self, path: str) -> None:
        self._path = path
        # Opening a device may do something, and opening a FIFO waits for who writes to it.
        _refuse_special(path, os.stat(path).st_mode)
        # Another file may be there by now: that waits for nothing, and is looked at once more.
        self._handle = os.open(path, _READ_ONLY)
        status = os.fstat(self._handle)
        self._size = status.st_size
        try:
            _refuse_special(path, status.st_mode)
        except BaseException:
            self.close()
            raise

    def read_at(self, offset: int, length: int) -> bytes:
        # Never ask for more than there is: the buffer is made before the read.
        length = min(length, self._size - offset)
        if length <= 0:
            return b""
        with _OurErrors(self._path):
            data = os.pread(self._handle, length, offset)
            if len(data) == length or not data:
                return data
            parts = [data]
            done = len(data)
            while done < length and (data := os.pread(self._handle, length - done, offset + done)):
                parts.append(data)
                done += len(data)
        return b"".join(parts)

    def read_into(self, offset: int, room: memoryview) -> int:
        done = 0
        with _OurErrors(self._path):
            while done < len(room) and (got := os.preadv(self._handle, [room[done:]], offset + done)):
                done += got
        return done

    def size(self) -> int:
        return self._size

    def close(self) -> None:
        handle, self._handle = self._handle, -1
        if handle >= 0:
            os.close(handle)

    def __del__(self) -> None:
        if getattr(self, "_handle", -1) >= 0:
            self.close()


class _ArrowFile(OpenFile):
    remote = True

    def __init__(self, file: Any, uri: str, timeout: int = TIMEOUT) -> None:
        self._file = file
        self._uri = uri
        self._timeout = timeout
        self._size: int = file.size()
        self._reads: list[Future[bytes]] = []
        self._process = os.getpid()

    def read_at(self, offset: int, length: int) -> bytes:
        length = min(length, self._size - offset)
        if length <= 0:
            return b""
        end = offset + length
        pieces = [self._piece(at, min(PIECE, end - at)) for at in range(offset, end, PIECE)]
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def _piece(self, offset: int, length: int) -> bytes:
        with _RemoteErrors(self._uri):
            return within(self._timeout, lambda: bytes(self._file.read_at(length, offset)), self._uri)

    def start_read(self, offset: int, length: int) -> Future[bytes]:
        self._reads = [read for read in self._reads if not read.done()]
        read = READING.submit(lambda: self.read_at(offset, length))
        if read is None:
            return done(lambda: self.read_at(offset, length))
        self._reads.append(read)
        return read

    def size(self) -> int:
        return self._size

    def close(self) -> None:
        # Nothing is read after it. A forked process never reads what its parent began.
        reads = self._reads if self._process == os.getpid() else []
        self._reads = []
        try:
            wait([read for read in reads if not read.cancel()])
        finally:
            self._file.close()


def _refuse_special(path: str, mode: int) -> None:
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if not stat.S_ISREG(mode):
        what = _SPECIAL.get(stat.S_IFMT(mode), "a special file")
        raise UnreadableFileError(f"it is {what} and is not opened", expected="a regular file", file=path)


def _local_entry(path: str, status: os.stat_result) -> DirectoryEntry:
    return DirectoryEntry(os.path.basename(path), path, stat.S_ISDIR(status.st_mode), status.st_mtime, status.st_size)


def _arrow_entry(found: Any, name: str, uri: str) -> DirectoryEntry:
    mtime = None if found.mtime is None else found.mtime.timestamp()
    return DirectoryEntry(name, uri, found.type == _arrow_fs().FileType.Directory, mtime, found.size)


def _arrow_fs() -> Any:
    import pyarrow.fs  # brings libraries of all its stores along, and local files need none of them

    return pyarrow.fs


class _OurErrors(contextlib.AbstractContextManager[None]):
    """Turns the errors of the operating system and of pyarrow into ours."""

    def __init__(self, uri: str) -> None:
        self.uri = uri

    def __exit__(self, kind: Any, error: BaseException | None, _: Any) -> None:
        if isinstance(error, FileNotFoundError | NotADirectoryError):
            raise MissingFileError("no such file or folder", file=self.uri) from None
        if isinstance(error, OSError) and error.errno in _ABSENT:
            raise MissingFileError(f"no such file or folder ({error.strerror})", file=self.uri) from None
        if isinstance(error, PermissionError):
            raise UnreadableFileError(
                "permission denied", advice="run as a user with the right to read it", file=self.uri
            ) from None
        if isinstance(error, UnicodeEncodeError) or (isinstance(error, ValueError) and "embedded null" in str(error)):
            # Only a damaged handle has such a path.
            raise MissingFileError("a path that cannot exist", file=ascii(self.uri)) from None
        if isinstance(error, OSError | pa.ArrowException):
            reason = without_queries(getattr(error, "strerror", None) or str(error))
            raise UnreadableFileError(f"the file cannot be read: {reason}", file=self.uri) from None


class _RemoteErrors(_OurErrors):
    """The same for stores. Their clients raise whatever they like."""

    def __exit__(self, kind: Any, error: BaseException | None, _: Any) -> None:
        if isinstance(error, StateExtractError):
            error.at(file=self.uri)
            return
        denied = None if error is None else access_error(error, split_uri(self.uri).scheme)
        if denied is not None:
            raise UnreadableFileError(denied[0], advice=denied[1], file=self.uri) from None
        super().__exit__(kind, error, _)
        if isinstance(error, Exception) and not isinstance(error, MemoryError):
            reason = without_queries(str(error)) or type(error).__name__
            raise UnreadableFileError(f"the file cannot be read: {reason}", file=self.uri) from None
