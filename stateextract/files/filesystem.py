"""Files by URI: sizes, listings and exact ranged reads.

Local files are read with ``pread``; everything else goes through :mod:`pyarrow.fs`, and through fsspec where pyarrow
does not know the scheme. Flink's names for S3 (``s3a``, ``s3p``, ``s3n``) and its one-slash local paths
(``file:/data/x``) are understood. A URI's path is taken literally, never percent-decoded: that is how Flink writes it.

Only what is asked for is read, and a read that comes back short is an error. The operating system's errors become
``MissingFileError`` and ``UnreadableFileError`` with the file's URI. May import: errors, threads. Knows nothing of
Flink's formats.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import stat
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, wait
from typing import Any, NamedTuple, Protocol
from urllib.parse import urlencode

import pyarrow as pa

from stateextract.beside import done
from stateextract.errors import MissingFileError, TruncatedError, UnreadableFileError
from stateextract.files.threads import READING

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]+):(?=/)")
_ALIASES = {"s3a": "s3", "s3p": "s3", "s3n": "s3"}
_ABSENT = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ENAMETOOLONG})


class Entry(NamedTuple):
    """One file or folder. ``mtime`` is in seconds since 1970; what a store does not tell is None."""

    name: str
    uri: str
    is_dir: bool
    mtime: float | None
    size: int | None


class OpenFile(Protocol):
    """A file open for reads at any position, from any thread."""

    late: bool
    """A read takes long to begin, so several should be under way at once."""

    def read_at(self, offset: int, length: int) -> bytes:
        """The bytes from ``offset`` on: ``length`` of them, fewer only at the end of the file."""

    def read_into(self, offset: int, room: memoryview) -> int:
        """Fill ``room`` with the bytes from ``offset`` on, and say how many: fewer only at the end of the file."""

    def start_read(self, offset: int, length: int) -> Future[bytes]:
        """As :meth:`read_at`, without waiting for it."""

    def size(self) -> int: ...

    def close(self) -> None: ...

    def __enter__(self) -> OpenFile: ...

    def __exit__(self, *_: object) -> None: ...


# -- URIs


class Address(NamedTuple):
    """A URI taken apart; ``scheme`` is "file" for local paths, whose ``path`` is absolute."""

    scheme: str
    authority: str
    path: str

    def __str__(self) -> str:
        return self.path if self.scheme == "file" else f"{self.scheme}://{self.authority}{self.path}"


def split_uri(uri: str) -> Address:
    """Takes a URI or local path apart, with aliases resolved and superfluous slashes removed."""
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


def is_far(uri: str) -> bool:
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

    :param options: for each scheme, parameters as pyarrow takes them in a URI's query, for example
        ``{"s3": {"endpoint_override": "http://localhost:9000", "region": "eu-central-1"}}``; for fsspec its keyword
        arguments.
    """

    def __init__(self, options: Mapping[str, Mapping[str, Any]] | None = None) -> None:
        self.options = {scheme: dict(values) for scheme, values in (options or {}).items()}
        self._lock = threading.Lock()
        self._filesystems: dict[tuple[str, str], tuple[Any, str]] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {"options": self.options}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["options"])  # type: ignore[misc]

    def read(self, uri: str, offset: int = 0, length: int | None = None) -> bytes:
        """Exactly the bytes asked for; to the end of the file where no length is given.

        :raises TruncatedError: if the file ends before them.
        """
        with self.open(uri) as file:
            wanted = file.size() - offset if length is None else length
            data = file.read_at(offset, wanted) if wanted > 0 else b""
        if wanted < 0 or len(data) != wanted:
            raise TruncatedError(
                f"the file ends {wanted - len(data) if wanted > 0 else -wanted} bytes too early",
                expected=f"{wanted} bytes from {offset} on" if length is not None else f"at least {offset} bytes",
                file=normalize(uri),
                offset=offset + len(data) if wanted > 0 else offset + wanted,
            )
        return data

    def open(self, uri: str) -> OpenFile:
        """Open a file for ranged reads."""
        address = split_uri(uri)
        with _OurErrors(str(address)):
            if address.scheme == "file":
                return _LocalFile(address.path)
            filesystem, path = self._resolve(address)
            return _ArrowFile(filesystem.open_input_file(path), str(address))

    def info(self, uri: str) -> Entry | None:
        """What is there; None if nothing is."""
        address = split_uri(uri)
        with _OurErrors(str(address)):
            if address.scheme == "file":
                try:
                    return _local_entry(address.path, os.stat(address.path))
                except OSError as error:
                    if error.errno in _ABSENT:
                        return None
                    raise
            filesystem, path = self._resolve(address)
            found = filesystem.get_file_info(path)
            if found.type == _arrow_fs().FileType.NotFound:
                return None
            return _arrow_entry(found, name_of(uri), str(address))

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

    def list(self, uri: str) -> list[Entry]:
        """What lies directly in a folder, by name."""
        address = split_uri(uri)
        with _OurErrors(str(address)):
            entries = self._list_local(address.path) if address.scheme == "file" else self._list_arrow(address)
            return sorted(entries, key=lambda entry: entry.name)

    def _list_local(self, path: str) -> Iterator[Entry]:
        with os.scandir(path) as entries:
            for entry in entries:
                # A link to nowhere is as good as absent.
                with contextlib.suppress(FileNotFoundError):
                    yield _local_entry(entry.path, entry.stat())

    def _list_arrow(self, address: Address) -> Iterator[Entry]:
        filesystem, path = self._resolve(address)
        for found in filesystem.get_file_info(_arrow_fs().FileSelector(path)):
            yield _arrow_entry(found, found.base_name, join(str(address), found.base_name))

    def _resolve(self, address: Address) -> tuple[Any, str]:
        """The filesystem of an address, and the path as that filesystem wants it."""
        key = (address.scheme, address.authority)
        with self._lock:
            if key not in self._filesystems:
                self._filesystems[key] = self._connect(address)
            filesystem, base = self._filesystems[key]
        inner = address.path.lstrip("/")
        return filesystem, f"{base.rstrip('/')}/{inner}".rstrip("/") if base.strip("/") else base + inner

    def _connect(self, address: Address) -> tuple[Any, str]:
        options = self.options.get(address.scheme, {})
        root = f"{address.scheme}://{address.authority}/" + ("?" + urlencode(options) if options else "")
        try:
            filesystem, base = _arrow_fs().FileSystem.from_uri(root)
            return filesystem, base
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            return self._connect_fsspec(address, options, error)

    def _connect_fsspec(self, address: Address, options: dict[str, Any], refused: Exception) -> tuple[Any, str]:
        try:
            import fsspec  # only for schemes that pyarrow does not have
        except ImportError:
            raise UnreadableFileError(
                f"no filesystem for {address.scheme}://: {refused}",
                advice="install fsspec and its package for this store",
                file=str(address),
            ) from None
        try:
            filesystem = fsspec.filesystem(address.scheme, **options)
        except (ValueError, ImportError) as error:
            raise UnreadableFileError(
                f"no filesystem for {address.scheme}://: {error}",
                expected="a scheme that pyarrow or fsspec opens",
                file=str(address),
            ) from None
        base = filesystem._strip_protocol(f"{address.scheme}://{address.authority}/")
        arrow_fs = _arrow_fs()
        return arrow_fs.PyFileSystem(arrow_fs.FSSpecHandler(filesystem)), base


class _LocalFile:
    """A local file; ``pread`` has no shared position, so threads do not meet."""

    late = False

    def __init__(self, path: str) -> None:
        self._path = path
        self._handle = os.open(path, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
        status = os.fstat(self._handle)
        self._size = status.st_size
        if stat.S_ISDIR(status.st_mode):
            self.close()
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)

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

    def start_read(self, offset: int, length: int) -> Future[bytes]:
        return done(lambda: self.read_at(offset, length))

    def size(self) -> int:
        return self._size

    def close(self) -> None:
        handle, self._handle = self._handle, -1
        if handle >= 0:
            os.close(handle)

    def __enter__(self) -> OpenFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_handle", -1) >= 0:
            self.close()


class _ArrowFile:
    late = True

    def __init__(self, file: Any, uri: str) -> None:
        self._file = file
        self._uri = uri
        self._size: int = file.size()
        self._reads: list[Future[bytes]] = []
        self._process = os.getpid()

    def read_at(self, offset: int, length: int) -> bytes:
        length = min(length, self._size - offset)
        if length <= 0:
            return b""
        with _OurErrors(self._uri):
            return bytes(self._file.read_at(length, offset))

    def read_into(self, offset: int, room: memoryview) -> int:
        data = self.read_at(offset, len(room))
        room[: len(data)] = data
        return len(data)

    def start_read(self, offset: int, length: int) -> Future[bytes]:
        self._reads = [read for read in self._reads if not read.done()]
        read = READING.begin(lambda: self.read_at(offset, length))
        if read is None:
            return done(lambda: self.read_at(offset, length))
        self._reads.append(read)
        return read

    def size(self) -> int:
        return self._size

    def close(self) -> None:
        # Nothing is read behind it. In a forked process nobody reads what the other one began.
        reads = self._reads if self._process == os.getpid() else []
        self._reads = []
        try:
            wait([read for read in reads if not read.cancel()])
        finally:
            self._file.close()

    def __enter__(self) -> OpenFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _local_entry(path: str, status: os.stat_result) -> Entry:
    return Entry(os.path.basename(path), path, stat.S_ISDIR(status.st_mode), status.st_mtime, status.st_size)


def _arrow_entry(found: Any, name: str, uri: str) -> Entry:
    mtime = None if found.mtime is None else found.mtime.timestamp()
    return Entry(name, uri, found.type == _arrow_fs().FileType.Directory, mtime, found.size)


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
                "permission denied", advice="run as a user who may read it", file=self.uri
            ) from None
        if isinstance(error, UnicodeEncodeError) or (isinstance(error, ValueError) and "null byte" in str(error)):
            # Only a damaged handle has such a path.
            raise MissingFileError("a path that cannot exist", file=ascii(self.uri)) from None
        if isinstance(error, OSError | pa.ArrowException):
            reason = getattr(error, "strerror", None) or str(error)
            raise UnreadableFileError(f"the file cannot be read: {reason}", file=self.uri) from None
