"""Windows, timers, stream elements and the buffers of the DataStream joins and sinks.

Flink's classes: ``org.apache.flink.streaming.api.windowing.windows.*``, ``…streaming.api.operators.TimerSerializer``,
``…streaming.runtime.streamrecord.StreamElementSerializer``, ``…co.IntervalJoinOperator$BufferEntrySerializer``,
``…datastream.CoGroupedStreams$UnionSerializer``, ``…sink.TwoPhaseCommitSinkFunction$StateSerializer`` and what Kafka's
producers keep in it, ``…streaming.connectors.kafka.FlinkKafkaProducer``, up to Flink 1.14 also ``FlinkKafkaProducer011``.
"""

from __future__ import annotations

import pyarrow as pa

from serializers.datetime import EPOCH_MS
from serializers.registry import SerializerSnapshot, describe, inner, register
from serializers.snapshots import composite, outer_flag
from stateextract.columnar.layout import (
    Bool,
    Bytes,
    Case,
    Field,
    Layout,
    List,
    Logical,
    Null,
    Nullable,
    Number,
    Struct,
    Switch,
    Text,
    struct,
)

STREAMING = "org.apache.flink.streaming."
TIMER_SNAPSHOT = STREAMING + "api.operators.TimerSerializerSnapshot"

_I32, _I64 = Number(pa.int32()), Number(pa.int64())

TIMESTAMP = Number(pa.int64(), flip_sign=True)
"""A timer's time in milliseconds. A number, because timers at ``Long.MAX_VALUE`` are common and no date."""

_WINDOWS = STREAMING + "api.windowing.windows."
_TIME_WINDOW = "TimeWindow$Serializer$TimeWindowSerializerSnapshot"
TIME_WINDOWS = (_WINDOWS + _TIME_WINDOW, "org.apache.flink.table.runtime.operators.window." + _TIME_WINDOW)
"""Windows of DataStream, and of SQL, which has a class of its own (``sql.py``)."""

STREAM_ELEMENT = STREAMING + "runtime.streamrecord.StreamElementSerializer$StreamElementSerializerSnapshot"

register(TIME_WINDOWS[0], struct(start=EPOCH_MS, end=EPOCH_MS), fixed_length=True)
register(_WINDOWS + "GlobalWindow$Serializer$GlobalWindowSerializerSnapshot", Null(1), fixed_length=True)


@register(TIMER_SNAPSHOT, payload=composite(2))
def _timer(snapshot: SerializerSnapshot) -> Layout:
    key, namespace = map(describe, snapshot.nested)
    return struct(timestamp=TIMESTAMP, key=key, namespace=namespace)


@register(STREAM_ELEMENT, payload=composite(1))
def _stream_element(snapshot: SerializerSnapshot) -> Layout:
    record = Field("record", describe(snapshot.nested[0]))
    watermark = Field("watermark", _I64)
    return Switch(
        (
            Case(0, (Field("timestamp", _I64), record)),
            Case(1, (record,)),
            Case(2, (watermark,)),
            Case(
                3,
                (
                    Field("latency_marked_time", _I64),
                    Field("latency_operator", Bytes(16)),
                    Field("latency_subtask", _I32),
                ),
            ),
            Case(4, (Field("watermark_status", _I32),)),
            Case(5, (Field("backlog", Bool()),)),
            Case(6, (Field("subpartition", _I32), watermark)),
        )
    )


_RECORD_TIME = Logical(_I64, "date", EPOCH_MS.type)
"""Null for ``Long.MIN_VALUE``, which says that no timestamp was assigned."""


def stream_record(element: Switch) -> Layout:
    """Stream elements where only records can be: a struct of ``timestamp``, null where there is none, and ``value``.

    :param element: the layout of any stream element.
    """
    value = Field("value", next(f.layout for f in element.cases[0].fields if f.name == "record"))
    return Switch((Case(0, (Field("timestamp", _RECORD_TIME), value)), Case(1, (value,))))


@register(
    STREAMING + "api.operators.co.IntervalJoinOperator$BufferEntrySerializerSnapshot",
    payload=composite(1),
)
def _buffer_entry(snapshot: SerializerSnapshot) -> Layout:
    return struct(joined=Bool(), element=describe(snapshot.nested[0]))


@register(STREAMING + "api.datastream.CoGroupedStreams$UnionSerializerSnapshot", payload=composite(2))
def _tagged_union(snapshot: SerializerSnapshot) -> Layout:
    one, two = map(describe, snapshot.nested)
    return Switch((Case(1, (Field("one", one),)), Case(2, (Field("two", two),))))


_NULL_TRANSACTION = outer_flag(
    "null_transaction", "supportsNullTransaction", "TwoPhaseCommitSinkFunction's snapshot", newest=4
)


@register(
    (
        STREAMING + "api.functions.sink.legacy.TwoPhaseCommitSinkFunction$StateSerializerSnapshot",
        STREAMING + "api.functions.sink.TwoPhaseCommitSinkFunction$StateSerializerSnapshot",
    ),
    payload=composite(2, _NULL_TRANSACTION),
)
def _two_phase_commit(snapshot: SerializerSnapshot) -> Layout:
    transaction, context = map(describe, snapshot.nested)
    holder: Layout = Struct((Field("transaction", transaction), Field("start", _I64)))
    pending = Nullable(holder, null_if=False) if snapshot.details["null_transaction"] else holder
    return struct(pending=pending, to_commit=List(holder), context=Nullable(context, null_if=False))


_ID = Text("utf")
_HINT = struct(nextFreeTransactionalId=_I64, lastParallelism=_I32)
"""In the order of the bytes, and named as the fields of the class, which POJO and Kryo serializers wrote before."""

for _producer in ("FlinkKafkaProducer", "FlinkKafkaProducer011"):
    _KAFKA = f"{STREAMING}connectors.kafka.{_producer}$"
    register(
        _KAFKA + "TransactionStateSerializer$TransactionStateSerializerSnapshot",
        struct(transactional_id=Nullable(_ID, null_if=False), producer_id=_I64, epoch=Number(pa.int16())),
    )
    register(_KAFKA + "ContextStateSerializer$ContextStateSerializerSnapshot", struct(transactional_ids=List(_ID)))
    register(
        _KAFKA + "NextTransactionalIdHintSerializer$NextTransactionalIdHintSerializerSnapshot", _HINT, fixed_length=True
    )


register(
    "org.apache.flink.api.common.typeutils.SingleThreadAccessCheckingTypeSerializer"
    "$SingleThreadAccessCheckingTypeSerializerSnapshot",
    inner,
    payload=composite(1),
)
