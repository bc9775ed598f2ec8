"""Writes big snapshots of the HashMap backend, byte for byte as Flink 2.3 would.

    python tests/writers/generate.py --shape pojo --gigabytes 4 --files 8 --output /data/pojo

makes a checkpoint directory: ``_metadata`` (version 6, relative handles) and one keyed state file per subtask. Shapes
and their rows are those of ``shapes.py``; shapes with the same kind of key become states of one operator. Everything is
decided by the seed. Files are streamed: at most ``ROWS_AT_ONCE`` row numbers (96 MB) are held at a time.
"""

from __future__ import annotations

import argparse
import json
import random
import struct
import sys
import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.writers import flink_writer as flink
from tests.writers import kernels
from tests.writers.shapes import LARGEST_ENTRY, SHAPES, Shape, salts

ROWS_AT_ONCE = 24 << 20
BUFFER = 8 << 20
SINGLE_KEY_GROUP = 42
# State id and count in front of the entries.
_STATE_HEADER = struct.Struct(">Hi")


@dataclass(frozen=True)
class PlannedState:
    """A state to write: the first ``entries`` rows of a shape.

    :param value_seed: decides the values, where they are to be others than the snapshot's seed gives.
    """

    shape: str
    entries: int
    name: str | None = None
    value_seed: int | None = None


@dataclass(frozen=True)
class PlannedOperator:
    """An operator to write; all of its states have the same kind of key.

    :param files: its parallelism: one file per subtask.
    :param key_group: the key group that all entries lie in, or ``None``.
    """

    uid: str
    states: Sequence[PlannedState]
    files: int = 1
    max_parallelism: int = 128
    key_group: int | None = None


@dataclass
class Written:
    """What was written."""

    directory: str
    files: int = 0
    entries: dict[str, int] = field(default_factory=dict)
    file_bytes: int = 0
    state_bytes: int = 0
    seconds: float = 0.0


class StateFile:
    """A keyed state file while it is written: raw bytes, and streams that are compressed where the file is."""

    def __init__(self, file: BinaryIO, compressed: bool) -> None:
        self._file = file
        self._compressed = compressed
        self._written = 0
        self.buffer = np.empty(BUFFER, dtype=np.uint8)
        self.used = 0
        self.plain = 0
        """Bytes before compression."""

    @property
    def position(self) -> int:
        """Where the next raw byte stands in the file."""
        return self._written + self.used

    def raw(self, data: bytes) -> None:
        """Bytes that are never compressed. Not within a stream."""
        if len(data) > BUFFER - self.used:
            self.flush()
        if len(data) > BUFFER:
            raise ValueError("more raw bytes than the buffer holds")
        self.buffer[self.used : self.used + len(data)] = np.frombuffer(data, dtype=np.uint8)
        self.used += len(data)
        self.plain += len(data)
        if self._compressed:
            self._emit(self.buffer[: self.used].data)
            self.used = 0

    def begin(self) -> None:
        """Start a stream: what is put into the buffer from here on is its data."""
        if self._compressed:
            self._emit(flink.STREAM_IDENTIFIER)

    def flush(self) -> None:
        """Make room, within a stream or between two."""
        ready = self.used // flink.BLOCK * flink.BLOCK if self._compressed else self.used
        self._write_stream(ready)
        rest = self.used - ready
        self.buffer[:rest] = self.buffer[ready : self.used].copy()
        self.used = rest

    def end(self) -> None:
        """End a stream."""
        if self._compressed:
            self._write_stream(self.used)
            self.used = 0

    def close(self) -> None:
        self.flush()
        self._file.close()

    def _write_stream(self, n: int) -> None:
        if not self._compressed:
            self._emit(self.buffer[:n].data)
            return
        for chunk in flink.snappy_chunks(self.buffer[:n]):
            self._emit(chunk)

    def _emit(self, data: bytes | memoryview) -> None:
        self._file.write(data)
        self._written += len(data)


class _OperatorWriter:
    def __init__(self, plan: PlannedOperator, seed: int, compressed: bool, names: random.Random) -> None:
        by_name = {state.name or state.shape: state for state in plan.states}
        plan = replace(plan, states=[by_name[name] for name in flink.hash_map_order(list(by_name))])
        shapes = [SHAPES[state.shape] for state in plan.states]
        if len({shape.long_key for shape in shapes}) != 1:
            raise ValueError("the states of an operator have one key serializer")
        if not 1 <= plan.files <= plan.max_parallelism <= 32768:
            raise ValueError("there are between 1 and max-parallelism files, and max-parallelism is at most 32768")
        if max(state.entries for state in plan.states) >= 1 << 32:
            raise ValueError("a state has at most 2^32 - 1 entries")
        self.plan = plan
        self.shapes = shapes
        self.compressed = compressed
        self.names = names
        self.long_key = shapes[0].long_key
        self.salts = [
            (np.uint64(salts(seed, shape)[0]), np.uint64(salts(seed if s.value_seed is None else s.value_seed, shape)[1]))
            for s, shape in zip(plan.states, shapes, strict=True)
        ]
        self.group = kernels.NO_GROUP if plan.key_group is None else plan.key_group
        self.text, self.starts = kernels.texts()
        self.rows = max(state.entries for state in plan.states)
        states = [
            flink.State(state.name or shape.name, shape.kind, shape.value)
            for state, shape in zip(plan.states, shapes, strict=True)
        ]
        self.head = flink.head(shapes[0].key, states, compressed)
        self.plain = 0

    def write(self, directory: Path) -> list[flink.KeyedFile]:
        ranges = [
            flink.key_group_range(subtask, self.plan.files, self.plan.max_parallelism)
            for subtask in range(self.plan.files)
        ]
        counts = np.zeros(self.plan.max_parallelism, dtype=np.int64)
        if self.plan.key_group is None:
            kernels.count_groups(self.long_key, self.salts[0][0], self.rows, self.plan.max_parallelism, counts)
        return [
            self._write_file(directory, subtask, ranges[subtask], rows_of)
            for subtasks in _batches([int(counts[r.start : r.stop].sum()) for r in ranges])
            for rows_of in [self._collect(counts, ranges[subtasks[0]].start, ranges[subtasks[-1]].stop)]
            for subtask in subtasks
        ]

    def _collect(self, counts: np.ndarray[Any, Any], first: int, stop: int) -> dict[int, np.ndarray[Any, Any]]:
        """The rows of each key group of ``first … stop − 1``, in order."""
        if self.plan.key_group is not None:
            return {}
        bounds = np.concatenate([[0], np.cumsum(counts[first:stop])]).astype(np.int64)
        indices = np.empty(bounds[-1], dtype=np.uint32)
        ends = bounds[:-1].copy()
        kernels.collect(
            self.long_key, self.salts[0][0], self.rows, self.plan.max_parallelism, first, ends, indices
        )
        return {first + g: indices[bounds[g] : bounds[g + 1]] for g in range(stop - first)}

    def _write_file(
        self, directory: Path, subtask: int, groups: range, rows_of: dict[int, np.ndarray[Any, Any]]
    ) -> flink.KeyedFile:
        name = _uuid(self.names)
        out = StateFile((directory / name).open("wb", buffering=1 << 20), self.compressed)
        out.raw(self.head)
        offsets = []
        for group in groups:
            offsets.append(out.position)
            out.raw(struct.pack(">i", group))
            for state_id, state in enumerate(self.plan.states):
                if self.plan.key_group is None:
                    rows = rows_of[group]
                    count = len(rows) if state.entries == self.rows else int(np.searchsorted(rows, state.entries))
                    parts = iter([rows[:count]])
                else:
                    count = state.entries if group == self.plan.key_group else 0
                    parts = _numbers(count)
                self._write_state(out, state_id, count, parts)
        out.close()
        self.plain += out.plain
        return flink.KeyedFile(subtask, name, out.position, groups.start, offsets, _uuid(self.names))

    def _write_state(
        self, out: StateFile, state_id: int, count: int, parts: Iterator[np.ndarray[Any, Any]]
    ) -> None:
        if count >= 1 << 31:
            raise ValueError("a state has at most 2^31 - 1 entries in a key group")
        out.begin()
        if BUFFER - out.used < LARGEST_ENTRY:
            out.flush()
        _STATE_HEADER.pack_into(out.buffer.data, out.used, state_id, count)
        out.used += _STATE_HEADER.size
        out.plain += _STATE_HEADER.size
        for rows in parts:
            k = 0
            while k < len(rows):
                start = out.used
                k, end = kernels.fill(
                    self.shapes[state_id].number, out.buffer, start, rows, k, len(rows), self.long_key,
                    *self.salts[state_id], self.group, self.plan.max_parallelism, self.text, self.starts,
                )  # fmt: skip
                if end < 0:
                    raise ValueError(f"no key found for key group {self.group}")
                out.used = end
                out.plain += end - start
                if k < len(rows):
                    out.flush()
        out.end()


def _batches(rows: Sequence[int]) -> Iterator[list[int]]:
    """Subtasks in order, as many together as have ``ROWS_AT_ONCE`` rows, one at least."""
    batch: list[int] = []
    total = 0
    for subtask, n in enumerate(rows):
        if batch and total + n > ROWS_AT_ONCE:
            yield batch
            batch, total = [], 0
        batch.append(subtask)
        total += n
    if batch:
        yield batch


def _numbers(n: int) -> Iterator[np.ndarray[Any, Any]]:
    step = 1 << 18
    for start in range(0, n, step):
        yield np.arange(start, min(start + step, n), dtype=np.uint32)


def _uuid(names: random.Random) -> str:
    return str(uuid.UUID(int=names.getrandbits(128), version=4))


def write_snapshot(
    directory: Path, operators: Sequence[PlannedOperator], seed: int = 1, compression: str = "none"
) -> Written:
    """Write a checkpoint directory.

    :param directory: made if it is not there; must not hold a snapshot yet.
    :param compression: ``none`` or ``snappy``.
    """
    started = time.perf_counter()
    directory.mkdir(parents=True, exist_ok=True)
    if (directory / "_metadata").exists():
        raise FileExistsError(f"{directory} already holds a snapshot")
    names = random.Random(seed)
    written = Written(str(directory))
    described = []
    for plan in operators:
        writer = _OperatorWriter(plan, seed, compression == "snappy", names)
        files = writer.write(directory)
        described.append(flink.Operator(plan.uid, plan.uid.title(), plan.files, plan.max_parallelism, files))
        written.files += len(files)
        written.file_bytes += sum(file.size for file in files)
        written.state_bytes += writer.plain
        for state in plan.states:
            written.entries[f"{plan.uid}/{state.name or state.shape}"] = state.entries
    # Last, as Flink does: a directory with `_metadata` is complete.
    (directory / "_metadata").write_bytes(flink.metadata(1, described))
    written.seconds = time.perf_counter() - started
    return written


def entry_size(shape: Shape, seed: int = 1, sample: int = 20_000) -> float:
    """Bytes of an entry, on average over the first rows."""
    text, starts = kernels.texts()
    out = np.empty(sample * LARGEST_ENTRY, dtype=np.uint8)
    key_salt, value_salt = (np.uint64(salt) for salt in salts(seed, shape))
    rows = np.arange(sample, dtype=np.uint32)
    _, end = kernels.fill(
        shape.number, out, 0, rows, 0, sample, shape.long_key, key_salt, value_salt, kernels.NO_GROUP, 128, text, starts
    )
    return float(end) / sample


def plan_operators(
    shapes: Sequence[str],
    *,
    gigabytes: float | None = None,
    entries: int | None = None,
    files: int = 1,
    max_parallelism: int = 128,
    single_key_group: bool = False,
    seed: int = 1,
) -> list[PlannedOperator]:
    """Operators ``counters`` (Long keys) and ``customers`` (String keys) with the given shapes.

    :param gigabytes: size of all state before compression, the same for each shape; or
    :param entries: entries of each shape.
    """
    plans = []
    for uid, long_key in (("counters", True), ("customers", False)):
        states = []
        for name in dict.fromkeys(shapes):
            shape = SHAPES[name]
            if shape.long_key != long_key:
                continue
            n = entries
            if n is None:
                size = entry_size(shape, seed) + (0 if long_key or not single_key_group else 7)
                n = round((gigabytes or 0.0) * 1e9 / len(set(shapes)) / size)
            states.append(PlannedState(name, n))
        if states:
            group = SINGLE_KEY_GROUP % max_parallelism if single_key_group else None
            plans.append(PlannedOperator(uid, states, files, max_parallelism, group))
    return plans


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description="Write a big snapshot of Flink's HashMap backend: a checkpoint directory with _metadata and one "
        "keyed state file per subtask. Prints what it wrote as JSON.",
        epilog="example: python tests/writers/generate.py --shape pojo --gigabytes 4 --files 8 --output /data/pojo",
    )
    parser.add_argument("--output", type=Path, required=True, metavar="DIR", help="the checkpoint directory to make")
    parser.add_argument(
        "--shape",
        action="append",
        required=True,
        choices=sorted(SHAPES),
        help="may be given again: shapes with String keys become states of one operator, long-long is another's",
    )
    size = parser.add_mutually_exclusive_group(required=True)
    size.add_argument("--gigabytes", type=float, help="size of all state before compression, in 10^9 bytes")
    size.add_argument("--entries", type=int, help="entries of each state")
    parser.add_argument("--files", type=int, default=1, help="parallelism: files per operator (default 1)")
    parser.add_argument("--max-parallelism", type=int, default=128, help="number of key groups (default 128)")
    parser.add_argument("--compression", choices=["none", "snappy"], default="none")
    parser.add_argument(
        "--single-key-group",
        action="store_true",
        help=f"put all entries into key group {SINGLE_KEY_GROUP} (modulo max-parallelism); several times slower, "
        "since keys are searched that belong there",
    )
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args(arguments)
    try:
        plans = plan_operators(
            args.shape,
            gigabytes=args.gigabytes,
            entries=args.entries,
            files=args.files,
            max_parallelism=args.max_parallelism,
            single_key_group=args.single_key_group,
            seed=args.seed,
        )
        written = write_snapshot(args.output, plans, args.seed, args.compression)
    except (ValueError, FileExistsError) as error:
        parser.error(str(error))
    print(json.dumps(asdict(written)))


if __name__ == "__main__":
    main()
