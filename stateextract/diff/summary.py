"""What a comparison found of each state: counts, to be added up over tasks, and what could not be compared.

Plain values and their JSON.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

BOTH, NEW, GONE, UNSURE = "both", "new", "gone", "unsure"
NOT_COMPARED = "not compared"


@dataclass
class EntryCounts:
    """Entries of maps that differ."""

    added: int = 0
    removed: int = 0
    changed: int = 0

    def add(self, other: EntryCounts) -> None:
        self.added += other.added
        self.removed += other.removed
        self.changed += other.changed


@dataclass
class DiffCounts:
    """Rows of one state.

    :param before: rows of the earlier snapshot; :param after: of the later one.
    :param fields: by the path of a field, in how many of the changed rows it differs.
    :param entries: by the path of a map among them, how its entries differ.
    :param left_out: key groups whose rows could not all be decoded and were therefore not compared, -1 for a state without
        key groups; :param reasons: why, each once.
    :param remarks: what else should be known of the rows, each once.
    :param adjusted: by what was done to them, how many values of both snapshots are not exactly what Flink had.
    """

    before: int = 0
    after: int = 0
    added: int = 0
    removed: int = 0
    changed: int = 0
    fields: dict[str, int] = field(default_factory=dict)
    entries: dict[str, EntryCounts] = field(default_factory=dict)
    left_out: list[int] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    adjusted: dict[str, int] = field(default_factory=dict)

    @property
    def unchanged(self) -> int:
        """Rows that are in both snapshots alike."""
        return self.before - self.removed - self.changed

    @property
    def differs(self) -> bool:
        """Whether anything is not the same."""
        return bool(self.added or self.removed or self.changed)

    def add(self, other: DiffCounts) -> None:
        """Take in the counts of another task."""
        for name in ("before", "after", "added", "removed", "changed"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        for mine, more in ((self.fields, other.fields), (self.adjusted, other.adjusted)):
            for key, count in more.items():
                mine[key] = mine.get(key, 0) + count
        for path, entries in other.entries.items():
            self.entries.setdefault(path, EntryCounts()).add(entries)
        self.left_out = sorted({*self.left_out, *other.left_out})
        for texts, others in ((self.reasons, other.reasons), (self.remarks, other.remarks)):
            texts += [text for text in others if text not in texts][: 20 - len(texts)]

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> DiffCounts:
        """The inverse of :meth:`as_dict`."""
        entries = {path: EntryCounts(**counts) for path, counts in data["entries"].items()}
        return cls(**{**data, "entries": entries})
