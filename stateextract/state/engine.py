"""The engine: key groups of one keyed state file into Arrow batches, one stream of batches per state.

Puts together what the stations before it know: the head says which states there are (``head.py``), ``rows.py`` what
their entries look like, ``heap.py`` walks the body, a decoder per state gathers entries, and here they become the columns
that a user gets: ``key``, ``namespace``, ``value`` (timers: ``timestamp``, ``timestamp_ms``), ``last_access``,
``key_group``, ``subtask``.

Works on a ``read_at`` function and gives batches; knows no URIs, no Parquet, no Spark.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from stateextract.columnar.decoder import BATCH_BYTES, BATCH_ROWS, Decoder, make_decoder
from stateextract.columnar.layout import Layout, List, Logical, Map, Number, Struct, Undecodable
from stateextract.columnar.logical import apply_logical
from stateextract.columnar.policy import Counts, Policy, apply_policy
from stateextract.errors import StateExtractError, UndecodableError
from stateextract.files.compression import find_codec
from stateextract.files.window import ReadAt
from stateextract.state.head import KeyedHead
from stateextract.state.heap import HeapWalker, KeyGroupRange, Lost
from stateextract.state.rows import RowLayout, row_layout

__all__ = [
    "KeyGroupRange",
    "Piece",
    "ReadOptions",
    "StateTally",
    "Tally",
    "raw_schema",
    "read_key_groups",
    "state_schema",
]

_INSTANT = pa.timestamp("us", "UTC")
_TIMER_TIME = Logical(Number(pa.int64()), "epoch_ms", _INSTANT)
_RAW_PART = 16 << 20
_ARENAS = 256 << 20  # room for the unfinished batches of all states of a file together


@dataclass(frozen=True)
class ReadOptions:
    """What the engine can be told.

    :param on_undecodable: what a value without a known serializer does: stop, lose its state, or leave its bytes.
    :param verify_checksums: check the CRCs of compressed files.
    :param flatten: lists and maps give a row per element or entry.
    :param keep_empty_maps: keep rows of keys whose map is empty, which only native heap files have.
    :param codec: of compressed files.
    :param engine: ``auto``, ``kernel`` or ``interpreter``.
    """

    policy: Policy = Policy()
    on_undecodable: Literal["fail", "skip", "raw"] = "fail"
    verify_checksums: bool = True
    flatten: bool = False
    keep_empty_maps: bool = False
    key_group_column: bool = True
    subtask_column: bool = True
    codec: str = "snappy"
    batch_rows: int = BATCH_ROWS
    batch_bytes: int = BATCH_BYTES
    engine: str = "auto"


@dataclass
class StateTally:
    """What was read of a state.

    :param rows: rows given out; :param entries: entries decoded (more or fewer than rows where flattened or empty).
    :param bytes: size in the file's body, uncompressed, of what was read of it.
    :param key_groups: key groups read completely; :param lost_key_groups: those with bytes that could not be decoded.
    :param lost_entries: entries that the file counts and that could not be decoded, as far as known.
    :param raw_rows: rows of raw bytes given out instead.
    :param empty_maps: keys left out because their map is empty.
    :param engine: ``kernel`` or ``interpreter``.
    :param problems: why something is missing, each reason once.
    """

    rows: int = 0
    entries: int = 0
    bytes: int = 0
    key_groups: int = 0
    lost_key_groups: int = 0
    lost_entries: int = 0
    raw_rows: int = 0
    empty_maps: int = 0
    engine: str = ""
    counts: Counts = field(default_factory=Counts)
    problems: list[str] = field(default_factory=list)

    _SUMS = ("rows", "entries", "bytes", "key_groups", "lost_key_groups", "lost_entries", "raw_rows", "empty_maps")

    def problem(self, text: str) -> None:
        """Note a reason once, and not endlessly many."""
        if text not in self.problems and len(self.problems) < 20:
            self.problems.append(text)

    def add(self, other: StateTally) -> None:
        """Take another file's tally in."""
        for name in self._SUMS:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        if other.engine and self.engine != other.engine:
            self.engine = other.engine if not self.engine else "kernel and interpreter"
        self.counts += other.counts
        for text in other.problems:
            self.problem(text)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> StateTally:
        """The inverse of :meth:`as_dict`."""
        return cls(**{**data, "counts": Counts(**data["counts"])})


@dataclass
class Tally:
    """What was read, by state."""

    states: dict[str, StateTally] = field(default_factory=dict)

    def of(self, state: str) -> StateTally:
        """The tally of a state, which starts empty."""
        return self.states.setdefault(state, StateTally())

    def add(self, other: Tally) -> None:
        """Take another tally in."""
        for name, tally in other.states.items():
            self.of(name).add(tally)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {name: tally.as_dict() for name, tally in self.states.items()}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Tally:
        """The inverse of :meth:`as_dict`."""
        return cls({name: StateTally.from_dict(tally) for name, tally in data.items()})


@dataclass(frozen=True)
class Piece:
    """A batch of one state. ``raw``: it has the columns of :func:`raw_schema`."""

    state: str
    raw: bool
    batch: pa.RecordBatch


def raw_schema(options: ReadOptions) -> pa.Schema:
    """Columns of what is kept of a state that cannot be decoded.

    ``entries`` (at the first part): how many entries of the state the bytes hold; ``part`` counts the pieces of one key
    group's bytes.
    """
    return pa.schema(
        [
            pa.field("key_group", pa.int32()),
            pa.field("part", pa.int32()),
            pa.field("entries", pa.int64()),
            pa.field("bytes", pa.binary()),
            pa.field("reason", pa.string()),
            *([pa.field("subtask", pa.int32())] if options.subtask_column else []),
        ]
    )


def state_schema(row: RowLayout, options: ReadOptions) -> pa.Schema:
    """The Arrow schema of a state's rows."""
    layout = apply_policy(row.layout, options.policy)
    assert isinstance(layout, Struct)
    types = {f.name: f.layout.arrow_type for f in layout.fields if f.layout.arrow_type is not None}
    columns: list[tuple[str, pa.DataType]] = [(name, types[name]) for name in ("key", "namespace") if name in types]
    if row.kind == "TIMER":
        columns += [("timestamp", _INSTANT), ("timestamp_ms", pa.int64())]
    elif "value" in types:
        value = types["value"]
        if options.flatten and _flattens(row):
            if pa.types.is_map(value):
                columns.append(("map_key", value.key_type))
                value = value.item_type
            elif row.kind == "MAP":
                columns.append(("map_key", value.value_type.field("key").type))
                value = value.value_type.field("value").type
            else:
                columns.append(("list_index", pa.int32()))
                value = value.value_type
        if _splits_ttl(row, options):
            columns += [("value", value.field("value").type), ("last_access", value.field("last_access").type)]
        else:
            columns.append(("value", value))
    if options.key_group_column:
        columns.append(("key_group", pa.int32()))
    if options.subtask_column:
        columns.append(("subtask", pa.int32()))
    return pa.schema([pa.field(name, type_) for name, type_ in columns])


def _value_layout(row: RowLayout) -> Layout | None:
    return next((f.layout for f in row.layout.fields if f.name == "value"), None)


def _flattens(row: RowLayout) -> bool:
    return row.kind in ("LIST", "MAP") and isinstance(_value_layout(row), List | Map)


def _splits_ttl(row: RowLayout, options: ReadOptions) -> bool:
    """Whether the value column's struct of last access and value becomes two columns."""
    return row.splits_ttl or (row.ttl and options.flatten and _flattens(row))


def certainly_undecodable(layout: Layout) -> Undecodable | None:
    """The part that every single value has and nobody can decode, if there is one."""
    if isinstance(layout, Undecodable):
        return layout
    if isinstance(layout, Logical):
        return certainly_undecodable(layout.inner)
    if isinstance(layout, Struct):
        for f in layout.fields:
            part = certainly_undecodable(f.layout)
            if part is not None:
                return part
    return None


def read_key_groups(
    read_at: ReadAt,
    head: KeyedHead,
    key_groups: Sequence[KeyGroupRange],
    wanted: Collection[str],
    options: ReadOptions,
    tally: Tally,
    subtask: int,
) -> Iterator[Piece]:
    """Read key groups of a heap file.

    :param read_at: gives bytes of the file (of the handle's stream, where it is a segment).
    :param wanted: names of the states to give out; the others are passed over.
    :param tally: is added to; the entries of every key group are checked against the counts in the file.
    :yields: batches; those of one state in the order of the file.
    :raises StateExtractError: with state, key group and offset. Batches given out before are sound but incomplete.
    """
    ready: deque[Piece] = deque()
    budget = max(1 << 20, min(options.batch_bytes, _ARENAS // max(len(wanted), 1)))
    targets = [
        _Target(row_layout(head, meta), meta.name in wanted, options, tally, subtask, budget, ready)
        for meta in head.states
    ]

    def on_lost(lost: Lost, unread: Callable[[], Iterator[bytes]]) -> None:
        target = targets[lost.state_id]
        also = [targets[i] for i in lost.also if targets[i].keep]
        if options.on_undecodable == "fail" or not isinstance(lost.error, UndecodableError):
            if target.keep or also or not isinstance(lost.error, UndecodableError):
                raise _advised(lost.error, also)
            return
        if not target.keep and not also:
            return
        target.lost(lost, unread() if options.on_undecodable == "raw" else None)
        for behind in also:
            behind.tally.lost_key_groups += 1
            behind.tally.problem(f"lost behind state {target.name!r} in the same key group: {lost.error.message}")

    codec = find_codec(options.codec) if head.compressed else None
    walker = HeapWalker(read_at, targets, codec, options.verify_checksums, on_lost)
    for _ in walker.walk(key_groups):
        while ready:
            yield ready.popleft()
    for target in targets:
        target.flush()
    while ready:
        yield ready.popleft()


def _advised(error: StateExtractError, also: list[_Target]) -> StateExtractError:
    if isinstance(error, UndecodableError):
        names = ", ".join(repr(t.name) for t in also)
        lost = f"; without it {names} behind it cannot be read either" if names else ""
        error.at(
            advice=f"set on-undecodable=skip or raw to go on without it{lost}, leave the state out with --state, or "
            "register a serializer as a plug-in",
        )
    return error


class _Target:
    """One state: its decoder, and the columns made of what it decodes."""

    def __init__(
        self,
        row: RowLayout,
        keep: bool,
        options: ReadOptions,
        tally: Tally,
        subtask: int,
        budget: int,
        ready: deque[Piece],
    ) -> None:
        self.row = row
        self.name = row.name
        self.keep = keep
        self.options = options
        self.subtask = subtask
        self.ready = ready
        self.tally = tally.of(row.name) if keep else StateTally()
        self.why: StateExtractError | None = None
        self.decoder: Decoder | None = None
        self.runs: list[tuple[int, int]] = []
        self.counted = Counts()
        part = certainly_undecodable(row.layout)
        if part is not None:
            self.why = UndecodableError(f"values of {part.class_name} cannot be decoded: {part.reason}")
            return
        self.decoder = make_decoder(
            row.layout, options.policy, None, options.engine, options.batch_rows, budget, keep=keep
        )
        self.tally.engine = self.decoder.engine

    # -- what the walker calls

    def decoded(self, key_group: int, entries: int) -> None:
        if not self.keep:
            return
        self.tally.entries += entries
        if self.runs and self.runs[-1][0] == key_group:
            self.runs[-1] = (key_group, self.runs[-1][1] + entries)
        else:
            self.runs.append((key_group, entries))

    def full(self) -> None:
        self.flush()

    def finished(self, key_group: int, entries: int, size: int) -> None:
        self.tally.key_groups += 1
        self.tally.bytes += size

    # -- losses

    def lost(self, lost: Lost, unread: Iterator[bytes] | None) -> None:
        self.tally.lost_key_groups += 1
        self.tally.lost_entries += lost.entries
        self.tally.problem(lost.error.message)
        if unread is None or not self.keep:
            return
        part = 0
        gathered = bytearray()
        for piece in unread:
            gathered += piece
            if len(gathered) >= _RAW_PART:
                self._raw(lost, part, bytes(gathered))
                gathered.clear()
                part += 1
        if gathered or not part:
            self._raw(lost, part, bytes(gathered))

    def _raw(self, lost: Lost, part: int, data: bytes) -> None:
        self.tally.raw_rows += 1
        row: dict[str, Any] = {
            "key_group": lost.key_group,
            "part": part,
            "entries": lost.entries if part == 0 else None,
            "bytes": data,
            "reason": lost.error.message,
            "subtask": self.subtask,
        }
        schema = raw_schema(self.options)
        batch = pa.RecordBatch.from_pylist([{n: row[n] for n in schema.names}], schema=schema)
        self.ready.append(Piece(self.name, True, batch))

    # -- columns

    def flush(self) -> None:
        """Give out what the decoder has gathered."""
        if self.decoder is None or not self.keep or not self.runs:
            return
        try:
            array = self.decoder.flush()
        except StateExtractError as error:
            raise error.at(state=self.name) from None
        after = self.decoder.counts
        self.tally.counts += Counts(**{name: after[name] - self.counted[name] for name in after})
        self.counted = after + Counts()
        groups = np.repeat(np.array([g for g, _ in self.runs], np.int32), np.array([n for _, n in self.runs], np.int64))
        self.runs = []
        batch = self._columns(array, groups)
        self.tally.rows += batch.num_rows
        if batch.num_rows:
            self.ready.append(Piece(self.name, False, batch))

    def _columns(self, array: pa.Array, groups: np.ndarray[Any, np.dtype[np.int32]]) -> pa.RecordBatch:
        options, row = self.options, self.row
        names = [f.name for f in array.type]
        columns: dict[str, pa.Array] = {name: array.field(i) for i, name in enumerate(names)}
        key_group = pa.array(groups)
        if row.kind == "MAP" and not options.keep_empty_maps and not options.flatten:
            columns, key_group = self._without_empty_maps(columns, key_group)
        if row.kind == "TIMER":
            columns["timestamp_ms"] = columns["timestamp"]
            columns["timestamp"] = apply_logical(
                columns["timestamp_ms"], _TIMER_TIME, Policy(out_of_range="null"), self.tally.counts
            )
        if options.flatten and _flattens(row):
            columns, key_group = _flatten(columns, key_group, row.kind)
        if "value" in columns and _splits_ttl(row, options):
            value = columns["value"]
            columns["last_access"] = value.field(value.type.get_field_index("last_access"))
            columns["value"] = value.field(value.type.get_field_index("value"))
        schema = state_schema(row, options)
        length = len(key_group)
        if options.key_group_column:
            columns["key_group"] = key_group
        if options.subtask_column:
            columns["subtask"] = pa.array(np.full(length, self.subtask, np.int32))
        return pa.RecordBatch.from_arrays([columns[f.name] for f in schema], schema=schema)

    def _without_empty_maps(
        self, columns: dict[str, pa.Array], key_group: pa.Array
    ) -> tuple[dict[str, pa.Array], pa.Array]:
        offsets = np.frombuffer(columns["value"].buffers()[1], np.int32)[: len(key_group) + 1]
        filled = offsets[1:] != offsets[:-1]
        if filled.all():
            return columns, key_group
        self.tally.empty_maps += int((~filled).sum())
        mask = pa.array(filled)
        return {name: column.filter(mask) for name, column in columns.items()}, key_group.filter(mask)


def _flatten(columns: dict[str, pa.Array], key_group: pa.Array, kind: str) -> tuple[dict[str, pa.Array], pa.Array]:
    """One row per element or entry; key and namespace are repeated."""
    value = columns.pop("value")
    parents = pc.list_parent_indices(
        value.cast(pa.list_(value.type.value_type)) if pa.types.is_map(value.type) else value
    )
    flat = {name: column.take(parents) for name, column in columns.items()}
    if pa.types.is_map(value.type):
        flat["map_key"], flat["value"] = value.keys, value.items
    elif kind == "MAP":
        entries = value.flatten()
        flat["map_key"], flat["value"] = entries.field(0), entries.field(1)
    else:
        offsets = np.frombuffer(value.buffers()[1], np.int32)[: len(value) + 1]
        rows = parents.to_numpy(zero_copy_only=False)
        flat["list_index"] = pa.array((np.arange(len(rows)) - offsets[rows]).astype(np.int32))
        flat["value"] = value.flatten()
    return flat, key_group.take(parents)
