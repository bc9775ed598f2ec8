"""Writes the table of types: ``python scripts/types_page.py > docs/types.md``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from serializers.avro import schema_layout
from serializers.avroschema import parse_schema
from serializers.connectors import COMMITTABLE, COORDINATOR, FORMS, PayloadForm
from serializers.connectors.payload_forms import forms_of
from serializers.kryo.shapes import SCALARS
from serializers.logical_types import in_row
from serializers.sql_type import LogicalType
from serializers.type_table import AVRO_RECORD, readable, serializer_columns
from serializers.writables import VALUES
from stateextract.columnar.convert.elements import TYPES as ELEMENTS
from stateextract.columnar.convert.type_overrides import REACH
from stateextract.columnar.layout import Layout

_AVRO_TYPES: list[tuple[str, Any]] = [
    *((name, name) for name in ("null", "boolean", "int", "long", "float", "double", "string", "bytes")),
    ("fixed(8)", {"type": "fixed", "name": "F", "size": 8}),
    ("enum", {"type": "enum", "name": "E", "symbols": ["A"]}),
    ("array of int", {"type": "array", "items": "int"}),
    ("map of int", {"type": "map", "values": "int"}),
    ("[null, int]", ["null", "int"]),
    ("[null, int, string]", ["null", "int", "string"]),
    ("record", AVRO_RECORD),
    ("record inside itself", {"type": "record", "name": "N", "fields": [{"name": "next", "type": ["null", "N"]}]}),
    ("decimal(10, 2)", {"type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}),
    ("decimal(50, 2)", {"type": "bytes", "logicalType": "decimal", "precision": 50, "scale": 2}),
    ("big-decimal", {"type": "bytes", "logicalType": "big-decimal"}),
    ("date", {"type": "int", "logicalType": "date"}),
    ("time-millis", {"type": "int", "logicalType": "time-millis"}),
    *(
        (name, {"type": "long", "logicalType": name})
        for unit in ("millis", "micros", "nanos")
        for name in (f"timestamp-{unit}", f"local-timestamp-{unit}")
    ),
    ("time-micros", {"type": "long", "logicalType": "time-micros"}),
    ("uuid", {"type": "string", "logicalType": "uuid"}),
    ("duration", {"type": "fixed", "name": "D", "size": 12, "logicalType": "duration"}),
]

_SQL_TYPES = (
    "CHAR", "VARCHAR", "BOOLEAN", "BINARY", "VARBINARY", "DECIMAL", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "FLOAT",
    "DOUBLE", "DATE", "TIME_WITHOUT_TIME_ZONE", "TIMESTAMP_WITHOUT_TIME_ZONE", "TIMESTAMP_WITH_LOCAL_TIME_ZONE",
    "INTERVAL_YEAR_MONTH", "INTERVAL_DAY_TIME", "ARRAY", "MULTISET", "MAP", "ROW", "RAW", "VARIANT", "BITMAP",
)  # fmt: skip


def page() -> str:
    """The whole of ``docs/types.md``."""
    parts = (_introduction(), _serializers(), _writables(), _kryo(), _avro(), _sql(), _connectors(), _overrides())
    return "\n".join(line for part in parts for line in part) + "\n"


def _introduction() -> Iterator[str]:
    yield "# Types: from serializers to columns"
    yield ""
    yield "`python scripts/types_page.py` creates this page from the registry of serializers. A test checks it."
    yield "Every class name begins with `org.apache.flink.`. Nested serializers are shown with samples: strings, longs, ints,"
    yield "booleans. *Kernel*: yes if the compiled decoder reads the values, no if Python decodes them one by one."
    yield "A value without fields (a row, tuple, POJO or class) is a `bool`: `true`, or null if there is no value."
    yield "`docs/layouts.md` describes the options that change types (strings, timestamps, maps)."
    yield ""


def _serializers() -> Iterator[str]:
    yield "## Every serializer"
    yield ""
    yield "| snapshot class | column | kernel |"
    yield "|---|---|---|"
    for c in serializer_columns():
        name = c.snapshot_class.removeprefix("org.apache.flink.")
        if c.column is None:
            yield f"| `{name}` | raw bytes: {c.reason} | |"
        else:
            yield f"| `{name}` | `{c.column}` | {'yes' if c.kernel else 'no'} |"
    yield ""


def _writables() -> Iterator[str]:
    yield "## Classes that write themselves"
    yield ""
    yield "`ValueSerializer`, `CopyableValueSerializer` and `WritableSerializer` name the class of their values. stateextract"
    yield "reads the classes of this table; lists and maps of them, if the class is in the JAR (`--classpath`) and extends"
    yield "`ListValue<…>` or `MapValue<…, …>`; and classes that a `[[kryo.class]]` entry with `written` describes"
    yield "(`docs/kryo.md`). Values of other classes are bytes."
    yield ""
    yield "| class | column |"
    yield "|---|---|"
    for name, layout in VALUES.items():
        yield f"| `{name}` | {_type(layout)} |"
    yield ""


def _kryo() -> Iterator[str]:
    yield "## Kryo, by declared class"
    yield ""
    yield "Collections and maps of these become lists and maps. Classes with a description become structs. A value that is"
    yield "declared as `Object`, or whose class has no description, becomes a struct of its class and JSON (`docs/kryo.md`)."
    yield ""
    yield "| column | Java |"
    yield "|---|---|"
    classes: dict[str, list[str]] = {}
    for name, column in SCALARS.items():
        classes.setdefault(_type(column.layout), []).append(name)
    for type_, names in classes.items():
        yield f"| {type_} | {', '.join(f'`{name}`' for name in names)} |"
    yield ""


def _avro() -> Iterator[str]:
    yield "## Avro"
    yield ""
    yield "| Avro | column |"
    yield "|---|---|"
    for name, schema in _AVRO_TYPES:
        yield f"| {name} | {_type(schema_layout(parse_schema(json.dumps(schema))))} |"
    yield ""


def _sql() -> Iterator[str]:
    yield "## SQL"
    yield ""
    yield "The table shows decimals as `DECIMAL(10, 2)`, times and timestamps with six digits, and nested types as `INTEGER`."
    yield ""
    yield "| type | column |"
    yield "|---|---|"
    inner = LogicalType("INTEGER", "IntType")
    for root in _SQL_TYPES:
        count = {"ARRAY": 1, "MULTISET": 1, "MAP": 2, "ROW": 2}.get(root, 0)
        precision, scale = (10, 2) if root == "DECIMAL" else (6, 0)
        type_ = LogicalType(root, root, True, precision, scale, (inner,) * count, ("a", "b") if root == "ROW" else ())
        yield f"| {root} | {_type(in_row(type_))} |"
    yield ""


def _connectors() -> Iterator[str]:
    yield "## Payloads of connectors"
    yield ""
    yield "Operator state of `byte[]` that Flink's sources and sinks keep, recognized by its name. A struct: `bytes` as they"
    yield "are, the payload's `version`, and a column for each form. The form that takes the bytes to the last one is filled,"
    yield "the others are null. No file records which connector wrote a payload, and connectors share shapes: the writers of"
    yield "Kafka and of Doris both keep one text of version 1. So the shape alone never names a connector. A form also needs"
    yield "evidence. Without evidence you get bytes and version: a Kafka split between two offsets without a coordinator that"
    yield "lists it, the prefix of a Kafka writer of version 1 or without transactions, splits of number sequences, and every"
    yield "connector that is not listed."
    yield ""
    yield "A Kafka split without a stopping offset has null in `stopping_offset`; its bytes have the lowest `int64` there."
    yield ""
    yield "| state | form | versions | column | evidence |"
    yield "|---|---|---|---|---|"
    for state in FORMS:
        if state not in (COMMITTABLE, COORDINATOR):
            yield from (_form(form, f"`{state}`") for form in forms_of(state))
    yield ""
    yield "## Committables"
    yield ""
    yield "What is in `requests` of `checkpoints`, by connector:"
    yield ""
    yield "| form | versions | column | evidence |"
    yield "|---|---|---|---|"
    yield from map(_form, forms_of(COMMITTABLE))
    yield ""
    yield "## Coordinators"
    yield ""
    yield "What the coordinator of a source keeps for its enumerator is the dataset `coordinator` of the operator, one row with"
    yield "the struct `value`: `bytes` as they are, the `version` of the enumerator's serializer, and the form, as above."
    yield "Of Kafka's versions 0 and 3 have offsets. Version 1, and state without partitions, have nothing in them that is"
    yield "Kafka's alone: they are bytes and version. The splits in `SourceReaderState` have the partitions of version 1, and"
    yield "their offsets."
    yield ""
    yield "| form | versions | column | evidence |"
    yield "|---|---|---|---|"
    yield from map(_form, forms_of(COORDINATOR))
    yield ""


def _form(form: PayloadForm, *first: str) -> str:
    cells = [f"`{form.name}`", ", ".join(map(str, form.versions)), f"`{readable(form.column.type)}`", form.reason]
    return f"| {' | '.join([*first, *cells])} |"


def _overrides() -> Iterator[str]:
    """The table of type overrides, out of the module that applies them."""
    yield "## Other types on request"
    yield ""
    yield 'The section `[types]` of the job file has a line for each column: `"orders/total/value.amount" = "decimal(38,10)"`.'
    yield "A line has three parts:"
    yield ""
    yield "- the operator: its UID, name or hex ID;"
    yield "- the state;"
    yield "- the path: `key`, `namespace`, `value` or another column, then fields of structs, `element` of a list, `key` and"
    yield "  `value` of a map."
    yield ""
    yield "In each part `*` matches any characters and `?` one: `\"*/python-state-*/value\" = \"element(pickle)\"`. Such a"
    yield "line is about the columns that can become the type. A line without them in state and path wins over a line with"
    yield "them, else the last line wins."
    yield ""
    yield "The shortest path is enough. The path `value` leads to the value of a state with a TTL and to the bytes in a list of"
    yield "PyFlink's, and it stays the same with `flatten`, where `value.key` is the column `map_key`."
    yield "A value that does not fit exactly stops the job, and the message names it."
    yield ""
    yield "| type | from |"
    yield "|---|---|"
    for type_, source in REACH.items():
        yield f"| `{type_}` | {source} |"
    yield ""
    yield "## PyFlink"
    yield ""
    yield "[pyflink.md](pyflink.md) describes which state needs types. `element(…)` takes bytes that are one element, and"
    yield "`elements(…)` takes bytes that are any number of elements, as those of a list state are."
    yield ""
    yield "| `element(…)`, `elements(…)` | PyFlink's |"
    yield "|---|---|"
    for names, meaning in ELEMENTS.items():
        yield f"| `{names}` | {meaning or 'the obvious type'} |"


def _type(layout: Layout) -> str:
    type_ = layout.arrow_type
    return "no column" if type_ is None else f"`{readable(type_)}`"


if __name__ == "__main__":
    print(page(), end="")
