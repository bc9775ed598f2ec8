"""Messages speak the language of the door by which they leave."""

from __future__ import annotations

import ast
import copy
import inspect
import pickle
import re
from pathlib import Path

import pytest

import stateextract
from stateextract.cli import _COMMANDS, command_of
from stateextract.cli.common_options import door_of
from stateextract.doors import OPTIONS, Door, api_door, read_at
from stateextract.errors import SnapshotNotFoundError, StateExtractError, UsageError, leaving
from stateextract.options import FILE_ONLY, SnapshotKeywords, fields, outside
from stateextract.spark.source_options import DIFF_OPTIONS, DOORS, METADATA, METADATA_OPTIONS, STATE, STATE_OPTIONS
from tests.job.snapshots import UNKNOWN, numbered, write_snapshot

ROOT = Path(__file__).parents[1]
JOB = {f.name: f"--{outside(f.name)}" for f in fields() if f.metadata["kind"] not in FILE_ONLY}


def test_the_table_has_what_the_doors_have() -> None:
    spark = {JOB[o.job]: o.name for o in (*STATE_OPTIONS, *METADATA_OPTIONS, *DIFF_OPTIONS) if o.job in JOB}
    assert {flag: spark for flag, (spark, _) in OPTIONS.items() if spark} == {
        **spark, "--operator": "operatorUid", "--state": "stateName",
    }  # fmt: skip
    own = {"decoder", "on_headers", "options", "path", "storage_options"}
    signature = {*inspect.signature(stateextract.open_snapshot).parameters} - own
    keywords = {*SnapshotKeywords.__annotations__, *signature, "operator", "state"}
    keywords |= {*inspect.signature(stateextract.Snapshot.check).parameters} - {"self", "uids", "parallelism", "values"}
    flagless = {"kryo_classes", "types", "policies"}
    named = {python.removesuffix(" of open_snapshot") for _, python in OPTIONS.values() if python}
    assert named - {"uids"} == keywords - flagless - {"uids"}
    assert {*OPTIONS} <= {flag for flags in FLAGS.values() for flag in flags}


def test_options_are_called_as_at_the_door() -> None:
    text = "say --path-map OLD=NEW, set --on-undecodable to skip or raw, or leave it out with --state; no--state"
    for door, expected in (
        (Door.COMMAND_LINE, text),
        (Door.SPARK, "say pathMap OLD=NEW, set onUndecodable to skip, or leave it out with stateName; no--state"),
        (Door.PYTHON, "say path_map OLD=NEW, set on_undecodable to skip or raw, or leave it out with state; no--state"),
    ):
        assert door.words(text) == expected
        error = UsageError(text, expected=text, advice=text).worded(door)
        for same in (error, copy.copy(error), pickle.loads(pickle.dumps(error))):
            assert (same.message, same.expected) == (expected, expected)
            assert same.advice == same.context["advice"] == expected
        assert error.worded(Door.COMMAND_LINE).advice == text, "no door's words are lost at the next"
        assert error.message == text
    assert UsageError("x").worded(Door.SPARK).advice is None
    kryo = "describe this one as a [[kryo.class]] in the job file"
    assert Door.SPARK.words(kryo) == "describe this one as an entry of kryoClasses"
    assert Door.PYTHON.words(kryo) == "describe this one as an entry of kryo_classes"
    nanoseconds = "set --timestamps to floor (cut off and counted) or nanoseconds (which Spark cannot read)"
    assert Door.SPARK.words(nanoseconds) == "set timestamps to floor (cut off and counted)"


def test_advice_has_no_alternative_that_the_door_lacks() -> None:
    advice = "set --on-undecodable to skip or raw, or choose another --output; call hadoop classpath --glob"
    assert Door.COMMAND_LINE.advice(advice) == advice
    assert Door.COMMAND_LINE.having(["--output"]).advice(advice) == "choose another --output; call hadoop classpath --glob"
    assert Door.PYTHON.advice(advice) == "set on_undecodable to skip or raw; call hadoop classpath --glob"
    assert Door.COMMAND_LINE.having([]).advice("set --state, or set --codec") is None
    assert str(UsageError("x", advice="set --workers").worded(Door.SPARK)) == "x."
    assert Door.SPARK.reason("all are lost; --output is missing") == "all are lost"
    assert Door.SPARK.reason("--output is missing") == "--output is missing", "a fact stays one"
    both = "set --on-undecodable to skip or raw, or set --out-of-range null"
    assert DOORS[STATE].advice(both) == "set onUndecodable to skip, or set outOfRange null"
    assert DOORS[METADATA].advice(both) == "set outOfRange null"


FLAGS = {name: {o for p in command_of(name).params for o in p.opts} for name in _COMMANDS}
"""The options of each command."""
ADVICE = {
    constant.value: file
    for file in (*(ROOT / "stateextract").rglob("*.py"), *(ROOT / "serializers").rglob("*.py"))
    if file.parent.name != "cli" and file.name not in ("doors.py", "options.py", "source_options.py", "submit.py")
    for constant in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
    if isinstance(constant, ast.Constant) and isinstance(constant.value, str)
    if re.search(r"(?<![\w`-])--[a-z]", constant.value) and "\n" not in constant.value
}
"""Texts that name options, wherever they are raised."""


@pytest.mark.parametrize("command", _COMMANDS)
def test_no_command_gives_advice_for_an_option_that_it_lacks(command: str) -> None:
    door = door_of(command_of(command))
    assert len(ADVICE) > 30
    for text, file in ADVICE.items():
        shown = door.advice(text) or ""
        named = {flag for flag in re.findall(r"(?<![\w-])--[a-z-]+[a-z]", shown) if flag not in _OF_OTHER_PROGRAMS}
        assert named <= FLAGS[command], (file, shown)


_OF_OTHER_PROGRAMS = {"--suggest", "--format", "--glob", "--include", "--descriptor", "--exit-code"}


def test_the_advice_of_commands_themselves_is_for_their_own_options() -> None:
    """Those of modules that several commands use are options of each of them."""
    for command in _COMMANDS:
        file = ROOT / "stateextract" / "cli" / f"{command.replace('-', '_')}.py"
        tree = ast.parse(file.read_text(encoding="utf-8"))
        for call in (node for node in ast.walk(tree) if isinstance(node, ast.keyword) and node.arg == "advice"):
            for constant in ast.walk(call.value):
                if isinstance(constant, ast.Constant) and isinstance(constant.value, str):
                    assert {*re.findall("--[a-z]+", constant.value)} <= FLAGS[command], (command, constant.value)


def test_the_python_api_speaks_of_keyword_arguments(tmp_path: Path) -> None:
    with pytest.raises(SnapshotNotFoundError) as caught:
        stateextract.open_snapshot(str(tmp_path))
    assert caught.value.door is Door.PYTHON
    with pytest.raises(StateExtractError, match="Set store_timeout"), leaving(Door.PYTHON):
        raise UsageError("x", advice="set --store-timeout")
    with pytest.raises(StateExtractError, match="Set store_timeout"), leaving():
        raise UsageError("x", advice="set --store-timeout")
    with read_at(Door.COMMAND_LINE), pytest.raises(StateExtractError, match="Set --store-timeout"), leaving():
        raise UsageError("x", advice="set --store-timeout")
    assert api_door() is Door.PYTHON


def test_look_ups_and_findings_of_the_python_api(tmp_path: Path) -> None:
    path = write_snapshot(tmp_path / "s", {"op": {"a": numbered(8), "money": numbered(8)}}, values={"money": UNKNOWN})
    snapshot = stateextract.open_snapshot(str(path))
    lacks = "register a serializer as a plug-in"
    for call in (
        lambda: snapshot.operator("op").state("money").to_table(),
        lambda: snapshot.operator("op").state("money").count(),
        lambda: snapshot.operator("op").state("money").get(1),
    ):
        with pytest.raises(StateExtractError, match=f"Set on_undecodable to raw to get its bytes, or {lacks}"):
            call()
    for call in (
        lambda: snapshot.operator("none"), lambda: snapshot.operator("op").state("none"),
        lambda: snapshot.operator("op").timers(),
    ):  # fmt: skip
        with pytest.raises(UsageError) as caught:
            call()
        assert caught.value.door is Door.PYTHON
    (path / "op-1").unlink()
    gone = [f for f in stateextract.open_snapshot(str(path)).validate() if f.status == "missing"]
    assert [f.state for f in gone] == ["a", "money"]
    for finding in gone:
        assert "set path_map OLD=NEW" in str(finding.problems[0])
        assert "--" not in str(finding.problems[0])


def test_advice_names_options_as_the_command_line_does() -> None:
    """Else no other door would find them; what only the command line has is not raised elsewhere."""
    pythonic = re.compile("|".join(rf"\b{p}\b" for _, p in OPTIONS.values() if p and "_" in p))
    found = 0
    for file in (*(ROOT / "stateextract").rglob("*.py"), *(ROOT / "serializers").rglob("*.py")):
        if "spark" in file.parts:
            continue
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.keyword) and node.arg == "advice":
                texts = [
                    c.value for c in ast.walk(node.value) if isinstance(c, ast.Constant) and isinstance(c.value, str)
                ]
                found += bool(texts)
                assert not [t for t in texts if pythonic.search(t) or re.search(r"\b(?<!spark\.)[a-z_]+=[a-z]+\b", t)], file
    assert found > 100
