"""Measures a layout: values decoded beside the same rows written as Parquet, on one core, in turn.

Values are given as Flink's bytes, some hundred thousand different ones, and repeated up to a size. They are decoded with
a key of type Long in front, as the entries of a state in the HashMap backend are, without files; the decoded rows must be
those that were encoded. Then ``benchmarks/decode.py``'s way of comparing: the best of several times, and the ratio.
"""

from __future__ import annotations

import argparse
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import pyarrow as pa

from benchmarks.decode import best, write
from benchmarks.measuring import Measurement, Size, in_turn, one_core, show
from stateextract.columnar.convert.policy import Policy
from stateextract.columnar.decode.decoder import Stop, make_decoder
from stateextract.columnar.layout import Field, Layout, Number, Skip, Struct
from stateextract.files.block import Block
from stateextract.job.writer import column_encodings, parquet_settings

DISTINCT = 200_000
GOAL = 1.0


@dataclass(frozen=True)
class Sample:
    """Values of one type.

    :param encode: the bytes of a value; :param rows: the values as Arrow gives them back.
    """

    name: str
    layout: Layout
    encode: Callable[[dict[str, Any]], bytes]
    rows: Sequence[dict[str, Any]]


def decode(entry: Struct, block: Block, size: int, count: int, engine: str) -> list[pa.RecordBatch]:
    """All entries as record batches."""
    decoder = make_decoder(entry, Policy(), engine=engine)
    pos, left, batches = 0, count, []
    while left:
        progress = decoder.decode(block, pos, size, left)
        pos, left = progress.pos, left - progress.entries
        if progress.stop is Stop.FULL or not left:
            batches.append(pa.RecordBatch.from_struct_array(decoder.flush()))
    assert pos == size
    return batches


def measure(sample: Sample, megabytes: float, times: int) -> Iterator[Measurement]:
    """Measure one type."""
    encoded = [struct.pack(">Bq", 0, i) + sample.encode(row) for i, row in enumerate(sample.rows)]
    once = b"".join(encoded)
    repeats = max(1, int(megabytes * 10**6 / len(once)))
    block, size, count = Block.of(once * repeats), len(once) * repeats, len(encoded) * repeats
    entry = Struct((Field("namespace", Skip(1)), Field("key", Number(pa.int64())), Field("value", sample.layout)))
    batches = decode(entry, block, size, count, "kernel")
    table = pa.Table.from_batches(batches)
    assert table.num_rows == count
    for start in (0, count - len(encoded)):
        values = table["value"].slice(start, 1000).to_pylist()
        assert values == list(sample.rows[:1000]), (values[0], sample.rows[0])
    settings = parquet_settings("zstd", column_encodings(table.slice(0, 65536), "zstd"))
    fastest, written = in_turn(
        times,
        lambda: best(lambda: decode(entry, block, size, count, "kernel"), 1),
        lambda: best(lambda: write(table, settings), 1),
    )
    part = min(20_000, len(encoded))
    some = sum(map(len, encoded[:part]))
    slow, fast = (best(lambda e=e: decode(entry, block, some, part, e), 3) for e in ("interpreter", "kernel"))
    yield Measurement(sample.name, "decoded by the kernel", count / fastest / 1e6, "M values/s")
    yield Measurement(sample.name, "decode ÷ write Parquet", fastest / written, "", GOAL)
    yield Measurement(sample.name, "kernel ÷ interpreter, speed", slow / fast)


def measure_all(samples: Callable[[int], Sequence[Sample]], size: Size) -> Iterator[Measurement]:
    """Measure types, 50 MB of each."""
    one_core()
    for sample in samples(int(min(DISTINCT, 100_000 * size.factor))):
        yield from measure(sample, 50 * size.factor, size.times)


def main(about: str | None, samples: Callable[[int], Sequence[Sample]]) -> None:
    """Run a benchmark.

    :param samples: the types, with so many different values of each.
    """
    parser = argparse.ArgumentParser(description=about.splitlines()[0] if about else None)
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--distinct", type=int, default=DISTINCT)
    options = parser.parse_args()
    one_core()
    show(chain.from_iterable(measure(sample, options.megabytes, options.times) for sample in samples(options.distinct)))
