"""The rows of both sides until all of them are there, in memory or, beyond a limit, on disk in parts that belong together.

Rows with one identity are in the same part, since a row's part follows from its identity's hash. So parts can be compared
one by one, and what must be in memory at once is one part, however large a key group is.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType

import numpy as np
import pyarrow as pa

from stateextract.columnar.arrow.unite_schemas import cast_batch
from stateextract.diff.compare import Comparison
from stateextract.diff.hashing import row_hashes
from stateextract.errors import OutputError

_PARTS = 16  # four bits of the hash are the number of a part, and the next four where it is too large again
_DEEPEST = 8
_ROW = 48  # bytes that pairing takes for a row in addition to its columns

Sides = tuple[pa.RecordBatch, pa.RecordBatch]


class SpillingRowBuffer:
    """Gathers batches; a context manager, which removes its files.

    :param states: how the rows of each state are compared.
    :param memory_bytes: what all rows in memory may take, about.
    """

    def __init__(self, states: Mapping[str, Comparison], memory_bytes: int) -> None:
        self._states = states
        self._memory_bytes = memory_bytes
        self._held: dict[str, tuple[list[pa.RecordBatch], list[pa.RecordBatch]]] = {}
        self._sizes: dict[str, int] = {}
        self._spilled: dict[str, _Parts] = {}
        self._folder: str | None = None
        self._folders = 0

    def __enter__(self) -> SpillingRowBuffer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Remove the files."""
        for parts in self._spilled.values():
            parts.close()
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def add(self, side: int, state: str, batch: pa.RecordBatch) -> None:
        """Take rows of the earlier snapshot (0) or of the later one (1)."""
        if batch.num_rows == 0:
            return
        batch = cast_batch(batch, self._states[state].schema)
        if state in self._spilled:
            self._spilled[state].add(side, batch)
            return
        self._held.setdefault(state, ([], []))[side].append(batch)
        self._sizes[state] = self._sizes.get(state, 0) + _size(batch)
        while sum(self._sizes.values()) > self._memory_bytes:
            self._spill(max(self._sizes, key=lambda name: self._sizes[name]))

    def drop(self, state: str) -> None:
        """Forget the rows of a state."""
        self._held.pop(state, None)
        self._sizes.pop(state, None)
        if state in self._spilled:
            self._spilled.pop(state).close()

    def parts(self, state: str) -> Iterator[Sides]:
        """All rows of a state, in parts that can be compared one by one; each is given once."""
        if state in self._spilled:
            yield from self._spilled.pop(state).sides(self._memory_bytes)
            return
        held = self._held.pop(state, None)
        self._sizes.pop(state, None)
        if held is not None:
            schema = self._states[state].schema
            before, after = (_whole(batches, schema) for batches in held)
            held[0].clear()
            held[1].clear()
            yield before, after

    def _spill(self, state: str) -> None:
        if self._folder is None:
            with _disk(tempfile.gettempdir()):
                self._folder = tempfile.mkdtemp(prefix="stateextract-diff-")
        self._folders += 1
        parts = self._spilled[state] = _Parts(self._states[state], f"{self._folder}/{self._folders}", 0)
        before, after = self._held.pop(state)
        del self._sizes[state]
        for side, batches in enumerate((before, after)):
            while batches:
                parts.add(side, batches.pop(0))


class _Parts:
    """One state's rows in files by the hashes of their identities."""

    def __init__(self, how: Comparison, folder: str, depth: int) -> None:
        self._how = how
        self._folder = folder
        self._depth = depth
        self._open: dict[tuple[int, int], pa.RecordBatchFileWriter] = {}
        self._sizes = [0] * _PARTS
        with _disk(folder):
            os.makedirs(folder, exist_ok=True)

    def add(self, side: int, batch: pa.RecordBatch) -> None:
        names = self._how.identity
        hashes = row_hashes([(batch.column(n), self._how.shape.of(n)) for n in names], batch.num_rows)
        # The table of pairing takes the lowest bits. Numbers of one byte are sorted in one pass.
        parts = ((hashes >> (60 - 4 * self._depth)) & (_PARTS - 1)).astype(np.uint8)
        order = np.argsort(parts, kind="stable")
        bounds = np.searchsorted(parts[order], np.arange(_PARTS + 1))
        ordered = batch.take(pa.array(order))
        with _disk(self._folder):
            for part in np.flatnonzero(np.diff(bounds)).tolist():
                rows = ordered.slice(bounds[part], bounds[part + 1] - bounds[part])
                self._writer(side, part).write_batch(rows)
                self._sizes[part] += _size(rows)

    def close(self) -> None:
        """Finish the files."""
        with _disk(self._folder):
            while self._open:
                self._open.popitem()[1].close()

    def sides(self, memory_bytes: int) -> Iterator[Sides]:
        """The rows of one part after the other; a part that is too large by itself is parted again."""
        self.close()
        for part in range(_PARTS):
            if self._sizes[part] > memory_bytes and self._depth + 1 < _DEEPEST:
                finer = _Parts(self._how, f"{self._folder}/{part}", self._depth + 1)
                with contextlib.closing(finer):
                    for side in (0, 1):
                        for batch in self._batches(side, part):
                            finer.add(side, batch)
                    yield from finer.sides(memory_bytes)
            elif self._sizes[part]:
                before, after = (_whole(list(self._batches(side, part)), self._how.schema) for side in (0, 1))
                yield before, after

    def _writer(self, side: int, part: int) -> pa.RecordBatchFileWriter:
        if (side, part) not in self._open:
            # Not compressed: that takes longer than decoding did.
            self._open[side, part] = pa.ipc.new_stream(self._path(side, part), self._how.schema)
        return self._open[side, part]

    def _batches(self, side: int, part: int) -> Iterator[pa.RecordBatch]:
        path = self._path(side, part)
        if os.path.exists(path):
            with _disk(path), pa.OSFile(path) as file, pa.ipc.open_stream(file) as stream:
                yield from stream
            os.remove(path)

    def _path(self, side: int, part: int) -> str:
        return f"{self._folder}/{part}-{'ba'[side]}.arrow"


@contextlib.contextmanager
def _disk(path: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise OutputError(
            f"rows cannot be kept on disk: {error}", file=path,
            advice="set TMPDIR to a folder with room for them, or let --memory-bytes be larger",
        ) from error  # fmt: skip


def _size(batch: pa.RecordBatch) -> int:
    return int(batch.nbytes) + _ROW * int(batch.num_rows)


def _whole(batches: Sequence[pa.RecordBatch], schema: pa.Schema) -> pa.RecordBatch:
    if len(batches) == 1:
        return batches[0]
    if not batches:
        return pa.RecordBatch.from_arrays([pa.array([], f.type) for f in schema], schema=schema)
    columns = [pa.concat_arrays([batch.column(i) for batch in batches]) for i in range(len(schema))]
    return pa.RecordBatch.from_arrays(columns, schema=schema)
