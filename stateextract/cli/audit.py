"""``stateextract audit``: whether rules hold of a snapshot. ``docs/audit.md`` has the rules."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from stateextract.cli.common_options import complain, format_option, workers_option
from stateextract.cli.selection import read_options, snapshot_options
from stateextract.cli.stats import make_statistics_options, measured, read_text, write_text
from stateextract.ending import printing_about_a_result
from stateextract.errors import UsageError
from stateextract.options import UsedBy
from stateextract.outcome import ExitCode
from stateextract.printable import json_document, named, pluralize

if TYPE_CHECKING:
    from stateextract.audit.document import OperatorDocument, StateDocument, Statistics
    from stateextract.audit.rules import RuleFile, RuleResult
    from stateextract.options import JobOptions


@click.command()
@snapshot_options(UsedBy.STATISTICS)
@click.option("--rules", metavar="FILE", help="The rules, a TOML file. Default: those of the job file (--config).")
@workers_option
@click.option("-o", "--output", metavar="FILE", help="Write the JSON document there too.")
@format_option
def audit(path: str, rules: str | None, workers: int | None, output: str | None, format_: str, **options: Any) -> int:
    """Check the states of the snapshot at PATH against rules.

    The rules are in the file of --rules, otherwise in the job file. Every row is read once, and once more for each rule with
    SQL. The exit code is 0 if all rules hold, and 5 if one does not.
    """
    from stateextract.audit.rules import verdicts_as_dict

    check = RuleCheck(rules, options["config"])
    job = check.applied(read_options(path, options))
    document = measured(job, check.statistics_options, workers)
    verdicts = check.judge(job, document)
    made = json_document(verdicts_as_dict(document, verdicts), indent=1, ensure_ascii=False)
    if output is not None:
        write_text(output, made + "\n", document.snapshot.path)
    with printing_about_a_result(complain, output is not None):
        if format_ == "json":
            click.echo(made)
        else:
            _show(document, verdicts)
    return ExitCode.COMPLETE if all(verdict.holds for verdict in verdicts) else ExitCode.RULE_FAILED


class RuleCheck:
    """The rules of a file, for one snapshot after the other.

    :param rules: the file; ``None``: they are in the job file ``config``.
    :raises UsageError: where there are none, or they are invalid.
    """

    def __init__(self, rules: str | None, config: str | None) -> None:
        self._file, self._folder = _rules(rules, config)
        self.statistics_options = _statistics_options(self._file)
        """With which statistics are computed."""

    def applied(self, job: JobOptions) -> JobOptions:
        """The options with what the file sets; paths in it are relative to it."""
        uids = self._file.settings.get("uids")
        return job if uids is None else replace(job, uids=str(self._folder / uids))

    def judge(self, job: JobOptions, document: Statistics) -> list[RuleResult]:
        """Whether the rules hold of a snapshot that the job reads.

        :param document: its statistics, made with :attr:`statistics_options`.
        """
        from stateextract.audit.rules import judge

        query = partial(_query, replace(job, on_undecodable="skip"))
        return judge(self._file.rules, document, query, lambda name: _schemas(self._folder / name))


def _rules(rules: str | None, config: str | None) -> tuple[RuleFile, Path]:
    """The rules, and the folder that files are looked for in which they name."""
    from stateextract.audit.rules import parse_rules

    if rules is not None:
        return parse_rules(read_text(rules, "--rules"), rules), Path(rules).parent
    if config is None:
        raise UsageError(
            "there are no rules", advice="give --rules FILE, or --config FILE with a job file that has [[rules]]"
        )
    return parse_rules(read_text(config, "--config"), config, job_file=True), Path(config).parent


def _query(job: JobOptions, operator: OperatorDocument, state: StateDocument, sql: str) -> tuple[list[Any], int]:
    """Carry a query out."""
    from stateextract.audit.query import query_state
    from stateextract.cli.progress import Meter

    def on_parts(sizes: list[int]) -> Callable[[int], None]:
        meter.expect(sum(sizes))
        return lambda number: meter.add(sizes[number])

    with Meter("query") as meter:
        return query_state(
            job, operator.operator_id, str(state.state_name), state.state_kind, sql, meter.headers, on_parts
        )


def _statistics_options(file: RuleFile) -> Any:
    """What the statistics are asked; paths in the file are relative to it."""
    settings = file.settings
    ttls = settings.get("ttl", [])
    ttls = [ttls] if isinstance(ttls, str) else ttls
    for name, value in (
        ("as-of", settings.get("as-of", "")),
        ("uids", settings.get("uids", "")),
        *(("ttl", t) for t in ttls),
    ):
        if not isinstance(value, str):
            raise UsageError(f"[audit] {name} is {value!r}", expected="a string")
    return make_statistics_options(settings.get("as-of"), ttls, 10)


def _schemas(path: Path) -> Any:
    try:
        return json.loads(read_text(str(path), "schema"))
    except (ValueError, RecursionError) as error:
        raise UsageError(f"schema {path} is not JSON: {error}") from error


def _show(document: Statistics, verdicts: list[RuleResult]) -> None:
    from stateextract.cli.printing import TextTable, console

    out = console()
    rows = [
        [v.name, "holds" if v.holds else "broken", f"{v.states:,}", f"{v.rows:,}", f"{bad:,}" if bad else ""]
        for v in verdicts
        for bad in [sum(violation.row_count for violation in v.violations)]
    ]
    columns = ["rule", "status", "states", "rows", "rows that break it"]
    out.show(TextTable(columns, rows, columns[2:], names=["rule"], keys=1))
    broken = [(verdict, violation) for verdict in verdicts for violation in verdict.violations]
    if broken:
        out.print()
    for verdict, violation in broken:
        location = named(violation.operator_label)
        if violation.state_name is not None:
            location += f" / {named(violation.state_name)}"
        given = "".join(f"\n  {json.dumps(row, ensure_ascii=False)}" for row in violation.rows)
        out.say(f"{verdict.name}: {location}: {violation.what}{given}")
    out.print()
    held = sum(verdict.holds for verdict in verdicts)
    out.say(f"{held} of {pluralize(len(verdicts), 'rule', 'holds')}: {document.snapshot.path}")
