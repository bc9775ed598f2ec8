"""Leaves that Python decodes, by functions that take a value from a cursor."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from stateextract.columnar.convert.policy import ChangeCounts
from stateextract.columnar.layout import Layout, Python, Text
from stateextract.files.reader import Reader


def leaf(type_: pa.DataType, read: Callable[[Reader], Any]) -> Python:
    """Values of an Arrow type."""

    def decode(data: memoryview, pos: int, end: int) -> tuple[Any, int]:
        reader = Reader(data, pos, end)
        return read(reader), reader.pos

    return Python(decode, type_)


def leaf_of(layout: Layout, read: Callable[[Reader, Any, ChangeCounts], Any]) -> Python:
    """Wire values of a layout, which ``read`` is given as the user's policies have rewritten it, with the counters."""

    def decode(data: memoryview, pos: int, end: int, inner: Layout, counts: ChangeCounts) -> tuple[Any, int]:
        reader = Reader(data, pos, end)
        return read(reader, inner, counts), reader.pos

    return Python(decode, layout.wire_type or pa.bool_(), layout)


def text_leaf(read: Callable[[Reader], bytes]) -> Python:
    """Texts of UTF-8."""
    return leaf_of(Text("utf8"), lambda reader, inner, counts: as_text(read(reader), inner, counts))


def as_text(raw: bytes, inner: Layout, counts: ChangeCounts) -> Any:
    """The wire value of UTF-8: text, or the bytes where texts are binary."""
    if isinstance(inner, Text) and inner.as_binary:
        return raw
    text = raw.decode("utf-8", "replace")
    counts.malformed_utf8 += text.count("�") - raw.count("�".encode())
    return text
