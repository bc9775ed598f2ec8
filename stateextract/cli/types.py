"""``stateextract types``: which column every serializer of Flink becomes; the first table of ``docs/types.md``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from stateextract.cli.common_options import format_option
from stateextract.cli.selection import config_option, job_options, opened
from stateextract.options import UsedBy
from stateextract.printable import pluralize, printable

if TYPE_CHECKING:
    from stateextract.snapshot.python_types import Suggestion


@click.command()
@click.argument("words", nargs=-1, metavar="[WORD]...")
@click.option(
    "--suggest", metavar="PATH",
    help="Print types for the state of PyFlink in the snapshot at PATH, guessed from its first rows, as a job file.",
)  # fmt: skip
@job_options(UsedBy.OTHERS)
@config_option
@format_option
def types(words: tuple[str, ...], suggest: str | None, format_: str, **options: Any) -> None:
    """List Flink's serializers with the column type that their values become.

    With words only those whose class or type has one of them, in any case. What is nested in a serializer is shown with
    samples: strings, then longs, ints, booleans. In the text, class names lack the prefix org.apache.flink.

    With --suggest the command prints a job file for --config: the types of bytes that PyFlink wrote are not in a snapshot.
    """
    if suggest is not None:
        if words:
            raise click.UsageError("--suggest takes one PATH and no WORD.")
        _suggest(suggest, format_, options)
        return
    from dataclasses import asdict

    from serializers.type_table import serializer_columns

    found = [
        c for c in serializer_columns() if not words or any(_has(f"{c.snapshot_class} {c.column}", w) for w in words)
    ]
    if format_ == "json":
        click.echo(json.dumps([asdict(c) for c in found], indent=1))
        return
    from stateextract.cli.printing import Cell, TextTable, console

    rows: list[list[str | Cell]] = []
    for c in found:
        name = c.snapshot_class.removeprefix("org.apache.flink.")
        if c.column is None:
            rows.append([name, Cell("raw bytes", c.reason), ""])
        else:
            rows.append([name, c.column, "yes" if c.kernel else "no"])
    if rows:
        console().show(TextTable(["snapshot class", "column", "kernel"], rows, names=["snapshot class"], keys=1))
    else:
        click.echo(f"No serializer or type has {' or '.join(map(repr, words))} in it.")


def _suggest(path: str, format_: str, options: dict[str, Any]) -> None:
    from dataclasses import asdict

    found = opened(path, options).suggested_types()
    if format_ == "json":
        click.echo(json.dumps([asdict(s) for s in found], indent=1))
        return
    click.echo("# Types of PyFlink's state, guessed from the first rows. Correct those that the job has otherwise.")
    click.echo("[types]")
    for s in found:
        click.echo(printable(_line(s)))


def _line(s: Suggestion) -> str:
    """A line of a job file; a comment where nothing need be set, or nothing is known."""
    location = json.dumps(f"{s.operator}/{s.state}/{s.path}", ensure_ascii=False)
    if s.certain:
        return f'# {location} = "{s.type}"  # recognised, need not be set'
    if s.sizes is None:
        return f'# {location} = "element(…)"  # no rows'
    least, most = s.sizes
    size = pluralize(most, "byte") if least == most else f"{least:,} to {pluralize(most, 'byte')}"
    if s.type is None:
        return f'# {location} = "element(…)"  # {size}: set the type that the job has, such as element(row<int64, string>)'
    return f'{location} = "{s.type}"  # {size}' + (f"; or {', '.join(s.others)}" if s.others else "")


def _has(text: str, word: str) -> bool:
    return word.lower() in text.lower()
