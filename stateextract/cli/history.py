"""``stateextract history``: the statistics of several snapshots as one dataset, and how states grew."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from stateextract.cli.common_options import complain, format_option
from stateextract.cli.selection import config_option, job_options, read_options
from stateextract.cli.stats import make_statistics_options, measured, statistics_flags
from stateextract.ending import printing_about_a_result
from stateextract.options import UsedBy
from stateextract.outcome import ExitCode, exit_code
from stateextract.printable import json_document

if TYPE_CHECKING:
    from stateextract.audit.history.growth import MeasureChange, Series
    from stateextract.audit.history.history_files import Recorded
    from stateextract.files.filesystem import Store
    from stateextract.options import JobOptions


@click.command()
@click.argument("paths", nargs=-1, required=True)
@config_option
@job_options(UsedBy.STATISTICS | UsedBy.SELECTION)
@statistics_flags
@click.option(
    "-o", "--output", metavar="DIR", required=True,
    help="The folder of the dataset: a Parquet file for each snapshot is added, or replaced.",
)  # fmt: skip
@click.option("--skip-existing", is_flag=True, help="Do not read snapshots again that the dataset has already.")
@format_option
def history(
    paths: tuple[str, ...], as_of: str | None, ttls: tuple[str, ...], top: int, workers: int | None,
    output: str, skip_existing: bool, format_: str, **options: Any,
) -> ExitCode:  # fmt: skip
    """Add the statistics of the snapshots at PATHS to a Parquet dataset, and show how states grew over all that it has.

    A directory of several snapshots selects all of them. Every row of them is read once, as stats does; of
    snapshots that are in the dataset already nothing is. One that cannot be read does not keep the others from being added.
    """
    from stateextract.audit.history import identity, in_order
    from stateextract.audit.history.history_files import read_history, write_snapshot
    from stateextract.errors import StateExtractError, UsageError
    from stateextract.snapshot.stores import open_store

    statistics_options, job = make_statistics_options(as_of, ttls, top), read_options(paths[0], options)
    # Before anything is read, since that takes long: a folder with something else in it is an error.
    if output.endswith(".parquet"):
        raise UsageError(f"--output {output} is a file", expected="the folder of the dataset")
    known = {identity(one.snapshot): one for one in read_history(output)}
    store, added = open_store(job), 0
    failed: list[StateExtractError] = []
    statuses: list[str] = []
    snapshots: list[str] = []
    for given in paths:
        try:
            snapshots += [given] if job.checkpoint or job.job else _snapshots(given, store)
        except StateExtractError as error:
            failed.append(error.at(file=given))
    for path in snapshots:
        try:
            if skip_existing and _identity(path, store, job) in known:
                continue
            document = measured(replace(job, snapshot=path), statistics_options, workers)
        except StateExtractError as error:
            # Such as a checkpoint that Flink has deleted meanwhile: the others are there all the same.
            failed.append(error.at(file=path))
            continue
        statuses += [state.status for _, state in document.states]
        name = write_snapshot(output, document)
        # As it is in the dataset, so that the document, which may be large, need not be kept.
        (known[identity(document.snapshot)],) = read_history(f"{output.rstrip('/')}/{name}")
        added += 1
    recorded = in_order(known.values())
    prints = bool(recorded) or not failed
    with printing_about_a_result(complain):
        if prints and format_ == "json":
            from stateextract.audit.history.growth import growth_as_dict

            document_of = growth_as_dict([(one.snapshot, one.totals) for one in recorded], _series(recorded))
            click.echo(json_document(document_of, indent=1, ensure_ascii=False))
        elif prints:
            _show(recorded, added, output)
    for one in failed:
        complain(f"Error: {one}")
    if failed and not statuses:
        return ExitCode(failed[0].exit_code)
    return exit_code([*statuses, *(one.status for one in failed)])


def _snapshots(path: str, store: Store) -> list[str]:
    """The snapshots of a folder with several; else the path."""
    from stateextract.files.filesystem import join
    from stateextract.ha import ZOOKEEPER
    from stateextract.metadata.locate import METADATA

    if path.startswith(ZOOKEEPER):
        return [path]
    entry = store.info(path)
    if entry is None or not entry.is_dir:
        return [path]
    entries = store.list(path)
    if any(one.name == METADATA for one in entries):
        return [path]
    inside = [(one.uri, store.info(join(one.uri, METADATA))) for one in entries if one.is_dir]
    # An empty one is being written.
    found = [uri for uri, metadata in inside if metadata is not None and metadata.size]
    return found if len(found) > 1 else [path]


def _identity(path: str, store: Store, job: JobOptions) -> str:
    from stateextract.metadata.file import read_bytes
    from stateextract.snapshot.choose import choose_snapshot

    found = choose_snapshot(replace(job, snapshot=path), store)
    return hashlib.sha256(read_bytes(store, found.metadata_uri)).hexdigest()


def _series(recorded: Sequence[Recorded]) -> list[Series]:
    from stateextract.audit.history.growth import series_of

    return series_of([one.rows for one in recorded])


# ---- for people

_COLUMNS = ["operator", "state", "rows first", "last", "change", "decoded first", "last", "change", ""]
_SPLIT = ["operator", "state", "change", "more keys", "more entries per key", "larger values", "older rows"]


def _show(recorded: Sequence[Recorded], added: int, output: str) -> None:
    from stateextract.audit.history import order_note, times_note
    from stateextract.audit.history.growth import by_growth, total_change
    from stateextract.cli.printing import Cell, TextTable, console
    from stateextract.printable import pluralize, sentence

    out = console()
    series = _series(recorded)
    cells: list[list[str | Cell]] = [
        [Cell(one.operator, of=one.operator_id), one.state or f"({one.kind})",
         *_cells(one.change("rows"), signed_number), *_cells(one.change("decoded_bytes"), signed_size),
         "gone" if one.gone else "new" if one.new else ""]
        for one in by_growth(series)
    ]  # fmt: skip
    if recorded:
        sums = [
            _cells(total_change(measure, [one.totals for one in recorded], series), text)
            for measure, text in (("rows", signed_number), ("decoded_bytes", signed_size))
        ]
        cells.append(["all", "", *(cell for of_measure in sums for cell in of_measure), ""])
        out.show(TextTable(_COLUMNS, cells, _COLUMNS[2:8]))
        out.print()
        causes = [(one, one.split) for one in by_growth(series)]
        split: list[list[str | Cell]] = [
            [Cell(one.operator, of=one.operator_id), one.state or f"({one.kind})",
             *(signed_size(size, True) for size in (sum(vars(of).values()), *vars(of).values()))]
            for one, of in causes if of is not None and any(vars(of).values())
        ]  # fmt: skip
        if split:
            out.print("Why the decoded bytes changed", style="bold")
            out.show(TextTable(_SPLIT, split, _SPLIT[2:]))
            out.print()
        ends = " to ".join(
            dict.fromkeys(f"checkpoint {one.snapshot.checkpoint_id}" for one in (recorded[0], recorded[-1]))
        )
        has = f"{output} has {pluralize(len(recorded), 'snapshot')}, {ends}; {added or 'none'} of them written now."
        out.say(has)
        for note in (order_note(recorded), times_note(recorded)):
            if note:
                out.say(sentence(f"Note: {note}"), markup=True)


def _cells(change: MeasureChange, text: Any) -> list[str]:
    return [
        "" if change.first is None else text(change.first),
        "" if change.last is None else text(change.last),
        "" if change.change is None else text(change.change, True),
    ]


def signed_number(value: int, signed: bool = False) -> str:
    """A number for people; with a sign if it is a change."""
    return f"{value:+,}" if signed and value else f"{value:,}"


def signed_size(value: int, signed: bool = False) -> str:
    """A number of bytes for people; with a sign if it is a change."""
    from stateextract.cli.sizes import text_size

    sign = "-" if value < 0 else "+" if value and signed else ""
    return f"{sign}{text_size(abs(value))}"
