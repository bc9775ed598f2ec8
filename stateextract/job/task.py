"""One split, from bytes to Parquet files: what a task does, wherever it runs.

Has each file of the split read (``part_reader.py``) and gathers the batches in the writer. Gives a report: the files that were
finished and what was read of each state in each file. An attempt that fails deletes what it wrote; one that is killed
leaves files that no report names.

Plain Python that runs without Spark.
"""

from __future__ import annotations

import json
import sys
import uuid
import zlib
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial

from stateextract.columnar.compiled.engines import engine_for
from stateextract.errors import OutputError, StateExtractError
from stateextract.job.output import Output, open_output
from stateextract.job.salvage import Attempt, salvage
from stateextract.job.split import SplitContext, decode_split, writer_options
from stateextract.job.writer import TaskWriter, WrittenFile
from stateextract.snapshot.part_reader import open_reader
from stateextract.snapshot.parts import OperatorTargets, Part
from stateextract.state.counters import Counters


@dataclass(frozen=True)
class PartReport:
    """What was read of one file.

    :param file: its number in the plan.
    :param key_groups: first and last; ``(0, -1)`` for operator state.
    """

    file: int
    operator: int
    key_groups: tuple[int, int]
    counters: Counters


@dataclass(frozen=True)
class SplitReport:
    """What an attempt at a split did; publishing these files makes it count.

    :param refused: states that were left out: number of the operator, name and why.
    """

    files: Sequence[WrittenFile]
    parts: Sequence[PartReport]
    refused: Sequence[tuple[int, str, StateExtractError]] = ()

    def to_bytes(self) -> bytes:
        """For the way back to the driver."""
        document = {
            "files": [asdict(f) for f in self.files],
            "parts": [[p.file, p.operator, p.key_groups, p.counters.as_dict()] for p in self.parts],
            "refused": [[operator, state, error.as_dict()] for operator, state, error in self.refused],
        }
        return zlib.compress(json.dumps(document).encode(), 6)

    @classmethod
    def from_bytes(cls, data: bytes) -> SplitReport:
        """The inverse of :meth:`to_bytes`."""
        document = json.loads(zlib.decompress(data))
        parts = [PartReport(f, o, (k[0], k[1]), Counters.from_dict(t)) for f, o, k, t in document["parts"]]
        refused = [(operator, state, StateExtractError.from_dict(error)) for operator, state, error in document["refused"]]
        return cls([WrittenFile(**f) for f in document["files"]], parts, refused)


class TaskRunner:
    """Runs splits of one job in this process.

    :param plan_path: the plan file, by its path on the output's file system.
    :param context_bytes: how many of its first bytes are the context.
    """

    def __init__(self, output: str, plan_path: str, context_bytes: int) -> None:
        self._output: Output = open_output(output)
        self._plan_path = plan_path
        self._context = SplitContext.from_bytes(self._output.read_range(plan_path, 0, context_bytes))
        positions = [context_bytes]
        for length in self._context.lengths:
            positions.append(positions[-1] + length)
        self._positions = positions
        options = self._context.options
        self._output = open_output(output, options.store_timeout)
        # Starting a process, or Spark, takes much longer than loading the kernel; and what the report says of the engine does
        # not depend on what the process did before.
        engine = engine_for(self._context.size, least=-1)
        self._reader = open_reader(options, self._context.metadata_uri, self._context.describe, engine=engine)

    def run(self, split: int) -> SplitReport:
        """One attempt at a split.

        :raises StateExtractError: what the output refuses; what cannot be read, where the job is strict.
        """
        start, end = self._positions[split], self._positions[split + 1]
        parts = decode_split(self._output.read_range(self._plan_path, start, end - start))
        return salvage(partial(self._attempt, split, parts), self._context.options.lenient)

    def _attempt(self, split: int, parts: Sequence[Part], attempt: Attempt) -> SplitReport:
        context = self._context
        stem = f"part-{split:05d}-{context.job}-{uuid.uuid4().hex[:8]}"
        writer = TaskWriter(self._output.fs, context.folder, stem, writer_options(context.options))
        try:
            in_order = self._reader.in_order(parts, self._targets)
            reports = [self._read(part, self._targets(part), writer, attempt) for part in in_order]
            refused = [(*state, error) for state, error in attempt.refused.items()]
            files = writer.finish()
            # Tasks on Spark can survive the driver. What they leave after the next job has cleared the output stays there.
            if not self._output.exists(self._plan_path):
                raise OutputError("the job of this task has ended", file=self._plan_path)
            return SplitReport(files, reports, refused)
        except BaseException:
            writer.abort()
            raise

    def _targets(self, part: Part) -> OperatorTargets:
        return self._context.operators[part.operator]

    def _read(self, part: Part, targets: OperatorTargets, writer: TaskWriter, attempt: Attempt) -> PartReport:
        counters = Counters()
        for piece in attempt.pieces(self._reader, part, targets, counters):
            target = targets.states[piece.state]
            writer.add(target.raw_folder if piece.raw else target.folder, piece.batch)
        return PartReport(part.file, part.operator, part.content.key_groups, counters)


def encode_plan_location(output: str, plan_path: str, context_bytes: int) -> bytes:
    """Where a task finds its split: the arguments of :class:`TaskRunner`."""
    return json.dumps([output, plan_path, context_bytes]).encode()


def open_runner(plan_location: bytes) -> Callable[[int, bytes], bytes]:
    """Open what all tasks of a job share; see :class:`stateextract.job.execute.Tasks`."""
    runner = TaskRunner(*json.loads(plan_location))
    return lambda split, _: runner.run(split).to_bytes()


def compile_once(size: int | None = None) -> None:
    """Compile the kernels if their machine code is not kept: workers on this machine then find it.

    Without it as many workers as there are cores would compile the same at the same time.

    :param size: bytes of state that are to be read, for which compiling may not be worth it; ``None``: not known.
    """
    from stateextract.columnar import kernel
    from stateextract.rocksdb import block_kernel
    from stateextract.rocksdb import kernel as merge_kernel

    kernels = (kernel.run, kernel.run_kryo, merge_kernel.merge, block_kernel.index, block_kernel.plan)
    if engine_for(sys.maxsize if size is None else size) == "auto":
        for compiled in kernels:
            compiled.prepare()
