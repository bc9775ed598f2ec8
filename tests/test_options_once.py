"""Each option is in one table, and wherever it applies: command line, job file, Spark, Python, documentation."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest

import stateextract
from stateextract.cli import _COMMANDS, command_of
from stateextract.options import (
    FILE_ONLY,
    JobOptions,
    ListingKeywords,
    SnapshotKeywords,
    UsedBy,
    fields,
    outside,
    python_name,
    spark_name,
)
from stateextract.spark.source_options import DIFF_OPTIONS, METADATA_OPTIONS, STATE_OPTIONS, STATISTICS_OPTIONS

ROOT = Path(__file__).parents[1]
ORDERS = str(ROOT / "examples" / "orders-checkpoint")
COMMANDS = {
    UsedBy.LISTING: {"checkpoints"},
    UsedBy.OTHERS: {"inspect", "states", "files", "kafka-offsets", "validate", "check", "types"},
    UsedBy.ROWS: {"head", "get", "schema"},
    UsedBy.COUNT: {"count"},
    UsedBy.STATISTICS: {"stats", "history", "report", "audit", "watch"},
    UsedBy.SELECTION: {"stats", "history", "report", "watch"},
    UsedBy.DIFF: {"diff"},
}
SPARK = {
    UsedBy.SPARK_ROWS: STATE_OPTIONS,
    UsedBy.SPARK_TABLES: METADATA_OPTIONS,
    UsedBy.SPARK_STATISTICS: STATISTICS_OPTIONS,
    UsedBy.SPARK_DIFF: DIFF_OPTIONS,
}


# A job is followed from checkpoint to checkpoint, so none is chosen.
_OWN = {"check": {"--classpath", "--plan", "--uids"}, "watch": {"--checkpoint"}}


def test_the_command_line_has_the_options_where_they_apply() -> None:
    for name in _COMMANDS:
        flags = {o for p in command_of(name).params for o in p.opts}
        own = {"--operator", "--state", "--output"} | _OWN.get(name, set())
        for f in fields():
            applies = name == "extract" or any(
                f.metadata["used_by"] & used_by and name in commands for used_by, commands in COMMANDS.items()
            )
            flag = f"--{outside(f.name)}"
            if f.metadata["kind"] in FILE_ONLY:
                assert flag not in flags
            elif flag not in own:
                assert (flag in flags) == applies, (name, flag)


def test_spark_has_the_options_where_they_apply() -> None:
    for used_by, options in SPARK.items():
        expected = {f.name: spark_name(f) for f in fields() if f.metadata["used_by"] & used_by}
        found = {option.job: option.name for option in options if option.job}
        assert {job: found[job] for job in expected} == expected, used_by
        if used_by is not UsedBy.SPARK_TABLES:
            assert set(found) == set(expected)


@pytest.mark.parametrize(
    ("function", "used_by", "keywords"),
    [
        (stateextract.open_snapshot, UsedBy.PYTHON, SnapshotKeywords),
        (stateextract.list_snapshots, UsedBy.LISTING, ListingKeywords),
    ],
)
def test_python_has_the_options_that_apply_there(function: Any, used_by: UsedBy, keywords: Any) -> None:
    known = {python_name(f): f for f in fields() if f.metadata["used_by"] & used_by}
    hints = get_type_hints(keywords)
    assert {*hints, "path_map"} == {*known}
    for name, f in known.items():
        if f.metadata["choices"]:
            assert get_args(hints[name]) == f.metadata["choices"], name
        if name != "path_map":
            assert f":param {name}: " in (function.__doc__ or "")
    with pytest.raises(TypeError, match=rf"{function.__name__}\(\) got an .* argument 'jobb'; the nearest is 'job'"):
        function(ORDERS, jobb="x")


NEW = '''    brand_new: bool = _option(False, "input", "flag", "Do what no option did before.", _ALL)
    verify_checksums: bool = _option('''
_SEE = '''
import json, runpy, sys, types
from pathlib import Path
root = Path(sys.argv[1])
module = types.ModuleType("stateextract.options")
sys.modules["stateextract.options"] = module
text = (root / "stateextract" / "options.py").read_text()
more = text.replace("    verify_checksums: bool = _option(", sys.argv[2])
exec(compile(more, "options.py", "exec"), module.__dict__)
import click
import stateextract
from stateextract.cli import _COMMANDS, command_of
from stateextract.options import make_options, parse_file
from stateextract.spark.source_options import DIFF_OPTIONS, METADATA_OPTIONS, STATE_OPTIONS, parse_options
helps = {}
for name in _COMMANDS:
    command = command_of(name)
    helps[name] = "--brand-new" in command.get_help(click.Context(command))
snapshot = stateextract.open_snapshot(sys.argv[3], brand_new=True)
sources = (STATE_OPTIONS, METADATA_OPTIONS, DIFF_OPTIONS)
markdown = runpy.run_path(str(root / "scripts" / "spark_options.py"))["markdown"]
print(json.dumps({
    "commands": sorted(name for name, has in helps.items() if has),
    "job file": parse_file("[input]\\nbrand-new = true"),
    "job": make_options({"brand_new": True}).brand_new,
    "Spark": [parse_options({"path": "p", "brandNew": "true"}, options, "s")["brandNew"] for options in sources[:2]],
    "pages of Spark": ["| `brandNew` | `false` | Do what no" in markdown(options) for options in sources],
    "Python": snapshot._opened.source._options.brand_new,
    "docstring": ":param brand_new: Do what no option did before. Default: False." in stateextract.open_snapshot.__doc__,
    "page of the job file": runpy.run_path(str(root / "scripts" / "job_file.py"))["page"]().count("# brand-new = false"),
    "page": runpy.run_path(str(root / "scripts" / "options_page.py"))["page"]().count("Do what no option did before."),
    "words": stateextract.doors.Door.SPARK.words("set --brand-new") + stateextract.doors.Door.PYTHON.words(", --brand-new"),
}))
'''


def test_a_new_option_appears_everywhere() -> None:
    """One line is added to the table, in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", _SEE, str(ROOT), NEW, ORDERS],
        capture_output=True, text=True, cwd=ROOT, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == {
        "commands": sorted({*_COMMANDS} - {"uid-hash", "completion", "checkpoints"}),
        "job file": {"brand_new": True},
        "job": True,
        "Spark": [True, True],
        "pages of Spark": [True, True, True],
        "Python": True,
        "docstring": True,
        "page of the job file": 1,
        "page": 2,
        "words": "set brandNew, brand_new",
    }


def test_every_option_is_in_the_documentation() -> None:
    page = (ROOT / "docs" / "options.md").read_text(encoding="utf-8")
    spark = (ROOT / "docs" / "spark-sql.md").read_text(encoding="utf-8")
    for f in fields():
        used_by = f.metadata["used_by"]
        if f.metadata["kind"] not in FILE_ONLY:
            assert f"| `--{outside(f.name)}`" in page
        assert not used_by.is_spark or f"| `{spark_name(f)}` |" in spark
        assert not used_by & UsedBy.PYTHON or f.name == "path_map" or f"| `{python_name(f)}` |" in page


def test_options_survive_their_lines() -> None:
    options = JobOptions(path_map=("a=b",), uids="u", flatten=True)
    assert stateextract.options.from_lines(options.lines()) == options
