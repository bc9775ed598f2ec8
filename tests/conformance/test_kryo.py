"""Kryo in Flink's own files and in the cases, with the classes that a user would give: native, canonical, alone.

Heap bodies are compared in ``test_rows.py`` as well; here also the canonical ones, what happens without the classes, and
Flink's serializer upgrade tests, whose writers had none of Flink's own registrations.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from serializers import DescribeContext, describe, read_snapshot_proxy
from serializers.classes import ClassModels, class_model
from stateextract.columnar.arrow.unite_schemas import merge_schemas
from stateextract.columnar.interpreter import interpret
from stateextract.errors import UndecodableError
from stateextract.files.reader import Reader
from stateextract.metadata.model import KeyGroupsHandle
from stateextract.state.bodies.body import BodyKind, body_kind
from stateextract.state.bodies.heap import KeyGroupRange
from stateextract.state.counters import Counters
from stateextract.state.engine import read_key_groups
from stateextract.state.header import parse_header
from stateextract.state.row_layout import row_layout
from stateextract.state.state_columns import ReadOptions, state_schema
from stateextract.state.target import FileRead
from tests.conformance.classes import ANIMALS, context_of
from tests.conformance.conftest import flink_cases, flink_files
from tests.conformance.handles import keyed_files
from tests.conformance.notation import same_rows
from tests.conformance.state_rows import ReadState, rows_of, truth_rows
from tests.conformance.test_rows import case_folder, truth_states

CASES = ("f1172-kryo-hashmap-canonical", "f202-kryo-hashmap-native", "f1205-pojos-hashmap-canonical-zip")


def read_case(name: str, options: ReadOptions) -> dict[tuple[str, str], ReadState]:
    """All states of a case, whichever body they have; raw pieces are counted."""
    found: dict[tuple[str, str], ReadState] = {}
    for file in keyed_files(case_folder(flink_cases() / name)):
        assert isinstance(file.handle, KeyGroupsHandle)
        data, handle = file.data, file.handle
        head = parse_header(data, 0, file.header_end)

        def read_at(at: int, n: int, data: bytes = data) -> bytes:
            return data[at : at + n]

        kind = body_kind(handle.code, handle.offsets, handle.first, head.compressed, read_at, states=len(head.states))
        bounds = [*sorted(o for o in handle.offsets if o), len(data)]
        ranges = [
            KeyGroupRange(handle.first + i, o, bounds[bounds.index(o) + 1]) for i, o in enumerate(handle.offsets) if o
        ]  # fmt: skip
        assert kind is (BodyKind.FULL_SNAPSHOT if "canonical" in name else BodyKind.HEAP)
        counters = Counters()
        for meta in head.states:
            state = found.setdefault((file.operator, meta.name), ReadState())
            state.schemas.append(state_schema(row_layout(head, meta, options.context), options))
        wanted = {meta.name for meta in head.states}
        file_read = FileRead(wanted, options, counters, file.subtask)
        for piece in read_key_groups(read_at, head, ranges, file_read, kind):
            if not piece.raw:
                found[file.operator, piece.state].batches.append(piece.batch)
        for state_name, part in counters.states.items():
            found[file.operator, state_name].counters.add(part)
    return found


@pytest.mark.parametrize("case", CASES)
def test_rows(case: str) -> None:
    options = ReadOptions(on_undecodable="skip", context=context_of(case_folder(flink_cases() / case)))
    expected = truth_states(flink_cases() / case)
    found = read_case(case, options)
    assert set(found) == set(expected)
    for key, state in found.items():
        table = state.table()
        assert state.counters.problems == []
        assert same_rows(truth_rows(expected[key], table.schema), rows_of(table, ("key_group", "subtask"))) is None, key


def test_types() -> None:
    """The same columns in native and canonical snapshots, of Kryo 2 and Kryo 5."""
    types: list[dict[str, str]] = []
    for case in CASES[:2]:
        found = read_case(case, ReadOptions(context=context_of(case_folder(flink_cases() / case))))
        types.append({
            name: str(merge_schemas(state.schemas).field("value").type)
            for (_, name), state in found.items() if not name.startswith("_timer")
        })  # fmt: skip
    anything = "struct<class: string, json: string>"
    assert (
        types[0]
        == types[1]
        == {
            "address-generic": "struct<city: string, street: string, zip: int32>",
            "arraylist": anything,
            "enum-generic": "string",
            "hashmap": anything,
            "money": "struct<units: int64, currency: string>",
            "object-many": anything,
            "secret": "struct<code: int32, salts: list<item: int64>, word: string>",
            "secrets": "list<item: struct<code: int32, salts: list<item: int64>, word: string>>",
            "treeset": anything,
            "uuid": "string",
            "uuid-to-date": "map<string, timestamp[us, tz=UTC]>",
        }
    )


def test_without_the_classes_their_bytes_are_kept_where_they_have_a_length() -> None:
    case = CASES[0]
    options = ReadOptions(on_undecodable="raw", context=DescribeContext(2, ClassModels()))
    expected = truth_states(flink_cases() / case)
    found = read_case(case, options)
    for (operator, name), state in found.items():
        count = expected[operator, name]["count"]
        if name in ("address-generic", "enum-generic", "money", "secret", "secrets"):
            assert (state.counters.rows, state.counters.raw_rows) == (0, count)
            assert "holdout.model." in state.counters.problems[0]
        elif name == "object-many":
            # Values of the job's classes stand among others.
            assert state.counters.rows + state.counters.raw_rows == count
            assert state.counters.rows > 0
        else:
            assert state.counters.raw_rows == 0


def test_without_the_classes_a_state_that_needs_them_says_so() -> None:
    options = ReadOptions(context=DescribeContext(2, ClassModels()))
    with pytest.raises(UndecodableError, match=r"holdout\.model\.\w+ cannot be decoded") as caught:
        read_case(CASES[0], options)
    assert caught.value.state is not None
    assert caught.value.key_group is not None


# ---- Flink's serializer upgrade tests

FIRST_ID = {2: 10, 5: 9}
"""Those writers had only Kryo's own registrations."""

DOG = ANIMALS[1]["name"]

WRITTEN = {"name": DOG, "superclass": ANIMALS[0]["name"], "written": {"name": "string"}}
"""What ``DogKryoSerializer`` writes, in a user's words."""

PAIRS = sorted(p.parent for p in flink_files().glob("flink-core/kryo-*/serializer-snapshot"))


@pytest.mark.parametrize("folder", PAIRS, ids=lambda p: p.name)
def test_pair(folder: Path) -> None:
    snapshot = read_snapshot_proxy(Reader((folder / "serializer-snapshot").read_bytes()))
    data = (folder / "test-data").read_bytes()
    context = context_of(folder)
    assert context.kryo is not None
    if "changed-registration-order" in folder.name:
        context = replace(context, kryo_first_id=FIRST_ID[context.kryo])
    layout = describe(snapshot, context)
    if "custom" in folder.name:
        with pytest.raises(UndecodableError, match="DogKryoSerializer"):
            interpret(layout, data, 0, len(data))
        layout = describe(
            snapshot, replace(context, class_models=ClassModels.of(map(class_model, [*ANIMALS[:1], WRITTEN])))
        )
    value: Any
    value, end = interpret(layout, data, 0, len(data))
    assert end == len(data)
    assert value == {"class": DOG, "name": "Hasso"}
