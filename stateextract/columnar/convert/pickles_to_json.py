"""Pickles to JSON, many at a time: those of plain data at the speed of C, all others by ``files/pickles.py``.

The compiled pass of ``pickle_kernel.py`` lets through what names no class, recalls no container and stays within bounds.
Such pickles alone are given to C's ``pickle.loads``, which can then only make plain data, and to ``orjson``. Texts are the same
as those of the slow way, character for character; a test compares them.

May import the reader of pickles, the kernel and pyarrow.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from stateextract.columnar.compiled.engines import engine_for
from stateextract.files.pickles import PickleNotes, pickle_json

_TOGETHER = 2048
"""Values that are written together, which is several times faster than one by one."""
_SEPARATOR = b",\n,"
"""What is between two of them: JSON has no line end inside of texts."""


def pickle_texts(pickles: Sequence[bytes | None], notes: PickleNotes, whole: bool = False) -> pa.Array:
    """The JSON texts of pickles.

    :param pickles: ``None`` gives null.
    :param notes: takes what was met.
    :param whole: a pickle that cannot be read gives an object with the key ``$pickle``, its bytes in hexadecimal, instead of
        null.
    """
    texts: list[bytes | None] = [None] * len(pickles)
    fast = _plain(pickles)
    for start in range(0, len(fast), _TOGETHER):
        numbers = fast[start : start + _TOGETHER].tolist()
        for number, text in zip(numbers, _written([pickles[n] for n in numbers]), strict=False):
            texts[number] = text
    for number in np.flatnonzero([text is None for text in texts]).tolist():
        data = pickles[number]
        if data is None:
            continue
        found = pickle_json(data, notes)
        if found is None and whole:
            found = unread_json(data)
        texts[number] = None if found is None else found.encode()
    return _text_array(texts)


def unread_json(data: bytes) -> str:
    """What represents a pickle that cannot be read."""
    return json.dumps({"$pickle": data.hex()}, separators=(",", ":"))


def _plain(pickles: Sequence[bytes | None]) -> npt.NDArray[np.int64]:
    """Which pickles the fast way may take; none where it would have to be compiled first for little."""
    data = b"".join([p or b"" for p in pickles])
    if engine_for(len(data)) == "interpreter":
        return np.zeros(0, np.int64)
    from stateextract.columnar.convert.pickle_kernel import MOST_BYTES, check

    offsets = np.zeros(len(pickles) + 1, np.int64)
    np.cumsum(np.fromiter((0 if p is None else len(p) for p in pickles), np.int64, len(pickles)), out=offsets[1:])
    passed = np.zeros(len(pickles), np.uint8)
    bytes_ = np.frombuffer(data, np.uint8)
    room = np.empty((3, MOST_BYTES), np.int64)
    arrays = [bytes_.ctypes.data, offsets.ctypes.data, len(pickles), passed.ctypes.data, *(row.ctypes.data for row in room)]
    check(*arrays)
    return np.flatnonzero(passed)


def _written(pickles: Sequence[Any]) -> Sequence[bytes]:
    """The texts of pickles that passed; none where anything is wrong with one of them."""
    import orjson  # most state has no pickles

    between = orjson.Fragment(b"\n")
    values: list[Any] = [between] * (2 * len(pickles) - 1)
    try:
        values[::2] = map(pickle.loads, pickles)
        parts = orjson.dumps(values, default=_hexadecimal)[1:-1].split(_SEPARATOR)
    except (pickle.UnpicklingError, ValueError, EOFError, TypeError, LookupError, AttributeError, OverflowError):
        return ()
    return parts if len(parts) == len(pickles) else ()


def _hexadecimal(value: Any) -> str:
    if type(value) is bytes:
        return value.hex()
    raise TypeError("not plain data")


def _text_array(texts: Sequence[bytes | None]) -> pa.Array:
    present = [text or b"" for text in texts]
    offsets = np.zeros(len(texts) + 1, np.int64)
    np.cumsum(np.fromiter(map(len, present), np.int64, len(texts)), out=offsets[1:])
    if offsets[-1] >= 1 << 31:
        raise ValueError("the texts of a batch have more than 2 GiB")
    valid = None
    if any(text is None for text in texts):
        valid = pa.array([text is not None for text in texts]).buffers()[1]
    buffers = [valid, pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(b"".join(present))]
    return pa.Array.from_buffers(pa.string(), len(texts), buffers)
