"""The ``_metadata`` file of a checkpoint or savepoint, versions 2 to 7.

::

    i32 magic · i32 version · i64 checkpoint id · master states · operators · [4 on] properties, a Java object stream

Reads: all bytes of the file, and leaves none. An operator is its id (from version 5 on with name and uid before it),
its parallelism and its subtasks; a subtask is four state handles and, from version 3 on, channel state. What is not
decoded elsewhere (channel state, coordinators, master hooks) is parsed all the same, since nothing has a length.

Source of the format: ``MetadataSerializers``, ``MetadataV2V3SerializerBase``, ``MetadataV2Serializer`` to
``MetadataV7Serializer``, ``Checkpoints``. May import: cursor, handles, properties, model. No I/O, no serializers.
"""

from __future__ import annotations

from collections.abc import Sequence

from stateextract.errors import FormatError, StateExtractError, UnsupportedError, UnsupportedVersionError
from stateextract.files.reader import Reader
from stateextract.metadata.handles import (
    read_channel_handles,
    read_keyed_handle,
    read_operator_handle,
    read_stream_handle,
)
from stateextract.metadata.model import (
    InlineHandle,
    MasterState,
    OperatorState,
    SnapshotMetadata,
    SubtaskState,
)
from stateextract.metadata.properties import read_properties
from stateextract.printable import pluralize

MAGIC = 0x4960672D
MASTER_STATE_MAGIC = 0xC96B1696
_VERSIONS = range(2, 8)
_UNVERIFIED = frozenset({7})

_MAX_PARALLELISM = 1 << 15


def parse_metadata(data: bytes | bytearray | memoryview) -> SnapshotMetadata:
    """Read a whole ``_metadata`` file.

    :raises UnsupportedVersionError: for version 1 and unknown versions.
    :raises FormatError: for anything Flink does not write, with the byte's position; ``TruncatedError`` where the file
        ends too early.
    """
    reader = Reader(data)
    version = _read_version(reader)
    start = reader.offset
    checkpoint_id = reader.i64("the checkpoint id")
    if checkpoint_id < 0:
        raise FormatError(f"negative checkpoint id {checkpoint_id}", offset=start)
    masters = tuple(_master_state(reader) for _ in range(reader.count("master states", 8)))
    operators: dict[str, OperatorState] = {}
    for _ in range(reader.count("operators", 28)):
        start = reader.offset
        operator = _operator(reader, version)
        if operators.setdefault(operator.id, operator) is not operator:
            raise FormatError(f"a second operator has the id {operator.id}", offset=start)
    properties, note = read_properties(reader) if version >= 4 else (None, None)
    if reader.remaining:
        raise FormatError(
            f"{reader.remaining} bytes are left over after the snapshot",
            expected="the end of the file",
            offset=reader.offset,
        )
    notes = [] if note is None else [note]
    if version in _UNVERIFIED:
        notes.append(
            f"version {version} is read as Flink's source describes it; no real file of it was seen: unverified"
        )
    return SnapshotMetadata(
        version, checkpoint_id, masters, tuple(operators.values()), properties, version not in _UNVERIFIED, tuple(notes)
    )


def check_version(data: bytes) -> None:
    """Whether a file that begins so is a ``_metadata`` file of a version that is read.

    :raises StateExtractError: where it is not, as :func:`parse_metadata` does.
    """
    _read_version(Reader(data))


def _read_version(reader: Reader) -> int:
    magic = reader.i32("the magic number")
    if magic != MAGIC:
        raise FormatError(
            f"not a Flink snapshot: it begins with 0x{magic & 0xFFFFFFFF:08X}",
            expected=f"0x{MAGIC:08X}",
            advice="give the _metadata file of a checkpoint or savepoint",
            offset=0,
        )
    version = reader.i32("the version")
    if version == 1:
        raise UnsupportedVersionError(
            "a snapshot of version 1, as Flink 1.1 and 1.2 wrote them",
            expected=f"versions {_VERSIONS[0]} to {_VERSIONS[-1]}",
            advice="restore it with Flink 1.3 to 1.10 and take a new savepoint",
            offset=4,
        )
    if version not in _VERSIONS:
        raise UnsupportedVersionError(
            f"a snapshot of unknown version {version}",
            expected=f"versions {_VERSIONS[0]} to {_VERSIONS[-1]}",
            advice="it may come from a newer Flink: look for a newer stateextract",
            offset=4,
        )
    return version


def _master_state(reader: Reader) -> MasterState:
    start = reader.offset
    if reader.i32("a master state") & 0xFFFFFFFF != MASTER_STATE_MAGIC:
        raise FormatError("not a master state", expected=f"0x{MASTER_STATE_MAGIC:08X}", offset=start)
    start = reader.offset
    size = reader.i32("the length of a master state")
    if size <= 0:
        raise FormatError(f"invalid length {size} of a master state", offset=start)
    position = reader.pos
    reader.bytes(size, "a master state")
    inner = Reader(reader.data, position, reader.pos, reader.base)
    version, name = inner.i32("a master state's version"), inner.utf("a master state's name")
    state = bytes(inner.bytes(inner.i32("the length of a hook's state"), "a hook's state"))
    if inner.remaining:
        raise FormatError(f"{inner.remaining} bytes are left over after a master state", offset=inner.offset)
    return MasterState(version, name, state)


def _operator(reader: Reader, version: int) -> OperatorState:
    name = reader.utf("an operator's name") if version >= 5 else ""
    uid = reader.utf("an operator's uid") if version >= 5 else ""
    operator_id = bytes(reader.bytes(16, "an operator id")).hex()
    try:
        return _operator_body(reader, version, operator_id, uid or None, name or None)
    except StateExtractError as error:
        raise error.at(operator=uid or name or operator_id) from None


def _operator_body(reader: Reader, version: int, operator_id: str, uid: str | None, name: str | None) -> OperatorState:
    start = reader.offset
    parallelism, max_parallelism = reader.i32("a parallelism"), reader.i32("a max parallelism")
    if not 1 <= parallelism <= max_parallelism <= _MAX_PARALLELISM:
        raise FormatError(
            f"invalid parallelism {parallelism} with max parallelism {max_parallelism}",
            expected=f"1 <= parallelism <= max parallelism <= {_MAX_PARALLELISM}",
            offset=start,
        )
    if version == 2:
        reader.i32("the chain length")  # of Flink before 1.3; Flink does not look at it either
    coordinator = _coordinator(reader) if version >= 3 else None
    start = reader.offset
    n = reader.i32("the number of subtasks")
    if n < 0 and version >= 3:
        if coordinator is not None:
            raise FormatError("a finished operator with coordinator state", offset=start)
        return OperatorState(operator_id, uid, name, parallelism, max_parallelism, fully_finished=True)
    if not 0 <= n <= parallelism:
        raise FormatError(f"invalid number {n} of subtasks", expected=f"at most {parallelism}", offset=start)
    begin, subtasks = start, dict[int, SubtaskState | None]()
    for _ in range(n):
        start = reader.offset
        stored = reader.i32("a subtask's index")
        finished = stored < 0 and version >= 3
        index = -(stored + 1) if finished else stored
        if not 0 <= index < parallelism or index in subtasks:
            raise FormatError(f"invalid subtask {stored} of {parallelism}", offset=start)
        subtasks[index] = None if finished else _subtask(reader, version, index)
    _check_owners([state for state in subtasks.values() if state is not None], max_parallelism, begin)
    return OperatorState(
        operator_id,
        uid,
        name,
        parallelism,
        max_parallelism,
        finished_subtasks=tuple(sorted(index for index, state in subtasks.items() if state is None)),
        coordinator=coordinator,
        subtasks=tuple(state for _, state in sorted(subtasks.items()) if state is not None),
    )


def _check_owners(subtasks: Sequence[SubtaskState], max_parallelism: int, offset: int) -> None:
    """Each key group has one owner: the rows of a second one would come twice."""
    for handles in ([s.managed_keyed for s in subtasks], [s.raw_keyed for s in subtasks]):
        ranges = (handle.key_groups for handle in handles if handle is not None)
        stop = 0
        for groups in sorted((groups for groups in ranges if groups), key=lambda groups: groups.start):
            if groups.start < stop:
                raise FormatError(f"two subtasks have key group {groups.start}", expected="one", offset=offset)
            stop = groups.stop
        if stop > max_parallelism:
            raise FormatError(f"a subtask has key group {stop - 1}", expected=f"below {max_parallelism}", offset=offset)


def _coordinator(reader: Reader) -> InlineHandle | None:
    start = reader.offset
    handle = read_stream_handle(reader)
    if handle is None or isinstance(handle, InlineHandle):
        return handle
    raise FormatError(f"coordinator state in a handle of type {handle.code}", expected="0 or 1", offset=start)


def _subtask(reader: Reader, version: int, index: int) -> SubtaskState:
    if version == 2:
        reader.i64("a duration")  # unused
        start = reader.offset
        legacy = reader.i32("the number of legacy states")
        if legacy:
            raise UnsupportedError(
                pluralize(legacy, "operator state") + " of Flink 1.1", expected="none, as since Flink 1.2", offset=start
            )
    managed_operator = read_operator_handle(reader) if reader.i32("has managed operator state") else None
    raw_operator = read_operator_handle(reader) if reader.i32("has raw operator state") else None
    managed_keyed, raw_keyed = read_keyed_handle(reader), read_keyed_handle(reader)
    merged = version >= 6
    inputs = read_channel_handles(reader, merged, output=False) if version >= 3 else ()
    outputs = read_channel_handles(reader, merged, output=True) if version >= 3 else ()
    reference = None
    if version >= 7 and reader.u8("whether a reference checkpoint follows") == 1:
        reference = reader.i64("a reference checkpoint id")
    return SubtaskState(index, managed_operator, raw_operator, managed_keyed, raw_keyed, inputs, outputs, reference)
