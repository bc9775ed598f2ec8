"""Following the values of a method from instruction to instruction: which constants, objects and calls reach a call.

One pass over the code, in order, without executing anything. Where paths meet (a target of a jump, a handler), everything that
the method held is forgotten. So what is known of a value holds on each path that reaches the instruction. Total: unknown
values are ``None``, and code that cannot be read raises :class:`FormatError`.

Format: The Java Virtual Machine Specification, chapter 6.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from serializers.classcode import ClassCode, ClassLiteral, Lambda, Member, Method, parameter_types
from stateextract.errors import FormatError


@dataclass(frozen=True)
class Constant:
    """A text, an ``int`` or a ``long``."""

    value: str | int


@dataclass(frozen=True)
class FieldValue:
    """What a field of a class has, static or not."""

    owner: str
    name: str


@dataclass(frozen=True, eq=False)
class Call:
    """What a method returned.

    :param arguments: the object first, if the method is not static.
    :param depth: how many calls are inside of one another.
    """

    member: Member
    arguments: tuple[Value, ...]
    depth: int = 1


@dataclass(eq=False)
class New:
    """An object that the method made.

    :param block: the number of the piece of code without jumps in which it was made.
    :param constructor: which made it, with its ``arguments``; ``None``: not seen.
    :param escaped: other code than this piece can have it.
    """

    class_name: str
    block: int
    constructor: Member | None = None
    arguments: tuple[Value, ...] = ()
    escaped: bool = False


@dataclass(eq=False)
class Array:
    """An array of objects that the method made, and what it put into it. A negative ``size``: that is not known."""

    size: int
    elements: dict[int, Value] = field(default_factory=dict)


Value = Constant | ClassLiteral | Lambda | FieldValue | Call | New | Array | None


class Watcher(Protocol):
    """Sees what a method does."""

    def wants(self, member: Member) -> bool:
        """Whether a method that calls this one, or has this field, is to be followed."""

    def called(self, member: Member, arguments: Sequence[Value], block: int) -> bool:
        """A method is called; its object is the first argument, if it is not static.

        Returns whether it is known that the method does not keep its arguments.
        """

    def stored(self, target: FieldValue, value: Value) -> None:
        """A value is stored in a field."""


_MAX_DEPTH: Final = 40
"""Calls inside of calls that are kept."""
MAX_STEPS: Final = 1 << 20
"""Instructions and values of one method that are looked at, in all."""

_LOADS: Final = {code: (code - 26) % 4 for code in range(26, 46)}
_STORES: Final = {code: (code - 59) % 4 for code in range(59, 79)}
_WIDE_LOADS, _WIDE_STORES = (22, 24, *range(30, 34), *range(38, 42)), (55, 57, *range(63, 67), *range(71, 75))

# Slots that an instruction takes and gives, by code; long and double have two. Others have rules of their own.
_SLOTS: Final[dict[int, tuple[int, int]]] = {
    0: (0, 0), 1: (0, 1), 9: (0, 2), 10: (0, 2), 11: (0, 1), 12: (0, 1), 13: (0, 1), 14: (0, 2), 15: (0, 2),
    **dict.fromkeys((46, 48, 50, 51, 52, 53), (2, 1)), 47: (2, 2), 49: (2, 2),
    **dict.fromkeys((79, 81, 84, 85, 86), (3, 0)), 80: (4, 0), 82: (4, 0), 87: (1, 0), 88: (2, 0),
    **dict.fromkeys((96, 98, 100, 102, 104, 106, 108, 110, 112, 114, 120, 122, 124, 126, 128, 130), (2, 1)),
    **dict.fromkeys((97, 99, 101, 103, 105, 107, 109, 111, 113, 115, 127, 129, 131), (4, 2)),
    **dict.fromkeys((116, 118, 134, 139, 145, 146, 147), (1, 1)), **dict.fromkeys((117, 119, 138, 143), (2, 2)),
    **dict.fromkeys((121, 123, 125), (3, 2)), 132: (0, 0), **dict.fromkeys((133, 135, 140, 141), (1, 2)),
    **dict.fromkeys((136, 137, 142, 144), (2, 1)), **dict.fromkeys((148, 151, 152), (4, 1)),
    149: (2, 1), 150: (2, 1), **dict.fromkeys(range(153, 159), (1, 0)), **dict.fromkeys(range(159, 167), (2, 0)),
    167: (0, 0), 168: (0, 1), 169: (0, 0), 170: (1, 0), 171: (1, 0), 172: (1, 0), 173: (2, 0), 174: (1, 0), 175: (2, 0),
    177: (0, 0), 188: (1, 1), 190: (1, 1), 191: (1, 0), 193: (1, 1), 194: (1, 0), 195: (1, 0), 198: (1, 0), 199: (1, 0),
    200: (0, 0), 201: (0, 1),
}  # fmt: skip
_LENGTHS: Final = {
    **dict.fromkeys((16, 18, 188, *range(21, 26), *range(54, 59), 169), 2),
    **dict.fromkeys((17, 19, 20, 132, *range(153, 169), *range(178, 185), 187, 189, 192, 193, 198, 199), 3),
    197: 4, 185: 5, 186: 5, 200: 5, 201: 5,
}  # fmt: skip
"""Bytes of instructions that have more than one."""
_JUMPS: Final = (*range(153, 169), 198, 199)
_FAR_JUMPS: Final = (200, 201)
_SUBROUTINES: Final = (168, 201)
_PUTS: Final = (179, 181)
_TABLE, _LOOKUP, _WIDE = 170, 171, 196
_LAST: Final = 201


class Interpreter:
    """Follows one method.

    :param limit: how many instructions and values are looked at; ``steps`` counts them.
    :raises FormatError: where its code is not valid.
    """

    def __init__(self, code: ClassCode, method: Method, watcher: Watcher, limit: int = MAX_STEPS) -> None:
        self._class = code
        self._code = method.code
        self._watcher = watcher
        self._stack: list[Value] = []
        self._locals: dict[int, Value] = {}
        self._block = 0
        self._limit = limit
        self.steps = 0
        self._method = method

    def run(self) -> None:
        """Tell the watcher all that the method does, if it does something that the watcher wants or stores a field."""
        starts, targets = self._instructions()
        if not any(map(self._is_wanted, starts)):
            return
        for pc in starts:
            self._count()
            if pc in targets:
                self._forget()
            self._step(pc)

    def _count(self) -> None:
        self.steps += 1
        if self.steps > self._limit:
            raise FormatError("the code is too long to follow")

    def _is_wanted(self, pc: int) -> bool:
        opcode = self._code[pc]
        if not 178 <= opcode <= 185:
            return False
        return opcode in _PUTS or self._watcher.wants(self._class.member(self._u16(pc + 1)))

    # ---- where instructions begin, and where they jump

    def _instructions(self) -> tuple[list[int], set[int]]:
        starts, targets, pc = [], set(self._method.handlers), 0
        while pc < len(self._code):
            starts.append(pc)
            opcode = self._code[pc]
            if opcode in _JUMPS:
                targets.add(pc + self._i16(pc + 1))
            elif opcode in _FAR_JUMPS:
                targets.add(pc + self._i32(pc + 1))
            if opcode in _SUBROUTINES:
                targets.add(pc + self._length(pc))  # a subroutine may have changed what the method holds
            pc += self._switch(pc, targets) if opcode in (_TABLE, _LOOKUP) else self._length(pc)
        if pc != len(self._code):
            raise FormatError("the code of a method ends inside an instruction")
        return starts, targets

    def _length(self, pc: int) -> int:
        opcode = self._code[pc]
        if opcode > _LAST:
            raise FormatError(f"unknown instruction {opcode}")
        if opcode == _WIDE:
            return 6 if self._u8(pc + 1) == 132 else 4
        return _LENGTHS.get(opcode, 1)

    def _switch(self, pc: int, targets: set[int]) -> int:
        at = (pc + 4) & ~3
        targets.add(pc + self._i32(at))
        if self._code[pc] == _TABLE:
            number, offsets, size = self._i32(at + 8) - self._i32(at + 4) + 1, at + 12, 4
        else:
            number, offsets, size = self._i32(at + 4), at + 12, 8
        if not 0 <= number <= len(self._code) // size:
            raise FormatError("a table of jumps is longer than the code")
        targets.update(pc + self._i32(offsets + i * size) for i in range(number))
        return (at + 12 if size == 4 else at + 8) + number * size - pc

    def _u8(self, at: int) -> int:
        if at >= len(self._code):
            raise FormatError("the code of a method ends inside an instruction")
        return self._code[at]

    def _u16(self, at: int) -> int:
        return self._u8(at) << 8 | self._u8(at + 1)

    def _i16(self, at: int) -> int:
        return (self._u16(at) ^ 0x8000) - 0x8000

    def _i32(self, at: int) -> int:
        if at + 4 > len(self._code):
            raise FormatError("the code of a method ends inside an instruction")
        found: int = struct.unpack_from(">i", self._code, at)[0]
        return found

    # ---- values

    def _forget(self) -> None:
        for value in (*self._stack, *self._locals.values()):
            self._escapes(value)
        self._stack.clear()
        self._locals.clear()
        self._block += 1

    def _pop(self) -> Value:
        # Below what was pushed since the last meeting of paths is what nothing is known of.
        return self._stack.pop() if self._stack else None

    def _take(self, number: int) -> list[Value]:
        return [self._pop() for _ in range(number)][::-1]

    def _push(self, value: Value, wide: bool = False) -> None:
        self._stack.append(value)
        if wide:
            self._stack.append(None)

    def _pop_of(self, descriptor: str) -> Value:
        if descriptor in ("J", "D"):
            self._pop()
        return self._pop()

    def _push_of(self, descriptor: str, value: Value) -> None:
        if descriptor != "V":
            self._push(value, descriptor in ("J", "D"))

    # ---- one instruction

    def _step(self, pc: int) -> None:
        opcode = self._code[pc]
        if 2 <= opcode <= 8:
            self._push(Constant(opcode - 3))
        elif opcode in (16, 17):
            self._push(Constant((self._u8(pc + 1) ^ 0x80) - 0x80 if opcode == 16 else self._i16(pc + 1)))
        elif 18 <= opcode <= 20:
            self._constant(self._u8(pc + 1) if opcode == 18 else self._u16(pc + 1), wide=opcode == 20)
        elif 21 <= opcode <= 45:
            slot = self._u8(pc + 1) if opcode <= 25 else _LOADS[opcode]
            self._push(self._locals.get(slot), opcode in _WIDE_LOADS)
        elif 54 <= opcode <= 78:
            self._store(self._u8(pc + 1) if opcode <= 58 else _STORES[opcode], opcode in _WIDE_STORES)
        elif opcode == _WIDE:
            self._wide(pc)
        elif 89 <= opcode <= 95:
            self._rearrange(opcode)
        elif 178 <= opcode <= 186:
            self._member(pc, opcode)
        elif opcode == 83:
            self._store_element()
        elif opcode == 187:
            self._push(New(self._class.class_name(self._u16(pc + 1)), self._block))
        elif opcode == 189:
            size = self._pop()
            known = size.value if isinstance(size, Constant) and isinstance(size.value, int) else -1
            self._push(Array(known))
        elif opcode == 176:
            self._escapes(self._pop())
        elif opcode == 192:
            pass  # a cast changes nothing
        elif opcode == 197:
            self._take(self._u8(pc + 3))
            self._push(None)
        else:
            self._plain(pc, opcode)

    def _plain(self, pc: int, opcode: int) -> None:
        taken, given = _SLOTS[opcode]
        self._take(taken)
        self._stack += [None] * given
        if opcode == 132:
            self._locals.pop(self._u8(pc + 1), None)
        if opcode in _JUMPS or opcode in (*_FAR_JUMPS, 169, _TABLE, _LOOKUP):
            self._block += 1  # what follows is executed on some paths only

    def _constant(self, index: int, wide: bool) -> None:
        value = self._class.value(index)
        self._push(Constant(value) if isinstance(value, str | int) else value, wide)

    def _store(self, slot: int, wide: bool) -> None:
        if wide:
            self._pop()
        self._locals[slot] = self._pop()

    def _wide(self, pc: int) -> None:
        opcode, slot = self._u8(pc + 1), self._u16(pc + 2)
        if 21 <= opcode <= 25:
            self._push(self._locals.get(slot), opcode in _WIDE_LOADS)
        elif 54 <= opcode <= 58:
            self._store(slot, opcode in _WIDE_STORES)
        elif opcode == 132:
            self._locals.pop(slot, None)
        elif opcode != 169:
            raise FormatError(f"unknown instruction {opcode} after wide")

    def _rearrange(self, opcode: int) -> None:
        """``dup`` and ``swap``."""
        if opcode == 95:
            second, first = self._pop(), self._pop()
            self._stack += [second, first]
            return
        number = 1 if opcode <= 91 else 2
        below = opcode - 89 if opcode <= 91 else opcode - 92
        top = self._take(number)
        under = self._take(below)
        self._stack += [*top, *under, *top]

    def _store_element(self) -> None:
        value, index, array = self._pop(), self._pop(), self._pop()
        if isinstance(array, Array) and isinstance(index, Constant) and isinstance(index.value, int):
            array.elements[index.value] = value
        else:
            if isinstance(array, Array):
                array.size = -1  # what is where is not known
            self._escapes(value)

    def _member(self, pc: int, opcode: int) -> None:
        if opcode == 186:
            self._dynamic(self._u16(pc + 1))
            return
        member = self._class.member(self._u16(pc + 1))
        if opcode >= 182:
            self._call(member, static=opcode == 184)
            return
        target = FieldValue(member.owner, member.name)
        if opcode in (178, 180):
            if opcode == 180:
                self._pop()
            self._push_of(member.descriptor, target)
            return
        value = self._pop_of(member.descriptor)
        if opcode == 181:
            self._pop()
        self._escapes(value)
        self._watcher.stored(target, value)

    def _dynamic(self, index: int) -> None:
        made = self._class.dynamic(index)
        descriptor = made.captured if isinstance(made, Lambda) else made
        for type_ in reversed(parameter_types(descriptor)):
            self._escapes(self._pop_of(type_))
        self._push_of(descriptor.rpartition(")")[2], made if isinstance(made, Lambda) else None)

    def _call(self, member: Member, static: bool) -> None:
        arguments = [self._pop_of(type_) for type_ in reversed(parameter_types(member.descriptor))][::-1]
        if not static:
            arguments.insert(0, self._pop())
        if member.name == "<init>":
            made = arguments[0]
            if isinstance(made, New) and made.constructor is None:
                made.constructor, made.arguments = member, tuple(arguments[1:])
        if not self._watcher.called(member, arguments, self._block):
            for argument in arguments:
                self._escapes(argument)
        depth = 1 + max((argument.depth for argument in arguments if isinstance(argument, Call)), default=0)
        returned = Call(member, tuple(arguments), depth) if depth <= _MAX_DEPTH else None
        self._push_of(member.descriptor.rpartition(")")[2], returned)

    def _escapes(self, value: Value) -> None:
        """Note that other code can have a value, and what is in it."""
        ahead, seen = [value], set[int]()
        while ahead:
            found = ahead.pop()
            if found is None or id(found) in seen:
                continue
            seen.add(id(found))
            self._count()
            if isinstance(found, New):
                found.escaped = True
                ahead += found.arguments
            elif isinstance(found, Array):
                ahead += found.elements.values()
            elif isinstance(found, Call):
                ahead += found.arguments
