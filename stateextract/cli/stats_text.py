"""The statistics document as tables for people."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from stateextract.audit.document import (
    Big,
    ColumnDocument,
    Distinct,
    OperatorDocument,
    Owner,
    Owners,
    Skew,
    StateDocument,
    Statistics,
    Times,
)
from stateextract.audit.durations import text_duration
from stateextract.cli.printing import Cell, TextTable, console
from stateextract.cli.sizes import text_size
from stateextract.columnar.arrow.json_values import iso_timestamp
from stateextract.doors import api_door
from stateextract.outcome import Status
from stateextract.printable import named, pluralize, sentence
from stateextract.state.causes import causes_once, is_caused

_WIDEST = 40
_RIGHT = (
    "rows", "keys", "in files", "decoded", "key group skew", "subtask skew", "max value", "nulls", "distinct", "bytes",
    "key group", "past", "expired", "with time", "at most", "share", "entries", "past by it",
)  # fmt: skip


def show(document: Statistics, detailed: bool) -> None:
    """Print a document.

    :param detailed: with the columns and the biggest keys of every state.
    """
    out = console()
    snapshot, totals = document.snapshot, document.totals
    out.say(f"{snapshot.path}: checkpoint {snapshot.checkpoint_id}")
    out.print(
        f"{pluralize(totals.operators, 'operator')}, {pluralize(totals.states, 'state')}, {pluralize(totals.rows, 'row')}, "
        f"{text_size(totals.file_bytes)} in files, {text_size(totals.decoded_bytes)} decoded"
    )
    sections: list[tuple[str, list[str], Sequence[Sequence[str | Cell]]]] = [("", _STATES, _states(document))]
    for title, columns, of in (("Keys that own most", _OWNERS, "keys"), ("Windows that own most", _WINDOWS, "windows")):
        sections.append((title, columns, _owners(document, of, detailed)))
    sections.append(("Time to live", _TTL, _rows(document, _ttl)))
    sections.append(("Windows and timers", _TIMES, _rows(document, _times)))
    if detailed:
        sections.append(("Columns", _COLUMNS, [row for _, state in document.states for row in _columns(state)]))
    sections.append(("Biggest values", _BIG, _largest(document, lambda s: s.biggest_values, 10 if detailed else 1)))
    if detailed:
        sections.append(("Biggest keys", _BIG, _largest(document, lambda s: s.biggest_keys, 10)))
    for title, columns, rows in sections:
        if rows:
            out.print()
            if title:
                out.print(title, style="bold")
            keys = 1 if columns in (_COLUMNS, _WINDOWS) else 2
            out.show(TextTable(columns, rows, _RIGHT, names=("operator", "state", "column", "mostly in"), keys=keys))
    lines = list(_remarks(document))
    if lines:
        out.print()
    for line in lines:
        out.say(line)


# ---- all states

_STATES = [
    "operator", "state", "kind", "rows", "keys", "in files", "decoded", "key group skew", "subtask skew", "max value",
    "status",
]  # fmt: skip


def _states(document: Statistics) -> list[list[str | Cell]]:
    states = list(document.states)
    causes = causes_once((number, (state.reason, *state.problems)) for number, (_, state) in enumerate(states))
    return [
        [
            Cell(operator.operator_label, of=operator.operator_id), state.state_name or "", state.state_kind,
            f"{state.rows:,}" if state.columns else "", _distinct(state.distinct_keys),
            text_size(state.file_bytes), text_size(state.decoded_bytes) if state.columns else "",
            _skew(state.skew.key_groups if state.skew else None), _skew(state.skew.subtasks if state.skew else None),
            text_size(state.biggest_values[0].bytes) if state.biggest_values else "",
            Cell(state.status, _reason(state, causes.get(number))),
        ]
        for number, (operator, state) in enumerate(states)
        if state.status != Status.NOT_SELECTED
    ]  # fmt: skip


def _reason(state: StateDocument, cause: str | None) -> str | None:
    return cause if cause and state.reason and is_caused(state.reason) else api_door().reason(state.reason)


def _distinct(distinct: Distinct | None) -> str:
    return "" if distinct is None else f"{'' if distinct.exact else '~'}{distinct.count:,}"


def _skew(skew: Skew | None) -> str:
    return "" if skew is None or skew.max_over_mean is None else f"{skew.max_over_mean:.1f}"


def _rows(document: Statistics, of: Callable[[StateDocument, int | None], list[str] | None]) -> list[list[str]]:
    made = [(operator, state, of(state, document.as_of_ms)) for operator, state in document.states]
    return [[operator.operator_label, state.state_name or "", *row] for operator, state, row in made if row is not None]


# ---- owners

_OWNERS = ["operator", "key", "key group", "bytes", "at most", "share", "rows", "entries", "mostly in"]
_WINDOWS = ["operator", "window", *_OWNERS[3:]]
_OF_OPERATOR, _OF_ALL = 3, 10
"""How many owners are shown of each operator and of all, where no state is selected."""


def _owners(document: Statistics, of: str, detailed: bool) -> list[list[str | Cell]]:
    found: list[tuple[OperatorDocument, Owners, Owner]] = []
    for operator in document.operators:
        owners: Owners | None = getattr(operator, of)
        if owners is not None:
            found += [(operator, owners, owner) for owner in owners.largest[: None if detailed else _OF_OPERATOR]]
    found.sort(key=lambda one: -one[2].bytes)
    return [
        [
            Cell(operator.operator_label, of=operator.operator_id),
            *([_value(owner.owner), _number(owner.key_group)] if of == "keys" else [_window(owner.owner)]),
            f"{owner.bytes:,}", f"{owner.bytes + owner.error:,}" if owner.error else "", f"{owner.bytes / owners.bytes:.1%}",
            f"{owner.rows:,}", f"{owner.entries:,}", owner.states[0].state_name,
        ]
        for operator, owners, owner in (found if detailed else found[:_OF_ALL])
    ]  # fmt: skip


def _window(bounds: Any) -> str:
    return " to ".join(filter(None, (bounds.get("start"), bounds.get("end"))))


# ---- ages

_TTL = ["operator", "state", "with time", "first", "last", "time to live", "expired"]


def _ttl(state: StateDocument, _: int | None) -> list[str] | None:
    ttl = state.ttl
    if ttl is None:
        return None
    return [
        f"{ttl.rows_with_time:,}", _moment(ttl.min_ms), _moment(ttl.max_ms),
        "" if ttl.ttl_ms is None else text_duration(ttl.ttl_ms), "" if ttl.expired is None else f"{ttl.expired:,}",
    ]  # fmt: skip


_TIMES = ["operator", "state", "what", "first", "last", "past", "own progress", "past by it"]


def _times(state: StateDocument, _: int | None) -> list[str] | None:
    times = state.times
    if times is None or times.min_ms is None:
        return None
    return [
        times.of.replace("_", " "), _moment(times.min_ms), _moment(times.max_ms), f"{times.past:,}",
        _moment(times.progress_ms), _past(times),
    ]  # fmt: skip


def _past(times: Times) -> str:
    count = times.past_by_progress
    return "" if count is None else f"{'~' if times.past_by_progress_error else ''}{count:,}"


def _moment(ms: int | None) -> str:
    return "" if ms is None else iso_timestamp(ms, "ms", True)


# ---- columns and rows of states

_COLUMNS = ["column", "type", "nulls", "distinct", "min", "median", "max", "length"]


def _columns(state: StateDocument) -> Iterable[list[str]]:
    return (_column(column) for column in state.columns)


def _column(column: ColumnDocument) -> list[str]:
    median = next((q.value for q in column.quantiles if q.q == 0.5), None)
    lengths = column.lengths
    length = "" if lengths is None else f"{lengths.min:,}-{lengths.max:,}, mean {lengths.mean:,.1f}"
    return [
        column.name, column.type, f"{column.null_share:.1%}" if column.nulls else "", _distinct(column.distinct),
        _value(column.min), _value(median), _value(column.max), length,
    ]  # fmt: skip


_BIG = ["operator", "state", "bytes", "key", "namespace", "key group"]


def _largest(document: Statistics, of: Callable[[StateDocument], list[Big]], most: int) -> list[list[str]]:
    found = [(big, o.operator_label, state.state_name or "") for o, state in document.states for big in of(state)[:most]]
    return [
        [label, name, f"{big.bytes:,}", _value(big.key), _value(big.namespace), _number(big.key_group)]
        for big, label, name in sorted(found, key=lambda row: -row[0].bytes)
    ]


def _number(number: int | None) -> str:
    return "" if number is None else str(number)


def _value(value: Any) -> str:
    if value is None:
        return ""
    text = value if isinstance(value, str) and value.isprintable() else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _WIDEST else f"{text[: _WIDEST - 1]}…"


# ---- sentences


def _remarks(document: Statistics) -> Iterable[str]:
    for note in document.notes:
        yield sentence(f"Note: {note}")
    without = [named(o.operator_label) for o in document.operators if o.without_uid and o.handle_bytes]
    if without:
        yield f"Operators with state and without a uid: {', '.join(without)}."
    unowned = [named(o.operator_label) for o in document.operators if o.unowned]
    if unowned:
        yield f"State that no operator of the job owns: {', '.join(unowned)}."
    for operator, state in document.states:
        for problem in dict.fromkeys(p for p in state.problems if p != state.reason and not is_caused(p)):
            location = f"{named(operator.operator_label)} / {named(state.state_name or state.form)}"
            yield sentence(f"{location}: {api_door().reason(problem)}")
