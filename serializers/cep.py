"""CEP: the state of pattern matching (``MATCH_RECOGNIZE`` in SQL, the CEP library).

Flink's classes: ``org.apache.flink.cep.nfa.{DeweyNumber,NFAStateSerializer}``,
``org.apache.flink.cep.nfa.sharedbuffer.{EventId,NodeId,Lockable,SharedBufferEdge,SharedBufferNode}`` and their
serializers. An operator has the states ``nfaStateName`` (partial matches), ``sharedBuffer-events`` (the events by their
ids, each with the number of references to it), ``sharedBuffer-entries-with-lockable-edges`` (the graph that matches are
read out of; ``sharedBuffer-entries`` in old files) and ``eventQueuesStateName`` (events that wait for the watermark).

Timestamps are milliseconds as numbers: processing time has others than dates. A version is a Dewey number: ``1.0.2`` is
the list 1, 0, 2.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from serializers.registry import SerializerSnapshot, describe, inner, nested_struct, register
from serializers.snapshots import composite
from stateextract.columnar.layout import Field, Layout, List, Nullable, Number, Struct, Text, struct
from stateextract.errors import UnsupportedVersionError
from stateextract.files.reader import Reader

_NFA = "org.apache.flink.cep.nfa."
_BUFFER = _NFA + "sharedbuffer."

_I32, _I64 = Number(pa.int32()), Number(pa.int64())

register(_NFA + "DeweyNumber$DeweyNumberSerializer$DeweyNumberSerializerSnapshot", List(_I32))
register(
    _BUFFER + "EventId$EventIdSerializer$EventIdSerializerSnapshot", struct(id=_I32, timestamp=_I64), fixed_length=True
)


@register(_BUFFER + "NodeId$NodeIdSerializer$NodeIdSerializerSnapshot", payload=composite(1))
def _node_id(snapshot: SerializerSnapshot) -> Layout:
    """The event, and the state of the pattern that took it."""
    return Nullable(struct(event=describe(snapshot.nested[0]), page=Text()), null_if=False)


@register(_BUFFER + "LockableTypeSerializerSnapshot", payload=composite(1))
def _lockable(snapshot: SerializerSnapshot) -> Layout:
    return struct(references=_I32, element=describe(snapshot.nested[0]))


register(
    _BUFFER + "SharedBufferEdge$SharedBufferEdgeSerializer$SharedBufferEdgeSerializerSnapshot",
    nested_struct("target", "version"),
    payload=composite(2),
)
# Before edges were counted; nested is the serializer of the list of edges.
register(
    _BUFFER + "SharedBufferNode$SharedBufferNodeSerializer$SharedBufferNodeSerializerSnapshot", inner, payload=composite(1)
)


@register(_BUFFER + "SharedBufferNodeSerializerSnapshotV2", payload=composite(1))
def _node(snapshot: SerializerSnapshot) -> Layout:
    return List(struct(references=_I32, edge=describe(snapshot.nested[0])))


def _nfa_payload(reader: Reader, outer_version: int) -> dict[str, Any]:
    if not 1 <= outer_version <= 2:
        raise UnsupportedVersionError(
            f"outer version {outer_version} of NFAStateSerializerSnapshot is not known",
            expected="1 or 2",
            offset=reader.offset,
        )
    return {"previous_timestamp": outer_version == 2 and reader.bool("supportsPreviousTimestamp")}


@register(_NFA + "NFAStateSerializerSnapshot", payload=composite(3, _nfa_payload))
def _nfa_state(snapshot: SerializerSnapshot) -> Layout:
    version, node, event = map(describe, snapshot.nested)
    previous = (Field("previous_timestamp", _I64),) if snapshot.details["previous_timestamp"] else ()
    computation = Struct(
        (
            Field("state", Text()),
            Field("previous", node),
            Field("version", version),
            Field("start_timestamp", _I64),
            *previous,
            Field("start_event", Nullable(event, null_if=False)),
        )
    )
    return struct(partial_matches=List(computation), completed_matches=List(computation))
