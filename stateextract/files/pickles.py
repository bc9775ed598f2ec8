"""Pickles, read without Python's ``pickle``: nothing is imported, constructed or called.

Reads one pickle of protocol 2 to 5 and must be at its end after ``STOP``. The opcodes that make ``None``, booleans,
numbers, strings, bytes and collections are read as they are. Of the classes and functions that a pickle may name,
:data:`CLASSES` is the closed list of those whose values are known: each is recognised by its name and turned into text
or plain data by a function of this module. All others become an object with the key ``$python``: the name, with
the arguments, fields and items that the pickle gives it; so does a known one whose arguments or state are unknown.
Any other opcode gives no value, nor does an object that contains itself, or one that unfolds beyond
:data:`MAX_VALUES` and :data:`MAX_TEXT`. What a pickle takes is bounded too: :data:`MAX_STEPS` opcodes.

The opcodes are those of ``Lib/pickletools.py`` of CPython. May import the cursor and the errors.
"""

from __future__ import annotations

import json
import struct
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal, InvalidOperation
from math import isfinite, prod
from typing import Any

from stateextract.errors import FormatError, StateExtractError, UnsupportedError
from stateextract.files.reader import Reader

MAX_VALUES = 100_000
MAX_DEPTH = 100
MAX_TEXT = 1 << 26
"""Characters of all texts of one value, each as often as it is shown."""
MAX_STEPS = 1_000_000
_MAX_BYTES = 1 << 26


class _Mark:
    """Where a group of items begins on the stack."""


class _Global:
    """A class or function by name; nothing is looked up."""

    def __init__(self, name: str) -> None:
        self.name = name


@dataclass
class PickleNotes:
    """What was met in pickles that their values do not show as what they were.

    :param objects: objects of classes that :data:`CLASSES` does not have, which are shown as class and fields.
    :param unread: pickles that could not be read at all.
    :param reasons: why, each once: the classes' names, and what is wrong with pickles.
    """

    objects: int = 0
    unread: int = 0
    reasons: dict[str, None] = field(default_factory=dict)

    def note(self, reason: str) -> None:
        """Note a reason once, and not endlessly many."""
        if len(self.reasons) < _MOST_REASONS:
            self.reasons[reason[:200]] = None


_MOST_REASONS = 20


def read_pickle(data: bytes | memoryview, notes: PickleNotes | None = None) -> Any:
    """The value of a pickle as plain data: what JSON knows, tuples and sets as lists, dates as ISO text.

    :param notes: takes the objects of unknown classes.
    :raises FormatError: if the bytes are not a pickle.
    :raises UnsupportedError: if the pickle has other opcodes, or contains itself, or is too large.
    """
    if len(data) > _MAX_BYTES:
        raise UnsupportedError(f"a pickle of {len(data)} bytes")
    machine = _Machine(Reader(data))
    value = _Plain().of(machine.run(), 0)
    if notes is not None:
        notes.objects += machine.objects
        for reason in machine.reasons:
            notes.note(reason)
    return value


def looks_pickled(data: bytes | memoryview) -> bool:
    """Whether bytes begin and end as a pickle of protocol 2 to 5 does."""
    return len(data) >= 3 and data[0] == 0x80 and 2 <= data[1] <= 5 and data[-1] == 0x2E


def pickle_json(data: bytes | memoryview, notes: PickleNotes | None = None) -> str | None:
    """The JSON text of a pickle; ``None`` for bytes that are none, or none that can be read.

    :param notes: takes what was met.
    """
    reason = "the bytes are not a pickle of protocol 2 to 5"
    if looks_pickled(data):
        try:
            text = json.dumps(read_pickle(data, notes), ensure_ascii=False, separators=(",", ":"))
            text.encode()
            return text
        except StateExtractError as error:
            reason = error.message
        except (RecursionError, ValueError) as error:
            reason = f"a text of the pickle is not Unicode, or a number is too long ({type(error).__name__})"
    if notes is not None:
        notes.unread += 1
        notes.note(reason)
    return None


class _Machine:
    """The stack and the memo."""

    def __init__(self, reader: Reader) -> None:
        self.r = reader
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}
        self.objects = 0
        self.reasons: dict[str, None] = {}

    def run(self) -> Any:
        if self.r.u8() != 0x80 or not 2 <= self.r.u8() <= 5:
            raise FormatError("the bytes are not a pickle of protocol 2 to 5", offset=0)
        for _ in range(MAX_STEPS):
            start = self.r.offset
            op = self.r.u8("an opcode")
            if op == 0x2E:
                if len(self.stack) != 1 or self.r.remaining:
                    raise FormatError("a pickle does not end with one value", offset=start)
                return self.stack[0]
            step = _OPCODES.get(op)
            if step is None:
                raise UnsupportedError(f"the pickle opcode {op:#04x} makes more than plain data", offset=start)
            step(self)
        raise UnsupportedError(f"the pickle has more than {MAX_STEPS} opcodes", offset=self.r.offset)

    def push(self, value: Any) -> None:
        self.stack.append(value)

    def pop(self) -> Any:
        if not self.stack or isinstance(self.stack[-1], _Mark):
            raise FormatError("a pickle takes more than it has", offset=self.r.offset)
        return self.stack.pop()

    def since_mark(self) -> list[Any]:
        for at in range(len(self.stack) - 1, -1, -1):
            if isinstance(self.stack[at], _Mark):
                items = self.stack[at + 1 :]
                del self.stack[at:]
                return items
        raise FormatError("a pickle has no mark", offset=self.r.offset)

    def drop(self) -> None:
        self.pop()

    def drop_to_mark(self) -> None:
        self.since_mark()

    def target(self, kinds: tuple[type, ...]) -> Any:
        value = self.stack[-1] if self.stack else None
        if not isinstance(value, kinds):
            raise FormatError("the pickle adds items to something other than a collection", offset=self.r.offset)
        return value

    def sized(self, width: int) -> bytes:
        size = int.from_bytes(self.r.bytes(width, "a length"), "little")
        return bytes(self.r.bytes(size, "an item of a pickle"))

    def text(self, width: int) -> str:
        try:
            return self.sized(width).decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            raise FormatError("a pickle's text is not UTF-8", offset=self.r.offset) from None

    def little(self, width: int, signed: bool = False) -> int:
        return int.from_bytes(self.r.bytes(width, "a number"), "little", signed=signed)

    def line(self) -> str:
        raw = bytearray()
        while (byte := self.r.u8("a name")) != 0x0A:
            raw.append(byte)
            if len(raw) > 200:
                raise FormatError("a pickle's name does not end", offset=self.r.offset)
        return raw.decode("ascii", "replace")

    def number(self, width: int) -> None:
        raw = self.sized(width)
        if len(raw) > 1024:
            raise UnsupportedError(f"a number of {len(raw)} bytes", offset=self.r.offset)
        self.push(int.from_bytes(raw, "little", signed=True))

    def put(self, index: int) -> None:
        if not self.stack:
            raise FormatError("a pickle remembers what is not there", offset=self.r.offset)
        self.memo[index] = self.stack[-1]

    def get(self, index: int) -> None:
        if index not in self.memo:
            raise FormatError("the pickle reads a memo entry that it did not write", offset=self.r.offset)
        self.push(self.memo[index])

    def set_items(self, flat: list[Any]) -> None:
        if len(flat) % 2:
            raise FormatError("a pickle's dict has a key without a value", offset=self.r.offset)
        self.target((_Dict, _Object)).pairs.extend(zip(flat[::2], flat[1::2], strict=True))

    def take(self, n: int) -> list[Any]:
        items = [self.pop() for _ in range(n)]
        return items[::-1]

    def reduce(self) -> None:
        arguments, function = self.pop(), self.pop()
        self.push(self.made(function, arguments))

    def made(self, function: Any, arguments: Any, keywords: dict[Any, Any] | None = None) -> Any:
        """What a class or function makes of arguments."""
        if not isinstance(function, _Global | _Object):
            raise UnsupportedError("the pickle calls something other than a class", offset=self.r.offset)
        if not isinstance(arguments, tuple):
            raise UnsupportedError("the pickle calls a class with something other than arguments", offset=self.r.offset)
        if isinstance(function, _Object):  # the result of a call is called
            result = _Object(f"{function.name}()", (function, *arguments), keywords)
            return self.unknown(result, "what a call returned is called")
        known = CLASSES.get(function.name.replace("__builtin__.", "builtins."))
        if known is not None and not keywords:
            try:
                return known(*arguments)
            except (TypeError, ValueError, ArithmeticError, LookupError):
                reason = f"{function.name}: unknown arguments"
        else:
            reason = function.name
        return self.unknown(_Object(function.name, arguments, keywords), reason)

    def unknown(self, made: _Object, reason: str) -> _Object:
        """Count an object that is shown as its name and what the pickle gives it."""
        self.objects += 1
        if len(self.reasons) < _MOST_REASONS:
            self.reasons[reason] = None
        return made

    def new_with_keywords(self) -> None:
        keywords, arguments, function = self.pop(), self.pop(), self.pop()
        if not isinstance(keywords, _Dict):
            raise FormatError("the keywords of a pickled object are not a dict", offset=self.r.offset)
        self.push(self.made(function, arguments, {str(key): value for key, value in keywords.pairs}))

    def build(self) -> None:
        """Give the newest object its state."""
        state = self.pop()
        target = self.stack[-1] if self.stack else None
        if not isinstance(target, _Stateful):
            raise UnsupportedError("the pickle sets the state of a plain value", offset=self.r.offset)
        try:
            target.set_state(state)
        except (TypeError, ValueError, LookupError, ArithmeticError):
            target.strange = self.unknown(_Object(target.name), f"{target.name}: unknown state")
            target.strange.set_state(state)

    def add(self, items: list[Any]) -> None:
        self.target((list, _Object)).extend(items)

    def global_name(self) -> None:
        name, module = self.pop(), self.pop()
        if not isinstance(name, str) or not isinstance(module, str):
            raise FormatError("a pickle's class has no name", offset=self.r.offset)
        self.push(_Global(f"{module}.{name}"))


class _Dict:
    """A dict: pairs, since its keys may be anything."""

    def __init__(self, items: Any = None) -> None:
        self.pairs: list[tuple[Any, Any]] = list(items.pairs) if isinstance(items, _Dict) else _pairs(items)


def _pairs(items: Any) -> list[tuple[Any, Any]]:
    pairs = [] if items is None else [tuple(item) for item in _list(items)]
    if any(len(pair) != 2 for pair in pairs):
        raise ValueError("items that are not pairs")
    return [(key, value) for key, value in pairs]


class _Stateful:
    """What takes a state after it was made.

    :param strange: what is shown instead, as the state is not one that the class is known to have.
    """

    name: str = ""
    strange: _Object | None = None

    def set_state(self, state: Any) -> None:
        raise NotImplementedError


class _Object(_Stateful):
    """An object of a class that is not known: its name, and what the pickle gives it."""

    def __init__(self, name: str, arguments: tuple[Any, ...] = (), keywords: dict[Any, Any] | None = None) -> None:
        self.name = name
        self.arguments = arguments
        self.fields: dict[str, Any] = dict(keywords or {})
        self.items: list[Any] = []
        self.pairs: list[tuple[Any, Any]] = []
        self.state: Any = None

    def extend(self, items: list[Any]) -> None:
        self.items += items

    def set_state(self, state: Any) -> None:
        # An object with slots has a pair: its fields, and those in slots.
        parts = state if isinstance(state, tuple) and len(state) == 2 else (state,)
        if all(part is None or isinstance(part, _Dict) for part in parts):
            self.fields |= {str(key): value for part in parts if part is not None for key, value in part.pairs}
        else:
            self.state = state

    def parts(self) -> dict[str, Any]:
        """What is there of it, by the keys that JSON has."""
        found: dict[str, Any] = {"$python": self.name}
        if self.arguments:
            found["args"] = list(self.arguments)
        if self.fields:
            found["fields"] = _named(self.fields)
        if self.items:
            found["items"] = self.items
        if self.pairs:
            found["entries"] = _named_pairs(self.pairs)
        if self.state is not None:
            found["state"] = self.state
        return found


def _named(fields: dict[str, Any]) -> _Dict:
    return _named_pairs(list(fields.items()))


def _named_pairs(pairs: list[tuple[Any, Any]]) -> _Dict:
    made = _Dict()
    made.pairs = pairs
    return made


# ---- the classes that are known, by the arguments that their pickles have


class _TextValue(str):
    """A value that JSON has no type for, as text. As a key of a dict it is not a string."""


def _bits(raw: Any, size: int) -> bytes:
    if isinstance(raw, str):
        raw = raw.encode("latin-1")
    if not isinstance(raw, bytes) or len(raw) != size:
        raise ValueError("state of another size")
    return raw


def _date(raw: Any) -> _TextValue:
    state = _bits(raw, 4)
    return _TextValue(date(state[0] << 8 | state[1], state[2], state[3]).isoformat())


class _Zone:
    """A time zone: a fixed offset, or a name."""

    def __init__(self, offset: timezone | None, name: str | None) -> None:
        self.offset, self.name = offset, name

    def of(self, text: str) -> _TextValue:
        """A local time, with the zone after it."""
        return _TextValue(f"{text}[{self.name}]")


def _zoned(value: time | datetime, zone: Any) -> _TextValue:
    if zone is None:
        return _TextValue(value.isoformat())
    if not isinstance(zone, _Zone):
        raise TypeError("not a time zone")
    return _TextValue(value.replace(tzinfo=zone.offset).isoformat()) if zone.offset else zone.of(value.isoformat())


def _time(raw: Any, zone: Any = None) -> _TextValue:
    state = _bits(raw, 6)
    return _zoned(time(state[0] & 0x7F, state[1], state[2], int.from_bytes(state[3:], "big")), zone)


def _datetime(raw: Any, zone: Any = None) -> _TextValue:
    state = _bits(raw, 10)
    day, rest = date(state[0] << 8 | state[1], state[2] & 0x7F, state[3]), state[4:]
    micros = int.from_bytes(rest[3:], "big")
    return _zoned(datetime(day.year, day.month, day.day, rest[0], rest[1], rest[2], micros), zone)


def _attribute(owner: Any, name: Any) -> _Global:
    """A name inside of a class: nothing is looked up."""
    if not isinstance(owner, _Global) or not isinstance(name, str):
        raise TypeError("not a name of a class")
    return _Global(f"{owner.name}.{name}")


def _timezone(offset: Any, name: Any = None) -> _Zone:
    if not isinstance(offset, _Duration):
        raise TypeError("not an offset")
    return _Zone(timezone(offset.value), None)


def _utc() -> _Zone:
    return _Zone(UTC, None)


def _named_zone(name: Any = "UTC", *_: Any) -> _Zone:
    if not isinstance(name, str):
        raise TypeError("not a name")
    return _utc() if name == "UTC" else _Zone(None, name)


def skip(_: int) -> None:
    """A frame's length, which says nothing that the opcodes do not."""


def _whole(*parts: Any) -> tuple[int, ...]:
    if not all(type(part) is int for part in parts):
        raise TypeError("not whole numbers")
    return parts


class _Duration(_TextValue):
    """A ``timedelta``, which is part of time zones too."""

    value: timedelta


def _timedelta(*parts: Any) -> _Duration:
    days, seconds, micros = _whole(*parts)
    value = timedelta(days, seconds, micros)
    made = _Duration(value)
    made.value = value
    return made


def _decimal(text: Any) -> _TextValue:
    if not isinstance(text, str) or len(text) > 10_000:
        raise TypeError("not a text")
    try:
        return _TextValue(Decimal(text))
    except InvalidOperation:
        raise ValueError("not a number") from None


def _fraction(text: Any, below: Any = None) -> _TextValue:
    return _TextValue(text if isinstance(text, str) else "/".join(map(str, _whole(text, below))))


def _complex(real: Any, imaginary: Any) -> _TextValue:
    return _TextValue(complex(_float(real), _float(imaginary)))


def _float(value: Any) -> float:
    if not isinstance(value, float):
        raise TypeError("not a float")
    return value


def _encoded(text: Any, coding: Any) -> bytes:
    if coding not in ("latin1", "latin-1") or not isinstance(text, str):
        raise TypeError("another coding")
    return text.encode("latin-1")


def _bytearray(raw: Any = b"") -> bytes:
    if not isinstance(raw, bytes):
        raise TypeError("not bytes")
    return raw


def _empty_bytes() -> bytes:
    return b""


def _list(items: Any) -> list[Any]:
    if not isinstance(items, list | tuple):
        raise TypeError("not a list")
    return list(items)


def _deque(items: Any = (), _: Any = None) -> list[Any]:
    return _list(items)


def _default_dict(_: Any = None, items: Any = None) -> _Dict:
    return _Dict(items)


class _Uuid(_Stateful):
    """``uuid.UUID``, whose number is its state."""

    name = "uuid.UUID"
    text: str | None = None

    def set_state(self, state: Any) -> None:
        if not isinstance(state, _Dict):
            raise TypeError("not a number")
        self.text = str(uuid.UUID(int=_whole(dict(state.pairs)["int"])[0]))


class _RowKind:
    """``pyflink.common.types.RowKind`` by its number."""

    def __init__(self, number: Any) -> None:
        self.text = ("+I", "-U", "+U", "-D")[_whole(number)[0]]


def _row(fields: Any, values: Any, kind: Any) -> Any:
    """A PyFlink ``Row``: an object of its named fields, else a list. Its kind is shown if it is not an insertion."""
    if not isinstance(kind, _RowKind):
        raise TypeError("not a row kind")
    found = _list(values)
    names = _list(fields) if fields else [f"f{i}" for i in range(len(found))]
    if len(names) != len(found) or not all(isinstance(name, str) for name in names):
        raise ValueError("fields without values")
    if not fields and kind.text == "+I":
        return found
    pairs = list(zip(names, found, strict=True))
    return _named_pairs([("$row_kind", kind.text), *pairs] if kind.text != "+I" else pairs)


class _Type(_Stateful):
    """A ``numpy.dtype`` of numbers, strings or bytes."""

    name = "numpy.dtype"

    def __init__(self, code: Any, *_: Any) -> None:
        if not isinstance(code, str) or code[:1] not in "biufcSU" or not code[1:].isdigit():
            raise ValueError("not a type of numbers")
        self.code = code
        self.order = "="

    def set_state(self, state: Any) -> None:
        if not isinstance(state, tuple) or state[1] not in ("<", ">", "|", "="):
            raise ValueError("unknown state")
        self.order = state[1]

    def values(self, raw: bytes, shape: Sequence[int], fortran: bool) -> Any:
        import numpy as np  # most pickles have no array

        type_ = np.dtype(self.order.replace("|", "") + self.code)
        if prod(shape) * type_.itemsize != len(raw) or any(n < 0 for n in shape) or _slots(shape) > MAX_VALUES:
            raise ValueError("an array of another size")
        if type_.kind == "U" and np.frombuffer(raw, type_.byteorder + "u4").max(initial=0) > 0x10FFFF:
            raise ValueError("not characters")
        return _finite(np.frombuffer(raw, type_).reshape(shape, order="F" if fortran else "C").tolist())


def _slots(shape: Sequence[int]) -> int:
    """How many lists and values an array of this shape becomes."""
    return sum(prod(shape[: n + 1]) for n in range(len(shape)))


def _finite(values: Any) -> Any:
    if isinstance(values, list):
        return [_finite(value) for value in values]
    return _TextValue(values) if isinstance(values, complex) else values


def _scalar(type_: Any, raw: Any) -> Any:
    if not isinstance(type_, _Type) or not isinstance(raw, bytes):
        raise TypeError("not a scalar")
    return type_.values(raw, (), False)


class _Array(_Stateful):
    """A ``numpy.ndarray``, which gets its shape and values as its state."""

    name = "numpy.ndarray"
    value: Any = None

    def __init__(self, *_: Any) -> None:
        pass

    def set_state(self, state: Any) -> None:
        _, shape, type_, fortran, raw = state
        if not isinstance(type_, _Type) or not isinstance(raw, bytes) or not isinstance(shape, tuple):
            raise TypeError("an array of other things")
        self.value = type_.values(raw, _whole(*shape), fortran is True)


def _from_buffer(raw: Any, type_: Any, shape: Any, order: Any) -> Any:
    """An array in protocol 5, whose bytes are in the pickle."""
    if not isinstance(type_, _Type) or not isinstance(raw, bytes) or not isinstance(shape, tuple) or order not in ("C", "F"):
        raise TypeError("an array of other things")
    return type_.values(raw, _whole(*shape), order == "F")


def _timestamp(value: Any, _: Any = None, zone: Any = None, resolution: Any = 10) -> _TextValue:
    """``pandas.Timestamp``: a number of units since 1970 UTC, a zone, and numpy's number of the unit (10: nanoseconds)."""
    per_second = {7: 1, 8: 10**3, 9: 10**6, 10: 10**9}[_whole(resolution)[0]]
    seconds, below = divmod(_whole(value)[0], per_second)
    utc = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=seconds)
    digits = f".{below * (10**9 // per_second):09}".removesuffix("000") if below else ""
    if zone is None:
        return _TextValue(f"{utc.replace(tzinfo=None).isoformat()}{digits}")
    if not isinstance(zone, _Zone):
        raise TypeError("not a time zone")
    local = utc if zone.offset is None else utc.astimezone(zone.offset)
    text = local.isoformat()
    return _TextValue(f"{text[:19]}{digits}{text[19:]}" + (f"[{zone.name}]" if zone.offset is None else ""))


CLASSES: dict[str, Callable[..., Any]] = {
    "datetime.date": _date,
    "datetime.time": _time,
    "datetime.datetime": _datetime,
    "datetime.timedelta": _timedelta,
    "datetime.timezone": _timezone,
    "zoneinfo.ZoneInfo._unpickle": _named_zone,
    "pytz._UTC": _utc,
    "pytz._p": _named_zone,
    "decimal.Decimal": _decimal,
    "fractions.Fraction": _fraction,
    "builtins.complex": _complex,
    "uuid.UUID": _Uuid,
    "collections.OrderedDict": _Dict,
    "collections.defaultdict": _default_dict,
    "collections.Counter": _Dict,
    "collections.deque": _deque,
    "_codecs.encode": _encoded,
    "builtins.set": _list,
    "builtins.frozenset": _list,
    "builtins.bytearray": _bytearray,
    "builtins.bytes": _empty_bytes,
    "builtins.getattr": _attribute,
    "pyflink.common.types._create_row": _row,
    "pyflink.common.types.RowKind": _RowKind,
    "numpy.dtype": _Type,
    "numpy.core.multiarray.scalar": _scalar,
    "numpy._core.multiarray.scalar": _scalar,
    "numpy.core.multiarray._reconstruct": _Array,
    "numpy._core.multiarray._reconstruct": _Array,
    "numpy.core.numeric._frombuffer": _from_buffer,
    "numpy._core.numeric._frombuffer": _from_buffer,
    "pandas._libs.tslibs.timestamps._unpickle_timestamp": _timestamp,
}
"""By the name in the pickle: what makes plain data of the arguments. Nothing here is Python's own class."""


# ---- opcodes

_OPCODES: dict[int, Callable[[_Machine], None]] = {
    ord("N"): lambda m: m.push(None),
    0x88: lambda m: m.push(True),
    0x89: lambda m: m.push(False),
    ord("K"): lambda m: m.push(m.little(1)),
    ord("M"): lambda m: m.push(m.little(2)),
    ord("J"): lambda m: m.push(m.little(4, signed=True)),
    0x8A: lambda m: m.number(1),
    0x8B: lambda m: m.number(4),
    ord("G"): lambda m: m.push(struct.unpack(">d", m.r.bytes(8, "a float"))[0]),
    0x8C: lambda m: m.push(m.text(1)),
    ord("X"): lambda m: m.push(m.text(4)),
    0x8D: lambda m: m.push(m.text(8)),
    ord("C"): lambda m: m.push(m.sized(1)),
    ord("B"): lambda m: m.push(m.sized(4)),
    0x8E: lambda m: m.push(m.sized(8)),
    0x96: lambda m: m.push(m.sized(8)),
    ord("("): lambda m: m.push(_Mark()),
    ord(")"): lambda m: m.push(()),
    ord("t"): lambda m: m.push(tuple(m.since_mark())),
    0x85: lambda m: m.push(tuple(m.take(1))),
    0x86: lambda m: m.push(tuple(m.take(2))),
    0x87: lambda m: m.push(tuple(m.take(3))),
    ord("]"): lambda m: m.push([]),
    ord("a"): lambda m: m.add([m.pop()]),
    ord("e"): lambda m: m.add(m.since_mark()),
    ord("}"): lambda m: m.push(_Dict()),
    ord("s"): lambda m: m.set_items(m.take(2)),
    ord("u"): lambda m: m.set_items(m.since_mark()),
    0x8F: lambda m: m.push([]),
    0x90: lambda m: m.add(m.since_mark()),
    0x91: lambda m: m.push(m.since_mark()),
    0x94: lambda m: m.put(len(m.memo)),
    ord("q"): lambda m: m.put(m.little(1)),
    ord("r"): lambda m: m.put(m.little(4)),
    ord("h"): lambda m: m.get(m.little(1)),
    ord("j"): lambda m: m.get(m.little(4)),
    0x95: lambda m: skip(m.little(8)),
    0x93: _Machine.global_name,
    ord("c"): lambda m: m.push(_Global(f"{m.line()}.{m.line()}")),
    ord("R"): _Machine.reduce,
    0x81: _Machine.reduce,  # NEWOBJ: what a class makes of arguments does not depend on how it is asked
    0x92: _Machine.new_with_keywords,
    ord("b"): _Machine.build,
    ord("0"): _Machine.drop,
    ord("1"): _Machine.drop_to_mark,
}


# ---- what JSON knows


class _Plain:
    def __init__(self) -> None:
        self.values = 0
        self.size = 0

    def of(self, value: Any, depth: int) -> Any:
        self.values += 1
        if self.values > MAX_VALUES or depth > MAX_DEPTH:
            raise UnsupportedError(f"the pickle has more than {MAX_VALUES} values or {MAX_DEPTH} levels")
        if value is None or isinstance(value, bool | int):
            return value
        if isinstance(value, str | bytes):
            self.size += len(value)
            if self.size > MAX_TEXT:
                raise UnsupportedError(f"the pickle has more than {MAX_TEXT} characters")
            return value.hex() if isinstance(value, bytes) else str(value)
        if isinstance(value, float):
            return value if isfinite(value) else str(value).replace("inf", "Infinity").replace("nan", "NaN")
        if isinstance(value, list | tuple):
            return [self.of(item, depth + 1) for item in value]
        if isinstance(value, _Dict):
            return self.mapping(value, depth)
        if isinstance(value, _Stateful) and value.strange is not None:
            value = value.strange
        if isinstance(value, _Object):
            return {key: self.of(part, depth + 1) for key, part in value.parts().items()}
        if isinstance(value, _Array) and value.value is not None:
            return self.of(value.value, depth)
        if isinstance(value, _Uuid) and value.text is not None:
            return value.text
        if isinstance(value, _RowKind):
            return value.text
        if isinstance(value, _Zone):
            return value.name or str(value.offset)
        if isinstance(value, _Global | _Stateful):
            return {"$python": value.name}
        raise UnsupportedError("the pickle has an object of unknown form")

    def mapping(self, value: _Dict, depth: int) -> Any:
        """An object if all keys are texts that differ, else a list of pairs."""
        pairs = [(self.of(k, depth + 1), self.of(v, depth + 1)) for k, v in value.pairs]
        if all(type(k) is str for k, _ in value.pairs):
            return dict(pairs)
        return [list(pair) for pair in pairs]
