"""What the page is given: the newest snapshot's statistics, less what is not drawn, and how they came about over time.

The names are those of the statistics document where they mean the same. Numbers are as they are, values of the job texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from stateextract.audit.document import (
    Big,
    Bin,
    ColumnDocument,
    OperatorDocument,
    Quantile,
    Skew,
    StateDocument,
    Statistics,
)
from stateextract.audit.history import identity, in_order, order_note
from stateextract.audit.history.growth import MEASURES, series_of
from stateextract.audit.history.history_files import Recorded, recorded
from stateextract.errors import UsageError
from stateextract.report.findings import findings
from stateextract.report.page_texts import value_text, visible
from stateextract.report.spread import spread

STATES = 4
"""States of an owner that are shown."""
PROBLEMS = 20
"""Problems of a state that are shown."""
NAME = 1000
"""Characters of names, types and reasons that are shown."""
_NAMES = ("state_name", "state_kind", "form", "state_role", "status", "reason")


def page_model(documents: Sequence[Statistics | Recorded]) -> dict[str, Any]:
    """The page's data, plain values for JSON.

    :param documents: statistics of one or more snapshots; the newest is shown in full, and of a snapshot that is given more
        than once the last.
    :raises UsageError: without any.
    """
    if not documents:
        raise UsageError("there are no statistics to report")
    ordered = snapshots_of(documents)
    newest = ordered[-1].document()
    states = list(newest.states)
    position = {id(operator): index for index, operator in enumerate(newest.operators)}
    return {
        "tool_version": visible(newest.tool_version),
        "snapshot": {
            **asdict(newest.snapshot),
            "path": _name(newest.snapshot.path),
            "kind": _name(newest.snapshot.kind),
        },
        "as_of_ms": newest.as_of_ms,
        "notes": [visible(note, NAME) for note in newest.notes],
        "totals": asdict(newest.totals),
        "operators": [_operator(operator) for operator in newest.operators],
        "states": [_state(state, operator, position[id(operator)]) for operator, state in states],
        "owners": {of: _owners(newest.operators, of) for of in ("keys", "windows")},
        "findings": [
            {**group, "items": [{**item, "note": visible(item["note"])} for item in group["items"]]}
            for group in findings(newest)
        ],
        "history": _history(ordered) if len(ordered) > 1 else None,
    }


def snapshots_of(documents: Sequence[Statistics | Recorded]) -> list[Recorded]:
    """The snapshots, from the oldest to the newest."""
    ones = [recorded(one) if isinstance(one, Statistics) else one for one in documents]
    return in_order({identity(one.snapshot): one for one in ones}.values())


# ---- one snapshot


def _operator(operator: OperatorDocument) -> dict[str, Any]:
    values = {name: value for name, value in vars(operator).items() if name not in ("states", "keys", "windows")}
    return values | {name: _name(values[name]) for name in ("operator_id", "operator_uid", "operator_name", "operator_label")}


def _state(state: StateDocument, operator: OperatorDocument, index: int) -> dict[str, Any]:
    groups = ((g.key_group, g.rows, g.decoded_bytes) for g in state.key_groups)
    subtasks = ((s.subtask, s.rows, s.decoded_bytes) for s in state.subtasks)
    return {
        "operator": index,
        **{name: _name(getattr(state, name)) for name in _NAMES},
        "problems": [visible(problem, NAME) for problem in state.problems[:PROBLEMS]],
        "more_problems": max(len(state.problems) - PROBLEMS, 0),
        "schema": [[_name(f.name), _name(f.type)] for f in state.schema],
        "rows": state.rows,
        "file_bytes": state.file_bytes,
        "decoded_bytes": state.decoded_bytes,
        "distinct_keys": None if state.distinct_keys is None else asdict(state.distinct_keys),
        "key_groups": spread(groups, operator.operator_max_parallelism),
        "subtasks": spread(subtasks, operator.operator_parallelism),
        "key_group_skew": _skew(state.skew.key_groups) if state.skew else None,
        "subtask_skew": _skew(state.skew.subtasks) if state.skew else None,
        "columns": [_column(column) for column in state.columns],
        "biggest_keys": [_big(big) for big in state.biggest_keys],
        "biggest_values": [_big(big) for big in state.biggest_values],
        "ttl": None if state.ttl is None else {**vars(state.ttl), "histogram": _bins(state.ttl.histogram)},
        "times": None if state.times is None else {**vars(state.times), "histogram": _bins(state.times.histogram)},
    }


def _owners(operators: Sequence[OperatorDocument], of: str) -> list[dict[str, Any]]:
    """The keys or windows of all operators, the largest first."""
    found = [
        {
            "operator": index, "owner": _window(owner.owner) if of == "windows" else value_text(owner.owner),
            "bytes": owner.bytes, "error": owner.error, "share": owner.bytes / owners.bytes if owners.bytes else 0.0,
            "rows": owner.rows, "entries": owner.entries, "key_group": owner.key_group,
            "states": [[_name(state.state_name), state.bytes] for state in owner.states[:STATES]],
        }
        for index, operator in enumerate(operators)
        if (owners := getattr(operator, of)) is not None
        for owner in owners.largest
    ]  # fmt: skip
    return sorted(found, key=lambda one: -one["bytes"])


def _window(bounds: Any) -> str | None:
    if not isinstance(bounds, dict):
        return value_text(bounds)
    return value_text(" to ".join(str(bounds[name]) for name in ("start", "end") if bounds.get(name) is not None))


def _skew(skew: Skew | None) -> dict[str, Any] | None:
    return None if skew is None else asdict(skew)


def _column(column: ColumnDocument) -> dict[str, Any]:
    lengths = column.lengths
    return {
        "name": _name(column.name),
        "type": _name(column.type),
        "rows": column.rows,
        "nulls": column.nulls,
        "null_share": column.null_share,
        "nans": column.nans,
        "min": value_text(column.min),
        "max": value_text(column.max),
        "distinct": None if column.distinct is None else asdict(column.distinct),
        "quantiles": _quantiles(column.quantiles),
        "rank_error": column.rank_error,
        "lengths": None if lengths is None else {**vars(lengths), "quantiles": _quantiles(lengths.quantiles)},
    }


def _quantiles(quantiles: Sequence[Quantile]) -> list[list[Any]]:
    return [[quantile.q, value_text(quantile.value)] for quantile in quantiles]


def _big(big: Big) -> list[Any]:
    return [value_text(big.key), value_text(big.namespace), big.key_group, big.subtask, big.bytes]


def _bins(bins: Sequence[Bin]) -> list[list[int | None]]:
    return [[b.from_ms, b.to_ms, b.rows] for b in bins]


def _name(text: str | None) -> str | None:
    return value_text(text, NAME)


# ---- several


def _history(ordered: Sequence[Recorded]) -> dict[str, Any]:
    """Every state of every snapshot, ``None`` where it is not there or not known; states that are gone have no ``index``."""
    rows = ordered[-1].rows.select(["operator_id", "state_name", "state_kind"]).to_pylist()
    index = {tuple(row.values()): number for number, row in reversed([*enumerate(rows)])}
    return {
        "note": order_note(ordered),
        "snapshots": [
            {
                "checkpoint_id": one.snapshot.checkpoint_id,
                "taken_ms": one.snapshot.taken_ms,
                "path": _name(one.snapshot.path),
                "states": one.totals.states,
                **{measure: getattr(one.totals, measure) for measure in MEASURES},
            }
            for one in ordered
        ],
        "states": [
            {
                "operator_label": _name(one.operator),
                "state_name": _name(one.state),
                "state_kind": _name(one.kind),
                "index": index.get((one.operator_id, one.state, one.kind)),
                "new": one.new,
                "gone": one.gone,
                "change": {measure: one.change(measure).change for measure in MEASURES},
                "split": None if (split := one.split) is None else asdict(split),
                **{measure: one.values[measure] for measure in MEASURES},
            }
            for one in series_of([one.rows for one in ordered])
        ],
    }
