"""``stateextract get``: the rows of one key, read from the one key group that can hold it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from stateextract.cli.common_options import complain, rows_format_option
from stateextract.cli.selection import (
    document_of,
    metered,
    opened,
    snapshot_options,
    state_options,
    the_coordinator,
    the_operator,
    the_states,
)
from stateextract.columnar.arrow.without_pandas import without_pandas
from stateextract.options import UsedBy
from stateextract.outcome import ExitCode, Status, exit_code
from stateextract.printable import printable
from stateextract.state.kinds import COORDINATOR

if TYPE_CHECKING:
    import pyarrow as pa

    from stateextract.api import State


@click.command()
@state_options
@click.option(
    "--key", "keys", multiple=True, metavar="KEY",
    help="The key; of a composite one as JSON, of a time as ISO 8601. Only the state of a coordinator has none.",
)  # fmt: skip
@click.option("--namespace", metavar="NAMESPACE", help="Only of this namespace, such as a window; written like a key.")
@snapshot_options(UsedBy.ROWS)
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
    hashCode) are looked for in all key groups, and a note says so. If no row has the key, the exit code is 0.
    """
    if len(keys) > 1:
        raise click.UsageError("--key is given more than once: one key is looked up at a time.")
    if not keys and name != COORDINATOR:
        raise click.UsageError("--key is missing.")
    without_pandas()
    snapshot = opened(path, options)
    coordinator = the_coordinator(snapshot, operator, name)
    if coordinator is None:
        states = the_states(the_operator(snapshot, operator), name, scope)
        found = _look_up(states, keys[0] if keys else "", namespace, name)
    elif keys:
        raise click.UsageError("The state of a coordinator has no keys: leave --key out.")
    else:
        found = _Found(*coordinator, None)
    document = found.document
    code = exit_code([document["status"]])
    if format_ != "text":
        from stateextract.cli.row_tables import json_rows, print_document

        made = {**document, "key_groups": found.key_groups and sorted(found.key_groups), **json_rows(found.table)}
        print_document(made, made["rows"], format_, found.table.column_names)
        return code
    if found.table.num_rows:
        from stateextract.cli.printing import console
        from stateextract.cli.row_tables import print_rows

        print_rows(found.table, console())
    else:
        groups = sorted(found.key_groups or ())
        where = f", which could only be in key group {' or '.join(map(str, groups))}" if groups else ""
        click.echo(printable(f"No row of {document['state_name']!r} has this key{where}."))
    if found.likely:
        first = " or ".join(map(str, sorted(found.likely)))
        complain(f"Note: key group {first}, which the hash selects, has no such row, so stateextract searched all key groups.")
    elif found.key_groups is None and document["state_scope"] == "keyed":
        complain("Note: the hash of such keys is not known, so stateextract searched all key groups.")
    if document["reason"] and document["status"] != Status.DECODED:
        complain(printable(f"{document['status']}: {document['reason']}"))
    return code


@dataclass
class _Found:
    """The rows of a key, which state they are of, and the key groups that were read; ``None``: all.

    :param likely: key groups that were read first, in vain.
    """

    document: dict[str, Any]
    table: pa.Table
    key_groups: frozenset[int] | None
    likely: frozenset[int] = frozenset()


def _look_up(states: Sequence[State], key: str, namespace: str | None, name: str | None) -> _Found:
    """The rows of a key in a state, or in all queues of timers."""
    import pyarrow as pa

    # A key lies in the same key group of all queues: only if none has it there, the other key groups are read.
    for elsewhere in (False, True) if len(states) > 1 else (True,):
        tables, groups, likely = [], [], frozenset[int]()
        for state in states:
            first = state.key_groups_of(key)
            with metered("get", state, first):
                tables.append(state.get(key, namespace, elsewhere=elsewhere))
            groups.append(state.searched)
            likely |= (first or frozenset()) if state.searched is None else frozenset()
        if any(table.num_rows for table in tables):
            break
    known = [of_state for of_state in groups if of_state is not None]
    return _Found(
        document_of(states, name),
        pa.concat_tables(tables),
        frozenset().union(*known) if len(known) == len(groups) else None,
        likely,
    )
