"""Operator state of real snapshots and of Flink's test-harness files, as the reader gives it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

from serializers import DescribeContext
from stateextract.columnar.arrow.unite_schemas import cast_batch, merge_schemas
from stateextract.files.filesystem import Store
from stateextract.metadata.locate import Locator, find_snapshot
from stateextract.metadata.model import OperatorStateHandle
from stateextract.metadata.parser import parse_metadata
from stateextract.state.counters import Counters, StateCounters
from stateextract.state.header import parse_operator_header
from stateextract.state.operator import operator_header_end, partitions, read_operator_state
from stateextract.state.row_layout import operator_row_layout
from stateextract.state.state_columns import ReadOptions, state_schema
from stateextract.state.target import FileRead
from tests.conformance.handles import _bytes
from tests.conformance.harness import parse_harness


@dataclass(frozen=True)
class OperatorFile:
    operator: str
    subtask: int
    handle: OperatorStateHandle
    data: bytes
    context: DescribeContext = field(default_factory=DescribeContext)


def snapshot_operator_files(folder: Path) -> Iterator[OperatorFile]:
    """All managed operator handles with bytes of a snapshot."""
    store = Store()
    locator = Locator(find_snapshot(str(folder), store), store)
    metadata = parse_metadata((folder / "_metadata").read_bytes())
    for operator in metadata.operators:
        for subtask in operator.subtasks:
            handle = subtask.managed_operator
            if handle is not None and not handle.empty and handle.stream.size:
                yield OperatorFile(operator.id, subtask.index, handle, _bytes(handle.stream, store, locator))


def harness_operator_files(path: Path) -> Iterator[OperatorFile]:
    """Those of a harness file, which has one operator without an id."""
    for handle in parse_harness(path.read_bytes()).managed_operator:
        if handle.stream.size:
            yield OperatorFile("", 0, handle, _bytes(handle.stream, None, None))


@dataclass
class ReadOperatorState:
    """A state over all files of an operator."""

    kind: str
    schemas: list[pa.Schema] = field(default_factory=list)
    batches: list[pa.RecordBatch] = field(default_factory=list)
    raw: list[pa.RecordBatch] = field(default_factory=list)
    counters: StateCounters = field(default_factory=StateCounters)

    def table(self) -> pa.Table:
        schema = merge_schemas(self.schemas)
        return pa.Table.from_batches([cast_batch(batch, schema) for batch in self.batches], schema)


def read_operator_files(
    files: Iterable[OperatorFile], options: ReadOptions, wanted: str | None = None
) -> dict[tuple[str, str], ReadOperatorState]:
    """All states, or those of one name, of all files, each file in one pass; by operator and name."""
    found: dict[tuple[str, str], ReadOperatorState] = {}
    for file in files:
        data = file.data

        def read_at(at: int, n: int, data: bytes = data) -> bytes:
            return data[at : at + n]

        end = operator_header_end(file.handle.states, len(data), read_at)
        head = parse_operator_header(data, 0, end)
        parts = partitions(head, file.handle.states, len(data))
        names = {part.name for part in parts if wanted in (None, part.name)}
        for meta in head.states:
            if meta.name in names:
                state = found.setdefault((file.operator, meta.name), ReadOperatorState(meta.kind))
                state.schemas.append(state_schema(operator_row_layout(meta, options.context), options))
        counters = Counters()
        file_read = FileRead(names, options, counters, file.subtask)
        for piece in read_operator_state(read_at, head, parts, len(data), file_read):
            into = found[file.operator, piece.state]
            (into.raw if piece.raw else into.batches).append(piece.batch)
        for name, part in counters.states.items():
            found[file.operator, name].counters.add(part)
    return found
