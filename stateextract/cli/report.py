"""``stateextract report``: statistics as one HTML page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from stateextract.cli.options import debug_option
from stateextract.cli.reading import read_options, snapshot_options
from stateextract.cli.stats import ROWS, measured, question, question_options, text_of, written
from stateextract.errors import UsageError

if TYPE_CHECKING:
    from stateextract.audit.document import Statistics


@click.command()
@snapshot_options(*ROWS, required=False)
@question_options
@click.option(
    "--from", "documents", metavar="FILE", multiple=True,
    help="A statistics document that stateextract stats wrote, or a folder of such; repeat for several.",
)  # fmt: skip
@click.option("--title", metavar="TEXT", help="What stands at the top. Default: which snapshot it is.")
@click.option("-o", "--to", metavar="FILE", required=True, help="The page to write, as report.html.")
@debug_option
def report(
    path: str | None, as_of: str | None, ttls: tuple[str, ...], top: int, uids: str | None, workers: int | None,
    documents: tuple[str, ...], title: str | None, to: str, **options: Any,
) -> None:  # fmt: skip
    """Write sizes, skew, columns, ages and coverage of the snapshot at PATH as one HTML page that needs nothing else.

    Every row is read once, as stats does; of documents made by stats (--from) nothing is read again. Of several snapshots
    the newest is shown, and how states grew.
    """
    from stateextract.cli.sizes import many
    from stateextract.report.model import in_order
    from stateextract.report.page import report_page

    shown = [document for name in documents for document in _documents(name)]
    if path is not None:
        shown.append(measured(read_options(path, options), question(as_of, ttls, top, uids), workers))
    if not shown:
        raise UsageError("there is nothing to report", advice="say the PATH of a snapshot, or --from FILE")
    written(Path(to), report_page(shown, title))
    totals = in_order(shown)[-1].totals
    growth = f", and their growth over {len(shown)} snapshots" if len(shown) > 1 else ""
    click.echo(f"Wrote {to}: {many(totals.states, 'state')} of {many(totals.operators, 'operator')}{growth}.")


def _documents(name: str) -> list[Statistics]:
    """Those in a file, or in the JSON files of a folder.

    :raises UsageError: where there is none.
    """
    from stateextract.audit.document import Statistics

    files = sorted(Path(name).glob("*.json")) if Path(name).is_dir() else [Path(name)]
    if not files:
        raise UsageError(f"--from {name} holds no file that ends in .json")
    made = []
    for file in files:
        try:
            made.append(Statistics.from_json(text_of(str(file), "--from")))
        except UsageError as error:
            raise error.at(file=str(file)) from error
    return made


__all__ = ["report"]
