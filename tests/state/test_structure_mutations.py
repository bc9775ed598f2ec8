"""Mutations of a snapshot's structure, with sizes, offsets and checksums that fit: only documented errors come out, or rows
that both engines give alike, in bounded time and memory."""

from __future__ import annotations

import pytest

from tests.depth import examples
from tests.mutation_runs import SEED, outcomes_of
from tests.state.structure_mutations import GROUPS


@pytest.mark.slow
@pytest.mark.parametrize("group", GROUPS)
def test_mutations(group: str) -> None:
    count = examples(16 if group in ("_metadata", "golden") else 60)
    outcomes = outcomes_of("tests.state.structure_mutations", group, SEED, count, count=count, most_memory=300 << 20)
    # Damage was found, and some damage cannot be: other numbers and names are as good.
    assert outcomes["FormatError"] + outcomes["TruncatedError"] > count // 3
    assert outcomes["read"] < count // 2
    # Of so few, one in twenty seeds makes none that is read.
    assert outcomes["read"] or count < 60
