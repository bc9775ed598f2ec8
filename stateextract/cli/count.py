"""``stateextract count``: how many rows states have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from copy import copy
from typing import TYPE_CHECKING, Any

import click

from stateextract.cli.common_options import rows_format_option
from stateextract.cli.progress import Meter
from stateextract.cli.selection import (
    chosen_coordinators,
    chosen_operators,
    chosen_states,
    coordinator_document,
    identity,
    opened,
    operator_state_identity,
    snapshot_options,
    state_options,
)
from stateextract.columnar.arrow.without_pandas import without_pandas
from stateextract.options import UsedBy
from stateextract.outcome import ExitCode, Status, exit_code
from stateextract.state.kinds import COORDINATOR

if TYPE_CHECKING:
    from stateextract.api import Operator, Snapshot, State
    from stateextract.api.counting import Count


@click.command()
@state_options
@snapshot_options(UsedBy.COUNT)
@rows_format_option
def count(path: str, operator: str | None, name: str | None, scope: Any, format_: str, **options: Any) -> ExitCode:
    """Count the rows of states of the snapshot at PATH, exactly.

    Without --operator and --state those of every state. If a file stores the count, it is used; otherwise
    entries are skipped without being decoded. A state that cannot be counted is shown with the reason. The exit code is 3 then,
    or 1 if none can be counted.
    """
    without_pandas()
    from stateextract.api.counting import count_rows

    snapshot = opened(path, options)
    coordinators = chosen_coordinators(snapshot, operator, name)
    states = [] if coordinators else chosen_states(snapshot, operator, name, scope)
    sizes: dict[tuple[str, str], int] = {}
    for state in states:  # those of one operator and scope share files
        of = state.operator.id, state.scope
        sizes[of] = max(state.bytes_of(), sizes.get(of, 0))
    with Meter("count", sum(sizes.values())) as meter:
        counts = count_rows(states, lambda size: meter.add(size))
    documents = [describe(state, found) for state, found in zip(states, counts, strict=True)]
    documents += [coordinator_document(o, rows=1) for o in coordinators]
    if name is None and scope is None:
        operators = chosen_operators(snapshot, operator)
        order = [one.id for one in operators]
        documents = sorted([*documents, *_without_names(operators)], key=lambda d: order.index(d["operator_id"]))
        documents += _master_states(snapshot) if operator is None else ()
    if format_ != "text":
        from stateextract.cli.row_tables import print_document

        print_document(documents, documents, format_)
    else:
        from stateextract.cli.printing import Cell, TextTable, console
        from stateextract.state.causes import causes_once

        causes = causes_once((number, [d["reason"]]) for number, d in enumerate(documents))
        rows = [
            [
                Cell(d["operator_label"], of=d["operator_id"]),
                d["state_name"] or "(not known)",
                d["state_kind"],
                "" if d["rows"] is None else f"{d['rows']:,}",
                Cell(d["status"], causes.get(number, d["reason"])) if d["reason"] else "",
            ]
            for number, d in enumerate(documents)
        ]
        console().show(TextTable(["operator", "state", "kind", "rows", "status"], rows, ["rows"]))
    return exit_code(d["status"] for d in documents)


def _without_names(operators: Iterable[Operator]) -> Iterator[dict[str, Any]]:
    """What operators have apart from named states: coordinators, which have one row each, and what is not read."""
    from stateextract.snapshot.coverage import CANNOT_BE_READ

    for one in operators:
        for state in one.unnamed:
            if state.kind == COORDINATOR and state.status not in CANNOT_BE_READ:
                yield coordinator_document(one, rows=1)
            else:
                which = operator_state_identity(one, None, None, state.kind)
                yield {**which, "rows": None, "status": state.status, "reason": state.reason}


def _master_states(snapshot: Snapshot) -> Iterator[dict[str, Any]]:
    from stateextract.snapshot.inventory import master_entries

    for entry in master_entries(snapshot.master_states):
        names = {"operator_id": None, "operator_uid": None, "operator_name": None, "operator_label": entry.label}
        state = {"state_name": entry.state, "state_scope": None, "state_kind": entry.kind}
        yield {**names, **state, "rows": None, "status": entry.status, "reason": entry.reason}


def describe(state: State, found: Count) -> dict[str, Any]:
    """The document of one state; ``rows`` is ``None`` if they cannot be counted, then ``reason`` says why."""
    if isinstance(found, int):
        return {**identity(state), "rows": found, "status": Status.DECODED, "reason": None}
    if found.key_group is None and found.offset is None:
        # A problem of a whole file, reported once for all of its states.
        found = copy(found)
        found.state = None
    return {**identity(state), "rows": None, "status": found.status, "reason": str(found)}
