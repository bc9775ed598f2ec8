"""Elements that PyFlink's coders wrote one behind the other into one ``byte[]``.

State of a Python process is a list of ``byte[]``, also where Python sees a value: each holds what was added between two
bundles, and nothing in the snapshot says of which type it is. The user does, with the wish ``elements(TYPE)``.

Forms of ``pyflink/fn_execution/coder_impl_slow.py``: numbers big-endian, booleans a byte, dates ``i32`` days, timestamps
``i64`` milliseconds and beyond those ``i32`` nanoseconds; text, bytes, decimals (as text) and pickles behind an ``i32``
length. Nothing is unpickled.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

import pyarrow as pa

from stateextract.errors import StateExtractError
from stateextract.files.pickles import pickle_json
from stateextract.files.reader import Reader

PICKLED: Final = pa.struct([pa.field("bytes", pa.binary()), pa.field("json", pa.string())])
"""A pickle, and its JSON text if it is one of plain data."""

_FIXED: Final = {
    pa.int8(): ">b", pa.int16(): ">h", pa.int32(): ">i", pa.int64(): ">q", pa.float32(): ">f", pa.float64(): ">d",
    pa.date32(): ">i", pa.timestamp("ms"): ">q",
}  # fmt: skip


def has_coder(type_: pa.DataType) -> bool:
    """Whether PyFlink has a coder of such elements."""
    return type_ in _FIXED or type_ in _READERS or pa.types.is_decimal128(type_)


def elements_of(type_: pa.DataType) -> Callable[[pa.Array, pa.DataType], pa.Array]:
    """A conversion from binary to lists of elements of a type that :func:`has_coder`.

    It raises ``ValueError`` or an error of Arrow where bytes are not a whole number of such elements.
    """

    def convert(array: pa.Array, list_type: pa.DataType) -> pa.Array:
        split = [None if data is None else _split(data, type_) for data in array.to_pylist()]
        if type_ in (pa.date32(), pa.timestamp("ms"), pa.timestamp("us")):
            counted = pa.int32() if type_ == pa.date32() else pa.int64()
            return pa.array(split, pa.list_(counted)).cast(list_type)
        return pa.array(split, list_type)

    return convert


def _split(data: bytes, type_: pa.DataType) -> list[Any]:
    form = _FIXED.get(type_)
    if form is not None:
        if len(data) % struct.calcsize(form):
            raise ValueError("a part of an element is left")
        return [number for (number,) in struct.iter_unpack(form, data)]
    read = _READERS.get(type_, _decimal)
    reader = Reader(data)
    found = []
    try:
        while reader.remaining:
            found.append(read(reader))
    except StateExtractError as error:
        raise ValueError(error.message) from None
    return found


def _bytes(reader: Reader) -> bytes:
    return bytes(reader.bytes(reader.i32("a length"), "an element"))


def _bool(reader: Reader) -> bool:
    flag = reader.u8("a boolean")
    if flag > 1:
        raise ValueError("no boolean")
    return flag == 1


def _micros(reader: Reader) -> int:
    millis, nanos = reader.i64("milliseconds"), reader.i32("nanoseconds")
    if not 0 <= nanos < 1_000_000 or nanos % 1000:
        raise ValueError("no microseconds")
    return millis * 1000 + nanos // 1000


def _pickle(reader: Reader) -> dict[str, Any]:
    data = _bytes(reader)
    return {"bytes": data, "json": pickle_json(data)}


def _decimal(reader: Reader) -> Decimal:
    text = _bytes(reader).decode("ascii")
    if "_" in text or text != text.strip():  # which Python takes and never writes
        raise ValueError("no decimal")
    return Decimal(text)  # Arrow refuses what does not fit its type


_READERS: Final[dict[pa.DataType, Callable[[Reader], Any]]] = {
    pa.bool_(): _bool,
    pa.binary(): _bytes,
    pa.string(): lambda reader: _bytes(reader).decode("utf-8"),
    pa.timestamp("us"): _micros,
    PICKLED: _pickle,
}
