"""What is inside of connectors' payloads: objects of Java's own serialization, JSON, UTF-8.

No class is loaded, and nothing is executed.
"""

from __future__ import annotations

import json
from typing import Any

from serializers.connectors.payload_parts import must_end
from serializers.kryo.java_streams import LIMITS, plain
from serializers.kryo.json_texts import json_text
from serializers.kryo.kryo_values import class_of
from stateextract.errors import FormatError
from stateextract.files.javastream import JavaObject, parse_java_stream
from stateextract.files.reader import Reader
from stateextract.printable import replaced


def java_json(data: bytes | memoryview) -> str | None:
    """One object as JSON; ``None`` for Java's null.

    :raises StateExtractError: if the bytes are not exactly one object.
    """
    return java_class_and_json(data)[1]


def java_class_and_json(data: bytes | memoryview) -> tuple[str | None, str | None]:
    """The name of an object's class, and the object as JSON; both ``None`` for Java's null.

    :raises StateExtractError: if the bytes are not exactly one object.
    """
    reader = Reader(data)
    value = plain(parse_java_stream(reader, LIMITS))
    must_end(reader)
    return (None, None) if value is None else (replaced(class_of(value)), json_text(value))


def java_object(reader: Reader, *class_names: str, fields: bool = True) -> JavaObject:
    """One object of one of these classes; the reader is after it.

    :param fields: whether the class's ``writeObject`` writes the fields.
    :raises StateExtractError: for anything else.
    """
    value = parse_java_stream(reader, LIMITS, () if fields else class_names)
    if not isinstance(value, JavaObject) or value.class_name not in class_names:
        raise FormatError(f"no object of {class_names[0]}")
    return value


def read_utf8(reader: Reader) -> str:
    """``i32`` length in bytes, then UTF-8."""
    return decode_utf8(reader.bytes(reader.i32("a length"), "a text"))


def decode_utf8(data: bytes | memoryview) -> str:
    """UTF-8 that Arrow takes."""
    try:
        return bytes(data).decode()
    except UnicodeDecodeError:
        raise FormatError("a text is not UTF-8") from None


def json_object(text: str) -> dict[str, Any]:
    """An object of JSON.

    :raises FormatError: for any other text.
    """
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, dict):
        raise FormatError("no object of JSON")
    return value
