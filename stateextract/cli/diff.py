"""``stateextract diff``: what was added, removed and changed between two snapshots."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from stateextract.cli.common_options import complain, format_option, workers_option
from stateextract.cli.completed_names import operator_names, state_names
from stateextract.cli.selection import config_option, job_options, read_options
from stateextract.columnar.arrow.without_pandas import without_pandas
from stateextract.ending import printing_about_a_result
from stateextract.errors import StateExtractError
from stateextract.options import UsedBy
from stateextract.outcome import ExitCode
from stateextract.printable import json_document, named, pluralize, sentence

if TYPE_CHECKING:
    from stateextract.diff.diff_plan import DiffState
    from stateextract.diff.diff_run import DiffResult
    from stateextract.diff.summary import DiffCounts

_FIELDS = 6  # that are named in the table


@click.command()
@click.argument("before")
@click.argument("after")
@click.option(
    "--operator", metavar="UID|NAME|ID", multiple=True, shell_complete=operator_names,
    help="Compare this operator only; repeat for several.",
)  # fmt: skip
@click.option(
    "--state", metavar="NAME", multiple=True, shell_complete=state_names,
    help="Compare this state only; repeat for several. timers: all timers.",
)  # fmt: skip
@click.option(
    "--before-checkpoint", metavar="N", type=click.IntRange(min=1),
    help="ID of the earlier snapshot, if the path BEFORE contains several.",
)  # fmt: skip
@click.option(
    "--after-checkpoint", metavar="N", type=click.IntRange(min=1),
    help="ID of the later snapshot, if the path AFTER contains several.",
)  # fmt: skip
@click.option("-o", "--output", metavar="DIRECTORY", help="Write the changes there, one Parquet dataset per state.")
@workers_option
@click.option(
    "--last-access", is_flag=True, help="Of states with a time to live, count a mere change of the last access."
)
@click.option(
    "--common-fields", is_flag=True,
    help="Fields that only one of the snapshots has do not count. Without it they are null in the other one.",
)  # fmt: skip
@click.option(
    "--full", is_flag=True,
    help="Compare all rows. Without it, of RocksDB and ForSt only those in files that the snapshots do not share.",
)  # fmt: skip
@click.option("--exit-code", is_flag=True, help=f"Exit with {ExitCode.DIFFERENT} where something differs.")
@config_option
@job_options(UsedBy.DIFF)
@format_option
def diff(
    before: str,
    after: str,
    before_checkpoint: int | None,
    after_checkpoint: int | None,
    output: str | None,
    workers: int | None,
    last_access: bool,
    common_fields: bool,
    full: bool,
    exit_code: bool,
    format_: str,
    **given: Any,
) -> int:
    """Compare the snapshots at BEFORE and AFTER, row by row.

    They may be of any kind, parallelism and schema. Keyed state is compared by key and namespace, the elements of operator
    state by what they are, timers as a set. With --output the changes become Parquet datasets, and nothing is visible there
    before the end. Exit code 3: not everything could be compared;
    1: nothing could be.
    """
    without_pandas()
    from stateextract.cli.progress import Meter, counted
    from stateextract.diff.diff_plan import DiffOptions
    from stateextract.diff.diff_run import TaskReport, run_diff
    from stateextract.job.execute import on_this_machine

    later = replace(read_options(after, given), output=output or "", checkpoint=after_checkpoint or 0)
    earlier = replace(later, snapshot=before, checkpoint=before_checkpoint or 0)

    def rows(report: bytes) -> int:
        return sum(c.before + c.after for c in TaskReport.from_bytes(report).counts.values())

    with Meter("diff") as meter:
        options = DiffOptions(last_access, common_fields, later.memory_bytes, full)
        execute = counted(meter, on_this_machine(workers), rows)
        try:
            result = run_diff(earlier, later, options, execute, output, meter.headers)
        except StateExtractError as error:
            # Raw bytes are not compared.
            error.advice = error.advice and error.advice.replace("--on-undecodable to skip or raw", "--on-undecodable to skip")
            raise
    code = ExitCode.COMPLETE if result.complete else ExitCode.INCOMPLETE if result.compared else ExitCode.FAILED
    if exit_code and result.differs:
        code = ExitCode.DIFFERENT
    with printing_about_a_result(complain, output is not None):
        if format_ == "json":
            click.echo(json_document({**result.document(), "output": output, "exit_code": code}, indent=1))
        else:
            show(result, output)
    return code


def show(result: DiffResult, output: str | None) -> None:
    """Print the summary."""
    from stateextract.cli.printing import Cell, TextTable, console

    screen = console()
    names = ["operator", "state", "kind", "before", "after", "added", "removed", "changed", "changed fields"]
    rows: list[list[str | Cell]] = []
    for state in result.plan.states:
        counts = result.counts[state.number]
        numbers = ["-"] * 5
        if state.how is not None:
            found = (counts.before, counts.after, counts.added, counts.removed, counts.changed)
            numbers = [f"{number:,}" for number in found]
            if state.incremental:  # the rows of the snapshots are not counted
                numbers[:2] = ["-", "-"]
        rows.append([Cell(state.label, of=state.operator_id), state.name, state.kind, *numbers, _fields(counts)])
    screen.show(TextTable(names, rows, names[3:8]))
    lines = [line for state in result.plan.states for line in _lines(state, result.counts[state.number])]
    lines += _ways(result)
    lines += _not_compared(result)
    lines += [f"{named(pair.operator)}: not compared: coordinator state; {pair.outcome}." for pair in result.plan.coordinators]
    for line in lines:
        screen.say(line)
    if not result.differs:
        everything = result.complete and all(pair.equal for pair in result.plan.coordinators)
        nothing = not result.compared and not result.complete
        partly = "Nothing could be compared." if nothing else "No difference in what could be compared."
        screen.print("No difference." if everything else partly)
    if result.manifest is not None:
        mine = [d for d in result.manifest.datasets if d.job == result.manifest.job]
        total = sum(dataset.rows for dataset in mine)
        screen.say(f"Wrote {pluralize(total, 'change')} in {pluralize(len(mine), 'dataset')} to {output}.")


def _fields(counts: DiffCounts) -> str:
    """The fields that changed most."""
    ordered = sorted(counts.fields.items(), key=lambda item: (-item[1], item[0]))
    more = f", {len(ordered) - _FIELDS} more" if len(ordered) > _FIELDS else ""
    return ", ".join(f"{path} {count:,}" for path, count in ordered[:_FIELDS]) + more


def _lines(state: DiffState, counts: DiffCounts) -> Iterator[str]:
    """What a person should know of a state."""
    where = f"{named(state.label)} / {named(state.name)}: "
    if state.presence in ("new", "gone"):
        yield f"{where}{state.presence}: only the {'later' if state.presence == 'new' else 'earlier'} snapshot has it."
    if state.schema_changes:
        yield f"{where}schema: {'; '.join(map(str, state.schema_changes))}."
    for path, entries in counts.entries.items():
        found = {"added": entries.added, "removed": entries.removed, "changed": entries.changed}
        parts = [f"{count:,} {change}" for change, count in found.items() if count]
        if parts:
            yield f"{where}{path}: entries of maps that differ: {', '.join(parts)}."
    for remark in counts.remarks:
        yield sentence(f"{where}{remark}")
    for name, count in counts.adjusted.items():
        changes = {"sub_microsecond": "compared without digits below the microsecond", "out_of_range": "compared as null"}
        yield f"{where}{pluralize(count, 'time')} {changes[name]}."


def _ways(result: DiffResult) -> Iterator[str]:
    """How many states were compared incrementally, and why others were not, in one line for each cause."""
    compared = [state for state in result.plan.states if state.how is not None]
    incremental = [state for state in compared if state.incremental]
    if incremental:
        read, size = round(result.bytes_read / 1e6, 1), round(result.plan.context.size / 1e6, 1)
        yield (
            f"Compared {len(incremental)} of {pluralize(len(compared), 'state')} by the files that the snapshots do not share: "
            f"read {read:,} MB of {size:,} MB. Their rows are not counted; set --full to compare all rows."
        )
    reasons: dict[str, list[str]] = {}
    for state in compared:
        if state.full_reason is not None and state.reason_reported:
            reasons.setdefault(state.full_reason, []).append(f"{named(state.label)} / {named(state.name)}")
    for reason, found in reasons.items():
        what = found[0] if len(found) == 1 else f"{pluralize(len(found), 'state')} ({abbreviate(found)})"
        yield sentence(f"{what}: compared in full: {reason}")


def _not_compared(result: DiffResult) -> Iterator[str]:
    """The states that are not compared, in one line for each cause."""
    from stateextract.state.causes import causes_once

    unread = [(f"{named(operator)} / {named(what)}", reason) for operator, what, reason in result.plan.unread]
    for state in result.plan.states:
        where, counts = f"{named(state.label)} / {named(state.name)}", result.counts[state.number]
        if state.reason is not None:
            unread.append((where, state.reason))
        elif counts.left_out:
            groups = [group for group in counts.left_out if group >= 0]
            part = f" in {pluralize(len(groups), 'key group')} ({abbreviate(groups)})" if groups else ""
            unread.append((f"{where}{part}", "; ".join(counts.reasons)))
    causes = causes_once((number, [reason]) for number, (_, reason) in enumerate(unread))
    locations: dict[str, list[str]] = {}
    for number, (where, reason) in enumerate(unread):
        locations.setdefault(causes.get(number, reason), []).append(where)
    for reason, found in locations.items():
        what = found[0] if len(found) == 1 else f"{pluralize(len(found), 'state')} ({abbreviate(found)})"
        yield sentence(f"{what}: not compared: {reason}")


def abbreviate(names: Sequence[object]) -> str:
    return ", ".join(map(str, names[:10])) + (", …" if len(names) > 10 else "")
