"""What to do with values that an Arrow column cannot hold exactly, and the counters of what was changed to fit its column.

A :class:`Policy` is the user's choice; :func:`apply_policy` rewrites a layout so that the schema and both decoders
follow it; :class:`ChangeCounts` counts the values that were changed. Refusals that show only in the values are raised by
``logical.py`` and by :meth:`Policy.check`.

May import layouts and errors. Must not know of snapshots, files, numba, or which serializer a layout came from.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal, get_args

import pyarrow as pa

from stateextract.columnar.layout import (
    Bytes,
    Case,
    Field,
    Layout,
    ListValue,
    Logical,
    MapValue,
    Nullable,
    Python,
    RowValue,
    SkippedValue,
    Struct,
    Subclass,
    Subclasses,
    Switch,
    Text,
)
from stateextract.columnar.layout.binary import BinaryArray, BinaryMap, BinaryRow, Framed
from stateextract.derived import derived
from stateextract.errors import UsageError, ValueRefusedError

Strings = Literal["replace", "fail", "binary"]
Timestamps = Literal["floor", "fail", "nanoseconds"]
OutOfRange = Literal["fail", "null"]
Maps = Literal["map", "list"]

_CHOICES = {
    "strings": get_args(Strings),
    "timestamps": get_args(Timestamps),
    "out_of_range": get_args(OutOfRange),
    "maps": get_args(Maps),
}

MAX_VALUE_BYTES = 256 * 10**6
"""The default of :attr:`Policy.max_value_bytes`."""
ROOM = 4
"""Bytes of columns that a byte of the largest value may take."""
LARGE_VALUE_ADVICE = (
    "set --max-value-bytes to a larger size if there is the memory for it; with --flatten the elements of a list and the "
    "entries of a map are rows of their own"
)

# Conversions whose values can have digits below the microsecond.
_FINE_CONVERSIONS = frozenset({"instant", "sql_timestamp", "local_datetime", "ms_nanos", "epoch_ns"})


@dataclass(frozen=True)
class Policy:
    """The user's choice for what Arrow, Parquet or Spark cannot hold.

    :param strings: a lone surrogate, or invalid UTF-8, is replaced by U+FFFD and counted,
        refused, or kept (then all strings become binary).
    :param timestamps: digits below the microsecond are cut off (towards the past) and counted, refused, or kept (then
        timestamps that can have them are in nanoseconds, which Spark cannot read).
    :param out_of_range: a date or time beyond its column's range stops the job, or becomes null and is counted.
    :param maps: maps stay maps, whose keys cannot be null, or become lists of ``struct<key, value>``.
    :param max_value_bytes: a row that has more bytes in the file, or takes more than :data:`ROOM` times as many in memory, is
        refused; where lists and maps are flattened, each element is a row.
    """

    strings: Strings = "replace"
    timestamps: Timestamps = "floor"
    out_of_range: OutOfRange = "fail"
    maps: Maps = "map"
    max_value_bytes: int = MAX_VALUE_BYTES

    def __post_init__(self) -> None:
        for name, choices in _CHOICES.items():
            if getattr(self, name) not in choices:
                raise UsageError(
                    f"the option {name} cannot be {getattr(self, name)!r}", expected=f"one of {', '.join(choices)}"
                )
        if self.max_value_bytes < 1:
            raise UsageError(f"the option max_value_bytes cannot be {self.max_value_bytes!r}", expected="1 or more")

    def check(self, counts: ChangeCounts) -> None:
        """Refuse what the decoders counted but cannot refuse themselves.

        :param counts: what was met in the values decoded so far.
        :raises ValueRefusedError: where ``strings`` is ``fail`` and a lone surrogate or broken UTF-8 was met.
        """
        if self.strings != "fail":
            return
        for number, what in (
            (counts.lone_surrogates, "lone surrogates in strings, which UTF-8 cannot hold"),
            (counts.malformed_utf8, "sequences of bytes in strings that are not UTF-8"),
        ):
            if number:
                raise ValueRefusedError(
                    f"met {number} {what}",
                    advice="set --strings to replace (U+FFFD instead) or binary (all strings as bytes)",
                )


@dataclass
class ChangeCounts:
    """How many values were changed. A small counter with fixed names: ``+``, ``-``, ``+=`` and ``[name]`` work as expected.

    :param lone_surrogates: lone UTF-16 surrogates replaced by U+FFFD (not strings).
    :param sub_microsecond: timestamps that lost digits below the microsecond.
    :param out_of_range: values that became null because their column cannot hold them.
    :param malformed_utf8: sequences of bytes that are not UTF-8, replaced by U+FFFD: each longest one that begins like a
        character and is none.
    :param python_objects: objects in pickles whose classes are not known, shown as class and fields.
    :param unread_pickles: pickles that could not be read, kept as bytes.
    """

    lone_surrogates: int = 0
    sub_microsecond: int = 0
    out_of_range: int = 0
    malformed_utf8: int = 0
    python_objects: int = 0
    unread_pickles: int = 0

    def __getitem__(self, name: str) -> int:
        found: int = vars(self)[name]
        return found

    def __setitem__(self, name: str, value: int) -> None:
        if name not in vars(self):
            raise KeyError(name)
        setattr(self, name, value)

    def __iter__(self) -> Iterator[str]:
        return iter(self.as_dict())

    def __add__(self, other: ChangeCounts) -> ChangeCounts:
        return ChangeCounts(**{name: self[name] + other[name] for name in self})

    def __sub__(self, other: ChangeCounts) -> ChangeCounts:
        return ChangeCounts(**{name: self[name] - other[name] for name in self})

    def __iadd__(self, other: ChangeCounts) -> ChangeCounts:
        # The interpreter adds once per value, and there is seldom anything to add.
        for name, count in vars(other).items():
            if count:
                self[name] += count
        return self

    def __bool__(self) -> bool:
        return any(vars(self).values())

    def as_dict(self) -> dict[str, int]:
        """By name, zeros included."""
        return dict(vars(self))


def apply_policy(layout: Layout, policy: Policy) -> Layout:
    """The layout as the policy wants it: other types, the same bytes.

    :param layout: what a serializer described.
    :param policy: the user's choice.
    :returns: a layout with the same nodes in the same places; equal to ``layout`` where nothing had to change.
    """
    return derived(layout, "applied", policy, lambda: _rewrite(layout, policy))


def skipped_layout(layout: Layout) -> Layout:
    """A layout of the same bytes for values that are only skipped, which are not refused and not looked into where they have a
    length: what is in a row of SQL need not be known.
    """
    return derived(layout, "skipped", None, lambda: _rewrite(layout, _SKIPPING))


_SKIPPING = Policy(maps="list")


def _rewrite(node: Layout, policy: Policy) -> Layout:
    match node:
        case BinaryRow() | BinaryArray() | BinaryMap() if policy is _SKIPPING:
            return Bytes()
        case Text():
            return replace(node, as_binary=node.as_binary or policy.strings == "binary")
        case MapValue():
            key, value = _rewrite(node.key, policy), _rewrite(node.value, policy)
            return replace(node, key=key, value=value, as_list=node.as_list or policy.maps == "list")
        case Logical():
            return replace(node, inner=_rewrite(node.inner, policy), type=_timestamp_type(node, policy))
        case Nullable() | Framed():
            return replace(node, inner=_rewrite(node.inner, policy))
        case SkippedValue():
            # A value that does not occur is never refused: a null map key, say.
            return replace(node, inner=_rewrite(node.inner, _SKIPPING))
        case ListValue():
            return replace(node, element=_rewrite(node.element, policy))
        case Struct() | RowValue():
            return replace(node, fields=_rewrite_fields(node.fields, policy))
        case Switch():
            return replace(node, cases=tuple(Case(c.tag, _rewrite_fields(c.fields, policy)) for c in node.cases))
        case Subclasses():
            below = tuple(Subclass(s.class_name, s.tag, _rewrite_fields(s.fields, policy)) for s in node.subclasses)
            return replace(node, fields=_rewrite_fields(node.fields, policy), subclasses=below)
        case Python() if node.inner is not None:
            return replace(node, inner=_rewrite(node.inner, policy))
        case _:
            return node


def _rewrite_fields(group: tuple[Field, ...], policy: Policy) -> tuple[Field, ...]:
    return tuple(Field(f.name, _rewrite(f.layout, policy)) for f in group)


def _timestamp_type(node: Logical, policy: Policy) -> pa.DataType:
    if policy.timestamps == "nanoseconds" and node.conversion in _FINE_CONVERSIONS and pa.types.is_timestamp(node.type):
        return pa.timestamp("ns", node.type.tz)
    return node.type
