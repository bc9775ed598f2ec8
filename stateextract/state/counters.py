"""Tallies: what was read of each state, to be added up over key groups, files and tasks.

Plain numbers and texts that turn into JSON and back. May import the counters of changed values only.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from stateextract.columnar.convert.policy import ChangeCounts
from stateextract.printable import LONGEST_TEXT, shortened


@dataclass
class StateCounters:
    """What was read of a state.

    :param rows: rows given out; :param entries: entries decoded (more or fewer than rows where flattened or empty).
    :param bytes: size in the file's body, uncompressed, of what was read of it.
    :param key_groups: key groups read completely; :param lost_key_groups: those with bytes that could not be decoded.
    :param lost_entries: entries that the file counts and that could not be decoded, as far as known.
    :param raw_rows: rows of raw bytes given out instead.
    :param empty_maps: keys left out because their map is empty.
    :param changes: changes of a changelog that were applied to what was materialized.
    :param engine: ``kernel`` or ``interpreter``.
    :param copies: of broadcast state, for each subtask what its copy holds, as a digest of the entries in any order.
    :param problems: why something is missing, each reason once.
    :param failure: the status of the state if nothing of it could be read, as the first error says it.
    """

    rows: int = 0
    entries: int = 0
    bytes: int = 0
    key_groups: int = 0
    lost_key_groups: int = 0
    lost_entries: int = 0
    raw_rows: int = 0
    empty_maps: int = 0
    changes: int = 0
    engine: str = ""
    counts: ChangeCounts = field(default_factory=ChangeCounts)
    copies: dict[str, str] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    failure: str = ""

    _SUMS = (
        "rows", "entries", "bytes", "key_groups", "lost_key_groups", "lost_entries", "raw_rows", "empty_maps", "changes",
    )  # fmt: skip

    def problem(self, text: str) -> None:
        """Note a reason once, and neither endlessly many nor one without an end."""
        text = shortened(text, LONGEST_TEXT)
        if text not in self.problems and len(self.problems) < 20:
            self.problems.append(text)

    def add(self, other: StateCounters) -> None:
        """Take another file's counters in."""
        for name in self._SUMS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        if other.engine and self.engine != other.engine:
            self.engine = other.engine if not self.engine else "kernel and interpreter"
        self.counts += other.counts
        self.copies |= other.copies
        self.failure = self.failure or other.failure
        for text in other.problems:
            self.problem(text)

    @property
    def incomplete(self) -> bool:
        """Whether anything of the state is not there in typed rows."""
        return bool(self.lost_key_groups or self.lost_entries or self.raw_rows or self.failure)

    @property
    def differing(self) -> list[int]:
        """Subtasks whose copy of a broadcast state is not that of the first subtask."""
        copies = sorted((int(subtask), digest) for subtask, digest in self.copies.items())
        return [subtask for subtask, digest in copies if digest != copies[0][1]]

    def as_dict(self) -> dict[str, Any]:
        return {**vars(self), "counts": self.counts.as_dict(), "copies": {**self.copies}, "problems": [*self.problems]}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> StateCounters:
        """The inverse of :meth:`as_dict`."""
        return cls(**{**data, "counts": ChangeCounts(**data["counts"])})


@dataclass
class Counters:
    """What was read, by state."""

    states: dict[str, StateCounters] = field(default_factory=dict)

    def of(self, state: str) -> StateCounters:
        """The counters of a state, which start at 0."""
        return self.states.setdefault(state, StateCounters())

    def add(self, other: Counters) -> None:
        """Take other counters in."""
        for name, counters in other.states.items():
            self.of(name).add(counters)

    def as_dict(self) -> dict[str, Any]:
        return {name: counters.as_dict() for name, counters in self.states.items()}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Counters:
        """The inverse of :meth:`as_dict`."""
        return cls({name: StateCounters.from_dict(counters) for name, counters in data.items()})
