"""A hot key: one entry that is larger than a window is read element by element where its row is not needed as a whole."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import stateextract
from stateextract.errors import FormatError, TruncatedError
from stateextract.files.window import Window
from stateextract.metadata.model import InlineHandle, KeyGroupsHandle, SubtaskState
from stateextract.state.bodies import heap
from stateextract.state.bodies.large_entry import LargeEntry, LargePair
from tests.job.snapshots import UNKNOWN
from tests.state.keyed_writer import FORMS, LONG, STRING, Entry, Keyed, State, i32, i64, write
from tests.writers.flink_writer import flink_string, list_of, map_of

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
    for kind in (LargeEntry, LargePair):
        read = kind.read

        def noted(self: LargeEntry, window: Window, key_group: int, read: Any = read) -> Any:
            seen.append(key_group)
            return read(self, window, key_group)

        monkeypatch.setattr(kind, "read", noted)
    return seen


def rows(folder: Path, form: str, state: str, **options: Any) -> pa.Table:
    path = write(folder, [SubtaskState(0, managed_keyed=FORMS[form](KEYED))])
    snapshot = stateextract.open_snapshot(str(path), subtask_column=False, **options)
    found: pa.Table = snapshot.operator("op").state(state).to_table()
    return found


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("form", ["heap", "heap compressed"])
def test_a_flat_list(form: str, engine: str, tmp_path: Path, parts: list[int]) -> None:
    found = rows(tmp_path, form, "lists", flatten=True, decoder=engine)
    expected = [("cold", 0, 5)] + [("hot", n, n) for n in range(N)] + [("cold", 0, 6), ("cold", 1, 7)]
    assert found.schema.names == ["key", "list_index", "value", "key_group"]
    columns = [found[name].to_pylist() for name in found.schema.names]
    assert list(zip(*columns, strict=True)) == [(*row, 1) for row in expected]
    assert 1 in parts


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("form", ["heap", "heap compressed"])
def test_a_flat_map(form: str, engine: str, tmp_path: Path, parts: list[int]) -> None:
    found = rows(tmp_path, form, "maps", flatten=True, decoder=engine)
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
    in_parts = rows(tmp_path / "a", "heap", state, flatten=True, decoder=engine)
    assert parts
    monkeypatch.setattr(heap, "LARGE", 1 << 40)
    parts.clear()
    whole = rows(tmp_path / "b", "heap", state, flatten=True, decoder=engine)
    assert not parts
    assert in_parts.equals(whole)
    assert in_parts.schema == whole.schema


def test_a_state_that_is_passed_over_needs_no_whole_entry(tmp_path: Path, parts: list[int]) -> None:
    assert rows(tmp_path, "heap", "after").to_pylist() == [{"key": "hot", "value": 8, "key_group": 1}]
    assert parts == [1, 1]


def test_a_row_that_is_not_flat_is_read_as_a_whole(tmp_path: Path, parts: list[int]) -> None:
    found = rows(tmp_path, "heap", "lists", decoder="kernel")
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
    path = write(tmp_path, [SubtaskState(0, managed_keyed=handle)], max_parallelism=2)
    state = stateextract.open_snapshot(str(path), flatten=True, decoder=engine).operator("op").state("lists")
    with pytest.raises(TruncatedError, match="the data ends inside entry") as caught:
        state.to_table()
    assert caught.value.key_group == 1
    assert caught.value.state == "lists"
    end = (path / "_metadata").read_bytes().index(short) + len(short)
    assert caught.value.offset is not None
    assert end - 8 < caught.value.offset <= end


PAIR_FORMS = [form for form in FORMS if not form.startswith("heap")]
TEXTS = [Entry(1, flink_string("a"), [flink_string("x")]), Entry(1, HOT, [flink_string(f"v{n}") for n in range(N)])]
TEXTS += [Entry(2, flink_string("z"), [flink_string("y"), flink_string("")])]


def pairs(folder: Path, form: str, engine: str, state: State, **options: Any) -> stateextract.State:
    path = write(folder, [SubtaskState(0, managed_keyed=FORMS[form](Keyed([state, AFTER], STRING)))])
    snapshot = stateextract.open_snapshot(str(path), subtask_column=False, decoder=engine, flatten=True, **options)
    return snapshot.operator("op").state(state.name)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("form", PAIR_FORMS)
def test_a_list_in_a_pair(form: str, engine: str, tmp_path: Path, parts: list[int]) -> None:
    numbers = [Entry(1, COLD, [i64(5)]), Entry(1, HOT, [i64(n) for n in range(N)]), Entry(3, COLD, [i64(6), i64(7)])]
    found = pairs(tmp_path / "n", form, engine, State("lists", numbers, "LIST", list_of(LONG))).to_table()
    assert found.schema.names == ["key", "list_index", "value", "key_group"]
    columns = [found[name].to_pylist() for name in found.schema.names]
    expected = [("cold", 0, 5, 1)] + [("hot", n, n, 1) for n in range(N)] + [("cold", 0, 6, 3), ("cold", 1, 7, 3)]
    assert sorted(zip(*columns, strict=True)) == sorted(expected)
    assert len(parts) == 1
    state = pairs(tmp_path / "s", form, engine, State("lists", TEXTS, "LIST", list_of(STRING)))
    found = state.to_table()
    columns = [found[name].to_pylist() for name in found.schema.names]
    expected_texts = [("a", 0, "x", 1), *(("hot", n, f"v{n}", 1) for n in range(N)), ("z", 0, "y", 2), ("z", 1, "", 2)]
    assert sorted(zip(*columns, strict=True)) == sorted(expected_texts)
    assert len(parts) == 2
    counters = state.coverage.counters
    assert (counters.entries, counters.rows, counters.lost_entries) == (3, N + 3, 0)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("form", PAIR_FORMS)
def test_a_pair_that_is_passed_over_needs_no_memory(form: str, engine: str, tmp_path: Path, parts: list[int]) -> None:
    lists = State("lists", TEXTS, "LIST", list_of(STRING))
    path = write(tmp_path, [SubtaskState(0, managed_keyed=FORMS[form](Keyed([lists, AFTER], STRING)))])
    state = stateextract.open_snapshot(str(path), decoder=engine, max_value_bytes=40_000).operator("op").state("after")
    assert state.to_table()["value"].to_pylist() == [8]
    assert parts == []


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("form", PAIR_FORMS)
def test_elements_that_are_damaged(form: str, engine: str, tmp_path: Path, parts: list[int]) -> None:
    """An element that goes on behind the end of its value."""
    damaged = [Entry(1, HOT, [*(flink_string(f"v{n}") for n in range(N)), flink_string("end")[:-1]])]
    with pytest.raises(FormatError, match="does not end at its recorded length") as caught:
        pairs(tmp_path, form, engine, State("lists", damaged, "LIST", list_of(STRING))).to_table()
    assert caught.value.state == "lists"
    assert len(parts) == 1


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("form", PAIR_FORMS)
def test_an_element_that_cannot_be_decoded(form: str, engine: str, tmp_path: Path, parts: list[int]) -> None:
    """The elements in front of it are there, its list counts as lost, and those behind it are read."""
    known, unknown = bytes(4), i32(1) + i64(1) + b"\0" + b"?"
    entries = [Entry(1, COLD, [known]), Entry(1, HOT, [*[known] * N, unknown, *[known] * N]), Entry(2, COLD, [known] * 2)]
    shapes = State("lists", entries, "LIST", list_of(map_of(LONG, UNKNOWN)))
    state = pairs(tmp_path, form, engine, shapes, on_undecodable="skip")
    found = state.to_table()
    assert len(found) == N + 3
    counters = state.coverage.counters
    assert (counters.entries, counters.rows, counters.lost_entries) == (2, N + 3, 1)
    assert len(parts) == 1
