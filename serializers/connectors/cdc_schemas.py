"""What the schema operator of a Flink CDC pipeline keeps in its coordinator: the schemas of all tables, with their versions.

``i32`` version, ``i32`` length, the schemas as they were changed and (from version 2 on, Flink CDC 3.2) as they came from the
source; then, in a pipeline of one reader, from which tables each table was derived. This is the whole state of the coordinator,
without the wrapper of a source.

Classes: ``org.apache.flink.cdc.runtime.operators.schema.common.SchemaManager`` (``…schema.coordinator`` until 3.2),
``org.apache.flink.cdc.runtime.serializer.TableIdSerializer``, ``….schema.SchemaSerializer``, ``….schema.DataTypeSerializer``.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from serializers.connectors.payload_forms import COORDINATOR, PayloadForm, register_form
from serializers.connectors.payload_parts import (
    INT,
    TEXT,
    PayloadPart,
    expect,
    many,
    must_end,
    part,
    read_flag,
    read_text,
    record,
    since,
    struct_of,
)
from serializers.snapshots import flink_string
from stateextract.errors import FormatError
from stateextract.files.reader import Reader
from stateextract.printable import replaced

_BEHAVIORS = ("IGNORE", "LENIENT", "TRY_EVOLVE", "EVOLVE", "EXCEPTION")
# In the order of DataTypeSerializer's numbers; {} is a length, a precision, or precision and scale.
_TYPES = (
    "BINARY({})", "ARRAY", "BOOLEAN", "DECIMAL({}, {})", "TIMESTAMP({}) WITH LOCAL TIME ZONE", "VARBINARY({})", "CHAR({})",
    "SMALLINT", "TIMESTAMP({})", "INT", "ROW", "FLOAT", "MAP", "TIME({})", "TINYINT", "VARCHAR({})", "DATE",
    "TIMESTAMP({}) WITH TIME ZONE", "DOUBLE", "BIGINT", "VARIANT",
)  # fmt: skip
_LONGEST = {"VARCHAR(2147483647)": "STRING", "VARBINARY(2147483647)": "BYTES"}
_DEPTH = 50


def _type(reader: Reader, depth: int) -> str:
    """A type as Flink CDC prints it."""
    if depth > _DEPTH:
        raise FormatError("types nested too deeply")
    number = reader.i32("a type")
    expect(number, range(len(_TYPES)))
    name = _TYPES[number]
    nullable = read_flag(reader)
    if name == "ARRAY":
        text = f"ARRAY<{_type(reader, depth + 1)}>"
    elif name == "MAP":
        text = f"MAP<{_type(reader, depth + 1)}, {_type(reader, depth + 1)}>"
    elif name == "ROW":
        text = f"ROW<{', '.join(_field(reader, depth + 1) for _ in range(reader.count('fields')))}>"
    else:
        text = name.format(*(reader.i32("a size of a type") for _ in range(name.count("{}"))))
    return _LONGEST.get(text, text) + ("" if nullable else " NOT NULL")


def _field(reader: Reader, depth: int) -> str:
    name = (_text(reader) or "").replace("`", "``")
    type_, description = _type(reader, depth), _text(reader)
    return f"`{name}` {type_}" + ("" if description is None else f" '{description}'")


def _text(reader: Reader) -> str | None:
    text = flink_string(reader)
    return None if text is None else replaced(text)


def _table(reader: Reader) -> str:
    parts = reader.i32("a number of names")
    expect(parts, (1, 2, 3))
    return ".".join(read_text(reader) for _ in range(parts))


def _column(reader: Reader, version: int) -> dict[str, Any]:
    kind = reader.i32("a kind of column")
    expect(kind, (0, 1))
    column: dict[str, Any] = {"name": _text(reader), "type": _type(reader, 0), "comment": _text(reader)}
    if kind == 1:
        return column | {"metadata_key": _text(reader)}
    return column | {"default": _text(reader) if version == 2 else None}


_STRING, _TABLE = part(TEXT, _text), part(TEXT, _table)
_VALUE = part(TEXT, lambda reader: None if read_flag(reader) else _text(reader))
_COLUMN = PayloadPart(_column, struct_of(name=TEXT, type=TEXT, comment=TEXT, default=TEXT, metadata_key=TEXT))
_SCHEMA = record(
    version=INT, columns=many(_COLUMN), primary_keys=many(_STRING), partition_keys=since(1, many(_STRING)),
    options=many(record(key=_STRING, value=_VALUE)), comment=_STRING,
)  # fmt: skip
_TABLES = many(record(table=_TABLE, schemas=many(_SCHEMA)))
_DERIVATIONS = many(record(**{"table": _TABLE, "from": many(_TABLE)}))


def _tables(reader: Reader, version: int) -> list[dict[str, Any]]:
    tables = _TABLES.read(reader, version)
    return [{"table": table["table"]} | schema for table in tables for schema in table["schemas"]]


def _schemas(reader: Reader, version: int) -> dict[str, Any]:
    inner = Reader(reader.bytes(reader.i32("a length"), "schemas"))
    found: dict[str, Any] = {"evolved": _tables(inner, version)}
    if version == 2:
        found |= {"original": _tables(inner, version), "behavior": read_text(inner)}
        if found["behavior"] not in _BEHAVIORS:
            raise FormatError("no behavior of schema changes")
    must_end(inner)
    if not any(table["columns"] for table in found["evolved"]):
        raise FormatError("a count of zero, which may be of any coordinator")
    if reader.remaining:
        found["derivations"] = _DERIVATIONS.read(reader, version)
    return found


_TABLE_TYPE = pa.struct([pa.field("table", TEXT), *_SCHEMA.type])

register_form(
    COORDINATOR,
    PayloadForm(
        "cdc_schemas", (0, 1, 2), _schemas,
        struct_of(
            evolved=pa.list_(_TABLE_TYPE), original=pa.list_(_TABLE_TYPE), behavior=TEXT, derivations=_DERIVATIONS.type
        ),
        reason="at least one table with a column",
    ),
)  # fmt: skip
