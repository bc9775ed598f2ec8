"""Statistics whose every figure is known, and such as somebody would write who wants to run something in the page."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

from stateextract.audit.document import (
    Big,
    Bin,
    ColumnDocument,
    Distinct,
    KeyGroup,
    Lengths,
    OperatorDocument,
    Owned,
    Owner,
    Owners,
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
from tests.report.made import made_statistics

made = cache(made_statistics)
DAY = 86_400_000
NOW = 1_764_338_400_000
"""2025-11-28T14:00:00Z."""

COLUMNS = [
    ColumnDocument("key", "string", 900, 0, 0.0, None, "alice", "yusuf", Distinct(310, False, 0.016), [], 0.013,
           Lengths(4, 6.25, 12, [Quantile(0.5, 6), Quantile(0.99, 11)])),
    ColumnDocument("value.cents", "int64", 900, 90, 0.1, None, -9007199254740993, 9223372036854775807, Distinct(77),
           [Quantile(0.25, 10), Quantile(0.5, 250), Quantile(0.75, 4000)], 0.0),
    ColumnDocument("value.weight", "double", 900, 0, 0.0, 3, -0.5, 1e300, Distinct(2)),
]  # fmt: skip
CARTS = StateDocument(
    state_name="carts", state_kind="map", form="heap", state_role=None, status="decoded", reason=None,
    problems=["2 lone surrogates were replaced in value.note"],
    schema=[SchemaField("key", "string"), SchemaField("value", "map<string, int64>")],
    rows=900, file_bytes=123_456, decoded_bytes=98_765, distinct_keys=Distinct(310, False, 0.016),
    key_groups=[KeyGroup(0, 100, 10_000), KeyGroup(5, 700, 80_000), KeyGroup(127, 100, 8_765)],
    subtasks=[Subtask(0, 800, 90_000), Subtask(1, 100, 8_765)],
    skew=Skews(Skew(99.6, 0.777, 103.7, 0.81), Skew(1.78, 0.888, 1.82, 0.911)), columns=COLUMNS,
    biggest_keys=[Big("yusuf-the-longest", None, 5, 0, 17), Big("hiroshi", None, 0, 0, 7)],
    biggest_values=[Big("alice", None, 127, 1, 4321)],
    ttl=Ttl(
        900, NOW - 3 * DAY, NOW - 60_000, [Bin(NOW - 3 * DAY, NOW - 2 * DAY, 200), Bin(NOW - 2 * DAY, NOW, 700)], 2 * DAY, 200
    ),
)  # fmt: skip
TIMERS = StateDocument(
    state_name="_timer_state/event_user-timers", state_kind="timer", form="heap", state_role="timers", status="decoded",
    reason=None,
    problems=[],
    schema=[SchemaField("key", "string"), SchemaField("timestamp", "timestamp[us, tz=UTC]")],
    rows=40, file_bytes=1_500, decoded_bytes=1_200, distinct_keys=Distinct(40),
    key_groups=[KeyGroup(3, 40, 1_200)], subtasks=[Subtask(0, 40, 1_200)],
    skew=Skews(Skew(128.0, 1.0, 128.0, 1.0), Skew(2.0, 1.0, 2.0, 1.0)),
    times=Times("timer", NOW - DAY, 2**63 - 1, 10, [Bin(None, NOW, 10), Bin(NOW, NOW + DAY, 25), Bin(NOW + DAY, None, 5)]),
)  # fmt: skip
LEGACY = StateDocument(
    "legacy",
    "value",
    "heap",
    None,
    "unsupported",
    "an unknown serializer: com.shop.OldSerializer",
    [],
    [],
    0,
    200_000,
    0,
)
HALF = StateDocument(
    "half", "list", "heap", None, "partial", None, ["key group 7 is damaged"], [SchemaField("value", "list<item: int64>")],
    5, 50, 40, Distinct(5), [KeyGroup(0, 5, 40)], [Subtask(0, 5, 40)],
)  # fmt: skip
COORDINATOR = StateDocument(
    None, "coordinator", "coordinator", None, "not selected", "not asked for", [], [], 0, 0, 0
)  # fmt: skip


def statistics(operators: list[OperatorDocument], checkpoint: int = 42, taken_ms: int | None = NOW, **more: Any) -> Statistics:
    """A document with the totals that follow."""
    states = [state for operator in operators for state in operator.states]
    totals = Totals(
        len(operators), len(states), sum(s.rows for s in states), sum(s.file_bytes for s in states),
        sum(s.decoded_bytes for s in states),
    )  # fmt: skip
    snapshot = SnapshotDocument(f"s3://shop/chk-{checkpoint}/_metadata", checkpoint, 5, "checkpoint", taken_ms)
    return Statistics("0.1.0", snapshot, taken_ms, totals, operators, **more)


def operator(label: str, states: list[StateDocument], **more: Any) -> OperatorDocument:
    """An operator of two subtasks and 128 key groups, known by its uid."""
    size, rows = sum(s.file_bytes for s in states), sum(s.rows for s in states)
    values = {
        "operator_id": label.encode("utf-8", "replace").hex()[:32].ljust(32, "0"), "operator_uid": label,
        "operator_name": f"{label} v1", "operator_label": label,
        "operator_parallelism": 2, "operator_max_parallelism": 128, "handle_bytes": size + 500,
        "file_bytes": size, "rows": rows,
        "unowned": None, "without_uid": False,
    }  # fmt: skip
    return OperatorDocument(**{**values, **more}, states=states)


def owning(label: str, size: int) -> OperatorDocument:
    """An operator with owners of so many bytes."""
    states = [Owned("carts", size - 100, 2, 5, 9), Owned("timers_of_users", 100, 2, 2)]
    keys = [Owner("alice", 3, size, 4, 7, 9, states), Owner({"f0": 1}, 5, size // 10, 1, 1, 0, states[1:])]
    window = {"start": "2025-11-28T13:00:00Z", "end": "2025-11-28T14:00:00Z"}
    windows = Owners(size, 0, [Owner(window, None, size, 1, 1, 0, states[1:])])
    return operator(label, [CARTS, replace(TIMERS, rows=0)], keys=Owners(2 * size, 50, keys), windows=windows)


def shop() -> Statistics:
    """Five states of two operators, one of each status and with each kind of figure."""
    nameless = operator(
        "sink: bills", [HALF, COORDINATOR], operator_uid=None, without_uid=True, unowned=True, operator_id="b" * 32
    )
    return statistics(
        [operator("shopping", [CARTS, TIMERS, LEGACY], operator_id="a" * 32), nameless],
        notes=["3 files were found elsewhere"],
    )


def grown() -> list[Statistics]:
    """The shop at three times: carts grow, one state is gone, half is new. Not in order."""
    gone = StateDocument("gone", "value", "heap", None, "decoded", None, [], [], 10, 1_000, 900)
    early = [operator("shopping", [replace(CARTS, rows=300, file_bytes=40_000), TIMERS, gone], operator_id="a" * 32)]
    middle = [operator("shopping", [replace(CARTS, rows=600, file_bytes=80_000), TIMERS], operator_id="a" * 32)]
    return [statistics(middle, 41, NOW - DAY), shop(), statistics(early, 40, NOW - 2 * DAY)]


EVIL = (
    "</script><script>window.hacked = 1</script>", "<img src=x onerror='window.hacked = 1'>", "<!--<script>",
    "]]><svg onload=hacked=1>", "javascript:window.hacked=1", '" onclick="window.hacked=1', "${window.hacked=1}", "&lt;b&gt;",
    "__proto__", "constructor", "{b|bold} {@value} {c}", "%%code%%", "\u202egnp.exe", "\ud800", "\x00\x1b[31m", " ", "\u2028",
    "x" * 5000,
)  # fmt: skip
"""Names, keys and values of somebody who means harm."""


def hostile() -> Statistics:
    """Every text of the document is one of :data:`EVIL`, at some place each of them."""
    operators = []
    for index, evil in enumerate(EVIL):
        following = EVIL[(index + 1) % len(EVIL)]
        column = replace(
            COLUMNS[1], name=evil, type=evil, min=evil, max={evil: [following]}, quantiles=[Quantile(0.5, evil)]
        )
        state = replace(
            CARTS, state_name=evil, state_kind=evil, form=evil, state_role=evil, reason=evil,
            status=following if index % 3 == 0 else "unsupported",
            problems=[evil, following], schema=[SchemaField(evil, following)], columns=[column],
            biggest_keys=[Big(evil, following, 1, 0, 5)], biggest_values=[Big({evil: evil}, None, 1, 0, 5)],
        )  # fmt: skip
        owners = Owners(9, 0, [Owner(evil, 1, 5, 1, 1, 0, [Owned(following, 5, 1, 1)])])
        operators.append(
            operator(
                evil, [state], operator_id=evil, operator_name=following, unowned=True, without_uid=True,
                keys=owners, windows=owners,
            )
        )  # fmt: skip
    document = statistics(operators, notes=list(EVIL))
    return replace(document, tool_version=EVIL[0], snapshot=replace(document.snapshot, path=EVIL[0], kind=EVIL[0]))
