"""Rows of an overlay: what became of one key and namespace since the state was materialized.

A row that is not in an overlay is as it was materialized. A :class:`ValueRow` is a sequence of *parts*: bytes that a change
wrote, or the id of a row whose materialized value is here, its own or, after windows were merged, another's. A
:class:`MapRow` has what became of each user key, over the materialized map or over nothing. Everything is kept as the bytes
that the serializers wrote; nothing is decoded. Knows no files.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias, TypeVar

from stateextract.changelog.changed_states import ChangedState
from stateextract.errors import UndecodableError, UnsupportedError
from stateextract.state.causes import USER_KEYS_CHANGED

ROW_COST, PART_COST = 400, 160
"""Bytes that a row, and a part of one, take in memory next to the bytes that they hold: a bound of what was measured."""


class Written:
    """Bytes that changes wrote: a value, or ``count`` elements of a list.

    :param state: by whose serializers; :param location: of the last change.
    """

    __slots__ = ("count", "data", "location", "state")

    def __init__(self, state: ChangedState, location: int, count: int, data: bytes) -> None:
        self.state = state
        self.location = location
        self.count = count
        self.data: bytes | bytearray = data

    def extend(self, location: int, count: int, data: bytes) -> None:
        """More elements after these."""
        if isinstance(self.data, bytes):
            self.data = bytearray(self.data)
        self.data += data
        self.count += count
        self.location = location


ValuePart: TypeAlias = Written | bytes
"""Written bytes, or the id of a row as it was materialized."""

Found: TypeAlias = "tuple[int, bytes] | None"
"""A materialized value as a heap file has it: how many elements (of a value: 1), and their bytes; ``None``: no such row."""


MapEntry: TypeAlias = tuple[bytes, bytes]
"""Of a map: user key, and the flag and the value."""
MapEntries: TypeAlias = Iterable[MapEntry]

T = TypeVar("T")


class ValueRow:
    """A value, or the list that its parts make one after the other. No parts: there is no row.

    :param location: of the change that made the row.
    """

    __slots__ = ("group", "location", "parts", "settled")

    def __init__(self, group: int, location: int, parts: list[ValuePart]) -> None:
        self.group = group
        self.location = location
        self.parts = parts
        self.settled = False

    def needs(self) -> Iterator[bytes]:
        """Ids of the rows whose materialized values are parts of this one."""
        return (part for part in self.parts if isinstance(part, bytes))


class MapRow:
    """A map.

    :param entries: by user key the flag and the value as a heap file has them; ``None``: removed.
    :param state: whose serializers wrote the entries; ``None``: there are none.
    :param older: entries by other serializers, which were written before, with those.
    :param includes_base: the materialized entries of the row are there too, but for those.
    :param stays_empty: the row is there though its map is empty: yes, no, or ``None``: if it was materialized.
    """

    __slots__ = ("entries", "group", "includes_base", "location", "older", "settled", "state", "stays_empty")

    def __init__(self, group: int, location: int, includes_base: bool = True) -> None:
        self.group = group
        self.location = location
        self.entries: dict[bytes, bytes | None] = {}
        self.state: ChangedState | None = None
        self.older: tuple[tuple[ChangedState, dict[bytes, bytes | None]], ...] = ()
        self.includes_base = includes_base
        self.stays_empty: bool | None = None
        self.settled = False

    def clear(self) -> None:
        """No entries are left."""
        self.entries, self.state, self.older, self.includes_base, self.stays_empty = {}, None, (), False, False

    def put(self, state: ChangedState, user_key: bytes, value: bytes | None) -> None:
        """Put an entry, or remove it."""
        if self.state is None or self.state is state or self.state.same_values(state):
            self.state = state
        else:
            _check_user_keys(self.state, state)
            self.older = (*self.older, (self.state, self.entries))
            self.entries, self.state = {}, state
        if value is None and not self.includes_base and not self.older:
            self.entries.pop(user_key, None)
        else:
            self.entries[user_key] = value

    def over(self, base: MapEntries | None, by: ChangedState | None) -> list[tuple[ChangedState, list[MapEntry]]] | None:
        """The map's entries, each as user key and flagged value, with whose serializers wrote them; ``None``: no row.

        :param base: the materialized entries; ``None``: the row was not materialized. :param by: whose serializers wrote them.
        """
        layers = [*self.older, *([] if self.state is None else [(self.state, self.entries)])]
        if base is not None and by is not None:
            for state, _ in layers:
                _check_user_keys(state, by)
            layers.insert(0, (by, dict(base)))
        hidden: set[bytes] = set()
        found: list[tuple[ChangedState, list[MapEntry]]] = []
        for state, entries in reversed(layers):
            found.append((state, [(k, v) for k, v in entries.items() if v is not None and k not in hidden]))
            hidden.update(entries)
        found.reverse()
        found = joined([(state, entries) for state, entries in found if entries])
        if not found and not (base is not None if self.stays_empty is None else self.stays_empty):
            return None
        return found


def _check_user_keys(one: ChangedState, other: ChangedState) -> None:
    if not one.same_user_keys(other):
        raise UnsupportedError(
            USER_KEYS_CHANGED,
            advice="let Flink write a savepoint of the job, in which the whole state has one serializer",
            state=one.name,
        )


def joined(parts: Iterable[tuple[ChangedState, list[T]]]) -> list[tuple[ChangedState, list[T]]]:
    """Parts one after the other of which the values have the same bytes, in one."""
    found: list[tuple[ChangedState, list[T]]] = []
    for state, items in parts:
        if found and found[-1][0].same_values(state):
            found[-1][1].extend(items)
        else:
            found.append((state, list(items)))
    return found


class UnresolvedError(UndecodableError):
    """A value that the job's own function made of others, which are all that the snapshot has."""
