"""Reading a ``_metadata`` file from where it is. The format is that of ``parser.py``. May import: filesystem, parser."""

from __future__ import annotations

from stateextract.errors import FormatError, StateExtractError
from stateextract.files.filesystem import OpenFile, Store, normalize
from stateextract.metadata.model import SnapshotMetadata
from stateextract.metadata.parser import check_version, parse_metadata

MOST_BYTES = 1 << 30
"""A larger file is not read. Flink keeps a ``_metadata`` in memory as a whole, and so does this project."""

_FIRST = 1 << 20


def read_metadata(store: Store, uri: str) -> tuple[SnapshotMetadata, bytes]:
    """A snapshot's metadata, and the bytes of the file.

    :raises FormatError: for another file, whose first bytes say so before the others are read, and for one that is too large.
    """
    data = read_bytes(store, uri)
    try:
        return parse_metadata(data), data
    except StateExtractError as error:
        raise error.at(file=normalize(uri)) from None


def read_bytes(store: Store, uri: str) -> bytes:
    """The bytes of a ``_metadata`` file; the errors are those of :func:`read_metadata`."""
    try:
        with store.open(uri) as file:
            return _bytes_of(file)
    except StateExtractError as error:
        raise error.at(file=normalize(uri)) from None


def _bytes_of(file: OpenFile) -> bytes:
    size = file.size()
    first = file.read_at(0, min(size, _FIRST))
    check_version(first)
    if size > MOST_BYTES:
        raise FormatError(
            f"the _metadata file has {size} bytes",
            expected=f"at most {MOST_BYTES}",
            advice="inline state makes it large: lower state.storage.fs.memory-threshold of the job and take a new savepoint",
        )
    rest = file.read_at(len(first), size - len(first)) if size > len(first) else b""
    return first + rest
