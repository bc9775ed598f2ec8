"""A hot key: one entry that is larger than a window is read element by element where its row is not needed as a whole."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import stateextract
from benchmarks.flink_writer import flink_string, list_of, map_of
from stateextract.errors import TruncatedError
from stateextract.files.window import Window
from stateextract.metadata.model import InlineHandle, KeyGroupsHandle, SubtaskState
from stateextract.state import heap, large_entry
from stateextract.state.large_entry import LargeEntry
from tests.state.keyed_writer import FORMS, LONG, STRING, Entry, Keyed, State, i64, write

ENGINES = ("interpreter", "kernel")
N = 20_000
HOT, COLD = flink_string("hot"), flink_string("cold")
LISTS = State(
    "lists",
    [Entry(1, COLD, [i64(5)]), Entry(1, HOT, [i64(n) for n in range(N)]), Entry(1, COLD, [i64(6), i64(7)])],
    "LIST",
    list_of(LONG),
)
MAPS = State(
    "maps",
    [Entry(1, HOT, [(i64(n), None if n % 3 == 0 else flink_string(f"v{n}")) for n in range(N)]), Entry(2, COLD, [])],
    "MAP",
    map_of(LONG, STRING),
)
AFTER = State("after", [Entry(1, HOT, i64(8))])
KEYED = Keyed([LISTS, MAPS, AFTER], STRING)


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Entries above 32 KB are large; gives the key group of each that was read in parts."""
    monkeypatch.setattr(heap, "LARGE", 32 << 10)
    monkeypatch.setattr("stateextract.files.window.WINDOW", 64 << 10)
    seen = []
    read = LargeEntry.read

    def noted(self: LargeEntry, window: Window, key_group: int) -> Any:
        seen.append(key_group)
        return read(self, window, key_group)

    monkeypatch.setattr(large_entry.LargeEntry, "read", noted)
    return seen


def rows(folder: Path, form: str, state: str, **options: Any) -> pa.Table:
    path = write(folder, [SubtaskState(0, managed_keyed=FORMS[form](KEYED))])
    snapshot = stateextract.open_snapshot(str(path), subtask_column=False, **options)
    found: pa.Table = snapshot.operator("op").state(state).to_table()
    return found


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("form", ["heap", "heap compressed"])
def test_a_flat_list(form: str, engine: str, tmp_path: Path, parts: list[int]) -> None:
    found = rows(tmp_path, form, "lists", flatten=True, engine=engine)
    expected = [("cold", 0, 5)] + [("hot", n, n) for n in range(N)] + [("cold", 0, 6), ("cold", 1, 7)]
    assert found.schema.names == ["key", "list_index", "value", "key_group"]
    columns = [found[name].to_pylist() for name in found.schema.names]
    assert list(zip(*columns, strict=True)) == [(*row, 1) for row in expected]
    assert 1 in parts


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("form", ["heap", "heap compressed"])
def test_a_flat_map(form: str, engine: str, tmp_path: Path, parts: list[int]) -> None:
    found = rows(tmp_path, form, "maps", flatten=True, engine=engine)
    assert found.schema.names == ["key", "map_key", "value", "key_group"]
    columns = [found[name].to_pylist() for name in found.schema.names]
    expected = [("hot", n, None if n % 3 == 0 else f"v{n}", 1) for n in range(N)]
    assert list(zip(*columns, strict=True)) == expected
    assert 1 in parts


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("state", ["lists", "maps"])
def test_the_same_rows_and_schema_as_from_entries_as_a_whole(
    engine: str, state: str, tmp_path: Path, parts: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    in_parts = rows(tmp_path / "a", "heap", state, flatten=True, engine=engine)
    assert parts
    monkeypatch.setattr(heap, "LARGE", 1 << 40)
    parts.clear()
    whole = rows(tmp_path / "b", "heap", state, flatten=True, engine=engine)
    assert not parts
    assert in_parts.equals(whole)
    assert in_parts.schema == whole.schema


def test_a_state_that_is_passed_over_needs_no_whole_entry(tmp_path: Path, parts: list[int]) -> None:
    assert rows(tmp_path, "heap", "after").to_pylist() == [{"key": "hot", "value": 8, "key_group": 1}]
    assert parts == [1, 1]


def test_a_row_that_is_not_flat_is_read_as_a_whole(tmp_path: Path, parts: list[int]) -> None:
    found = rows(tmp_path, "heap", "lists", engine="kernel")
    assert found["value"].to_pylist() == [[5], list(range(N)), [6, 7]]
    assert parts == [1]  # the map, which is passed over


def test_memory_does_not_grow_with_the_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(heap, "LARGE", 32 << 10)
    largest = 0
    fill = Window._fill

    def watched(self: Window, n: int) -> bool:
        nonlocal largest
        found = fill(self, n)
        largest = max(largest, len(self.block.array))
        return found

    monkeypatch.setattr(Window, "_fill", watched)
    entry = State("lists", [Entry(1, HOT, [bytes(8)] * 1_200_000)], "LIST", list_of(LONG))  # 9.6 MB
    path = write(tmp_path, [SubtaskState(0, managed_keyed=FORMS["heap"](Keyed([entry], STRING)))])
    state = stateextract.open_snapshot(str(path), flatten=True).operator("op").state("lists")
    assert sum(batch.num_rows for batch in state.to_batches()) == 1_200_000
    assert largest < 5_000_000


@pytest.mark.parametrize("engine", ENGINES)
def test_one_that_ends_early(engine: str, tmp_path: Path, parts: list[int]) -> None:
    whole = FORMS["heap"](Keyed([LISTS], STRING))
    assert isinstance(whole, KeyGroupsHandle)
    assert isinstance(whole.stream, InlineHandle)
    short = whole.stream.data[:100_000]
    handle = KeyGroupsHandle(whole.code, whole.first, whole.offsets[:2], InlineHandle("heap", short), whole.handle_id)
    path = write(tmp_path, [SubtaskState(0, managed_keyed=handle)])
    state = stateextract.open_snapshot(str(path), flatten=True, engine=engine).operator("op").state("lists")
    with pytest.raises(TruncatedError, match="the data ends inside entry") as caught:
        state.to_table()
    assert caught.value.key_group == 1
    assert caught.value.state == "lists"
    end = (path / "_metadata").read_bytes().index(short) + len(short)
    assert caught.value.offset is not None
    assert end - 8 < caught.value.offset <= end
