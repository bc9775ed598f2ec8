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

from dataclasses import replace

from stateextract.errors import FormatError, StateExtractError, UnsupportedError, UnsupportedVersionError
from stateextract.files.reader import Reader
from stateextract.metadata.handles import (
    read_channel_handles,
    read_keyed_handle,
    read_operator_handle,
    read_stream_handle,
)
from stateextract.metadata.model import (
    MAX_KEY_GROUPS,
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


def parse_metadata(data: bytes | bytearray | memoryview) -> SnapshotMetadata:
    """Read a whole ``_metadata`` file.

    A value that cannot be true, but does not hide where the next one begins, is the ``problem`` of its operator.

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
    try:
        for _ in range(reader.count("operators", 28)):
            start = reader.offset
            operator = _operator(reader, version)
            known = operators.get(operator.id)
            operators[operator.id] = operator if known is None else _twice(known, operator, start)
        properties, note = read_properties(reader) if version >= 4 else (None, None)
        if reader.remaining:
            raise FormatError(
                f"{reader.remaining} bytes are left over after the snapshot",
                expected="the end of the file",
                offset=reader.offset,
            )
    except StateExtractError as error:
        # What was wrong first is the reason for what follows.
        raise next((o.problem for o in operators.values() if o.problem is not None), error) from None
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
    problems: list[FormatError] = []
    start = reader.offset
    parallelism, max_parallelism = reader.i32("a parallelism"), reader.i32("a max parallelism")
    if not 1 <= parallelism <= max_parallelism <= MAX_KEY_GROUPS:
        problems.append(FormatError(
            f"invalid parallelism {parallelism} with max parallelism {max_parallelism}",
            expected=f"1 <= parallelism <= max parallelism <= {MAX_KEY_GROUPS}",
            offset=start,
        ))  # fmt: skip
    if version == 2:
        reader.i32("the chain length")  # of Flink before 1.3; Flink does not look at it either
    try:
        coordinator = _coordinator(reader) if version >= 3 else None
        start = reader.offset
        n = reader.i32("the number of subtasks")
        fully_finished = n < 0 and version >= 3
        if fully_finished and coordinator is not None:
            problems.append(FormatError("a finished operator with coordinator state", offset=start))
        if not fully_finished and not 0 <= n <= parallelism:
            problems.append(FormatError(f"invalid number {n} of subtasks", expected=f"at most {parallelism}", offset=start))
        subtasks, finished = _subtasks(reader, version, n, parallelism, problems)
    except StateExtractError as error:
        raise next(iter(problems), error) from None
    label = uid or name or operator_id
    return OperatorState(
        operator_id,
        uid,
        name,
        parallelism,
        max_parallelism,
        fully_finished,
        tuple(sorted(finished)),
        coordinator,
        tuple(sorted(subtasks, key=lambda state: state.index)),
        next((problem.at(operator=label) for problem in problems), None),
    )


def _subtasks(
    reader: Reader, version: int, n: int, parallelism: int, problems: list[FormatError]
) -> tuple[list[SubtaskState], set[int]]:
    """The state of subtasks, and the indexes of those that had finished."""
    subtasks: list[SubtaskState] = []
    finished: set[int] = set()
    seen: set[int] = set()
    for _ in range(n):
        start = reader.offset
        stored = reader.i32("a subtask's index")
        is_finished = stored < 0 and version >= 3
        index = -(stored + 1) if is_finished else stored
        if not 0 <= index < parallelism or index in seen:
            problems.append(FormatError(f"invalid subtask {stored} of {parallelism}", offset=start))
        seen.add(index)
        if is_finished:
            finished.add(index)
        else:
            subtasks.append(_subtask(reader, version, index))
    return subtasks, finished


def _twice(known: OperatorState, other: OperatorState, offset: int) -> OperatorState:
    """Two operators of one id: which of them a job would restore is not known."""
    label = other.uid or other.name or other.id
    problem = FormatError(f"a second operator has the id {other.id}", operator=label, offset=offset)
    return replace(known, subtasks=(*known.subtasks, *other.subtasks), problem=known.problem or problem)


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
