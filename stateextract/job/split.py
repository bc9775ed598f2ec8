"""Splits: key groups packed by bytes, and the plan file that carries them to the tasks.

One task should read about ``split_bytes`` of state. A key group is never split, since nothing says where an entry in
its middle begins; small key groups of several files, and of several operators, go together.

The plan file lies in the staging folder: first the context that all tasks share (options, output, merged schemas), then
one record per split. A task gets only the path of the plan file and its own number, so what travels through
Spark does not grow with the snapshot.

Plain values and their bytes. Must not know of Spark or of how anything is decoded.
"""

from __future__ import annotations

import base64
import itertools
import json
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import pyarrow as pa

from serializers import DescribeContext
from stateextract.columnar.convert.policy import Policy
from stateextract.job.writer import WriterOptions
from stateextract.options import JobOptions, from_lines
from stateextract.snapshot.content import Content
from stateextract.snapshot.describe_contexts import decode_context, encode_context
from stateextract.snapshot.parts import OperatorTargets, Part, StateTarget
from stateextract.state.bodies.body import BodyKind
from stateextract.state.bodies.heap import KeyGroupRange
from stateextract.state.operator import Partition
from stateextract.state.state_columns import StatePolicy

_FILE_COST = 256 * 1000  # opening a file and reading its head counts like that many bytes


@dataclass(frozen=True)
class SplitContext:
    """What all tasks share.

    :param folder: path on the output's file system that files are written below.
    :param describe: what describing serializers needs.
    :param lengths: sizes of the splits' records in the plan file, which follow the context.
    :param size: bytes of state that all splits read.
    """

    job: str
    output: str
    folder: str
    metadata_uri: str
    options: JobOptions
    operators: Sequence[OperatorTargets]
    lengths: Sequence[int] = ()
    describe: DescribeContext = DescribeContext()
    size: int = 0

    def to_bytes(self) -> bytes:
        """For the plan file."""
        operators = [
            {
                "label": o.label,
                "id": o.id,
                "states": {
                    name: [
                        t.folder, t.raw_folder, t.overrides, asdict(t.choice),
                        *map(_schema_text, (t.schema, t.raw_schema, t.merged)),
                    ]
                    for name, t in o.states.items()
                },
            }
            for o in self.operators
        ]
        document = {
            "job": self.job, "output": self.output, "folder": self.folder, "metadata_uri": self.metadata_uri,
            "options": self.options.lines(), "operators": operators, "lengths": list(self.lengths),
            "describe": encode_context(self.describe), "size": self.size,
        }  # fmt: skip
        return zlib.compress(json.dumps(document).encode(), 6)

    @classmethod
    def from_bytes(cls, data: bytes) -> SplitContext:
        """The inverse of :meth:`to_bytes`."""
        document = json.loads(zlib.decompress(data))
        operators = [
            OperatorTargets(o["label"], {
                name: StateTarget(
                    folder, raw, _schema_of(schema), tuple((path, type_) for path, type_ in overrides),
                    _schema_of(raw_schema) if raw_schema else None, _schema_of(merged) if merged else None,
                    StatePolicy(Policy(**choice["policy"]), choice["on_undecodable"]),
                )
                for name, (folder, raw, overrides, choice, schema, raw_schema, merged) in o["states"].items()
            }, o["id"])
            for o in document.pop("operators")
        ]  # fmt: skip
        options = from_lines(document.pop("options"))
        describe = decode_context(document.pop("describe"))
        return cls(options=options, operators=operators, describe=describe, **document)


def _schema_text(schema: pa.Schema | None) -> str:
    return "" if schema is None else base64.b64encode(schema.serialize()).decode()


def _schema_of(text: str) -> pa.Schema:
    return pa.ipc.read_schema(pa.py_buffer(base64.b64decode(text)))


def pack(files: Iterable[Part], split_bytes: int) -> list[list[Part]]:
    """Splits of about equal size, at most about ``split_bytes`` unless one key group alone is larger."""
    files = list(files)
    total = sum(_FILE_COST + f.content.read_size for f in files)
    target = total / max(1, -(-total // split_bytes))
    splits: list[list[Part]] = [[]]
    filled = 0.0
    for file in files:
        begin, cost = 0, float(_FILE_COST)
        sizes = file.content.sizes
        for i, unit in enumerate(sizes):
            size = unit + cost
            if filled and filled + size / 2 > target:
                _append(splits[-1], file, begin, i)
                splits.append([])
                begin, filled = i, 0.0
            filled += size
            cost = 0.0
        _append(splits[-1], file, begin, len(sizes))
    return [split for split in splits if split]


def _append(split: list[Part], file: Part, begin: int, end: int) -> None:
    if end > begin:
        split.append(replace(file, content=file.content.cut(begin, end)))


def encode_split(parts: Sequence[Part]) -> bytes:
    """A split's record: a few bytes per key group or element."""
    rows = []
    for p in parts:
        place = [p.file, p.operator, p.subtask, p.uri, p.start, p.skip_broadcast_states]
        rows.append([*place, _content_row(p.content)])
    return zlib.compress(json.dumps(rows, separators=(",", ":")).encode(), 6)


def decode_split(data: bytes) -> list[Part]:
    """The inverse of :func:`encode_split`."""
    parts = []
    for file, operator, subtask, uri, start, skip_broadcast_states, content in json.loads(zlib.decompress(data)):
        parts.append(Part(file, operator, subtask, uri, start, _content(content), tuple(skip_broadcast_states)))
    return parts


def _content_row(content: Content) -> list[Any]:
    ranges = content.ranges
    row: list[Any] = [content.form.name, content.size, content.header_end, content.max_parallelism, content.whole]
    if not ranges or any(a.end != b.start or a.key_group + 1 != b.key_group for a, b in itertools.pairwise(ranges)):
        row.append([[n for r in ranges for n in (r.key_group, r.start, r.end)], False])
    else:
        row.append([[ranges[0].key_group, ranges[0].start, *(r.end - r.start for r in ranges)], True])
    row.append([[p.name, p.mode, _steps(p.offsets), p.end, p.first] for p in content.partitions])
    if content.changes is not None:
        row += [base64.b64encode(content.changes).decode(), content.change_bytes]
    return row


def _content(row: Sequence[Any]) -> Content:
    form, size, header_end, most, whole, (bounds, together), partitions, *changelog = row
    ranges = []
    if together:
        number, position, *lengths = bounds
        for n, length in enumerate(lengths, number):
            ranges.append(KeyGroupRange(n, position, position + length))
            position += length
    else:
        ranges = [KeyGroupRange(*bounds[i : i + 3]) for i in range(0, len(bounds), 3)]
    parts = tuple(Partition(n, m, tuple(itertools.accumulate(o)), end, first) for n, m, o, end, first in partitions)
    changes, share = (base64.b64decode(changelog[0]), changelog[1]) if changelog else (None, 0)
    return Content(BodyKind[form], size, header_end, most, tuple(ranges), parts, whole, changes, share)


def _steps(offsets: Sequence[int]) -> list[int]:
    """Differences, which are small numbers."""
    return [*offsets[:1], *(b - a for a, b in itertools.pairwise(offsets))]


def plan_file(context: SplitContext, splits: Sequence[Sequence[Part]]) -> tuple[bytes, int]:
    """Content of the plan file, and how many of its bytes are the context."""
    records = [encode_split(split) for split in splits]
    values: dict[str, Any] = {**vars(context), "lengths": [len(r) for r in records]}
    header = SplitContext(**values).to_bytes()
    return b"".join([header, *records]), len(header)


def writer_options(options: JobOptions) -> WriterOptions:
    return WriterOptions(options.compression, options.target_file_bytes, options.row_group_bytes, options.memory_bytes)
