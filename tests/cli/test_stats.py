"""``stateextract stats``, and times and durations on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from stateextract.audit.document import Statistics
from stateextract.audit.durations import milliseconds, moment, text_duration
from stateextract.audit.statistics import StatisticsOptions, statistics
from stateextract.cli import run
from stateextract.errors import UsageError
from stateextract.options import JobOptions
from stateextract.snapshot.uids import parse_uids
from tests.golden.expected import DATA, load

ORDERS = str(Path(__file__).resolve().parents[2] / "examples" / "orders-checkpoint")


def stats(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert run(["stats", ORDERS, "--format", "json", *arguments]) == 0
    return json.loads(capsys.readouterr().out)


def test_json_is_the_document(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "stats.json"
    document = stats(capsys, "--as-of", "2023-11-29T00:00:00Z", "-o", str(file))
    expected = statistics(JobOptions(snapshot=ORDERS), StatisticsOptions(as_of_ms=1_701_216_000_000))
    assert document == expected.as_dict()
    assert Statistics.from_json(file.read_text()) == expected
    assert document["as_of_ms"] == 1_701_216_000_000
    assert document["totals"] == {
        "operators": 3, "states": 9, "rows": 142, "file_bytes": 12_896, "decoded_bytes": 6_401,
    }  # fmt: skip


def test_ages_are_counted_to_when_the_snapshot_was_taken(capsys: pytest.CaptureFixture[str]) -> None:
    document = stats(capsys)
    written = Path(ORDERS, "chk-2", "_metadata").stat().st_mtime
    assert document["as_of_ms"] == document["snapshot"]["taken_ms"] == int(written * 1000)


@pytest.mark.parametrize(
    ("ttl", "expired"),
    [
        ("11h", 5),
        ("12h", 3),
        ("13h", 0),
        ("voucher=11h", 5),
        ("orders-by-customer/voucher=11h", 5),
    ],
)
def test_expired_by_a_time_to_live(capsys: pytest.CaptureFixture[str], ttl: str, expired: int) -> None:
    # The last accesses are at 01:43:25.030 three times, and twice at 01:43:25.054.
    document = stats(capsys, "--state", "voucher", "--ttl", ttl, "--as-of", "2026-11-28T13:43:25.030Z")
    (state,) = [s for o in document["operators"] for s in o["states"] if s["state_name"] == "voucher"]
    assert state["ttl"]["expired"] == expired
    assert state["ttl"]["rows_with_time"] == 5


def test_top(capsys: pytest.CaptureFixture[str]) -> None:
    document = stats(capsys, "--state", "order-ids", "--top", "2")
    (state,) = [s for o in document["operators"] for s in o["states"] if s["state_name"] == "order-ids"]
    assert len(state["biggest_keys"]) == len(state["biggest_values"]) == 2
    assert state["biggest_values"][0]["bytes"] == 324


def test_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["stats", ORDERS, "--state", "voucher", "--ttl", "1h"]) == 0
    text = capsys.readouterr().out
    assert "3 operators, 9 states, 5 rows" in text
    assert "WELCOME-173" in text
    assert "last-order" not in text


def test_whose_state_it_is(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    uids = tmp_path / "uids"
    uids.write_text("# the job of today\norders-by-customer\n\n")
    document = stats(capsys, "--uids", str(uids))
    assert {o["operator_label"]: (o["unowned"], o["without_uid"]) for o in document["operators"]} == {
        "orders": (False, False),  # it has no state
        "orders-by-customer": (False, False),
        "sales-per-hour": (True, False),
    }
    assert run(["stats", ORDERS, "--uids", str(uids)]) == 0
    assert "State that no operator of the job owns: sales-per-hour." in capsys.readouterr().out
    assert {o["unowned"] for o in stats(capsys)["operators"]} == {None}


def test_uids_as_json(tmp_path: Path) -> None:
    assert parse_uids('["a", "b"]') == parse_uids("a\n# b\nb") == ["a", "b"]
    for text in ("[1]", "[", '["a"'):
        with pytest.raises(UsageError):
            parse_uids(text)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--ttl", "soon"], "--ttl 'soon' is not a duration"),
        (["--ttl", "nothing=1d"], "a time to live is given for 'nothing'"),
        (["--as-of", "yesterday"], "--as-of 'yesterday' is not a time"),
        (["--uids", "nowhere"], "--uids nowhere cannot be read"),
        (["--state", "vouchers"], "no state is called 'vouchers'"),
    ],
)
def test_what_cannot_be_right(capsys: pytest.CaptureFixture[str], arguments: list[str], message: str) -> None:
    assert run(["stats", ORDERS, *arguments]) == 2
    assert message in capsys.readouterr().err


def test_it_cannot_be_written(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run(["stats", ORDERS, "--state", "voucher", "-o", str(tmp_path)]) == 1
    assert "it cannot be written" in capsys.readouterr().err


def test_operators_without_a_uid() -> None:
    before = load(DATA / "f117-sql-checkpoint")
    document = statistics(JobOptions(snapshot=str(DATA / "f117-sql-checkpoint" / before["snapshot"])))
    assert {o.without_uid for o in document.operators} == {None}


def test_durations() -> None:
    assert [milliseconds(t, "x") for t in ("7d", "1.5 h", "10min", "2s", "3ms")] == [
        604_800_000,
        5_400_000,
        600_000,
        2000,
        3,
    ]
    assert [text_duration(ms) for ms in (604_800_000, 5_400_000, 600_000, 2000, 3)] == [
        "7 d",
        "1 h",
        "10 min",
        "2 s",
        "3 ms",
    ]
    assert moment("1970-01-02", "x") == moment("1970-01-02T01:00:00+01:00", "x") == 86_400_000
    assert moment("1700000000000", "x") == 1_700_000_000_000
