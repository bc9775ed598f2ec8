"""``get`` and ``count``: what they print."""

from __future__ import annotations

from pathlib import Path

from stateextract.metadata.uid import operator_id
from tests.cli.test_cli import CUSTOM, KINDS, MAP_LONG, Out, loaded_by, out
from tests.cli.test_tables import ORDERS
from tests.job.snapshots import numbered, write_snapshot

__all__ = ["out"]  # a fixture

VOUCHER = ("get", ORDERS, "--operator", "orders-by-customer", "--state", "voucher")
WINDOW = ("get", ORDERS, "--operator", "sales-per-hour", "--state", "window-contents", "--key", "tea")


def test_get(out: Out) -> None:
    assert out.json(*VOUCHER, "--key", "elif") == {
        "operator_id": operator_id("orders-by-customer"),
        "operator_uid": "orders-by-customer",
        "operator_name": "orders by customer",
        "operator_label": "orders-by-customer",
        "state_name": "voucher",
        "state_scope": "keyed",
        "state_kind": "value",
        "status": "decoded",
        "reason": None,
        "key_groups": [0],
        "schema": [
            {"name": "key", "type": "string"},
            {"name": "value", "type": "string"},
            {"name": "last_access", "type": "timestamp[us, tz=UTC]"},
            {"name": "key_group", "type": "int32"},
            {"name": "subtask", "type": "int32"},
        ],
        "rows": [
            {
                "key": "elif",
                "value": "WELCOME-179",
                "last_access": "2026-11-28T01:43:25.03Z",
                "key_group": 0,
                "subtask": 0,
            }
        ],
    }
    code, text, err = out(*VOUCHER, "--key", "elif")
    assert (code, err) == (0, "")
    assert text.splitlines()[1].split() == ["elif", "WELCOME-179", "2026-11-28T01:43:25.03Z", "0", "0"]


def test_get_of_a_window(out: Out) -> None:
    assert len(out.json(*WINDOW)["rows"]) == 6
    window = '{"start": "2023-11-14T22:00:00Z", "end": "2023-11-14T23:00:00Z"}'
    (row,) = out.json(*WINDOW, "--namespace", window)["rows"]
    assert row["value"] == {"f0": 4, "f1": 46}
    code, _, err = out(*WINDOW, "--namespace", '{"from": 1}')
    assert code == 2
    assert "there is no field 'from'" in err.lower()


def test_get_of_a_key_that_is_not_there(out: Out) -> None:
    code, text, err = out(*VOUCHER, "--key", "nobody")
    assert (code, err) == (0, "")
    assert text == "No row of 'voucher' has this key, which could only be in key group 59.\n"
    document = out.json(*VOUCHER, "--key", "nobody")
    assert (document["rows"], document["key_groups"]) == ([], [59])


def test_get_says_that_it_reads_everything(out: Out, tmp_path: Path) -> None:
    write_snapshot(tmp_path / "s", {"op": {"a": numbered(10)}})
    (tmp_path / "job.toml").write_text('[types]\n"op/a/key" = "string"\n')
    code, text, err = out("get", str(tmp_path / "s"), "--key", "3", "--config", str(tmp_path / "job.toml"))
    assert code == 0
    assert text.splitlines()[1].split() == ["3", "30", "3", "0"]
    assert err == "Note: the hash of such keys is not known, so stateextract searched all key groups.\n"


def test_get_loads_no_kernel() -> None:
    loaded = loaded_by("get", KINDS, *MAP_LONG[2:], "--key", "a", "--format", "json")
    assert not loaded & {"numba", "pandas", "rich", "pyspark"}


def test_count(out: Out) -> None:
    documents = out.json("count", ORDERS)
    assert {d["state_name"]: d["rows"] for d in documents} == {
        "_timer_state/event_user-timers": 50,
        "_timer_state/processing_user-timers": 0,
        "_timer_state/event_window-timers": 36,
        "_timer_state/processing_window-timers": 0,
        "cents-by-product": 5,
        "last-order": 5,
        "order-ids": 5,
        "voucher": 5,
        "window-contents": 36,
    }
    flat = out.json("count", ORDERS, "--state", "order-ids", "--flatten")
    assert flat[0]["rows"] == 200


def test_count_of_what_cannot_be_read(out: Out) -> None:
    code, text, err = out("count", CUSTOM, "--operator", "mixed")
    assert (code, err) == (3, "")
    lines = {line.split()[1]: line.split()[1:] for line in text.splitlines() if line.startswith("mixed ")}
    assert lines["texts"] == ["texts", "list", "8"]
    assert "cannot be decoded" in " ".join(text.split())
