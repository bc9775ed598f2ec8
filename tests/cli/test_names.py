"""Names that are long or have line breaks, and names that nothing has."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stateextract.cli import run
from stateextract.printable import there_is
from tests.job.snapshots import numbered, write_snapshot

ROOT = Path(__file__).parents[2]
REPORTED = ROOT.parent / "shared" / "reports" / "operator-names-with-newlines" / "savepoint"
ORDERS = str(ROOT / "examples" / "orders-checkpoint")


@pytest.mark.skipif(not REPORTED.exists(), reason="the reported snapshot is not there")
@pytest.mark.parametrize(("command", "lines"), [("states", 452), ("count", 401), ("validate", 403)])
def test_a_line_for_each_state(command: str, lines: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([command, str(REPORTED)]) == 0
    text = capsys.readouterr().out
    assert len(text.splitlines()) == lines
    assert "op 47 Größe→数量😀\\n\\t\"x'|,Größe" in text
    assert "uid-4\\nzwei\\x1b[31mrot" in text
    assert max(map(len, text.splitlines())) < 400


@pytest.mark.skipif(not REPORTED.exists(), reason="the reported snapshot is not there")
@pytest.mark.parametrize("command", ["head", "files", "count"])
def test_an_unknown_operator_answers_with_the_nearest(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([command, str(REPORTED), "--operator", "uid-4"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("Error: no operator has the uid, name or id 'uid-4'. The nearest are 'uid-4")
    assert error.count("uid-") <= 6
    assert len(error) < 300


@pytest.mark.parametrize("command", ["head", "get"])
def test_a_missing_option_names_some_in_one_line(command: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Names with line breaks stay in the line, and of many the rest is counted."""
    key = ["--key", "1"] if command == "get" else []
    operators = {f"op {n:02}\nline": {"a": numbered(3)} for n in range(33)}
    assert run([command, str(write_snapshot(tmp_path / "s", operators, parallelism=1)), *key]) == 2
    names = ", ".join(f"op {n:02}\\nline" for n in range(30))
    advice = f"The operators with keyed state are: {names} and 3 more."
    assert capsys.readouterr().err == f"Error: --operator is missing. {advice}\n"
    states = {f"state {n:02}\nline": numbered(3) for n in range(31)}
    assert run([command, str(write_snapshot(tmp_path / "t", {"op": states}, parallelism=1)), *key]) == 2
    names = ", ".join(f"'state {n:02}\\nline'" for n in range(30))
    advice = f"Its states are: {names} and 1 more."
    assert capsys.readouterr().err == f"Error: --state is missing; in operator op. {advice}\n"


@pytest.mark.parametrize(
    ("name", "known", "said"),
    [
        ("count", ["counts", "total"], "the nearest are 'counts'"),
        ("TOTAL", ["counts", "my total"], "the nearest are 'my total'"),
        ("x", ["one", "two"], "the states are 'one', 'two'"),
        ("x", [], "there are no states"),
        ("zzz", [f"state {n}" for n in range(40)], "the nearest of 40 states are "),
        ("n", ["n" * 100], f"the nearest are '{'n' * 44}…{'n' * 15}'"),
    ],
)
def test_there_is(name: str, known: list[str], said: str) -> None:
    assert there_is(name, known, "states").startswith(said)
    assert there_is(name, known, "states").count("', '") < 5


def test_columns_and_forms_of_rows(capsys: pytest.CaptureFixture[str]) -> None:
    asked: list[Any] = ["head", ORDERS, "--operator", "orders-by-customer", "--state", "voucher", "-n", "1"]
    assert run([*asked, "--columns", "value,key", "--format", "csv"]) == 0
    assert capsys.readouterr().out == "value,key\nWELCOME-179,elif\n"
    assert run([*asked, "--columns", "key", "--format", "lines"]) == 0
    assert capsys.readouterr().out == '{"key": "elif"}\n'
    assert run([*asked, "--columns", "key, value", "--vertical"]) == 0
    assert capsys.readouterr().out == "row 1\n  key    elif\n  value  WELCOME-179\n"
    assert run([*asked, "--columns", "vlaue"]) == 2
    assert capsys.readouterr().err == "Error: --columns: no column is called 'vlaue'. The nearest are 'value'.\n"


def test_summaries_in_the_help_are_whole(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "schema Show the columns of states of the snapshot at PATH, with their Arrow and Spark SQL types. files" in text
    assert "..." not in text.partition("Commands:")[2]
