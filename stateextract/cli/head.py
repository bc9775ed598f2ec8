"""``stateextract head``: the first rows of a state. Reads no more than they need."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import click

from stateextract.cli.options import output_options, snapshot_options

if TYPE_CHECKING:
    import pyarrow as pa

    from stateextract.api import Operator, Snapshot, State


@click.command()
@snapshot_options
@click.option("--operator", metavar="UID|NAME|ID", help="The operator; may be left out where only one has keyed state.")
@click.option("--state", "name", metavar="NAME", help="The state; may be left out where the operator has only one.")
@click.option("--scope", type=click.Choice(["keyed", "operator"]), help="Which, where both have a state of that name.")
@click.option("-n", "--rows", "limit", type=click.IntRange(min=0), default=10, show_default=True, help="How many rows.")
@click.option("--flatten", is_flag=True, help="One row per element of a list or entry of a map.")
@click.option("--keep-empty-maps", is_flag=True, help="Keep keys whose map is empty.")
@click.option(
    "--out-of-range",
    type=click.Choice(["fail", "null"]),
    default="fail",
    show_default=True,
    help="Times that no timestamp can hold: an error, or null.",
)
@click.option(
    "--on-undecodable",
    type=click.Choice(["fail", "skip", "raw"]),
    default="fail",
    show_default=True,
    help="Values without a known serializer: an error, left out, or shown as raw bytes.",
)
@output_options
def head(
    path: str,
    path_map: tuple[tuple[str, str], ...],
    plugins: tuple[str, ...],
    operator: str | None,
    name: str | None,
    scope: Any,
    limit: int,
    output: str,
    **options: Any,
) -> None:
    """Show the first rows of a state of the snapshot at PATH.

    Rows come in the order of the files: by subtask and key group, within a key group in none.
    """
    _without_pandas()
    from stateextract.api import open_snapshot

    snapshot = open_snapshot(path, path_map, plugins=plugins, **options)
    state = _state(_operator(snapshot, operator), name, scope)
    table = _rows(state, limit)
    if output == "json":
        click.echo(json.dumps(describe(state, table), indent=1))
    else:
        _show(state, table, limit)


def _operator(snapshot: Snapshot, name: str | None) -> Operator:
    from stateextract.errors import UsageError

    if name is not None:
        return snapshot.operator(name)
    snapshot.read_heads()
    keyed = [o for o in snapshot.operators if any(s.scope == "keyed" for s in o.states)]
    if len(keyed) != 1:
        labels = ", ".join(o.label for o in keyed) or "none"
        raise UsageError("--operator is missing", advice=f"the operators with keyed state are: {labels}")
    return keyed[0]


def _state(operator: Operator, name: str | None, scope: Any) -> State:
    from stateextract.errors import UsageError

    if name is not None:
        return operator.state(name, scope)
    states = [s for s in operator.states if scope in (None, s.scope)]
    if len(states) != 1:
        names = ", ".join(repr(s.name) for s in states) or "none"
        raise UsageError("--state is missing", operator=operator.label, advice=f"its states are: {names}")
    return states[0]


def _rows(state: State, limit: int) -> pa.Table:
    """The first rows; the raw ones of a state of which there are no others."""
    import pyarrow as pa

    if state.coverage.status != "raw":
        return state.to_table(limit)
    reader = state.raw_batches()
    batches: list[pa.RecordBatch] = []
    for batch in reader if limit else ():
        batches.append(batch.slice(0, limit - sum(b.num_rows for b in batches)))
        if sum(b.num_rows for b in batches) >= limit:
            break
    return pa.Table.from_batches(batches, reader.schema)


def describe(state: State, table: pa.Table) -> dict[str, Any]:
    """The document of ``--output json``."""
    from stateextract.cli.values import json_value

    columns = {name: [json_value(value) for value in table[name]] for name in table.column_names}
    return {
        "operator_id": state.operator.id,
        "uid": state.operator.uid,
        "name": state.operator.name,
        "state": state.name,
        "kind": state.kind,
        "status": state.coverage.status,
        "why": state.coverage.why,
        "complete": state.coverage.complete,
        "schema": [{"name": field.name, "type": str(field.type)} for field in table.schema],
        "rows": [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)],
    }


def _show(state: State, table: pa.Table, limit: int) -> None:
    import pyarrow as pa

    from stateextract.cli.screen import console
    from stateextract.cli.screen import table as made
    from stateextract.cli.values import text_value

    names = table.column_names
    rows = list(zip(*([text_value(value) for value in table[name]] for name in names), strict=True))
    numbers = [f.name for f in table.schema if pa.types.is_integer(f.type) or pa.types.is_floating(f.type)]
    out = console()
    out.print(made(names, rows, numbers))
    coverage = state.coverage
    if coverage.complete and table.num_rows < limit:
        out.print(f"\nAll {table.num_rows} rows of {state.kind} state {state.name!r}.", markup=False, soft_wrap=True)
    if coverage.why and coverage.status != "decoded":
        out.print(f"{coverage.status}: {coverage.why}", markup=False, soft_wrap=True)


class _NoPandas:
    """A finder of modules that says that there is no pandas."""

    def find_spec(self, fullname: str, _path: Any, _target: Any = None) -> None:
        if fullname == "pandas":
            raise ModuleNotFoundError("not needed here", name=fullname)


def _without_pandas() -> None:
    """pyarrow looks for pandas when it makes its first array, which takes longer than all else here; none is needed."""
    if "pandas" in sys.modules:
        return
    import pyarrow as pa

    finder = _NoPandas()
    sys.meta_path.insert(0, finder)
    try:
        pa.array([0])
    finally:
        sys.meta_path.remove(finder)


__all__ = ["describe", "head"]
