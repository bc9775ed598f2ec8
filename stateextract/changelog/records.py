"""Change sets: what the changelog backend writes of one subtask at a time.

::

    change set = i32 groups · group × groups
    group      = i32 records · i32 key group, or -1 for metadata · (i32 length · record) × records
    record     = u8 operation · …

A set ends by its own counts; other sets, of other subtasks and operators, may follow. Records are handed on as they are:
``overlay.py`` knows what they do. Reads from a window; does no I/O itself. Flink's classes: ``StateChangeFormat``,
``StateChangeOperation``.
"""

from __future__ import annotations

from collections.abc import Container, Generator, Iterator
from enum import IntEnum
from typing import NamedTuple

from stateextract.errors import FormatError, TruncatedError
from stateextract.files.window import Window

METADATA_GROUP = -1
MAX_KEY_GROUPS = 1 << 15


class Operation(IntEnum):
    """``StateChangeOperation``."""

    CLEAR = 0
    SET = 1
    SET_INTERNAL = 2
    ADD = 3
    MERGE_NS = 4
    ADD_ELEMENT = 5
    ADD_OR_UPDATE_ELEMENT = 6
    REMOVE_ELEMENT = 7
    METADATA = 8


class Change(NamedTuple):
    """One record.

    :param key_group: its key group, or :data:`METADATA_GROUP`.
    :param location: where it is; the log that gave it knows what the number means.
    """

    key_group: int
    location: int
    data: bytes


def read_change_set(window: Window, selected: Container[int], first: int = 0) -> Generator[Change, None, int]:
    """The records of the set that the window is at, in order; the window is left after its last byte.

    :param selected: key groups whose records are returned, as metadata always are; the others are skipped.
    :param first: added to the places of changes, which are offsets in the window's stream.
    :returns: bytes of all records of the set.
    :raises FormatError: where a count or length cannot be right; with the offset, and the key group where it is known.
    """
    size = 0
    for _ in range(_number(window, "key groups")):
        group, records = _group(window)
        size += yield from _records(window, group, records, group == METADATA_GROUP or group in selected, first)
    return size


def read_metadata(window: Window, first: int = 0) -> Iterator[Change]:
    """Only the metadata of the set that the window is at: its first group, if there is any."""
    if _number(window, "key groups"):
        group, records = _group(window)
        if group == METADATA_GROUP:
            yield from _records(window, group, records, True, first)


def _group(window: Window) -> tuple[int, int]:
    records = _number(window, "changes")
    at = window.offset()
    group = _i32(window, "a key group")
    check_group(group, at)
    return group, records


def check_group(group: int, offset: int | None = None) -> None:
    """:raises FormatError: for a number that no key group has, and that is not that of metadata."""
    if not METADATA_GROUP <= group < MAX_KEY_GROUPS:
        raise FormatError(f"changes of key group {group}", expected=f"-1 or a number below {MAX_KEY_GROUPS}", offset=offset)


def _records(window: Window, group: int, count: int, selected: bool, first: int) -> Generator[Change, None, int]:
    total = 0
    try:
        for _ in range(count):
            at = window.offset()
            size = _i32(window, "the length of a change")
            if size < 1:
                raise FormatError(f"a change of {size} bytes", expected="at least 1", offset=at)
            total += size
            if not selected:
                window.skip(size)
                continue
            start = window.offset()
            data = window.take(size)
            if data is None:
                raise TruncatedError(
                    "the data ends inside a change",
                    expected=f"{size} bytes, {window.end - window.pos} are left",
                    offset=start,
                )
            yield Change(group, first + start, bytes(data))
    except FormatError as error:
        raise error.at(key_group=group) if group >= 0 else error from None
    return total


def _number(window: Window, what: str) -> int:
    at = window.offset()
    number = _i32(window, f"the number of {what}")
    if number < 0:
        raise FormatError(f"a negative number of {what}, {number}", offset=at)
    return number


def _i32(window: Window, what: str) -> int:
    data = window.take(4)
    if data is None:
        raise TruncatedError(f"the data ends inside {what}", offset=window.offset())
    return int.from_bytes(data, "big", signed=True)
