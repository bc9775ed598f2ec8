"""``stateextract stats``: the statistics of a snapshot's states. What they mean is in ``docs/statistics.md``."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from stateextract.audit.durations import moment, times_to_live
from stateextract.cli.common_options import complain, format_option, workers_option
from stateextract.cli.progress import Meter, counted
from stateextract.cli.selection import read_options, snapshot_options
from stateextract.ending import printing_about_a_result
from stateextract.errors import OutputError, UsageError
from stateextract.options import UsedBy
from stateextract.outcome import ExitCode, exit_code

if TYPE_CHECKING:
    from stateextract.audit.document import Statistics
    from stateextract.audit.statistics import StatisticsOptions
    from stateextract.options import JobOptions

F = TypeVar("F", bound=Callable[..., Any])

_QUESTION = (
    click.option(
        "--as-of", metavar="TIME", help="The time that ages are counted to. Default: the time of the file _metadata."
    ),
    click.option(
        "--ttl", "ttls", metavar="[[OPERATOR/]STATE=]DURATION", multiple=True,
        help="A time to live, as 30d or 12h: how many would be expired. Of all states or of one; repeat for several.",
    ),
    click.option(
        "--top", metavar="N", type=click.IntRange(min=0), default=10, show_default=True,
        help="How many owners of each operator, and biggest keys and values of each state, to list.",
    ),
    workers_option,
)  # fmt: skip


def statistics_flags(command: F) -> F:
    """What :func:`make_statistics_options` and :func:`measured` take."""
    for option in reversed(_QUESTION):
        command = option(command)
    return command


@click.command()
@snapshot_options(UsedBy.STATISTICS | UsedBy.SELECTION)
@statistics_flags
@click.option("-o", "--output", metavar="FILE", help="Write the JSON document there too.")
@format_option
def stats(
    path: str, as_of: str | None, ttls: tuple[str, ...], top: int, workers: int | None, output: str | None,
    format_: str, **options: Any,
) -> ExitCode:  # fmt: skip
    """Show rows, keys, bytes, skew, columns, ages and the biggest keys of the states of the snapshot at PATH, and
    which keys and windows own most.

    Every row is read once. --operator and --state choose. With --plan or --uids, operators whose state no operator of
    the job owns are named.
    """
    from stateextract.cli.stats_text import show

    document = measured(read_options(path, options), make_statistics_options(as_of, ttls, top), workers)
    if output is not None:
        write_text(output, document.to_json() + "\n", document.snapshot.path)
    with printing_about_a_result(complain, output is not None):
        if format_ == "json":
            click.echo(document.to_json())
        else:
            show(document, detailed=bool(options["state"]))
    return exit_code(state.status for _, state in document.states)


def make_statistics_options(as_of: str | None, ttls: Iterable[str], top: int) -> StatisticsOptions:
    """What the options ask.

    :raises UsageError: for one that cannot be right.
    """
    from stateextract.audit.statistics import StatisticsOptions

    by_name = times_to_live(ttls, "--ttl")
    return StatisticsOptions(None if as_of is None else moment(as_of, "--as-of"), by_name, top)


def read_text(path: str, option: str) -> str:
    """A file's text.

    :raises UsageError: where it cannot be read.
    """
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{option} {path} cannot be read: {getattr(error, 'strerror', None) or error}") from error


def write_text(output: str, text: str, *snapshots: str) -> None:
    """Write a file, and the directories that it is in. A regular file appears whole, or stays as it was.

    :param snapshots: in whose directories it must not be.
    :raises UsageError: if it is in one of them.
    :raises OutputError: if writing fails.
    """
    from stateextract.job.output import refuse_inside

    for snapshot in snapshots:
        refuse_inside(output, snapshot)
    path = Path(output)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists() and not path.is_file():  # as /dev/stdout
            path.write_text(text, encoding="utf-8")
            return
        target = path.resolve()
        made = target.with_name(f".{target.name[:100]}-{os.getpid()}.tmp")
        try:
            made.write_text(text, encoding="utf-8")
            if target.exists():
                shutil.copymode(target, made)
            made.replace(target)
        finally:
            made.unlink(missing_ok=True)
    except OSError as error:
        raise OutputError(f"it cannot be written: {error.strerror}", file=str(path)) from error


def measured(options: JobOptions, statistics_options: StatisticsOptions, workers: int | None = None) -> Statistics:
    """The statistics, with a bar where that takes long.

    :raises StateExtractError: where the snapshot cannot be read.
    """
    from stateextract.audit.statistics import statistics
    from stateextract.columnar.arrow.without_pandas import without_pandas
    from stateextract.job.execute import on_this_machine

    without_pandas()
    with Meter("stats") as meter:
        return statistics(options, statistics_options, counted(meter, on_this_machine(workers)), on_headers=meter.headers)
