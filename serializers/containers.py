"""Collections: List, Map, Set, and the data views that wrap them.

Flink's classes: ``org.apache.flink.api.common.typeutils.base.{List,Map,Set}Serializer``,
``org.apache.flink.runtime.state.ArrayListSerializer``, ``org.apache.flink.table.dataview.*``.

Which values carry a flag differs: elements of a list none, values of a map and elements of a set 1 for null, keys of a
``NullAwareMap`` 1 for null.
"""

from __future__ import annotations

from serializers.registry import SerializerSnapshot, describe, inner, register
from serializers.scalars import BASE
from serializers.snapshots import composite
from stateextract.columnar.layout import Layout, List, Map, Nullable

LIST_SNAPSHOT = BASE + "ListSerializerSnapshot"
MAP_SNAPSHOT = BASE + "MapSerializerSnapshot"
SET_SNAPSHOT = BASE + "SetSerializerSnapshot"


@register((LIST_SNAPSHOT, "org.apache.flink.runtime.state.ArrayListSerializerSnapshot"), payload=composite(1))
def _list(snapshot: SerializerSnapshot) -> Layout:
    return List(describe(snapshot.nested[0]))


@register(SET_SNAPSHOT, payload=composite(1))
def _set(snapshot: SerializerSnapshot) -> Layout:
    return List(Nullable(describe(snapshot.nested[0])), unordered=True)


@register(MAP_SNAPSHOT, payload=composite(2))
def map_layout(snapshot: SerializerSnapshot) -> Layout:
    """A map whose values have a flag for null."""
    key = describe(snapshot.nested[0])
    # Arrow, Parquet and Spark refuse null map keys: where the key's own serializer writes nulls, pairs it is.
    return Map(key, Nullable(describe(snapshot.nested[1])), as_list=isinstance(key, Nullable))


@register("org.apache.flink.table.dataview.NullAwareMapSerializerSnapshot", payload=composite(2))
def _null_aware_map(snapshot: SerializerSnapshot) -> Layout:
    key, value = (Nullable(describe(nested)) for nested in snapshot.nested)
    return Map(key, value, as_list=True)


register(
    (
        "org.apache.flink.table.dataview.ListViewSerializerSnapshot",
        "org.apache.flink.table.dataview.MapViewSerializerSnapshot",
    ),
    inner,
    payload=composite(1),
)
