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
from serializers.kryo.forms import Direct
from serializers.kryo.json import json_text
from serializers.kryo.plans import plan_of
from serializers.kryo.reader import Kryo
from serializers.kryo.resolve import kryo_of, undecodable_reason
from serializers.kryo.shapes import ANY, CLASS, JSON, KryoColumn, Shaping, class_and_json_of, is_plain
from serializers.kryo.snapshot import FIRST_ID, registrations
from serializers.kryo.values import class_of
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
    plan = plan_of(kryo, column)
    return Python(_decode(kryo, column), wire_type, column.layout, tuple(planner.not_described), tuple(planner.uncertain), plan)


def _decode(kryo: Kryo, column: KryoColumn) -> Callable[..., tuple[Any, int]]:
    """What decodes a value, for layouts that policies have rewritten; threads share it."""
    if column is ANY:
        return _decode_any(kryo)
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


def _decode_any(kryo: Kryo) -> Callable[..., tuple[Any, int]]:
    """The same where values have no fixed structure."""
    read_directly = Direct(kryo).read
    known: tuple[Layout | None, Any, bool] = None, None, False

    def decode(data: memoryview, pos: int, end: int, inner: Layout, counts: ChangeCounts) -> tuple[Any, int]:
        nonlocal known
        layout, class_and_json, plain = known
        if layout is not inner:
            class_and_json, plain = class_and_json_of(inner), is_plain(inner)
            known = inner, class_and_json, plain
        found = read_directly(data, pos, end)
        if found is None:
            value, behind = kryo.read(data, pos, end)
            if value is None:
                return None, behind
            return class_and_json(class_of(value), json_text(value), counts), behind
        name, text, behind = found
        if plain and text.isascii() and name.isascii():
            return {CLASS: name, JSON: text}, behind
        return class_and_json(name, text, counts), behind

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
