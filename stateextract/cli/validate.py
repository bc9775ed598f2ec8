"""``stateextract validate``: whether every byte of every state is sound, and where not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from stateextract import outcome
from stateextract.cli.common_options import format_option
from stateextract.cli.progress import Meter
from stateextract.cli.selection import opened, snapshot_options
from stateextract.columnar.arrow.without_pandas import without_pandas
from stateextract.outcome import ExitCode
from stateextract.printable import json_document, named

if TYPE_CHECKING:
    from stateextract.api import Finding, Snapshot


@click.command()
@snapshot_options()
@format_option
def validate(path: str, format_: str, **options: Any) -> int:
    """Decode every byte of every state of the snapshot at PATH, without writing anything.

    Says of each state that it is sound, or in which file, key group and at which offset it is not, and goes on with the
    next. Checksums are verified. Exit code 1: something is damaged or missing; 3: only something could not be checked.
    """
    without_pandas()
    snapshot = opened(path, options)
    snapshot.read_headers()
    with Meter("validate", sum(operator.total_size for operator in snapshot.operators)) as meter:
        findings = list(snapshot.validate(lambda size, rows: meter.add(size, rows)))
    code = exit_code(findings)
    if format_ == "json":
        click.echo(json_document(describe(snapshot, findings), indent=1))
    else:
        _show(snapshot, findings, code)
    return code


def exit_code(findings: list[Finding]) -> ExitCode:
    """0: all is sound; 1: something is damaged or missing; 3: neither, but something could not be checked."""
    return outcome.exit_code((finding.status for finding in findings), check=True)


def describe(snapshot: Snapshot, findings: list[Finding]) -> dict[str, Any]:
    """The document of ``--format json``."""
    return {
        "snapshot": snapshot.path,
        "exit_code": exit_code(findings),
        "states": [
            {
                "operator_id": f.operator_id,
                "operator_label": f.operator,
                "state_name": f.state,
                "state_scope": f.scope,
                "state_kind": f.kind,
                "status": f.status,
                "rows": f.rows,
                "bytes": f.size,
                "reason": f.reason,
                "misplaced_keys": f.misplaced,
                "notes": f.notes,
                "problems": [
                    {
                        "message": problem.message,
                        "file": problem.file,
                        "state_name": problem.state,
                        "key_group": problem.key_group,
                        "offset": problem.offset,
                        "plain_offset": problem.plain_offset,
                        "expected": problem.expected,
                    }
                    for problem in f.problems
                ],
            }
            for f in findings
        ],
    }


def _show(snapshot: Snapshot, findings: list[Finding], code: int) -> None:
    from stateextract.cli.printing import Cell, TextTable, console
    from stateextract.cli.sizes import text_size
    from stateextract.state.causes import causes_once

    out = console()
    causes = causes_once((number, [f.reason]) for number, f in enumerate(findings))
    rows: list[list[str | Cell]] = [
        [
            Cell(f.operator, of=f.operator_id),
            f.state or "-",
            f.kind,
            f"{f.rows:,}",
            text_size(f.size),
            Cell(f.status, causes.get(number, f.reason)),
        ]
        for number, f in enumerate(findings)
    ]
    out.show(TextTable(["operator", "state", "kind", "rows", "size", "status"], rows, ["rows", "size"]))
    # A file that is missing is reported once for all of its states.
    states: dict[tuple[str, str], list[str]] = {}
    for f in findings:
        for problem in f.problems:
            states.setdefault((f.operator, str(problem)), []).append(named(f.state or f.kind))
    for (operator, text), names in states.items():
        out.say(f"\n{named(operator)} / {', '.join(dict.fromkeys(names))}: {text}")
    for f in findings:
        for note in f.notes:
            out.say(f"\n{named(f.operator)} / {named(f.state or f.kind)}: {note}.")
    conclusions = {
        0: "No corruption found",
        1: "Corruption found",
        3: "No corruption found, but not everything could be checked",
    }
    if code == ExitCode.FAILED and all(f.status != "damaged" for f in findings):
        conclusions[1] = "Not all files can be read"
    out.say(f"\n{conclusions[code]}: {snapshot.path}")
