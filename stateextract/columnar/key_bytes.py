"""From a key back to its bytes, where one value has exactly one form on the wire.

For whoever looks for a key in bytes that are not decoded yet. ``None`` where that is not certain: numbers with two zeros,
text with replaced characters, dates and whatever else is computed, maps, sets, subclasses. Then everything is decoded and
compared as values. Booleans are among these: any byte but 0 is true.

May import layouts and pyarrow; knows no files.
"""

from __future__ import annotations

import struct as packing

import pyarrow as pa

from stateextract.columnar.layout import Bool, Bytes, Layout, List, Nullable, Number, Skip, Struct, Text

_REPLACEMENT = "\ufffd"
_SIZES = {1: "b", 2: "h", 4: "i", 8: "q"}


def key_bytes(layout: Layout, key: pa.Scalar) -> bytes | None:
    """The bytes of a value.

    :param layout: of the value, after the policy was applied to it.
    :param key: of the layout's ``arrow_type``.
    :returns: ``None`` where there may be others.
    """
    if key.type != layout.arrow_type:
        return None
    match layout:
        case _ if not key.is_valid:
            return None
        case Nullable(width=1, null_if=True):
            inner = key_bytes(layout.inner, key)
            return None if inner is None else b"\x00" + inner
        case Number() if pa.types.is_integer(layout.type) and not layout.flip_sign:
            size, signed = layout.type.bit_width // 8, pa.types.is_signed_integer(layout.type)
            number: int = key.as_py()
            return number.to_bytes(size, "little" if layout.little else "big", signed=signed)
        case Text():
            return _text(layout, key.as_py())
        case Bytes(size=None):
            return packing.pack(">i", len(key.as_py())) + bytes(key.as_py())
        case Bytes():
            return bytes(key.as_py()) if len(key.as_py()) == layout.size else None
        case Struct():
            return _struct(layout, key)
        case List(blocks=False, null_mask=False):
            parts = [key_bytes(layout.element, element) for element in key.values]
            return (
                None if None in parts else packing.pack(">i", len(parts)) + b"".join(p for p in parts if p is not None)
            )
    return None


def fixed_size(layout: Layout) -> int | None:
    """How many bytes every value of a layout takes; ``None`` where they differ."""
    match layout:
        case Number() | Bool() | Skip():
            return layout.least
        case Bytes() if layout.size is not None:
            return layout.size
        case Struct():
            sizes = [fixed_size(f.layout) for f in layout.fields]
            return None if None in sizes else sum(size or 0 for size in sizes)
    inner = getattr(layout, "inner", None)
    return fixed_size(inner) if isinstance(inner, Layout) and not isinstance(layout, Nullable) else None


def _struct(layout: Struct, key: pa.Scalar) -> bytes | None:
    parts = []
    for f in layout.fields:
        if isinstance(f.layout, Skip) and f.layout.expect is not None:
            parts.append(f.layout.expect)
        elif f.layout.arrow_type is None or not pa.types.is_struct(key.type):
            return None
        else:
            parts.append(key_bytes(f.layout, key[f.name]))
    return None if None in parts else b"".join(part for part in parts if part is not None)


def _text(layout: Text, value: str | bytes) -> bytes | None:
    if isinstance(value, bytes):
        try:
            value = value.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            return None
    elif _REPLACEMENT in value:
        return None
    data = value.encode("utf-16-be", "surrogatepass")
    units = [unit for (unit,) in packing.iter_unpack(">H", data)]
    match layout.coding:
        case "flink":
            return b"".join(map(_varint, [len(units) + 1, *units]))
        case "value":
            return b"".join(map(_varint, [len(units), *units]))
        case "utf":
            text = b"".join(map(_modified, units))
            return packing.pack(">H", len(text)) + text if len(text) < 1 << 16 else None
        case "char":
            return data if len(units) == 1 else None
    return None


def _varint(number: int) -> bytes:
    """Seven bits a byte, the lowest first (``StringValue.writeString``)."""
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def _modified(unit: int) -> bytes:
    """One UTF-16 unit in Java's modified UTF-8 (``DataOutput.writeUTF``)."""
    if 0 < unit < 0x80:
        return bytes([unit])
    if unit < 0x800:
        return bytes([0xC0 | unit >> 6, 0x80 | unit & 0x3F])
    return bytes([0xE0 | unit >> 12, 0x80 | unit >> 6 & 0x3F, 0x80 | unit & 0x3F])


__all__ = ["fixed_size", "key_bytes"]
