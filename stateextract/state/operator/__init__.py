"""Operator (non-keyed) state files: lists, and maps that are broadcast to every subtask.

Behind the head lie the elements of the list states, state by state in the order of the head, then the broadcast states;
nothing lies between them. Where a state's data is, only the handle says, by the state's name::

    list state        an offset per element; at each the serialized element, no length
    broadcast state   one offset; there ``i32 count · (key · value) × count``

A compressed file (Flink 1.18 and later) is one stream after the head, with one stream identifier; an offset is that of
the *chunk* where an element begins. Flink 1.18.0 and 1.18.1 did not end a chunk at each element, so their offsets are
wrong, though the data is sound. Flink 1.18.0 also wrote a stream with an identifier of its own for each state; of an
empty state there is nothing but that, and no offset names it (FLINK-34063). Compressed files are therefore read one
element after the other from the head's end on;
``operator_chunks.py`` finds elements by their offsets only where one cannot be decoded.

Works on a ``read_at`` function and gives batches. Flink's classes: ``DefaultOperatorStateBackendSnapshotStrategy``,
``OperatorStateRestoreOperation``, ``PartitionableListState``, ``HeapBroadcastState``.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from stateextract.errors import FormatError, StateExtractError
from stateextract.files.compression import stream_decoder
from stateextract.files.window import DecompressedSource, RangeSource, ReadAt, Window
from stateextract.metadata.model import OperatorStatePartition
from stateextract.state.bodies.body import SNAPPY_IDENTIFIER
from stateextract.state.header import OperatorHeader
from stateextract.state.operator.operator_chunks import plain_positions
from stateextract.state.operator.operator_target import OperatorTarget, read_broadcast, read_elements
from stateextract.state.row_layout import operator_row_layout
from stateextract.state.state_columns import ReadOptions
from stateextract.state.target import FileRead, Piece

BROADCAST = "BROADCAST"
_HEAD_START = 5  # bytes of a file that say whether it is compressed


@dataclass(frozen=True)
class Partition:
    """What a file holds of one state.

    :param offsets: of the elements; of a broadcast state the one of the map.
    :param end: offset after the last byte; of a compressed file that of all its states.
    :param first: position in the subtask's list of the first element.
    """

    name: str
    mode: str
    offsets: tuple[int, ...]
    end: int
    first: int = 0

    @property
    def size(self) -> int:
        """Bytes in the file."""
        return self.end - self.offsets[0] if self.offsets else 0


def operator_header_end(states: Sequence[OperatorStatePartition], size: int, read_at: ReadAt) -> int:
    """Where the head must end.

    :param states: of the handle.
    :param size: of the handle's bytes.
    :param read_at: gives them.
    """
    start = read_at(0, _HEAD_START)
    compressed = start[:4] == b"\x00\x00\x00\x06" and start[4:5] not in (b"", b"\x00")
    end = min((o for state in states for o in state.offsets), default=size)
    if not compressed:
        return end
    # A compressed file without elements has the identifier all the same.
    end -= len(SNAPPY_IDENTIFIER)
    for state in states:
        if state.offsets or end < len(SNAPPY_IDENTIFIER):
            continue
        # Those of the empty states that Flink 1.18.0 wrote first.
        before = end - len(SNAPPY_IDENTIFIER)
        if read_at(before, len(SNAPPY_IDENTIFIER)) != SNAPPY_IDENTIFIER:
            break
        end = before
    return end


def note_of_1_18_0(header: OperatorHeader, states: Sequence[OperatorStatePartition], size: int, read_at: ReadAt) -> str | None:
    """What to say of a compressed file of Flink 1.18.0 with an empty state; ``None`` for all other files.

    :param states: of the handle, with ``size`` bytes that ``read_at`` gives.
    """
    if not header.compressed or all(state.offsets for state in states):
        return None
    length = len(SNAPPY_IDENTIFIER)
    starts = [min(state.offsets) for state in states if state.offsets]
    own = sum(read_at(start - length, length) == SNAPPY_IDENTIFIER for start in starts)
    alone = min(starts, default=size) - header.end > length
    if not alone and own < 2:
        return None
    order = {meta.name: number for number, meta in enumerate(header.states)}
    in_order = all(order[a.name] < order[b.name] for a, b in itertools.pairwise(states))
    repeated = any(len(set(state.offsets)) < len(state.offsets) for state in states)
    text = (
        "Flink 1.18.0 wrote this compressed operator state, which contains an empty state (FLINK-34063). "
        "stateextract reads all of it."
    )
    return text if in_order and not repeated else text + " Flink itself cannot restore this file."


def partitions(header: OperatorHeader, states: Sequence[OperatorStatePartition], size: int) -> list[Partition]:
    """What a file holds, in its order, with every byte after the head belonging to exactly one state.

    :raises FormatError: where handle and head disagree, or offsets are invalid.
    """
    order = {meta.name: number for number, meta in enumerate(header.states)}
    seen: set[str] = set()
    for state in states:
        if state.name not in order or state.name in seen:
            what = "twice in the handle" if state.name in seen else "in the handle and not in the header"
            raise FormatError("an operator state is " + what, state=state.name)
        seen.add(state.name)
        _check(header, state, header.states[order[state.name]].kind, size)
    if header.compressed:
        by_header = sorted(states, key=lambda s: order[s.name])
        return [Partition(s.name, s.mode, s.offsets, size) for s in by_header]
    # Elements may have no bytes at all, so two states may begin at one offset.
    filled = sorted((s for s in states if s.offsets), key=lambda s: (s.offsets[0], order[s.name]))
    ends = [*(s.offsets[0] for s in filled), size][1:]
    found = []
    for state, end in zip(filled, ends, strict=True):
        if state.offsets[-1] > end:
            raise FormatError("the elements of two operator states overlap", state=state.name, offset=end)
        found.append(Partition(state.name, state.mode, state.offsets, end))
    return found + [Partition(s.name, s.mode, (), size) for s in states if not s.offsets]


def _check(header: OperatorHeader, state: OperatorStatePartition, kind: str, size: int) -> None:
    if state.mode != kind:
        raise FormatError(
            f"the handle has the state as {state.mode}", expected=f"{kind}, as in the header", state=state.name
        )
    if kind == BROADCAST and len(state.offsets) != 1:
        raise FormatError(f"a broadcast state has {len(state.offsets)} offsets", expected="1", state=state.name)
    start = header.end + (len(SNAPPY_IDENTIFIER) if header.compressed else 0)
    for before, offset in itertools.pairwise((start, *state.offsets, size)):
        if offset < before:
            raise FormatError(
                f"the offsets of the state's elements fall from {before} to {offset}", state=state.name, offset=offset
            )


def read_operator_state(
    read_at: ReadAt,
    header: OperatorHeader,
    parts: Sequence[Partition],
    size: int,
    file_read: FileRead,
    skip_broadcast_states: Collection[str] = (),
) -> Iterator[Piece]:
    """Read the states of one operator state file.

    :param read_at: gives bytes of the handle's stream, which has ``size`` of them.
    :param parts: from :func:`partitions`; of an uncompressed file any of them, and of any runs of elements.
    :param skip_broadcast_states: selected states that give no rows: copies of a broadcast state, which are only compared
        with the others.
    :yields: batches; those of one state in the order of the file.
    :raises StateExtractError: with state and offset.
    """
    options, ready = file_read.options, file_read.ready
    targets = {
        meta.name: OperatorTarget(
            file_read, operator_row_layout(meta, options.context), keep=meta.name not in skip_broadcast_states
        )
        for meta in header.states
    }
    read = _compressed if header.compressed else _plain
    for _ in read(read_at, header, parts, size, targets, options):
        while ready:
            yield ready.popleft()
    for target in targets.values():
        target.flush(last=True)
    while ready:
        yield ready.popleft()


def _plain(
    read_at: ReadAt,
    header: OperatorHeader,
    parts: Sequence[Partition],
    size: int,
    targets: Mapping[str, OperatorTarget],
    options: ReadOptions,
) -> Iterator[None]:
    """Each state by itself, at its offsets; states that are not wanted are not even read."""
    for part in parts:
        target = targets[part.name]
        if not target.selected or not part.offsets:
            continue
        most = options.policy.max_value_bytes
        window = Window(RangeSource(read_at, part.offsets[0], part.end), part.offsets[0], most=most)
        bounds = (*part.offsets, part.end)
        try:
            if part.mode == BROADCAST:
                yield from read_broadcast(window, target)
            else:
                yield from read_elements(
                    window, target, part.first, len(part.offsets), partial(tuple, bounds), exact=True
                )
            if window.need(1):
                raise FormatError("bytes follow the last element of the state", offset=window.offset())
        except StateExtractError as error:
            raise error.at(state=part.name) from None


def _compressed(
    read_at: ReadAt,
    header: OperatorHeader,
    parts: Sequence[Partition],
    size: int,
    targets: Mapping[str, OperatorTarget],
    options: ReadOptions,
) -> Iterator[None]:
    """One state after the other, up to the last one that is wanted."""
    raw = Window(RangeSource(read_at, header.end, size), header.end)
    source = DecompressedSource(raw, stream_decoder(options.codec, options.verify_checksums))
    window = Window(source, most=options.policy.max_value_bytes)
    last = max((i for i, part in enumerate(parts) if targets[part.name].selected), default=-1)
    offsets = [offset for part in parts for offset in part.offsets]
    done = 0
    for part in parts[: last + 1]:
        target = targets[part.name]
        number = done
        done += len(part.offsets)

        def bounds(number: int = number, upto: int = done) -> Sequence[int] | None:
            found = plain_positions(read_at, header.end, size, offsets, options.codec)
            return None if found is None else found[number : upto + 1]

        try:
            if part.mode == BROADCAST:
                yield from read_broadcast(window, target, bounds)
            else:
                yield from read_elements(window, target, part.first, len(part.offsets), bounds, exact=False)
        except StateExtractError as error:
            raise source.with_location(error).at(state=part.name) from None
    if last == len(parts) - 1 and window.need(1):
        raise FormatError("bytes follow the last state of the file", offset=raw.offset())
