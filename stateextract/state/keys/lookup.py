"""Looking up keys: the key groups that can hold them, by each file's serializer, their bytes, and the rows that have them.

May import ``key_groups``, columns and pyarrow; knows no files.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from serializers import SerializerSnapshot
from serializers.sql import ROW_DATA_SNAPSHOT
from stateextract.columnar.arrow.row_numbers import row_numbers
from stateextract.columnar.convert.policy import Policy, apply_policy
from stateextract.columnar.layout import Layout
from stateextract.columnar.search.key_pattern import Finder, beginning, pattern
from stateextract.errors import TruncatedError
from stateextract.files.window import RangeSource, ReadAt, Window
from stateextract.state.keys.java_hash import is_certain
from stateextract.state.keys.key_groups import key_groups
from stateextract.state.keys.row_hash import binary_rows
from stateextract.state.row_layout import RowLayout

FEW = 1 << 15
"""Rows that are compared sooner than what compares many at once is loaded."""

_LOOK = 1 << 20  # bytes that are looked through together: they stay in the processor's cache

PARTS = 2
"""Threads that look for a key."""

KeyGroupSelector = Callable[[SerializerSnapshot | None], frozenset[int] | None]
"""The key groups of a file that are wanted, by the serializer of its keys; ``None``: any."""


def groups_by_serializer(
    keys: Sequence[pa.Scalar] | None,
    numbers: frozenset[int] | None,
    max_parallelism: int,
    policy: Policy,
    likely: bool = False,
) -> KeyGroupSelector:
    """The key groups that can hold some keys, out of those with some numbers, by the serializer; ``None``: any.

    :param keys: ``None``: any.
    :param numbers: likewise.
    :param likely: key groups in which the keys are most likely will do, as of Rows.
    """
    known: dict[SerializerSnapshot, frozenset[int] | None] = {}

    def of_keys(serializer: SerializerSnapshot) -> frozenset[int] | None:
        found: set[int] = set()
        for key in keys or ():
            groups = key_groups(key, serializer, max_parallelism, policy)
            if groups is None:
                return None
            found |= groups
        return frozenset(found)

    def of(serializer: SerializerSnapshot | None) -> frozenset[int] | None:
        if keys is None or serializer is None or not (likely or is_certain(serializer)):
            return numbers
        if serializer not in known:
            known[serializer] = of_keys(serializer)
        groups = known[serializer]
        return numbers if groups is None else groups if numbers is None else groups & numbers

    return of


def has_key(column: pa.Array, keys: Sequence[pa.Scalar]) -> npt.NDArray[np.bool_]:
    """Which rows have one of some keys: equal as values are, and NaN is itself.

    The two zeros are one where the key itself is a floating number; inside of structs they differ.

    :param column: the keys of the rows; or their namespaces, which are compared alike.
    """
    if len(keys) == 1 and keys[0].is_valid and _compares(column.type):
        if len(column) <= FEW and not pa.types.is_temporal(column.type):
            return np.array([value == keys[0].as_py() for value in column.to_pylist()], np.bool_)
        import pyarrow.compute as pc  # takes longer to load than most lookups

        equal: npt.NDArray[np.bool_] = pc.equal(column, keys[0]).fill_null(False).to_numpy(zero_copy_only=False)
        return equal
    values = list(keys)
    if pa.types.is_floating(column.type):
        values += [pa.scalar(-key.as_py(), column.type) for key in keys if key.is_valid and key.as_py() == 0]
    asked = pa.table({"key": pa.array(values, column.type)})
    numbers, _ = row_numbers([asked, pa.table({"key": column})])
    return np.isin(numbers[1], numbers[0])


def key_pattern(row: RowLayout, key: pa.Scalar, policy: Policy) -> bytes | None:
    """Bytes that every entry with a key contains.

    :param key: what the column shows.
    :returns: ``None`` where none are known, as of states without keys.
    """
    layout = _key_layout(row, key, policy)
    return None if layout is None else pattern(layout, key)


def key_beginning(row: RowLayout, key: pa.Scalar, policy: Policy) -> bytes:
    """Bytes that a key begins with where it is serialized; none where that is not certain.

    :param key: what the column shows.
    """
    serializer = row.key_serializer
    if serializer is not None and serializer.class_name == ROW_DATA_SNAPSHOT and key.is_valid:
        rows = binary_rows(key, serializer, policy) or []
        return len(rows[0]).to_bytes(4, "big") + rows[0] if len(rows) == 1 else b""
    layout = _key_layout(row, key, policy)
    return b"" if layout is None else beginning(layout, key)


def _key_layout(row: RowLayout, key: pa.Scalar, policy: Policy) -> Layout | None:
    """The layout of a state's keys; ``None``: it has none, or none of the key's type."""
    layout = next((f.layout for f in row.layout.fields if f.name == "key"), None)
    if layout is None or layout.arrow_type is None:
        return None
    layout = apply_policy(layout, policy)
    return layout if layout.arrow_type == key.type else None


def is_found(read_at: ReadAt, start: int, stop: int, finder: Finder) -> bool:
    """Whether the bytes that a finder looks for are between two offsets of a file. Two threads search a large range."""
    if stop - start < PARTS * _LOOK:
        return _looked(read_at, start, stop, finder, Event())
    ended = Event()
    step = -(-(stop - start) // PARTS)
    with ThreadPoolExecutor(PARTS) as threads:
        parts = [
            threads.submit(_looked, read_at, at, min(at + step + finder.size - 1, stop), finder, ended)
            for at in range(start, stop, step)
        ]
        found = [part.result() for part in parts]
    return any(found)


def _looked(read_at: ReadAt, start: int, stop: int, finder: Finder, ended: Event) -> bool:
    """The same in one thread.

    :param ended: that it was found, which others that look need not wait for.
    """
    window = Window(RangeSource(read_at, start, stop), start, _LOOK)
    try:
        while not ended.is_set() and window.need(finder.size):
            if finder.find(window.block.address + window.pos, window.end - window.pos) >= 0:
                ended.set()
                return True
            window.pos = window.end - finder.size + 1
    except TruncatedError:
        return True  # which the caller that reads it is to say
    return False


def is_one_key(value: pa.Scalar) -> bool:
    """Whether all rows that have this value have the same key, and not several that a column shows alike.

    Zeros have two signs; a string with U+FFFD may represent several with surrogates, a null for what a column cannot hold, a
    time for several within its unit.
    """
    if not value.is_valid:
        return False
    if pa.types.is_struct(value.type):
        return all(is_one_key(value[name]) for name in value)
    if pa.types.is_string(value.type):
        return "\ufffd" not in value.as_py()
    is_exact = (pa.types.is_integer, pa.types.is_boolean, pa.types.is_binary, pa.types.is_date32)
    return any(is_(value.type) for is_ in is_exact)


def _compares(type_: pa.DataType) -> bool:
    """Whether two values are one key exactly where Arrow finds them equal."""
    is_one = (pa.types.is_integer, pa.types.is_string, pa.types.is_binary, pa.types.is_boolean, pa.types.is_temporal)
    return any(is_(type_) for is_ in is_one)
