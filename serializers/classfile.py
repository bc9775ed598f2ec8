"""Class models out of Java class files: fields, types, generics, finality, superclass, enum constants.

Reads one class file and returns its :class:`ClassModel`, or its :class:`ClassShape` with what decides whether Flink takes
it for a POJO; nothing is executed, and code is skipped. Bounded: every length is checked against the file, which is at
most :data:`MAX_BYTES` long.

Format: The Java Virtual Machine Specification, chapter 4. Must not know of archives, Kryo or layouts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from serializers.classes import ClassKind, ClassModel, FieldModel
from serializers.javatypes import PRIMITIVES
from stateextract.errors import FormatError, StateExtractError
from stateextract.files.reader import Reader, decode_modified_utf8

MAX_BYTES: Final = 1 << 24
MAGIC: Final = 0xCAFEBABE

_PUBLIC, _ABSTRACT = 0x1, 0x400
_STATIC, _FINAL, _TRANSIENT, _INTERFACE, _SYNTHETIC, _ENUM, _MODULE = 0x8, 0x10, 0x80, 0x200, 0x1000, 0x4000, 0x8000
_MAX_DEPTH: Final = 32

# Bytes of a constant by its tag, after the tag; UTF-8 has a length of its own.
_CONSTANT_SIZES: Final = {
    3: 4, 4: 4, 5: 8, 6: 8, 7: 2, 8: 2, 9: 4, 10: 4, 11: 4, 12: 4, 15: 3, 16: 2, 17: 4, 18: 4, 19: 2, 20: 2,
}  # fmt: skip
_UTF8, _CLASS, _STRING, _TWO_SLOTS = 1, 7, 8, (5, 6)
_TYPE_INFO: Final = b"Lorg/apache/flink/api/common/typeinfo/TypeInfo;"
_NAME: Final = re.compile(r"[^.;\[/<>:]+")


@dataclass(frozen=True)
class ClassShape:
    """A class model, and what else Flink's ``TypeExtractor`` looks at.

    :param public: the class is public; :param abstract: it cannot be instantiated.
    :param public_fields: names of its own public fields.
    :param methods: its own methods that are not static: name, descriptor, and whether it is public.
    :param texts: the string constants of its code.
    :param annotated: it has the annotation ``@TypeInfo``, or one of its fields has: its type information is the job's own.
    """

    model: ClassModel
    public: bool
    abstract: bool
    public_fields: frozenset[str]
    methods: tuple[tuple[str, str, bool], ...]
    texts: tuple[str, ...]
    annotated: bool = False


def read_class(data: bytes | memoryview) -> ClassModel | None:
    """The model of a class file; ``None`` for what is none that objects are named after: ``module-info``, and the
    classes of enum constants with bodies.

    :raises FormatError: where the bytes are not a class file.
    """
    shape = _shape(data, with_texts=False)
    return None if shape is None else shape.model


def read_shape(data: bytes | memoryview) -> ClassShape | None:
    """The shape of a class file; ``None`` where :func:`read_class` gives ``None``.

    :raises FormatError: where the bytes are not a class file.
    """
    return _shape(data, with_texts=True)


def _shape(data: bytes | memoryview, with_texts: bool) -> ClassShape | None:
    if len(data) > MAX_BYTES:
        raise FormatError(f"a class file of {len(data)} bytes", expected=f"at most {MAX_BYTES}")
    return _ShapeOf(Reader(data), with_texts).read()


class ClassFile:
    """The constants and attributes of a class file."""

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self.constants: list[tuple[int, int]] = []  # tag, position after it
        self._texts: dict[int, str] = {}

    def start(self) -> None:
        """Read what is before the access flags."""
        r = self.reader
        if r.i32("a class file's first number") & 0xFFFF_FFFF != MAGIC:
            raise FormatError("not a Java class file", expected="CAFEBABE", offset=0)
        r.bytes(4, "a class file's version")
        self.constant_pool()

    def constant_pool(self) -> None:
        r = self.reader
        n = r.u16("the number of constants")
        self.constants.append((0, 0))
        while len(self.constants) < n:
            tag = r.u8("a constant's tag")
            self.constants.append((tag, r.pos))
            if tag == _UTF8:
                r.bytes(r.u16("the length of a constant"), "a constant")
            elif tag in _CONSTANT_SIZES:
                r.bytes(_CONSTANT_SIZES[tag], "a constant")
            else:
                raise FormatError(f"unknown kind {tag} of a constant", offset=r.offset - 1)
            if tag in _TWO_SLOTS:
                self.constants.append((0, 0))

    def tag(self, index: int) -> int:
        """What kind of constant it is; 0: there is none."""
        return self.constants[index][0] if 0 < index < len(self.constants) else 0

    def constant(self, index: int, tag: int) -> Reader:
        if self.tag(index) != tag:
            raise FormatError(f"constant {index} is not what is needed", offset=self.reader.offset)
        return Reader(self.reader.data, self.constants[index][1], self.reader.end)

    def utf8(self, index: int) -> str:
        text = self._texts.get(index)
        if text is None:
            found = self.constant(index, _UTF8)
            raw = bytes(found.bytes(found.u16("the length of a constant"), "a constant"))
            try:
                # Kept, because millions of attributes can have one long name.
                text = self._texts[index] = decode_modified_utf8(raw)
            except UnicodeDecodeError:
                raise FormatError("a constant is not modified UTF-8", offset=found.offset) from None
        return text

    def utf8_at(self, attribute: memoryview) -> str:
        return self.utf8(Reader(attribute).u16("a signature"))

    def class_name(self, index: int) -> str:
        return binary_name(self.utf8(self.constant(index, _CLASS).u16("a class' name")))

    def attributes(self) -> dict[str, memoryview]:
        """Attributes by name; the bytes of code are skipped."""
        r = self.reader
        found: dict[str, memoryview] = {}
        for _ in range(r.u16("the number of attributes")):
            name = self.utf8(r.u16("an attribute's name"))
            found[name] = r.bytes(r.i32("an attribute's length"), "an attribute")
        return found


class _ShapeOf(ClassFile):
    def __init__(self, reader: Reader, with_texts: bool) -> None:
        super().__init__(reader)
        self.with_texts = with_texts
        self.is_object = False  # has the field of Scala's objects
        self.public_fields: set[str] = set()

    def read(self) -> ClassShape | None:
        r = self.reader
        self.start()
        access = r.u16("access flags")
        this, index = r.u16("this class"), r.u16("the superclass")
        if access & _MODULE:
            return None
        name = self.class_name(this)
        superclass = self.class_name(index) if index else None
        if access & _ENUM and superclass != "java.lang.Enum":
            # The class of an enum's constant with a body: no source file contains its name.
            return None
        interfaces = [self.class_name(r.u16("an interface")) for _ in range(r.u16("the number of interfaces"))]
        fields, constants = self.fields(name)
        methods = []
        for _ in range(r.u16("the number of methods")):
            method, code, descriptor = r.u16("access flags"), r.u16("a method's name"), r.u16("a method's type")
            if not method & (_STATIC | _SYNTHETIC):
                methods.append((self.utf8(code), self.utf8(descriptor), bool(method & _PUBLIC)))
            self.attributes()
        attributes = self.attributes()
        parameters: tuple[str, ...] = ()
        signature = attributes.get("Signature")
        if signature is not None:
            parameters, types = _class_signature(self.utf8_at(signature))
            if types:
                superclass, interfaces = types[0], types[1:]
        kind: ClassKind = "class"
        if access & _INTERFACE:
            kind = "interface"
        elif access & _ENUM:
            kind = "enum"
        elif superclass == "java.lang.Record":
            kind = "record"
        elif self.is_object and name.endswith("$"):
            kind = "object"
        model = ClassModel(
            name, kind, superclass, tuple(interfaces), parameters, tuple(fields),
            tuple(constants) if kind == "enum" else (), bool(access & _FINAL),
        )  # fmt: skip
        texts = tuple(self.texts()) if self.with_texts else ()
        return ClassShape(
            model,
            bool(access & _PUBLIC),
            bool(access & _ABSTRACT),
            frozenset(self.public_fields),
            tuple(methods),
            texts,
            _TYPE_INFO in bytes(r.data),
        )

    def texts(self) -> Iterator[str]:
        """The string constants."""
        for tag, pos in self.constants:
            if tag == _STRING:
                yield self.utf8(Reader(self.reader.data, pos, self.reader.end).u16("a text"))

    def fields(self, owner: str) -> tuple[list[FieldModel], list[str]]:
        r = self.reader
        fields, constants = [], []
        for _ in range(r.u16("the number of fields")):
            access = r.u16("a field's access flags")
            name, descriptor = self.utf8(r.u16("a field's name")), self.utf8(r.u16("a field's type"))
            signature = self.attributes().get("Signature")
            if access & _STATIC:
                if access & _ENUM:
                    constants.append(name)
                self.is_object |= name == "MODULE$"
            elif not access & _TRANSIENT:
                text = descriptor if signature is None else self.utf8_at(signature)
                if access & _PUBLIC:
                    self.public_fields.add(name)
                fields.append(FieldModel(name, _field_type(text), bool(access & _SYNTHETIC)))
        return fields, constants


def binary_name(internal: str) -> str:
    """A name as ``Class.getName()`` has it."""
    return internal.replace("/", ".")


# ---- signatures and descriptors (JVM specification, 4.7.9.1)


def _field_type(text: str) -> str:
    parser = _Signature(text)
    found = parser.type(0)
    parser.end()
    return found


def _class_signature(text: str) -> tuple[tuple[str, ...], list[str]]:
    """Names of the type parameters, then the superclass and the interfaces."""
    parser = _Signature(text)
    parameters = parser.parameters()
    types = []
    while parser.more():
        types.append(parser.type(0))
    return parameters, types


class _Signature:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def more(self) -> bool:
        return self.at < len(self.text)

    def end(self) -> None:
        if self.more():
            raise self.wrong()

    def wrong(self) -> StateExtractError:
        return FormatError(f"{self.text[:200]!r} is not the type of a field or class")

    def next(self) -> str:
        if not self.more():
            raise self.wrong()
        self.at += 1
        return self.text[self.at - 1]

    def peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def name(self) -> str:
        match = _NAME.match(self.text, self.at)
        if match is None:
            raise self.wrong()
        self.at = match.end()
        return match[0]

    def parameters(self) -> tuple[str, ...]:
        if self.peek() != "<":
            return ()
        self.next()
        found = []
        while self.peek() != ">":
            found.append(self.name())
            while self.peek() == ":":
                self.next()
                if self.peek() not in (":", ">") and self.more():
                    self.type(0)
        self.next()
        return tuple(found)

    def type(self, depth: int) -> str:
        if depth > _MAX_DEPTH:
            raise self.wrong()
        code = self.next()
        if code == "[":
            return self.type(depth + 1) + "[]"
        if code == "L":
            return self.class_type(depth)
        if code == "T":
            name = self.name()
            if self.next() != ";":
                raise self.wrong()
            return name
        for primitive, letter in PRIMITIVES.items():
            if letter == code:
                return primitive
        raise self.wrong()

    def class_type(self, depth: int) -> str:
        parts = [self.name()]
        while self.peek() == "/":
            self.next()
            parts.append(self.name())
        name, arguments = ".".join(parts), ""
        while True:
            code = self.next()
            if code == "<":
                arguments = self.arguments(depth)
            elif code == ".":
                # The arguments of an outer class mean nothing to the fields of an inner one's object.
                name, arguments = f"{name}${self.name()}", ""
            elif code == ";":
                return name + arguments
            else:
                raise self.wrong()

    def arguments(self, depth: int) -> str:
        found = []
        while self.peek() != ">":
            code = self.peek()
            if code == "*":
                self.next()
                found.append("?")
            elif code in ("+", "-"):
                self.next()
                found.append(f"? {'extends' if code == '+' else 'super'} {self.type(depth + 1)}")
            else:
                found.append(self.type(depth + 1))
        self.next()
        return f"<{', '.join(found)}>" if found else ""
