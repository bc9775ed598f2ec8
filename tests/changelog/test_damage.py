"""Damaged changelogs: only documented errors come out, in bounded time and memory."""

from __future__ import annotations

import pytest

from tests.mutation_runs import outcomes_of


@pytest.mark.parametrize("engine", ["interpreter", "kernel"])
def test_mutations(engine: str) -> None:
    outcomes = outcomes_of("tests.changelog.mutations", 7, 250, engine, count=250, most_memory=200 << 20)
    assert {"read", "TruncatedError", "FormatError"} < set(outcomes)
