"""Pairs whose values cannot be decoded, kept as rows: key and namespace as they mean, the value as bytes.

A pair says where its key ends, so only what has no known serializer is lost: rows have ``key``, ``namespace`` and, of a
map, ``map_key`` like others of the state, and ``bytes`` in the place of the value. Where it is the key that cannot be
decoded, ``key_bytes`` has it, from the key group's bytes on. The columns are those of ``raw_schema`` (``state_columns.py``).

May import the decoders of pairs; knows no bodies.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from stateextract.columnar.convert.policy import ChangeCounts
from stateextract.columnar.decode.decoder import Stop
from stateextract.columnar.decode.pair_decoder import PairDecoder, make_pair_decoder
from stateextract.columnar.program.pair_programs import PairLayout
from stateextract.files.block import Block
from stateextract.state.row_layout import RowLayout
from stateextract.state.state_columns import ReadOptions, certainly_undecodable, raw_schema
from stateextract.state.window_columns import window_values

_BYTES = 8 << 20  # of pairs, that are gathered for one batch
_ROWS = 1 << 14


class RawPairs:
    """Gathers pairs of one state.

    :param row: the whole row of the state; :param layout: how its pairs are written.
    :param budget: bytes of an unfinished batch.
    """

    def __init__(self, row: RowLayout, layout: PairLayout, options: ReadOptions, subtask: int, budget: int) -> None:
        self.row = row
        self.options = options
        self.subtask = subtask
        self.schema = raw_schema(row, options)
        self.queue = layout.shape == "queue"
        self.prefix = layout.prefix
        self.decoder: PairDecoder = make_pair_decoder(
            replace(layout, raw=True), options.policy, options.engine, options.batch_rows, budget
        )
        self.keyed: list[tuple[int, str]] = []  # key group and reason of the rows in the decoder
        self.others: list[dict[str, Any]] = []
        self.size = 0

    @staticmethod
    def suits(row: RowLayout) -> bool:
        """Whether all pairs of a state are to be kept like this: every value, but no key, is beyond decoding."""
        parts = {f.name: certainly_undecodable(f.layout) for f in row.layout.fields}
        return (
            parts.get("value") is not None and parts.get("key") is None and row.kind not in ("TIMER", "PRIORITY_QUEUE")
        )

    def add(self, pair: bytes, key_group: int, reason: str) -> Iterator[pa.RecordBatch]:
        """Take a pair, lengths and all; gives the batches that are full."""
        self.size += len(pair)
        block = Block.of(pair)
        self.decoder.begin(-1)
        progress = None if self.queue else self.decoder.decode(block, 0, len(pair), 1)
        if progress is not None and progress.stop is Stop.FULL:
            yield from self.flush()
            progress = self.decoder.decode(block, 0, len(pair), 1)
        if progress is not None and progress.entries:
            self.keyed.append((key_group, reason))
        else:
            self.others.append(self._by_bytes(pair, key_group, reason))
        if self.size >= _BYTES or len(self.keyed) + len(self.others) >= _ROWS:
            yield from self.flush()

    def _by_bytes(self, pair: bytes, key_group: int, reason: str) -> dict[str, Any]:
        key_end = 4 + int.from_bytes(pair[:4], "big")
        key, value = bytearray(pair[4:key_end]), pair[key_end + 4 :]
        key[0] &= 0x7F
        row = {"key_group": key_group, "reason": reason}
        # An element of a queue is the whole of its key.
        return (
            {**row, "bytes": bytes(key[self.prefix :])}
            if self.queue
            else {**row, "key_bytes": bytes(key), "bytes": value}
        )

    def flush(self) -> Iterator[pa.RecordBatch]:
        """The batches of what was taken."""
        if self.keyed:
            groups = np.array([group for group, _ in self.keyed], np.int32)
            reasons = pa.array([reason for _, reason in self.keyed], pa.string())
            yield self.batch(self.decoder.flush(last=True), groups, reasons)
        if self.others:
            constant = {"part": 0, "entries": 1, "subtask": self.subtask}
            rows = [{name: {**constant, **row}.get(name) for name in self.schema.names} for row in self.others]
            yield pa.RecordBatch.from_pylist(rows, schema=self.schema)
        self.keyed, self.others, self.size = [], [], 0

    def batch(self, array: pa.Array, groups: npt.NDArray[np.int32], reasons: pa.Array) -> pa.RecordBatch:
        """The rows that a decoder of pairs with raw values gathered."""
        columns: dict[str, pa.Array] = {f.name: array.field(i) for i, f in enumerate(array.type)}
        if self.row.window_columns and "namespace" in columns:
            columns |= window_values(self.row.window_columns, columns["namespace"], ChangeCounts())
        n = len(array)
        columns |= {
            "bytes": columns.pop("value"),
            "key_group": pa.array(groups),
            "part": pa.array(np.zeros(n, np.int32)),
            "entries": pa.array(np.ones(n, np.int64)),
            "reason": reasons,
            "subtask": pa.array(np.full(n, self.subtask, np.int32)),
        }
        arrays = [columns[f.name] if f.name in columns else pa.nulls(n, f.type) for f in self.schema]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)
