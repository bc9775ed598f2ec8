"""Rows that the benchmarks of SQL and Avro encode apart from the decoders: both engines give them back."""

from __future__ import annotations

import pytest

from benchmarks import avro, sql
from benchmarks.values import Sample
from stateextract.columnar.convert.policy import Policy
from stateextract.columnar.decode.decoder import make_decoder
from stateextract.files.block import Block


@pytest.mark.parametrize("engine", ["kernel", "interpreter"])
@pytest.mark.parametrize("sample", [*sql.samples(300), *avro.samples(300)], ids=lambda sample: sample.name)
def test_rows_come_back(sample: Sample, engine: str) -> None:
    data = b"".join(map(sample.encode, sample.rows))
    decoder = make_decoder(sample.layout, Policy(), engine=engine)
    progress = decoder.decode(Block.of(data), 0, len(data), len(sample.rows))
    assert (progress.entries, progress.pos, decoder.engine) == (len(sample.rows), len(data), engine)
    assert decoder.flush().to_pylist() == sample.rows
