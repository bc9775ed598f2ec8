"""``stateextract get``: the rows of one key, read from the one key group that can hold it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from stateextract.cli.options import complain, rows_format_option
from stateextract.cli.quick import without_pandas
from stateextract.cli.reading import (
    MEANING,
    identity,
    metered,
    opened,
    snapshot_options,
    state_options,
    the_operator,
    the_state,
)
from stateextract.outcome import ExitCode, exit_code
from stateextract.printable import printable

if TYPE_CHECKING:
    import pyarrow as pa

    from stateextract.api import State


@click.command()
@state_options
@click.option(
    "--key", "keys", required=True, multiple=True, metavar="KEY",
    help="The key; of a composite one as JSON, of a time as ISO 8601.",
)  # fmt: skip
@click.option("--namespace", metavar="NAMESPACE", help="Only of this namespace, such as a window; written like a key.")
@snapshot_options(*MEANING)
@rows_format_option
def get(
    path: str,
    operator: str | None,
    name: str | None,
    scope: Any,
    keys: tuple[str, ...],
    namespace: str | None,
    format_: str,
    **options: Any,
) -> ExitCode:
    """Show the rows of a key in a state of the snapshot at PATH.

    Only the key group that can hold the key is read. Keys whose hash only Java knows (enums, classes without a known
    hashCode) are looked for in all key groups, which is said. No row is no error.
    """
    if len(keys) > 1:
        raise click.UsageError("--key is given more than once: one key is looked up at a time.")
    (key,) = keys
    without_pandas()
    state = the_state(the_operator(opened(path, options), operator), name, scope)
    groups = state.key_groups_of(key)
    with metered("get", state, groups):
        table = state.get(key, namespace)
    if format_ != "text":
        from stateextract.cli.rows import print_document

        document = describe(state, table, groups)
        print_document(document, document["rows"], format_, table.column_names)
        return exit_code([state.coverage.status])
    if table.num_rows:
        from stateextract.cli.rows import print_rows
        from stateextract.cli.screen import console

        print_rows(table, console())
    else:
        where = "" if groups is None else f", which could only be in key group {' or '.join(map(str, sorted(groups)))}"
        click.echo(printable(f"No row of {state.name!r} has this key{where}."))
    if groups is None and state.scope == "keyed":
        complain("Note: the hash of such keys is not known, so stateextract searched all key groups.")
    coverage = state.coverage
    if coverage.reason and coverage.status != "decoded":
        complain(printable(f"{coverage.status}: {coverage.reason}"))
    return exit_code([coverage.status])


def describe(state: State, table: pa.Table, groups: frozenset[int] | None) -> dict[str, Any]:
    """The document of ``--format json``; ``key_groups`` is ``None`` where all were read."""
    from stateextract.cli.rows import json_rows

    return {
        **identity(state),
        "key_groups": None if groups is None else sorted(groups),
        **json_rows(table),
    }


__all__ = ["describe", "get"]
