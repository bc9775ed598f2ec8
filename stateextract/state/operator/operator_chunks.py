"""Where the elements of a compressed operator state file begin in its uncompressed stream, from the offsets of chunks.

Needed only where an element cannot be decoded and so does not say where the next one begins. Reads the headers of all
chunks. Gives nothing where the offsets are those that Flink 1.18.0 and 1.18.1 wrote, which say where the output had
arrived when an element began: several are the same, or come after chunks that were written because they were full.

Flink's classes: ``CompressibleFSDataOutputStream``, ``DefaultOperatorStateBackendSnapshotStrategy``. Knows the framing of
``files/compression.py``; decompresses nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from stateextract.errors import FormatError
from stateextract.files.compression import BLOCK
from stateextract.files.window import ReadAt

_HEADER = 4 + 4 + 3  # type and length, checksum, the longest varint of a block's plain length
_COMPRESSED, _PLAIN = 0, 1


def plain_positions(read_at: ReadAt, start: int, end: int, offsets: Sequence[int], codec: str) -> list[int] | None:
    """Positions in the uncompressed stream that belong to offsets in the file, and the stream's length.

    :param start: where the compressed stream begins, ``end`` where it ends.
    :param offsets: of the elements of all states, in the order of the file.
    :returns: ``None`` where the offsets cannot be trusted.
    """
    if codec != "snappy" or any(b <= a for a, b in itertools.pairwise(offsets)):
        return None
    selected = {offset: number for number, offset in enumerate(offsets)}
    found = [-1] * len(offsets)
    position, before = 0, 0
    while start < end:
        length, plain = _chunk(read_at, start, end)
        number = selected.get(start)
        if number is not None:
            if before == BLOCK:
                return None
            found[number] = position
        position += plain
        if plain:
            before = plain
        start += 4 + length
    return None if -1 in found else [*found, position]


def _chunk(read_at: ReadAt, start: int, end: int) -> tuple[int, int]:
    """Length and plain length of the chunk at an offset."""
    data = read_at(start, min(_HEADER, end - start))
    length = int.from_bytes(data[1:4], "little")
    if len(data) < 4 or start + 4 + length > end:
        raise FormatError("a Snappy chunk reaches beyond the file", offset=start)
    kind = data[0]
    plain = 0
    if kind == _PLAIN:
        plain = max(length - 4, 0)
    elif kind == _COMPRESSED:
        for i, byte in enumerate(data[8:]):
            plain |= (byte & 0x7F) << (7 * i)
            if byte < 0x80:
                break
    return length, plain
