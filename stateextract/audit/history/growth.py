"""How states grew from snapshot to snapshot.

A state is the same in every snapshot that has its operator's id, its name and its kind (keyed or operator state):
labels, uids, parallelism and the state backend may change. May import the rows of a history.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from stateextract.audit.document import SnapshotDocument, Totals
from stateextract.outcome import Status

MEASURES = ("rows", "file_bytes", "decoded_bytes")
"""What grows, by the names of the statistics document."""
COLUMNS = (
    "operator_id", "operator_label", "state_name", "state_kind", "status", "row_count", "file_bytes", "decoded_bytes",
    "distinct_keys", "entries", "overdue",
)  # fmt: skip
"""The columns of a history that are looked at."""
_COUNTED = ("distinct_keys", "entries", "overdue")
"""What growth is split by."""


@dataclass(frozen=True)
class MeasureChange:
    """A measure in the oldest and the newest snapshot.

    :param first: ``None`` where the state was not there, or the measure is not known; :param last: likewise.
    :param change: from one to the other, where a state that is not there counts as 0; ``None``: not known.
    """

    first: int | None
    last: int | None
    change: int | None


@dataclass(frozen=True)
class Split:
    """Why the decoded bytes of a state changed; the sum is the change.

    :param more_keys: as many more keys of the size that keys had.
    :param more_entries_per_key: entries of maps, elements of lists, windows and timers; of state without keys all entries.
    :param larger_values: other bytes for each entry.
    :param older_rows: entries that are due to go: expired, or past by the snapshot's progress.
    """

    more_keys: int
    more_entries_per_key: int
    larger_values: int
    older_rows: int


@dataclass(frozen=True)
class StateCounts:
    """What a state has. Nothing is known of keys in state without them, and of overdue entries where they have no time."""

    bytes: int
    keys: int | None
    entries: int
    overdue: int | None


def split_of(first: StateCounts, last: StateCounts) -> Split:
    """Split the change of the bytes.

    Entries count with the size that they had: first those overdue, then those of more keys, then more for each key. The rest is
    another size.
    """
    change = last.bytes - first.bytes
    if not first.entries:
        # All entries are new. Of what is overdue the size is that of all.
        older = round((last.overdue or 0) * last.bytes / last.entries) if last.entries else 0
        if last.keys is None:
            return Split(0, change - older, 0, older)
        # Keys without entries, as of empty maps, have some bytes too.
        more = round((last.keys - first.keys) * first.bytes / first.keys) if first.keys else change - older
        return Split(more, change - older - more, 0, older)
    each = first.bytes / first.entries
    known = first.overdue is not None and last.overdue is not None
    overdue = (first.overdue or 0, last.overdue or 0) if known else (0, 0)
    older = round((overdue[1] - overdue[0]) * each)
    current = first.entries - overdue[0], last.entries - overdue[1]
    if not first.keys or last.keys is None:
        entries = round((current[1] - current[0]) * each)
        return Split(0, entries, change - older - entries, older)
    if (first.keys, last.keys) == (first.entries, last.entries):
        # An overdue entry is a key that is due to go.
        more, entries = round((current[1] - current[0]) * each), 0
    else:
        per_key = current[0] / first.keys
        more = round((last.keys - first.keys) * per_key * each)
        entries = round((current[1] - last.keys * per_key) * each)
    return Split(more, entries, change - older - more - entries, older)


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

    def change(self, measure: str) -> MeasureChange:
        """From the oldest to the newest snapshot."""
        first, last = self.values[measure][0], self.values[measure][-1]
        before = 0 if self.new else first
        after = 0 if self.gone else last
        return MeasureChange(first, last, None if before is None or after is None else after - before)

    @property
    def split(self) -> Split | None:
        """Why the decoded bytes changed from the oldest to the newest snapshot; ``None``: it is not known."""
        if self.change("decoded_bytes").change is None:
            return None
        first, last = self._counts(0, self.new), self._counts(-1, self.gone)
        return None if first is None or last is None else split_of(first, last)

    def _counts(self, at: int, missing: bool) -> StateCounts | None:
        keys, entries, overdue = (self.values[name][at] for name in _COUNTED)
        if missing:
            other = self.values["distinct_keys"][-1 if at == 0 else 0]
            return StateCounts(0, None if other is None else 0, 0, 0)
        size = self.values["decoded_bytes"][at]
        return None if entries is None or size is None else StateCounts(size, keys, entries, overdue)


def series_of(tables: Sequence[pa.Table]) -> list[Series]:
    """All states of some snapshots, in the order in which they first occur, without those that were never selected.

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
                series = Series(operator_id, label, name, kind, [False] * count)
                series.values = {name: [None] * count for name in (*MEASURES, *_COUNTED)}
                found[key] = series
            if status != Status.NOT_SELECTED:
                asked.add(key)
            series.operator, series.there[place] = label, True
            for measure, value in zip((*MEASURES, *_COUNTED), values, strict=True):
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


def total_change(measure: str, totals: Sequence[Totals], series: Sequence[Series]) -> MeasureChange:
    """How all states together grew. It is not known where one of them was read in only one of the two snapshots.

    :param totals: of the snapshots, from the oldest to the newest, at least one; :param series: of their states.
    """
    first, last = getattr(totals[0], measure), getattr(totals[-1], measure)
    changes = [one.change(measure) for one in series] if measure in MEASURES else []
    known = all(c.change is not None or (c.first is None and c.last is None) for c in changes)
    return MeasureChange(first, last, last - first if known else None)


def growth_as_dict(snapshots: Sequence[tuple[SnapshotDocument, Totals]], series: Sequence[Series]) -> dict[str, Any]:
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
                "split": one.split and vars(one.split),
            }
            for one in by_growth(series)
        ],
    }  # fmt: skip
