"""Damages the structure of snapshots and reads them: ``python -m tests.state.structure_mutations FORM SEED COUNT``.

Other mutations damage bytes of a finished file, which checksums, sizes and offsets then contradict. Here the damage happens
while a snapshot is written: of all numbers, texts and blocks that the writers of this project write, one is another one, and
whatever is written after it fits: block trailers, CRCs of logs and chunks, sizes in the MANIFEST and in handles, offsets of key
groups. Fields of heads are found by reading the sound head and recording what is read. The snapshots are small ones of every
form, and golden ones, which are taken apart and written again.

Runs in a process of its own, under a limit of memory, like ``mutations.py``. Prints a JSON summary. A mutation is made from the
form, the seed and its number.
"""

from __future__ import annotations

import json
import random
import re
import struct
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import cramjam
import pyarrow as pa

import stateextract
from stateextract.errors import StateExtractError, expected_error
from stateextract.files import reader as reader_module
from stateextract.files.filesystem import Store
from stateextract.job import plan, salvage
from stateextract.metadata.locate import Locator, find_snapshot
from stateextract.metadata.model import (
    ChangelogBytesHandle,
    ChangelogFilesHandle,
    ChangelogHandle,
    ChannelPart,
    ChannelStateHandle,
    FileHandle,
    IncrementalHandle,
    InlineHandle,
    KeyedStateHandle,
    KeyGroupsHandle,
    MasterState,
    NestedKeyGroupsHandle,
    OperatorState,
    OperatorStateHandle,
    RelativeHandle,
    SegmentHandle,
    SnapshotMetadata,
    StreamHandle,
    SubtaskState,
)
from stateextract.metadata.parser import parse_metadata
from stateextract.snapshot import forecast, headers
from stateextract.state.header import parse_header, parse_operator_header
from stateextract.state.operator import operator_header_end
from tests.changelog import writer as changelog_writer
from tests.changelog.test_replay import BASES, random_job
from tests.conformance.notation import comparable
from tests.golden.expected import DATA, load
from tests.metadata import writer as metadata_writer
from tests.mutation_runs import limited
from tests.rocksdb.model import drain, opened
from tests.state import keyed_writer, operator_writer
from tests.state.form_mutations import FORMATS, keyed, lists, tables
from tests.state.mutations import mutated
from tests.state.operator_writer import BASE
from tests.writers import flink_writer as flink
from tests.writers import sst

FORST = Path(__file__).resolve().parents[1] / "rocksdb" / "forst"

NUMBERS = (
    0, 1, 2, 3, 7, 127, 128, 255, 256, 32767, 32768, 65535, 65536, 1 << 24, (1 << 28) - 1, (1 << 31) - 1, 1 << 31,
    (1 << 32) - 1, 1 << 40, (1 << 56) - 1, 1 << 62, (1 << 63) - 1, -1, -2, -128, -32768, -(1 << 31), -(1 << 63),
)  # fmt: skip
TEXTS = (
    "", "\0", "\ud800", "a\udfffb", "\udc00\ud800", "é", "\n", ":", "/", "..", "_timer_state/", "_timer_state/event_x",
    "a" * 300, "x" * 60_000, "MAP", "LIST", "VALUE", "AGGREGATING", "PRIORITY_QUEUE", "[[[[I", "L;", "java.lang.Object",
    f"{BASE}LongSerializer$LongSerializerSnapshot", f"{BASE}VoidSerializer$VoidSerializerSnapshot",
    f"{BASE}ListSerializerSnapshot", f"{BASE}MapSerializerSnapshot", f"{BASE}EnumSerializer$EnumSerializerSnapshot",
    f"{BASE}GenericArraySerializerSnapshot", "org.apache.flink.api.java.typeutils.runtime.PojoSerializerSnapshot",
    "org.apache.flink.api.java.typeutils.runtime.RowSerializer$RowSerializerSnapshot",
    "org.apache.flink.api.java.typeutils.runtime.TupleSerializerSnapshot",
    "org.apache.flink.api.java.typeutils.runtime.NullableSerializer$NullableSerializerSnapshot",
    "org.apache.flink.api.java.typeutils.runtime.kryo.KryoSerializerSnapshot",
    "org.apache.flink.formats.avro.typeutils.AvroSerializerSnapshot",
    "org.apache.flink.table.runtime.typeutils.RowDataSerializer$RowDataSerializerSnapshot",
    "org.apache.flink.runtime.state.ttl.TtlStateFactory$TtlSerializerSnapshot",
    "org.apache.flink.streaming.api.operators.TimerSerializerSnapshot", "com.acme.\ud83d$Unknown",
)  # fmt: skip
"""Among them classes of snapshots with another payload than the one that follows."""

WIDTHS = {"b": 8, "B": 8, "h": 16, "H": 16, "i": 32, "I": 32, "q": 64, "Q": 64}


class Damage:
    """Counts what the writers write, and makes some of it another thing.

    :param targets: numbers of the fields that are damaged, counted from 0 in the order in which they are written.
    """

    def __init__(self, random_: random.Random, targets: Sequence[int] = ()) -> None:
        self.random = random_
        self.targets = frozenset(targets)
        self.kinds: list[str] = []
        self.done: list[str] = []
        self.paused = False

    def meets(self, kind: str) -> bool:
        if self.paused:
            return False
        self.kinds.append(kind)
        return len(self.kinds) - 1 in self.targets

    def number(self, kind: str, value: int, code: str) -> int:
        """A number of a struct format's width."""
        return self.other(kind, value, code) if self.meets(kind) else value

    def other(self, kind: str, value: int, code: str) -> int:
        bits, signed = WIDTHS[code], code.islower()
        near = (value - 1, value + 1, 2 * value, -value, value ^ 1 << self.random.randrange(bits))
        found = self.random.choice((*NUMBERS, *near, *near, *near)) & (1 << bits) - 1
        found -= (1 << bits) if signed and found >> bits - 1 else 0
        self.done.append(f"{kind}: {value} → {found}")
        return found

    def text(self, kind: str, value: str, others: Sequence[str] = ()) -> str:
        return self.other_text(kind, value, others) if self.meets(kind) else value

    def other_text(self, kind: str, value: str, others: Sequence[str] = ()) -> str:
        at = self.random.randrange(len(value) + 1)
        made = (value[:at] + "\ud800" + value[at:], value[:at], value + value, *others)
        found = self.random.choice((*TEXTS, *made, *made)) if self.random.random() < 0.9 else value[::-1]
        self.done.append(f"{kind}: {value[:80]!r} → {found[:80]!r}")
        return found[:60_000] if found.isascii() else found[:20_000]

    def data(self, kind: str, value: bytes, start: int = 0, end: int | None = None) -> bytes:
        """Bytes with a piece of damage, which is where numbers stand or anywhere."""
        return self.other_data(kind, value, start, end) if value and self.meets(kind) else value

    def other_data(self, kind: str, value: bytes, start: int = 0, end: int | None = None) -> bytes:
        found, at = mutated(value, self.random, start, min(len(value), len(value) if end is None else end))
        self.done.append(f"{kind}: {len(value)} bytes damaged at {at}")
        return found


# ---- fields of heads


class Field(NamedTuple):
    """A number or text that the reader reads: ``code`` is that of struct, or ``utf``."""

    at: int
    size: int
    code: str


@contextmanager
def recording() -> Iterator[list[Field]]:
    found: list[Field] = []
    Reader = reader_module.Reader

    def recorded(name: str, code: str) -> Any:
        read = getattr(Reader, name)

        def method(self: Any, *given: Any, **more: Any) -> Any:
            at = self.offset
            value = read(self, *given, **more)
            found.append(Field(at, self.offset - at, code))
            return value

        return patch.object(Reader, name, method)

    with ExitStack() as stack:
        for name, code in (("u8", "B"), ("i16", "h"), ("u16", "H"), ("i32", "i"), ("i64", "q"), ("utf", "utf")):
            stack.enter_context(recorded(name, code))
        yield found


@cache
def fields_of(head: bytes, parse: Callable[[bytes, int, int], Any]) -> tuple[Field, ...]:
    with recording() as found:
        parse(head, 0, len(head))
    # Of a text its length is a field of its own as well, which then does not fit.
    return tuple(sorted({field for field in found if field.at + field.size <= len(head)}))


def damaged_head(damage: Damage, head: bytes, parse: Callable[[bytes, int, int], Any]) -> bytes:
    fields = fields_of(head, parse)
    texts = [_text(head, field) for field in fields if field.code == "utf"]
    hits = [field for field in fields if damage.meets(f"head {field.code}")]
    for at, size, code in reversed(hits):
        if code == "utf":
            text = damage.other_text("head utf", _text(head, Field(at, size, code)), texts)
            new = metadata_writer.utf(text)
        else:
            old = struct.unpack(f">{code}", head[at : at + size])[0]
            new = struct.pack(f">{code}", damage.other("head " + code, old, code))
        head = head[:at] + new + head[at + size :]
    return head


def _text(head: bytes, field: Field) -> str:
    return reader_module.decode_modified_utf8(head[field.at + 2 : field.at + field.size])


# ---- the writers, with damage in them


class DamagedStruct:
    """``struct`` in a writer."""

    def __init__(self, damage: Damage, where: str) -> None:
        self.damage = damage
        self.where = where

    def __getattr__(self, name: str) -> Any:
        return getattr(struct, name)

    def pack(self, layout: str, *values: Any) -> bytes:
        codes = "".join(code * int(n or 1) for n, code in re.findall(r"(\d*)([a-zA-Z?])", layout))
        return struct.pack(
            layout,
            *(
                self.damage.number(f"{self.where} {c}", v, c) if c in WIDTHS else v
                for c, v in zip(codes, values, strict=True)
            ),
        )


@contextmanager
def damaged_writers(damage: Damage) -> Iterator[None]:
    with ExitStack() as stack:

        def put(where: Any, name: str, made: Any) -> None:
            stack.enter_context(patch.object(where, name, made))

        utf = metadata_writer.utf
        for module, where in (
            (keyed_writer, "keyed"), (operator_writer, "operator"), (changelog_writer, "changelog"),
            (metadata_writer, "metadata"),
        ):  # fmt: skip
            put(module, "struct", DamagedStruct(damage, where))
            if hasattr(module, "utf"):
                put(module, "utf", lambda text, where=where: utf(damage.text(f"{where} utf", text)))

        snappy = flink.compress_snappy_framed

        def framed(plain: bytes) -> bytes:
            return lying_snappy(damage, snappy(damage.data("plain", bytes(plain))))

        put(keyed_writer, "compress_snappy_framed", framed)
        put(changelog_writer, "compress_snappy_framed", framed)
        chunk = operator_writer.chunk
        put(
            operator_writer,
            "chunk",
            lambda plain: damage.data("chunk", chunk(damage.data("plain", plain) or b"\0"), 0, 12),
        )

        for owner, parse in ((keyed_writer, parse_header), (operator_writer.Lists, parse_operator_header)):
            put(owner, "head", _method(damage, owner.head, parse))  # type: ignore[attr-defined]
        _damage_tables(damage, put)
        yield


def _method(damage: Damage, head: Callable[..., bytes], parse: Any) -> Callable[..., bytes]:
    def any_head(*given: Any) -> bytes:
        damage.paused = True
        sound = head(*given)
        damage.paused = False
        return damaged_head(damage, sound, parse)

    return any_head


def lying_snappy(damage: Damage, stream: bytes) -> bytes:
    """A stream whose chunks and blocks say other lengths."""
    stream = damage.data("framing", stream, 0, 18)
    if len(stream) > 20 and stream[10:11] == b"\0" and damage.meets("block length"):
        stream = stream[:18] + flink.varint(damage.other("block length", stream[18], "Q")) + stream[19:]
    return stream


def _damage_tables(damage: Damage, put: Callable[[Any, str, Any], None]) -> None:
    varint, internal_key, compress, log_file = sst.varint, sst.internal_key, sst.compress, sst.log_file
    add, properties, footer = sst.SstWriter.add, sst.SstWriter._properties, sst.SstWriter._footer

    def any_varint(value: int) -> bytes:
        if not damage.meets("varint"):
            return varint(value)
        if damage.random.random() < 0.1:
            return damage.random.choice((b"\xff" * 9 + b"\x7f", b"\x80" * 11 + b"\0", varint(value)[:-1] + b"\x80\0"))
        return varint(damage.other("varint", value, "Q"))

    def any_key(key: bytes, seqno: int, kind: int) -> bytes:
        if not damage.meets("internal key"):
            return internal_key(key, seqno, kind)
        damage.done.append(f"internal key of {key!r}")
        return damage.random.choice((
            internal_key(key, seqno, damage.random.randrange(256)), internal_key(key, (1 << 56) - 1, kind),
            internal_key(key, 0, kind), internal_key(key[::-1], seqno, kind), key, b"", internal_key(b"", seqno, kind),
        ))  # fmt: skip

    def any_block(self: sst.SstWriter, plain: bytes, compression: int = sst.NONE) -> tuple[int, int]:
        # The numbers of a block's first entry are at its beginning, the restart points at its end.
        plain = damage.data("block", plain)
        plain = damage.data("first entry", plain, 0, 4)
        return add(self, damage.data("restarts", plain, max(len(plain) - 8, 0)), compression)

    def any_footer(self: sst.SstWriter, *handles: tuple[int, int]) -> None:
        before = len(self.out)
        footer(self, *handles)
        self.out[before:] = damage.data("footer", bytes(self.out[before:]))

    put(sst, "varint", any_varint)
    put(sst, "internal_key", any_key)
    put(sst, "compress", lambda *given: damage.data("stored block", compress(*given)))
    put(sst, "log_file", lambda records: log_file([damage.data("MANIFEST record", one) for one in records]))
    put(sst.SstWriter, "add", any_block)
    put(sst.SstWriter, "_footer", any_footer)
    put(
        sst.SstWriter,
        "_properties",
        lambda *given: [(name, damage.data("property", value)) for name, value in properties(*given)],
    )


# ---- what is damaged

Write = Callable[[Path, Damage], Path]
"""Writes a snapshot into a folder, and gives where."""


def of_form(form: Callable[[keyed_writer.Keyed], KeyedStateHandle], max_parallelism: int = 4) -> Write:
    made = keyed(max_parallelism)
    return lambda folder, damage: keyed_writer.write(
        folder, [SubtaskState(0, managed_keyed=form(made))], max_parallelism
    )


def of_tables(form: sst.Format) -> Write:
    made = keyed(8)
    files = tables(made, form)

    def write(folder: Path, damage: Damage) -> Path:
        handle = sst.database(files, [state.name for state in made.states], 0, 8)
        handle = replace(handle, meta=InlineHandle("meta", keyed_writer.head(made, False)))
        return keyed_writer.write(folder, [SubtaskState(0, managed_keyed=handle)], 8)

    return write


def of_lists(form: str) -> Write:
    def write(folder: Path, damage: Damage) -> Path:
        data, states = lists(form).write()
        handle = OperatorStateHandle(4, tuple(states), InlineHandle("operator", data))
        return keyed_writer.write(folder, [SubtaskState(0, managed_operator=handle)])

    return write


def of_changes(base: str, place: str) -> Write:
    job, materialized = random_job(("structure", base), base, place != "compressed")
    records = [(group, data, changelog_writer.METADATA if group < 0 else 0) for group, data in job.log[:120]]

    def write(folder: Path, damage: Damage) -> Path:
        parts = [] if materialized is None else [keyed_writer.FORMS[base](materialized)]
        log = [
            (group, damage.data("declaration" if kind else "change", data, 0, 12 if kind else 3))
            for group, data, kind in records
        ]
        log = [(damage.number("group", group, "i"), data) for group, data in log]
        if place == "memory":
            increment: KeyedStateHandle = changelog_writer.in_memory(log, job.groups)
        else:
            increment = changelog_writer.in_files(
                folder, changelog_writer.cut(log, 3), job.groups, compressed=place == "compressed"
            )
        managed = changelog_writer.handle(job.groups, parts, [increment])
        return keyed_writer.write(folder / "chk-7", [SubtaskState(0, managed_keyed=managed)])

    return write


def of_metadata(version: int) -> Write:
    """Handles of all kinds, of which some have no file."""
    made = keyed_writer.heap(keyed(4))
    data = made.stream.data  # type: ignore[union-attr]
    operator_data, states = lists("plain").write()
    database = keyed_writer.rocksdb(keyed(4), 11 if version >= 4 else 5)
    channel = ChannelStateHandle(1, 0, (ChannelPart(0, 1, 3, (0,)),), 3, InlineHandle("channel", b"abc"))
    merged = ChannelStateHandle(
        4, 0, (ChannelPart(0, 1, 3, (0, 2)), ChannelPart(1, 1, 3, ())), 3, InlineHandle("c", b"abc")
    )
    gone: list[StreamHandle] = [
        FileHandle(len(data), "/nowhere/shared/x"), RelativeHandle("../x", 5),
        SegmentHandle(0, 9, "SHARED", "file:/nowhere/taskowned/y", "id"),
    ]  # fmt: skip
    tasks = [
        SubtaskState(0, OperatorStateHandle(4, tuple(states), InlineHandle("o", operator_data)), None, made),
        SubtaskState(1, None, None, database, input_channels=(channel,)),
        SubtaskState(2, None, None, replace(made, stream=RelativeHandle("file", len(data)))),
        SubtaskState(3, None, None, replace(made, stream=SegmentHandle(7, len(data), "EXCLUSIVE", "seg", "id"))),
        SubtaskState(4, None, None, replace(made, code=3, stream=NestedKeyGroupsHandle(0, (1, 2), made.stream))),
        SubtaskState(8, output_channels=(merged,) if version >= 6 else ()),
    ]
    lost = tuple(SubtaskState(n, None, None, replace(made, stream=stream)) for n, stream in enumerate(gone))
    coordinator = InlineHandle("coordinator", keyed_writer.i32(1, 3) + b"abc") if version > 2 else None
    finished = (9,) if version > 2 else ()
    operators = (
        OperatorState("0f" * 16, "op", "An operator", 10, 40, False, finished, coordinator, (tasks[0], tasks[-1])),
        OperatorState("0e" * 16, None, None, 1, 128, version > 2),
        *(OperatorState(f"{task.index:032x}", "op", "An operator", 10, 40, subtasks=(task,)) for task in tasks[1:-1]),
        *(OperatorState(f"{16 + task.index:032x}", "other", "An operator", 4, 16, subtasks=(task,)) for task in lost),
    )  # fmt: skip
    snapshot = SnapshotMetadata(version, 7, (MasterState(1, "hook", b"master"),), operators)
    properties = metadata_writer.savepoint_properties("NATIVE", "Savepoint")

    def write(folder: Path, damage: Damage) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "file").write_bytes(data)
        (folder / "seg").write_bytes(bytes(7) + data)
        found = damage.data("properties", properties)
        (folder / "_metadata").write_bytes(metadata_writer.metadata(snapshot, found))
        return folder

    return write


# ---- golden snapshots


def of_golden(name: str) -> Write:
    folder = FORST if name == "ForSt" else DATA / name
    store = Store()
    found = find_snapshot(str(folder / load(folder)["snapshot"]), store)
    locator = Locator(found, store)
    snapshot = parse_metadata(store.read(found.metadata_uri))

    def inline(stream: StreamHandle, whole: bool = False) -> InlineHandle:
        location = locator.locate(stream, exact_size=not whole)
        if location.uri is None:
            return InlineHandle("x", location.inline or b"")
        size = len(Path(location.uri).read_bytes()) if whole else location.size
        return InlineHandle("x", store.read(location.uri)[location.start : location.start + size])

    def inlined(handle: Any) -> Any:
        if isinstance(handle, ChangelogHandle):
            parts = tuple(map(inlined, handle.materialized))
            return replace(handle, materialized=parts, increments=tuple(map(inlined, handle.increments)))
        if isinstance(handle, ChangelogFilesHandle):
            return replace(handle, files=tuple((at, inline(stream, True)) for at, stream in handle.files))
        if isinstance(handle, IncrementalHandle):
            shared = tuple((local, inline(stream)) for local, stream in handle.shared)
            private = tuple((local, inline(stream)) for local, stream in handle.private)
            return replace(handle, meta=inline(handle.meta), shared=shared, private=private)
        if isinstance(handle, KeyGroupsHandle | OperatorStateHandle):
            return replace(handle, stream=inline(handle.stream))
        return handle

    def again(operator: OperatorState, change: Callable[[Any], Any]) -> OperatorState:
        tasks = []
        for task in operator.subtasks:
            roles = ("managed_operator", "managed_keyed", "raw_keyed")
            tasks.append(replace(task, **{role: change(getattr(task, role)) for role in roles}))
        return replace(operator, subtasks=tuple(tasks))

    operators = [again(operator, inlined) for operator in snapshot.operators]

    def write(folder: Path, damage: Damage) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        damaged = replace(snapshot, operators=tuple(again(o, partial(rewritten, damage)) for o in operators))
        (folder / "_metadata").write_bytes(metadata_writer.metadata(damaged))
        return folder

    return write


def rewritten(damage: Damage, handle: Any) -> Any:
    """A handle whose bytes, all inline, are written again."""
    if isinstance(handle, ChangelogHandle):
        parts = tuple(rewritten(damage, part) for part in handle.materialized)
        return replace(handle, materialized=parts, increments=tuple(rewritten(damage, i) for i in handle.increments))
    if isinstance(handle, ChangelogBytesHandle):
        return replace(handle, changes=tuple((group, damage.data("change", data)) for group, data in handle.changes))
    if isinstance(handle, ChangelogFilesHandle):
        files = []
        for at, stream in handle.files:
            assert isinstance(stream, InlineHandle)
            files.append((at, InlineHandle("x", stream.data[:1] + resealed(damage, stream.data[1:]))))
        return replace(handle, files=tuple(files))
    if isinstance(handle, IncrementalHandle):
        assert isinstance(handle.meta, InlineHandle)
        files_, states = contents(handle)
        made = sst.database(files_, states, handle.first, handle.count)
        meta = InlineHandle("meta", damaged_head(damage, handle.meta.data, parse_header))
        return replace(handle, meta=meta, shared=made.shared, private=made.private)
    if isinstance(handle, OperatorStateHandle) and handle.stream.size:
        assert isinstance(handle.stream, InlineHandle)
        data = handle.stream.data
        end = operator_header_end(handle.states, len(data), lambda at, n: data[at : at + n])
        head = damaged_head(damage, data[:end], parse_operator_header)
        shift = len(head) - end
        moved = tuple(replace(state, offsets=tuple(o + shift for o in state.offsets)) for state in handle.states)
        return replace(handle, states=moved, stream=InlineHandle("x", head + resealed(damage, data[end:])))
    if isinstance(handle, KeyGroupsHandle) and handle.stream.size:
        return rewritten_groups(damage, handle)
    return handle


def rewritten_groups(damage: Damage, handle: KeyGroupsHandle) -> KeyGroupsHandle:
    assert isinstance(handle.stream, InlineHandle)
    data = handle.stream.data
    starts = sorted({offset for offset in handle.offsets if offset})
    if not starts:
        return handle  # raw timers, or nothing at all
    out = damaged_head(damage, data[: starts[0]], parse_header) if data[:1] == b"\0" else data[: starts[0]]
    places = {0: 0}
    for start, end in pairwise((*starts, len(data))):
        places[start] = len(out)
        out += resealed(damage, data[start:end])
    return replace(handle, offsets=tuple(places[o] for o in handle.offsets), stream=InlineHandle("x", out))


def resealed(damage: Damage, data: bytes) -> bytes:
    """A body: damaged as it is, or one of its Snappy streams unpacked, damaged and packed again."""
    first, *streams = data.split(flink.STREAM_IDENTIFIER)
    out = damage.data("body", first)
    for packed in streams:
        stream = flink.STREAM_IDENTIFIER + packed
        if damage.meets("plain"):
            plain = bytes(cramjam.snappy.decompress(stream))
            stream = flink.compress_snappy_framed(damage.other_data("plain", plain) if plain else b"\0\1")
        out += lying_snappy(damage, stream)
    return out


@cache
def contents(handle: IncrementalHandle) -> tuple[list[sst.SstFile], list[str]]:
    """The pairs of a golden database, as files to be written."""
    assert isinstance(handle.meta, InlineHandle)
    database = opened(handle)
    names = [meta.name for meta in parse_header(handle.meta.data).states]
    files = []
    for number, name in enumerate(names):
        pairs = drain(database.pairs(name, handle.first, handle.key_groups[-1], 1))
        form = list(FORMATS.values())[number % len(FORMATS)]
        if pairs:
            entries = tuple(sst.Entry(key, n, sst.PUT, value) for n, (key, value) in enumerate(pairs, 1))
            files.append(sst.SstFile(number % 2, entries, form=replace(form, block_size=400), state=name))
    return files, names


GOLDEN = (
    "f23-kinds-native", "f23-types-checkpoint-snappy", "f120-evolution-native", "f23-sql-checkpoint-snappy", "f23-kryo-native",
    "f23-avro-canonical", "f120-cep-canonical", "f120-avro-canonical-snappy", "f120-scala-checkpoint", "f20-records-native",
    "f23-changes-checkpoint-rocksdb-incremental", "ForSt", "f120-changes-checkpoint-changelog-compressed",
    "f23-changes-checkpoint-changelog-materialized", "f120-changes-checkpoint-changelog-in-memory",
    "f23-changes-checkpoint-rocksdb-snappy-heap-timers",
)  # fmt: skip

SUBJECTS: dict[str, Callable[[], Write]] = {
    "heap": lambda: of_form(keyed_writer.heap),
    "heap compressed": lambda: of_form(keyed_writer.FORMS["heap compressed"]),
    "canonical": lambda: of_form(keyed_writer.canonical),
    "canonical compressed": lambda: of_form(keyed_writer.FORMS["canonical compressed"]),
    "canonical two bytes": lambda: of_form(keyed_writer.canonical, 200),
    **{name: lambda form=form: of_tables(form) for name, form in FORMATS.items()},  # type: ignore[misc]
    **{
        f"operator {form}": lambda form=form: of_lists(form)  # type: ignore[misc]
        for form in ("plain", "compressed", "1.18", "1.18.0")
    },
    **{
        f"changelog {base} {place}": lambda base=base, place=place: of_changes(base, place)  # type: ignore[misc]
        for base, place in zip(BASES, ("memory", "plain", "compressed") * 2, strict=True)
    },
    **{f"_metadata {n}": lambda n=n: of_metadata(n) for n in (2, 3, 4, 5, 6, 7)},  # type: ignore[misc]
    **{f"golden {name}": lambda name=name: of_golden(name) for name in GOLDEN},  # type: ignore[misc]
}
GROUPS = ("heap", "canonical", "SST", "operator", "changelog", "_metadata", "golden")
"""Beginnings of names: what one run damages."""


# ---- reading it


def rows(folder: Path, random_: random.Random, engine: Any, options: dict[str, Any]) -> tuple[Counter[str], list[Any]]:
    """Everything that Python's interface gives of a snapshot: kinds of errors, and rows."""
    errors: Counter[str] = Counter()
    found: list[Any] = []
    try:
        snapshot = stateextract.open_snapshot(str(folder), decoder=engine, **options)
        states = snapshot.states
    except StateExtractError as error:
        return Counter([type(error).__name__]), []
    for operator in snapshot.operators:
        repr(operator.coordinator), operator.handles, operator.unnamed
        errors.update(type(problem).__name__ for problem in operator.problems)
    for state in states:
        repr(state.coverage)
        try:
            batches = list(state.to_batches())
            for batch in batches:
                batch.validate(full=True)
            found.append((state.name, sorted(map(repr, _rows(batches)))))
        except StateExtractError as error:
            str(error)
            errors[type(error).__name__] += 1
            found.append((state.name, None))
    if options["on_undecodable"] == "raw":
        for state in states:
            try:
                state.raw_batches().read_all()
            except StateExtractError as error:
                errors[type(error).__name__] += 1
    snapshot.missing_files()
    if random_.random() < 0.1:
        list(snapshot.validate())
    return errors, found


def _rows(batches: Sequence[pa.RecordBatch]) -> Iterator[tuple[Any, ...]]:
    for batch in batches:
        columns = [[comparable(value, column.type) for value in column] for column in batch.columns]
        yield from zip(*columns, strict=True)


def read(folder: Path, random_: random.Random, usual: Counter[str]) -> str:
    """``read``, or the name of an error that is not among those of the sound snapshot, some of whose files are missing."""
    options = {
        "on_undecodable": random_.choice(["fail", "skip", "raw"]),
        "verify_checksums": random_.random() < 0.7,
        "out_of_range": random_.choice(["fail", "null"]),
        "maps": random_.choice(["map", "list"]),
        "flatten": random_.random() < 0.2,
    }
    engines = random_.choice((("interpreter",), ("kernel",), ("kernel",), ("interpreter", "kernel")))
    outcomes = [rows(folder, random_, engine, options) for engine in engines]
    assert all(found == outcomes[0][1] for _, found in outcomes), (
        "the engines differ: "
        + str([(a, b) for a, b in zip(outcomes[0][1], outcomes[-1][1], strict=False) if a != b][:1])[:1500]
    )
    errors = outcomes[0][0] - usual
    return min(errors) if errors else "read"


@contextmanager
def caught(unforeseen: list[str]) -> Iterator[None]:
    """Errors that nothing raises on purpose become one of ours where a state is isolated: here they are told."""

    def told(error: Exception) -> StateExtractError:
        if not isinstance(error, StateExtractError):
            unforeseen.append("".join(traceback.format_exception(error))[-1800:])
        return expected_error(error)

    with ExitStack() as stack:
        for module in (headers, forecast, plan, salvage):
            stack.enter_context(patch.object(module, "expected_error", told))
        yield


def run(group: str, seed: int, count: int) -> dict[str, Any]:
    subjects = {name: make() for name, make in SUBJECTS.items() if name.startswith(group)}
    outcomes: Counter[str] = Counter()
    unexpected: list[str] = []
    kinds: dict[str, list[str]] = {}
    usual: dict[str, Counter[str]] = {}
    slowest, what = 0.0, ""
    with tempfile.TemporaryDirectory() as folder:
        for number, (name, write) in enumerate(subjects.items()):
            sound = Damage(random.Random(name))
            with damaged_writers(sound):
                path = write(Path(folder) / f"sound {number}", sound)
            kinds[name] = sound.kinds
            # Which is to be read; the first time loads the kernel.
            options = {"on_undecodable": "raw", "out_of_range": "null"}
            usual[name], found_ = rows(path, random.Random(0), ("kernel", "interpreter")[number % 2], options)
            assert any(table for _, table in found_), f"{name}: {usual[name]}"
            assert {"FormatError", "TruncatedError", "ChecksumError"}.isdisjoint(usual[name]), f"{name}: {usual[name]}"
        grown = limited()
        for number in range(count):
            random_ = random.Random(f"{group} {seed} {number}")
            name = random_.choice(sorted(subjects))
            targets = []
            for _ in range(random_.choice((1, 1, 1, 1, 2, 3))):
                kind = random_.choice(sorted(set(kinds[name])))
                targets.append(random_.choice([i for i, one in enumerate(kinds[name]) if one == kind]))
            damage = Damage(random_, targets)
            began = time.process_time()
            found: list[str] = []
            try:
                with damaged_writers(damage):
                    path = subjects[name](Path(folder) / "damaged", damage)
                began = time.process_time()
                with caught(found):
                    outcomes[read(path, random_, usual[name])] += 1
            except BaseException:
                outcomes["unexpected"] += 1
                found.append(traceback.format_exc()[-1800:])
            unexpected += [f"{group} {seed} {number} {name}: {damage.done}: {text}" for text in found[:1]]
            if (took := time.process_time() - began) > slowest:
                slowest, what = took, f"{number} {name} {damage.done}"
    return {
        "outcomes": dict(outcomes), "unexpected": unexpected, "slowest": slowest, "grown": grown(), "slowest_at": what
    }  # fmt: skip


if __name__ == "__main__":
    print(json.dumps(run(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))))
