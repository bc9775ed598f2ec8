from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from stateextract.audit.rules import Rule, parse_rules
from stateextract.errors import UsageError
from stateextract.options import JobOptions, fields, from_lines, parse_arguments, parse_file, parse_size, show_size

CONF = Path(__file__).parents[2] / "conf" / "extract.toml"
NEEDED = ["--snapshot", "in", "--output", "out"]


def test_defaults_and_values_from_the_command_line() -> None:
    given = ["--state", "a", "--state", "b", "--no-subtask-column", "--split-bytes", "2 MiB"]
    options = parse_arguments([*NEEDED, *given])
    assert options == JobOptions(
        snapshot="in", output="out", state=("a", "b"), subtask_column=False, split_bytes=2 * 1024 * 1024
    )


def test_command_line_wins_over_job_file(tmp_path: Path) -> None:
    job = tmp_path / "job.toml"
    job.write_text(
        '[input]\nsnapshot = "file"\nstate = ["x", "y"]\n[output]\nmode = "overwrite"\noutput = "o"\nflatten = true\n'
    )
    options = parse_arguments(["--config", str(job), "--snapshot", "line", "--state", "z", "--no-flatten"])
    assert (options.snapshot, options.state, options.mode, options.output) == ("line", ("z",), "overwrite", "o")
    assert options.flatten is False


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--snapshto", "x"], ["--snapshto", "nearest is --snapshot"]),
        (["--stat=x"], ["'--stat'", "nearest is --state"]),
        (["stray"], ["'stray'", "every option has a name"]),
        (["--mode", "overwite"], ["--mode is 'overwite'", "error, overwrite", "'overwrite'"]),
        (["--split-bytes", "many"], ["--split-bytes is 'many'", "128 MB"]),
        (["--split-bytes", "0"], ["at least 1"]),
        (["--header-threads", "2 MB"], ["a whole number"]),
        (["--path-map", "a"], ["OLD=NEW"]),
        (["--state"], ["--state"]),
        (["--config", "/nowhere/job.toml"], ["/nowhere/job.toml", "No such file"]),
    ],
)
def test_mistakes_on_the_command_line(arguments: list[str], words: list[str]) -> None:
    with pytest.raises(UsageError) as caught:
        parse_arguments([*NEEDED, *arguments])
    assert caught.value.exit_code == 2
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize("given", [["--snapshot", "in"], ["--output", "out"], []])
def test_snapshot_and_output_are_needed(given: list[str]) -> None:
    with pytest.raises(UsageError, match="is missing"):
        parse_arguments(given)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[inptu]\n", ["'inptu'", "nearest is input"]),
        ("[output]\nmoed = 'error'\n", ["[output]", "'moed'", "nearest is mode"]),
        ("[output]\nsnapshot = 'x'\n", ["does not belong to [output]", "[input]"]),
        ("mode = 'error'\n", ["outside its section", "[output]"]),
        ("output = 'x'\n", ["is a section"]),
        ("[output]\nflatten = 'yes'\n", ["flatten is 'yes'", "true or false"]),
        ("[output]\nmode = 3\n", ["a string"]),
        ("[input]\nstate = 'one'\n", ["a list of strings"]),
        ("[job]\nheader-threads = true\n", ["a whole number"]),
        ("[job]\nheader-threads = '3'\n", ["a whole number"]),
        ("[job]\nsplit-bytes = -1\n", ["at least 1"]),
        ("[job\n", ["is not TOML"]),
        ("[adit]\n", ["section 'adit' is unknown", "nearest is audit"]),
        ("[[rule]]\n", ["section 'rule' is unknown", "nearest is rules"]),
        ("[rules]\n", ["'rules' is {}", "[[rules]] tables"]),
        ("[[audit]]\n", ["'audit' is [{}]", "an [audit] table"]),
    ],
)
def test_mistakes_in_the_job_file(text: str, words: list[str]) -> None:
    with pytest.raises(UsageError) as caught:
        parse_file(text)
    for word in words:
        assert word in str(caught.value)


def test_the_documented_job_file_holds_every_option_with_its_real_default() -> None:
    lines = CONF.read_text(encoding="utf-8").splitlines()
    assert not tomllib.loads("\n".join(lines)).get("input"), "nothing is set as it comes"
    active = [re.sub(r"^# ([a-z-]+ = |\[)", r"\1", line) for line in lines]
    text = "\n".join(active)
    values = parse_file(text)
    assert list(values) == [f.name for f in fields()]
    assert JobOptions(**values) == JobOptions()
    (rule,) = parse_rules(text, job_file=True).rules
    assert rule == Rule("orders stay small", "orders-*", limits={"max-rows": 1_000_000, "max-value-bytes": 64_000})


def test_options_survive_the_manifest() -> None:
    options = parse_arguments([*NEEDED, "--operator", "o", "--path-map", "a=b", "--compression", "none"])
    assert from_lines(options.lines()) == options
    assert options.path_pairs() == (("a", "b"),)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("128 MB", 128_000_000), ("1kib", 1024), ("1.5 GB", 1_500_000_000), ("7", 7), ("MB", None), ("1 XB", None),
        (f"{10**400}", 10**400),  # beyond a double
    ],
)
def test_sizes(text: str, size: int | None) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize("size", [1, 999, 1000, 128_000_000, 10**9, 1024])
def test_sizes_as_text(size: int) -> None:
    assert parse_size(show_size(size)) == size
