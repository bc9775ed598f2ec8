"""What the document says beside figures: what was asked in vain, and what belongs to no operator."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from stateextract.audit.document import Skew, Statistics
from stateextract.audit.statistics import StatisticsOptions, _skew, statistics
from stateextract.errors import UsageError
from stateextract.job.execute import in_this_process
from stateextract.metadata.model import MasterState
from stateextract.metadata.parser import parse_metadata
from stateextract.options import JobOptions
from tests.job.snapshots import numbered, write_snapshot
from tests.metadata import writer


def stated(folder: Path, **question: object) -> Statistics:
    options = StatisticsOptions(as_of_ms=0, **question)  # type: ignore[arg-type]
    return statistics(JobOptions(snapshot=str(folder)), options, in_this_process)


def test_a_time_to_live_for_a_state_without_one_is_noted(tmp_path: Path) -> None:
    folder = write_snapshot(tmp_path / "s", {"op": {"v": numbered(8), "w": numbered(8)}})
    note = "op: a time to live is given for v, which Flink keeps without times of last access"
    assert stated(folder, ttls={"v": 5}).notes == [note]
    # The nearest name counts, and the others are no mistake. What is given for all states is meant for those that have one.
    assert stated(folder, ttls={"v": 1, "op/v": 2, "": 3}).notes == [note]
    assert stated(folder, ttls={"": 3}).notes == []
    with pytest.raises(UsageError, match="a time to live is given for 'x', and no state"):
        stated(folder, ttls={"x": 5})


def test_state_that_belongs_to_no_operator_is_noted(tmp_path: Path) -> None:
    folder = write_snapshot(tmp_path / "s", {"op": {"v": numbered(8)}})
    found = parse_metadata((folder / "_metadata").read_bytes())
    more = replace(found, master_states=(MasterState(1, "hook", b"12345"),))
    (folder / "_metadata").write_bytes(writer.metadata(more))
    assert stated(folder).notes[-1:] == ["besides the operators there is master state hook: not yet supported"]


@pytest.mark.parametrize(
    ("parts", "count", "keys", "over_mean", "top"),
    [
        # Five keys of as many rows lie as evenly as five keys can, in however many of 128 key groups.
        ([10, 10, 10, 10, 10], 128, 5, 1.0, 0.2),
        ([20, 10, 10, 10], 128, 5, 2.0, 0.4),
        ([30, 10], 4, 2, 1.5, 0.75),
        ([30, 10], 4, 1000, 3.0, 0.75),
        ([50], 128, 1, 1.0, 1.0),
        # Of operator state all subtasks count; an estimate of the keys may be too low.
        ([30, 10], 4, None, 3.0, 0.75),
        ([30, 10], 4, 1, 1.5, 0.75),
        ([], 128, 0, None, None),
    ],
)
def test_skew_is_over_what_can_have_rows(
    parts: list[int], count: int, keys: int | None, over_mean: float | None, top: float | None
) -> None:
    skew = _skew([(rows, 2 * rows) for rows in parts], count, keys)
    assert skew == Skew(over_mean, top, over_mean, top)
