"""Damages state of every form but heap bodies in memory and reads it: ``python -m tests.state.form_mutations FORM SEED COUNT``.

Runs in a process of its own, under a limit of memory, like ``mutations.py``. The files are small ones made here: canonical
bodies, RocksDB's files, operator state, each with states of many kinds. Every damaged file is read by both engines, which
must refuse it alike or give the same rows. Prints a JSON summary. A mutation is made from the form, the seed and its number.
"""

from __future__ import annotations

import json
import random
import struct
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from stateextract.errors import StateExtractError
from stateextract.metadata.model import IncrementalHandle, InlineHandle
from stateextract.rocksdb import RocksDB, RocksOptions, open_rocksdb
from stateextract.snapshot.content import Content, read_content
from stateextract.state.bodies.body import BodyKind
from stateextract.state.bodies.database import shares
from stateextract.state.bodies.heap import key_group_ranges
from stateextract.state.counters import Counters
from stateextract.state.header import parse_header, parse_operator_header
from stateextract.state.operator import operator_header_end, partitions
from stateextract.state.state_columns import ReadOptions
from stateextract.state.target import FileRead
from tests.conformance.notation import comparable
from tests.job.snapshots import UNKNOWN
from tests.mutation_runs import limited
from tests.rocksdb.model import open_inline
from tests.state.keyed_writer import Entry, Keyed, State, _pairs, canonical, i32, i64, rocksdb
from tests.state.mutations import mutated
from tests.state.operator_writer import Lists, string
from tests.writers import flink_writer as flink
from tests.writers import sst
from tests.writers.sst import Format, with_file

TIME_WINDOW = flink.versioned(
    "org.apache.flink.streaming.api.windowing.windows.TimeWindow$Serializer$TimeWindowSerializerSnapshot", 3
)
ENGINES = ("interpreter", "kernel")
Outcome = tuple[str, Any]


# ---- what is damaged


def keyed(max_parallelism: int) -> Keyed:
    """States of many kinds under keys that are strings."""
    last = max_parallelism - 1
    groups = [0, 1, last, last]
    key = [flink.flink_string(text) for text in ("a", "bb", "ccc", "d" * 200)]

    def entries(values: list[Any], namespace: bytes = b"\x00") -> list[Entry]:
        return [Entry(g, k, v, namespace) for g, k, v in zip(groups, key, values, strict=True)]

    rows = flink.list_of(flink.nullable(flink.tuple_of(flink.STRING, flink.INT)))
    row = i32(2) + b"\x01" + b"\x00" + flink.flink_string("x") + i32(7)
    states = [
        State("long", entries([i64(n) for n in range(4)])),
        State("rows", entries([i32(0), row, row, row]), "VALUE", rows),
        State("list", entries([[i64(1)], [i64(7)] * 9, [i64(44)] * 3, [i64(2)]]), "LIST", flink.list_of(flink.LONG)),
        State("map", entries([[(k, i64(n)) for n, k in enumerate(key)]] * 4), "MAP", flink.map_of(flink.STRING, flink.LONG)),
        State("nulls", entries([[(i32(1), None), (i32(2), key[2])]] * 4), "MAP", flink.map_of(flink.INT, flink.STRING)),
        State("window", entries([i64(5)] * 4, i64(0, 1000)), "REDUCING", flink.LONG, TIME_WINDOW),
        State("lengths", entries([i64(6)] * 4, key[1]), "VALUE", flink.LONG, flink.STRING, lengths=True),
        State("unknown", entries([b"???"] * 4), "VALUE", UNKNOWN),
        State("_timer_state/event_t", entries([1, -(2**63), 2**63 - 1, 0]), "TIMER"),
        State("empty"),
    ]  # fmt: skip
    return Keyed(states, flink.STRING, range(max_parallelism), max_parallelism)


@dataclass(frozen=True)
class Subject:
    """Something to damage.

    :param parts: its files by name, each with the area that is damaged.
    :param read: reads it with one of them replaced, and gives all rows.
    """

    parts: dict[str, tuple[bytes, int]]
    read: Callable[[str, bytes, ReadOptions], Iterator[Any]]


def key_groups(compressed: bool, max_parallelism: int) -> Subject:
    made = keyed(max_parallelism)
    handle = canonical(made, compressed)
    assert isinstance(handle.stream, InlineHandle)
    data = handle.stream.data
    end = min(offset for offset in handle.offsets if offset)

    def read(part: str, damaged: bytes, options: ReadOptions) -> Iterator[Any]:
        offsets = handle.offsets
        if part == "offsets":
            size = 8 * len(offsets)
            offsets, damaged = struct.unpack(f">{len(offsets)}q", damaged[:size].ljust(size, b"\0")), data
            if not all(0 <= offset <= len(data) for offset in offsets):
                return iter(())  # refused where the handle is looked at
        header_end = min((offset for offset in offsets if offset), default=len(damaged))
        head = parse_header(damaged, 0, min(header_end, len(damaged)))
        ranges = tuple(key_group_ranges(0, offsets, max(len(damaged), max(offsets) + 1), 0))
        content = Content(BodyKind.FULL_SNAPSHOT, len(damaged), header_end, max_parallelism, ranges)
        return pieces(damaged, head, content, options)

    numbers = struct.pack(f">{len(handle.offsets)}q", *handle.offsets)
    return Subject({"head": (data[:], end), "body": (data, -end), "offsets": (numbers, 0)}, read)


def pieces(data: bytes, head: Any, content: Content, options: ReadOptions, **more: Any) -> Iterator[Any]:
    wanted = {meta.name for meta in head.states}
    for piece in read_content(
        lambda at, n: data[max(at, 0) : max(at, 0) + n], head, content, FileRead(wanted, options, Counters(), 0), **more
    ):
        piece.batch.validate(full=True)
        columns = [[comparable(value, column.type) for value in column] for column in piece.batch.columns]
        yield from ((piece.state, piece.raw, repr(row)) for row in zip(*columns, strict=True))


FORMATS = {
    "SST": Format(),
    "SST LZ4 CRC32C": Format(checksum=sst.checksums.CRC32C, compression=sst.LZ4, index_restart_interval=4),
    "SST two-level": Format(compression=sst.ZSTD, index_type=sst.TWO_LEVEL, checksum=sst.checksums.XXHASH),
    "SST format 0": Format(
        version=0, checksum=sst.checksums.CRC32C, delta=False, user_keys=False, compression=sst.NONE
    ),
}


def tables(made: Keyed, form: Format) -> list[sst.SstFile]:
    """Of each state a file of level 1 with old versions of all pairs, and one of level 0 with new ones and a deleted range."""
    files = []
    for state in made.states:
        pairs = [pair for group in made.groups for pair in _pairs(made, state, group)]
        if not pairs:
            continue
        old = tuple(sst.Entry(k, n, sst.PUT, v) for n, (k, v) in enumerate(pairs, 1))
        kind = sst.MERGE if state.kind == "LIST" else sst.PUT
        new = tuple(sst.Entry(k, 500 + n, kind, v) for n, (k, v) in enumerate(pairs[::2]))
        files += [
            sst.SstFile(1, old, form=form, state=state.name),
            sst.SstFile(0, new, ((b"\x01", b"\x02", 100),), form, state.name),
        ]
    return files


def database(form: Format) -> Subject:
    """The tables of all states, and their MANIFEST."""
    made = keyed(8)
    files = tables(made, form)
    base = rocksdb(made)
    handle = replace(sst.database(files, [s.name for s in made.states], 0, 8), meta=base.meta)
    assert isinstance(handle.meta, InlineHandle)
    head = parse_header(handle.meta.data, 0, len(handle.meta.data))
    content = Content(BodyKind.SST_FILES, len(handle.meta.data), head.end, 8, shares(range(8), handle.size))

    def read(part: str, damaged: bytes, options: ReadOptions) -> Iterator[Any]:
        broken: IncrementalHandle = with_file(handle, part, damaged)
        if part.endswith(".sst"):
            # A file of another size than the MANIFEST says is refused at once; here it is to be looked into.
            broken = listing(broken, part, len(damaged))

        def opened(given: RocksOptions) -> RocksDB:
            return open_rocksdb(broken, open_inline, given)

        return pieces(b"", head, content, options, open_database=opened)

    def listing(broken: IncrementalHandle, part: str, size: int) -> IncrementalHandle:
        sizes = {name: stream.size for name, stream in handle.shared} | {part: size}
        listed = [(10 + n, sizes[f"{10 + n:06d}.sst"], file) for n, file in enumerate(files)]
        return with_file(broken, "MANIFEST-000005", sst.manifest(listed, [s.name for s in made.states]))

    streams = {name: stream for name, stream in (*handle.shared, *handle.private) if not name.startswith("OPTIONS")}
    return Subject({n: (s.data, 0) for n, s in streams.items() if isinstance(s, InlineHandle)}, read)


def lists(form: str) -> Lists:
    """List states and a broadcast state of an operator."""
    unknown = ("unknown", "SPLIT_DISTRIBUTE", UNKNOWN)
    elements = {
        ("longs", "UNION", flink.LONG): [i64(n) for n in range(20)],
        ("texts", "SPLIT_DISTRIBUTE", flink.STRING): [string("x" * n) for n in range(40)],
        ("pairs", "SPLIT_DISTRIBUTE", flink.tuple_of(flink.STRING, flink.LONG)): [string("y") + i64(1)] * 5,
        ("none", "UNION", flink.LONG): [],
        unknown: [b"abc", b"d", b"ef"],
    }
    rules = {("rules", flink.STRING, flink.LONG): [(string(f"rule {n}"), i64(n)) for n in range(20)]}
    if form.startswith("1.18"):
        del elements[unknown]  # whose end nobody knows there
    return Lists(elements, rules, form)


def operator_state(form: str) -> Subject:
    data, states = lists(form).write()
    end = operator_header_end(states, len(data), lambda at, n: data[at : at + n])

    def read(part: str, damaged: bytes, options: ReadOptions) -> Iterator[Any]:
        head = parse_operator_header(damaged, 0, min(end, len(damaged)))
        parts = tuple(partitions(head, states, len(damaged)))
        content = Content(BodyKind.OPERATOR, len(damaged), head.end, partitions=parts, whole=head.compressed)
        return pieces(damaged, head, content, options)

    return Subject({"head": (data, end), "body": (data, -end)}, read)


SUBJECTS: dict[str, Callable[[], Subject]] = {
    "canonical": lambda: key_groups(False, 4),
    "canonical compressed": lambda: key_groups(True, 4),
    "canonical two bytes": lambda: key_groups(False, 200),
    **{name: lambda form=form: database(form) for name, form in FORMATS.items()},  # type: ignore[misc]
    "operator": lambda: operator_state("plain"),
    "operator compressed": lambda: operator_state("compressed"),
    "operator 1.18": lambda: operator_state("1.18"),
    "operator 1.18.0": lambda: operator_state("1.18.0"),
}


# ---- damaging it


def outcome(subject: Subject, part: str, data: bytes, options: ReadOptions) -> Outcome:
    try:
        return "read", sorted(subject.read(part, data, options))
    except StateExtractError as error:
        return type(error).__name__, None


def run(form: str, seed: int, count: int) -> dict[str, Any]:
    subject = SUBJECTS[form]()
    outcomes: Counter[str] = Counter()
    unexpected: list[str] = []
    slowest = 0.0
    name, (data, _) = next(iter(subject.parts.items()))
    whole = [outcome(subject, name, data, ReadOptions(engine=engine, on_undecodable="raw")) for engine in ENGINES]
    assert whole[0] == whole[1]
    assert whole[0][0] == "read"
    grown = limited()
    names = sorted(subject.parts)
    for number in range(count):
        random_ = random.Random(f"{form} {seed} {number}")
        part = random_.choice(names)
        data, edge = subject.parts[part]
        area = (0, edge) if edge > 0 else (-edge, len(data))
        broken, _ = mutated(data, random_, *area)
        if broken and random_.random() < 0.2:
            broken, _ = mutated(broken, random_, min(area[0], len(broken) - 1), min(area[1], len(broken)))
        mode: Any = random_.choice(["fail", "skip", "raw"])
        verify = random_.random() < 0.3
        found = []
        for engine in ENGINES:
            began = time.process_time()
            try:
                options = ReadOptions(on_undecodable=mode, verify_checksums=verify, engine=engine)
                found.append(outcome(subject, part, broken, options))
            except BaseException:
                unexpected.append(f"{form} {seed} {number} {part} {engine}: {traceback.format_exc()[-1500:]}")
            slowest = max(slowest, time.process_time() - began)
        if len(found) == 2 and found[0][1] != found[1][1]:
            unexpected.append(f"{form} {seed} {number} {part} {mode}: {str(found[0])[:600]} but {str(found[1])[:600]}")
        outcomes.update(kind for kind, _ in found[-1:])
    return {"outcomes": dict(outcomes), "unexpected": unexpected[:5], "slowest": slowest, "grown": grown()}


if __name__ == "__main__":
    print(json.dumps(run(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))))
