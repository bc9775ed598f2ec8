"""States of bodies of pairs that are wanted in part, or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import stateextract
from stateextract.errors import FormatError
from stateextract.metadata.model import SubtaskState
from stateextract.state.bodies.body import BodyKind
from stateextract.state.bodies.heap import key_group_ranges
from stateextract.state.counters import Counters
from stateextract.state.engine import read_key_groups
from stateextract.state.header import parse_header
from stateextract.state.state_columns import ReadOptions
from stateextract.state.target import FileRead
from tests.state.keyed_writer import FORMS, LONG, STRING, Entry, Keyed, State, canonical, heap, i64, write
from tests.writers.flink_writer import flink_string, map_of, simple

ENGINES = ("interpreter", "kernel")
A, B = flink_string("a"), flink_string("b")


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("form", [heap, canonical])
def test_a_map_of_which_only_the_key_is_wanted(form: Any, keep: bool, engine: str) -> None:
    entries = [Entry(0, A, [(A, i64(1)), (B, i64(2))]), Entry(0, B, [(A, i64(1))])]
    handle = form(Keyed([State("map", entries, "MAP", map_of(STRING, LONG))], STRING))
    data = handle.stream.data
    body, nothing = (BodyKind.HEAP, None) if form is heap else (BodyKind.FULL_SNAPSHOT, 0)
    head = parse_header(data, 0, min(offset for offset in handle.offsets if offset))
    ranges = key_group_ranges(0, handle.offsets, len(data), nothing)
    columns = {"map": pa.schema([("key", pa.string())])}
    options = ReadOptions(engine=engine, keep_empty_maps=keep, columns=columns)
    pieces = read_key_groups(
        lambda at, n: data[at : at + n], head, ranges, FileRead({"map"}, options, Counters(), 0), body, max_parallelism=4
    )
    assert [row for piece in pieces for row in piece.batch.to_pylist()] == [{"key": "a"}, {"key": "b"}]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("form", ["canonical", "canonical compressed", "RocksDB"])
def test_an_unwanted_state_is_not_looked_into(form: str, engine: Any, tmp_path: Path) -> None:
    """Its values are broken: nobody sees it who does not want them."""
    broken = State("broken", [Entry(n, i64(n), b"\x01") for n in range(4)])
    numbers = State("numbers", [Entry(n, i64(n), i64(10 * n)) for n in range(4)])
    path = write(tmp_path, [SubtaskState(0, managed_keyed=FORMS[form](Keyed([broken, numbers])))])
    operator = stateextract.open_snapshot(str(path), decoder=engine).operator("op")
    assert operator.state("numbers").to_table()["value"].to_pylist() == [0, 10, 20, 30]
    with pytest.raises(FormatError, match="does not end at its recorded length") as caught:
        operator.state("broken").to_table()
    assert caught.value.state == "broken"


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("flatten", [False, True])
def test_a_map_keyed_by_void(form: str, engine: Any, flatten: bool, tmp_path: Path) -> None:
    """Its keys are null by their type: no option is needed."""
    void = simple("org.apache.flink.api.common.typeutils.base.VoidSerializer")
    entries = [Entry(0, i64(1), [(b"\0", i64(7))]), Entry(2, i64(2), [(b"\0", None)])]
    keyed = Keyed([State("m", entries, "MAP", map_of(void, LONG))])
    path = write(tmp_path, [SubtaskState(0, managed_keyed=FORMS[form](keyed))])
    state = stateextract.open_snapshot(str(path), decoder=engine, flatten=flatten).operator("op").state("m")
    columns = {"key", "map_key", "value"} & set(state.schema.names)
    found = state.to_table().select(sorted(columns)).sort_by("key").to_pylist()
    if flatten:
        assert found == [{"key": 1, "map_key": None, "value": 7}, {"key": 2, "map_key": None, "value": None}]
    else:
        assert found == [
            {"key": 1, "value": [{"key": None, "value": 7}]}, {"key": 2, "value": [{"key": None, "value": None}]},
        ]  # fmt: skip
