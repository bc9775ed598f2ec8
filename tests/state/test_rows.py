"""Row layouts: which columns a state has, from its head."""

from __future__ import annotations

import pyarrow as pa
import pytest

from serializers import SerializerSnapshot
from serializers.containers import LIST_SNAPSHOT, MAP_SNAPSHOT
from serializers.scalars import BASE
from serializers.ttl import TTL_AWARE_SNAPSHOT, TTL_SNAPSHOTS
from serializers.windows import TIMER_SNAPSHOT
from stateextract.columnar.layout import Number, Skip, Undecodable
from stateextract.state.header import KeyedHeader, StateMeta
from stateextract.state.row_layout import row_layout

TIME = pa.timestamp("us", tz="UTC")
WINDOW = pa.struct([("start", TIME), ("end", TIME)])


def simple(name: str) -> SerializerSnapshot:
    return SerializerSnapshot(f"{BASE}{name}Serializer${name}SerializerSnapshot", 3)


def of(name: str, *nested: SerializerSnapshot) -> SerializerSnapshot:
    return SerializerSnapshot(name, 3, 1, {}, nested)


VOID = SerializerSnapshot("org.apache.flink.runtime.state.VoidNamespaceSerializer$VoidNamespaceSerializerSnapshot", 3)
WINDOWS = "org.apache.flink.streaming.api.windowing.windows."
TIME_WINDOW = SerializerSnapshot(WINDOWS + "TimeWindow$Serializer$TimeWindowSerializerSnapshot", 3)
GLOBAL_WINDOW = SerializerSnapshot(WINDOWS + "GlobalWindow$Serializer$GlobalWindowSerializerSnapshot", 3)
HEAD = KeyedHeader(6, False, simple("String"), (), 0)


def state(kind: str, value: SerializerSnapshot, namespace: SerializerSnapshot = VOID) -> StateMeta:
    serializers = {"NAMESPACE_SERIALIZER": namespace, "VALUE_SERIALIZER": value}
    return StateMeta("s", "KEY_VALUE", kind, {"KEYED_STATE_TYPE": kind}, serializers)


def queue(element: SerializerSnapshot) -> StateMeta:
    kind = "TIMER" if element.class_name == TIMER_SNAPSHOT else "PRIORITY_QUEUE"
    return StateMeta("q", "PRIORITY_QUEUE", kind, {}, {"VALUE_SERIALIZER": element})


def test_value() -> None:
    rows = row_layout(HEAD, state("VALUE", simple("Long")))
    assert [f.name for f in rows.layout.fields] == ["namespace", "key", "value"]
    assert rows.layout.fields[0].layout == Skip(1)
    assert rows.schema == pa.schema([("key", pa.string()), ("value", pa.int64())])
    assert (rows.name, rows.kind, rows.ttl, rows.undecodable) == ("s", "VALUE", False, ())
    assert (rows.key_serializer, rows.namespace_serializer, rows.value_serializer) == (
        HEAD.key_serializer,
        VOID,
        simple("Long"),
    )


def test_namespaces() -> None:
    assert row_layout(HEAD, state("VALUE", simple("Long"), TIME_WINDOW)).schema.field("namespace").type == WINDOW
    assert row_layout(HEAD, state("VALUE", simple("Long"), GLOBAL_WINDOW)).schema.names == ["key", "value"]
    assert row_layout(HEAD, state("VALUE", simple("Long"), simple("Long"))).schema.field("namespace").type == pa.int64()


TTL = pa.struct([("last_access", TIME), ("value", pa.int64())])


@pytest.mark.parametrize("wrapper", TTL_SNAPSHOTS)
@pytest.mark.parametrize("kind", ["VALUE", "REDUCING", "AGGREGATING"])
def test_ttl_of_a_value_is_split(kind: str, wrapper: str) -> None:
    rows = row_layout(HEAD, state(kind, of(wrapper, simple("Long"), simple("Long"))))
    assert rows.schema.field("value").type == TTL
    assert (rows.ttl, rows.splits_ttl) == (True, True)


def test_ttl_in_lists_and_maps_stays_inside() -> None:
    ttl = of(TTL_SNAPSHOTS[0], simple("Long"), simple("Long"))
    in_list = row_layout(HEAD, state("LIST", of(LIST_SNAPSHOT, ttl)))
    in_map = row_layout(HEAD, state("MAP", of(MAP_SNAPSHOT, simple("String"), ttl)))
    assert in_list.schema.field("value").type == pa.list_(TTL)
    assert in_map.schema.field("value").type == pa.map_(pa.string(), TTL)
    assert [(r.ttl, r.splits_ttl) for r in (in_list, in_map)] == [(True, False)] * 2


def test_a_value_that_is_a_list_of_ttl_is_not_split() -> None:
    """A value state of lists has one time for the whole list, or none."""
    rows = row_layout(HEAD, state("VALUE", of(LIST_SNAPSHOT, simple("Long"))))
    assert (rows.ttl, rows.splits_ttl) == (False, False)


def test_ttl_aware_is_transparent() -> None:
    ttl = of(TTL_SNAPSHOTS[0], simple("Long"), simple("Long"))
    aware = row_layout(HEAD, state("VALUE", of(TTL_AWARE_SNAPSHOT, ttl)))
    assert aware.layout == row_layout(HEAD, state("VALUE", ttl)).layout
    assert aware.splits_ttl
    inside = of(MAP_SNAPSHOT, simple("String"), of(TTL_AWARE_SNAPSHOT, ttl))
    assert row_layout(HEAD, state("MAP", inside)).ttl


def test_timers() -> None:
    rows = row_layout(HEAD, queue(of(TIMER_SNAPSHOT, simple("Int"), TIME_WINDOW)))
    assert [f.name for f in rows.layout.fields] == ["timestamp", "key", "namespace"]
    assert rows.layout.fields[0].layout == Number(pa.int64(), flip_sign=True)
    assert rows.schema == pa.schema([("timestamp", pa.int64()), ("key", pa.int32()), ("namespace", WINDOW)])
    assert rows.kind == "TIMER"
    plain = row_layout(HEAD, queue(of(TIMER_SNAPSHOT, simple("Int"), VOID)))
    assert plain.schema.names == ["timestamp", "key"]


def test_another_queue() -> None:
    rows = row_layout(HEAD, queue(simple("Long")))
    assert rows.schema == pa.schema([("value", pa.int64())])
    assert rows.namespace_serializer is None


def test_undecodable_parts() -> None:
    kryo = SerializerSnapshot("org.apache.flink.api.java.typeutils.runtime.kryo.KryoSerializerSnapshot", 2)
    unknown = SerializerSnapshot("com.acme.X", 3, details={"unknown": "nothing"})
    rows = row_layout(HEAD, state("MAP", of(MAP_SNAPSHOT, kryo, of(LIST_SNAPSHOT, unknown)), kryo))
    assert rows.undecodable == (
        Undecodable(kryo.class_name, "whether Kryo 2 or Kryo 5 wrote it is not known (--kryo)"),
        Undecodable("com.acme.X", "the serializer's snapshot class is not known"),
    )
