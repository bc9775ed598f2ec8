"""Mutations of what every family of serializers reads: only documented errors come out, or values that both engines give
alike, in bounded time and memory."""

from __future__ import annotations

import pytest

from tests.depth import examples
from tests.mutation_runs import SEED, outcomes_of
from tests.serializers.mutations import FAMILIES


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_mutations(family: str) -> None:
    count = examples(60 if family == "kryo" else 120)
    outcomes = outcomes_of("tests.serializers.mutations", family, SEED, count, count=count)
    if family == "payloads":
        assert outcomes == {"read": count}
        return
    # Damage was found, and some damage cannot be: bits of values are values.
    assert outcomes["read"] > count // 50
    assert count - outcomes["read"] > count // 20
