"""State of an iteration of Flink ML (``frameworks/make_frameworks.py``)."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import stateextract

DATA = Path(__file__).parent / "frameworks" / "data" / "ml-2.0.0-hashmap"
HEAD = {
    "name": "org.apache.flink.iteration.operator.headprocessor.HeadOperatorState",
    "fields": {
        "numFeedbackRecordsEachRound": "java.util.Map<java.lang.Integer, java.lang.Long>",
        "latestRoundAligned": "int",
        "latestRoundGloballyAligned": "int",
    },
}


def operator_with(state: str, **options: Any) -> stateextract.Operator:
    (checkpoint,) = DATA.glob("chk-*")
    operators = stateextract.open_snapshot(str(checkpoint), **options).operators
    return next(o for o in operators if any(s.name == state for s in o.states))


def test_state_inside_of_an_iteration() -> None:
    """The job sums 0 to 9 and 0 to 5, and each of them plus 10, 20, …, 90."""
    rows = operator_with("sum").state("sum").to_table().to_pylist()
    sums: Counter[int] = Counter()
    for first in (*range(10), *range(6)):
        for n in range(first, 100, 10):
            sums[n % 3] += n
    assert {row["key"]: row["value"] for row in rows} == sums
    values = operator_with("sum").state("latestEpoch").to_table()["value"].to_pylist()
    assert len(values) == 2


def test_the_head_of_an_iteration_by_a_description_of_its_class() -> None:
    """Each of the 16 numbers comes back nine times."""
    head = operator_with("processorState", kryo_classes=[HEAD])
    subtasks = head.state("processorState").to_table()["value"].to_pylist()
    rounds: Counter[int] = Counter()
    for subtask in subtasks:
        rounds.update(dict(subtask["numFeedbackRecordsEachRound"]))
    assert len(subtasks) == 2
    assert rounds == dict.fromkeys(range(1, 10), 16)
    # The records that are on their way, of which there are none.
    assert [(state.kind, state.form, state.size) for state in head.unnamed if state.kind == "raw"] == [
        ("raw", "raw operator state", 36)
    ]
