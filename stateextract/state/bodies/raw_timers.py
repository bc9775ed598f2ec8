"""Timers in raw keyed state: where RocksDB leaves them when its timers are kept on the heap, and ForSt.

Such a file has no head and no compression; each key group (offset -1: nothing there) says everything by itself::

    F1 CD 85 9F · i32 version
    i32 services, and for each
        utf name · snapshots of the serializers of key and namespace, without their proxy (version 1: as pairs of 1.6)
        i32 n · (key · namespace · i64 timestamp) × n        event time
        i32 n · (key · namespace · i64 timestamp) × n        processing time

``timers_header`` makes of the first key group the head that such a file does not have, with the names and serializers that
the same timers have as managed state; so the rows and columns are the same whichever home they have. What an operator
writes into its raw keyed state itself begins otherwise and is not read.

Works on a ``read_at`` function. Flink's classes: ``InternalTimerServiceSerializationProxy``,
``InternalTimersSnapshotReaderWriters``, ``PostVersionedIOReadableWritable``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import pyarrow as pa

from serializers import DescribeContext, SerializerSnapshot, read_snapshot
from serializers.legacy import resilient
from serializers.windows import TIMER_SNAPSHOT
from stateextract.columnar.convert.policy import Policy
from stateextract.columnar.decode.decoder import make_decoder
from stateextract.columnar.layout import Field, Number, Struct
from stateextract.errors import (
    FormatError,
    StateExtractError,
    TruncatedError,
    UndecodableError,
    UnsupportedError,
    UnsupportedVersionError,
)
from stateextract.files.reader import Reader
from stateextract.files.window import RangeSource, ReadAt, Window
from stateextract.state.bodies.heap import (
    BodyWalker,
    EntryTarget,
    KeyGroupRange,
    Lost,
    OnLost,
    UncountedEntries,
    decode_entries,
)
from stateextract.state.header import VALUE, KeyedHeader, StateMeta
from stateextract.state.row_layout import RowLayout, row_layout
from stateextract.state.state_columns import EVENT, PROCESSING, timer_state

MARKER = b"\xf1\xcd\x85\x9f"

_PARSED_AT_ONCE = 1 << 16
_LARGEST_HEADER = 16 << 20
_MOST_SERVICES = 1 << 10

T = TypeVar("T")


@dataclass(frozen=True)
class TimerService:
    """A timer service as a key group describes it."""

    name: str
    key: SerializerSnapshot
    namespace: SerializerSnapshot


def is_timers(read_at: ReadAt, group: KeyGroupRange) -> bool:
    """Whether a key group of raw keyed state holds timers."""
    return read_at(group.start, min(len(MARKER), group.end - group.start)) == MARKER


def timers_header(read_at: ReadAt, group: KeyGroupRange, context: DescribeContext | None = None) -> KeyedHeader:
    """The states in a file of timers, from one of its key groups: each has all of the operator's services.

    :raises UnsupportedError: where it holds something else than timers.
    :raises UndecodableError: where a service cannot be skipped, so that those after it stay unknown.
    """
    if not is_timers(read_at, group):
        raise UnsupportedError(
            "the raw keyed state is not one of timers", key_group=group.key_group, offset=group.start,
            expected=f"{MARKER.hex()} at its start",
        )  # fmt: skip
    states: list[StateMeta] = []

    def target(service: TimerService, kind: str) -> UncountedEntries:
        meta = _meta(service, kind)
        states.append(meta)
        layout = _row(meta, service, context).layout
        return UncountedEntries(make_decoder(layout, Policy(out_of_range="null"), engine="interpreter", keep=False))

    window = Window(RangeSource(read_at, group.start, group.end), group.start)
    window.limit = group.end
    try:
        for _ in _services(window, group.key_group, target):
            pass
    except UndecodableError:
        # What cannot be skipped is named all the same; only services after it would be missing.
        if states and states[-1].name.startswith(timer_state(EVENT, "")):
            states.append(replace(states[-1], name=_other(states[-1].name)))
    key = states[0].serializers[VALUE].nested[0] if states else SerializerSnapshot("", 0)
    return KeyedHeader(0, False, key, tuple(states), group.start)


def timers_row(header: KeyedHeader, meta: StateMeta, context: DescribeContext) -> RowLayout:
    """The layout of a timer of raw keyed state: the time comes last, and is not changed."""
    timer = meta.serializers[VALUE]
    return _row(meta, TimerService(meta.name, timer.nested[0], timer.nested[1]), context)


class TimersWalker(BodyWalker):
    """Walks the key groups of a file of timers.

    :param targets: by state name.
    :param on_lost: as for heap bodies, with positions in ``targets`` as ids.
    """

    def __init__(self, read_at: ReadAt, header: KeyedHeader, targets: Sequence[EntryTarget], on_lost: OnLost) -> None:
        super().__init__(read_at)
        self.ids = {meta.name: number for number, meta in enumerate(header.states)}
        self.snapshots = {meta.name: meta.serializers[VALUE].nested for meta in header.states}
        self.targets = targets
        self.on_lost = on_lost

    def _group(self, window: Window, group: KeyGroupRange) -> Iterator[None]:
        seen: list[int] = []

        def target(service: TimerService, kind: str) -> EntryTarget:
            name = timer_state(kind, service.name)
            number = self.ids.get(name)
            if number is None or number in seen:
                what = "twice" if number is not None else "and is not in the other key groups"
                raise FormatError(f"the timer service {service.name!r} is there {what}", offset=window.offset())
            if self.snapshots[name] != (service.key, service.namespace):
                raise FormatError("the timers' serializers are not those of the other key groups", state=name)
            seen.append(number)
            return self.targets[number]

        try:
            for _ in _services(window, group.key_group, target):
                yield
        except UndecodableError as error:
            if not seen:
                raise
            self._lost(window, group, seen, error)
            return
        if window.need(1):
            raise FormatError("bytes follow the last timer of the key group", offset=window.offset())

    def _lost(self, window: Window, group: KeyGroupRange, seen: list[int], error: UndecodableError) -> None:
        names = {number: name for name, number in self.ids.items()}
        error.at(key_group=group.key_group, state=names[seen[-1]])
        also = tuple(sorted(set(names) - set(seen)))
        start = window.offset()

        def rest() -> Iterator[bytes]:
            while window.need(1):
                piece = window.take(window.end - window.pos)
                assert piece is not None
                yield bytes(piece)

        pieces = rest()
        lost = Lost(group.key_group, seen[-1], also, 0, start, group.end - start, error)
        self.on_lost(lost, lambda: pieces)
        for _ in pieces:
            pass


def _services(window: Window, key_group: int, target: Callable[[TimerService, str], EntryTarget]) -> Iterator[int]:
    """Walk the services of one key group; yields how many timers each step gave."""
    version, count = _parse(window, _header)
    for _ in range(count):
        service = _parse(window, _service_1 if version == 1 else _service_2)
        for kind in (EVENT, PROCESSING):
            into = target(service, kind)
            start = window.offset()
            try:
                timers = _parse(window, lambda reader: reader.i32("the number of timers"))
                if timers < 0:
                    raise FormatError(f"a negative number of timers, {timers}", offset=start)
                if into.decoder is not None:
                    yield from decode_entries(window, into, into.decoder, key_group, timers)
                elif timers:
                    assert into.error is not None
                    raise UndecodableError(into.error.message, offset=window.offset())
            except StateExtractError as error:
                raise error.at(state=timer_state(kind, service.name)) from None
            into.finished(key_group, timers, window.offset() - start)
            yield 0


def _header(reader: Reader) -> tuple[int, int]:
    start = reader.offset
    marker = reader.bytes(len(MARKER), "the marker of timers")
    if marker != MARKER:
        raise FormatError("a key group of timers does not begin with their marker", expected=MARKER.hex(), offset=start)
    version = reader.i32("the version of timers")
    if version not in (1, 2):
        raise UnsupportedVersionError(f"version {version} of timers is not known", expected="1 or 2", offset=start + 4)
    count = reader.i32("the number of timer services")
    if not 0 <= count <= _MOST_SERVICES:
        raise FormatError(f"an invalid number of timer services, {count}", offset=start + 8)
    return version, count


def _service_2(reader: Reader) -> TimerService:
    name = reader.utf("a timer service's name")
    return TimerService(name, read_snapshot(reader), read_snapshot(reader))


def _service_1(reader: Reader) -> TimerService:
    name = reader.utf("a timer service's name")
    start = reader.offset
    pair = resilient(reader)
    if len(pair) != 2:
        raise FormatError(f"{len(pair)} serializers of timers", expected="2, of key and namespace", offset=start)
    return TimerService(name, *pair)


def _parse(window: Window, parse: Callable[[Reader], T]) -> T:
    """Parse at the window's position, with as many bytes as it takes."""
    room = _PARSED_AT_ONCE
    while True:
        whole = not window.need(room)
        base = window.base
        reader = Reader(window.block.view, window.pos, window.end)
        try:
            value = parse(reader)
        except StateExtractError as error:
            if isinstance(error, TruncatedError) and not whole and room <= _LARGEST_HEADER:
                room *= 4
                continue
            raise error.moved(base) from None
        window.pos = reader.pos
        return value


def _meta(service: TimerService, kind: str) -> StateMeta:
    timer = SerializerSnapshot(TIMER_SNAPSHOT, 3, 2, nested=(service.key, service.namespace))
    return StateMeta(timer_state(kind, service.name), "PRIORITY_QUEUE", "TIMER", {}, {VALUE: timer})


def _row(meta: StateMeta, service: TimerService, context: DescribeContext | None) -> RowLayout:
    row = row_layout(KeyedHeader(0, False, service.key, (), 0), meta, context)
    by_name: Mapping[str, Field] = {f.name: f for f in row.layout.fields}
    fields = (by_name["key"], by_name["namespace"], Field("timestamp", Number(pa.int64())))
    return replace(row, layout=Struct(fields))


def _other(name: str) -> str:
    return timer_state(PROCESSING, name.removeprefix(timer_state(EVENT, "")))
