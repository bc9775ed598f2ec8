"""The statistics document: the statistics of one snapshot as plain values, and its JSON.

``docs/statistics.md`` says what each field means; this is the one place that says how they are called. Times are
milliseconds since 1970, sizes bytes. Values of columns (``min``, ``max``, quantiles, keys) are JSON as
``columnar/arrow/json_values.py`` makes it. Opens nothing, computes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from stateextract.audit.from_json import made_of
from stateextract.errors import UsageError
from stateextract.printable import json_document
from stateextract.version import VERSION

FORMAT = 1


@dataclass(frozen=True)
class Distinct:
    """How many different values there are.

    :param exact: whether ``count`` is exact.
    :param error: else the relative error that it keeps in 95 of 100 cases; 0 where it is exact.
    """

    count: int
    exact: bool = True
    error: float = 0.0


@dataclass(frozen=True)
class Quantile:
    """The smallest value of which at least the share ``q`` of all values are not larger."""

    q: float
    value: Any


@dataclass(frozen=True)
class Lengths:
    """Of strings and binary values bytes, of lists elements, of maps entries.

    :param quantiles: with the column's ``rank_error``.
    """

    min: int
    mean: float
    max: int
    quantiles: list[Quantile] = field(default_factory=list)


@dataclass(frozen=True)
class ColumnDocument:
    """One column, or one field of structs by its path.

    :param type: Arrow's name of it.
    :param nulls: a field is null where a struct around it is.
    :param nans: of floating point numbers; they are in no other figure but ``distinct``, where all are one value.
    :param min: ``None`` where there is no value, or none that is ordered (lists, maps).
    :param quantiles: of numbers and times.
    :param rank_error: by how much a quantile's rank may be off, as a share of all values, in 95 of 100 cases; 0: exact.
    """

    name: str
    type: str
    rows: int
    nulls: int
    null_share: float
    nans: int | None = None
    min: Any = None
    max: Any = None
    distinct: Distinct | None = None
    quantiles: list[Quantile] = field(default_factory=list)
    rank_error: float = 0.0
    lengths: Lengths | None = None


@dataclass(frozen=True)
class KeyGroup:
    """What one key group has; there is none without rows."""

    key_group: int
    rows: int
    decoded_bytes: int


@dataclass(frozen=True)
class Subtask:
    """What one subtask's files have; there is none without rows."""

    subtask: int
    rows: int
    decoded_bytes: int


@dataclass(frozen=True)
class Skew:
    """How unevenly rows and bytes lie. All key groups (subtasks) of the operator count that can have rows at that number of
    keys, those without rows too: five keys can be in five key groups.

    :param max_over_mean: rows of the largest by rows of the average one; ``None`` without rows.
    :param top_percent_share: share of all rows that the largest hundredth (one at least) has.
    """

    max_over_mean: float | None
    top_percent_share: float | None
    bytes_max_over_mean: float | None
    bytes_top_percent_share: float | None


@dataclass(frozen=True)
class Skews:
    """``None``: nothing to compare, as operator state has no key groups."""

    key_groups: Skew | None
    subtasks: Skew | None


@dataclass(frozen=True)
class Big:
    """A row with a big key or a big value.

    :param key: of the row, cut where it is long; ``None`` in operator state.
    :param bytes: decoded, of the key or of the value.
    """

    key: Any
    namespace: Any
    key_group: int | None
    subtask: int
    bytes: int


@dataclass(frozen=True)
class Owned:
    """What an owner has in one state; the numbers are those of :class:`Owner`."""

    state_name: str
    bytes: int
    rows: int
    entries: int
    error: int = 0


@dataclass(frozen=True)
class Owner:
    """A key, or a window, and what it owns in the states of an operator.

    :param owner: the key, cut where it is long; of a window ``start`` and ``end``, or only ``end``.
    :param bytes: decoded, that were counted; it owns no less.
    :param rows: and ``entries``: those of these bytes. The entries of maps and the elements of lists count one by one, any
        other row as one entry.
    :param error: it owns at most so many bytes more; 0: the numbers are exact.
    :param states: those that have some of it, the largest share first.
    """

    owner: Any
    key_group: int | None
    bytes: int
    rows: int
    entries: int
    error: int
    states: list[Owned]


@dataclass(frozen=True)
class Owners:
    """The keys, or the windows, of an operator that own most.

    :param bytes: decoded, of all keyed states that have such owners.
    :param others_at_most: no owner that is not listed has more bytes.
    :param largest: the largest first.
    """

    bytes: int
    others_at_most: int
    largest: list[Owner]


@dataclass(frozen=True)
class Bin:
    """Rows with a time of ``from_ms`` or later and before ``to_ms``; ``None``: no bound."""

    from_ms: int | None
    to_ms: int | None
    rows: int


@dataclass(frozen=True)
class Ttl:
    """Last accesses of state with a time to live; of lists and maps one per element or entry.

    :param rows_with_time: how many there are.
    :param ttl_ms: the time to live that was asked about; :param expired: how many are expired at ``as_of_ms`` by it.
    """

    rows_with_time: int
    min_ms: int | None
    max_ms: int | None
    histogram: list[Bin]
    ttl_ms: int | None = None
    expired: int | None = None


@dataclass(frozen=True)
class Times:
    """Ends of windows, or timers.

    :param of: ``window_end`` or ``timer``.
    :param past: at ``as_of_ms`` or before.
    :param progress_ms: the time that the snapshot itself shows to have been reached; ``None``: it shows none.
    :param progress_of: what shows it: ``watermark``, ``window start`` or ``last access``; ``timer``: only the latest timer is
        known, and the timers cannot be judged by it.
    :param past_by_progress: at ``progress_ms`` or before.
    :param past_by_progress_error: by how many it may be off, in 95 of 100 cases; 0: exact.
    """

    of: str
    min_ms: int | None
    max_ms: int | None
    past: int
    histogram: list[Bin]
    progress_ms: int | None = None
    progress_of: str | None = None
    past_by_progress: int | None = None
    past_by_progress_error: int = 0


@dataclass(frozen=True)
class SchemaField:
    """A column's name and Arrow type."""

    name: str
    type: str


@dataclass(frozen=True)
class StateDocument:
    """One state of an operator, or what of it has no name (``state_name`` is ``None`` then).

    :param status: as in the coverage report: ``decoded``, ``partial``, ``raw``, ``skipped``, ``unsupported``,
        ``not selected``. Without ``decoded`` or ``partial`` the statistics say nothing.
    :param file_bytes: in the files, uncompressed; of what is not read as far as the snapshot says it.
    :param decoded_bytes: of the values; how they are counted is in ``docs/statistics.md``.
    :param distinct_keys: of keyed state and timers, and of broadcast state.
    :param entries: of maps, and elements of lists; another row is one entry. ``None`` in documents that do not say it.
    """

    state_name: str | None
    state_kind: str
    form: str
    state_role: str | None
    status: str
    reason: str | None
    problems: list[str]
    schema: list[SchemaField]
    rows: int
    file_bytes: int
    decoded_bytes: int
    distinct_keys: Distinct | None = None
    key_groups: list[KeyGroup] = field(default_factory=list)
    subtasks: list[Subtask] = field(default_factory=list)
    skew: Skews | None = None
    columns: list[ColumnDocument] = field(default_factory=list)
    biggest_keys: list[Big] = field(default_factory=list)
    biggest_values: list[Big] = field(default_factory=list)
    ttl: Ttl | None = None
    times: Times | None = None
    entries: int | None = None

    @property
    def overdue(self) -> int | None:
        """Entries that are expired by the time to live, or whose windows or timers are past by the snapshot's progress."""
        if self.ttl is not None and self.ttl.expired is not None:
            return self.ttl.expired
        if self.times is None or self.times.past_by_progress is None or not self.rows or self.entries is None:
            return None
        return round(self.times.past_by_progress * self.entries / self.rows)


@dataclass(frozen=True)
class OperatorDocument:
    """An operator with its states.

    :param operator_label: uid, else name, else id.
    :param handle_bytes: of all its handles, as ``_metadata`` says; incremental ones share files with other snapshots.
    :param file_bytes: and ``rows``: the sums over its states.
    :param unowned: it has state, and neither the plan nor the list of uids that was given knows it; ``None``: none was given.
    :param without_uid: the job set no uid; ``None``: not known, as snapshots before Flink 2.0 do not say it.
    :param keys: the keys that own most; ``None``: no keyed state was read, or none is to be listed.
    :param windows: the same of windows.
    """

    operator_id: str
    operator_uid: str | None
    operator_name: str | None
    operator_label: str
    operator_parallelism: int
    operator_max_parallelism: int
    handle_bytes: int
    file_bytes: int
    rows: int
    unowned: bool | None
    without_uid: bool | None
    states: list[StateDocument] = field(default_factory=list)
    keys: Owners | None = None
    windows: Owners | None = None


@dataclass(frozen=True)
class SnapshotDocument:
    """Which snapshot it is.

    :param path: of its ``_metadata``.
    :param kind: as the snapshot says, ``None`` where it does not.
    :param taken_ms: when ``_metadata`` was written last, as the file system says; a copy may have lost it.
    :param metadata_sha256: of the bytes of ``_metadata``, in hex, by which a copy is known to be the same snapshot; ``None`` in
        documents that do not say it.
    """

    path: str
    checkpoint_id: int
    metadata_version: int
    kind: str | None
    taken_ms: int | None
    metadata_sha256: str | None = None


@dataclass(frozen=True)
class Totals:
    """Sums over all operators."""

    operators: int
    states: int
    rows: int
    file_bytes: int
    decoded_bytes: int


@dataclass(frozen=True)
class Statistics:
    """The whole document.

    :param as_of_ms: the time that ages are counted to, and that expiry and the past are about.
    :param notes: what a reader should know of how the snapshot was read.
    """

    tool_version: str
    snapshot: SnapshotDocument
    as_of_ms: int | None
    totals: Totals
    operators: list[OperatorDocument]
    notes: list[str] = field(default_factory=list)
    format: int = FORMAT

    @property
    def states(self) -> Iterator[tuple[OperatorDocument, StateDocument]]:
        """All states with their operators."""
        return ((operator, state) for operator in self.operators for state in operator.states)

    def as_dict(self) -> dict[str, Any]:
        values = asdict(self)
        return {"format": values.pop("format"), **values}

    def to_json(self, indent: int | None = 1) -> str:
        """The document as JSON text."""
        return json_document(self.as_dict(), indent=indent, ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_dict(cls, document: Any) -> Statistics:
        """The inverse of :meth:`as_dict`. Fields that this version does not know are skipped.

        :raises UsageError: where it is not a statistics document, or one of another format.
        """
        if not isinstance(document, dict) or "format" not in document or "operators" not in document:
            raise UsageError("this is not a statistics document", advice="give a file that stateextract stats wrote")
        check_format(document)
        return made_of(cls, document, "the statistics document")

    @classmethod
    def from_json(cls, text: str | bytes) -> Statistics:
        """The inverse of :meth:`to_json`.

        :raises UsageError: where it is not a statistics document.
        """
        try:
            document = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise UsageError(f"this is not a statistics document: {error}") from error
        return cls.from_dict(document)


def check_format(document: dict[str, Any]) -> None:
    """Whether a document has the format of this version.

    :raises UsageError: where it has another.
    """
    given, by = document.get("format"), document.get("tool_version")
    if type(given) is int and given > FORMAT:
        raise UsageError(
            f"the statistics document has format {given}, of a newer stateextract ({str(by)[:50]})",
            expected=f"format {FORMAT}", advice=f"read it with that version; this is {VERSION}",
        )  # fmt: skip
    if type(given) is not int or given != FORMAT:
        raise UsageError(
            f"the statistics document has format {str(given)[:50]!r}", expected=f"format {FORMAT}",
            advice="write it anew with this version",
        )  # fmt: skip
