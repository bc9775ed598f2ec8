"""Which serializer the types have that a job's code gives to its states and keys.

Takes the values that :mod:`stateextract.restore.bytecode` followed, and makes the serializer snapshot that the job would
write. What is not one of the usual ways to name a type gives ``None``.

Flink's classes: ``Types``, ``TypeInformation``, ``BasicTypeInfo`` and others of ``org.apache.flink.api.common.typeinfo``,
``…api.java.typeutils.{List,Map,Tuple,Row,Generic,Enum,Avro}TypeInfo``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from serializers.classcode import ClassLiteral, Lambda
from serializers.containers import LIST_SNAPSHOT, MAP_SNAPSHOT, SET_SNAPSHOT
from serializers.javatypes import JavaType, of_class_name, parse_type
from serializers.pojo import POJO_SNAPSHOT
from serializers.registry import SerializerSnapshot
from serializers.scalars import BASE
from serializers.tuples import ENUM_SNAPSHOT, ROW_SNAPSHOT
from stateextract.restore.bytecode import Array, Call, FieldValue, New, Value
from stateextract.restore.type_extractor import (
    COLLECTIONS,
    STRING_ARRAY,
    TUPLE_SNAPSHOT,
    Extractor,
    all_known,
    composite,
    kryo,
    primitive_array,
    simple,
)

_INFO: Final = "org.apache.flink.api.common.typeinfo."
_UTILS: Final = "org.apache.flink.api.java.typeutils."
_AVRO: Final = "org.apache.flink.formats.avro.typeutils.AvroTypeInfo"
_SELECTOR: Final = "org.apache.flink.api.java.functions.KeySelector"
_HINT: Final = _INFO + "TypeHint"
_TUPLE: Final = "org.apache.flink.api.java.tuple.Tuple"
_MAX_STEPS: Final = 2000
_MAX_DEPTH: Final = 30
"""Types inside of one another, of which one may be in itself."""

_WORDS: Final = {
    "STRING": "String", "BOOLEAN": "Boolean", "BYTE": "Byte", "SHORT": "Short", "INT": "Int", "LONG": "Long", "FLOAT": "Float",
    "DOUBLE": "Double", "CHAR": "Char", "VOID": "Void", "BIG_DEC": "BigDec", "BIG_INT": "BigInt", "INSTANT": "Instant",
}  # fmt: skip
_TIMES: Final = {
    "SQL_DATE": "SqlDate", "SQL_TIME": "SqlTime", "SQL_TIMESTAMP": "SqlTimestamp", "LOCAL_DATE": "LocalDate",
    "LOCAL_TIME": "LocalTime", "LOCAL_DATE_TIME": "LocalDateTime",
}  # fmt: skip
_FIELDS: Final = {
    **{(_INFO + "Types", word): name for word, name in (_WORDS | _TIMES).items()},
    **{(_INFO + "BasicTypeInfo", f"{word}_TYPE_INFO"): name for word, name in _WORDS.items()},
    (_INFO + "BasicTypeInfo", "DATE_TYPE_INFO"): "Date",
    **{(_INFO + "SqlTimeTypeInfo", word): f"Sql{word.capitalize()}" for word in ("DATE", "TIME", "TIMESTAMP")},
    **{
        (_INFO + "LocalTimeTypeInfo", word): _TIMES[word] for word in ("LOCAL_DATE", "LOCAL_TIME", "LOCAL_DATE_TIME")
    },
}  # fmt: skip
"""Constants that are the type information of a scalar."""
_PRIMITIVES: Final = ("Boolean", "Byte", "Short", "Int", "Long", "Float", "Double", "Char")
_PRIMITIVE_ARRAYS: Final = {f"{name.upper()}_PRIMITIVE_ARRAY_TYPE_INFO": name for name in _PRIMITIVES}
_BOXED: Final = {"Int": "Integer", "Char": "Character"}


class TypeReader:
    """Reads the types of one job's code.

    :param resolve: gives the value of a field that has only one.
    """

    def __init__(self, extractor: Extractor, resolve: Callable[[Value], Value]) -> None:
        self._extractor = extractor
        self._resolve = resolve
        self._steps = self._depth = 0

    def of(self, value: Value) -> SerializerSnapshot | None:
        """The serializer of a class, type information or serializer."""
        self._steps = 0
        return self._of(value)

    def of_key(self, value: Value) -> SerializerSnapshot | None:
        """The serializer of the keys that a selector gives, or of their type information."""
        self._steps = 0
        value = self._resolve(value)
        if isinstance(value, Lambda):
            returned = value.descriptor.rpartition(")")[2]
            plain = value.interface == _SELECTOR and returned[:1] == "L"
            return self._of_class(returned[1:-1].replace("/", ".")) if plain else None
        if isinstance(value, New):
            selector = self._above(value.class_name, _SELECTOR)
            known = selector is not None and len(selector) == 2 and self._is_only_selector(value.class_name)
            return self._of_java(selector[1]) if known and selector else None
        return self._of(value)

    def _is_only_selector(self, name: str) -> bool:
        """Whether the class has no interface that may be a ``ResultTypeQueryable``, which says the type of the keys itself."""
        lineage = self._extractor.classes.lineage(name)
        interfaces = [parse_type(text).name for shape in lineage or () for text in shape.model.interfaces]
        return lineage is not None and all(i == _SELECTOR or i.startswith("java.") for i in interfaces)

    def _of(self, value: Value) -> SerializerSnapshot | None:
        self._steps += 1
        if self._steps > _MAX_STEPS or self._depth > _MAX_DEPTH:
            return None
        self._depth += 1
        try:
            return self._of_value(self._resolve(value))
        finally:
            self._depth -= 1

    def _of_value(self, value: Value) -> SerializerSnapshot | None:
        match value:
            case ClassLiteral(name):
                return self._of_class(name)
            case FieldValue(owner, name):
                return self._of_field(owner, name)
            case Call(member, arguments):
                return self._of_call(member.owner, member.name, arguments)
            case New():
                return self._of_new(value)
        return None

    def _of_class(self, name: str) -> SerializerSnapshot | None:
        return self._of_java(of_class_name(name))

    def _of_java(self, type_: JavaType) -> SerializerSnapshot | None:
        # What Flink makes of a collection outside of a field depends on how it is given.
        return None if type_.name in COLLECTIONS and not type_.dimensions else self._extractor.of_type(type_)

    def _of_field(self, owner: str, name: str) -> SerializerSnapshot | None:
        if (owner, name) in _FIELDS:
            return simple(_FIELDS[owner, name])
        if owner == _INFO + "PrimitiveArrayTypeInfo" and name in _PRIMITIVE_ARRAYS:
            return primitive_array(_PRIMITIVE_ARRAYS[name])
        if (owner, name) == (_INFO + "BasicArrayTypeInfo", "STRING_ARRAY_TYPE_INFO"):
            return STRING_ARRAY
        serializer = owner.removeprefix(BASE).removesuffix("Serializer")
        if name == "INSTANCE" and owner == f"{BASE}{serializer}Serializer" and serializer in _FIELDS.values():
            return simple(serializer)
        return None

    def _of_call(self, owner: str, name: str, arguments: Sequence[Value]) -> SerializerSnapshot | None:
        if name == "getTypeInfo" and len(arguments) == 1:
            return self._of_hint(arguments[0])
        known = (_INFO + "Types", _INFO + "TypeInformation", _UTILS + "TypeExtractor")
        if owner not in known or not arguments:
            return None
        first = self._resolve(arguments[0])
        match name:
            case "of" | "getForClass" | "createTypeInfo" if len(arguments) == 1:
                if isinstance(first, ClassLiteral):
                    return self._of_class(first.name)
                return self._of_hint(first) if name == "of" else None
            case "POJO" | "ENUM" | "GENERIC" if len(arguments) == 1 and isinstance(first, ClassLiteral):
                return self._of_kind(name, first.name)
            case "TUPLE" | "ROW" | "ROW_NAMED":
                return self._product(name, arguments[-1])
            case "LIST" | "MAP" | "SET":
                return self._collection(name, arguments)
            case "PRIMITIVE_ARRAY" | "OBJECT_ARRAY":
                return self._array(name, self._of(first))
        return None

    def _of_kind(self, kind: str, name: str) -> SerializerSnapshot | None:
        if kind == "GENERIC":
            return kryo(name)
        found = self._of_class(name)
        wanted = POJO_SNAPSHOT if kind == "POJO" else ENUM_SNAPSHOT
        return found if found is not None and found.class_name == wanted else None

    def _of_new(self, value: New) -> SerializerSnapshot | None:
        name, arguments = value.class_name, value.arguments
        first = self._resolve(arguments[0]) if arguments else None
        if name == _AVRO and len(arguments) == 1 and isinstance(first, ClassLiteral):
            return self._extractor.avro(first.name)
        if not name.startswith(_UTILS):
            return self._of_hint(value)
        match name.removeprefix(_UTILS):
            case "GenericTypeInfo" if len(arguments) == 1 and isinstance(first, ClassLiteral):
                return kryo(first.name)
            case "EnumTypeInfo" if len(arguments) == 1 and isinstance(first, ClassLiteral):
                return self._of_kind("ENUM", first.name)
            case "ListTypeInfo" if len(arguments) == 1:
                return self._collection("LIST", arguments)
            case "MapTypeInfo" if len(arguments) == 2:
                return self._collection("MAP", arguments)
            case "TupleTypeInfo" if len(arguments) == 1:
                return self._product("TUPLE", first)
            case "RowTypeInfo":
                return self._product("ROW", first)
        return None

    def _product(self, name: str, parts: Value) -> SerializerSnapshot | None:
        """A tuple or row of an array of type information."""
        parts = self._resolve(parts)
        if not isinstance(parts, Array) or parts.size != len(parts.elements) or parts.size > 100:
            return None
        found = all_known(self._of(parts.elements.get(i)) for i in range(parts.size))
        if found is None:
            return None
        if name == "TUPLE":
            return composite(TUPLE_SNAPSHOT, *found, **{"class": f"{_TUPLE}{len(found)}"})
        return composite(ROW_SNAPSHOT, *found)

    def _collection(self, name: str, arguments: Sequence[Value]) -> SerializerSnapshot | None:
        found = all_known(map(self._of, arguments))
        if found is None or len(found) != (2 if name == "MAP" else 1):
            return None
        return composite({"LIST": LIST_SNAPSHOT, "MAP": MAP_SNAPSHOT, "SET": SET_SNAPSHOT}[name], *found)

    def _array(self, name: str, element: SerializerSnapshot | None) -> SerializerSnapshot | None:
        if element is None:
            return None
        scalar = next((word for word in _FIELDS.values() if simple(word) == element), None)
        if name == "PRIMITIVE_ARRAY":
            return primitive_array(scalar) if scalar in _PRIMITIVES else None
        if scalar == "String":
            return STRING_ARRAY
        of = element.details.get("class")
        if scalar in _PRIMITIVES:
            of = f"java.lang.{_BOXED.get(scalar, scalar)}"
        if not isinstance(of, str):
            return None
        return composite(BASE + "GenericArraySerializerSnapshot", element, **{"class": of})

    def _of_hint(self, value: Value) -> SerializerSnapshot | None:
        """``new TypeHint<…>() {}``: a class whose superclass has the type."""
        arguments = self._above(value.class_name, _HINT) if isinstance(value, New) else None
        return None if arguments is None or len(arguments) != 1 else self._of_java(arguments[0])

    def _above(self, name: str, wanted: str) -> tuple[JavaType, ...] | None:
        """The type arguments that a class has directly given to its superclass or interface."""
        model = self._extractor.classes.model(name)
        for text in () if model is None else (model.superclass, *model.interfaces):
            type_ = None if text is None else parse_type(text)
            if type_ is not None and type_.name == wanted:
                return type_.arguments
        return None
