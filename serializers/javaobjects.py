"""Objects that Java's own serialization wrote: the class, and the object as JSON text.

Flink's class: ``org.apache.flink.runtime.state.JavaSerializer`` (keyed state of old jobs, operator state without a type).
The stream is read as data (``files/javastream.py``); no class is looked for, none is loaded. The JSON is that of Kryo's
objects (``kryo/json_texts.py``).
"""

from __future__ import annotations

import pyarrow as pa

from serializers.kryo.java_streams import LIMITS, plain
from serializers.kryo.json_texts import json_text
from serializers.kryo.kryo_values import class_of
from serializers.leaves import leaf
from serializers.registry import register
from stateextract.files.javastream import parse_java_stream
from stateextract.files.reader import Reader
from stateextract.printable import replaced

COLUMN = pa.struct([pa.field("class", pa.string()), pa.field("json", pa.string())])


def read_object(reader: Reader) -> dict[str, str] | None:
    """The class of an object and its JSON; ``None`` for a null."""
    value = plain(parse_java_stream(reader, LIMITS))
    return None if value is None else {"class": replaced(class_of(value)), "json": json_text(value)}


JAVA_OBJECT = leaf(COLUMN, read_object)

register("org.apache.flink.runtime.state.JavaSerializer$JavaSerializerSnapshot", JAVA_OBJECT)
