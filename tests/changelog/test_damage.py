"""Damaged changelogs: only documented errors come out, in bounded time and memory."""

from __future__ import annotations

import pytest

from tests.mutation_runs import SEED, how_many, outcomes_of


@pytest.mark.parametrize("engine", ["interpreter", "kernel"])
def test_mutations(engine: str) -> None:
    count = how_many(250)
    outcomes = outcomes_of("tests.changelog.mutations", SEED, count, engine, count=count, most_memory=200 << 20)
    assert {"read", "TruncatedError", "FormatError"} < set(outcomes)
