"""What Beam's coders write, as layouts.

``encode(value, stream)`` writes *nested*: texts and bytes have their length in front, as a variable-length number. The *outer*
context has no length, because nothing follows: so keys are written. A coder passes its context to the last one in it.

Numbers of variable length have seven bits a byte, the lowest first. No layout describes them, so they are ``Python`` leaves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import pyarrow as pa

from serializers.beam.avro_binary import avro_layout
from serializers.beam.beam_rows import row_layout
from serializers.beam.coders import AVRO_CODERS, Coder
from serializers.beam.varints import (
    BYTES,
    INSTANT,
    REST,
    REST_OF_TEXT,
    TEXT,
    VARINT,
    VARLONG,
    decimal,
    framed,
    integer,
    iterable,
)
from serializers.datetime import EPOCH_MS
from serializers.javaobjects import JAVA_OBJECT
from serializers.leaves import leaf, leaf_of
from stateextract.columnar.layout import (
    Bool,
    Case,
    Field,
    Layout,
    List,
    Map,
    Null,
    Nullable,
    Number,
    Struct,
    Switch,
    Undecodable,
)
from stateextract.errors import FormatError, UndecodableError
from stateextract.files.reader import Reader

_HAS_METADATA: Final = 0x80
"""Of a pane's first byte: the element's metadata follow the pane. Newer releases of Beam write them for some runners."""
_TIMINGS: Final = ("EARLY", "ON_TIME", "LATE", "UNKNOWN")
_INTERVAL: Final = Struct((Field("start", EPOCH_MS), Field("end", EPOCH_MS)))
_PANE: Final = pa.struct(
    [
        pa.field("is_first", pa.bool_()),
        pa.field("is_last", pa.bool_()),
        pa.field("timing", pa.string()),
        pa.field("index", pa.int64()),
        pa.field("non_speculative_index", pa.int64()),
    ]
)


def _interval(reader: Reader, inner: Layout, counts: Any) -> dict[str, int]:
    """``IntervalWindow``: its end as an instant, and its length in milliseconds."""
    until = reader.i64("the end of a window") ^ -(1 << 63)
    return {"start": until - reader.varint(64), "end": until}


def _pane(reader: Reader) -> dict[str, Any]:
    """``PaneInfo``: two flags, the timing and how many numbers follow in one byte."""
    start = reader.pos
    first = reader.u8("a pane")
    if first & _HAS_METADATA:
        raise UndecodableError("an element of Beam has metadata, which are not read", offset=start)
    timing = _TIMINGS[first >> 2 & 3]
    numbers = first >> 4
    if numbers > 2:
        raise FormatError(f"unknown encoding {numbers} of a pane", expected="0 to 2", offset=start)
    # Without a number the index of a pane that is not the first one was not known.
    index = reader.varint(64) if numbers else (0 if first & 1 else -1)
    later = reader.varint(64) if numbers == 2 else -1 if timing == "EARLY" else max(index, 0)
    values = (bool(first & 1), bool(first & 2), timing, index, later)
    return dict(zip(_PANE.names, values, strict=True))


PANE: Final = leaf(_PANE, _pane)
INTERVAL: Final = leaf_of(_INTERVAL, _interval)
_GLOBAL: Final = Struct(())


def _timer(*names: str) -> Struct:
    kinds = {"timestamp": INSTANT, "output_timestamp": INSTANT}
    return Struct(tuple(Field(name, kinds.get(name, TEXT)) for name in names))


ATOMIC: Final[dict[str, Layout]] = {
    "VarIntCoder": VARINT,
    "VarLongCoder": VARLONG,
    "BigEndianShortCoder": Number(pa.int16()),
    "BigEndianIntegerCoder": Number(pa.int32()),
    "BigEndianLongCoder": Number(pa.int64()),
    "ByteCoder": Number(pa.int8()),
    "BooleanCoder": Bool(),
    "FloatCoder": Number(pa.float32()),
    "DoubleCoder": Number(pa.float64()),
    "VoidCoder": Null(0),
    "InstantCoder": INSTANT,
    "DurationCoder": VARLONG,
    "GlobalWindow$Coder": _GLOBAL,
    "IntervalWindow$IntervalWindowCoder": INTERVAL,
    "PaneInfo$PaneInfoCoder": PANE,
    "OffsetRange$Coder": Struct((Field("from", VARLONG), Field("to", VARLONG))),
    "Mean$CountSumCoder": Struct((Field("count", Number(pa.int64())), Field("sum", Number(pa.float64())))),
    "Count$CountFn$1": VARLONG,
    "SerializableCoder": JAVA_OBJECT,
    "TimerInternals$TimerDataCoder": _timer("timer_id", "namespace", "timestamp", "domain"),
    "TimerInternals$TimerDataCoderV2": _timer(
        "timer_id", "timer_family_id", "namespace", "timestamp", "output_timestamp", "domain"
    ),
}
"""Coders without parts that write the same in either context, by class."""

_LENGTH_FIRST: Final[dict[str, tuple[Layout, Layout]]] = {
    "StringUtf8Coder": (TEXT, REST_OF_TEXT),
    "ByteArrayCoder": (BYTES, REST),
    "BitSetCoder": (BYTES, REST),
    "BigIntegerCoder": (integer(outer=False), integer(outer=True)),
    "BigDecimalCoder": (decimal(outer=False), decimal(outer=True)),
    "FlinkKeyUtils$ByteBufferCoder": (BYTES, REST),
}
"""Coders whose values have a length in front when nested, and none in the outer context."""


def coder_layout(coder: Coder, outer: bool = False) -> Layout:
    """What the coder writes; :class:`Undecodable` for one that is not known.

    :param outer: in the outer context: nothing follows.
    """
    name = coder.name
    if name in ATOMIC:
        return ATOMIC[name]
    if name in _LENGTH_FIRST:
        return _LENGTH_FIRST[name][outer]
    make = _MAKERS.get(name)
    if make is None:
        return Undecodable(coder.class_name, "the coder's class is not known")
    return make(coder, outer)


def _pair(first: str, second: str) -> Callable[[Coder, bool], Layout]:
    def make(coder: Coder, outer: bool) -> Layout:
        one, two = coder.parts
        return Struct((Field(first, coder_layout(one)), Field(second, coder_layout(two, outer))))

    return make


def _map(coder: Coder, outer: bool) -> Layout:
    key, value = map(coder_layout, coder.parts)
    if outer and _may_lack_a_length(coder.parts[1]):
        return Undecodable(coder.class_name, "in the outer context its last value has no length")
    return Map(key, value, as_list=isinstance(key, Nullable))


def _may_lack_a_length(coder: Coder) -> bool:
    """Whether values can end without their length in the outer context: a coder passes its context to its last part."""
    return coder.name in _LENGTH_FIRST or any(map(_may_lack_a_length, coder.parts[-1:]))


def _same(coder: Coder, outer: bool) -> Layout:
    return coder_layout(coder.parts[0], outer)


def _windowed(coder: Coder, outer: bool) -> Layout:
    value, window = coder.parts
    return Struct(
        (
            Field("timestamp", INSTANT),
            Field("windows", List(coder_layout(window))),
            Field("pane", PANE),
            Field("value", coder_layout(value, outer)),
        )
    )


def _work_item(coder: Coder, outer: bool) -> Layout:
    """One element with its key; not those of ``KeyedWorkItemCoder``, which has timers and elements."""
    key, element, window = coder.parts
    value = _windowed(Coder(coder.class_name, (element, window)), outer)
    return Struct((Field("key", coder_layout(key)), Field("value", value)))


def _work_items(coder: Coder, outer: bool) -> Layout:
    key, element, window = coder.parts
    timers = iterable(ATOMIC["TimerInternals$TimerDataCoderV2"])
    elements = iterable(_windowed(Coder(coder.class_name, (element, window)), False))
    return Struct((Field("key", coder_layout(key)), Field("timers", timers), Field("elements", elements)))


def _union(coder: Coder, outer: bool) -> Layout:
    """The number of a part, and its value: a struct with one field that is not null."""
    tags = coder.tags or tuple(range(len(coder.parts)))
    if any(not 0 <= tag < 0x80 for tag in tags):
        return Undecodable(coder.class_name, "a number of a part has more than one byte")
    return Switch(
        tuple(
            Case(tag, (Field(f"_{tag}", coder_layout(part, outer)),)) for tag, part in zip(tags, coder.parts, strict=True)
        )
    )


_MAKERS: Final[dict[str, Callable[[Coder, bool], Layout]]] = {
    "KvCoder": _pair("key", "value"),
    **dict.fromkeys(
        ("ListCoder", "CollectionCoder", "DequeCoder"), lambda coder, outer: List(coder_layout(coder.parts[0]))
    ),
    "SetCoder": lambda coder, outer: List(coder_layout(coder.parts[0]), unordered=True),
    "IterableCoder": lambda coder, outer: iterable(coder_layout(coder.parts[0])),
    **dict.fromkeys(("MapCoder", "SortedMapCoder"), _map),
    **dict.fromkeys(
        ("NullableCoder", "Combine$HolderCoder"),
        lambda coder, outer: Nullable(coder_layout(coder.parts[0], outer), null_if=False),
    ),
    **dict.fromkeys(("DelegateCoder", "StringDelegateCoder"), _same),
    "LengthPrefixCoder": lambda coder, outer: framed(coder_layout(coder.parts[0], outer=True)),
    **dict.fromkeys(("WindowedValue$FullWindowedValueCoder", "WindowedValues$FullWindowedValueCoder"), _windowed),
    **dict.fromkeys(("WindowedValue$ValueOnlyWindowedValueCoder", "WindowedValues$ValueOnlyWindowedValueCoder"), _same),
    "ValueWithRecordId$ValueWithRecordIdCoder": lambda coder, outer: Struct(
        (Field("value", coder_layout(coder.parts[0])), Field("id", BYTES if not outer else REST))
    ),
    "TimestampedValue$TimestampedValueCoder": lambda coder, outer: Struct(
        (Field("value", coder_layout(coder.parts[0])), Field("timestamp", INSTANT))
    ),
    "ShardedKey$Coder": lambda coder, outer: Struct((Field("shard", BYTES), Field("key", coder_layout(coder.parts[0])))),
    "ShardedKeyCoder": lambda coder, outer: Struct((Field("key", coder_layout(coder.parts[0])), Field("shard", VARINT))),
    "KeyedWorkItemCoder": _work_items,
    "SingletonKeyedWorkItemCoder": _work_item,
    **dict.fromkeys(("UnionCoder", "DoFnOperator$TaggedKvCoder"), _union),
    **dict.fromkeys(AVRO_CODERS, lambda coder, outer: avro_layout(coder.avro)),
    **dict.fromkeys(("RowCoder", "SchemaCoder"), lambda coder, outer: row_layout(coder, coder_layout)),
}
"""Coders with parts, by class."""
