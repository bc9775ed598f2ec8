"""Statistics of an invented large job, for the tests of the report and its benchmark, and the browser that opens it."""

from __future__ import annotations

import os
import random
import shutil

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

BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
HOUR, DAY = 3_600_000, 86_400_000
NOW = 1_764_338_400_000
"""When the newest of the snapshots was taken: 2025-11-28T14:00:00Z."""
QUANTILES = (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
TOPICS = (
    "orders",
    "payments",
    "sessions",
    "clicks",
    "inventory",
    "shipments",
    "profiles",
    "fraud",
    "prices",
    "refunds",
)
STEPS = ("dedupe", "enrich", "join", "aggregate", "window")
KINDS = ("value", "map", "list", "aggregating", "timer", "reducing")
WORDS = ("last-seen", "totals", "buffer", "pending", "by-product", "profile", "counters", "history", "lookup", "flags")


def made_statistics(operators: int = 50, states: int = 300, age: int = 0, seed: int = 7) -> Statistics:
    """Statistics of a job's snapshot as it was ``age`` days ago: the same operators and states, smaller."""
    made, left = [], states
    for number in range(operators):
        share = -(-left // (operators - number))
        made.append(_operator(random.Random(seed * 1000 + number), number, share, age))
        left -= share
    every = [state for operator in made for state in operator.states]
    totals = Totals(
        len(made), len(every), sum(s.rows for s in every), sum(s.file_bytes for s in every), sum(s.decoded_bytes for s in every)
    )  # fmt: skip
    taken = NOW - age * DAY
    snapshot = SnapshotDocument(
        f"s3://flink-state/checkpoints/6e4c5e0b51f3/chk-{4200 - 24 * age}/_metadata",
        4200 - 24 * age,
        5,
        "checkpoint",
        taken,
    )
    return Statistics("0.1.0", snapshot, taken, totals, made)


def _operator(rng: random.Random, number: int, states: int, age: int) -> OperatorDocument:
    topic, step = TOPICS[number % len(TOPICS)], STEPS[number // len(TOPICS) % len(STEPS)]
    max_parallelism = 32768 if number % 20 == 3 else rng.choice((128, 128, 128, 1024, 4096))
    parallelism = rng.choice((1, 4, 16, 48, 128))
    uid = None if number % 9 == 4 else f"{topic}-{step}"
    scale = rng.lognormvariate(11, 1.6)
    made = [_state(rng, f"{rng.choice(WORDS)}-{i}", scale, parallelism, max_parallelism, age) for i in range(states)]
    name = f"{topic}: {step} v{number}"
    return OperatorDocument(
        operator_id=f"{rng.getrandbits(128):032x}", operator_uid=uid, operator_name=name, operator_label=uid or name,
        operator_parallelism=parallelism, operator_max_parallelism=max_parallelism,
        handle_bytes=sum(s.file_bytes for s in made) * 11 // 10,
        file_bytes=sum(s.file_bytes for s in made), rows=sum(s.rows for s in made), unowned=number == 17,
        without_uid=uid is None, states=made,
    )  # fmt: skip


def _state(rng: random.Random, name: str, scale: float, parallelism: int, max_parallelism: int, age: int) -> StateDocument:
    kind, growth = rng.choice(KINDS), rng.uniform(0.0, 0.06)
    rows = max(int(scale * rng.lognormvariate(0, 1.3) * (1 - growth) ** age), 12)
    width = rng.randint(20, 400)
    if rng.random() < 0.03:
        reason = "a value of com.shop.model.LegacyBasket by Kryo, whose class is not described"
        return StateDocument(name, kind, "heap", None, "unsupported", reason, [], [], 0, rows * width, 0)
    groups = _spread(rng, rows, max_parallelism, width, rng.random() < 0.15)
    by_subtask: dict[int, tuple[int, int]] = {}
    for group, n, size in groups:
        subtask = group * parallelism // max_parallelism
        old = by_subtask.get(subtask, (0, 0))
        by_subtask[subtask] = (old[0] + n, old[1] + size)
    decoded = sum(size for _, _, size in groups)
    timer = kind == "timer"
    columns = [_column(rng, i, rows) for i in range(8)]
    problems = ["3 lone surrogates were replaced in value.comment"] if rng.random() < 0.03 else []
    return StateDocument(
        state_name=name, state_kind=kind, form=rng.choice(("heap", "SST files", "full snapshot")), state_role=None,
        status="partial" if problems and rng.random() < 0.5 else "decoded", reason=None, problems=problems,
        schema=[SchemaField(c.name, c.type) for c in columns], rows=rows, file_bytes=decoded * 6 // 5, decoded_bytes=decoded,
        distinct_keys=Distinct(int(rows * 0.97), False, 0.016) if rows > 10_000 else Distinct(rows),
        key_groups=[KeyGroup(*place) for place in groups],
        subtasks=[Subtask(number, n, size) for number, (n, size) in sorted(by_subtask.items())],
        skew=Skews(_skew([g[1:] for g in groups], max_parallelism), _skew(list(by_subtask.values()), parallelism)),
        columns=columns, biggest_keys=_biggest(rng, 60), biggest_values=_biggest(rng, 48_000),
        ttl=_ttl(rng, rows, age) if rng.random() < 0.35 and not timer else None,
        times=_times(rng, rows, "timer" if timer else "window_end", age) if timer or kind == "aggregating" else None,
    )  # fmt: skip


def _spread(rng: random.Random, rows: int, count: int, width: int, skewed: bool) -> list[tuple[int, int, int]]:
    """Key groups that share all rows: about evenly, or with a few that have most."""
    heavy = {rng.randrange(count) for _ in range(3)} if skewed else set()
    weights = [rng.uniform(0.85, 1.15) + (count / 6 if group in heavy else 0) for group in range(count)]
    total, given, past, found = sum(weights), 0, 0.0, []
    for group, weight in enumerate(weights):
        past += weight
        n = round(rows * past / total) - given
        given += n
        if n > 0:
            found.append((group, n, n * width))
    return found


def _skew(places: list[tuple[int, int]], count: int) -> Skew:
    figures: list[float] = []
    for which in (0, 1):
        values = sorted((place[which] for place in places), reverse=True)
        total, top = sum(values), max(count // 100, 1)
        figures += [values[0] * count / total, sum(values[:top]) / total]
    return Skew(*figures)


def _column(rng: random.Random, number: int, rows: int) -> ColumnDocument:
    nulls = int(rows * rng.choice((0, 0, 0.02, 0.4)))
    name = (
        "key",
        "value.id",
        "value.amount",
        "value.status",
        "value.comment",
        "value.placedAt",
        "key_group",
        "subtask",
    )[number]
    type_ = ("string", "int64", "double", "string", "string", "timestamp[us, tz=UTC]", "int32", "int32")[number]
    distinct = Distinct(max(rows - nulls, 1), rows < 10_000, 0.0 if rows < 10_000 else 0.016)
    if type_ == "string":
        lengths = Lengths(4, 18.25, 2400, [Quantile(q, int(10 + 80 * q)) for q in QUANTILES])
        return ColumnDocument(
            name, type_, rows, nulls, nulls / rows, None, "aaron-001", "zoe-998", distinct, [], 0.013, lengths
        )
    if type_.startswith("timestamp"):
        values = [Quantile(q, f"2025-11-{1 + int(27 * q):02}T08:00:00Z") for q in QUANTILES]
        return ColumnDocument(
            name,
            type_,
            rows,
            nulls,
            nulls / rows,
            None,
            "2025-11-01T00:00:00Z",
            "2025-11-28T13:59:59Z",
            distinct,
            values,
            0.013,
        )
    top = rng.randrange(10**6, 10**9)
    values = [Quantile(q, int(top * q) if type_ != "double" else round(top * q / 7, 2)) for q in QUANTILES]
    return ColumnDocument(
        name, type_, rows, nulls, nulls / rows, None, 0, 2**53 + top if number == 1 else top, distinct, values, 0.013
    )


def _biggest(rng: random.Random, size: int) -> list[Big]:
    sizes = sorted((int(size * rng.lognormvariate(0, 0.6)) for _ in range(10)), reverse=True)
    return [
        Big(f"customer-{rng.getrandbits(48):012x}", None, rng.randrange(128), rng.randrange(4), size) for size in sizes
    ]


def _histogram(rng: random.Random, rows: int, start: int, step: int, bins: int) -> list[Bin]:
    weights = [rng.uniform(0.2, 1) * (1 + i) for i in range(bins)]
    given = [int(rows * w / sum(weights)) for w in weights]
    given[-1] += rows - sum(given)
    return [Bin(start + i * step, start + (i + 1) * step, n) for i, n in enumerate(given)]


def _ttl(rng: random.Random, rows: int, age: int) -> Ttl:
    now = NOW - age * DAY
    bins = _histogram(rng, rows, now - 30 * DAY, DAY, 30)
    limit = rng.choice((20, 40)) * DAY
    expired = sum(b.rows for b in bins if b.to_ms is not None and b.to_ms <= now - limit)
    return Ttl(rows, now - 30 * DAY, now, bins, limit, expired)


def _times(rng: random.Random, rows: int, of: str, age: int) -> Times:
    now = NOW - age * DAY
    bins = _histogram(rng, rows, now - rng.choice((0, 2)) * HOUR, HOUR, 24)
    past = sum(b.rows for b in bins if b.to_ms is not None and b.to_ms <= now)
    return Times(of, bins[0].from_ms, bins[-1].to_ms, past, bins)


def browser_path() -> str | None:
    """The Chromium at STATEEXTRACT_BROWSER, else one on the PATH; ``None``: Playwright's own, if there is one."""
    return os.environ.get("STATEEXTRACT_BROWSER") or next(filter(None, map(shutil.which, BROWSERS)), None)
