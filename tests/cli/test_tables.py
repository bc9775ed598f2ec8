"""``states``, ``schema``, ``files`` and ``types``: what they list of golden snapshots."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import stateextract
from stateextract.errors import FormatError
from stateextract.metadata.uid import operator_id
from stateextract.options import JobOptions
from stateextract.snapshot.tables import SCHEMAS, SnapshotTables
from tests.cli.test_cli import CUSTOM, DATA, KINDS, ROOT, Out, expected_of, out
from tests.job.snapshots import numbered, write_snapshot

__all__ = ["out"]  # a fixture

ORDERS = str(ROOT / "examples" / "orders-checkpoint")


def test_states_are_those_that_the_job_has(out: Out) -> None:
    rows = out.json("states", KINDS)
    wanted = {
        (o["uid"], s["name"]) for o in expected_of("f20-kinds-native")["operators"] for s in o["states"] if o["uid"]
    }
    listed = {(r["operator_uid"], r["state_name"]) for r in rows if r["state_name"]}
    assert wanted <= listed
    assert all(list(row) == SCHEMAS["states"].names for row in rows)
    (row,) = (r for r in rows if r["state_name"] == "map-long")
    assert row["state_schema"] == "struct<key:string,value:map<string,bigint>,key_group:int,subtask:int>"
    code, text, err = out("states", KINDS)
    assert (code, err) == (0, "")
    assert len(text.splitlines()) == len(rows) + 1
    line = next(line for line in text.splitlines() if " map-long " in line)
    assert line.split() == ["all-kinds", "map-long", "map", "heap", "2", "decoded"]


def test_states_that_cannot_be_read_say_why(out: Out) -> None:
    lines = out("states", CUSTOM)[1].splitlines()
    (note,) = (line[:3] for line in lines if " values of golden.MoneySerializer$Snapshot cannot be decoded: " in line)
    assert next(line for line in lines if " balance " in line).endswith(f"  unsupported {note}")


@pytest.mark.parametrize("verify", [True, False])
def test_states_looks_at_checksums_as_inspect_does(tmp_path: Path, verify: bool) -> None:
    case = "f120-changes-checkpoint-changelog-compressed"
    shutil.copytree(DATA / case, tmp_path / case)
    path = str(tmp_path / case / expected_of(case)["snapshot"])
    for log in Path(path).parent.glob("dstl/*"):
        content = bytearray(log.read_bytes())
        content[15] ^= 0x40  # in the checksum of the first chunk
        log.write_bytes(content)
    rows = SnapshotTables(JobOptions(snapshot=path, verify_checksums=verify)).states()
    decoded = {r["state_name"] for r in rows if r["form"] == "changelog" and r["status"] == "decoded"}
    assert len(decoded) == (0 if verify else 12)
    if not verify:
        states = stateextract.open_snapshot(path, verify_checksums=False).states
        assert decoded == {s.name for s in states if s.form == "changelog"}


def test_schema(out: Out) -> None:
    arguments = ("schema", ORDERS, "--operator", "sales-per-hour", "--state", "window-contents")
    (document,) = out.json(*arguments)
    assert document["columns"][:2] == [
        {"name": "key", "arrow": "string", "sql": "string"},
        {
            "name": "namespace",
            "arrow": "struct<start: timestamp[us, tz=UTC], end: timestamp[us, tz=UTC]>",
            "sql": "struct<start:timestamp,end:timestamp>",
        },
    ]
    assert (document["operator_id"], document["state_kind"]) == (operator_id("sales-per-hour"), "aggregating")
    (document,) = out.json(*arguments, "--timestamps", "nanoseconds")
    assert document["columns"][1]["sql"] == "struct<start:timestamp,end:timestamp>"


def test_schema_of_all_states(out: Out) -> None:
    documents = out.json("schema", CUSTOM)
    named = [d["state_name"] for d in documents if d["operator_label"] == "mixed" and d["state_kind"] != "timer"]
    assert named == ["balance", "first", "last", "ratio", "reading", "texts"]
    (balance,) = (d for d in documents if d["state_name"] == "balance")
    assert balance["columns"] is None or balance["status"] == "unsupported"
    assert "golden.MoneySerializer$Snapshot" in balance["reason"]
    names = [d["state_name"] for d in out.json("schema", CUSTOM, "--state", "first")]
    assert names == ["first"]
    code, _, err = out("schema", CUSTOM, "--state", "fist")
    assert code == 2
    assert "no state is called 'fist'" in err


def test_types_on_request_come_from_a_job_file(out: Out, tmp_path: Path) -> None:
    (tmp_path / "job.toml").write_text('[types]\n"orders-by-customer/order-ids/value.element" = "string"\n')
    (document,) = out.json("schema", ORDERS, "--state", "order-ids", "--config", str(tmp_path / "job.toml"))
    assert document["columns"][1] == {"name": "value", "arrow": "list<item: string>", "sql": "array<string>"}


def test_files(out: Out) -> None:
    rows = out.json("files", ORDERS)
    assert [row["size_in_bytes"] for row in rows] == [4812, 3168, 7960, 7278]
    assert rows == [
        {name: row.get(name) for name in SCHEMAS["files"].names}
        for row in SnapshotTables(JobOptions(snapshot=ORDERS)).files()
    ]
    assert [row["operator_uid"] for row in out.json("files", ORDERS, "--operator", "sales-per-hour")] == [
        "sales-per-hour"
    ] * 2
    code, _, err = out("files", ORDERS, "--operator", "sales")
    assert code == 2
    assert "no operator has the uid, name or id 'sales'. The nearest are 'sales-per-hour'." in err


def test_files_that_are_missing(out: Out, tmp_path: Path) -> None:
    shutil.copytree(ORDERS, tmp_path / "orders")
    folder = tmp_path / "orders" / "chk-2"
    gone = next(path for path in sorted(folder.iterdir()) if path.name != "_metadata")
    gone.unlink()
    code, text, err = out("files", str(folder))
    assert code == 1
    assert err == "Error: 1 of 4 files is missing, or not as large as it should be.\n"
    assert gone.name in text


def test_types_that_there_are_not(out: Out) -> None:
    assert out("types", "nothing-of-the-kind") == (
        0, "No serializer or type has 'nothing-of-the-kind' in it.\n", "",
    )  # fmt: skip


def test_types(out: Out) -> None:
    listed = {row["snapshot_class"]: row for row in out.json("types")}
    assert listed["org.apache.flink.api.common.typeutils.base.MapSerializerSnapshot"] == {
        "snapshot_class": "org.apache.flink.api.common.typeutils.base.MapSerializerSnapshot",
        "column": "map<string, int64>",
        "kernel": True,
        "reason": None,
    }
    found = out.json("types", "Tuple0", "BITMAP")
    assert [row["snapshot_class"].rpartition(".")[2] for row in found] == [
        "BitmapSerializer$BitmapSerializerSnapshot",
        "Tuple0SerializerSnapshot",
    ]


HOSTILE = "[red]x[/red] \x1b[31m\n\u202e\ud800"


@pytest.mark.parametrize("command", ["states", "inspect", "schema"])
def test_names_are_shown_and_never_obeyed(out: Out, tmp_path: Path, command: str) -> None:
    write_snapshot(tmp_path / "s", {"op": {HOSTILE.rstrip("\ud800"): numbered(4)}})
    code, shown, _ = out(command, str(tmp_path / "s"))
    assert code == 0
    assert "[red]x[/red] \\x1b[31m" in " ".join(shown.split())
    assert not {"\x1b", "\u202e"} & set(shown)


def test_what_errors_say_is_never_obeyed() -> None:
    error = FormatError(f"a state called {HOSTILE}", file="a\x9bb")
    assert str(error) == "a state called [red]x[/red] \\x1b[31m\n\\u202e\ufffd; in file a\\x9bb."
