"""Numbers of rows that are in the files, so that no entry has to be walked.

The counts are there for elements of operator state's lists, each of which has an offset in ``_metadata``, and for the state
that comes first in the key groups of an uncompressed heap file, whose count comes before its entries. Where another state
comes first, or a map may be empty and its key no row, only a walk over the entries counts rows.

Flink's classes: ``OperatorStateHandle.StateMetaInfo``, ``HeapSnapshotStrategy``.
"""

from __future__ import annotations

from collections.abc import Iterator

from stateextract.errors import StateExtractError, TruncatedError
from stateextract.files.piece import FilePiece
from stateextract.files.read_ahead import AHEAD, ReadAhead
from stateextract.files.window import ReadAt
from stateextract.snapshot.content import Content
from stateextract.snapshot.headers import StateFile
from stateextract.snapshot.inventory import NamedState
from stateextract.snapshot.open_files import SnapshotFiles
from stateextract.state.bodies.body import BodyKind
from stateextract.state.header import KeyedHeader

_FEW = 2  # reads that are made one after the other
_NEAR = 64 << 10  # bytes that cost no more than a read
_HEAD = 10
"""Bytes before the first entry of a key group: its id, the id of the first state, the number of entries."""


def counts_in_files(files: SnapshotFiles, state: NamedState) -> int | None:
    """The rows of a state as its files count them; ``None`` where they do not.

    :raises StateExtractError: where a file cannot be read.
    """
    if state.scope == "operator":
        counts = [_elements(file, state) for file in state.files]
        return None if None in counts else sum(count or 0 for count in counts)
    if not all(_counts(file, state) for file in state.files):
        return None
    total = 0
    work = ((file, file.content) for file in state.files if file.content is not None)
    for file, content in files.in_order(work, _early):
        count = _entries(files, file, content, state)
        if count is None:
            return None
        total += count
    return total


def _counts(file: StateFile, state: NamedState) -> bool:
    """Whether a file may say how many entries it has."""
    header, content = file.header, file.content
    if not isinstance(header, KeyedHeader) or content is None or header.compressed or content.changes is not None:
        return False
    return content.form is BodyKind.HEAP and state.kind != "MAP"


def _elements(file: StateFile, state: NamedState) -> int | None:
    if state.kind == "BROADCAST" or file.content is None:
        return None
    parts = [part for part in file.content.partitions if part.name == state.name]
    # More elements than bytes: a walk says whether they have none.
    return None if any(len(part.offsets) > part.size for part in parts) else sum(len(part.offsets) for part in parts)


def _entries(files: SnapshotFiles, file: StateFile, content: Content, state: NamedState) -> int | None:
    assert isinstance(file.header, KeyedHeader)
    total = 0
    try:
        with files.opened(file) as read_at:
            for r, start in zip(content.ranges, _starts(read_at, content), strict=True):
                count = int.from_bytes(start[6:], "big", signed=True)
                if int.from_bytes(start[:4], "big", signed=True) != r.key_group or len(start) < _HEAD or count < 0:
                    return None  # corruption, which a walk reports
                state_id = int.from_bytes(start[4:6], "big")
                if state_id >= len(file.header.states) or file.header.states[state_id].name != state.name:
                    return None
                if count > r.end - r.start:
                    return None  # more than there can be: a walk says whether entries have no bytes, or are missing
                total += count
    except TruncatedError:
        return None  # which a walk reports, too
    except StateExtractError as error:
        raise files.with_location(error, file) from None
    return total


def _early(content: Content) -> list[tuple[int, int]]:
    """What is read early: the first bytes of each key group, where these are few or near one another."""
    starts = [r.start for r in content.ranges]
    if len(starts) <= _FEW:
        return [(at, at + _HEAD) for at in starts]
    return [(starts[0], starts[-1] + _HEAD)] if starts[-1] - starts[0] <= _NEAR else []


def _starts(read_at: ReadAt, content: Content) -> Iterator[bytes]:
    """The first bytes of each key group."""
    if isinstance(read_at, FilePiece) and read_at.remote:
        ahead = ReadAhead(read_at.start_read, ((r.start, _HEAD) for r in content.ranges), most=4 * AHEAD)
        return iter(ahead.next, None)
    return (read_at(r.start, _HEAD) for r in content.ranges)
