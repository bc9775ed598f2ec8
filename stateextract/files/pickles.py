"""Pickles of plain data, read without Python's ``pickle``: nothing is imported, constructed or called.

Reads one pickle of protocol 2 to 5 as PyFlink writes it and must be at its end behind ``STOP``. Known are the opcodes
that make ``None``, booleans, integers, floats, strings, bytes, lists, tuples, sets and dicts; and, of the classes
that a pickle may name, ``datetime.date``, ``time``, ``datetime`` and ``timedelta``, ``decimal.Decimal``
and ``collections.OrderedDict``, each recognised by its name and arguments and turned into text or
plain data by this module. Anything else gives no value: :func:`read_pickle` refuses it, :func:`pickle_json` gives
``None``. A memoized object that holds itself is refused, and so is one that unfolds beyond :data:`MAX_VALUES`.

Where the opcodes stand: ``Lib/pickletools.py`` of CPython. May import the cursor and the errors.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from datetime import date, datetime, time, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any

from stateextract.errors import FormatError, StateExtractError, UnsupportedError
from stateextract.files.reader import Reader

MAX_VALUES = 100_000
MAX_DEPTH = 100
_MAX_BYTES = 1 << 26


class _Mark:
    """Where a group of items begins on the stack."""


class _Global:
    """A class or function by name; nothing is looked up."""

    def __init__(self, name: str) -> None:
        self.name = name


def read_pickle(data: bytes | memoryview) -> Any:
    """The plain data that a pickle holds: what JSON knows, tuples and sets as lists, dates as ISO text.

    :raises FormatError: where the bytes are no pickle.
    :raises UnsupportedError: where the pickle holds more than plain data.
    """
    if len(data) > _MAX_BYTES:
        raise UnsupportedError(f"a pickle of {len(data)} bytes")
    return _plain(_Machine(Reader(data)).run())


def pickle_json(data: bytes | memoryview) -> str | None:
    """The JSON text of a pickle of plain data; ``None`` for all other bytes."""
    if len(data) < 3 or data[0] != 0x80 or data[-1] != 0x2E:
        return None
    try:
        text = json.dumps(read_pickle(data), ensure_ascii=False, separators=(",", ":"))
        text.encode()
    except (StateExtractError, RecursionError, ValueError):
        return None
    return text


class _Machine:
    """The stack and the memo."""

    def __init__(self, reader: Reader) -> None:
        self.r = reader
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}

    def run(self) -> Any:
        if self.r.u8() != 0x80 or not 2 <= self.r.u8() <= 5:
            raise FormatError("the bytes are no pickle of protocol 2 to 5", offset=0)
        while True:
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

    def target(self, kind: type) -> Any:
        value = self.stack[-1] if self.stack else None
        if not isinstance(value, kind):
            raise FormatError("a pickle adds to what is no collection", offset=self.r.offset)
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
            raise FormatError("a pickle recalls what it does not remember", offset=self.r.offset)
        self.push(self.memo[index])

    def set_items(self, flat: list[Any]) -> None:
        if len(flat) % 2:
            raise FormatError("a pickle's dict has a key without a value", offset=self.r.offset)
        self.target(_Dict).pairs.extend(zip(flat[::2], flat[1::2], strict=True))

    def take(self, n: int) -> list[Any]:
        items = [self.pop() for _ in range(n)]
        return items[::-1]

    def reduce(self) -> None:
        arguments, called = self.pop(), self.pop()
        if not isinstance(called, _Global) or not isinstance(arguments, tuple):
            raise UnsupportedError("a pickle calls what is no known class", offset=self.r.offset)
        known = _CLASSES.get(called.name)
        if known is None:
            raise UnsupportedError(f"a pickle holds a {called.name!r}", offset=self.r.offset)
        try:
            self.push(known(*arguments))
        except (TypeError, ValueError, ArithmeticError, IndexError, struct.error):
            raise UnsupportedError(f"a {called.name!r} of unknown arguments", offset=self.r.offset) from None

    def global_name(self) -> None:
        name, module = self.pop(), self.pop()
        if not isinstance(name, str) or not isinstance(module, str):
            raise FormatError("a pickle's class has no name", offset=self.r.offset)
        self.push(_Global(f"{module}.{name}"))


class _Dict:
    """A dict: pairs, since its keys may be anything."""

    def __init__(self) -> None:
        self.pairs: list[tuple[Any, Any]] = []


# ---- the classes that are known, by the arguments that their pickles have


def _bits(raw: Any, size: int) -> bytes:
    if isinstance(raw, str):
        raw = raw.encode("latin-1")
    if not isinstance(raw, bytes) or len(raw) != size:
        raise ValueError("state of another size")
    return raw


def _date(raw: Any) -> date:
    state = _bits(raw, 4)
    return date(state[0] << 8 | state[1], state[2], state[3])


def _time(raw: Any) -> time:
    state = _bits(raw, 6)
    return time(state[0] & 0x7F, state[1], state[2], int.from_bytes(state[3:], "big"))


def _datetime(raw: Any) -> datetime:
    state = _bits(raw, 10)
    day, rest = date(state[0] << 8 | state[1], state[2] & 0x7F, state[3]), state[4:]
    return datetime(day.year, day.month, day.day, rest[0], rest[1], rest[2], int.from_bytes(rest[3:], "big"))


def _pass_over(_: int) -> None:
    """A frame's length, which says nothing that the opcodes do not."""


def _whole(*parts: Any) -> tuple[int, ...]:
    if not all(type(part) is int for part in parts):
        raise TypeError("no whole numbers")
    return parts


def _timedelta(*parts: Any) -> timedelta:
    days, seconds, micros = _whole(*parts)
    return timedelta(days, seconds, micros)


def _decimal(text: Any) -> Decimal:
    if not isinstance(text, str) or len(text) > 10_000:
        raise TypeError("no text")
    try:
        return Decimal(text)
    except InvalidOperation:
        raise ValueError("no number") from None


def _encoded(text: Any, coding: Any) -> bytes:
    if coding not in ("latin1", "latin-1") or not isinstance(text, str):
        raise TypeError("another coding")
    return text.encode("latin-1")


def _bytearray(raw: Any = b"") -> bytes:
    if not isinstance(raw, bytes):
        raise TypeError("no bytes")
    return raw


def _empty_bytes() -> bytes:
    return b""


def _set(items: Any) -> list[Any]:
    if not isinstance(items, list):
        raise TypeError("no list")
    return items


_CLASSES: dict[str, Callable[..., Any]] = {
    "datetime.date": _date,
    "datetime.time": _time,
    "datetime.datetime": _datetime,
    "datetime.timedelta": _timedelta,
    "decimal.Decimal": _decimal,
    "collections.OrderedDict": _Dict,
    "_codecs.encode": _encoded,
    "builtins.set": _set,
    "__builtin__.set": _set,
    "builtins.bytearray": _bytearray,
    "builtins.bytes": _empty_bytes,
    "__builtin__.bytes": _empty_bytes,
}


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
    ord("a"): lambda m: (lambda item: m.target(list).append(item))(m.pop()),
    ord("e"): lambda m: (lambda items: m.target(list).extend(items))(m.since_mark()),
    ord("}"): lambda m: m.push(_Dict()),
    ord("s"): lambda m: m.set_items(m.take(2)),
    ord("u"): lambda m: m.set_items(m.since_mark()),
    0x8F: lambda m: m.push([]),
    0x90: lambda m: (lambda items: m.target(list).extend(items))(m.since_mark()),
    0x91: lambda m: m.push(m.since_mark()),
    0x94: lambda m: m.put(len(m.memo)),
    ord("q"): lambda m: m.put(m.little(1)),
    ord("r"): lambda m: m.put(m.little(4)),
    ord("h"): lambda m: m.get(m.little(1)),
    ord("j"): lambda m: m.get(m.little(4)),
    0x95: lambda m: _pass_over(m.little(8)),
    0x93: _Machine.global_name,
    ord("c"): lambda m: m.push(_Global(f"{m.line()}.{m.line()}")),
    ord("R"): _Machine.reduce,
    ord("0"): lambda m: m.pop() and None,
}


# ---- what JSON knows


def _plain(value: Any) -> Any:
    return _Plain().of(value, 0)


class _Plain:
    def __init__(self) -> None:
        self.values = 0

    def of(self, value: Any, depth: int) -> Any:
        self.values += 1
        if self.values > MAX_VALUES or depth > MAX_DEPTH:
            raise UnsupportedError("a pickle unfolds beyond measure, or holds itself")
        if value is None or isinstance(value, bool | str | int):
            return value
        if isinstance(value, float):
            return value if abs(value) < float("inf") else str(value).replace("inf", "Infinity").replace("nan", "NaN")
        if isinstance(value, bytes):
            return value.hex()
        if isinstance(value, list | tuple):
            return [self.of(item, depth + 1) for item in value]
        if isinstance(value, _Dict):
            return self.mapping(value, depth)
        if isinstance(value, date | time):
            return value.isoformat()
        if isinstance(value, Decimal):
            return str(value)
        if isinstance(value, timedelta):
            return str(value)
        raise UnsupportedError("a pickle holds more than plain data")

    def mapping(self, value: _Dict, depth: int) -> Any:
        """An object if all keys are texts that differ, else a list of pairs."""
        pairs = [(self.of(k, depth + 1), self.of(v, depth + 1)) for k, v in value.pairs]
        if all(isinstance(k, str) for k, _ in value.pairs):
            return dict(pairs)
        return [list(pair) for pair in pairs]
