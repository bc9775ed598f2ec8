"""Rows that are written anew: framed as pairs and read like those of any other body.

So changed rows go through the same decoders, columns and counters as unchanged ones, and lengths bound whatever is wrong
inside of them. Rows are gathered to a few megabytes before they are decoded, since each run needs a decoder of its own.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from stateextract.changelog.changed_states import ChangedState
from stateextract.changelog.mixed import MixedRow, WithLocation, read_mixed
from stateextract.errors import StateExtractError, UndecodableError, ValueRefusedError
from stateextract.files.window import RangeSource
from stateextract.state.counters import Counters
from stateextract.state.engine import read_entry_pairs
from stateextract.state.state_columns import ReadOptions
from stateextract.state.target import FileRead, Piece, Target, advised

GATHERED = 8 << 20
"""Bytes of rows of one state that are decoded together, unless a row is larger."""

_LARGEST = (1 << 31) - 1


@dataclass
class _PairRows:
    """Pairs of one state: their bytes, and where each one begins and came from."""

    lengths: bool
    data: bytearray = field(default_factory=bytearray)
    starts: list[int] = field(default_factory=list)
    origins: list[tuple[int, int | None]] = field(default_factory=list)


@dataclass
class _Mixed:
    """Rows of which the same serializers wrote parts, and their bytes."""

    lengths: bool
    rows: list[MixedRow] = field(default_factory=list)
    size: int = 0


class PairWriter:
    """Takes rows and gives out batches.

    :param with_location: of the log that the rows' changes are in.
    """

    def __init__(self, options: ReadOptions, counters: Counters, subtask: int, with_location: WithLocation) -> None:
        self.ready: deque[Piece] = deque()
        self.options = options
        self.counters = counters
        self.subtask = subtask
        self.with_location = with_location
        self._rows: dict[tuple[ChangedState, bool], _PairRows] = {}
        self._mixed: dict[tuple[ChangedState, ...], _Mixed] = {}

    def add(
        self,
        state: ChangedState,
        group: int,
        location: int | None,
        key: bytes,
        lengths: bool,
        value: bytes | Sequence[tuple[bytes, bytes]],
    ) -> None:
        """A row.

        :param group: its key group; :param location: of the change that it came from, if that is known.
        :param key: of its pair, with the key group in front; :param lengths: there are lengths in it.
        :param value: as a heap file has it, or the entries of a map that has some: user keys and flagged values.
        """
        entries = not isinstance(value, bytes)
        rows = self._rows.setdefault((state, entries), _PairRows(lengths))
        for user_key, data in ((b"", value),) if isinstance(value, bytes) else value:
            if len(data) > _LARGEST:
                error = ValueRefusedError(
                    "one value has more than 2 GiB after its changes", state=state.name, key_group=group
                )
                raise error if location is None else self.with_location(error, location)
            rows.starts.append(len(rows.data))
            rows.origins.append((group, location))
            for part in (key + user_key, data):
                rows.data += len(part).to_bytes(4, "big") + part
        if len(rows.data) >= GATHERED:
            self._flush(state, entries)

    def add_parts(self, parts: Sequence[tuple[ChangedState, bytes, bool, bytes]], group: int, location: int) -> None:
        """A row whose list or map several serializers wrote parts of.

        :param parts: for each the state by its serializers, and key, lengths and value as :meth:`add` takes them; none empty.
        :param location: of the change that the row came from.
        """
        states = tuple(state for state, *_ in parts)
        mixed = self._mixed.setdefault(states, _Mixed(parts[0][2]))
        pairs = [b"".join(len(part).to_bytes(4, "big") + part for part in (key, value)) for _, key, _, value in parts]
        row = MixedRow(group, location, pairs, [int.from_bytes(value[:4], "big") for *_, value in parts])
        mixed.rows.append(row)
        mixed.size += row.size
        if mixed.size >= GATHERED:
            self._flush_mixed(states)

    def refuse(self, error: UndecodableError, state: ChangedState, group: int, location: int, data: bytes) -> None:
        """A row that cannot be made: lost, or kept as bytes, or the end."""
        error = error.at(state=state.name, key_group=group)
        choice = self.options.of_state(state.name).on_undecodable
        if choice == "fail":
            raise advised(self._of(error, location))
        counted = self.counters.of(state.name)
        counted.lost_entries += 1
        counted.problem(error.message)
        if choice == "raw":
            file_read = FileRead({state.name}, self.options, self.counters, self.subtask, self.ready)
            Target(file_read, state.row).raw(group, 0, 1, data, error.message)

    def _of(self, error: UndecodableError, location: int) -> UndecodableError:
        self.with_location(error, location)
        return error

    def finish(self) -> None:
        """Decode what is left."""
        for state, entries in list(self._rows):
            self._flush(state, entries)
        for states in list(self._mixed):
            self._flush_mixed(states)

    def _flush_mixed(self, states: tuple[ChangedState, ...]) -> None:
        mixed = self._mixed.pop(states)
        found = read_mixed(states, mixed.lengths, mixed.rows, self.options, self.counters, self.subtask, self.with_location)
        self.ready.extend(found)

    def _flush(self, state: ChangedState, entries: bool) -> None:
        rows = self._rows.pop((state, entries))
        data = bytes(rows.data)
        part = Counters()

        def read_at(at: int, n: int) -> bytes:
            return data[at : at + n]

        source = RangeSource(read_at, 0, len(data))
        try:
            found = read_entry_pairs(source, state.row, rows.lengths, self.options, part, self.subtask, entries)
            self.ready.extend(found)
        except StateExtractError as error:
            if error.offset is not None:
                group, location = rows.origins[bisect_right(rows.starts, error.offset) - 1]
                error.offset = None
                error.at(key_group=group)
                if location is not None:
                    self.with_location(error, location)
            raise
        # What the changes took in their files is counted where they are read.
        part.of(state.name).bytes = 0
        self.counters.add(part)
