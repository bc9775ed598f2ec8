"""``stateextract inspect``: what a snapshot holds, in which form, and what of it cannot be read and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from stateextract.cli.common_options import format_option
from stateextract.cli.selection import opened, snapshot_options
from stateextract.metadata.operator_lookup import by_name
from stateextract.outcome import ExitCode, exit_code
from stateextract.printable import json_document, named, pluralize, sentence

if TYPE_CHECKING:
    from stateextract.api import Operator, Snapshot, State, UnnamedState
    from stateextract.cli.printing import Cell


@click.command()
@snapshot_options()
@format_option
def inspect(path: str, format_: str, **options: Any) -> ExitCode:
    """Show operators, states, types and sizes of the snapshot at PATH.

    PATH is a _metadata file, its folder, or a job's checkpoint folder (then its newest complete checkpoint). Only
    _metadata and the heads of the state files are read.
    """
    snapshot = opened(path, options)
    snapshot.read_headers()
    if format_ == "json":
        click.echo(json_document(describe(snapshot), indent=1))
    else:
        show(snapshot)
    statuses = [s.coverage.status for s in snapshot.states]
    return exit_code([*statuses, *(u.status for o in snapshot.operators for u in o.unnamed)], forecast=True)


# ---- JSON


def describe(snapshot: Snapshot) -> dict[str, Any]:
    """The document of ``--format json``."""
    properties = snapshot.properties
    return {
        "snapshot": snapshot.path,
        "metadata": snapshot.metadata_path,
        "metadata_version": snapshot.metadata_version,
        "checkpoint_id": snapshot.checkpoint_id,
        "snapshot_kind": properties.kind if properties else None,
        "snapshot_format": properties.format if properties else None,
        "note": snapshot.note,
        "missing_files": list(snapshot.missing_files().paths),
        "relocations": [{"stored": stored, "found": found} for stored, found in snapshot.relocations],
        "master_states": [
            {"state_name": s.name, "version": s.version, "size_in_bytes": len(s.data)} for s in snapshot.master_states
        ],
        "operators": [_operator(operator) for operator in snapshot.operators],
    }


def _operator(operator: Operator) -> dict[str, Any]:
    return {
        "operator_id": operator.id,
        "operator_uid": operator.uid,
        "operator_name": operator.name,
        "operator_label": operator.label,
        "operator_parallelism": operator.parallelism,
        "operator_max_parallelism": operator.max_parallelism,
        "operator_fully_finished": operator.fully_finished,
        "finished_subtasks": list(operator.finished_subtasks),
        "operator_subtask_state_count": operator.subtask_state_count,
        "operator_coordinator_state_size_in_bytes": operator.coordinator_size,
        "operator_total_size_in_bytes": operator.total_size,
        "handles": [
            {"handle_role": role, "handle_kind": kind, "stream_kind": stream, "handle_count": count, "size_in_bytes": size}
            for role, kind, stream, count, size in operator.handles
        ],
        "states": [_state(state) for state in operator.states],
        "unnamed": [_unnamed(unnamed) for unnamed in operator.unnamed],
        "notes": operator.notes,
        "problems": list(map(str, operator.problems)),
    }


def _state(state: State) -> dict[str, Any]:
    schema = _columns(state)
    return {
        "state_name": state.name or None,
        "state_scope": state.scope,
        "state_kind": state.kind,
        "state_role": state.role,
        "form": state.form,
        "handle_count": state.handles,
        "size_in_bytes": state.size,
        "schema": None if schema is None else [{"name": name, "type": type_} for name, type_ in schema.items()],
        "serializers": state.serializers,
        "status": state.coverage.status,
        "reason": state.coverage.reason,
    }


def _unnamed(unnamed: UnnamedState) -> dict[str, Any]:
    return {
        "state_kind": unnamed.kind,
        "form": unnamed.form,
        "handle_count": unnamed.handles,
        "size_in_bytes": unnamed.size,
        "reason": unnamed.reason,
    }


def _columns(state: State) -> dict[str, str] | None:
    from stateextract.errors import StateExtractError

    try:
        return {field.name: str(field.type) for field in state.schema}
    except StateExtractError:
        return None


# ---- text


def show(snapshot: Snapshot) -> None:
    """Print everything for people."""
    from stateextract.cli.printing import console, escape
    from stateextract.cli.sizes import text_size

    out = console()
    properties = snapshot.properties
    kind = " ".join(filter(None, (properties.format, properties.kind))) if properties else "snapshot of unknown kind"
    total = sum(operator.total_size for operator in snapshot.operators)
    out.say(f"[bold]{escape(kind.capitalize())} {snapshot.checkpoint_id}[/bold]  {escape(snapshot.path)}", markup=True)
    out.print(
        f"metadata version {snapshot.metadata_version}, {pluralize(len(snapshot.operators), 'operator')}, {text_size(total)}"
    )
    for line in _notes(snapshot):
        out.say(line)
    for operator in sorted(snapshot.operators, key=by_name):
        out.print()
        _show_operator(operator, out)


def _notes(snapshot: Snapshot) -> list[str]:
    lines = [sentence(f"Note: {snapshot.note}")] if snapshot.note else []
    missing = snapshot.missing_files().note
    if missing:
        lines.append(sentence(f"Note: {missing}"))
    moved = snapshot.relocations
    if moved:
        more = f" and {pluralize(len(moved) - 1, 'more file')}" if len(moved) > 1 else ""
        lines.append(f"Found at another location than the snapshot records: {moved[0][0]} at {moved[0][1]}{more}.")
    lines.extend(f"Master state {s.name}: {len(s.data)} B, not yet supported." for s in snapshot.master_states)
    return lines


def _show_operator(operator: Operator, out: Any) -> None:
    from stateextract.cli.printing import Cell, TextTable, escape
    from stateextract.cli.sizes import text_size

    names = [f"name {named(operator.name)}"] if operator.name and operator.uid else []
    ids = [f"id {operator.id}"] if operator.label != operator.id else []
    finished = ["finished"] if operator.fully_finished else []
    if operator.finished_subtasks:
        finished.append(f"finished subtasks {', '.join(map(str, operator.finished_subtasks))}")
    facts = [
        *names,
        *ids,
        f"parallelism {operator.parallelism} of {operator.max_parallelism}",
        text_size(operator.total_size),
        *finished,
    ]
    out.say(f"[bold cyan]{escape(named(operator.label))}[/bold cyan]  {escape(' · '.join(facts))}", markup=True)
    for role, kind, stream, count, size in operator.handles:
        where = "" if stream == "-" else f" ({stream})"
        out.say(f"  {role.replace('_', ' ')}: {count} × {kind}{where}, {text_size(size)}", markup=True)
    for note in operator.notes:
        out.say(sentence(f"  Note: {escape(note)}"), markup=True)
    rows: list[list[str | Cell]] = [_cells(state) for state in operator.states]
    rows += [
        [f"({u.form})", u.kind, "", "", "", text_size(u.size), Cell(u.status, u.reason) if u.reason else ""]
        for u in operator.unnamed
    ]
    if rows:
        columns = ["state", "kind", "key", "namespace", "value", "size", "status"]
        out.show(TextTable(columns, rows, ["size"], keys=1, indent=2, group=False))


def _cells(state: State) -> list[str | Cell]:
    from stateextract.cli.printing import Cell
    from stateextract.cli.sizes import text_size

    columns = _columns(state) or {}
    value = columns.get("value", "timestamp" if state.kind == "timer" else "")
    if "last_access" in columns:
        value += " + last_access"
    status = Cell(state.coverage.status, state.coverage.reason)
    size = text_size(state.size) if state.size is not None else ""
    return [state.name or "(not known)", state.kind, columns.get("key", ""), columns.get("namespace", ""), value, size, status]
