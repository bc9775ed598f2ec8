"""Writes the reference of exit codes and status words: ``python scripts/exit_codes_page.py > docs/exit-codes.md``."""

from __future__ import annotations

from collections.abc import Iterator

from stateextract.outcome import ExitCode, SnapshotStatus, Status, Verdict, exit_code, exit_code_of_check

_HEAD = """# Exit codes and status words

All commands of `stateextract`, the extract job (`extract.py`, `stateextract-submit`), the coverage report, the Python API
and the Spark tables use the words and codes of this page. It is made from the code that uses them
(`python scripts/exit_codes_page.py > docs/exit-codes.md`).
"""

_RULE = """## From status words to the exit code

A command takes the status of every state that you selected. `no state` and `not selected` do not count.

- If all are `decoded`, `uncertain` or `sound`, the exit code is 0.
- If all are `unsupported`, `missing` or `unreadable`, the exit code is 1.
- In all other cases the exit code is 3.

`validate` checks the snapshot, so one state that is `damaged`, `missing` or `unreadable` makes its exit code 1.

If a command has written its result (`extract`, `history`, `report`, and `diff`, `stats`, `audit` and `check` with `--output`),
the exit code is that of the result. It does not change if standard output is full or closed: then only the printed report is
missing, and for a full one the command prints a warning on standard error. All other commands end with 1 or 141 in this case.

`states`, `inspect` and `schema` describe states. They read only `_metadata` and the headers of files, so their status words are
a forecast. Their exit code is 0 if all these files are there and readable: `unsupported`, `uncertain`, `raw` and
`skipped` do not change it.
To be certain, run `stateextract count`, `validate` or the job itself.

`checkpoints` takes the status of every snapshot in its list; `not complete` does not count. If it reads high-availability data
and Flink would not start one of the jobs, its exit code is 1.
"""


def page() -> str:
    """The page as Markdown."""
    return "".join(f"{line}\n" for line in _lines()).rstrip("\n") + "\n"


def _lines() -> Iterator[str]:
    yield _HEAD
    yield "## Exit codes"
    yield ""
    yield "| exit code | meaning |"
    yield "|---|---|"
    for code in ExitCode:
        yield f"| {code.value} | {code.meaning} |"
    yield ""
    yield "## Status words"
    yield ""
    yield "The last column is the exit code if all states that you selected have this status."
    yield ""
    yield "| status | meaning | exit code |"
    yield "|---|---|---|"
    for status in Status:
        yield f"| `{status.value}` | {status.meaning} | {exit_code([status], check=status is Status.DAMAGED).value} |"
    yield ""
    yield "### Status words of snapshots"
    yield ""
    yield "`checkpoints` uses these words. The last column is the exit code if all listed snapshots have this status."
    yield ""
    yield "| status | meaning | exit code |"
    yield "|---|---|---|"
    for word in SnapshotStatus:
        yield f"| `{word.value}` | {word.meaning} | {exit_code([word.counts_as]).value} |"
    yield ""
    yield _RULE
    yield "## Words of `check`"
    yield ""
    yield "`check` takes the word of every state and operator. The last column is the exit code if all have this one. If words"
    yield "differ, 6 goes before 3, and 3 before 0. [restore.md](restore.md) has the rules."
    yield ""
    yield "| word | meaning | exit code |"
    yield "|---|---|---|"
    for verdict in Verdict:
        yield f"| `{verdict.value}` | {verdict.meaning} | {exit_code_of_check([verdict]).value} |"


if __name__ == "__main__":
    print(page(), end="")
