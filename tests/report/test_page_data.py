"""What the page is given of statistics."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from stateextract.audit.document import KeyGroup, Skew, Skews
from stateextract.errors import UsageError
from stateextract.report.findings import findings
from stateextract.report.page_data import page_model, snapshots_of
from stateextract.report.spread import BINS, HEAVIEST, spread
from tests.report.documents import CARTS, DAY, NOW, TIMERS, grown, operator, owning, shop, statistics


def test_places_as_they_are() -> None:
    assert spread([(1, 5, 50), (3, 7, 10)], 4) == {
        "count": 4, "width": 1, "filled": 2, "rows": [0, 5, 0, 7], "bytes": [0, 50, 0, 10],
        "heaviest": [[3, 7, 10], [1, 5, 50]],
    }  # fmt: skip
    assert spread([], 128) is None


@pytest.mark.parametrize("count", [1, 127, 128, 129, 1000, 32768])
def test_bins_keep_the_sums(count: int) -> None:
    rng = random.Random(count)
    places = [(place, rng.randrange(1, 10**6), rng.randrange(10**9)) for place in range(count) if rng.random() < 0.9]
    made = spread(places, count)
    assert made is not None
    width = made["width"]
    assert (width == 1) == (count <= BINS)
    assert len(made["rows"]) == len(made["bytes"]) == -(-count // width) <= BINS
    for which, name in ((1, "rows"), (2, "bytes")):
        for index, value in enumerate(made[name]):
            assert value == sum(p[which] for p in places if index * width <= p[0] < (index + 1) * width)
    assert [p[1] for p in made["heaviest"]] == sorted((p[1] for p in places), reverse=True)[:HEAVIEST]


def test_a_key_group_beyond_the_operator_is_drawn_and_one_before_it_refused() -> None:
    made = spread([(130, 1, 1)], 128)
    assert made is not None
    assert (made["count"], made["width"], made["rows"][65]) == (131, 2, 1)
    broken = statistics([operator("o", [replace(CARTS, key_groups=[KeyGroup(-1, 1, 1)])])])
    with pytest.raises(UsageError, match="key group or subtask -1"):
        page_model([broken])


def test_integers_beyond_doubles_are_texts() -> None:
    column = page_model([shop()])["states"][0]["columns"][1]
    assert (column["min"], column["max"]) == ("-9007199254740993", "9223372036854775807")
    assert column["quantiles"] == [[0.25, "10"], [0.5, "250"], [0.75, "4000"]]


def test_what_stands_out() -> None:
    found = {(group["level"], group["title"]): group["items"] for group in findings(shop())}
    assert found == {
        ("bad", "Not read"): [{"state": 2, "note": "an unknown serializer: com.shop.OldSerializer"}],
        ("bad", "Owned by no operator of the plan"): [{"operator": 1, "note": "b" * 32}],
        ("warn", "Read in part"): [{"state": 3, "note": "key group 7 is damaged"}],
        ("warn", "Read, with something to know"): [
            {"state": 0, "note": "2 lone surrogates were replaced in value.note"}
        ],
        ("warn", "Timers due already"): [{"state": 1, "note": "10 of 40"}],
        ("warn", "Expired, but still there"): [{"state": 0, "note": "200 of 900"}],
        ("warn", "Operators without a uid"): [{"operator": 1, "note": "b" * 32}],
    }
    levels = [group["level"] for group in findings(shop())]
    assert levels == sorted(levels, key=["bad", "warn", "note"].index)


@pytest.mark.parametrize(("ratio", "rows", "stands_out"), [(2.0, 200, True), (1.9, 200, False), (2.0, 199, False)])
def test_uneven_subtasks(ratio: float, rows: int, stands_out: bool) -> None:
    skew = Skew(ratio, 0.5, 1.0, 0.5)
    state = replace(CARTS, skew=Skews(None, skew), rows=rows, problems=[], ttl=None)
    found = findings(statistics([operator("o", [state])]))
    assert found == (
        [{"level": "warn", "title": "Uneven across subtasks", "items": [{"state": 0, "note": "2.0 × the average"}]}]
        if stands_out
        else []
    )


def test_the_largest_state_is_named_first() -> None:
    states = [replace(CARTS, status="skipped", file_bytes=size, reason=f"{size}") for size in (10, 30, 20)]
    items = findings(statistics([operator("o", states)]))[0]["items"]
    assert [item["state"] for item in items] == [1, 2, 0]


def test_a_cause_is_one_line() -> None:
    reasons = {10: "a file is missing", 30: "a file is missing", 20: "not decoded", 5: "a file is missing"}
    states = [replace(CARTS, status="missing", file_bytes=size, reason=reason) for size, reason in reasons.items()]
    assert findings(statistics([operator("o", states)]))[0]["items"] == [
        {"state": 1, "note": "a file is missing (and 2 more states)"}, {"state": 2, "note": "not decoded"},
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("progress", "note"),
    [
        ((None, None, None), "10 of 40"),
        ((NOW, "window start", 3), "3 of 40 by own progress, 10 by the clock"),
        ((NOW, "window start", 0), None),
        ((NOW, "timer", None), None),
    ],
)
def test_timers_are_judged_by_the_own_progress(progress: tuple[Any, Any, Any], note: str | None) -> None:
    assert TIMERS.times is not None
    ms, of, past = progress
    times = replace(TIMERS.times, progress_ms=ms, progress_of=of, past_by_progress=past)
    found = {f["title"]: f["items"] for f in findings(statistics([operator("o", [replace(TIMERS, times=times)])]))}
    assert found.get("Timers due already") == (note and [{"state": 0, "note": note}])


def test_owners() -> None:
    found = page_model([statistics([owning("a", 700), owning("b", 900)])])["owners"]
    assert [(one["operator"], one["bytes"]) for one in found["keys"]] == [(1, 900), (0, 700), (1, 90), (0, 70)]
    assert found["keys"][0] == {
        "operator": 1, "owner": "alice", "bytes": 900, "error": 9, "share": 0.5, "rows": 4, "entries": 7, "key_group": 3,
        "states": [["carts", 800], ["timers_of_users", 100]],
    }  # fmt: skip
    assert [one["owner"] for one in found["windows"]] == ["2025-11-28T13:00:00Z to 2025-11-28T14:00:00Z"] * 2
    assert page_model([shop()])["owners"] == {"keys": [], "windows": []}


def test_history() -> None:
    model = page_model(grown())
    assert model["snapshot"]["checkpoint_id"] == 42
    history = model["history"]
    assert [(s["checkpoint_id"], s["taken_ms"]) for s in history["snapshots"]] == [
        (40, NOW - 2 * DAY), (41, NOW - DAY), (42, NOW),
    ]  # fmt: skip
    series = {one["state_name"]: one for one in history["states"]}
    assert series["carts"] == {
        "operator_label": "shopping", "state_name": "carts", "state_kind": "map", "index": 0, "new": False, "gone": False,
        "rows": [300, 600, 900], "file_bytes": [40_000, 80_000, 123_456], "decoded_bytes": [98_765] * 3,
        "change": {"rows": 600, "file_bytes": 83_456, "decoded_bytes": 0}, "split": None,
    }  # fmt: skip
    assert (series["gone"]["rows"], series["gone"]["index"]) == ([10, None, None], None)
    assert (series["half"]["rows"], series["half"]["index"]) == ([None, None, 5], 3)
    assert (series["gone"]["new"], series["gone"]["gone"], series["gone"]["change"]["rows"]) == (False, True, -10)
    assert (series["half"]["new"], series["half"]["gone"], series["half"]["change"]["rows"]) == (True, False, 5)
    # It was not read, so that of its rows nothing is known; what nobody asked for has no history.
    assert (series["legacy"]["rows"], series["legacy"]["change"]["rows"]) == ([None, None, None], None)
    assert (series["legacy"]["file_bytes"][-1], series["legacy"]["change"]["file_bytes"]) == (200_000, 200_000)
    assert set(series) == {"carts", "gone", "half", "legacy", "_timer_state/event_user-timers"}
    # A snapshot counts once.
    assert page_model([*grown(), shop()])["history"] == history
    assert page_model([shop()])["history"] is None


def test_the_order_is_that_of_the_checkpoint_ids() -> None:
    documents = [statistics([], checkpoint, None if checkpoint == 8 else NOW - checkpoint) for checkpoint in (9, 7, 8)]
    assert [one.snapshot.checkpoint_id for one in snapshots_of(documents)] == [7, 8, 9]
    assert [one.snapshot.checkpoint_id for one in snapshots_of(documents[:2])] == [7, 9]


def test_a_copied_folder_gives_the_same_page() -> None:
    """Times of files are those of the copying, in any order."""
    copied = [
        replace(d, snapshot=replace(d.snapshot, taken_ms=NOW - place)) for place, d in enumerate(reversed(grown()))
    ]
    one, other = page_model(grown()), page_model(copied)
    for model in (one, other):
        for snapshot in (model["snapshot"], *model["history"]["snapshots"]):
            del snapshot["taken_ms"]
    assert one == other


def test_no_statistics() -> None:
    with pytest.raises(UsageError, match="no statistics"):
        page_model([])
