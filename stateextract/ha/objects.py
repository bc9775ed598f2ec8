"""The Java objects of high-availability data: the handle of an entry, and the checkpoint that its file holds.

Reads: one Java object stream, as data (``files/javastream.py``). Only the named fields are followed, and the class is checked
at each step, so that objects that refer to each other cannot mislead. Fields go by name: those of Flink's classes changed
while their serialVersionUIDs stayed.

Sources of the format: ``RetrievableStreamStateHandle``, ``KubernetesStateHandleStore.StateHandleWithDeleteMarker``,
``CompletedCheckpoint``, ``CheckpointProperties``. Opens nothing; knows no store.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from stateextract.errors import FormatError
from stateextract.files.javastream import JavaArray, JavaEnum, JavaLimits, JavaObject, JavaValue, parse_java_stream
from stateextract.files.reader import Reader
from stateextract.metadata.model import CheckpointProperties

MOST_ENTRY_BYTES = 1 << 20
"""Neither ZooKeeper nor Kubernetes takes a larger entry."""
_MOST_VALUES = 5_000_000
"""Of a ``completedCheckpoint`` file. A file of state takes about ten values and 300 bytes, a value 500 bytes of memory."""
COMPLETED = "completedCheckpoint"
"""The names of the files that entries refer to begin with it."""

_RUNTIME = "org.apache.flink.runtime."
_MARKER = "org.apache.flink.kubernetes.highavailability.KubernetesStateHandleStore$StateHandleWithDeleteMarker"
_RETRIEVABLE = _RUNTIME + "state.RetrievableStreamStateHandle"
_FILE_HANDLES = frozenset(
    _RUNTIME + name for name in ("state.filesystem.FileStateHandle", "state.filesystem.RelativeFileStateHandle")
)
_BYTES_HANDLE = _RUNTIME + "state.memory.ByteStreamStateHandle"
_CHECKPOINT = _RUNTIME + "checkpoint.CompletedCheckpoint"
_CHECKPOINT_TYPE, _SAVEPOINT_TYPE = _RUNTIME + "checkpoint.CheckpointType", _RUNTIME + "checkpoint.SavepointType"


@dataclass(frozen=True)
class EntryHandle:
    """What an entry of the store says.

    :param uri: of the ``completedCheckpoint`` file, as Flink wrote it; ``None`` where the bytes are ``inline``.
    :param size: of the file in bytes.
    :param marked: the entry is being removed (Kubernetes).
    """

    uri: str | None
    size: int
    inline: bytes | None = field(default=None, repr=False)
    marked: bool = False


@dataclass(frozen=True)
class CompletedCheckpoint:
    """A ``completedCheckpoint`` file.

    :param job_id: of the job that holds it: 32 hex digits. Not that of the job which took it, if this one was started from it.
    :param triggered: epoch milliseconds; ``None`` for a snapshot that the job was started from.
    :param completed: likewise.
    :param external_pointer: the URI of the snapshot's folder.
    :param metadata_uri: of its ``_metadata``; ``None`` where the job keeps no such file.
    :param metadata_size: of that file in bytes.
    :param unclaimed: the job was started from it in NO_CLAIM mode, so Flink will not delete it.
    """

    checkpoint_id: int
    job_id: str
    triggered: int | None
    completed: int | None
    external_pointer: str
    metadata_uri: str | None
    metadata_size: int
    properties: CheckpointProperties
    unclaimed: bool


def parse_entry(data: bytes) -> EntryHandle:
    """The handle in a znode's data, or in a value of a ConfigMap after Base64. Bytes after the object are ignored, as by Flink.

    :raises FormatError: for other bytes.
    """
    if len(data) > MOST_ENTRY_BYTES:
        raise FormatError(f"the entry has {len(data)} bytes", expected=f"at most {MOST_ENTRY_BYTES}")
    value = parse_java_stream(Reader(data))
    marked = False
    if isinstance(value, JavaObject) and value.class_name == _MARKER:
        marked = _flag(value, "markedForDeletion")
        value = value.get("inner")
    outer = _object(value, _RETRIEVABLE, what="the entry")
    wrapped = outer.get("wrappedStreamStateHandle")
    if isinstance(wrapped, JavaObject) and wrapped.class_name == _BYTES_HANDLE:
        content = _inline(wrapped)
        return EntryHandle(None, len(content), content, marked)
    return EntryHandle(*_file(wrapped, "the handle of the entry"), marked=marked)


def parse_completed_checkpoint(data: bytes) -> CompletedCheckpoint:
    """A ``completedCheckpoint`` file, all of it, since Flink reads all of it.

    :raises FormatError: for other bytes, or a file that was cut short.
    """
    value = parse_java_stream(Reader(data), JavaLimits(values=_MOST_VALUES))
    found = _object(value, _CHECKPOINT, what="the file")
    job = _object(found.get("job"), "org.apache.flink.api.common.JobID", what="the field job")
    halves = [_long(job, name) & 0xFFFF_FFFF_FFFF_FFFF for name in ("lowerPart", "upperPart")]
    triggered = _long(found, "timestamp")
    # Until 1.13 there was a duration instead.
    has_completion = isinstance(found.get("completionTimestamp"), int)
    completed = _long(found, "completionTimestamp") if has_completion else triggered + _long(found, "duration")
    pointer = found.get("externalPointer")
    handle = found.get("metadataHandle")
    uri: str | None = None
    if isinstance(handle, JavaObject) and handle.class_name == _BYTES_HANDLE:
        size = len(_inline(handle))
    else:
        uri, size = _file(handle, "the field metadataHandle")
    properties = found.get("props")
    return CompletedCheckpoint(
        checkpoint_id=_long(found, "checkpointID"),
        job_id=f"{halves[0]:016x}{halves[1]:016x}",
        triggered=triggered or None,
        completed=completed or None,
        external_pointer=pointer if isinstance(pointer, str) else "",
        metadata_uri=uri,
        metadata_size=size,
        properties=_kind(properties.get("checkpointType") if isinstance(properties, JavaObject) else None),
        unclaimed=isinstance(properties, JavaObject) and properties.get("unclaimed") is True,
    )


def _kind(value: JavaValue) -> CheckpointProperties:
    if isinstance(value, JavaEnum) and value.class_name == _CHECKPOINT_TYPE:  # until 1.14
        return CheckpointProperties("savepoint" if value.name.startswith("SAVEPOINT") else "checkpoint", None, value.name)
    if isinstance(value, JavaObject) and value.class_name in (_CHECKPOINT_TYPE, _SAVEPOINT_TYPE):
        name, written = value.get("name"), value.get("formatType")
        return CheckpointProperties(
            "savepoint" if value.class_name == _SAVEPOINT_TYPE else "checkpoint",
            written.name.lower() if isinstance(written, JavaEnum) else None,
            name if isinstance(name, str) else None,
        )
    return CheckpointProperties()


def _file(value: JavaValue, what: str) -> tuple[str, int]:
    """URI and size of a ``FileStateHandle``."""
    handle = _object(value, *_FILE_HANDLES, what=what)
    path = _object(handle.get("filePath"), "org.apache.flink.core.fs.Path", what=f"the path of {what}")
    uri = _object(path.get("uri"), "java.net.URI", what=f"the URI of {what}").get("string")
    if not isinstance(uri, str):
        raise FormatError(f"the URI of {what} has no text")
    return uri, _long(handle, "stateSize")


def _inline(handle: JavaObject) -> bytes:
    data = handle.get("data")
    if not isinstance(data, JavaArray) or not isinstance(data.elements, bytes):
        raise FormatError("a handle with its bytes in it has none")
    return data.elements


def _object(value: JavaValue, *names: str, what: str) -> JavaObject:
    if not isinstance(value, JavaObject) or value.class_name not in names:
        seen = getattr(value, "class_name", None)
        is_ = f"an object of {seen!r}" if isinstance(seen, str) else "something else"
        raise FormatError(f"{what} is {is_}", expected=re.sub(r".*\.", "", sorted(names)[0]))
    return value


def _long(value: JavaObject, name: str) -> int:
    number = value.get(name)
    if not isinstance(number, int) or isinstance(number, bool):
        raise FormatError(f"{value.class_name} has no number {name}")
    return number


def _flag(value: JavaObject, name: str) -> bool:
    flag = value.get(name)
    if not isinstance(flag, bool):
        raise FormatError(f"{value.class_name} has no flag {name}")
    return flag
