"""One object of a Java serialization stream, read as plain data.

Reads ``AC ED 00 05`` and exactly one content after it, and leaves the reader after its last byte. Returned are the
small classes below, strings and numbers: nothing is imported, constructed or called, whatever class names the stream
holds. A reader of one kind of object (checkpoint properties, SQL's logical types) picks fields out of the result.

Source of the format: the Java Object Serialization Specification, chapter 6 ("Object Serialization Stream
Protocol"), and ``java.io.ObjectInputStream``. Handles are numbered from ``0x7E0000`` in the order of appearance: of an
object after its class descriptor and before its data, of a class descriptor after its serialVersionUID.

Objects may refer to each other in circles, so the caller that walks a result keeps a bound of its own. May import: the
cursor and the errors. Knows no Flink class.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from stateextract.errors import FormatError, UnsupportedError
from stateextract.files.reader import Reader, decode_modified_utf8

MAGIC = b"\xac\xed\x00\x05"
_FIRST_HANDLE = 0x7E0000

_NULL, _REFERENCE, _CLASSDESC, _OBJECT, _STRING, _ARRAY, _CLASS, _BLOCK, _END, _RESET, _LONGBLOCK = range(0x70, 0x7B)
_EXCEPTION, _LONGSTRING, _PROXYCLASSDESC, _ENUM = range(0x7B, 0x7F)

_WRITE_METHOD, _SERIALIZABLE, _EXTERNALIZABLE, _BLOCK_MODE, _IS_ENUM = 1, 2, 4, 8, 16


@dataclass(frozen=True)
class JavaLimits:
    """Bounds for hostile streams: nesting of values, and how many values there are in all."""

    depth: int = 100
    values: int = 1_000_000


@dataclass(eq=False)
class JavaClassDescriptor:
    """``java.io.ObjectStreamClass``; a proxy class has its interfaces' names and an empty ``name``."""

    name: str
    uid: int = 0
    flags: int = 0
    fields: tuple[tuple[str, str], ...] = ()
    """Type (``I``, ``Z``, ``Ljava/lang/String;``, ...) and name of each field, in the order of the stream."""
    interfaces: tuple[str, ...] = ()
    parent: JavaClassDescriptor | None = None
    complete: bool = False

    def lineage(self) -> list[JavaClassDescriptor]:
        """This class and its superclasses, topmost first: the order in which their data is in the stream."""
        chain: list[JavaClassDescriptor] = []
        step: JavaClassDescriptor | None = self
        while step is not None:
            chain.append(step)
            step = step.parent
        return chain[::-1]


@dataclass(eq=False)
class JavaObject:
    """An object: what each class of its hierarchy wrote, topmost superclass first."""

    class_name: str
    fields: dict[str, dict[str, JavaValue]] = field(default_factory=dict)
    """Class name to its fields; a class without fields has an empty entry."""
    annotations: dict[str, list[JavaValue | bytes]] = field(default_factory=dict)
    """Class name to what its own ``writeObject`` added; raw block data comes as ``bytes``."""

    def get(self, name: str) -> JavaValue:
        """The field ``name``, that of the most derived class first; ``None``: it is not there."""
        for values in reversed(self.fields.values()):
            if name in values:
                return values[name]
        return None

    def __repr__(self) -> str:
        # The generated one would not end for objects that refer to each other.
        return f"JavaObject({self.class_name!r})"


@dataclass(eq=False)
class JavaArray:
    """An array; ``elements`` is ``bytes`` for ``byte[]`` and a list otherwise."""

    class_name: str
    elements: list[JavaValue] | bytes

    def __repr__(self) -> str:
        return f"JavaArray({self.class_name!r}, {len(self.elements)} elements)"


@dataclass(frozen=True)
class JavaEnum:
    """An enum constant, by name."""

    class_name: str
    name: str


@dataclass(frozen=True)
class JavaClass:
    """A ``java.lang.Class`` object."""

    name: str


JavaValue: TypeAlias = (
    bool | int | float | str | JavaObject | JavaArray | JavaEnum | JavaClass | JavaClassDescriptor | None
)


def parse_java_stream(
    reader: Reader, limits: JavaLimits | None = None, without_fields: Collection[str] = ()
) -> JavaValue:  # fmt: skip
    """Read one object; afterwards, ``reader`` is after it.

    :param without_fields: classes whose ``writeObject`` writes no fields, only what it adds. No stream records this.
    :raises FormatError: where the bytes are not such a stream, with the position.
    :raises UnsupportedError: for objects without a readable end (``Externalizable`` of protocol version 1).
    """
    start = reader.offset
    if bytes(reader.bytes(4, "the header of a Java object stream")) != MAGIC:
        raise FormatError("not a Java object stream", expected="AC ED 00 05", offset=start)
    return _JavaStream(reader, limits or JavaLimits(), without_fields).top()


_FORMATS = {"B": "b", "C": "H", "D": "d", "F": "f", "I": "i", "J": "q", "S": "h", "Z": "?"}
_PRIMITIVES = {kind: struct.Struct(">" + code) for kind, code in _FORMATS.items()}


class _JavaStream:
    """The state of one stream: its cursor, its handle table and what is left of the limits."""

    def __init__(self, reader: Reader, limits: JavaLimits, without_fields: Collection[str]) -> None:
        self.reader = reader
        self.limits = limits
        self.without_fields = without_fields
        self.handles: list[JavaValue] = []
        self.depth = 0
        self.values = 0

    # -- contents

    def top(self) -> JavaValue:
        tag = self.peek()
        while tag == _RESET:
            # Only here: java.io.ObjectInputStream refuses a reset inside of an object too.
            self.reader.u8()
            self.handles.clear()
            tag = self.peek()
        return self.content()

    def peek(self) -> int:
        position = self.reader.pos
        tag = self.reader.u8("a Java object")
        self.reader.pos = position
        return tag

    def content(self) -> JavaValue:
        start = self.reader.offset
        tag = self.reader.u8("a Java object")
        read = _CONTENTS.get(tag)
        if read is None:
            raise FormatError(f"unexpected tag 0x{tag:02x} in a Java object stream", expected="an object", offset=start)
        self.values += 1
        self.depth += 1
        if self.values > self.limits.values:
            raise FormatError(f"more than {self.limits.values} values in a Java object stream", offset=start)
        if self.depth > self.limits.depth:
            raise FormatError(f"Java objects nested deeper than {self.limits.depth}", offset=start)
        value = read(self)
        self.depth -= 1
        return value

    def null(self) -> JavaValue:
        return None

    def reference(self) -> JavaValue:
        start = self.reader.offset
        index = self.reader.i32("a handle") - _FIRST_HANDLE
        if not 0 <= index < len(self.handles):
            raise FormatError(f"reference to handle {index} of {len(self.handles)}", offset=start)
        return self.handles[index]

    def string(self) -> str:
        value = self.reader.utf("a Java string")
        self.handles.append(value)
        return value

    def long_string(self) -> str:
        start = self.reader.offset
        raw = bytes(self.reader.bytes(self.reader.i64("the length of a string"), "a Java string"))
        try:
            value = decode_modified_utf8(raw)
        except UnicodeDecodeError:
            raise FormatError("a Java string is not modified UTF-8", offset=start) from None
        self.handles.append(value)
        return value

    def text(self, what: str) -> str:
        """A content that has to be a string."""
        start = self.reader.offset
        value = self.content()
        if not isinstance(value, str):
            raise FormatError(f"{what} is not a string", offset=start)
        return value

    def array(self) -> JavaArray:
        start = self.reader.offset
        name = self.class_of("an array").name
        kind = name[1:2]
        if name[:1] != "[" or kind not in {*_PRIMITIVES, "L", "["}:
            raise FormatError(f"{name!r} is not the class of an array", offset=start)
        elements: list[JavaValue] = []
        result = JavaArray(name, elements)
        self.handles.append(result)
        primitive = _PRIMITIVES.get(kind)
        if primitive is None:
            for _ in range(self.reader.count("array elements")):
                elements.append(self.content())
            return result
        n = self.reader.count("array elements", primitive.size)
        if kind == "B":
            result.elements = bytes(self.reader.bytes(n, "array elements"))
            return result
        self.values += n
        if self.values > self.limits.values:
            raise FormatError(f"more than {self.limits.values} values in a Java object stream", offset=start)
        values = struct.unpack(f">{n}{_FORMATS[kind]}", self.reader.bytes(n * primitive.size, "array elements"))
        elements.extend(map(chr, values) if kind == "C" else values)
        return result

    def class_object(self) -> JavaClass:
        described = self.class_of("a class")
        value = JavaClass(described.name or ", ".join(described.interfaces))
        self.handles.append(value)
        return value

    def enum(self) -> JavaEnum:
        start = self.reader.offset
        described = self.class_of("an enum constant")
        if not described.flags & _IS_ENUM:
            raise FormatError(f"{described.name!r} is not an enum", offset=start)
        slot = len(self.handles)
        self.handles.append(None)
        value = JavaEnum(described.name, self.text("the name of an enum constant"))
        self.handles[slot] = value
        return value

    def object(self) -> JavaObject:
        start = self.reader.offset
        described = self.class_of("an object")
        if described.flags & _IS_ENUM or described.name[:1] == "[":
            raise FormatError(f"{described.name!r} is not the class of a plain object", offset=start)
        result = JavaObject(described.name)
        self.handles.append(result)
        for step in described.lineage():
            if step.name in result.fields:
                raise FormatError(f"class {step.name!r} is its own superclass", offset=start)
            values: dict[str, JavaValue] = {}
            result.fields[step.name] = values
            if step.flags & _SERIALIZABLE:
                for kind, name in step.fields if step.name not in self.without_fields else ():
                    values[name] = self.field(kind)
                if step.flags & _WRITE_METHOD:
                    result.annotations[step.name] = self.annotation()
            elif step.flags & _EXTERNALIZABLE:
                if not step.flags & _BLOCK_MODE:
                    raise UnsupportedError(
                        f"a Java object of {step.name!r} was written without its length", offset=self.reader.offset
                    )
                result.annotations[step.name] = self.annotation()
        return result

    def field(self, kind: str) -> JavaValue:
        primitive = _PRIMITIVES.get(kind)
        if primitive is None:
            return self.content()
        raw = self.reader.bytes(primitive.size, "a field of a Java object")
        if kind == "Z":
            return raw[0] != 0
        value: int | float = primitive.unpack(raw)[0]
        return chr(int(value)) if kind == "C" else value

    def annotation(self) -> list[JavaValue | bytes]:
        contents: list[JavaValue | bytes] = []
        while True:
            tag = self.peek()
            if tag not in (_END, _BLOCK, _LONGBLOCK):
                contents.append(self.content())
                continue
            self.reader.u8()
            if tag == _END:
                return contents
            n = self.reader.u8("a block length") if tag == _BLOCK else self.reader.i32("a block length")
            contents.append(bytes(self.reader.bytes(n, "block data")))

    # -- class descriptors

    def class_of(self, what: str) -> JavaClassDescriptor:
        """The descriptor of something that cannot be without one."""
        start = self.reader.offset
        described = self.descriptor_or_null()
        if described is None:
            raise FormatError(f"{what} without a class", offset=start)
        return described

    def descriptor_or_null(self) -> JavaClassDescriptor | None:
        start = self.reader.offset
        if self.peek() not in (_NULL, _REFERENCE, _CLASSDESC, _PROXYCLASSDESC):
            raise FormatError(f"unexpected tag 0x{self.peek():02x}", expected="a class descriptor", offset=start)
        described = self.content()
        if described is None:
            return None
        if not isinstance(described, JavaClassDescriptor) or not described.complete:
            # An unfinished one would make a class its own superclass.
            raise FormatError("reference to something that is not a class descriptor", offset=start)
        return described

    def descriptor(self) -> JavaClassDescriptor:
        start = self.reader.offset
        name = self.reader.utf("a class name")
        uid = self.reader.i64("a serialVersionUID")
        result = JavaClassDescriptor(name, uid)
        self.handles.append(result)
        result.flags = self.reader.u8("class flags")
        if result.flags & _SERIALIZABLE and result.flags & _EXTERNALIZABLE:
            raise FormatError(f"contradicting flags of class {name!r}", offset=start)
        result.fields = self.field_list()
        return self.finish(result)

    def field_list(self) -> tuple[tuple[str, str], ...]:
        found: dict[str, str] = {}
        for _ in range(self.reader.u16("a number of fields")):
            start = self.reader.offset
            kind = chr(self.reader.u8("a field type"))
            name = self.reader.utf("a field name")
            if kind in "L[":
                signature = self.text("a field's type")
                if signature[:1] != kind:
                    raise FormatError(f"type {signature!r} of field {name!r}", expected=f"{kind}...", offset=start)
                kind = signature
            elif kind not in _PRIMITIVES:
                raise FormatError(f"unknown type {kind!r} of field {name!r}", offset=start)
            if name in found:
                raise FormatError(f"field {name!r} twice in one class", offset=start)
            found[name] = kind
        return tuple((kind, name) for name, kind in found.items())

    def proxy_descriptor(self) -> JavaClassDescriptor:
        result = JavaClassDescriptor("", flags=_SERIALIZABLE)
        self.handles.append(result)
        n = self.reader.count("interfaces", 2)
        result.interfaces = tuple(self.reader.utf("an interface name") for _ in range(n))
        return self.finish(result)

    def finish(self, result: JavaClassDescriptor) -> JavaClassDescriptor:
        self.annotation()
        result.parent = self.descriptor_or_null()
        result.complete = True
        return result

    def exception(self) -> JavaValue:
        raise FormatError("the writer of a Java object stream broke off with an exception", offset=self.reader.offset)


_CONTENTS: dict[int, Callable[[_JavaStream], JavaValue]] = {
    _NULL: _JavaStream.null,
    _REFERENCE: _JavaStream.reference,
    _CLASSDESC: _JavaStream.descriptor,
    _PROXYCLASSDESC: _JavaStream.proxy_descriptor,
    _OBJECT: _JavaStream.object,
    _STRING: _JavaStream.string,
    _LONGSTRING: _JavaStream.long_string,
    _ARRAY: _JavaStream.array,
    _CLASS: _JavaStream.class_object,
    _ENUM: _JavaStream.enum,
    _EXCEPTION: _JavaStream.exception,
}


# -- the JDK's own collections: where their elements are

_WRAPPERS = {  # class to the field with the wrapped collection
    "java.util.Collections$UnmodifiableList": "list",
    "java.util.Collections$UnmodifiableCollection": "c",
    "java.util.Collections$UnmodifiableSet": "c",
    "java.util.Collections$UnmodifiableMap": "m",
    "java.util.Arrays$ArrayList": "a",
}
_EMPTY = {f"java.util.Collections$Empty{kind}": kind.lower() for kind in ("List", "Set", "Map")}
_WRITERS = {  # classes that write block data with their size, then the elements
    **{f"java.util.{name}": "list" for name in ("ArrayList", "LinkedList", "ArrayDeque")},
    **{f"java.util.{name}": "set" for name in ("HashSet", "TreeSet")},
    **{f"java.util.{name}": "map" for name in ("HashMap", "TreeMap", "Hashtable")},
    "java.util.concurrent.CopyOnWriteArrayList": "list",
}
_TAGS = {1: "list", 2: "set", 3: "map", 4: "list"}  # of java.util.CollSer, which represents List.of and its like


def java_container(value: JavaValue) -> tuple[str, list[JavaValue]] | None:
    """A Java list, set, map or array of objects.

    :returns: ``list``, ``set`` or ``map``, and the elements, of a map its keys and values in turn; ``None`` where ``value`` is
        no such thing. Wrappers are looked through.
    """
    for step in _unwrapped(value):
        if isinstance(step, JavaArray):
            return "list", list(step.elements)
        if not isinstance(step, JavaObject):
            return None
        if step.class_name in _EMPTY:
            return _EMPTY[step.class_name], []
        if step.class_name == "java.util.Collections$SingletonList":
            return "list", [step.get("element")]
        if step.class_name == "java.util.CollSer":
            tag = step.get("tag")
            kind = _TAGS.get(tag & 0xFF) if isinstance(tag, int) else None
            writer: str | None = step.class_name
        else:
            writer = next((name for name in step.annotations if name in _WRITERS), None)
            kind = None if writer is None else _WRITERS[writer]
        if writer is not None and kind is not None:
            contents = step.annotations.get(writer, [])
            if writer == "java.util.TreeSet":
                contents = contents[1:]  # the comparator
            return kind, [item for item in contents if not isinstance(item, bytes)]
    return None


def java_elements(value: JavaValue) -> list[JavaValue] | None:
    """The elements of a Java list, set or array of objects; of a map its keys and values in turn: :func:`java_container`."""
    found = java_container(value)
    return None if found is None else found[1]


def _unwrapped(value: JavaValue) -> Iterator[JavaValue]:
    # A hostile wrapper may hold itself; real ones are two or three deep.
    for _ in range(8):
        wrapped = _WRAPPERS.get(value.class_name) if isinstance(value, JavaObject) else None
        if wrapped is None or not isinstance(value, JavaObject):
            yield value
            return
        value = value.get(wrapped)
