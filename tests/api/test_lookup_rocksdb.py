"""Single keys in RocksDB's files: the rows that a filter of all of them finds, out of the blocks that can have them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import stateextract
from stateextract.api import State
from stateextract.metadata.model import SubtaskState
from stateextract.rocksdb import PairSource, RocksDB
from stateextract.state.keys.key_groups import key_groups, key_scalar
from tests.golden.expected import DATA, load
from tests.state import keyed_writer
from tests.state.keyed_writer import Entry, Keyed, i64, rocksdb, write
from tests.writers.flink_writer import LONG, STRING, VOID_NAMESPACE, flink_string, list_of, map_of

GROUPS = 4
LONGS = [-(2**63), -256, -2, -1, 0, 1, 254, 255, 256, 257, 65535, 65536, 2**56 - 1, 2**63 - 1]
STRINGS = ["", "a", "ab", "abc", "b", "a" * 126, "a" * 127, "a" * 300, "ÿ", "ÿÿ", "\x7f", "\u07ff€"]
MORE = range(1000, 1400)
# The files that checkpoints of a claimed savepoint name lie elsewhere.
NO_DATABASE = {"canonical", "changelog", "savepoint"}
GOLDEN = sorted(path.name for path in DATA.glob("*rocksdb*") if not NO_DATABASE & {*path.name.split("-")})


@pytest.fixture
def sources(monkeypatch: pytest.MonkeyPatch) -> list[PairSource]:
    """What was read of databases, a source for each state."""
    made: list[PairSource] = []
    pairs = RocksDB.pairs

    def noted(self: RocksDB, *arguments: Any, **more: Any) -> PairSource:
        made.append(pairs(self, *arguments, **more))
        return made[-1]

    monkeypatch.setattr(RocksDB, "pairs", noted)
    return made


def entry(state: State, key: Any, data: bytes, value: Any, namespace: bytes) -> Entry:
    """One of the key group that the key's hash leads to."""
    (row,) = state._rows
    assert row.key_serializer is not None
    (group,) = key_groups(key_scalar(key, state.schema.field("key").type), row.key_serializer, GROUPS) or ()
    return Entry(group, data, value, namespace)


KINDS: dict[str, Any] = {
    "VALUE": lambda data: data,
    "LIST": lambda data: [data, data],
    "MAP": lambda data: [(data, data), (i64(77), data)],
    "TIMER": lambda data: int.from_bytes(data, "big", signed=True),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("key_type", ["long", "string"])
@pytest.mark.parametrize("lengths", [False, True])
def test_keys_that_are_near_one_another(
    kind: str, key_type: str, lengths: bool, tmp_path: Path, sources: list[PairSource]
) -> None:
    """The bytes of one may begin those of another, or end in FF; a namespace may stand behind them, and lengths."""
    near: list[Any] = LONGS if key_type == "long" else STRINGS
    keys = near + [key if key_type == "long" else str(key) for key in MORE]
    namespace = (flink_string("n"), STRING) if lengths else (b"\0", VOID_NAMESPACE)
    value = {"LIST": list_of(LONG), "MAP": map_of(LONG, LONG)}.get(kind, LONG)
    shape = keyed_writer.State(
        "s", (), kind, value, namespace=namespace[1], lengths=lengths and key_type == "string" and kind != "TIMER"
    )

    def made(entries: list[Entry], folder: str) -> State:
        state = keyed_writer.State("s", entries, kind, value, shape.namespace, shape.lengths)
        keyed = Keyed([state], key=LONG if key_type == "long" else STRING)
        path = write(tmp_path / folder, [SubtaskState(0, managed_keyed=rocksdb(keyed))])
        return stateextract.open_snapshot(str(path)).operator("op").state("s")

    empty = made([], "empty")
    data = [i64(key) if key_type == "long" else flink_string(key) for key in keys]
    entries = [
        entry(empty, key, bytes_, KINDS[kind](i64(number)), namespace[0])
        for number, (key, bytes_) in enumerate(zip(keys, data, strict=True))
    ]
    state = made(entries, "full")
    rows = state.to_table().to_pylist()
    assert len(rows) == len(keys)
    of_group = len(entries) // 2
    for key in (*near, keys[-1]):
        sources.clear()
        assert state.get(key).to_pylist() == [row for row in rows if row["key"] == key]
        (source,) = sources
        assert kind == "TIMER" or source.entries < of_group / 4
    for absent in (2, -3, 2**62) if key_type == "long" else ("c", "abcd", "a" * 125, "ÿÿÿ"):
        assert state.get(absent).num_rows == 0


@pytest.mark.parametrize("case", GOLDEN)
def test_all_keys_of_databases_that_flink_wrote(case: str) -> None:
    snapshot = stateextract.open_snapshot(str(DATA / case / load(DATA / case)["snapshot"]), out_of_range="null")
    looked_up = 0
    for state in snapshot.states:
        if state.coverage.status != "decoded" or state.scope == "operator":
            continue
        rows = state.to_table().to_pylist()
        for key in {repr(row["key"]): row["key"] for row in rows}.values():
            wanted = [row for row in rows if row["key"] == key]
            if wanted and "\ufffd" not in repr(key):
                assert sorted(map(repr, state.get(key).to_pylist())) == sorted(map(repr, wanted)), (state, key)
                looked_up += 1
    assert looked_up >= 4


@pytest.mark.parametrize(
    ("name", "key", "lower"),
    [
        ("left-records", "Oslo", "05 00000010 0000000000000000 4f736c6f00000084"),
        ("IntervalJoinLeftCache", 1, "06 00000010 0000000000000000 0100000000000000"),
    ],
)
def test_the_bytes_of_sql_keys_are_known(name: str, key: Any, lower: str, monkeypatch: pytest.MonkeyPatch) -> None:
    case = "f120-sqlcore-native-rocksdb"
    snapshot = stateextract.open_snapshot(str(DATA / case / load(DATA / case)["snapshot"]))
    (state,) = (state for state in snapshot.states if state.name == name)
    bounds: list[Any] = []
    pairs = RocksDB.pairs
    monkeypatch.setattr(RocksDB, "pairs", lambda *a: (bounds.extend(a[5]), pairs(*a))[1])
    assert state.get({"f0": key}).num_rows == 1
    first = bytes.fromhex(lower)
    assert bounds == [(first, first[:-1] + bytes([first[-1] + 1]))]
