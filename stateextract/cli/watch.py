"""``stateextract watch``: what each checkpoint of a running job has more, or less, than the one before."""

from __future__ import annotations

import contextlib
import os
import shlex
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from stateextract.cli.audit import RuleCheck
from stateextract.cli.common_options import complain, output_format
from stateextract.cli.history import signed_number, signed_size
from stateextract.cli.selection import config_option, job_options, read_options
from stateextract.cli.stats import make_statistics_options, measured, statistics_flags
from stateextract.ending import ending_by_exception
from stateextract.errors import NoAnswerError, SnapshotNotFoundError, StateExtractError, UnreadableFileError, UsageError
from stateextract.options import UsedBy
from stateextract.outcome import ExitCode, exit_code
from stateextract.printable import json_document, named, pluralize

if TYPE_CHECKING:
    from stateextract.audit.document import Statistics
    from stateextract.audit.history.growth import Series
    from stateextract.audit.history.history_files import Recorded
    from stateextract.audit.rules import RuleResult
    from stateextract.files.filesystem import Store
    from stateextract.options import JobOptions
    from stateextract.snapshot.completed import Completed

_GROWERS = 3
"""States in the line of a checkpoint."""


@click.command()
@click.argument("path")
@config_option
@job_options(UsedBy.STATISTICS | UsedBy.SELECTION, without=("checkpoint",))
@statistics_flags
@click.option("--history", metavar="DIR", help="Add the statistics to this dataset, which history and report read.")
@click.option("--rules", metavar="FILE", help="Check these rules, a TOML file, as audit does.")
@click.option(
    "--on-broken", metavar="COMMAND",
    help="With --rules: run this command if a rule does not hold, and go on. Without it, watch ends with exit code 5.",
)  # fmt: skip
@click.option("--all", "all_", is_flag=True, help="Begin with the oldest checkpoint that is there, not with the newest.")
@click.option("--once", is_flag=True, help="Report what is complete now and end; fail if no checkpoint is.")
@click.option("--count", metavar="N", type=click.IntRange(min=1), help="End after N checkpoints.")
@click.option(
    "--interval", metavar="SECONDS", type=click.FloatRange(min=0.05), default=5.0, show_default=True,
    help="How often to look for a new checkpoint.",
)  # fmt: skip
@output_format(["text", "lines"], "How to print: text for people; lines of JSON, one for each checkpoint, for scripts.")
def watch(
    path: str, as_of: str | None, ttls: tuple[str, ...], top: int, workers: int | None, history: str | None,
    rules: str | None, on_broken: str | None, all_: bool, once: bool, count: int | None, interval: float, format_: str,
    **options: Any,
) -> ExitCode:  # fmt: skip
    """Follow a running job: a line for each checkpoint that completes at PATH, and how its states grew.

    PATH is the checkpoint directory of a job, or the one above, in which the job gets a new directory when it is restarted. It
    need not exist yet. Every row of each checkpoint is read once, as stats does. Ctrl+C ends the command.
    """
    job = read_options(path, options)
    check = None
    if rules is not None:
        check = RuleCheck(rules, None)
        job = check.applied(job)
    elif on_broken is not None:
        raise UsageError("--on-broken is given, and there are no rules", advice="give --rules FILE")
    statistics_options = make_statistics_options(as_of, ttls, top)
    if check is not None and not ttls and as_of is None:
        statistics_options = check.statistics_options
    watcher = _Watcher(job, lambda one: measured(one, statistics_options, workers), check, _command(on_broken), history)
    with ending_by_exception(), _TextOutput(is_live=not once) if format_ == "text" else _Lines() as screen:
        for number, step in enumerate(watcher.steps(all_, once, interval), 1):
            screen.show(step)
            watcher.act(step)
            if number == count or (step.broken and on_broken is None):
                break
    return watcher.exit_code


@dataclass(frozen=True)
class _Step:
    """A checkpoint.

    :param now: its statistics; ``None``: it was deleted, or could not be read: see ``problem``.
    :param series: of its states, with those of the checkpoint before; :param since: with those of the first one.
    :param verdicts: of the rules.
    """

    checkpoint: Completed
    now: Statistics | None = None
    series: list[Series] | None = None
    since: list[Series] | None = None
    is_first: bool = True
    verdicts: list[RuleResult] | None = None
    problem: StateExtractError | None = None

    @property
    def broken(self) -> list[RuleResult]:
        """The rules that do not hold."""
        return [verdict for verdict in self.verdicts or () if not verdict.holds]

    def change(self, measure: str) -> int | None:
        """Of all states together, since the checkpoint before."""
        changes = [one.change(measure).change for one in self.series or ()]
        known = [change for change in changes if change is not None]
        return None if self.is_first or len(known) < len(changes) else sum(known)

    def as_dict(self) -> dict[str, Any]:
        """For a line of JSON."""
        found: dict[str, Any] = {
            "job_id": self.checkpoint.job, "checkpoint_id": self.checkpoint.number, "path": self.checkpoint.folder,
            "completed_ms": round(self.checkpoint.time * 1000), "reason": None if self.problem is None else str(self.problem),
        }  # fmt: skip
        if self.now is None or self.series is None:
            return found
        totals = self.now.totals
        for measure in ("rows", "file_bytes", "decoded_bytes"):
            found |= {measure: getattr(totals, measure), f"{measure}_change": self.change(measure)}
        found["states"] = [
            {
                "operator_id": one.operator_id, "operator_label": one.operator, "state_name": one.state,
                "state_kind": one.kind, "new": one.new and not self.is_first, "gone": one.gone,
            }
            | {measure: one.values[measure][-1] for measure in one.values}
            | {f"{measure}_change": None if self.is_first else one.change(measure).change for measure in one.values}
            for one in self.series
        ]  # fmt: skip
        if self.verdicts is not None:
            found["broken_rules"] = [verdict.name for verdict in self.broken]
        return found


class _Watcher:
    """Looks for checkpoints, and measures them."""

    def __init__(
        self, job: JobOptions, measure: Callable[[JobOptions], Statistics], check: RuleCheck | None,
        command: list[str], history: str | None,
    ) -> None:  # fmt: skip
        from stateextract.audit.history import in_order
        from stateextract.audit.history.history_files import read_history
        from stateextract.snapshot.stores import open_store

        self._job, self._measure, self._check, self._command, self._history = job, measure, check, command, history
        self._store: Store = open_store(job)
        # Before anything is read, since that takes long: a folder with something else in it is an error.
        recorded = in_order(read_history(history)) if history is not None else []
        self._before: Recorded | None = recorded[-1] if recorded else None
        self._first: Recorded | None = None
        self._statuses: set[str] = set()
        self._is_broken = False

    @property
    def exit_code(self) -> ExitCode:
        """Of all checkpoints until now."""
        return ExitCode.RULE_FAILED if self._is_broken else exit_code(self._statuses)

    def steps(self, all_: bool, once: bool, interval: float) -> Iterator[_Step]:
        """The checkpoints as they complete; ends with those that are there if ``once``."""
        from stateextract.snapshot.completed import completed_checkpoints

        known: set[tuple[str, int]] = set()
        reported: str | None = None
        while True:
            try:
                found = [
                    one for one in completed_checkpoints(self._job.snapshot, self._store, known)
                    if one.job.startswith(self._job.job)
                ]  # fmt: skip
                problem = None
            except (UnreadableFileError, NoAnswerError) as error:
                if once:
                    raise
                found, problem = [], f"Error: {error}"
            if not found and not known and problem is None:
                if once:
                    raise SnapshotNotFoundError(f"no complete checkpoint at {self._job.snapshot}", advice="check the path")
                problem = f"No checkpoint at {self._job.snapshot} is complete yet: waiting for one."
            if problem is not None and problem != reported:
                complain(problem)
            reported = problem or reported
            if found and not known and not all_:
                known.update(one.name for one in found)
                found = found[-1:]
            for one in found:
                known.add(one.name)
                yield self._step(one)
            if once:
                return
            time.sleep(interval)

    def _step(self, checkpoint: Completed) -> _Step:
        from stateextract.audit.history.growth import by_growth, series_of
        from stateextract.audit.history.history_files import recorded, write_snapshot
        from stateextract.snapshot.completed import completed_checkpoint

        job = replace(self._job, snapshot=checkpoint.folder, job="")
        try:
            document = self._measure(job)
            verdicts = None if self._check is None else self._check.judge(job, document)
        except StateExtractError as error:
            there = completed_checkpoint(self._job.snapshot, self._store, *checkpoint.name)
            if there is not None:  # What Flink deletes while it is read is not a fault of the snapshot.
                self._statuses.add(error.status)
            return _Step(checkpoint, problem=error if there is not None else _gone(checkpoint))
        if self._history is not None:
            write_snapshot(self._history, document)
        now = recorded(document)
        self._statuses |= {state.status for _, state in document.states}
        before, first = self._before or now, self._first or now
        self._before, self._first, is_first = now, first, self._before is None
        return _Step(
            checkpoint, document, by_growth(series_of([before.rows, now.rows])), series_of([first.rows, now.rows]), is_first,
            verdicts,
        )  # fmt: skip

    def act(self, step: _Step) -> None:
        """Run the user's command, if a rule does not hold."""
        if not step.broken or step.now is None:
            return
        self._is_broken = True
        if not self._command:
            return
        from stateextract.audit.rules import verdicts_as_dict

        environment = {
            "STATEEXTRACT_SNAPSHOT": step.checkpoint.folder,
            "STATEEXTRACT_JOB": step.checkpoint.job,
            "STATEEXTRACT_CHECKPOINT": str(step.checkpoint.number),
            "STATEEXTRACT_BROKEN_RULES": "\n".join(verdict.name for verdict in step.broken),
        }
        document = json_document(verdicts_as_dict(step.now, step.verdicts or []), indent=1, ensure_ascii=False)
        try:
            # Not a shell: nothing in the names of a snapshot is run. Its output is not among the lines for scripts.
            done = subprocess.run(
                self._command, input=document.encode(), stdout=2, env=os.environ | environment, check=False
            )
        except OSError as error:
            complain(f"Error: --on-broken {self._command[0]} cannot be run: {error.strerror}.")
            return
        if done.returncode:
            complain(f"Error: --on-broken {self._command[0]} ended with exit code {done.returncode}.")


def _command(text: str | None) -> list[str]:
    """The words of a command.

    :raises UsageError: where there is no such program.
    """
    if text is None:
        return []
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UsageError(f"--on-broken {text!r} is not a command: {error}") from None
    if not words or shutil.which(words[0]) is None:
        raise UsageError(
            f"--on-broken {text!r}: there is no such program",
            advice="give a program and its arguments; for pipes and variables use: sh -c",
        )
    return words


def _gone(checkpoint: Completed) -> StateExtractError:
    return SnapshotNotFoundError(
        f"Flink deleted checkpoint {checkpoint.number} before it was read",
        advice="set state.checkpoints.num-retained in Flink to more checkpoints",
    )


class _Lines(contextlib.nullcontext["_Lines"]):
    """Prints a line of JSON for each checkpoint."""

    def __enter__(self) -> _Lines:
        return self

    def show(self, step: _Step) -> None:
        click.echo(json_document(step.as_dict(), ensure_ascii=False))


# ---- for people


class _TextOutput:
    """Prints a line for each checkpoint. In a terminal the table of all states is below, and changes with each of them."""

    def __init__(self, is_live: bool) -> None:
        from stateextract.cli.printing import console

        self._out = console()
        self._live: Any = None
        self._last: _Step | None = None
        self._is_live = is_live and self._out.is_terminal

    def __enter__(self) -> _TextOutput:
        if self._is_live:
            from rich.live import Live

            self._live = Live(console=self._out, auto_refresh=False, vertical_overflow="crop")
            self._live.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        if self._live is not None:
            self._live.__exit__(*error)
        elif self._out.is_terminal and self._last is not None:
            self._out.show(_table(self._last))

    def show(self, step: _Step) -> None:
        self._out.say(_line(step))
        for verdict in step.broken:
            self._out.say(f"  broken: {verdict.name}")
        if step.series is None:
            return
        self._last = step
        if self._live is not None:
            self._live.update(_table(step), refresh=True)


def _line(step: _Step) -> str:
    taken = None if step.now is None else step.now.snapshot.taken_ms
    seconds = step.checkpoint.time if taken is None else taken / 1000
    when = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")
    begin = f"{when}  checkpoint {step.checkpoint.number}: "
    if step.now is None:
        return f"{begin}{step.problem}"
    parts = []
    for measure, text in (("rows", signed_number), ("decoded_bytes", signed_size)):
        change = step.change(measure)
        unit = " rows" if measure == "rows" else ""
        parts.append(
            f"{text(getattr(step.now.totals, measure))}{unit}" + ("" if change is None else f" ({text(change, True)})")
        )
    growers = [
        (one, change)
        for one in step.series or ()
        if not step.is_first and (change := one.change("decoded_bytes").change) is not None and change > 0
    ]
    grown = ", ".join(
        f"{named(one.operator)} / {named(one.state or one.kind)} {signed_size(change, True)}"
        for one, change in growers[:_GROWERS]
    )
    if len(growers) > _GROWERS:
        grown += f" and {pluralize(len(growers) - _GROWERS, 'other state')}"
    return begin + ", ".join(parts) + (f"; largest growth: {grown}" if grown else "")


def _table(step: _Step) -> Any:
    from stateextract.cli.printing import Cell, TextTable

    columns = ["operator", "state", "rows", "change", "since start", "decoded", "change ", "since start "]
    since = {(one.operator_id, one.state, one.kind): one for one in step.since or ()}
    rows: list[list[str | Cell]] = []
    for one in step.series or ():
        cells: list[str | Cell] = [Cell(one.operator, of=one.operator_id), one.state or f"({one.kind})"]
        for measure, text in (("rows", signed_number), ("decoded_bytes", signed_size)):
            last = one.values[measure][-1]
            cells.append("" if last is None else text(last))
            for series in (one, since.get((one.operator_id, one.state, one.kind))):
                change = None if series is None or step.is_first else series.change(measure).change
                cells.append("" if change is None else text(change, True))
        rows.append(cells)
    return TextTable(columns, rows, columns[2:])
