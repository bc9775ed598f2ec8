"""Mutations of canonical bodies, RocksDB's files and operator state: only documented errors come out, or rows
that both engines give alike, in bounded time and memory."""

from __future__ import annotations

import pytest

from tests.depth import examples
from tests.mutation_runs import SEED, outcomes_of
from tests.state.form_mutations import SUBJECTS


@pytest.mark.slow
@pytest.mark.parametrize("form", SUBJECTS)
def test_mutations(form: str) -> None:
    count = examples(40 if form.startswith("SST") else 100)
    outcomes = outcomes_of("tests.state.form_mutations", form, SEED, count, count=count)
    # Damage was found, and some damage cannot be: bits of values are values.
    assert outcomes["FormatError"] + outcomes["TruncatedError"] > count // 4
    assert 0 < outcomes["read"] < count // 2
