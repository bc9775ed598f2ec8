"""What a ``_metadata`` file says: plain, frozen, picklable values.

A snapshot has operators, an operator has subtasks, a subtask has handles, and a handle says which bytes of which file
(or which bytes of ``_metadata`` itself) hold its state. Names follow Flink's (``OperatorState``,
``OperatorSubtaskState``, ``KeyGroupsStateHandle``, ...). Every handle has three things in common:

* ``code``: the type byte that was before it (``MetadataV2V3SerializerBase``),
* ``kind``: the same in words, for reports,
* ``size``: how many bytes of state it represents, as far as the handle records it.

and ``streams()``: the stream handles inside of it, for callers that need the files. Knows no serializer and opens no file.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple, TypeAlias, TypeVar

from stateextract.errors import FormatError

S = TypeVar("S", bound="_Stream")

# -- what kinds of handles have in common


class _Stream:
    """Of stream handles."""

    __slots__ = ()

    def streams(self: S) -> Iterator[S]:
        yield self


class _OfStream:
    """Of handles that hold a stream handle."""

    __slots__ = ()
    stream: StreamHandle

    @property
    def size(self) -> int:
        return self.stream.size

    def streams(self) -> Iterator[StreamHandle]:
        yield from self.stream.streams()


MAX_KEY_GROUPS = 1 << 15
"""``KeyGroupRangeAssignment.UPPER_BOUND_MAX_PARALLELISM``."""


def _key_groups(first: int, count: int) -> range:
    """Empty if Flink has no such key groups."""
    return range(first, first + count) if 0 <= first <= first + count <= MAX_KEY_GROUPS else range(0)


class _OfKeyGroups:
    """Of handles of key groups that lie side by side."""

    __slots__ = ()
    first: int
    count: int

    @property
    def key_groups(self) -> range:
        return _key_groups(self.first, self.count)


class _ByCode:
    """Of handles that have several codes."""

    __slots__ = ()
    code: int
    KINDS: ClassVar[dict[int, str]]

    @property
    def kind(self) -> str:
        return self.KINDS[self.code]


# -- stream handles: bytes, wherever they lie


@dataclass(frozen=True, slots=True)
class InlineHandle(_Stream):
    """``ByteStreamStateHandle``: a whole small file inside of ``_metadata``. ``name`` is an identity only."""

    name: str
    data: bytes = field(repr=False)
    code: ClassVar[int] = 1
    kind: ClassVar[str] = "inline"

    @property
    def size(self) -> int:
        return len(self.data)


@dataclass(frozen=True, slots=True)
class FileHandle(_Stream):
    """``FileStateHandle``: a whole file, by absolute path."""

    size: int
    path: str
    code: ClassVar[int] = 2
    kind: ClassVar[str] = "file"


@dataclass(frozen=True, slots=True)
class RelativeHandle(_Stream):
    """``RelativeFileStateHandle``: a whole file, relative to the directory of ``_metadata``."""

    path: str
    size: int
    code: ClassVar[int] = 6
    kind: ClassVar[str] = "relative file"


@dataclass(frozen=True, slots=True)
class SegmentHandle(_Stream):
    """``SegmentFileStateHandle``: a window of a file that several states share. ``scope`` is EXCLUSIVE or SHARED."""

    start: int
    size: int
    scope: str
    path: str
    logical_id: str
    code: ClassVar[int] = 15
    kind: ClassVar[str] = "segment"


@dataclass(frozen=True, slots=True)
class EmptySegmentHandle(_Stream):
    """``EmptySegmentFileStateHandle``: no bytes at all."""

    size: ClassVar[int] = 0
    code: ClassVar[int] = 16
    kind: ClassVar[str] = "empty segment"


@dataclass(frozen=True, slots=True)
class NestedKeyGroupsHandle(_OfStream):
    """A key-groups handle in the place of a stream handle: Flink reads it, nothing is known to write it."""

    first: int
    offsets: tuple[int, ...] = field(repr=False)
    stream: StreamHandle
    code: ClassVar[int] = 3
    kind: ClassVar[str] = "nested key groups"


StreamHandle: TypeAlias = (
    InlineHandle | FileHandle | RelativeHandle | SegmentHandle | EmptySegmentHandle | NestedKeyGroupsHandle
)

# -- keyed state


@dataclass(frozen=True, slots=True)
class KeyGroupsHandle(_ByCode, _OfStream):
    """``KeyGroupsStateHandle`` (codes 3 and 12) and ``KeyGroupsSavepointStateHandle`` (7).

    :param offsets: one per key group from ``first`` on, in the bytes of ``stream``. What a value means depends on the
        file's layout, which the code alone does not determine.
    :param handle_id: an identity only; empty where the code has none.
    """

    KINDS: ClassVar = {3: "key groups", 7: "key groups savepoint", 12: "key groups V2"}
    code: int
    first: int
    offsets: tuple[int, ...] = field(repr=False)
    stream: StreamHandle
    handle_id: str = ""

    @property
    def savepoint(self) -> bool:
        """Written as a canonical savepoint, so certainly in that layout."""
        return self.code == 7

    @property
    def key_groups(self) -> range:
        return _key_groups(self.first, len(self.offsets))


@dataclass(frozen=True, slots=True)
class IncrementalHandle(_ByCode, _OfKeyGroups):
    """``IncrementalRemoteKeyedStateHandle`` (codes 5 and 11): RocksDB's or ForSt's files, by their local names."""

    KINDS: ClassVar = {5: "incremental", 11: "incremental V2"}
    code: int
    checkpoint_id: int
    backend_id: str
    first: int
    count: int
    meta: StreamHandle
    shared: tuple[tuple[str, StreamHandle], ...]
    private: tuple[tuple[str, StreamHandle], ...]
    checkpointed_size: int = -1
    handle_id: str = ""

    @property
    def size(self) -> int:
        return self.meta.size + sum(stream.size for _, stream in (*self.shared, *self.private))

    def streams(self) -> Iterator[StreamHandle]:
        yield from self.meta.streams()
        for _, stream in (*self.shared, *self.private):
            yield from stream.streams()


@dataclass(frozen=True, slots=True)
class ChangelogBytesHandle(_OfKeyGroups):
    """``InMemoryChangelogStateHandle`` (code 9). A change of key group −1 is metadata."""

    first: int
    count: int
    from_sequence: int
    to_sequence: int
    changes: tuple[tuple[int, bytes], ...] = field(repr=False)
    handle_id: str
    code: ClassVar[int] = 9
    kind: ClassVar[str] = "changelog bytes"

    @property
    def size(self) -> int:
        return sum(len(data) for _, data in self.changes)

    def streams(self) -> Iterator[StreamHandle]:
        return iter(())


@dataclass(frozen=True, slots=True)
class ChangelogFilesHandle(_ByCode, _OfKeyGroups):
    """``ChangelogStateHandleStreamImpl`` (codes 10 and 13): parts of changelog files, each from an offset on.

    The sizes of these stream handles are not those of the files (``Locator.locate`` has a switch for that).
    """

    KINDS: ClassVar = {10: "changelog files", 13: "changelog files V2"}
    code: int
    first: int
    count: int
    files: tuple[tuple[int, StreamHandle], ...]
    size: int
    checkpointed_size: int
    handle_id: str
    storage: str = "filesystem"

    def streams(self) -> Iterator[StreamHandle]:
        for _, stream in self.files:
            yield from stream.streams()


@dataclass(frozen=True, slots=True)
class ChangelogHandle(_ByCode, _OfKeyGroups):
    """``ChangelogStateBackendHandleImpl`` (codes 8 and 14): a materialized snapshot and the changes since."""

    KINDS: ClassVar = {8: "changelog", 14: "changelog V2"}
    code: int
    first: int
    count: int
    checkpointed_size: int
    materialized: tuple[KeyedStateHandle, ...]
    increments: tuple[KeyedStateHandle, ...]
    materialization_id: int
    checkpoint_id: int | None
    handle_id: str

    @property
    def size(self) -> int:
        return sum(part.size for part in (*self.materialized, *self.increments))

    def streams(self) -> Iterator[StreamHandle]:
        for part in (*self.materialized, *self.increments):
            yield from part.streams()


KeyedStateHandle: TypeAlias = (
    KeyGroupsHandle | IncrementalHandle | ChangelogHandle | ChangelogBytesHandle | ChangelogFilesHandle
)

# -- operator state and channel state


@dataclass(frozen=True, slots=True)
class OperatorStatePartition:
    """``OperatorStateHandle.StateMetaInfo``: one named state. ``mode``: SPLIT_DISTRIBUTE, UNION or BROADCAST."""

    name: str
    mode: str
    offsets: tuple[int, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class OperatorStateHandle(_ByCode, _OfStream):
    """``OperatorStreamStateHandle`` (code 4), ``FileMergingOperatorStreamStateHandle`` (17)."""

    KINDS: ClassVar = {4: "operator state", 17: "operator state segment"}
    code: int
    states: tuple[OperatorStatePartition, ...]
    stream: StreamHandle
    taskowned_directory: str = ""
    shared_directory: str = ""
    empty: bool = False


class ChannelPart(NamedTuple):
    """One channel's data: (gate, channel) of an input, (partition, subpartition) of an output."""

    group: int
    channel: int
    size: int
    offsets: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ChannelStateHandle(_ByCode):
    """In-flight data of an unaligned checkpoint; codes 3 and 4 are the merged forms (``MergedChannelStateHandle``)."""

    KINDS: ClassVar = {1: "input channel", 2: "output channel", 3: "merged input channels", 4: "merged output channels"}
    code: int
    subtask: int
    parts: tuple[ChannelPart, ...]
    size: int
    stream: StreamHandle

    def streams(self) -> Iterator[StreamHandle]:
        yield from self.stream.streams()


Handle: TypeAlias = StreamHandle | KeyedStateHandle | OperatorStateHandle | ChannelStateHandle

# -- the snapshot


@dataclass(frozen=True, slots=True)
class SubtaskState:
    """``OperatorSubtaskState``: what one parallel instance left."""

    index: int
    managed_operator: OperatorStateHandle | None = None
    raw_operator: OperatorStateHandle | None = None
    managed_keyed: KeyedStateHandle | None = None
    raw_keyed: KeyedStateHandle | None = None
    input_channels: tuple[ChannelStateHandle, ...] = ()
    output_channels: tuple[ChannelStateHandle, ...] = ()
    reference_checkpoint: int | None = None

    def handles(self) -> Iterator[tuple[str, Handle]]:
        """Every handle with its role."""
        for role in ("managed_operator", "raw_operator", "managed_keyed", "raw_keyed"):
            handle: Handle | None = getattr(self, role)
            if handle is not None:
                yield role, handle
        for channel in self.input_channels:
            yield "input_channel", channel
        for channel in self.output_channels:
            yield "output_channel", channel


class HandleUse(NamedTuple):
    """Where a handle is: ``subtask`` is None for the coordinator's."""

    subtask: int | None
    role: str
    handle: Handle


@dataclass(frozen=True, slots=True)
class OperatorState:
    """``OperatorState`` or ``FullyFinishedOperatorState``. ``uid`` and ``name`` are stored from Flink 2.0 on.

    :param problem: why nothing of it is read: a value in ``_metadata`` that cannot be true.
    """

    id: str
    uid: str | None
    name: str | None
    parallelism: int
    max_parallelism: int
    fully_finished: bool = False
    finished_subtasks: tuple[int, ...] = ()
    coordinator: InlineHandle | None = None
    subtasks: tuple[SubtaskState, ...] = ()
    problem: FormatError | None = None

    def handles(self) -> list[HandleUse]:
        """Every handle of the operator, the coordinator's first."""
        found = [] if self.coordinator is None else [HandleUse(None, "coordinator", self.coordinator)]
        found.extend(HandleUse(task.index, role, handle) for task in self.subtasks for role, handle in task.handles())
        return found


@dataclass(frozen=True, slots=True)
class MasterState:
    """State of a JobManager hook."""

    version: int
    name: str
    data: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class CheckpointProperties:
    """What is known of how the snapshot was taken.

    :param kind: "checkpoint" or "savepoint".
    :param format: "canonical" or "native", of a savepoint.
    :param name: Flink's word for it ("Savepoint", "Suspend Savepoint", "Checkpoint", ...).
    """

    kind: str | None = None
    format: str | None = None
    name: str | None = None


@dataclass(frozen=True, slots=True)
class SnapshotMetadata:
    """A whole ``_metadata`` file.

    :param properties: None where the version stores none, or they are null, or could not be understood.
    :param verified: False for a version whose layout is known but no file of it.
    :param notes: what a report should say.
    """

    version: int
    checkpoint_id: int
    master_states: tuple[MasterState, ...]
    operators: tuple[OperatorState, ...]
    properties: CheckpointProperties | None = None
    verified: bool = True
    notes: tuple[str, ...] = ()

    def streams(self) -> Iterator[StreamHandle]:
        """Every stream handle of the snapshot, as often as it is referred to."""
        for operator in self.operators:
            for use in operator.handles():
                yield from use.handle.streams()
