"""The code of a class file: its methods' bytes, and what their instructions refer to.

Reads one class file and executes nothing. Bounded as :mod:`serializers.classfile` is: every length is checked against the
file. What an instruction means is not known here.

Format: The Java Virtual Machine Specification, 4.4, 4.7.3 and 4.7.23.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final

from serializers.classfile import MAX_BYTES, ClassFile, binary_name
from stateextract.errors import FormatError
from stateextract.files.reader import Reader

_PRIVATE, _FINAL = 0x2, 0x10
_INTEGER, _LONG, _CLASS, _STRING, _NAME_AND_TYPE, _METHOD_TYPE, _DYNAMIC = 3, 5, 7, 8, 12, 16, 18
_MEMBERS: Final = (9, 10, 11)
_MAX_PARAMETERS: Final = 255
"""A limit of Java's."""
_LAMBDA_TYPES: Final = 3
"""Arguments of ``LambdaMetafactory``: the interface's method, the body, and the method's type in this place."""


@dataclass(frozen=True)
class Member:
    """A field or method that an instruction refers to.

    :param owner: the class it is looked up in; :param descriptor: its type.
    """

    owner: str
    name: str
    descriptor: str


@dataclass(frozen=True)
class ClassLiteral:
    """``X.class``, by what ``Class.getName()`` says."""

    name: str


@dataclass(frozen=True)
class Lambda:
    """A lambda or method reference.

    :param interface: what it implements; :param descriptor: the method's type in this place.
    :param captured: the descriptor of what makes it: the values that it keeps.
    """

    interface: str
    descriptor: str
    captured: str


@dataclass(frozen=True)
class Method:
    """A method with code.

    :param code: its instructions; :param handlers: where its exception handlers begin.
    """

    name: str
    descriptor: str
    code: bytes
    handlers: tuple[int, ...]


class ClassCode(ClassFile):
    """The methods of a class file, and its constants.

    :raises FormatError: where the bytes are not a class file.
    """

    def __init__(self, data: bytes | memoryview) -> None:
        if len(data) > MAX_BYTES:
            raise FormatError(f"a class file of {len(data)} bytes", expected=f"at most {MAX_BYTES}")
        super().__init__(Reader(data))
        self.methods: list[Method] = []
        self.closed_fields: set[str] = set()  # that no class but this one, and those nested with it, can set
        self._bootstraps: list[tuple[int, ...]] = []
        self._members: dict[int, Member] = {}
        self._read()

    def _read(self) -> None:
        r = self.reader
        self.start()
        r.u16("access flags")
        self.name = self.class_name(r.u16("this class"))
        r.u16("the superclass")
        r.bytes(2 * r.u16("the number of interfaces"), "the interfaces")
        for _ in range(r.u16("the number of fields")):
            access, field = r.u16("access flags"), r.u16("a field's name")
            r.bytes(2, "a field's type")
            self.attributes()
            if access & (_PRIVATE | _FINAL):
                self.closed_fields.add(self.utf8(field))
        for _ in range(r.u16("the number of methods")):
            r.u16("access flags")
            name, descriptor = r.u16("a method's name"), r.u16("a method's type")
            code = self.attributes().get("Code")
            if code is not None:
                self.methods.append(self._method(self.utf8(name), self.utf8(descriptor), code))
        bootstraps = self.attributes().get("BootstrapMethods")
        if bootstraps is not None:
            b = Reader(bootstraps)
            for _ in range(b.u16("the number of bootstrap methods")):
                b.u16("a bootstrap method")
                self._bootstraps.append(tuple(b.u16("an argument") for _ in range(b.u16("the number of arguments"))))

    def _method(self, name: str, descriptor: str, attribute: memoryview) -> Method:
        r = Reader(attribute)
        r.bytes(4, "the size of a frame")
        code = bytes(r.bytes(r.i32("the length of code"), "code"))
        handlers = []
        for _ in range(r.u16("the number of handlers")):
            r.bytes(4, "the range of a handler")
            handlers.append(r.u16("a handler"))
            r.u16("the class of an exception")
        return Method(name, descriptor, code, tuple(handlers))

    def value(self, index: int) -> str | int | ClassLiteral | None:
        """A constant that is loaded: a text, an ``int`` or ``long``, a class; ``None`` for others."""
        tag = self.tag(index)
        if tag == _STRING:
            return self.utf8(self.constant(index, _STRING).u16("a text"))
        if tag == _CLASS:
            return ClassLiteral(self.class_name(index))
        if tag == _INTEGER:
            return self.constant(index, _INTEGER).i32("a number")
        if tag == _LONG:
            number: int = struct.unpack(">q", self.constant(index, _LONG).bytes(8, "a number"))[0]
            return number
        return None

    def member(self, index: int) -> Member:
        """The field or method of a reference."""
        found = self._members.get(index)
        if found is None:
            tag = self.tag(index)
            if tag not in _MEMBERS:
                raise FormatError(f"constant {index} is not a field or a method", offset=self.reader.offset)
            r = self.constant(index, tag)
            owner = self.class_name(r.u16("the owner"))
            found = self._members[index] = Member(owner, *self._name_and_type(r.u16("a name and a type")))
        return found

    def dynamic(self, index: int) -> Lambda | str:
        """The lambda that ``invokedynamic`` makes; of another call the descriptor."""
        r = self.constant(index, _DYNAMIC)
        bootstrap, (_, descriptor) = (
            r.u16("a bootstrap method"),
            self._name_and_type(r.u16("a name and a type")),
        )
        arguments = self._bootstraps[bootstrap] if bootstrap < len(self._bootstraps) else ()
        returned = descriptor.rpartition(")")[2]
        if len(arguments) < _LAMBDA_TYPES or self.tag(arguments[2]) != _METHOD_TYPE or returned[:1] != "L":
            return descriptor
        method = self.utf8(self.constant(arguments[2], _METHOD_TYPE).u16("a method's type"))
        return Lambda(binary_name(returned[1:-1]), method, descriptor)

    def _name_and_type(self, index: int) -> tuple[str, str]:
        r = self.constant(index, _NAME_AND_TYPE)
        return self.utf8(r.u16("a name")), self.utf8(r.u16("a type"))


def parameter_types(descriptor: str) -> list[str]:
    """The types of a method's parameters, each a descriptor.

    :raises FormatError: if it is not a method's descriptor.
    """
    found: list[str] = []
    at = 1
    while at < len(descriptor) and descriptor[at] != ")":
        start = at
        while descriptor[at : at + 1] == "[":
            at += 1
        at = descriptor.find(";", at) + 1 if descriptor[at : at + 1] == "L" else at + 1
        if at == 0:
            break
        found.append(descriptor[start:at])
        if len(found) > _MAX_PARAMETERS:
            raise FormatError(f"a method of more than {_MAX_PARAMETERS} parameters")
    if descriptor[:1] != "(" or descriptor[at : at + 1] != ")":
        raise FormatError(f"{descriptor[:200]!r} is not the type of a method")
    return found
