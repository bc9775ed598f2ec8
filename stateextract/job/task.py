"""One split, from bytes to Parquet files: what a task does, wherever it runs.

Opens each file of the split, reads its head again (state ids differ from file to file), lets the engine decode the wanted
states of its key groups, and gathers the batches in the writer. Gives a report: the files that were finished and what was
read of each state in each file. An attempt that fails deletes what it wrote; one that is killed leaves files that no
report names.

Plain Python that runs without Spark.
"""

from __future__ import annotations

import json
import uuid
import zlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from functools import lru_cache, partial

import pyarrow as pa

from serializers import load_plugins
from stateextract.columnar.decoder import make_decoder
from stateextract.columnar.layout import Bool, struct
from stateextract.columnar.policy import Policy
from stateextract.columnar.schema import conform
from stateextract.columnar.wishes import grant, parse_wish
from stateextract.errors import MissingFileError, StateExtractError
from stateextract.files.block import Block
from stateextract.files.filesystem import OpenFile, Store, parent
from stateextract.files.locate import FoundSnapshot, Locator
from stateextract.job.output import Output, open_output
from stateextract.job.split import Context, OperatorTargets, Part, decode_split, read_options, writer_options
from stateextract.job.wishes import WishTexts
from stateextract.job.writer import TaskWriter, WrittenFile
from stateextract.metadata.model import ChangelogHandle, IncrementalHandle, SnapshotMetadata
from stateextract.metadata.parser import parse_metadata
from stateextract.rocksdb import RocksDB, RocksOptions, open_rocksdb
from stateextract.rocksdb.access import OpenHandle, opener
from stateextract.state.content import read_content, read_head
from stateextract.state.engine import ReadOptions, Tally


@dataclass(frozen=True)
class PartReport:
    """What was read of one file.

    :param file: its number in the plan.
    :param key_groups: first and last; ``(0, -1)`` for operator state.
    """

    file: int
    operator: int
    key_groups: tuple[int, int]
    tally: Tally


@dataclass(frozen=True)
class SplitReport:
    """What an attempt at a split did; publishing these files makes it count."""

    split: int
    files: Sequence[WrittenFile]
    parts: Sequence[PartReport]

    def to_bytes(self) -> bytes:
        """For the way back to the driver."""
        document = {
            "split": self.split,
            "files": [asdict(f) for f in self.files],
            "parts": [[p.file, p.operator, p.key_groups, p.tally.as_dict()] for p in self.parts],
        }
        return zlib.compress(json.dumps(document).encode(), 6)

    @classmethod
    def from_bytes(cls, data: bytes) -> SplitReport:
        """The inverse of :meth:`to_bytes`."""
        document = json.loads(zlib.decompress(data))
        parts = [PartReport(f, o, (k[0], k[1]), Tally.from_dict(t)) for f, o, k, t in document["parts"]]
        return cls(document["split"], [WrittenFile(**f) for f in document["files"]], parts)


class TaskRunner:
    """Runs splits of one job in this process.

    :param plan_path: the plan file, by its path on the output's file system.
    :param context_bytes: how many of its first bytes are the context.
    """

    def __init__(self, output: str, plan_path: str, context_bytes: int) -> None:
        self._output: Output = open_output(output)
        self._plan_path = plan_path
        self._context = Context.from_bytes(self._output.read_range(plan_path, 0, context_bytes))
        positions = [context_bytes]
        for length in self._context.lengths:
            positions.append(positions[-1] + length)
        self._positions = positions
        self._store = Store()
        self._snapshot: tuple[SnapshotMetadata, OpenHandle] | None = None
        load_plugins(self._context.options.plugins)

    def run(self, split: int) -> SplitReport:
        """One attempt at a split."""
        start, end = self._positions[split], self._positions[split + 1]
        parts = decode_split(self._output.read_range(self._plan_path, start, end - start))
        context = self._context
        stem = f"part-{split:05d}-{context.job}-{uuid.uuid4().hex[:8]}"
        writer = TaskWriter(self._output.fs, context.folder, stem, writer_options(context.options))
        options = read_options(context.options, context.describe)
        try:
            reports = [self._read(part, context.operators[part.operator], options, writer) for part in parts]
            return SplitReport(split, writer.finish(), reports)
        except BaseException:
            writer.abort()
            raise

    def _read(self, part: Part, targets: OperatorTargets, options: ReadOptions, writer: TaskWriter) -> PartReport:
        tally = Tally()
        options = replace(options, context=options.context.of_operator(targets.id))
        try:
            with self._store.open(part.uri) as file:
                read_at = _window(file, part)
                head = read_head(read_at, part.content, options)
                wanted = {meta.name for meta in head.states} & set(targets.states)
                for piece in read_content(
                    read_at, head, part.content, wanted, options, tally, part.subtask, part.silent,
                    partial(self._database, part, targets),
                ):  # fmt: skip
                    target = targets.states[piece.state]
                    if piece.raw:
                        writer.add(target.raw_folder, piece.batch)
                    else:
                        batch = _granted(piece.batch, target.wishes, piece.state)
                        writer.add(target.folder, conform(batch, target.schema))
        except StateExtractError as error:
            raise self._placed(error, part, targets) from None
        return PartReport(part.file, part.operator, part.content.key_groups, tally)

    def _database(self, part: Part, targets: OperatorTargets, options: RocksOptions) -> RocksDB:
        """A subtask's database: its many files stand in ``_metadata``, which is parsed here rather than sent along."""
        if self._snapshot is None:
            uri = self._context.metadata_uri
            locator = Locator(FoundSnapshot(uri, parent(uri), None), self._store, self._context.options.path_pairs())
            self._snapshot = parse_metadata(self._store.read(uri)), opener(locator, self._store, uri)
        metadata, open_handle = self._snapshot
        handle = next(t.managed_keyed for t in metadata.operators[targets.number].subtasks if t.index == part.subtask)
        if isinstance(handle, ChangelogHandle):
            first = part.content.key_groups[0]
            handle = next(h for h in handle.materialized if first in h.key_groups)
        assert isinstance(handle, IncrementalHandle)
        return open_rocksdb(handle, open_handle, options)

    def _placed(self, error: StateExtractError, part: Part, targets: OperatorTargets) -> StateExtractError:
        """The error with file and operator, and its offset counted in the file."""
        if error.file is None and error.offset is not None:
            error.offset += part.start
        if isinstance(error, MissingFileError):
            uri = self._context.metadata_uri
            error = Locator(FoundSnapshot(uri, parent(uri), None), self._store).explain(error)
        return error.at(file=part.uri, operator=targets.label)


@lru_cache(maxsize=1)
def runner_for(output: str, plan_path: str, context_bytes: int) -> TaskRunner:
    """The runner of a job; a worker process that is given several splits reads the context once."""
    return TaskRunner(output, plan_path, context_bytes)


def compile_once() -> None:
    """Compile the kernel, or load it: workers on this machine then find it in Numba's cache.

    Without it as many workers as there are cores would compile the same at the same time.
    """
    decoder = make_decoder(struct(flag=Bool()), Policy())
    decoder.decode(Block.of(b"\x01"), 0, 1, 1)


def _window(file: OpenFile, part: Part) -> Callable[[int, int], bytes]:
    """``read_at`` in the handle's bytes, which may be a piece of the file."""

    def read_at(offset: int, length: int) -> bytes:
        return file.read_at(part.start + offset, max(0, min(length, part.content.size - offset)))

    return read_at



def _granted(batch: pa.RecordBatch, wishes: WishTexts, state: str) -> pa.RecordBatch:
    """A batch with the types that the user wants."""
    if not wishes:
        return batch
    try:
        return grant(batch, [parse_wish(path, type_) for path, type_ in wishes])
    except StateExtractError as error:
        raise error.at(state=state) from None


__all__ = ["PartReport", "SplitReport", "TaskRunner", "compile_once", "runner_for"]
