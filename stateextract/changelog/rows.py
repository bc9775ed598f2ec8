"""Rows of an overlay: what became of one key and namespace since the state was materialized.

A row that is not in an overlay is as it was materialized. A :class:`ValueRow` is a sequence of *parts*: bytes that a change
wrote, or the id of a row whose materialized value stands here, its own or, after windows were merged, another's. A
:class:`MapRow` has what became of each user key, over the materialized map or over nothing. Everything is kept as the bytes
that the serializers wrote; nothing is decoded. Knows no files.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from stateextract.changelog.states import ChangedState
from stateextract.errors import UndecodableError

ROW_COST, PART_COST = 400, 160
"""Bytes that a row, and a part of one, take in memory beside the bytes that they hold: a bound of what was measured."""


class Written:
    """Bytes that changes wrote: a value, or ``count`` elements of a list.

    :param state: by whose serializers; :param place: of the last change.
    """

    __slots__ = ("count", "data", "place", "state")

    def __init__(self, state: ChangedState, place: int, count: int, data: bytes) -> None:
        self.state = state
        self.place = place
        self.count = count
        self.data: bytes | bytearray = data

    def extend(self, place: int, count: int, data: bytes) -> None:
        """More elements behind these."""
        if isinstance(self.data, bytes):
            self.data = bytearray(self.data)
        self.data += data
        self.count += count
        self.place = place


Part: TypeAlias = Written | bytes
"""Written bytes, or the id of a row as it was materialized."""

Found: TypeAlias = "tuple[int, bytes] | None"
"""A materialized value as a heap file has it: how many elements (of a value: 1), and their bytes; ``None``: no such row."""


class ValueRow:
    """A value, or the list that its parts make one after the other. No parts: there is no row.

    :param place: of the change that made the row.
    """

    __slots__ = ("group", "parts", "place", "settled")

    def __init__(self, group: int, place: int, parts: list[Part]) -> None:
        self.group = group
        self.place = place
        self.parts = parts
        self.settled = False

    def needs(self) -> Iterator[bytes]:
        """Ids of the rows whose materialized values are parts of this one."""
        return (part for part in self.parts if isinstance(part, bytes))


class MapRow:
    """A map.

    :param entries: by user key the flag and the value as a heap file has them; ``None``: removed.
    :param over_base: the materialized entries of the row are there too, but for those.
    :param stays_empty: the row is there though its map is empty: yes, no, or ``None``: if it was materialized.
    :param state: whose serializers wrote the entries; ``None``: there are none.
    """

    __slots__ = ("entries", "group", "over_base", "place", "settled", "state", "stays_empty")

    def __init__(self, group: int, place: int, over_base: bool = True) -> None:
        self.group = group
        self.place = place
        self.entries: dict[bytes, bytes | None] = {}
        self.over_base = over_base
        self.stays_empty: bool | None = None
        self.state: ChangedState | None = None
        self.settled = False

    def over(self, base: Iterable[tuple[bytes, bytes]] | None) -> list[tuple[bytes, bytes]] | None:
        """The map's entries, each as user key and flagged value; ``None``: no row.

        :param base: the materialized entries; ``None``: the row was not materialized.
        """
        entries = self.entries
        found = [(user_key, value) for user_key, value in base or () if user_key not in entries]
        found += [(user_key, written) for user_key, written in entries.items() if written is not None]
        if not found and not (base is not None if self.stays_empty is None else self.stays_empty):
            return None
        return found


class UnresolvedError(UndecodableError):
    """A value that the job's own function made of others, which are all that the snapshot has."""


__all__ = ["PART_COST", "ROW_COST", "Found", "MapRow", "Part", "UnresolvedError", "ValueRow", "Written"]
