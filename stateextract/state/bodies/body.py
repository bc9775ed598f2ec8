"""Which body a key-group handle's file holds after its head. The handle's code alone does not say it.

Flink's heap backend and RocksDB's full snapshots (up to 1.15) used the same handle codes for different bodies, so the
offsets and a few bytes decide: a heap body has an offset for every key group, also for empty ones, and there the key
group's number uncompressed; a full snapshot has offset 0 for key groups without data and neither number nor count.

Decides; reads nothing but the few bytes it asks for. Flink's classes: ``HeapSnapshotStrategy``,
``FullSnapshotAsyncWriter``, ``MetadataV2V3SerializerBase``. May import errors only.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from stateextract.errors import FormatError
from stateextract.files.window import ReadAt

KEY_GROUPS_SAVEPOINT, KEY_GROUPS_V2 = 7, 12

SNAPPY_IDENTIFIER = b"\xff\x06\x00\x00sNaPpY"


class BodyKind(Enum):
    """What comes after the head."""

    HEAP = "heap"
    FULL_SNAPSHOT = "full snapshot"
    RAW = "raw keyed state"
    SST_FILES = "SST files"
    CHANGELOG = "changelog"
    OPERATOR = "operator state"
    UNDECIDED = "heap or full snapshot"


def body_kind(
    code: int,
    offsets: Sequence[int],
    first: int,
    compressed: bool,
    read_at: ReadAt,
    *,
    states: int | None = None,
) -> BodyKind:
    """Which body the file of a handle of key groups holds.

    :param code: the handle's code in ``_metadata``: 3, 7 or 12.
    :param offsets: the offsets of its key groups, in order.
    :param first: number of the first key group.
    :param compressed: the head's flag.
    :param read_at: ``read_at(offset, n)`` gives up to ``n`` bytes of the file, fewer only at its end.
    :param states: number of states in the head, which helps where key group 0 is alone and begins with four zero bytes.
    :returns: :attr:`BodyKind.UNDECIDED` where that does not help: both must be tried, and only the right one ends at the
        end of the key group.
    :raises FormatError: where the bytes fit no body.
    """
    # The head is at 0, so no heap offset is 0.
    if code == KEY_GROUPS_SAVEPOINT or not offsets or 0 in offsets:
        return BodyKind.FULL_SNAPSHOT
    if compressed:
        return _compressed_kind(offsets[0], read_at)
    return _plain_kind(offsets, first, states, read_at)


def _compressed_kind(offset: int, read_at: ReadAt) -> BodyKind:
    """A heap body has the key group's number before its Snappy streams, a full snapshot has not."""
    start = read_at(offset, 4 + len(SNAPPY_IDENTIFIER))
    # The number must be looked at last: 0xFF060000 is not a key group, so the two cannot be confused.
    if start.startswith(SNAPPY_IDENTIFIER):
        return BodyKind.FULL_SNAPSHOT
    if start[4:] == SNAPPY_IDENTIFIER or len(start) == 4:
        return BodyKind.HEAP
    raise FormatError(
        "the header marks the key groups as compressed, but no Snappy stream begins at the first one",
        expected=f"{SNAPPY_IDENTIFIER.hex()} there, or after a key group's number",
        offset=offset,
    )


def _plain_kind(offsets: Sequence[int], first: int, states: int | None, read_at: ReadAt) -> BodyKind:
    """Each key group has a say, so that one that is damaged does not make the file another than it is."""
    numbers = pairs = 0
    for number, offset in enumerate(offsets, first):
        start = read_at(offset, _PAIR_START)
        numbers += start[:4] == number.to_bytes(4, "big")
        pairs += _begins_a_pair(start, number, states)
    if first == 0 and numbers == 1 and pairs <= 1:
        # Key group 0, or state 0 with a key shorter than 64 KiB; and no other key group that is sound.
        end = min((offset for offset in offsets if offset > offsets[0]), default=offsets[0] + _WINDOW)
        data = read_at(offsets[0], min(end - offsets[0], _WINDOW))
        full = None if states is None else _is_full_snapshot(data, states)
        if full is not None:
            return BodyKind.FULL_SNAPSHOT if full else BodyKind.HEAP
        return BodyKind.UNDECIDED if len(offsets) == 1 else BodyKind.HEAP
    if not numbers and not pairs:
        raise FormatError(
            "the key groups are neither those of a heap body nor those of a full snapshot",
            expected=f"key group {first}'s number at its offset, or the id of a state and a key of that key group",
            key_group=first,
            offset=offsets[0],
        )
    return BodyKind.HEAP if numbers >= pairs else BodyKind.FULL_SNAPSHOT


_PAIR_START = 2 + 4 + 2


def _begins_a_pair(start: bytes, number: int, states: int | None) -> bool:
    """Whether these are a state's id, the length of a key, and the beginning of a key of that key group."""
    if len(start) < _PAIR_START or (states is not None and int.from_bytes(start[:2], "big") >= states):
        return False
    size = int.from_bytes(start[2:6], "big", signed=True)
    one, two = start[6] & 0x7F, (start[6] & 0x7F) << 8 | start[7]
    return (size >= 1 and one == number) or (size >= 2 and two == number)


_WINDOW = 1 << 16
_PAIRS = 64
_END = 0xFFFF


def _is_full_snapshot(data: bytes, states: int) -> bool | None:
    """Whether these are the pairs of key group 0, up to the end mark or for many pairs; ``None`` if that stays open."""
    whole = len(data) < _WINDOW
    pos, state = 2, int.from_bytes(data[:2], "big")
    for _ in range(_PAIRS):
        key, pos = _chunk(data, pos)
        value, pos = _chunk(data, pos)
        if state >= states or key < 1 or value < 0:
            return False
        start = pos - 4 - value - key
        if pos > len(data):
            return False if whole else None
        if data[start] & 0x7F:
            return False
        if data[start] & 0x80:
            state, pos = int.from_bytes(data[pos : pos + 2], "big"), pos + 2
            if state == _END and pos <= len(data):
                return pos == len(data) if whole else False
    return True


def _chunk(data: bytes, pos: int) -> tuple[int, int]:
    """The length at ``pos``, and where the bytes end that it counts."""
    length = int.from_bytes(data[pos : pos + 4].ljust(4, b"\0"), "big", signed=True)
    return length, pos + 4 + max(length, 0)
