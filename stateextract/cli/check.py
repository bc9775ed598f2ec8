"""``stateextract check``: whether Flink would restore a snapshot into another job. ``docs/restore.md`` has the rules."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import click

from stateextract.cli.common_options import complain, rows_format_option
from stateextract.cli.selection import config_option, job_options, opened
from stateextract.cli.stats import read_text, write_text
from stateextract.ending import printing_about_a_result
from stateextract.options import UsedBy
from stateextract.outcome import ExitCode, Status, Verdict, exit_code_of_check
from stateextract.printable import agreeing, named, pluralize, sentence

if TYPE_CHECKING:
    from stateextract.restore.two_jobs import Report, StateCheck

_REPEATED = ("config", "checkpoint", "job", "path_map", "allow_store", "classpath", "plan")
"""Options of the command that ``extract`` needs too."""
_NOT_READ = (Status.UNSUPPORTED, Status.MISSING, Status.UNREADABLE)
_MOST_STATES = 8
"""Of more states the command extracts whole operators."""
_NAMED = 3
"""How many states a line names."""
_OF_A_JOB = ("classpath", "plan", "uids")
"""Options that describe the job which wrote the snapshot, or here the new one."""


@click.command()
@click.argument("path")
@click.option(
    "--against", metavar="SNAPSHOT",
    help="A snapshot of the new job, taken after it started without state: the most exact input.",
)  # fmt: skip
@click.option(
    "--classpath", "new_classpath", metavar="PATH", multiple=True,
    help="A jar or directory with the new job's classes; repeat for several.",
)  # fmt: skip
@click.option("--plan", "new_plan", metavar="FILE", help="The new job's compiled plan.")
@click.option("--uids", metavar="FILE", help="The uids of all operators of the new job, one a line or as a JSON array.")
@click.option("--flink", metavar="RELEASE", help="The Flink release of the new job, as 2.3. Default: by --against.")
@click.option(
    "--backend", type=click.Choice(["hashmap", "rocksdb"]), help="The state backend of the new job. Default: both."
)
@click.option(
    "--max-parallelism", metavar="N", type=click.IntRange(min=0),
    help="What the new job sets explicitly; 0: it sets none.",
)  # fmt: skip
@click.option("--parallelism", metavar="N", type=click.IntRange(min=1), help="Of the new job. Default: by --against.")
@click.option(
    "--same-job", is_flag=True,
    help="The new job is the old one, on another release (--flink) or with other settings.",
)  # fmt: skip
@click.option(
    "--same-declarations", is_flag=True,
    help="The new job declares the same operators, keys and states: only classes of its data (--classpath) may differ.",
)  # fmt: skip
@click.option(
    "--allow-non-restored-state", "allow_non_restored", is_flag=True,
    help="The new job may drop the state of operators that it no longer has.",
)  # fmt: skip
@click.option(
    "--old-classpath", metavar="PATH", multiple=True,
    help="A jar or directory with the classes of the job that wrote the snapshot; repeat for several.",
)  # fmt: skip
@click.option("--old-plan", metavar="FILE", help="The compiled plan of the job that wrote the snapshot.")
@click.option(
    "--values/--no-values", default=True, show_default=True,
    help="Read values if the headers of files do not decide, and count rows.",
)  # fmt: skip
@click.option("-o", "--output", metavar="FILE", help="Also write the result to this file as an HTML page.")
@config_option
@job_options(UsedBy.OTHERS, _OF_A_JOB)
@rows_format_option
def check(
    path: str,
    against: str | None,
    new_classpath: tuple[str, ...],
    new_plan: str | None,
    uids: str | None,
    flink: str | None,
    backend: Any,
    max_parallelism: int | None,
    parallelism: int | None,
    same_job: bool,
    same_declarations: bool,
    allow_non_restored: bool,
    old_classpath: tuple[str, ...],
    old_plan: str | None,
    values: bool,
    output: str | None,
    format_: str,
    **options: Any,
) -> ExitCode:
    """Check whether Flink would restore the snapshot at PATH into a new job, state by state.

    The new job is described by a snapshot that it took after it started without state (--against), by its classes
    (--classpath), or by its compiled plan and uids. The more you give, the fewer states cannot be known. Exit code 6: a state
    does not restore, or loses data; 3: the result for a state is not known.
    """
    given = {**options, "classpath": old_classpath, "plan": old_plan}
    old = opened(path, given)
    # --checkpoint and --job choose the old snapshot.
    new = None if against is None else opened(against, {**options, "checkpoint": None, "job": None})
    listed = None
    if uids is not None:
        from stateextract.snapshot.uids import parse_uids

        listed = parse_uids(read_text(uids, "--uids"))
    report = old.check(
        new, classpath=new_classpath, plan=new_plan or "", uids=listed, flink=flink or "", backend=backend,
        max_parallelism=max_parallelism, parallelism=parallelism, same_job=same_job,
        same_declarations=same_declarations, allow_non_restored=allow_non_restored, values=values,
    )  # fmt: skip
    code = exit_code_of_check(state.verdict for state in report.states)
    command = _extract_command(path, report, given)
    if output is not None:
        write_text(output, _page(report, old.path, command), old.path)
    with printing_about_a_result(complain, output is not None):
        if format_ != "text":
            from stateextract.cli.row_tables import print_document

            rows = [_row(state) for state in report.states]
            document = {
                "snapshot": old.path, "against": None if new is None else new.path, "verdict": report.verdict,
                "exit_code": code, "assumptions": list(report.assumptions), "extract_command": command, "states": rows,
            }  # fmt: skip
            print_document(document, rows, format_)
        else:
            _show(report, old.path, command)
    return code


def _extractable(report: Report) -> list[StateCheck]:
    """The states that do not restore, or not whole, and that ``extract`` reads."""
    bad = (Verdict.REFUSED, Verdict.LOSES)
    return [s for s in report.states if s.verdict in bad and s.state_name and s.rows and s.status not in _NOT_READ]


def _extract_command(path: str, report: Report, given: dict[str, Any]) -> str | None:
    """The command that writes the rows of these states as Parquet; ``None`` if there are none."""
    states = _extractable(report)
    if not states:
        return None
    words = ["stateextract", "extract", path, "--engine", "local", "--output", "rows"]
    operators = dict.fromkeys(state.operator_uid or state.operator_id for state in states)
    names = dict.fromkeys(state.state_name or "" for state in states) if len(states) <= _MOST_STATES else ()
    chosen = {"operator": operators, "state": names, **{name: given.get(name) for name in _REPEATED}}
    for name, values in chosen.items():
        many = values if isinstance(values, (list, tuple, dict)) else [values] if values else []
        words += [word for value in many for word in (f"--{name.replace('_', '-')}", _text(value))]
    return shlex.join(words)


def _text(value: Any) -> str:
    return "=".join(value) if isinstance(value, tuple) else str(value)


def _row(state: StateCheck) -> dict[str, Any]:
    return {
        "operator_id": state.operator_id,
        "operator_uid": state.operator_uid,
        "operator_name": state.operator_name,
        "operator_label": state.operator_label,
        "state_name": state.state_name,
        "state_scope": state.state_scope,
        "state_kind": state.state_kind,
        "verdict": state.verdict,
        "phase": state.phase,
        "reason": state.reason or None,
        "advice": state.advice or None,
        "row_count": state.rows,
        "size_in_bytes": state.size,
        "status": state.status,
    }


def _show(report: Report, path: str, command: str | None) -> None:
    from stateextract.cli.printing import Cell, TextTable, console
    from stateextract.cli.sizes import text_size

    screen = console()
    rows = [
        [
            Cell(state.operator_label, of=state.operator_id), state.state_name or "", state.state_kind, state.verdict,
            state.phase or "", "" if state.rows is None else f"{state.rows:,}",
            "" if state.size is None else text_size(state.size), state.status or "",
        ]
        for state in report.states
    ]  # fmt: skip
    columns = ["operator", "state", "kind", "verdict", "phase", "rows", "size", "extract"]
    screen.show(TextTable(columns, rows, ["rows", "size"]))
    for line in _lines(report):
        screen.say(line)
    for assumption in report.assumptions:
        screen.say(f"Assumed: {assumption}")
    screen.print()
    screen.say(f"{_summary(report)}: {path}")
    if command is not None:
        states = _extractable(report)
        # Keyed states of one operator are in the same files.
        sizes = {(s.operator_id, s.state_scope == "keyed" or s.state_name): s.size or 0 for s in states}
        number, rows_of = pluralize(len(states), "state"), pluralize(sum(state.rows or 0 for state in states), "row")
        screen.say(f"You can extract {number} with {rows_of} in {text_size(sum(sizes.values()))}:")
        screen.say(f"  {command}")


def _page(report: Report, path: str, command: str | None) -> str:
    from stateextract.cli.sizes import text_size
    from stateextract.report.check_page import CheckRow, check_page

    rows = [
        CheckRow(
            state.operator_label, state.state_name or "", state.state_kind, state.verdict, state.phase or "",
            "" if state.rows is None else f"{state.rows:,}", "" if state.size is None else text_size(state.size),
            state.reason, state.advice,
        )
        for state in report.states
    ]  # fmt: skip
    return check_page("Would it restore?", f"{_summary(report)}: {path}", rows, report.assumptions, command)


def _lines(report: Report) -> Iterator[str]:
    """What was found, once for all states with the same."""
    found: dict[tuple[str, str], list[str]] = {}
    for state in report.states:
        if state.remarks:
            location = named(state.operator_label) + ("" if state.state_name is None else f" / {named(state.state_name)}")
            found.setdefault((state.reason, state.advice), []).append(location)
    for (reason, advice), locations in found.items():
        several = f"{pluralize(len(locations), 'state')} ({', '.join(locations[:_NAMED])}{', …' * (len(locations) > _NAMED)})"
        yield f"{locations[0] if len(locations) == 1 else several}: {sentence(reason)}"
        if advice:
            yield f"  What to do: {sentence(advice)}"


def _summary(report: Report) -> str:
    if report.verdict is Verdict.AS_IS:
        return "The snapshot restores as is"
    number = sum(state.verdict is report.verdict for state in report.states)
    of = f"{number} of {pluralize(len(report.states), 'state')}"
    return {
        Verdict.MIGRATED: f"The snapshot restores; {of} after migration",
        Verdict.LOSES: f"The snapshot restores, but {of} {agreeing(number, 'loses')} or {agreeing(number, 'changes')} data",
        Verdict.REFUSED: f"The snapshot does not restore, because of {of}",
        Verdict.UNKNOWN: f"{of} cannot be known offline",
    }[report.verdict]
