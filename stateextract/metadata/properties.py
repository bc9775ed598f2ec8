"""The checkpoint properties after the operators of a ``_metadata`` file (version 4 on).

Reads: one Java object stream, which may hold just null. Stops: after it. Takes from it whether the snapshot is a
checkpoint or a savepoint, and of which format; all else (who may discard it, sharing of files) is of no use to a
reader of state.

Source of the format: ``MetadataV4Serializer``, ``CheckpointProperties``, ``SnapshotType``, ``CheckpointType``,
``SavepointType``. May import: the Java stream parser, the model.
"""

from __future__ import annotations

from stateextract.errors import StateExtractError, TruncatedError
from stateextract.files.javastream import JavaEnum, JavaObject, JavaValue, parse_java_stream
from stateextract.files.reader import Reader
from stateextract.metadata.model import CheckpointProperties

_PACKAGE = "org.apache.flink.runtime.checkpoint."
_KINDS = {_PACKAGE + "CheckpointType": "checkpoint", _PACKAGE + "SavepointType": "savepoint"}


def read_properties(reader: Reader) -> tuple[CheckpointProperties | None, str | None]:
    """The properties, or None and a sentence that says why.

    What cannot be understood costs the reader the rest of the file and the caller nothing: the state is described
    before it. Only a file that ends too early is an error, for then it was cut.
    """
    start = reader.offset
    try:
        value = parse_java_stream(reader)
    except TruncatedError as error:
        raise error.at(advice="the file was cut short: copy it again") from None
    except StateExtractError as error:
        reader.pos = reader.end
        where = start if error.offset is None else error.offset
        return None, f"the checkpoint properties at byte {where} cannot be understood: {error.message}"
    if value is None:
        return None, "the snapshot has no checkpoint properties, so its kind is not known"
    return _understand(value, start)


def _understand(value: JavaValue, start: int) -> tuple[CheckpointProperties | None, str | None]:
    snapshot_type = value.get("checkpointType") if isinstance(value, JavaObject) else None
    if not isinstance(snapshot_type, JavaObject) or snapshot_type.class_name not in _KINDS:
        seen = getattr(snapshot_type if snapshot_type is not None else value, "class_name", "something else")
        return None, f"the checkpoint properties at byte {start} are of an unknown kind ({seen})"
    name, written = snapshot_type.get("name"), snapshot_type.get("formatType")
    return (
        CheckpointProperties(
            kind=_KINDS[snapshot_type.class_name],
            format=written.name.lower() if isinstance(written, JavaEnum) else None,
            name=name if isinstance(name, str) else None,
        ),
        None,
    )
