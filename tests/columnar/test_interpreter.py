"""The interpreter: real bytes of Flink's serializers, errors and their positions, and whatever hypothesis thinks of."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stateextract.columnar.interpreter import interpret
from stateextract.columnar.layout import Layout
from stateextract.columnar.policy import Counts
from stateextract.errors import TruncatedError
from tests.columnar.strategies import encode, expected, layouts_and_entries, layouts_and_values, lone_surrogates, same

COMMON = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])


@COMMON
@given(layouts_and_entries(), st.binary(max_size=3), st.binary(max_size=3))
def test_reads_back_what_was_written(example: tuple[Layout, list[Any]], before: bytes, behind: bytes) -> None:
    layout, written = example
    parts = [encode(layout, value) for value in written]
    data = before + b"".join(parts) + behind
    counts, pos, found = Counts(), len(before), []
    for value, part in zip(written, parts, strict=True):
        wire, after = interpret(layout, data, pos, len(data) - len(behind), counts)
        assert same(wire, expected(layout, value))
        assert after == pos + len(part) >= pos + layout.least
        found.append(wire)
        pos = after
    assert counts == Counts(lone_surrogates=sum(lone_surrogates(layout, value) for value in written))
    array = pa.array(found, type=layout.wire_type)
    array.validate(full=True)
    assert all(map(same, array.to_pylist(), found))


@COMMON
@given(layouts_and_values(depth=2))
def test_every_strict_prefix_is_truncated(example: tuple[Layout, Any]) -> None:
    layout, value = example
    data = encode(layout, value)
    for end in {*range(min(len(data), 40)), *range(max(0, len(data) - 8), len(data))}:
        with pytest.raises(TruncatedError) as caught:
            interpret(layout, data, 0, end)
        assert caught.value.offset is not None
        assert 0 <= caught.value.offset <= end
