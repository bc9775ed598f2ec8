"""The layout of what a Kryo serializer wrote: a column by the declared class, decoded in Python, or by the kernel.

Flink's class: ``org.apache.flink.api.java.typeutils.runtime.kryo.KryoSerializer``.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from serializers.context import DescribeContext
from serializers.javatypes import of_class_name
from serializers.kryo import jdk, scala_names
from serializers.kryo.columns import Planner
from serializers.kryo.direct import Direct
from serializers.kryo.kryo_reader import Kryo
from serializers.kryo.kryo_snapshot import FIRST_ID, registrations
from serializers.kryo.plans import plan_of
from serializers.kryo.resolve import kryo_of, undecodable_reason
from serializers.kryo.shapes import ANY, KryoColumn, Shaping
from serializers.registry import SerializerSnapshot
from stateextract.columnar.convert.policy import ChangeCounts
from stateextract.columnar.layout import Layout, Python, Undecodable


@lru_cache(maxsize=512)
def kryo_layout(snapshot: SerializerSnapshot, context: DescribeContext) -> Layout:
    """The layout of values whose serializer has this snapshot."""
    name = snapshot.details.get("class", snapshot.class_name)
    if context.kryo is None:
        return Undecodable(name, "whether Kryo 2 or Kryo 5 wrote it is not known (--kryo)")
    first = FIRST_ID if context.kryo_first_id is None else context.kryo_first_id
    known = registrations(snapshot, context.kryo, first, context.chill)
    kryo = kryo_of(context.kryo, known, context.class_models, context.chill, context.protobuf)
    reason = _hopeless(kryo, name)
    if reason is not None:
        return Undecodable(name, "; ".join(reason))
    planner = Planner(kryo)
    column = planner.plan(of_class_name(name))
    wire_type = column.layout.wire_type
    assert wire_type is not None
    return Python(
        _decode(kryo, column),
        wire_type,
        column.layout,
        tuple(planner.not_described),
        tuple(planner.uncertain),
        plan_of(kryo, column),
        faster=Direct(kryo).decoder if column is ANY else None,
    )


def _decode(kryo: Kryo, column: KryoColumn) -> Callable[..., tuple[Any, int]]:
    """What decodes a value, for layouts that policies have rewritten; threads share it."""
    known: tuple[Layout | None, Any] = None, None

    def decode(data: memoryview, pos: int, end: int, inner: Layout, counts: ChangeCounts) -> tuple[Any, int]:
        nonlocal known
        layout, shaper = known
        if layout is not inner:
            shaper = column.shape(inner)
            known = inner, shaper
        value, behind = kryo.read(data, pos, end)
        return shaper(value, Shaping(counts)), behind

    return decode


def _hopeless(kryo: Kryo, name: str) -> tuple[str, str] | None:
    """Why no value of a declared class can be read, however it comes, and what to do; ``None`` if some can."""
    reason = undecodable_reason(kryo, name)
    element = of_class_name(name).name
    if reason is None or element in jdk.OPEN:
        return None
    if kryo.chill and element in scala_names.OPEN:
        return None
    model = kryo.classes.get(name)
    if model is not None and model.kind == "interface":
        return None
    return None if kryo.classes.subclasses(name) else reason
