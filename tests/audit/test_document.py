"""The statistics document survives its JSON, and what is none is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from stateextract.audit.document import (
    Big,
    Bin,
    ColumnDocument,
    Distinct,
    KeyGroup,
    Lengths,
    OperatorDocument,
    Quantile,
    SchemaField,
    Skew,
    Skews,
    SnapshotDocument,
    StateDocument,
    Statistics,
    Subtask,
    Times,
    Totals,
    Ttl,
)
from stateextract.errors import UsageError

SKEW = Skew(2.5, 0.25, 3.0, 0.5)
COLUMN = ColumnDocument(
    "value.amount", "double", 10, 4, 0.4, 1, -0.5, "Infinity", Distinct(3, False, 0.03), [Quantile(0.5, 1.25)], 0.02,
    Lengths(0, 1.5, 7, [Quantile(1.0, 7)]),
)  # fmt: skip
STATE = StateDocument(
    "totals", "value", "heap", None, "decoded", None, ["one"], [SchemaField("key", "string")], 10, 100, 90, Distinct(10),
    [KeyGroup(3, 10, 90)], [Subtask(0, 10, 90)], Skews(SKEW, None), [COLUMN],
    [Big("ä", {"start": 1}, 3, 0, 8)], [Big(None, None, None, 1, 9)],
    Ttl(10, 1, 2, [Bin(None, 5, 10)], 1000, 4), Times("timer", None, None, 0, []),
)  # fmt: skip
NAMELESS = StateDocument(None, "channel", "input channels", None, "unsupported", "not yet", [], [], 0, 5, 0)
DOCUMENT = Statistics(
    "0.1.0", SnapshotDocument("/s/_metadata", 7, 6, None, 1_700_000_000_000), 1_700_000_000_000, Totals(1, 2, 10, 105, 90),
    [OperatorDocument("ab", "totals", None, "totals", 2, 128, 200, 105, 10, None, False, [STATE, NAMELESS])], ["a note"],
)  # fmt: skip


def test_json_and_back() -> None:
    text = DOCUMENT.to_json()
    assert Statistics.from_json(text) == DOCUMENT
    assert list(json.loads(text)) == ["format", "tool_version", "snapshot", "as_of_ms", "totals", "operators", "notes"]
    assert [state.state_name for _, state in DOCUMENT.states] == ["totals", None]


def test_what_a_later_version_adds_is_passed_over() -> None:
    document = DOCUMENT.as_dict()
    document["more"] = 1
    document["operators"][0]["states"][0]["columns"][0]["more"] = [1]
    assert Statistics.from_dict(document) == DOCUMENT


def _change(path: list[Any], value: Any) -> str:
    document: Any = json.loads(DOCUMENT.to_json())
    place = document
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return json.dumps(document)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "this is not a statistics document"),
        ("[]", "this is not a statistics document"),
        ("{}", "this is not a statistics document"),
        (_change(["format"], 2), r"has format 2, of a newer stateextract \(0.1.0\)"),
        (_change(["format"], 0), "has format '0'; expected format 1"),
        (_change(["operators"], 3), "operators of the statistics document is '3'"),
        (_change(["operators", 0, "rows"], "x"), r"operators\[0\].rows of the statistics document is 'x'"),
        (_change(["operators", 0, "rows"], True), r"operators\[0\].rows of the statistics document is 'True'"),
        (_change(["operators", 0, "states", 1], 1), r"operators\[0\].states\[1\] of .* is '1'; expected an object"),
        (
            _change(["operators", 0, "states", 0, "columns", 0, "null_share"], 10**400),
            r"columns\[0\].null_share of .* float",
        ),
        (_change(["operators", 0, "states", 0, "times"], {}), r"lacks something at operators\[0\].states\[0\].times: "),
        (_change(["totals"], {}), "lacks something at totals"),
        (_change(["snapshot"], None), "snapshot of the statistics document is 'None'"),
    ],
)
def test_what_is_none_is_refused(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Statistics.from_json(text)
