"""Beam's rows: the number of fields, which of them are null, and the others by the coders of their types.

Beam's classes: ``coders.RowCoder``, ``RowCoderGenerator``, ``schemas.{SchemaCoder,SchemaCoderHelpers,Schema}``. A row can have
fewer fields than its schema, which a job has had in the meantime; the others are null.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from serializers.beam.coders import Coder, FieldType
from serializers.beam.varints import length
from serializers.leaves import leaf_of
from serializers.names import Names
from stateextract.columnar.convert.policy import ChangeCounts
from stateextract.columnar.interpreter import interpret
from stateextract.columnar.layout import Field, Layout, Struct, Undecodable
from stateextract.errors import FormatError
from stateextract.files.reader import Reader

_CODERS: Final = {
    "BYTE": "ByteCoder", "INT16": "BigEndianShortCoder", "INT32": "VarIntCoder", "INT64": "VarLongCoder",
    "FLOAT": "FloatCoder", "DOUBLE": "DoubleCoder", "STRING": "StringUtf8Coder", "DATETIME": "InstantCoder",
    "BOOLEAN": "BooleanCoder", "DECIMAL": "BigDecimalCoder", "BYTES": "ByteArrayCoder",
    "ARRAY": "ListCoder", "ITERABLE": "IterableCoder", "MAP": "MapCoder",
}  # fmt: skip


def field_coder(type_: FieldType, nested: bool = False) -> Coder:
    """The coder of a type.

    :param nested: inside of a list, a map or another value; the nulls of a row's own fields are in the row.
    """
    if type_.name == "ROW":
        coder = Coder("RowCoder", schema=type_)
    elif type_.name == "LOGICAL_TYPE":
        coder = field_coder(type_.elements[0], nested=True) if type_.elements else Coder(type_.logical)
    else:
        coder = Coder(_CODERS.get(type_.name, type_.name), tuple(field_coder(e, nested=True) for e in type_.elements))
    return Coder("NullableCoder", (coder,)) if nested and type_.nullable else coder


def row_layout(coder: Coder, layout_of: Callable[[Coder], Layout]) -> Layout:
    """What a coder of rows writes.

    :param layout_of: gives that of another coder.
    """
    schema = coder.schema
    if schema is None or schema.reordered:
        return Undecodable(coder.class_name, "the fields of its rows have another order in bytes than in the schema")
    taken = Names()
    fields = tuple(Field(taken.take(name), layout_of(field_coder(type_))) for name, type_ in schema.fields)
    return leaf_of(Struct(fields), _read)


def _read(reader: Reader, inner: Struct, counts: ChangeCounts) -> Any:
    start, number = reader.pos, reader.varint(32)
    if not 0 <= number <= len(inner.fields):
        raise FormatError(f"a row has {number} fields", expected=f"at most {len(inner.fields)}", offset=start)
    # The bits of a BitSet: the lowest of the first byte is that of the first field; bytes of zeros at the end are left out.
    nulls = int.from_bytes(reader.bytes(length(reader, "a set of nulls"), "a set of nulls"), "little")
    row: dict[str, Any] = dict.fromkeys(f.name for f in inner.fields)
    for i, part in enumerate(inner.fields[:number]):
        if not nulls >> i & 1:
            row[part.name], reader.pos = interpret(part.layout, reader.data, reader.pos, reader.end, counts)
    return row if row else True
