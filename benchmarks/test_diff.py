"""The snapshots that the benchmark of comparisons makes differ as it says."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.diff import compare, decode, generate, plan_of


@pytest.mark.parametrize("single", [False, True])
def test_the_pair_differs_as_it_says(tmp_path: Path, single: bool) -> None:
    before, after, rows = generate(tmp_path, "long-long", 0.0005, single)
    plan = plan_of((before, after))
    assert {len(unit.key_groups or ()) for unit in plan.units} == {128}
    found = compare(plan)
    kept, changed = found["kept"], found["changed"]
    assert rows > 10_000
    assert (kept.before, kept.added, kept.removed, kept.changed) == (rows, rows // 50, 0, 0)
    assert (changed.added, changed.removed, changed.changed) == (0, 0, changed.before)
    assert decode(plan) == kept.before + kept.after + changed.before + changed.after
