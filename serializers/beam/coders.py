"""Beam's coders as plain data, out of the Java objects that a serializer snapshot has.

Depends on the parser of Java streams. Does not know what a coder writes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from stateextract.errors import FormatError
from stateextract.files.javastream import JavaEnum, JavaObject, JavaValue, java_elements

MAX_DEPTH = 50
MAX_PARTS = 10_000
"""Coders and types of fields in a coder."""


@dataclass(frozen=True)
class FieldType:
    """``Schema.FieldType``: a type of Beam's schemas.

    :param name: of the ``TypeName``: ``STRING``, ``ROW``, …
    :param elements: of an array; key and value of a map; the base type of a logical type, if that is known.
    :param fields: of a row, by name.
    :param logical: the class of a logical type.
    :param reordered: the fields of a row have an order of their own in bytes.
    """

    name: str
    nullable: bool = False
    elements: tuple[FieldType, ...] = ()
    fields: tuple[tuple[str, FieldType], ...] = ()
    logical: str = ""
    reordered: bool = False


@dataclass(frozen=True)
class Coder:
    """A coder.

    :param class_name: its Java class.
    :param parts: the coders in it, in the order of :data:`PARTS`, or of a list.
    :param schema: of a coder of rows.
    :param tags: numbers of the parts, where they have some.
    :param avro: the schema of a coder of Avro, as JSON.
    """

    class_name: str
    parts: tuple[Coder, ...] = ()
    schema: FieldType | None = None
    tags: tuple[int, ...] = ()
    avro: str = ""

    @property
    def name(self) -> str:
        """The class without its package: ``WindowedValue$FullWindowedValueCoder``."""
        return self.class_name.rsplit(".", 1)[-1]


AVRO_CODERS = ("AvroCoder", "AvroGenericCoder", "AvroReflectCoder", "AvroSpecificCoder")
_ONE_VALUE = ("valueCoder",)
PARTS: dict[str, tuple[str, ...]] = {
    "KvCoder": ("keyCoder", "valueCoder"),
    "MapCoder": ("keyCoder", "valueCoder"),
    "SortedMapCoder": ("keyCoder", "valueCoder"),
    **dict.fromkeys(
        ("IterableCoder", "ListCoder", "CollectionCoder", "SetCoder", "DequeCoder"), ("elementCoder",)
    ),
    "NullableCoder": _ONE_VALUE,
    "LengthPrefixCoder": _ONE_VALUE,
    "Combine$HolderCoder": _ONE_VALUE,
    "DelegateCoder": ("coder",),
    "StringDelegateCoder": ("delegateCoder",),
    **dict.fromkeys(
        ("WindowedValue$FullWindowedValueCoder", "WindowedValues$FullWindowedValueCoder"), ("valueCoder", "windowCoder")
    ),
    **dict.fromkeys(("WindowedValue$ValueOnlyWindowedValueCoder", "WindowedValues$ValueOnlyWindowedValueCoder"), _ONE_VALUE),
    "ValueWithRecordId$ValueWithRecordIdCoder": _ONE_VALUE,
    "TimestampedValue$TimestampedValueCoder": _ONE_VALUE,
    "ShardedKey$Coder": ("keyCoder",),
    "ShardedKeyCoder": ("keyCoder",),
    "KeyedWorkItemCoder": ("keyCoder", "elemCoder", "windowCoder"),
    "SingletonKeyedWorkItemCoder": ("keyCoder", "elemCoder", "windowCoder"),
}
"""The fields of coders that have coders, by the coder's class."""


def read_coder(value: JavaValue) -> Coder:
    """The coder that a Java object is.

    :raises FormatError: for what cannot be a coder, and for one inside itself.
    """
    return _Tree().coder(value, 0)


def _list(value: JavaValue) -> list[JavaValue]:
    """The elements of one of Java's lists, or of Guava's immutable ones."""
    elements = java_elements(value)
    if elements is None and isinstance(value, JavaObject):
        elements = java_elements(value.get("elements"))
    if elements is None:
        raise FormatError("a list of Java objects is of a class that is not known")
    return elements


def _entries(value: JavaValue) -> Iterator[tuple[int, JavaValue]]:
    """The entries of Guava's immutable map with numbers as keys: two arrays."""
    keys, values = (_list(value.get(name)) if isinstance(value, JavaObject) else [] for name in ("keys", "values"))
    if len(keys) != len(values):
        raise FormatError("a map has another number of keys than of values")
    for key, coder in zip(keys, values, strict=True):
        number = key.get("value") if isinstance(key, JavaObject) else None
        if not isinstance(number, int):
            raise FormatError("the number of an output is not a number")
        yield number, coder


_BASES = {
    "org.apache.beam.sdk.schemas.logicaltypes.EnumerationType": FieldType("INT32"),
    "org.apache.beam.sdk.schemas.logicaltypes.Date": FieldType("INT64"),
    "org.apache.beam.sdk.schemas.logicaltypes.Time": FieldType("INT64"),
    "org.apache.beam.sdk.schemas.logicaltypes.MicrosInstant": FieldType(
        "ROW", fields=(("seconds", FieldType("INT64")), ("micros", FieldType("INT32")))
    ),
    "org.apache.beam.sdk.schemas.logicaltypes.NanosInstant": FieldType(
        "ROW", fields=(("seconds", FieldType("INT64")), ("nanos", FieldType("INT32")))
    ),
}
"""What logical types are stored as that do not say so."""


_ELEMENTS = {
    "ARRAY": ("collectionElementType",), "ITERABLE": ("collectionElementType",), "MAP": ("mapKeyType", "mapValueType"),
}  # fmt: skip
"""The fields of ``FieldType`` that have types, by its ``TypeName``."""


class _Tree:
    """Reads one tree of coders.

    An object of a Java stream can be in the tree many times, so the size of the file does not bound that of the tree.
    """

    def __init__(self) -> None:
        self._left = MAX_PARTS

    def _count(self, depth: int) -> None:
        self._left -= 1
        if depth > MAX_DEPTH:
            raise FormatError(f"coders and their types are nested more than {MAX_DEPTH} deep")
        if self._left < 0:
            raise FormatError(f"a coder has more than {MAX_PARTS:,} parts")

    def coder(self, value: JavaValue, depth: int) -> Coder:
        self._count(depth)
        if isinstance(value, JavaEnum):
            return Coder(value.class_name)
        if not isinstance(value, JavaObject):
            raise FormatError("a coder is not an object")
        coder = Coder(value.class_name)
        if coder.name in ("RowCoder", "SchemaCoder"):
            return Coder(value.class_name, schema=self._row(value.get("schema"), False, depth))
        if coder.name in AVRO_CODERS:
            supplier = value.get("schemaSupplier")
            schema = supplier.get("schema") if isinstance(supplier, JavaObject) else None
            return Coder(value.class_name, avro=schema if isinstance(schema, str) else "")
        if coder.name == "UnionCoder":
            return Coder(value.class_name, tuple(self.coder(v, depth + 1) for v in _list(value.get("elementCoders"))))
        if coder.name == "DoFnOperator$TaggedKvCoder":
            entries = sorted(_entries(value.get("idsToCoders")), key=lambda entry: entry[0])
            return Coder(
                value.class_name, tuple(self.coder(v, depth + 1) for _, v in entries), tags=tuple(tag for tag, _ in entries)
            )
        parts = tuple(self.coder(value.get(name), depth + 1) for name in PARTS.get(coder.name, ()))
        return Coder(value.class_name, parts)

    def _row(self, schema: JavaValue, nullable: bool, depth: int) -> FieldType:
        """``Schema``, as the type of a row."""
        if not isinstance(schema, JavaObject):
            raise FormatError("a schema is not an object")
        fields = []
        for field in _list(schema.get("fields")):
            name = field.get("name") if isinstance(field, JavaObject) else None
            if not isinstance(field, JavaObject) or not isinstance(name, str):
                raise FormatError("a field of a schema has no name")
            fields.append((name, self._type(field.get("type"), depth + 1)))
        return FieldType("ROW", nullable, fields=tuple(fields), reordered=schema.get("encodingPositionsOverridden") is True)

    def _type(self, value: JavaValue, depth: int) -> FieldType:
        """``Schema.FieldType``."""
        self._count(depth)
        kind = value.get("typeName") if isinstance(value, JavaObject) else None
        if not isinstance(value, JavaObject) or not isinstance(kind, JavaEnum):
            raise FormatError("the type of a field has no name")
        flag = value.get("nullable")
        nullable = bool(flag.get("value")) if isinstance(flag, JavaObject) else bool(flag)
        if kind.name == "ROW":
            return self._row(value.get("rowSchema"), nullable, depth + 1)
        if kind.name == "LOGICAL_TYPE":
            return self._logical(value.get("logicalType"), nullable, depth + 1)
        elements = tuple(self._type(value.get(name), depth + 1) for name in _ELEMENTS.get(kind.name, ()))
        return FieldType(kind.name, nullable, elements)

    def _logical(self, value: JavaValue, nullable: bool, depth: int) -> FieldType:
        if not isinstance(value, JavaObject):
            raise FormatError("a logical type is not an object")
        base = self._type(value.get("fieldType"), depth) if value.get("fieldType") is not None else _BASES.get(value.class_name)
        return FieldType("LOGICAL_TYPE", nullable, (base,) if base is not None else (), logical=value.class_name)
