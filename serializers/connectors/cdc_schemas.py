"""What the schema operator of a Flink CDC pipeline keeps in its coordinator: the schemas of all tables, with their versions.

``i32`` version, ``i32`` length, the schemas as they were changed and (from version 2 on, Flink CDC 3.2) as they came from the
source; then, in a pipeline of one reader, from which tables each table was derived. This is the whole state of the coordinator,
without the wrapper of a source.

Classes: ``org.apache.flink.cdc.runtime.operators.schema.common.SchemaManager`` (``…schema.coordinator`` until 3.2),
``org.apache.flink.cdc.runtime.serializer.TableIdSerializer``, ``….schema.SchemaSerializer``, ``….schema.DataTypeSerializer``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa

from serializers.connectors.forms import (
    COORDINATOR,
    I32,
    TEXT,
    PayloadForm,
    expect,
    must_end,
    read_flag,
    read_text,
    register_form,
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
        found["derivations"] = _listed(
            reader, lambda: {"table": _table(reader), "from": _listed(reader, lambda: _table(reader))}
        )
    return found


def _listed(reader: Reader, read: Callable[[], Any]) -> list[Any]:
    return [read() for _ in range(reader.count("items"))]


def _tables(reader: Reader, version: int) -> list[dict[str, Any]]:
    tables = []
    for _ in range(reader.count("tables", least=10)):
        table = _table(reader)
        for _ in range(reader.count("versions", least=4)):
            tables.append({"table": table, "version": reader.i32("a version")} | _schema(reader, version))
    return tables


def _table(reader: Reader) -> str:
    parts = reader.i32("a number of names")
    expect(parts, (1, 2, 3))
    return ".".join(read_text(reader) for _ in range(parts))


def _schema(reader: Reader, version: int) -> dict[str, Any]:
    schema: dict[str, Any] = {
        "columns": _listed(reader, lambda: _column(reader, version)),
        "primary_keys": _listed(reader, lambda: _text(reader)),
        "partition_keys": _listed(reader, lambda: _text(reader)) if version >= 1 else None,
    }
    schema["options"] = _listed(
        reader, lambda: {"key": _text(reader), "value": None if read_flag(reader) else _text(reader)}
    )
    return schema | {"comment": _text(reader)}


def _column(reader: Reader, version: int) -> dict[str, Any]:
    kind = reader.i32("a kind of column")
    expect(kind, (0, 1))
    column: dict[str, Any] = {"name": _text(reader), "type": _type(reader, 0), "comment": _text(reader)}
    if kind == 1:
        return column | {"metadata_key": _text(reader)}
    return column | {"default": _text(reader) if version == 2 else None}


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
        text = f"ROW<{', '.join(_listed(reader, lambda: _field(reader, depth + 1)))}>"
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


_COLUMN = struct_of(name=TEXT, type=TEXT, comment=TEXT, default=TEXT, metadata_key=TEXT)
_TABLE = struct_of(
    table=TEXT, version=I32, columns=pa.list_(_COLUMN), primary_keys=pa.list_(TEXT), partition_keys=pa.list_(TEXT),
    options=pa.list_(struct_of(key=TEXT, value=TEXT)), comment=TEXT,
)  # fmt: skip

register_form(
    COORDINATOR,
    PayloadForm(
        "cdc_schemas", (0, 1, 2), _schemas,
        struct_of(
            evolved=pa.list_(_TABLE), original=pa.list_(_TABLE), behavior=TEXT,
            derivations=pa.list_(pa.struct([pa.field("table", TEXT), pa.field("from", pa.list_(TEXT))])),
        ),
        reason="at least one table with a column",
    ),
)  # fmt: skip
