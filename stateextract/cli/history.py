"""``stateextract history``: the figures of several snapshots side by side, and how states grew."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import click

from stateextract.cli.options import output_options
from stateextract.cli.reading import config_option, job_options, read_options
from stateextract.cli.stats import ROWS, measured, question


@click.command()
@click.argument("paths", nargs=-1, required=True)
@config_option
@job_options(("path_map", "codec", "plugins", "kryo", "classpath", "protobuf", *ROWS))
@click.option("-o", "--to", metavar="FILE", required=True, help="The Parquet file that is written.")
@output_options
def history(paths: tuple[str, ...], to: str, output: str, **options: Any) -> None:
    """Write a row for each snapshot, operator and state of the snapshots at PATHS, and show what grew.

    A local folder with several snapshots in it stands for all of them.
    """
    from stateextract.audit.history import growth, write_history

    job = read_options(paths[0], options)
    snapshots = [snapshot for path in paths for snapshot in _snapshots(path)]
    documents = [measured(replace(job, snapshot=path), question(None, (), 10, None)) for path in snapshots]
    table = write_history(documents, to)
    grown = growth(table)
    if output == "json":
        click.echo(json.dumps([asdict(state) for state in grown], indent=1))
        return
    from stateextract.cli.screen import console
    from stateextract.cli.screen import table as text_table
    from stateextract.cli.sizes import text_size

    columns = ["operator", "state", "rows first", "rows last", "decoded first", "decoded last"]
    cells = [
        [g.operator, g.state, *(f"{n:,}" for n in g.rows), *(text_size(n) for n in g.decoded_bytes)] for g in grown
    ]
    out = console()
    out.print(text_table(columns, cells, columns[2:]))
    out.print(f"\nWrote {table.num_rows:,} rows of {len(documents):,} snapshots to {to}.", soft_wrap=True, markup=False)


def _snapshots(path: str) -> list[str]:
    """The snapshots of a local folder with several; else the path."""
    folder = Path(path)
    found = [str(metadata.parent) for metadata in sorted(folder.glob("*/_metadata"))] if folder.is_dir() else []
    return found if len(found) > 1 else [path]


__all__ = ["history"]
