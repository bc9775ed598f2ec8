"""``validate``: its report and its exit codes."""

from __future__ import annotations

import json
import struct
from dataclasses import replace
from pathlib import Path

from stateextract.metadata.model import MasterState
from stateextract.metadata.parser import parse_metadata
from tests.cli.test_cli import CUSTOM, Out, out
from tests.cli.test_tables import ORDERS
from tests.job.snapshots import numbered, write_snapshot
from tests.metadata import writer
from tests.state.test_nameless import channel

__all__ = ["out"]  # a fixture


def test_all_is_sound(out: Out) -> None:
    code, text, err = out("validate", ORDERS)
    assert (code, err) == (0, "")
    lines = text.splitlines()
    assert len(lines) == 1 + 9 + 2
    assert all(line.split()[-1] == "sound" for line in lines[1:10])
    assert lines[-1] == f"No corruption found: {ORDERS}/chk-2"


def test_damage(out: Out, tmp_path: Path) -> None:
    write_snapshot(tmp_path / "s", {"op": {"a": numbered(80), "b": numbered(20)}})
    file = tmp_path / "s" / "op-1"
    data = file.read_bytes()
    at = len(data) - 2 * 17 - 4
    file.write_bytes(data[:at] + struct.pack(">i", 3) + data[at + 4 :])
    code, text, err = out("validate", str(tmp_path / "s"))
    assert (code, err) == (1, "")
    assert f"in file {file}, operator op, state b, key group 7, byte offset {len(data)}" in text
    assert text.splitlines()[-1] == f"Corruption found: {tmp_path / 's'}"
    code, text, err = out("validate", str(tmp_path / "s"), "--format", "json")
    assert (code, err) == (1, "")
    document = json.loads(text)
    assert document["exit_code"] == 1
    a, b = document["states"]
    assert (a["state_name"], a["status"], a["rows"], a["problems"]) == ("a", "sound", 80, [])
    (problem,) = b["problems"]
    assert (b["status"], problem["file"], problem["state_name"], problem["key_group"], problem["offset"]) == (
        "damaged", str(file), "b", 7, len(data),
    )  # fmt: skip


def test_what_could_not_be_checked(out: Out) -> None:
    code, text, err = out("validate", CUSTOM)
    assert (code, err) == (3, "")
    lines = text.splitlines()
    cause = "1 serializer is not known: golden.MoneySerializer$Snapshot → 2 states are unreadable"
    assert f"[2] {cause}" in lines
    for state in ("balance", "wallet"):
        assert next(line for line in lines if f" {state} " in line).endswith("  not checked [2]")
    assert text.splitlines()[-1].startswith("No corruption found, but not everything could be checked")


def test_a_missing_file_is_told_once(out: Out, tmp_path: Path) -> None:
    """For all states that it has: once below the table, and ``count`` has the same reason as ``states``."""
    snapshot = write_snapshot(tmp_path / "s", {"op": {name: numbered(8) for name in "abc"}})
    (snapshot / "op-1").unlink()
    code, text, _ = out("validate", str(snapshot))
    assert (code, text.count("a file of the snapshot is missing")) == (1, 1)
    assert "\nop / a, b, c: a file of the snapshot is missing" in text
    assert text.splitlines()[-1] == f"Not all files can be read: {snapshot}"
    reasons = {}
    for command in ("states", "count"):
        code, text, _ = out(command, str(snapshot))
        assert (code, text.count("missing [1]"), text.count("a file of the snapshot is missing")) == (1, 3, 1)
        code, text, _ = out(command, str(snapshot), "--format", "json")
        reasons[command] = {row["state_name"]: (row["status"], row["reason"]) for row in json.loads(text)}
    assert reasons["states"] == reasons["count"]
    assert len(set(reasons["count"].values())) == 1


def test_state_without_a_form_is_listed_as_in_other_commands(out: Out, tmp_path: Path) -> None:
    """Master state and in-flight data are ``not checked``, under the names and kinds that ``count`` has."""
    snapshot = write_snapshot(tmp_path / "s", {"op": {"a": numbered(8)}})
    metadata = parse_metadata((snapshot / "_metadata").read_bytes())
    (operator,) = metadata.operators
    first = replace(operator.subtasks[0], input_channels=(channel(0, 3),))
    changed = replace(operator, subtasks=(first, *operator.subtasks[1:]))
    masters = (MasterState(1, "hook", b"\xff\x00"),)
    (snapshot / "_metadata").write_bytes(writer.metadata(replace(metadata, operators=(changed,), master_states=masters)))
    code, text, err = out("validate", str(snapshot), "--format", "json")
    assert (code, err) == (3, "")
    found = [[s[name] for name in ("operator_id", "state_name", "state_kind", "status", "rows", "bytes")]
             for s in json.loads(text)["states"]]  # fmt: skip
    assert found == [
        [operator.id, "a", "value", "sound", 8, found[0][-1]],
        [operator.id, None, "channel", "not checked", 0, 3],
        [None, "hook", "master", "not checked", 0, 2],
    ]
    code, text, err = out("count", str(snapshot), "--format", "json")
    assert (code, err) == (3, "")
    assert [[s["operator_id"], s["state_name"], s["state_kind"]] for s in json.loads(text)] == [row[:3] for row in found]
