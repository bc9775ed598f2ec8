"""The ``_metadata`` parser, on files put together by the writer beside it: versions, handles, refusals."""

from __future__ import annotations

import dataclasses
import pickle
import random
import re
import struct
from collections.abc import Sequence

import pytest

from stateextract.errors import (
    FormatError,
    StateExtractError,
    TruncatedError,
    UnsupportedError,
    UnsupportedVersionError,
)
from stateextract.metadata.key_group_assignment import key_group_range, wrong_key_groups
from stateextract.metadata.model import (
    ChangelogBytesHandle,
    ChangelogFilesHandle,
    ChangelogHandle,
    ChannelPart,
    ChannelStateHandle,
    CheckpointProperties,
    EmptySegmentHandle,
    FileHandle,
    IncrementalHandle,
    InlineHandle,
    KeyedStateHandle,
    KeyGroupsHandle,
    MasterState,
    NestedKeyGroupsHandle,
    OperatorState,
    OperatorStateHandle,
    OperatorStatePartition,
    RelativeHandle,
    SegmentHandle,
    SnapshotMetadata,
    StreamHandle,
    SubtaskState,
)
from stateextract.metadata.parser import parse_metadata
from tests.writers import flink_writer

from . import writer

INLINE = InlineHandle("name", b"\x00\x01\x02")
FILE = FileHandle(1 << 40, "s3://bucket/key")
RELATIVE = RelativeHandle("5c9b3a4e-uuid", 77)
SEGMENT = SegmentHandle(100, 20, "SHARED", "file:/data/merged", "logical")
STREAMS: list[StreamHandle] = [
    INLINE,
    FILE,
    RELATIVE,
    SEGMENT,
    SegmentHandle(0, 0, "EXCLUSIVE", "/x", ""),
    EmptySegmentHandle(),
    NestedKeyGroupsHandle(3, (0, 9), INLINE),
]

BYTES = ChangelogBytesHandle(0, 4, 1, 5, ((-1, b"meta"), (2, b"")), "id")
FILES = ChangelogFilesHandle(13, 0, 4, ((0, FILE), (17, RELATIVE)), 900, -1, "id", "custom")
KEYED: list[KeyedStateHandle] = [
    *(KeyGroupsHandle(3, 0, (50, 60), stream) for stream in STREAMS),
    KeyGroupsHandle(7, 64, (0, 0, 12), FILE),
    KeyGroupsHandle(12, 1, (-1, 0), RELATIVE, "b7f5"),
    KeyGroupsHandle(12, 0, (), INLINE, ""),
    IncrementalHandle(5, 9, "backend", 0, 64, INLINE, (("000007.sst", FILE),), ()),
    IncrementalHandle(11, -1, "uuid", 0, 128, FILE, (), (("MANIFEST", RELATIVE), ("CURRENT", INLINE)), 123, "id"),
    ChangelogHandle(8, 0, 4, -1, (KeyGroupsHandle(12, 0, (1, 2), FILE, "m"),), (BYTES,), 2, None, "id"),
    ChangelogHandle(14, 0, 4, 10, (), (FILES, BYTES), 2, 33, "id"),
    BYTES,
    FILES,
    ChangelogFilesHandle(10, 0, 4, (), 0, 5, "id"),
]

OPERATOR_HANDLES = [
    OperatorStateHandle(4, (), INLINE),
    OperatorStateHandle(
        4,
        (
            OperatorStatePartition("list", "SPLIT_DISTRIBUTE", (0, 8)),
            OperatorStatePartition("union", "UNION", ()),
            OperatorStatePartition("rules", "BROADCAST", (99,)),
        ),
        FILE,
    ),
    OperatorStateHandle(17, (OperatorStatePartition("l", "UNION", (1,)),), SEGMENT, "/taskowned", "/shared", False),
    OperatorStateHandle(17, (), EmptySegmentHandle(), "", "", True),
]


def snapshot(version: int, *operators: OperatorState, **fields: object) -> SnapshotMetadata:
    notes: tuple[str, ...] = ()
    if version >= 4:
        notes = ("the snapshot has no checkpoint properties, so its kind is not known",)
    if version == 7:
        notes += ("version 7 is read as Flink's source describes it; no real file of it was seen: unverified",)
    return SnapshotMetadata(version, 42, (), operators, verified=version != 7, notes=notes, **fields)  # type: ignore[arg-type]


def one_subtask(version: int, state: SubtaskState) -> SnapshotMetadata:
    named = version >= 5
    return snapshot(
        version,
        OperatorState(
            "00112233445566778899aabbccddeeff",
            "uid" if named else None,
            "Näme" if named else None,
            parallelism=3,
            max_parallelism=128,
            subtasks=(state,),
        ),
    )


def apart(handles: Sequence[KeyedStateHandle]) -> list[KeyedStateHandle]:
    """The handles with key groups that no other has."""
    moved, first = [], 0
    for handle in handles:
        moved.append(dataclasses.replace(handle, first=first))
        first += len(handle.key_groups)
    return moved


def everything(version: int) -> SnapshotMetadata:
    """A snapshot with as much in it as the version can hold."""
    raw = apart([KEYED[-i] for i in range(len(KEYED))])
    tasks = [
        SubtaskState(i, OPERATOR_HANDLES[i % 4], OPERATOR_HANDLES[(i + 1) % 4], handle, raw[i])
        for i, handle in enumerate(apart(KEYED))
    ]
    first = OperatorState("ab" * 16, None, None, 40, 300, subtasks=tuple(tasks))
    empty = OperatorState("cd" * 16, None, None, 1, 1)
    masters = (MasterState(1, "hook", b"\xff\x00"), MasterState(0, "", b""))
    made = dataclasses.replace(snapshot(version, first, empty), master_states=masters)
    if version == 2:
        return made
    plain = (
        ChannelStateHandle(1, 0, (ChannelPart(1, 2, 30, (4, 34)),), 30, RELATIVE),
        ChannelStateHandle(1, 0, (ChannelPart(1, 3, 0, ()),), 0, INLINE),
    )
    out = (ChannelStateHandle(2, 0, (ChannelPart(0, 7, 5, (0,)),), 5, FILE),)
    if version >= 6:
        parts = (ChannelPart(0, 0, 5, (0, 2)), ChannelPart(0, 1, 6, (5,)))
        plain += (ChannelStateHandle(3, 1, parts, 11, SEGMENT),)
        out += (ChannelStateHandle(4, 1, (), 0, INLINE),)
    tasks[0] = dataclasses.replace(tasks[0], input_channels=plain, output_channels=out)
    if version >= 7:
        tasks[1] = dataclasses.replace(tasks[1], reference_checkpoint=-5)
    name = ("uid", "name \U0001f600") if version >= 5 else (None, None)
    first = OperatorState(
        "ab" * 16, *name, 40, 300, finished_subtasks=(38, 39), coordinator=INLINE, subtasks=tuple(tasks)
    )
    finished = OperatorState("ef" * 16, None, None, 2, 32768, fully_finished=True)
    return dataclasses.replace(made, operators=(first, empty, finished))


@pytest.mark.parametrize("version", range(2, 8))
def test_every_version_with_everything_in_it(version: int) -> None:
    expected = everything(version)
    parsed = parse_metadata(writer.metadata(expected))
    assert parsed == expected
    assert parsed.verified is (version != 7)
    assert pickle.loads(pickle.dumps(parsed)) == expected


@pytest.mark.parametrize("handle", KEYED, ids=lambda handle: handle.kind)
@pytest.mark.parametrize("version", [2, 3, 6])
def test_keyed_handles(version: int, handle: KeyedStateHandle) -> None:
    for state in (SubtaskState(2, managed_keyed=handle), SubtaskState(0, raw_keyed=handle)):
        expected = one_subtask(version, state)
        assert parse_metadata(writer.metadata(expected)) == expected


@pytest.mark.parametrize(
    ("ranges", "words"),
    [
        ([(0, 64), (64, 64)], {}),
        ([(64, 64), (0, 64)], {}),  # the State Processor API numbers subtasks as they come
        ([None, (64, 64)], {}),  # a subtask without keyed state
        ([(0, 64), (64, 63)], {1: "the state handle of subtask 1 has key groups 64-126; expected key groups 64-127"}),
        ([(0, 1), (64, 64)], {0: "the state handle of subtask 0 has key group 0; expected key groups 0-63"}),
        ([(0, 128), (64, 64)], {0: "the state handle of subtask 0 has key groups 0-127; expected key groups 0-63"}),
        ([(0, 64), (64, 1 << 30)], {1: "the state handle of subtask 1 has no valid key groups; expected key groups 64-127"}),
        ([(-5, 64), None], {0: "the state handle of subtask 0 has no valid key groups; expected key groups 0-63"}),
        (
            [(64, 64), (64, 64)],
            {i: f"the state handle of subtask {i} has key groups 64-127, which another one has too" for i in (0, 1)},
        ),
    ],
)
@pytest.mark.parametrize("role", ["managed_keyed", "raw_keyed"])
def test_key_groups_of_handles(role: str, ranges: list[tuple[int, int] | None], words: dict[int, str]) -> None:
    handles = [r and IncrementalHandle(5, 9, "backend", *r, INLINE, (), ()) for r in ranges]
    tasks = tuple(SubtaskState(i, **{role: handle}) for i, handle in enumerate(handles))  # type: ignore[arg-type]
    data = writer.metadata(snapshot(6, OperatorState("ab" * 16, "u", None, 2, 128, subtasks=tasks)))
    (operator,) = parse_metadata(data).operators
    by_parallelism = ", with parallelism 2 and max parallelism 128"
    assert {key: str(wrong.error) for key, wrong in wrong_key_groups(operator).items()} == {
        (index, role): text + ("." if text.endswith("too") else f"{by_parallelism}.") for index, text in words.items()
    }


def test_key_groups_of_subtasks() -> None:
    """Those of ``computeKeyGroupRangeForOperatorIndex``: every key group once."""
    for parallelism, max_parallelism in ((1, 128), (3, 128), (7, 10), (128, 128), (5, 32768)):
        ranges = [key_group_range(i, parallelism, max_parallelism) for i in range(parallelism)]
        assert [group for one in ranges for group in one] == list(range(max_parallelism))
        assert ranges == [flink_writer.key_group_range(i, parallelism, max_parallelism) for i in range(parallelism)]


FINISHED = writer.i32(1, 1) + b"\x01" + writer.utf("") + writer.i32(0) + writer.i32(-1)
OK_OPERATOR = OperatorState("cd" * 16, "other", "name", 1, 128, subtasks=(SubtaskState(0, managed_keyed=KEYED[0]),))


@pytest.mark.parametrize(
    ("rest", "message"),
    [
        (writer.i32(0, 128) + b"\0" + writer.i32(0), "invalid parallelism 0 with max parallelism 128"),
        (writer.i32(1, 32769) + b"\0" + writer.i32(0), "invalid parallelism 1 with max parallelism 32769"),
        (FINISHED, "a finished operator with coordinator state"),
        (writer.i32(1, 1) + b"\0" + writer.i32(2, -1, -2), "invalid number 2 of subtasks; expected at most 1"),
        (writer.i32(3, 8) + b"\0" + writer.i32(2, -1, -1), "invalid subtask -1 of 3"),
        (writer.i32(3, 8) + b"\0" + writer.i32(1, -9), "invalid subtask -9 of 3"),
    ],
)
def test_a_value_that_cannot_be_true_is_a_problem_of_its_operator(rest: bytes, message: str) -> None:
    """It does not hide where the next operator begins, so that one is read."""
    other = writer.operator(OK_OPERATOR, 6)
    beginning = writer.i32(0x4960672D, 6) + writer.i64(1) + writer.i32(0, 2)
    data = beginning + writer.utf("") + writer.utf("u") + b"\xab" * 16 + rest + other + writer.NULL_PROPERTIES
    wrong, right = parse_metadata(data).operators
    assert right == OK_OPERATOR
    assert (wrong.id, wrong.uid) == ("ab" * 16, "u")
    assert wrong.problem is not None
    assert str(wrong.problem).startswith(message)
    assert (wrong.problem.operator, wrong.problem.offset is None) == ("u", False)
    # If the bytes after it cannot be read, it is the reason.
    with pytest.raises(FormatError, match=message):
        parse_metadata(data[:-6])


def test_operators_have_different_ids() -> None:
    one = OperatorState("ab" * 16, "a", None, 1, 1)
    two = dataclasses.replace(one, uid="b")
    twice, other = parse_metadata(writer.metadata(snapshot(6, one, two, OK_OPERATOR))).operators
    assert other == OK_OPERATOR
    assert str(twice.problem).startswith(f"a second operator has the id {'ab' * 16}; in operator b, byte offset ")


def test_documented_bytes() -> None:
    data = bytes.fromhex(
        "4960672d 00000006 0000000000000003 00000000 00000001"
        "0010 536f757263653a204220536f75726365 0004 62737263 422cbfa16d9df46125bf9f0ca550f6e2"
        "00000001 00000080 00 00000000 aced000570"
    )
    parsed = parse_metadata(data)
    assert (parsed.version, parsed.checkpoint_id, parsed.master_states) == (6, 3, ())
    source = OperatorState("422cbfa16d9df46125bf9f0ca550f6e2", "bsrc", "Source: B Source", 1, 128)
    assert parsed.operators == (source,)


def test_code_kind_and_size_of_handles() -> None:
    def facts(handles: object) -> list[tuple[int, str, int]]:
        return [(h.code, h.kind, h.size) for h in handles]  # type: ignore[attr-defined]

    assert facts(STREAMS) == [
        (1, "inline", 3),
        (2, "file", 1 << 40),
        (6, "relative file", 77),
        (15, "segment", 20),
        (15, "segment", 0),
        (16, "empty segment", 0),
        (3, "nested key groups", 3),
    ]
    assert facts(KEYED[-10:]) == [
        (7, "key groups savepoint", 1 << 40),
        (12, "key groups V2", 77),
        (12, "key groups V2", 3),
        (5, "incremental", 3 + (1 << 40)),
        (11, "incremental V2", (1 << 40) + 77 + 3),
        (8, "changelog", (1 << 40) + 4),
        (14, "changelog V2", 900 + 4),
        (9, "changelog bytes", 4),
        (13, "changelog files V2", 900),
        (10, "changelog files", 0),
    ]
    assert facts(OPERATOR_HANDLES) == [
        (4, "operator state", 3),
        (4, "operator state", 1 << 40),
        (17, "operator state segment", 20),
        (17, "operator state segment", 0),
    ]
    assert [handle.savepoint for handle in KEYED if isinstance(handle, KeyGroupsHandle)][-3:] == [True, False, False]
    assert [handle.key_groups for handle in KEYED[-10:-5]] == [
        range(64, 67),
        range(1, 3),
        range(0),
        range(64),
        range(128),
    ]


def test_handles_and_streams_of_an_operator() -> None:
    made = everything(6)
    first = made.operators[0]
    uses = first.handles()
    assert uses[0] == (None, "coordinator", INLINE)
    assert [(use.subtask, use.role) for use in uses[1:10]] == [
        (0, "managed_operator"),
        (0, "raw_operator"),
        (0, "managed_keyed"),
        (0, "raw_keyed"),
        (0, "input_channel"),
        (0, "input_channel"),
        (0, "input_channel"),
        (0, "output_channel"),
        (0, "output_channel"),
    ]
    assert uses[1].handle is first.subtasks[0].managed_operator
    assert list(KEYED[-6].streams()) == [FILE, RELATIVE, INLINE]
    assert list(KEYED[-5].streams()) == [FILE]
    assert list(KEYED[-4].streams()) == [FILE, RELATIVE]
    assert list(KEYED[6].streams()) == [INLINE]
    everywhere = list(made.streams())
    assert everywhere == [stream for use in uses for stream in use.handle.streams()]
    assert made.operators[2].handles() == []


# -- properties


@pytest.mark.parametrize(
    ("form", "name", "expected"),
    [("CANONICAL", "Suspend Savepoint", "canonical"), ("NATIVE", "Savepoint", "native")],
)
def test_properties_of_savepoints(form: str, name: str, expected: str) -> None:
    data = writer.metadata(everything(5), writer.savepoint_properties(form, name))
    parsed = parse_metadata(data)
    assert parsed.properties == CheckpointProperties("savepoint", expected, name)
    assert parsed.notes == ()


@pytest.mark.parametrize(
    ("properties", "note"),
    [
        (writer.NULL_PROPERTIES, "has no checkpoint properties"),
        (bytes.fromhex("aced0005740001") + b"x", r"at byte \d+ are of an unknown kind \(something else\)"),
        (
            writer.savepoint_properties("NATIVE", "n").replace(b"SavepointType\xa0", b"XavepointType\xa0"),
            "XavepointType",
        ),
        (b"garbage", "cannot be understood: not a Java object stream"),
        (bytes.fromhex("aced000500"), "cannot be understood: unexpected tag 0x00"),
    ],
)
def test_properties_that_say_nothing_cost_nothing(properties: bytes, note: str) -> None:
    expected = everything(4)
    parsed = parse_metadata(writer.metadata(expected, properties))
    assert parsed.properties is None
    assert parsed.operators == expected.operators
    assert len(parsed.notes) == 1
    assert re.search(note, parsed.notes[0]), parsed.notes[0]


# -- refusals


def body(version: int, operator: bytes) -> bytes:
    return writer.i32(0x4960672D, version) + writer.i64(1) + writer.i32(0, 1) + operator


def head(version: int, parallelism: int = 3, most: int = 128) -> bytes:
    names = writer.utf("n") + writer.utf("u") if version >= 5 else b""
    return names + bytes(16) + writer.i32(parallelism, most) + (writer.i32(1) if version == 2 else b"\x00")


def with_keyed(handle: bytes) -> bytes:
    return body(3, head(3) + writer.i32(1, 0, 0, 0) + handle + bytes(50))


def with_operator(handle: bytes) -> bytes:
    return body(3, head(3) + writer.i32(1, 0, 1) + handle + bytes(50))


def with_channels(channels: bytes, version: int = 6) -> bytes:
    return body(version, head(version) + writer.i32(1, 0, 0, 0) + b"\x00\x00" + channels + bytes(50))


def nested_keyed(depth: int) -> bytes:
    handle = b"\x00"
    for _ in range(depth):
        handle = b"\x0e" + writer.i32(0, 1) + writer.i64(0) + writer.i32(1) + handle
        handle += writer.i32(0) + writer.i64(0, 0) + writer.utf("")
    return handle


def nested_stream(depth: int) -> bytes:
    return (b"\x03" + writer.i32(0, 0)) * depth + b"\x10"


OK = bytes.fromhex("4960672d")
REFUSED = [
    (b"\x89PNG\r\n\x1a\n" + bytes(20), "not a Flink snapshot: it begins with 0x89504E47", 0),
    (OK + writer.i32(3) + writer.i64(-1), "negative checkpoint id -1", 8),
    (OK + writer.i32(3) + writer.i64(1) + writer.i32(-1, 0), "invalid number -1 of master states", 16),
    (OK + writer.i32(3) + writer.i64(1) + writer.i32(2**31 - 1, 0), "invalid number 2147483647 of master", 16),
    (OK + writer.i32(3) + writer.i64(1) + writer.i32(1, 5, 5, 5), "not a master state", 20),
    (OK + writer.i32(3) + writer.i64(1) + writer.i32(1, 0xC96B1696 - 2**32, 0), "invalid length 0", 24),
    (
        OK + writer.i32(3) + writer.i64(1) + writer.i32(1, 0xC96B1696 - 2**32, 11, 0) + b"\x00\x00" + bytes(9),
        "1 bytes are left over after a master state",
        38,
    ),
    (OK + writer.i32(3) + writer.i64(1) + writer.i32(0, -1), "invalid number -1 of operators", 20),
    (OK + writer.i32(3) + writer.i64(1) + writer.i32(0, 2**31 - 1), "invalid number 2147483647 of operators", 20),
    (body(3, head(3, 0) + bytes(9)), "invalid parallelism 0 with max parallelism 128", 40),
    (body(3, head(3, 129) + bytes(9)), "invalid parallelism 129 with max parallelism 128", 40),
    (body(3, head(3, 1, 32769) + bytes(9)), "invalid parallelism 1 with max parallelism 32769", 40),
    (body(2, head(2) + writer.i32(-1)), "invalid number -1 of subtasks", 52),
    (body(3, head(3) + writer.i32(4)), "invalid number 4 of subtasks", 49),
    (body(3, head(3)[:-1] + writer.stream(INLINE) + writer.i32(-1)), "a finished operator with coordinator state", 62),
    (body(3, head(3)[:-1] + writer.stream(FILE) + writer.i32(0)), "coordinator state in a handle of type 2", 48),
    (body(3, head(3) + writer.i32(1, 3)), "invalid subtask 3 of 3", 53),
    (body(3, head(3) + writer.i32(1, -4)), "invalid subtask -4 of 3", 53),
    (body(2, head(2) + writer.i32(1, -1)), "invalid subtask -1 of 3", 56),
    (body(3, head(3) + writer.i32(2, -2, 1)), "invalid subtask 1 of 3", 57),
    (with_operator(b"\x05"), "unknown operator state handle type 5", 61),
    (with_operator(b"\x04" + writer.i32(-1)), "invalid number -1 of operator states", 62),
    (with_operator(b"\x04" + writer.i32(1) + writer.utf("s") + b"\x03"), "unknown distribution mode", 69),
    (with_operator(b"\x04" + writer.i32(0) + b"\x00"), "a state handle without bytes", 66),
    (with_operator(b"\x11" + writer.i32(0) + bytes(5) + writer.stream(FILE)), "not a file segment", 71),
    (with_keyed(b"\x04"), "unknown keyed state handle type 4", 65),
    (with_keyed(b"\x12"), "unknown keyed state handle type 18", 65),
    (with_keyed(b"\x03" + writer.i32(0, -1)), "invalid number -1 of key group offsets", 70),
    (with_keyed(b"\x03" + writer.i32(0, 2**31 - 1)), "invalid number 2147483647 of key group offsets", 70),
    (with_keyed(b"\x03" + writer.i32(0, 0) + b"\x00"), "a state handle without bytes", 74),
    (with_keyed(b"\x03" + writer.i32(0, 0) + b"\x04"), "unknown stream handle type 4", 74),
    (with_keyed(b"\x03" + writer.i32(0, 0) + b"\x01" + writer.utf("") + writer.i32(-1)), "negative length -1", 81),
    (with_keyed(b"\x03" + writer.i32(0, 0) + b"\x02" + writer.i64(-2)), "negative file size -2", 75),
    (with_keyed(b"\x03" + writer.i32(0, 0) + b"\x0f" + writer.i64(0, 0) + writer.i32(2)), "unknown scope", 91),
    (with_keyed(nested_keyed(9)), "nested deeper than 8", None),
    (with_keyed(b"\x03" + writer.i32(0, 0) + nested_stream(9)), "nested deeper than 8", None),
    (
        with_keyed(b"\x0e" + writer.i32(0, 1) + writer.i64(0) + writer.i32(0, 1) + writer.keyed(KEYED[0])),
        "the changelog has handles of another kind",
        86,
    ),
    (with_channels(writer.i32(-1)), "invalid number -1 of channel states", 73),
    (with_channels(writer.i32(1) + b"\x02"), "channel state type 2; expected 1 or 3", 77),
    (with_channels(writer.i32(0, 1) + b"\x03"), "channel state type 3; expected 2 or 4", 81),
    (
        with_channels(writer.i32(1) + b"\x03" + writer.i32(0) + writer.i64(0) + b"\x10" + writer.i32(5, 0) + b"x"),
        "1 bytes after merged channel state",
        99,
    ),
]


def problem_of(data: bytes) -> FormatError:
    """What is wrong with a file, or with its only operator."""
    try:
        (operator,) = parse_metadata(data).operators
    except FormatError as error:
        return error
    assert operator.problem is not None
    return operator.problem


@pytest.mark.parametrize(("data", "message", "offset"), REFUSED, ids=[message for _, message, _ in REFUSED])
def test_refused_with_the_position(data: bytes, message: str, offset: int | None) -> None:
    error = problem_of(data)
    assert message in str(error)
    assert error.offset == offset or offset is None
    assert error.offset is not None


def test_nesting_within_bounds() -> None:
    with pytest.raises(FormatError) as caught:
        parse_metadata(with_keyed(nested_keyed(7)))
    assert "left over" in str(caught.value), "seven levels are read; what is refused are the bytes behind"


def test_the_operator_is_named() -> None:
    assert problem_of(body(5, head(5, 0) + bytes(9))).operator == "u"
    assert problem_of(body(3, head(3, 0) + bytes(9))).operator == "00" * 16


def test_versions_that_are_not_read() -> None:
    with pytest.raises(UnsupportedVersionError, match=r"version 1, as Flink 1\.1 and 1\.2 wrote") as caught:
        parse_metadata(OK + writer.i32(1))
    assert caught.value.offset == 4
    for version in (0, 8, -1, 2**31 - 1):
        with pytest.raises(UnsupportedVersionError, match=f"unknown version {version}") as caught:
            parse_metadata(OK + writer.i32(version))
        assert caught.value.offset == 4


def test_legacy_state_of_flink_1_1() -> None:
    with pytest.raises(UnsupportedError, match=r"1 operator state of Flink 1\.1") as caught:
        parse_metadata(body(2, head(2) + writer.i32(1, 0) + writer.i64(0) + writer.i32(1)))
    assert caught.value.offset == 68


@pytest.mark.parametrize("version", range(2, 8))
def test_bytes_left_over(version: int) -> None:
    data = writer.metadata(everything(version))
    with pytest.raises(FormatError, match="3 bytes are left over after the snapshot") as caught:
        parse_metadata(data + b"\x00\x00\x00")
    assert caught.value.offset == len(data)


@pytest.mark.parametrize("version", [2, 4, 7])
def test_every_prefix_is_an_error(version: int) -> None:
    data = writer.metadata(everything(version), writer.savepoint_properties("NATIVE", "Savepoint"))
    parse_metadata(data)
    for end in range(0, len(data), 1 if version == 7 else 7):
        with pytest.raises(FormatError) as caught:
            parse_metadata(data[:end])
        assert caught.value.offset is not None
        assert caught.value.offset <= end
    with pytest.raises(TruncatedError):
        parse_metadata(data[:-1])
    with pytest.raises(TruncatedError):
        parse_metadata(b"")


@pytest.mark.parametrize("version", range(2, 8))
def test_flipped_bytes_raise_only_our_errors(version: int) -> None:
    seeded = random.Random(version)
    whole = writer.metadata(everything(version), writer.savepoint_properties("NATIVE", "Savepoint"))
    extremes = [struct.pack(">i", value) for value in (-1, 2**31 - 1, -(2**31), 65536)]
    failed = 0
    for _ in range(250):
        data = bytearray(whole)
        for _ in range(seeded.choice((1, 1, 3))):
            at = seeded.randrange(len(data) - 4)
            if seeded.random() < 0.5:
                data[at] ^= 1 << seeded.randrange(8)
            else:
                data[at : at + 4] = seeded.choice(extremes)
        try:
            parse_metadata(data)
        except StateExtractError:
            failed += 1
    assert failed > 25
