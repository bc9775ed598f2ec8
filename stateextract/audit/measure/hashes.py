"""Hashes of 64 bits for values: of numbers, of byte strings, of whatever an Arrow column holds.

Equal values have equal hashes in every process and on every machine, so that what is kept of them can be put together.
Plain numpy, for little data and for rare types; ``measure_kernel.py`` does the same compiled, and both are one definition:

- a number: its 64 bits mixed by Murmur3's last steps (``mixed``); floating point numbers as float64, all NaN alike, the
  two zeros alike;
- bytes: the length, the first eight (big-endian, filled up with zeros), the next eight (the last, if there are fewer), eight
  at a time up to the last eight, the last eight, each multiplied in;
- a null: a number of its own; structs, lists, maps: the hashes inside of them, mixed in order.

May import pyarrow and numpy.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from stateextract.audit.measure.measured_arrays import canonical, fixed_values, is_bytes, list_parts, struct_fields
from stateextract.columnar.arrow.numpy_views import is_list, offsets_of
from stateextract.columnar.compiled.mixing import MIX_1, MIX_2

Hashes = npt.NDArray[np.uint64]

_STEP, _SEED = np.uint64(0x9FB21C651E98DF25), np.uint64(0x9E3779B97F4A7C15)
NULL_HASH = np.uint64(0x6A09E667F3BCC909)
_33, _32, _ALL = np.uint64(33), np.uint64(32), np.uint64(0xFFFFFFFFFFFFFFFF)


def mixed(values: npt.NDArray[Any]) -> Hashes:
    """Murmur3's last steps on 64 bits; never 0."""
    if values.dtype.kind == "f":
        values = canonical(values).view(np.int64)
    x = values.astype(np.uint64, copy=True) if values.dtype != np.int64 else values.view(np.uint64).copy()
    for factor in (MIX_1, MIX_2):
        x ^= x >> _33
        x *= factor
    x ^= x >> _33
    x[x == 0] = 1
    return x


def combined(parts: list[Hashes]) -> Hashes:
    """One hash of several, whose order counts; of one itself."""
    whole = parts[0]
    for part in parts[1:]:
        whole = mixed(whole * _STEP + part)
    return whole


def bytes_hashes(offsets: npt.NDArray[Any], data: bytes | memoryview) -> Hashes:
    """Hashes of byte strings.

    :param offsets: where each begins in ``data``, and where the last one ends.
    """
    starts, lengths = offsets[:-1], np.diff(offsets).astype(np.int64)
    padded = np.frombuffer(bytes(data) + bytes(16), np.uint8)
    words = np.ndarray((len(padded) - 7,), ">u8", padded, 0, (1,))
    shift = (4 * (8 - np.minimum(lengths, 8))).astype(np.uint64)
    own, more = _ALL << shift << shift, np.maximum(lengths - 8, 0)
    h = _step(_SEED ^ (lengths.astype(np.uint64) * MIX_1), words[starts] & own)
    h = _step(h, words[starts + np.minimum(more, 8)] & own)
    done = 16
    while len(at := np.flatnonzero(more > done)):
        h[at] = _step(h[at], words[starts[at] + done])
        done += 8
    h = _step(h, words[starts + more] & own)
    h *= MIX_2
    h ^= h >> _33
    h[h == 0] = 1
    return h


def _step(h: Hashes, word: Hashes) -> Hashes:
    h = (h ^ word) * _STEP
    return h ^ (h >> _32)


def hashes_of(array: pa.Array) -> Hashes:
    """Hashes of all values of a column, of any type."""
    type_ = array.type
    if pa.types.is_struct(type_):
        inner = [hashes_of(part) for part in struct_fields(array)]
        found = combined(inner) if inner else np.ones(len(array), np.uint64)
    elif is_list(type_):
        found = _list_hashes(array)
    elif is_bytes(type_):
        offsets = offsets_of(array)
        data = array.buffers()[2]
        first, last = int(offsets[0]), int(offsets[-1])
        found = bytes_hashes(offsets - first, memoryview(data)[first:last] if data is not None else b"")
    else:
        found = combined([mixed(part) for part in fixed_values(array)])
    if array.null_count:
        found[~array.is_valid().to_numpy(zero_copy_only=False)] = NULL_HASH
    return found


def _list_hashes(array: pa.Array) -> Hashes:
    """The elements' hashes, each with its position, summed up; then the length."""
    offsets, children = list_parts(array)
    first, last = int(offsets[0]), int(offsets[-1])
    lengths = np.diff(offsets)
    inner = combined([hashes_of(child.slice(first, last - first)) for child in children])
    position = np.arange(last - first, dtype=np.int64) - np.repeat(offsets[:-1] - first, lengths)
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(combined([inner, mixed(position)]), dtype=np.uint64)])
    at = offsets - first
    return mixed((sums[at[1:]] - sums[at[:-1]]) * _STEP + lengths.astype(np.uint64))


__all__ = ["NULL_HASH", "Hashes", "bytes_hashes", "combined", "hashes_of", "mixed"]
