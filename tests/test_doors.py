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
from stateextract.doors import OPTIONS, Door, in_words_of
from stateextract.errors import SnapshotNotFoundError, StateExtractError, UsageError, leaving
from stateextract.options import FILE_ONLY, fields, outside
from stateextract.spark.source_options import DIFF_OPTIONS, METADATA_OPTIONS, STATE_OPTIONS

ROOT = Path(__file__).parents[1]
JOB = {f.name: f"--{outside(f.name)}" for f in fields() if f.metadata["kind"] not in FILE_ONLY}
NAMES = {flag: names for flag, names in OPTIONS.items() if " " not in flag}


def test_the_table_has_what_the_doors_have() -> None:
    spark = {JOB[o.job]: o.name for o in (*STATE_OPTIONS, *METADATA_OPTIONS, *DIFF_OPTIONS) if o.job in JOB}
    assert {flag: spark for flag, (spark, _) in NAMES.items() if flag in JOB.values()} == {
        **spark, "--operator": "operatorUid", "--state": "stateName",
    }  # fmt: skip
    keywords = {
        *inspect.signature(stateextract.open_snapshot).parameters,
        "operator",
        "state",
        "split_bytes",
        "memory_bytes",
    }
    assert {python for _, python in NAMES.values()} <= keywords
    assert {*NAMES} <= {*JOB.values()}


def test_options_are_called_as_at_the_door() -> None:
    text = "say --path-map OLD=NEW, set --on-undecodable to skip or raw, or leave it out with --state; no--state"
    for door, expected in (
        (Door.COMMAND_LINE, text),
        (Door.SPARK, "say pathMap OLD=NEW, set onUndecodable to skip, or leave it out with stateName; no--state"),
        (Door.PYTHON, "say path_map OLD=NEW, set on_undecodable to skip or raw, or leave it out with state; no--state"),
    ):
        assert in_words_of(door, text) == expected
        error = UsageError("x", advice=text).worded(door)
        for same in (error, copy.copy(error), pickle.loads(pickle.dumps(error))):
            assert same.advice == same.context["advice"] == expected
        assert error.worded(Door.COMMAND_LINE).advice == text, "no door's words are lost at the next"
    assert UsageError("x").worded(Door.SPARK).advice is None
    kryo = "describe this one as a [[kryo.class]] in the job file"
    assert in_words_of(Door.SPARK, kryo) == "describe this one as an entry of kryoClasses"
    assert in_words_of(Door.PYTHON, kryo) == "describe this one as an entry of kryo_classes"


def test_the_python_api_speaks_of_keyword_arguments(tmp_path: Path) -> None:
    with pytest.raises(SnapshotNotFoundError) as caught:
        stateextract.open_snapshot(str(tmp_path))
    assert caught.value.door is Door.PYTHON
    with pytest.raises(StateExtractError, match="Set store_timeout"), leaving(Door.PYTHON):
        raise UsageError("x", advice="set --store-timeout")


def test_advice_names_options_as_the_command_line_does() -> None:
    """Else no other door would find them; what only the command line has is not raised elsewhere."""
    pythonic = re.compile("|".join(rf"\\b{p}\\b" for _, p in NAMES.values() if "_" in p))
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
                assert not [t for t in texts if pythonic.search(t) or re.search(r"[a-z]=(null|skip|raw)", t)], file
    assert found > 100
