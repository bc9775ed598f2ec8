"""``stateextract report``: statistics as one HTML page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from stateextract.cli.common_options import complain, debug_option
from stateextract.cli.selection import read_options, snapshot_options
from stateextract.cli.stats import make_statistics_options, measured, read_text, statistics_flags, write_text
from stateextract.ending import printing_about_a_result
from stateextract.errors import UsageError
from stateextract.options import UsedBy
from stateextract.outcome import ExitCode, exit_code

if TYPE_CHECKING:
    from stateextract.audit.document import Statistics
    from stateextract.audit.history.history_files import Recorded


@click.command()
@snapshot_options(UsedBy.STATISTICS | UsedBy.SELECTION, required=False)
@statistics_flags
@click.option(
    "--from", "documents", metavar="FILE|DIR", multiple=True,
    help="What stateextract history or stats wrote: a dataset, one of its files, a JSON document, a folder of such; repeat for "
    "several.",
)  # fmt: skip
@click.option("--title", metavar="TEXT", help="Title of the page. Default: kind and id of the snapshot.")
@click.option("-o", "--output", metavar="FILE", required=True, help="The page to write, as report.html.")
@debug_option
def report(
    path: str | None, as_of: str | None, ttls: tuple[str, ...], top: int, workers: int | None,
    documents: tuple[str, ...], title: str | None, output: str, **options: Any,
) -> ExitCode:  # fmt: skip
    """Write sizes, skew, columns, ages and coverage of the snapshot at PATH as one HTML page that needs nothing else.

    Every row is read once, as stats does; of snapshots whose statistics history or stats wrote (--from) nothing is read
    again. Of several snapshots the newest is shown, and how states grew.
    """
    from stateextract.printable import pluralize
    from stateextract.report.page import report_page
    from stateextract.report.page_data import snapshots_of

    shown: list[Statistics | Recorded] = [one for name in documents for one in _documents(name)]
    code = ExitCode.COMPLETE
    if path is not None:
        document = measured(read_options(path, options), make_statistics_options(as_of, ttls, top), workers)
        shown.append(document)
        code = exit_code(state.status for _, state in document.states)
    if not shown:
        raise UsageError("there is nothing to report", advice="give the PATH of a snapshot, or --from FILE")
    write_text(output, report_page(shown, title), *(one.snapshot.path for one in shown))
    snapshots = snapshots_of(shown)
    totals = snapshots[-1].totals
    growth = f", and their growth over {len(snapshots)} snapshots" if len(snapshots) > 1 else ""
    with printing_about_a_result(complain):
        click.echo(f"Wrote {output}: {pluralize(totals.states, 'state')} of {pluralize(totals.operators, 'operator')}{growth}.")
    return code


def _documents(name: str) -> Iterator[Statistics | Recorded]:
    """Those in a file, or in the files of a folder; of a history only what shows how states grew.

    :raises UsageError: where there is none.
    """
    from stateextract.audit.document import Statistics
    from stateextract.audit.history.history_files import read_history

    path = Path(name)
    files = [path]
    if path.is_dir() or path.suffix == ".parquet" or ("://" in name and not name.endswith(".json")):
        recorded = read_history(name)
        yield from recorded
        files = sorted(path.glob("*.json"))
        if not recorded and not files:
            raise UsageError(f"--from {name} contains no file that ends in .json or .parquet")
    for file in files:
        try:
            yield Statistics.from_json(read_text(str(file), "--from"))
        except UsageError as error:
            raise error.at(file=str(file)) from error
