"""``stateextract checkpoints``: the snapshots of jobs, and which of them Flink would restore from."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from stateextract.cli.common_options import rows_format_option
from stateextract.cli.selection import config_option, job_options, read_options
from stateextract.options import UsedBy
from stateextract.outcome import ExitCode, Status, exit_code

if TYPE_CHECKING:
    from stateextract.snapshot.checkpoint_list import Listing, SnapshotRow
    from stateextract.snapshot.high_availability import HeldCheckpoint, JobAnswer


@click.command()
@click.argument("path")
@config_option
@job_options(UsedBy.LISTING)
@rows_format_option
def checkpoints(path: str, format_: str, **options: Any) -> ExitCode:
    """List the checkpoints and savepoints at PATH: when, of which job, how large, complete or not, and what they share.

    PATH is the checkpoint directory of a job or of many, or a directory of savepoints. It may also be high-availability data:
    ConfigMaps as kubectl prints them (JSON or YAML), a dump of ZooKeeper's nodes (JSON), zk://host:2181/flink/cluster, a
    completedCheckpoint file, or the directory of such files. Then the command reports which checkpoint Flink would restore each
    job from. With - it reads ConfigMaps or nodes from standard input; --path-map and --allow-store name the places of their
    files.
    """
    from stateextract.snapshot.checkpoint_list import SCHEMA, snapshots_of
    from stateextract.snapshot.high_availability import MOST_DUMP_BYTES

    data = sys.stdin.buffer.read(MOST_DUMP_BYTES + 1) if path == "-" else None
    listing = snapshots_of(read_options(path, options), data=data)
    if format_ == "text":
        _show(listing, path)
    else:
        from stateextract.cli.row_tables import print_document

        rows = [_plain(row) for row in listing.snapshots]
        document = {"path": listing.path, "source": listing.source, "jobs": list(map(_job, listing.jobs)), "snapshots": rows}
        print_document(document, rows, format_, SCHEMA.names)
    return _code(listing)


def _code(listing: Listing) -> ExitCode:
    """Exit code 1 where Flink would not start a job; else what follows from the snapshots."""
    from stateextract.snapshot.high_availability import RestoreOutcome

    if any(job.outcome is RestoreOutcome.FAILS for job in listing.jobs):
        return exit_code([Status.UNREADABLE])
    return exit_code(row.status.counts_as for row in listing.snapshots)


def _plain(row: SnapshotRow) -> dict[str, Any]:
    values = row.as_dict()
    for name in ("triggered_at", "completed_at"):
        values[name] = values[name] and values[name].isoformat(timespec="milliseconds")
    return values


def _job(job: JobAnswer) -> dict[str, Any]:
    latest = job.latest
    return {
        "job_id": job.job_id,
        "location": job.location,
        "outcome": str(job.outcome),
        "is_guess": job.is_guess,
        "restores_checkpoint": None if latest is None else latest.checkpoint_id,
        "restores_metadata_path": None if latest is None else latest.metadata_uri,
        "answer": job.sentence,
        "checkpoints": [_held(held) for held in job.checkpoints],
        "skipped": [
            {"store_entry": entry.name, "checkpoint_id": entry.checkpoint_id, "reason": entry.skipped}
            for entry in job.skipped
        ],
        "notes": job.notes,
    }


def _held(held: HeldCheckpoint) -> dict[str, Any]:
    completed = held.completed
    return {
        "store_entry": held.entry.name,
        "checkpoint_id": held.checkpoint_id,
        "file": held.file,
        "external_pointer": None if completed is None else completed.external_pointer,
        "stored_metadata_path": None if completed is None else completed.metadata_uri,
        "metadata_path": held.metadata_uri,
        "snapshot_kind": None if completed is None else completed.properties.kind,
        "unclaimed": None if completed is None else completed.unclaimed,
        "problem": None if held.problem is None else str(held.problem),
    }


# ---- for people


def _show(listing: Listing, path: str) -> None:
    from stateextract.cli.printing import Cell, TextTable, console
    from stateextract.cli.sizes import text_size
    from stateextract.printable import pluralize

    out = console()
    columns = [
        "job", "checkpoint", "restore", "kind", "completed", "status", "files", "own", "shared", "shares files with",
        "directory",
    ]  # fmt: skip
    cells = [
        [
            Cell(row.job_id or "(not known)"),
            "" if row.checkpoint_id is None else str(row.checkpoint_id),
            "" if row.restore_order is None else f"{row.restore_order}.",
            _kind(row),
            _when(row),
            Cell(str(row.status), row.reason) if row.reason else str(row.status),
            "" if row.file_count is None else str(row.file_count),
            "" if row.own_size_in_bytes is None else text_size(row.own_size_in_bytes),
            "" if row.shared_size_in_bytes is None else text_size(row.shared_size_in_bytes),
            ", ".join(map(str, row.shares_files_with or ())),
            _below(row.path, listing.path) or row.store_entry or "",
        ]
        for row in listing.snapshots
    ]
    out.show(TextTable(columns, cells, ["checkpoint", "files", "own", "shared"], names=["directory"], keys=2))
    sizes = {stream: size for row in listing.snapshots for stream, size in row.streams.items()}
    shown = listing.path if path == "-" else path
    out.say(f"\n{pluralize(len(listing.snapshots), 'snapshot')}, {text_size(sum(sizes.values()))}, in {shown}")
    for job in listing.jobs:
        out.say(f"{job.sentence}.")
        for note in job.notes:
            out.say(f"Note: {note}.")


def _kind(row: SnapshotRow) -> str:
    words = [row.snapshot_format, row.snapshot_kind]
    if row.is_incremental and row.snapshot_kind == "checkpoint":
        words[0] = "incremental"
    return " ".join(filter(None, words))


def _when(row: SnapshotRow) -> str:
    time = row.as_dict()["completed_at"]
    return "" if time is None else time.strftime("%Y-%m-%d %H:%M:%S")


def _below(path: str | None, location: str) -> str:
    """A path, relative to the place that was listed: a folder, or the folder of a file."""
    for folder in (location.rstrip("/"), location.rpartition("/")[0]):
        if folder and path is not None and path.startswith(f"{folder}/"):
            return path.removeprefix(f"{folder}/")
    return path or ""
