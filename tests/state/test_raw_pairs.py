"""Values that nobody can decode, in bodies that say how long each is: keys are told, values kept as bytes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import stateextract
from stateextract.api import State as ReadState
from stateextract.errors import UndecodableError
from stateextract.job.execute import in_this_process
from stateextract.job.run import run_job
from stateextract.metadata.model import SubtaskState
from stateextract.options import JobOptions
from tests.job.snapshots import UNKNOWN
from tests.state.keyed_writer import FORMS, LONG, STRING, Entry, Keyed, State, i32, i64, write
from tests.writers.flink_writer import INT, flink_string, list_of, map_of, versioned

ENGINES = ("interpreter", "kernel")
WITH_LENGTHS = ("canonical", "canonical compressed", "RocksDB")
WHY = "com.example.ShapeSerializerSnapshot cannot be decoded: the serializer's snapshot class is not known"
ODD = versioned("com.example.ShapeSerializerSnapshot", 1, b"\x00\x00\x01\x02\xac\xed bytes that only the class knows")
"""Of the same class, with a payload in none of the usual shapes."""
UNKNOWN_KEY = versioned("com.example.KeySerializerSnapshot", 1)
TIME_WINDOW = versioned(
    "org.apache.flink.streaming.api.windowing.windows.TimeWindow$Serializer$TimeWindowSerializerSnapshot", 3
)
A, B = flink_string("a"), flink_string("b")


def state(folder: Path, form: str, engine: Any, keyed: Keyed, name: str, **options: Any) -> ReadState:
    path = write(folder, [SubtaskState(0, managed_keyed=FORMS[form](keyed))])
    return stateextract.open_snapshot(str(path), decoder=engine, **options).operator("op").state(name)


def raw_rows(read: ReadState) -> list[dict[str, Any]]:
    found = read.raw_batches().read_all()
    return sorted(found.to_pylist(), key=lambda row: (row["key_group"], row["bytes"]))


def row(columns: Mapping[str, Any], key_group: int, data: bytes, reason: str) -> dict[str, Any]:
    rest = {"key_group": key_group, "part": 0, "entries": 1, "bytes": data, "reason": reason, "subtask": 0}
    return {**columns, **rest}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("form", WITH_LENGTHS)
def test_values(form: str, engine: str, tmp_path: Path) -> None:
    """In the namespace of a window, so that all columns of a key are there."""
    entries = [Entry(0, A, b"\x01\x02", i64(0, 1000)), Entry(0, B, b"", i64(0, 1000)), Entry(2, A, b"x", i64(5, 6))]
    good = State("good", [Entry(1, A, i64(7))])
    keyed = Keyed([State("shapes", entries, "VALUE", UNKNOWN, TIME_WINDOW), good], STRING)
    read = state(tmp_path, form, engine, keyed, "shapes", on_undecodable="raw")
    rows = raw_rows(read)
    assert list(rows[0]) == [
        "key", "namespace", "window_start", "window_end", "key_bytes", "key_group", "part", "entries", "bytes", "reason",
        "subtask",
    ]  # fmt: skip
    assert [(r["key"], r["key_bytes"], r["key_group"], r["bytes"], r["entries"], r["subtask"]) for r in rows] == [
        ("b", None, 0, b"", 1, 0),
        ("a", None, 0, b"\x01\x02", 1, 0),
        ("a", None, 2, b"x", 1, 0),
    ]
    assert {r["reason"] for r in rows} == {"values of " + WHY}
    assert all(r["namespace"] == {"start": r["window_start"], "end": r["window_end"]} for r in rows)
    assert [r["window_end"].timestamp() for r in rows] == [1.0, 1.0, 0.006]
    assert read.to_table().num_rows == 0
    assert (read.coverage.status, read.coverage.counters.raw_rows, read.coverage.counters.lost_entries) == ("raw", 3, 3)
    other = state(tmp_path, form, engine, keyed, "good", on_undecodable="raw")
    assert other.to_table().column("value").to_pylist() == [7]
    assert other.raw_batches().read_all().num_rows == 0


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("form", WITH_LENGTHS)
def test_skipped_and_failing(form: str, engine: str, tmp_path: Path) -> None:
    keyed = Keyed([State("shapes", [Entry(g, i64(g), b"???") for g in range(4)], "VALUE", UNKNOWN)])
    read = state(tmp_path, form, engine, keyed, "shapes", on_undecodable="skip")
    assert read.to_table().num_rows == 0
    counters = read.coverage.counters
    assert (read.coverage.status, counters.lost_entries, counters.raw_rows, counters.rows) == ("skipped", 4, 0, 0)
    assert counters.problems == ["values of " + WHY]
    with pytest.raises(UndecodableError, match="ShapeSerializerSnapshot"):
        state(tmp_path, form, engine, keyed, "shapes").to_table()


@pytest.mark.parametrize("unknown", [UNKNOWN, ODD], ids=["usual", "odd"])
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("form", WITH_LENGTHS)
def test_lists_and_maps(form: str, engine: str, unknown: bytes, tmp_path: Path) -> None:
    """A list is one value; of a map each entry is, with its user key and the flag in front of its value."""
    keyed = Keyed(
        [
            State("list", [Entry(1, i64(5), [b"ab", b"c"])], "LIST", list_of(unknown)),
            State("map", [Entry(1, i64(5), [(A, b"ab"), (B, None)])], "MAP", map_of(STRING, unknown)),
            State("by unknown", [Entry(1, i64(5), [(b"xyz", i64(1))])], "MAP", map_of(unknown, LONG)),
        ]
    )
    of_list = raw_rows(state(tmp_path, form, engine, keyed, "list", on_undecodable="raw"))
    assert [(r["key"], r["key_bytes"], r["bytes"]) for r in of_list] == [(5, None, b"ab,c")]
    assert of_list[0]["reason"] == "a value of " + WHY
    read = state(tmp_path, form, engine, keyed, "map", on_undecodable="raw")
    assert [(r["key"], r["map_key"], r["key_bytes"], r["bytes"]) for r in raw_rows(read)] == [(5, "a", None, b"\0ab")]
    # The null value is one that can be decoded.
    assert read.to_table().to_pylist() == [{"key": 5, "value": [("b", None)], "key_group": 1, "subtask": 0}]
    assert read.coverage.status == "partial"
    rows = raw_rows(state(tmp_path, form, engine, keyed, "by unknown", on_undecodable="raw"))
    assert [(r["key"], r["key_bytes"], r["bytes"]) for r in rows] == [
        (None, b"\x01" + i64(5) + b"\0xyz", b"\0" + i64(1))
    ]
    assert "map_key" not in rows[0]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("form", WITH_LENGTHS)
def test_keys(form: str, engine: str, tmp_path: Path) -> None:
    """A key that cannot be decoded is kept whole, from its key group on; of a timer that is all there is."""
    keyed = Keyed(
        [
            State("numbers", [Entry(3, b"k1", i64(1)), Entry(3, b"k2", i64(2))]),
            State("_timer_state/event_user-timers", [Entry(3, b"k1", 9)], "TIMER"),
        ],
        UNKNOWN_KEY,
    )
    rows = raw_rows(state(tmp_path, form, engine, keyed, "numbers", on_undecodable="raw"))
    reason = (
        "a value of com.example.KeySerializerSnapshot cannot be decoded: the serializer's snapshot class is not known"
    )
    assert rows == [
        row({"key_bytes": b"\x03k1\0"}, 3, i64(1), reason),
        row({"key_bytes": b"\x03k2\0"}, 3, i64(2), reason),
    ]
    timers = raw_rows(state(tmp_path, form, engine, keyed, "_timer_state/event_user-timers", on_undecodable="raw"))
    assert timers == [row({}, 3, b"\x80" + bytes(6) + b"\x09k1\0", reason)]


@pytest.mark.parametrize("engine", ENGINES)
def test_of_many_pairs_only_those(engine: str, tmp_path: Path) -> None:
    """Enough for several batches of bytes, in a state that is decoded otherwise."""
    count = 20_000
    entries = [(i32(n), b"???" if n % 2 else None) for n in range(count)]
    keyed = Keyed([State("map", [Entry(1, i64(5), entries)], "MAP", map_of(INT, UNKNOWN))])
    read = state(tmp_path, "canonical", engine, keyed, "map", on_undecodable="raw")
    kept = read.raw_batches().read_all()
    assert sorted(kept["map_key"].to_pylist()) == list(range(1, count, 2))
    assert set(kept["bytes"].to_pylist()) == {b"\0???"}
    counters = read.coverage.counters
    assert (read.coverage.complete, counters.lost_entries, counters.raw_rows) == (True, 10_000, 10_000)
    (whole,) = read.to_table()["value"].to_pylist()
    assert sorted(whole) == [(n, None) for n in range(0, count, 2)]


@pytest.mark.parametrize("form", FORMS)
def test_a_job_keeps_them_beside_the_state(form: str, tmp_path: Path) -> None:
    """The columns are the same from every form; bodies without lengths cannot tell the keys."""
    entries = [Entry(0, A, b"\x01\x02"), Entry(1, B, b"\x03")]
    keyed = Keyed([State("shapes", entries, "VALUE", UNKNOWN)], STRING)
    path = write(tmp_path / "chk-1", [SubtaskState(0, managed_keyed=FORMS[form](keyed))])
    out = tmp_path / "out"
    options = JobOptions(snapshot=str(path), output=str(out), on_undecodable="raw")
    outcome = run_job(options, in_this_process)
    (dataset,) = [d for d in outcome.manifest.datasets if d.raw]
    found = pq.read_table(out / dataset.folder)
    assert found.schema.remove_metadata() == pa.schema(
        [
            ("key", pa.string()), ("key_bytes", pa.binary()), ("key_group", pa.int32()), ("part", pa.int32()),
            ("entries", pa.int64()), ("bytes", pa.binary()), ("reason", pa.string()), ("subtask", pa.int32()),
        ]
    )  # fmt: skip
    rows = [(r["key"], r["key_group"], r["bytes"]) for r in found.to_pylist()]
    if form.startswith("heap"):
        # As they stand there: namespace, key, value.
        assert rows == [(None, 0, b"\0" + A + b"\x01\x02"), (None, 1, b"\0" + B + b"\x03")]
    else:
        assert rows == [("a", 0, b"\x01\x02"), ("b", 1, b"\x03")]


def test_the_rest_of_a_key_group_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No row has more bytes than a column can hold; the first one has the number of entries."""
    shapes = [Entry(group, A, bytes([65 + number]) * 30_000) for group in (0, 2) for number in range(2)]
    keyed = Keyed([State("shapes", shapes, "VALUE", UNKNOWN)], STRING)
    (tmp_path / "whole").mkdir()
    whole = raw_rows(state(tmp_path / "whole", "heap", "auto", keyed, "shapes", on_undecodable="raw"))
    assert [(row["key_group"], row["part"], row["entries"]) for row in whole] == [(0, 0, 2), (2, 0, 2)]
    monkeypatch.setattr("stateextract.state.target._RAW_PART", 20_000)
    monkeypatch.setattr("stateextract.files.window.WINDOW", 8 << 10)
    read = state(tmp_path, "heap", "auto", keyed, "shapes", on_undecodable="raw")
    found = read.raw_batches().read_all().to_pylist()
    for row in whole:
        parts = [part for part in found if part["key_group"] == row["key_group"]]
        assert [part["part"] for part in parts] == list(range(len(parts)))
        assert [part["entries"] for part in parts] == [2, *[None] * (len(parts) - 1)]
        assert len(parts) > 1
        assert b"".join(part["bytes"] for part in parts) == row["bytes"]
    assert read.coverage.counters.raw_rows == len(found)


@pytest.mark.parametrize("engine", ENGINES)
def test_more_pairs_than_a_batch(engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stateextract.state.bodies.raw_pairs._ROWS", 3)
    entries = [Entry(1, flink_string(f"k{n}"), bytes([n])) for n in range(8)]
    keyed = Keyed([State("shapes", entries, "VALUE", UNKNOWN)], STRING)
    rows = raw_rows(state(tmp_path, "canonical", engine, keyed, "shapes", on_undecodable="raw"))
    assert [(row["key"], row["bytes"]) for row in rows] == [(f"k{n}", bytes([n])) for n in range(8)]
