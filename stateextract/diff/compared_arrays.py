"""Arrow arrays as the numpy arrays that a comparison works on, whatever their offset.

Knows types only. A null's own bits mean nothing in Arrow; what is compared here never depends on them.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from stateextract.columnar.arrow.numpy_views import Numbers, offsets_of

_NAN32 = np.int64(0x7FC00000)
_NAN64 = np.int64(0x7FF8000000000000)


def is_bytes(type_: pa.DataType) -> bool:
    """Whether values are byte strings, text included; numbers of more than eight bytes are taken as such."""
    return bool(
        pa.types.is_binary(type_) or pa.types.is_string(type_) or pa.types.is_large_binary(type_)
        or pa.types.is_large_string(type_) or pa.types.is_fixed_size_binary(type_) or pa.types.is_decimal(type_)
    )  # fmt: skip


def numbers(array: pa.Array) -> Numbers:
    """Values of a fixed width of at most eight bytes as int64: floating point by its bits, but all NaN alike.

    So ``-0.0`` and ``0.0`` differ, and a NaN is equal to any other.
    """
    type_ = array.type
    if pa.types.is_null(type_):
        return np.zeros(len(array), np.int64)
    if pa.types.is_boolean(type_):
        return array.cast(pa.int8()).fill_null(0).to_numpy().astype(np.int64)  # type: ignore[no-any-return]
    width = type_.bit_width // 8
    plain = np.frombuffer(array.buffers()[1], f"i{width}", len(array) + array.offset)[array.offset :]
    values: Numbers = plain.astype(np.int64)
    if pa.types.is_floating(type_):
        with np.errstate(invalid="ignore"):
            nan = np.isnan(plain.view(f"f{width}"))
        if nan.any():
            values[nan] = _NAN64 if width == 8 else _NAN32
    return values


def byte_strings(array: pa.Array) -> tuple[Numbers, npt.NDArray[np.uint8]]:
    """Offsets and data of byte strings."""
    type_ = array.type
    if pa.types.is_fixed_size_binary(type_) or pa.types.is_decimal(type_):
        width = type_.bit_width // 8 if pa.types.is_decimal(type_) else type_.byte_width
        offsets = np.arange(array.offset, array.offset + len(array) + 1, dtype=np.int64) * width
        return offsets, _bytes(array.buffers()[1])
    return offsets_of(array).astype(np.int64), _bytes(array.buffers()[2])


def list_offsets(array: pa.Array) -> tuple[Numbers, pa.Array]:
    """Offsets of lists or maps, and the elements that they count: of maps ``struct<key, value>``."""
    offsets = offsets_of(array).astype(np.int64)
    first, last = (int(offsets[0]), int(offsets[-1])) if len(offsets) else (0, 0)
    elements = array.values.slice(first, last - first)
    return offsets - first, elements


def _bytes(buffer: pa.Buffer | None) -> npt.NDArray[np.uint8]:
    if buffer is None or buffer.size == 0:
        return np.zeros(1, np.uint8)
    return np.frombuffer(buffer, np.uint8)
