"""All commands over one snapshot with a missing file, an unknown class, a damaged header and a damaged body: word and exit code
of each."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from stateextract.api.state import State
from stateextract.cli import _COMMANDS
from stateextract.metadata.model import KeyGroupsHandle
from stateextract.metadata.parser import parse_metadata
from tests.cli.test_cli import Out, out
from tests.job.snapshots import UNKNOWN, numbered, write_snapshot

__all__ = ["out"]  # a fixture

FINE, GONE, CORRUPT, STRANGE, TORN = "fine", "gone", "corrupt", "strange", "torn"
"""Operators: whole; with a missing file; with a corrupt header; with a value of an unknown class between two states; with a
corrupt key group in one of two files."""


@pytest.fixture
def damaged(tmp_path: Path) -> str:
    """Keyed state of five operators; of ``strange`` the last state is after one of an unknown class."""
    path = write_snapshot(
        tmp_path / "s",
        {
            FINE: {"total": numbered(8)},
            GONE: {"lost": numbered(8)},
            CORRUPT: {"hidden": numbered(8)},
            STRANGE: {"first": numbered(8), "money": numbered(8), "behind": numbered(8)},
            TORN: {"half": numbered(8)},
        },
        values={"money": UNKNOWN},
    )
    (path / f"{GONE}-1").unlink()
    for subtask in (0, 1):
        head = path / f"{CORRUPT}-{subtask}"
        head.write_bytes(b"\x7f" + head.read_bytes()[1:])
    (torn,) = (o for o in parse_metadata((path / "_metadata").read_bytes()).operators if o.uid == TORN)
    handle = torn.subtasks[0].managed_keyed
    assert isinstance(handle, KeyGroupsHandle)
    body = bytearray((path / f"{TORN}-0").read_bytes())
    body[handle.offsets[1]] = 0x7F  # the number of the key group
    (path / f"{TORN}-0").write_bytes(body)
    return str(path)


EXPECTED = {
    (FINE, "total"): "decoded", (GONE, "lost"): "missing", (CORRUPT, None): "unreadable",
    (STRANGE, "first"): "decoded", (STRANGE, "money"): "unsupported", (STRANGE, "behind"): "uncertain",
    (TORN, "half"): "decoded",
}  # fmt: skip
READ = {**EXPECTED, (STRANGE, "behind"): "unsupported", (TORN, "half"): "unreadable"}
"""What a read makes of the uncertain one, and of the one whose header is sound."""


def told(out: Out, *arguments: str) -> tuple[int, Any]:
    code, text, _ = out(*arguments, "--format", "json")
    return code, json.loads(text)


def words(rows: list[dict[str, Any]]) -> dict[tuple[str, str | None], str]:
    label = "operator_label" if "operator_label" in rows[0] else "operator_uid"
    return {(row[label], row["state_name"]): row["status"] for row in rows}


def test_the_walk_covers_all_commands() -> None:
    walked = {
        "checkpoints", "inspect", "states", "schema", "files", "head", "get", "count", "validate", "stats", "audit", "history",
        "check",
    }  # fmt: skip
    without_states = {"types", "uid-hash", "completion", "kafka-offsets"}
    assert set(_COMMANDS) == walked | without_states | {"report", "extract", "diff", "watch"}


def test_checkpoints(out: Out, damaged: str) -> None:
    """A snapshot as a whole: a missing file is seen, and what is inside of files is not looked at."""
    code, document = told(out, "checkpoints", damaged)
    (row,) = document["snapshots"]
    assert (code, row["status"], row["file_count"], row["missing_file_count"]) == (1, "files missing", 11, 1)
    assert f"{GONE}-1" in row["reason"]


def test_states(out: Out, damaged: str) -> None:
    code, rows = told(out, "states", damaged)
    assert (code, words(rows)) == (3, EXPECTED)
    reasons = {(row["operator_uid"], row["state_name"]): row["reason"] for row in rows}
    assert f"{GONE}-1" in reasons[GONE, "lost"]
    assert f"{CORRUPT}-0" in reasons[CORRUPT, None]
    assert "after state 'money'" in reasons[STRANGE, "behind"]


def test_inspect(out: Out, damaged: str) -> None:
    code, document = told(out, "inspect", damaged)
    found = {(o["operator_uid"], s["state_name"]): s["status"] for o in document["operators"] for s in o["states"]}
    assert (code, found) == (3, EXPECTED)
    assert [Path(path).name for path in document["missing_files"]] == [f"{GONE}-1"]


def test_schema(out: Out, damaged: str) -> None:
    code, rows = told(out, "schema", damaged)
    assert (code, words(rows)) == (3, EXPECTED)


def test_count(out: Out, damaged: str) -> None:
    code, rows = told(out, "count", damaged)
    assert (code, words(rows)) == (3, READ)
    assert {row["state_name"]: row["rows"] for row in rows if row["rows"] is not None} == {"total": 8, "first": 8}
    for operator in (GONE, CORRUPT, TORN):
        assert told(out, "count", damaged, "--operator", operator)[0] == 1
    assert told(out, "count", damaged, "--operator", FINE)[0] == 0
    reason = next(row["reason"] for row in rows if row["state_name"] == "money")
    assert reason.endswith("Register a serializer as a plug-in."), "count has no --on-undecodable"


def test_validate(out: Out, damaged: str) -> None:
    code, document = told(out, "validate", damaged)
    checked = {"decoded": "sound", "unsupported": "not checked"}
    expected = {key: checked.get(word, word) for key, word in READ.items()} | {(TORN, "half"): "damaged"}
    assert (code, words(document["states"])) == (1, expected)


def test_files(out: Out, damaged: str) -> None:
    code, rows = told(out, "files", damaged)
    assert (code, [Path(row["file_path"]).name for row in rows if row["problem"]]) == (1, [f"{GONE}-1"])
    _, _, err = out("files", damaged)
    assert err == "Error: 1 of 10 files is missing, or not as large as it should be.\n"
    assert "Note: 1 of 10 files is missing" in out("inspect", damaged)[1]
    assert out("files", damaged, "--operator", FINE)[0] == 0


@pytest.mark.parametrize(
    ("operator", "state", "code"),
    [(FINE, "total", 0), (STRANGE, "first", 0), (GONE, "lost", 1), (CORRUPT, "hidden", 1), (STRANGE, "money", 1),
     (STRANGE, "behind", 1), (TORN, "half", 1)],
)  # fmt: skip
@pytest.mark.parametrize("command", [["head"], ["get", "--key", "3"]])
def test_rows_of_one_state(
    out: Out, damaged: str, command: list[str], operator: str, state: str, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The kernel, if an earlier test has loaded it, reads only key groups that have the key's bytes.
    monkeypatch.setattr(State, "_holding", lambda _, file, content, key: content)
    found, text, err = out(command[0], damaged, *command[1:], "--operator", operator, "--state", state)
    assert found == code
    assert (not text and err.startswith("Error: ") and f"operator {operator}" in err) if code else not err


def test_rows_with_something_skipped(out: Out, damaged: str) -> None:
    code, text, _ = out("head", damaged, "--operator", STRANGE, "--state", "behind", "--on-undecodable", "skip")
    assert code == 3
    assert "skipped: " in text
    code, _, err = out(
        "get", damaged, "--operator", STRANGE, "--state", "behind", "--key", "3", "--on-undecodable", "skip"
    )
    assert code == 3
    assert "skipped: " in err


def test_a_state_that_is_not_there_is_a_usage_error(out: Out, damaged: str) -> None:
    for command in (["head"], ["get", "--key", "3"], ["count"], ["schema"]):
        code, _, err = out(command[0], damaged, *command[1:], "--operator", FINE, "--state", "none")
        assert code == 2, command
        assert "no state of the operator is called 'none'" in err


SALVAGED = {**EXPECTED, (GONE, "lost"): "partial", (STRANGE, "money"): "skipped", (STRANGE, "behind"): "skipped",
            (TORN, "half"): "partial"}  # fmt: skip
"""What remains where all states are read at once: of ``lost`` the file that is there, of ``half`` the other key groups."""


def test_stats(out: Out, damaged: str) -> None:
    code, document = told(out, "stats", damaged)
    found = {(o["operator_label"], s["state_name"]): s["status"] for o in document["operators"] for s in o["states"]}
    assert (code, found) == (3, SALVAGED)
    assert out("stats", damaged, "--operator", FINE)[0] == 0
    assert ".." not in out("stats", damaged)[1].replace("...", "")


def test_history_and_report(out: Out, damaged: str, tmp_path: Path) -> None:
    assert out("history", damaged, "-o", str(tmp_path / "history"))[0] == 3
    assert out("report", damaged, "-o", str(tmp_path / "report.html"))[0] == 3
    page = (tmp_path / "report.html").read_text()
    assert all(f'"status":"{word}"' in page for word in ("decoded", "partial", "skipped", "unreadable"))
    assert out("report", damaged, "-o", str(tmp_path / "fine.html"), "--operator", FINE)[0] == 0


def test_audit(out: Out, damaged: str, tmp_path: Path) -> None:
    rules = tmp_path / "rules.toml"
    rules.write_text('[[rules]]\nname = "few"\nmax-rows = 100\n')
    code, document = told(out, "audit", damaged, "--rules", str(rules))
    broken = {v["operator_label"]: v["state_name"] for rule in document["rules"] for v in rule["violations"]}
    assert (code, set(broken)) == (5, {GONE, STRANGE, TORN})
    rules.write_text('[[rules]]\nname = "few"\noperator = "fine"\nmax-rows = 100\n')
    assert out("audit", damaged, "--rules", str(rules))[0] == 0


def test_check(out: Out, damaged: str) -> None:
    code, document = told(out, "check", damaged, "--against", damaged)
    found = {(row["operator_label"], row["state_name"]): row["verdict"] for row in document["states"]}
    as_is, unknown = "restores as is", "cannot be known offline"
    assert (code, document["exit_code"], document["verdict"]) == (3, 3, unknown)
    assert found == {
        (FINE, "total"): as_is, (GONE, "lost"): as_is, (GONE, None): unknown, (CORRUPT, None): unknown,
        (STRANGE, "first"): as_is, (STRANGE, "money"): unknown, (STRANGE, "behind"): as_is,
        (TORN, "half"): as_is,
    }  # fmt: skip
    assert out("check", damaged, "--against", damaged, "--no-values")[0] == 3


def test_extract(out: Out, damaged: str, tmp_path: Path) -> None:
    arguments = ("extract", damaged, "--engine", "local", "--format", "json", "-o")
    code, text, _ = out(*arguments, str(tmp_path / "out"))
    document = json.loads(text)
    assert (code, document["exit_code"]) == (3, 3)
    found = {(e["operator_uid"], e["state_name"]): e["status"] for e in document["coverage"]["entries"]}
    assert found == {**SALVAGED, (STRANGE, "money"): "unsupported"}
    assert {d["state_name"] for d in document["datasets"]} == {"total", "lost", "first", "half"}
    assert {d["state_name"]: d["rows"] for d in document["datasets"]}["half"] == 7
    code, text, _ = out(*arguments, str(tmp_path / "fine"), "--operator", FINE)
    assert (code, json.loads(text)["exit_code"]) == (0, 0)
    assert out(*arguments, str(tmp_path / "none"), "--operator", CORRUPT)[0] == 1


def test_diff(out: Out, damaged: str) -> None:
    code, document = told(out, "diff", damaged, damaged)
    assert (code, document["exit_code"]) == (3, 3)
    assert told(out, "diff", damaged, damaged, "--operator", FINE)[0] == 0
    lines = out("diff", damaged, damaged)[1].splitlines()
    caused = [line for line in lines if "cannot be decoded" in line or "is not known:" in line]
    assert caused == [
        "2 states (strange / behind in 8 key groups (0, 1, 2, 3, 4, 5, 6, 7), strange / money): not compared: "
        "1 serializer is not known: com.example.ShapeSerializerSnapshot → 1 state after it is unreadable.",
    ]
    assert not [line for line in lines if line.endswith("..")]


def test_commands_without_a_snapshot(out: Out) -> None:
    assert [out(*line)[0] for line in (("types",), ("uid-hash", "a"), ("completion", "bash"))] == [0, 0, 0]
