"""``stateextract types``: which column every serializer of Flink becomes; the first table of ``docs/types.md``."""

from __future__ import annotations

import json

import click

from stateextract.cli.options import format_option


@click.command()
@click.argument("words", nargs=-1, metavar="[WORD]...")
@format_option
def types(words: tuple[str, ...], format_: str) -> None:
    """List Flink's serializers with the column type that their values become.

    With words only those whose class or type has one of them, in any case. What is nested in a serializer is shown with
    samples: strings, then longs, ints, booleans. In the text, class names lack the prefix org.apache.flink.
    """
    from dataclasses import asdict

    from serializers.type_table import serializer_columns

    found = [
        c for c in serializer_columns() if not words or any(_has(f"{c.snapshot_class} {c.column}", w) for w in words)
    ]
    if format_ == "json":
        click.echo(json.dumps([asdict(c) for c in found], indent=1))
        return
    from stateextract.cli.screen import Cell, Table, console

    rows: list[list[str | Cell]] = []
    for c in found:
        name = c.snapshot_class.removeprefix("org.apache.flink.")
        if c.column is None:
            rows.append([name, Cell("raw bytes", c.reason), ""])
        else:
            rows.append([name, c.column, "yes" if c.kernel else "no"])
    if rows:
        console().show(Table(["snapshot class", "column", "kernel"], rows, names=["snapshot class"], keys=1))
    else:
        click.echo(f"No serializer or type has {' or '.join(map(repr, words))} in it.")


def _has(text: str, word: str) -> bool:
    return word.lower() in text.lower()


__all__ = ["types"]
