from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from stateextract.columnar.interpreter import interpret
from stateextract.metadata.model import KeyGroupsHandle, OperatorState, RelativeHandle
from stateextract.metadata.parser import parse_metadata
from stateextract.state.header import parse_header
from stateextract.state.row_layout import row_layout
from tests.writers import flink_writer as flink
from tests.writers import generate
from tests.writers.generate import PlannedOperator, PlannedState, plan_operators, write_snapshot
from tests.writers.plain import decompress
from tests.writers.plan_files import write_plan_files
from tests.writers.shapes import SHAPES, VALUE_TYPES, key_groups, rows


@dataclass
class Group:
    """Entries of one state in one key group."""

    operator: str
    subtask: int
    state: str
    key_group: int
    entries: list[dict[str, Any]]


def read(directory: Path) -> Iterator[Group]:
    """Every entry of a heap snapshot, one after the other; every byte must belong to one."""
    metadata = parse_metadata((directory / "_metadata").read_bytes())
    names = {"_metadata"}
    for operator in metadata.operators:
        for subtask in operator.subtasks:
            handle = subtask.managed_keyed
            assert isinstance(handle, KeyGroupsHandle)
            assert isinstance(handle.stream, RelativeHandle)
            names.add(handle.stream.path)
            data = (directory / handle.stream.path).read_bytes()
            assert len(data) == handle.stream.size
            yield from _file(operator, subtask.index, handle, data)
    assert {path.name for path in directory.iterdir()} == names


def _file(operator: OperatorState, subtask: int, handle: KeyGroupsHandle, data: bytes) -> Iterator[Group]:
    head = parse_header(data)
    assert head.end == handle.offsets[0]
    layouts = [row_layout(head, meta).layout for meta in head.states]
    for n, (start, end) in enumerate(zip(handle.offsets, [*handle.offsets[1:], len(data)], strict=True)):
        key_group = handle.first + n
        assert struct.unpack_from(">i", data, start) == (key_group,)
        body = decompress("snappy", data[start + 4 : end]) if head.compressed else data[start + 4 : end]
        pos = 0
        for state_id, (meta, layout) in enumerate(zip(head.states, layouts, strict=True)):
            assert struct.unpack_from(">H", body, pos) == (state_id,)
            (count,) = struct.unpack_from(">i", body, pos + 2)
            pos += 6
            entries = []
            for _ in range(count):
                entry, pos = interpret(layout, body, pos, len(body))
                entries.append(entry)
            yield Group(operator.uid or "", subtask, meta.name, key_group, entries)
        assert pos == len(body)


def table(groups: list[Group], state: str) -> pa.Table:
    """The entries of a state in order of their keys."""
    shape = state
    entries = [entry for group in groups if group.state == state for entry in group.entries]
    assert all(set(entry) == {"key", "value"} for entry in entries)
    key_type = pa.int64() if SHAPES[shape].long_key else pa.string()
    columns = {
        "key": pa.array([entry["key"] for entry in entries], key_type),
        "value": pa.array([entry["value"] for entry in entries], VALUE_TYPES[shape]),
    }
    return pa.table(columns).sort_by("key")


def java_hash(key: int | str) -> int:
    if isinstance(key, int):
        return (key ^ key >> 32) & 0xFFFFFFFF
    code = 0
    for c in key:
        code = code * 31 + ord(c) & 0xFFFFFFFF
    return code


def groups_of(keys: list[Any], max_parallelism: int) -> list[int]:
    codes = np.array([java_hash(key) for key in keys], dtype=np.uint64)
    return [int(group) for group in key_groups(codes, max_parallelism)]


def contents(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


@pytest.mark.parametrize("shape", sorted(SHAPES))
@pytest.mark.parametrize(
    ("compression", "files", "max_parallelism"), [("none", 1, 128), ("snappy", 3, 10), ("none", 4, 1000)]
)
def test_a_snapshot_holds_exactly_the_rows(
    tmp_path: Path, shape: str, compression: str, files: int, max_parallelism: int
) -> None:
    plans = plan_operators([shape], entries=2000, files=files, max_parallelism=max_parallelism, seed=7)
    written = write_snapshot(tmp_path / "chk-1", plans, seed=7, compression=compression)
    groups = list(read(tmp_path / "chk-1"))
    expected = rows(shape, 7, 0, 2000)
    assert table(groups, shape).equals(expected.sort_by("key"))
    assert len(set(expected["key"].to_pylist())) == 2000
    assert [group.key_group for group in groups] == list(range(max_parallelism))
    for group in groups:
        keys = [entry["key"] for entry in group.entries]
        assert groups_of(keys, max_parallelism) == [group.key_group] * len(keys)
        assert group.subtask == group.key_group * files // max_parallelism
    assert written.files == files
    assert list(written.entries.values()) == [2000]
    assert written.file_bytes == sum(len(data) for name, data in contents(tmp_path / "chk-1").items() if name[0] != "_")
    if compression == "none":
        assert written.state_bytes == written.file_bytes


@pytest.mark.parametrize("shape", ["long-long", "pojo"])
def test_a_single_key_group(tmp_path: Path, shape: str) -> None:
    plans = plan_operators([shape], entries=300, files=2, single_key_group=True)
    write_snapshot(tmp_path / "chk-1", plans)
    groups = list(read(tmp_path / "chk-1"))
    assert [group.key_group for group in groups if group.entries] == [42]
    expected = rows(shape, 1, 0, 300, key_group=42)
    assert table(groups, shape).equals(expected.sort_by("key"))
    keys = expected["key"].to_pylist()
    assert groups_of(keys, 128) == [42] * 300
    assert len(set(keys)) == 300
    assert expected["value"].equals(rows(shape, 1, 0, 300)["value"])


def test_states_of_one_operator_share_keys_and_may_differ_in_size(tmp_path: Path) -> None:
    states = [PlannedState("map", 500), PlannedState("pojo", 1200), PlannedState("list", 0)]
    plan = [PlannedOperator("customers", states, files=2, max_parallelism=16)]
    written = write_snapshot(tmp_path / "chk-1", plan, compression="snappy")
    assert written.entries == {"customers/map": 500, "customers/pojo": 1200, "customers/list": 0}
    groups = list(read(tmp_path / "chk-1"))
    for state in states:
        assert table(groups, state.shape).equals(rows(state.shape, 1, 0, state.entries).sort_by("key"))
    assert rows("map", 1, 0, 500)["key"].equals(rows("pojo", 1, 0, 500)["key"])


def test_all_shapes_make_two_operators(tmp_path: Path) -> None:
    plans = plan_operators(list(SHAPES), entries=50, files=3)
    write_snapshot(tmp_path / "chk-1", plans)
    metadata = parse_metadata((tmp_path / "chk-1" / "_metadata").read_bytes())
    assert metadata.version == 6
    assert metadata.checkpoint_id == 1
    assert metadata.properties is not None
    assert [(o.uid, o.name, o.parallelism, o.max_parallelism, len(o.subtasks)) for o in metadata.operators] == [
        ("counters", "Counters", 3, 128, 3),
        ("customers", "Customers", 3, 128, 3),
    ]
    found = {(group.operator, group.state) for group in read(tmp_path / "chk-1")}
    assert found == {("counters", "long-long")} | {("customers", s) for s in ("pojo", "map", "list", "nested")}


def test_the_same_seed_gives_the_same_bytes_however_they_are_buffered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plans = plan_operators(list(SHAPES), entries=3000, files=5, max_parallelism=8)
    write_snapshot(tmp_path / "a", plans, 3, "snappy")
    write_snapshot(tmp_path / "b", plans, 4, "snappy")
    monkeypatch.setattr(generate, "BUFFER", 70_000)
    monkeypatch.setattr(generate, "ROWS_AT_ONCE", 1000)
    write_snapshot(tmp_path / "c", plans, 3, "snappy")
    assert contents(tmp_path / "a") == contents(tmp_path / "c")
    assert contents(tmp_path / "a").keys() != contents(tmp_path / "b").keys()


def test_rows_do_not_depend_on_where_one_starts() -> None:
    for shape in SHAPES:
        whole = rows(shape, 5, 0, 100)
        assert pa.concat_tables([rows(shape, 5, 0, 30), rows(shape, 5, 30, 70)]).combine_chunks().equals(whole)
        assert not rows(shape, 6, 0, 100).equals(whole)
        assert rows(shape, 5, 0, 0).schema == whole.schema


def test_rows_hold_what_is_awkward() -> None:
    names = rows("pojo", 1, 0, 20_000)["value"].combine_chunks().field("name")
    assert 300 < names.null_count < 500
    assert any("😀" in name for name in names.to_pylist() if name)
    baskets = rows("nested", 1, 0, 1000)["value"].combine_chunks()
    assert 5 < baskets.field("address").null_count < 40
    assert {len(items) for items in baskets.field("items").to_pylist()} == {0, 1, 2, 3, 4, 5}
    maps = rows("map", 1, 0, 1000)["value"].to_pylist()
    assert {len(dict(entries)) for entries in maps} == {10}
    assert 50 < sum(value is None for entries in maps for _, value in entries) < 150


def test_the_size_is_as_asked_for(tmp_path: Path) -> None:
    written = write_snapshot(tmp_path / "chk-1", plan_operators(["pojo", "nested"], gigabytes=0.01, files=2))
    assert abs(written.state_bytes - 10_000_000) < 200_000


def test_key_groups_as_flink_assigns_them() -> None:
    for key, max_parallelism, group in [("key-4", 128, 19), ("key-4", 1000, 619), (5, 128, 126), (-1, 128, 94)]:
        assert groups_of([key], max_parallelism) == [group]
    # Long.hashCode of a negative number, and a code whose hash is negative.
    assert java_hash(-1) == 0
    assert groups_of(list(range(1000)), 7)[:3] == [key_group_by_hand(n, 7) for n in range(3)]


def key_group_by_hand(code: int, max_parallelism: int) -> int:
    mask = 0xFFFFFFFF

    def rotl(x: int, r: int) -> int:
        return (x << r | x >> (32 - r)) & mask

    x = rotl(code * 0xCC9E2D51 & mask, 15) * 0x1B873593 & mask
    x = rotl(x, 13) * 5 + 0xE6546B64 & mask
    x ^= 4
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35)):
        x = (x ^ x >> shift) * factor & mask
    x ^= x >> 16
    signed = x - (1 << 32) if x >> 31 else x
    return abs(signed) % max_parallelism


def test_operator_ids_as_flink_hashes_uids() -> None:
    assert flink.operator_id("src").hex() == "f362c87ffabe89c8a91fa7d0a523ba6c"
    assert flink.operator_id("ünï").hex() == "bba98b606cec9770bbfb66f22cefb01a"
    long_uid = "a-very-long-operator-uid-with-more-than-16-bytes"
    assert flink.operator_id(long_uid).hex() == "8b9fc3428709b59c7f9201731a34fad3"


# What Flink 2.3.0 wrote (serializers.md §17.1), class names in clear text.
LIST_OF_STRING = (
    b"\x00\x41org.apache.flink.api.common.typeutils.base.ListSerializerSnapshot\x00\x00\x00\x03\x00\x0d\xe7\x04"
    b"\x00\x00\x00\x01\x00\x14\x57\xfd\x00\x00\x00\x01\x00\x00\x00\x01"
    b"\x00\x54org.apache.flink.api.common.typeutils.base.StringSerializer$StringSerializerSnapshot\x00\x00\x00\x03"
)
RECORD = (
    b"\x00\x42org.apache.flink.api.java.typeutils.runtime.PojoSerializerSnapshot\x00\x00\x00\x02\x00\x06TE$Rec"
    b"\x00\x00\x04\xf2\xc6\x9a\x3d\x70\x00\x00\x00\x02"
    b"\x00\x01a\x01\x00\x00\x00\x0b\x00\x06TE$Rec\x00\x01a\x01\x00\x00\x00\x54"
    b"\x00\x4eorg.apache.flink.api.common.typeutils.base.IntSerializer$IntSerializerSnapshot\x00\x00\x00\x03"
    b"\x00\x01b\x01\x00\x00\x00\x0b\x00\x06TE$Rec\x00\x01b\x01\x00\x00\x00\x5a"
    b"\x00\x54org.apache.flink.api.common.typeutils.base.StringSerializer$StringSerializerSnapshot\x00\x00\x00\x03"
    b"\x00\x00\x04\xf2\xc6\x9a\x3d\x70\x00\x00\x00\x00\x00\x00\x04\xf2\xc6\x9a\x3d\x70\x00\x00\x00\x00"
)


def test_serializer_snapshots_as_flink_writes_them() -> None:
    assert flink.list_of(flink.STRING) == LIST_OF_STRING
    assert flink.pojo("TE$Rec", {"a": flink.INT, "b": flink.STRING}) == RECORD
    with pytest.raises(ValueError, match="sorted by name"):
        flink.pojo("X", {"b": flink.INT, "a": flink.INT})


def test_strings_as_flink_writes_them() -> None:
    texts = {"": "01", "Hi": "034869", "é€": "03e901ac41", "😀": "03bdb00380bc03", "x" * 127: "8001" + "78" * 127}
    assert {text: flink.flink_string(text).hex() for text in texts} == texts


def test_what_cannot_be_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="one key serializer"):
        write_snapshot(tmp_path / "a", [PlannedOperator("x", [PlannedState("pojo", 1), PlannedState("long-long", 1)])])
    with pytest.raises(ValueError, match="between 1 and max-parallelism files"):
        write_snapshot(tmp_path / "b", plan_operators(["pojo"], entries=1, files=200))
    write_snapshot(tmp_path / "c", plan_operators(["pojo"], entries=1))
    with pytest.raises(FileExistsError, match="already holds a snapshot"):
        write_snapshot(tmp_path / "c", plan_operators(["pojo"], entries=1))


def test_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "chk-1"
    arguments = ["--shape=pojo", "--shape=list", "--entries=20", "--files=2", "--compression=snappy", "--seed=9"]
    generate.main([*arguments, "--output", str(target)])
    said = json.loads(capsys.readouterr().out)
    assert said["directory"] == str(target)
    assert said["entries"] == {"customers/pojo": 20, "customers/list": 20}
    groups = list(read(target))
    assert table(groups, "list").equals(rows("list", 9, 0, 20).sort_by("key"))
    with pytest.raises(SystemExit) as caught:
        generate.main([*arguments, "--output", str(target)])
    assert caught.value.code == 2
    assert "already holds a snapshot" in capsys.readouterr().err


def test_many_small_files(tmp_path: Path) -> None:
    written = write_plan_files(tmp_path / "chk-1", operators=5, files=6, key_groups=4)
    assert written.files == 30
    metadata = parse_metadata((tmp_path / "chk-1" / "_metadata").read_bytes())
    handles = [subtask.managed_keyed for operator in metadata.operators for subtask in operator.subtasks]
    assert [len(h.offsets) for h in handles if isinstance(h, KeyGroupsHandle)] == [4] * 30
    groups = list(read(tmp_path / "chk-1"))
    assert sum(len(group.entries) for group in groups) == 5 * 24
    assert [group.state for group in groups[::24]] == ["pojo", "map", "list", "nested", "pojo"]
    assert [group.key_group for group in groups] == list(range(24)) * 5
