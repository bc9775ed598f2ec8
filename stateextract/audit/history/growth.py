"""How states grew from snapshot to snapshot.

A state is the same in every snapshot that has its operator's id, its name and its kind (which tells keyed from operator state):
labels, uids, parallelism and the state backend may change. May import the rows of a history.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from stateextract.audit.document import Snapshot, Totals
from stateextract.outcome import Status

MEASURES = ("rows", "file_bytes", "decoded_bytes")
"""What grows, by the names of the statistics document."""
COLUMNS = (
    "operator_id", "operator_label", "state_name", "state_kind", "status", "row_count", "file_bytes", "decoded_bytes",
)  # fmt: skip
"""The columns of a history that are looked at."""


@dataclass(frozen=True)
class Change:
    """A measure in the oldest and the newest snapshot.

    :param first: ``None`` where the state was not there, or the measure is not known; :param last: likewise.
    :param change: from one to the other, where a state that is not there counts as 0; ``None``: not known.
    """

    first: int | None
    last: int | None
    change: int | None


@dataclass
class Series:
    """A state over the snapshots, from the oldest to the newest.

    :param operator: its label in the newest snapshot that has the state.
    :param there: which snapshots have it.
    :param values: by measure; ``None`` where the state is not there, or was not read.
    """

    operator_id: str
    operator: str
    state: str | None
    kind: str
    there: list[bool]
    values: dict[str, list[int | None]] = field(default_factory=dict)

    @property
    def new(self) -> bool:
        """Whether the oldest snapshot lacks it."""
        return not self.there[0]

    @property
    def gone(self) -> bool:
        """Whether the newest snapshot lacks it."""
        return not self.there[-1]

    def change(self, measure: str) -> Change:
        """From the oldest to the newest snapshot."""
        first, last = self.values[measure][0], self.values[measure][-1]
        before = 0 if self.new else first
        after = 0 if self.gone else last
        return Change(first, last, None if before is None or after is None else after - before)


def series_of(tables: Sequence[pa.Table]) -> list[Series]:
    """All states of some snapshots, in the order in which they first occur, but for those that nobody ever asked for.

    :param tables: the rows of each snapshot (:data:`COLUMNS`), from the oldest to the newest.
    """
    found: dict[tuple[str, str | None, str], Series] = {}
    asked = set()
    for place, table in enumerate(tables):
        for row in table.select(list(COLUMNS)).to_pylist():
            operator_id, label, name, kind, status, *values = (row[column] for column in COLUMNS)
            key = operator_id, name, kind
            series = found.get(key)
            if series is None:
                count = len(tables)
                series = Series(operator_id, label, name, kind, [False] * count, {m: [None] * count for m in MEASURES})
                found[key] = series
            if status != Status.NOT_SELECTED:
                asked.add(key)
            series.operator, series.there[place] = label, True
            for measure, value in zip(MEASURES, values, strict=True):
                # Parts of an operator without a name may be several of one kind.
                if value is not None:
                    series.values[measure][place] = (series.values[measure][place] or 0) + value
    return [series for key, series in found.items() if key in asked]


def by_growth(series: Sequence[Series]) -> list[Series]:
    """Those that grew most first: by decoded bytes, then by rows; last those of which it is not known."""

    def rank(one: Series) -> tuple[Any, ...]:
        changes = [one.change(measure).change for measure in ("decoded_bytes", "rows", "file_bytes")]
        order = [(change is None, -(change or 0)) for change in changes]
        return (*order, one.operator, one.state or "", one.kind)

    return sorted(series, key=rank)


def total_change(measure: str, totals: Sequence[Totals], series: Sequence[Series]) -> Change:
    """How all states together grew. It is not known where one of them was read in only one of the two snapshots.

    :param totals: of the snapshots, from the oldest to the newest, at least one; :param series: of their states.
    """
    first, last = getattr(totals[0], measure), getattr(totals[-1], measure)
    changes = [one.change(measure) for one in series] if measure in MEASURES else []
    known = all(c.change is not None or (c.first is None and c.last is None) for c in changes)
    return Change(first, last, last - first if known else None)


def growth_as_dict(snapshots: Sequence[tuple[Snapshot, Totals]], series: Sequence[Series]) -> dict[str, Any]:
    """Growth as a document for scripts.

    :param snapshots: from the oldest to the newest; :param series: of their states.
    """
    measures, totals = ("states", *MEASURES), [total for _, total in snapshots]
    return {
        "snapshots": [
            {
                "checkpoint_id": snapshot.checkpoint_id, "taken_ms": snapshot.taken_ms, "path": snapshot.path,
                **{measure: getattr(total, measure) for measure in measures},
            }
            for snapshot, total in snapshots
        ],
        "totals": {m: vars(total_change(m, totals, series)) for m in measures if totals},
        "states": [
            {
                "operator_id": one.operator_id, "operator_label": one.operator, "state_name": one.state, "state_kind": one.kind,
                "new": one.new, "gone": one.gone, **{measure: vars(one.change(measure)) for measure in MEASURES},
            }
            for one in by_growth(series)
        ],
    }  # fmt: skip


__all__ = ["COLUMNS", "MEASURES", "Change", "Series", "by_growth", "growth_as_dict", "series_of", "total_change"]
