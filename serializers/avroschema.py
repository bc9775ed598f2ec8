"""Avro schemas: the JSON text of a schema as a graph of types, names resolved.

Reads what ``org.apache.avro.Schema.Parser`` reads, as far as it says how values are written, and how another schema's
values would be read by it; orders and documentation are skipped. A named type may contain itself, so the graph may have
cycles. Bounded: by the text that is there, by :data:`MAX_DEPTH`.

May import errors only. Knows no bytes of values and no layouts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from stateextract.errors import FormatError

PRIMITIVES = ("null", "boolean", "int", "long", "float", "double", "string", "bytes")
MAX_DEPTH = 200
_MAX_FIXED = 1 << 20


@dataclass(eq=False)
class AvroType:
    """A type of a schema. Two are the same only if they are the same object.

    :param kind: one of :data:`PRIMITIVES`, or ``record``, ``enum``, ``fixed``, ``array``, ``map``, ``union``.
    :param name: full name of a record, an enum or a fixed.
    :param fields: of a record: names and types in order.
    :param symbols: of an enum.
    :param size: of a fixed.
    :param branches: of a union; of an array or map the one type of its elements.
    :param logical: ``logicalType``, and its ``precision`` and ``scale``.
    :param aliases: full names that a record, an enum or a fixed had; :param field_aliases: names that a record's fields had.
    :param defaults: names of the fields with a default; of an enum its default symbol.
    """

    kind: str
    name: str = ""
    fields: list[tuple[str, AvroType]] = field(default_factory=list)
    symbols: tuple[str, ...] = ()
    size: int = 0
    branches: list[AvroType] = field(default_factory=list)
    logical: str = ""
    precision: int = 0
    scale: int = 0
    aliases: frozenset[str] = frozenset()
    field_aliases: dict[str, frozenset[str]] = field(default_factory=dict)
    defaults: set[str] = field(default_factory=set)

    @property
    def simple_name(self) -> str:
        """The name without its namespace; of an unnamed type its kind."""
        return self.name.rsplit(".", 1)[-1] or self.kind


def parse_schema(text: str) -> AvroType:
    """The type that a schema describes.

    :raises FormatError: where the text is not a schema.
    """
    try:
        # Numbers that matter are short; others could be defaults of any length.
        document = json.loads(text, parse_int=lambda digits: int(digits) if len(digits) < 12 else digits)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"an Avro schema is not JSON: {error}") from None
    return _AvroParser().type(document, "", 0)


class _AvroParser:
    def __init__(self) -> None:
        self.named: dict[str, AvroType] = {}

    def type(self, schema: Any, namespace: str, depth: int) -> AvroType:
        if depth > MAX_DEPTH:
            raise FormatError(f"an Avro schema is nested more than {MAX_DEPTH} deep")
        if isinstance(schema, str):
            return self.reference(schema, namespace)
        if isinstance(schema, list):
            return AvroType("union", branches=[self.type(branch, namespace, depth + 1) for branch in schema])
        if not isinstance(schema, dict):
            raise FormatError(f"{str(schema)[:80]!r} is not an Avro schema", expected="a name, a list or an object")
        kind = schema.get("type")
        if not isinstance(kind, str):
            return self.type(kind, namespace, depth + 1)
        match kind:
            case "record" | "error":
                return self.record(schema, namespace, depth)
            case "enum":
                symbols = _list(schema, "symbols")
                if not all(isinstance(symbol, str) for symbol in symbols):
                    raise FormatError("an Avro enum has symbols that are not text")
                defaults = {schema["default"]} if isinstance(schema.get("default"), str) else set()
                return self.define(AvroType("enum", symbols=tuple(symbols), defaults=defaults), schema, namespace)
            case "fixed":
                size = schema.get("size")
                if not isinstance(size, int) or not 0 <= size <= _MAX_FIXED:
                    raise FormatError(f"invalid size {size} of an Avro fixed", expected=f"0 to {_MAX_FIXED}")
                return self.with_logical(self.define(AvroType("fixed", size=size), schema, namespace), schema)
            case "array" | "map":
                inner = schema.get("items" if kind == "array" else "values")
                return AvroType(kind, branches=[self.type(inner, namespace, depth + 1)])
        known = self.reference(kind, namespace)
        # A logical type belongs to where the type is defined; a name does not define it.
        return self.with_logical(known, schema) if kind in PRIMITIVES else known

    def reference(self, name: str, namespace: str) -> AvroType:
        if name in PRIMITIVES:
            return AvroType(name)
        full = name if "." in name or not namespace else f"{namespace}.{name}"
        known = self.named.get(full) or self.named.get(name)
        if known is None:
            raise FormatError(f"an Avro schema names the type {name[:200]!r}, which it does not define")
        return known

    def record(self, schema: Mapping[str, Any], namespace: str, depth: int) -> AvroType:
        record = self.define(AvroType("record"), schema, namespace)
        inside = record.name.rpartition(".")[0]
        for entry in _list(schema, "fields"):
            if not isinstance(entry, dict) or not isinstance(entry.get("name"), str):
                raise FormatError(f"a field of the Avro record {record.name!r} has no name")
            record.fields.append((entry["name"], self.type(entry.get("type"), inside, depth + 1)))
            record.field_aliases[entry["name"]] = _texts(entry.get("aliases"))
            if "default" in entry:
                record.defaults.add(entry["name"])
        return record

    def define(self, type_: AvroType, schema: Mapping[str, Any], namespace: str) -> AvroType:
        name, own = schema.get("name"), schema.get("namespace", namespace)
        if not isinstance(name, str) or not isinstance(own, str):
            raise FormatError(f"an Avro {type_.kind} has no name")
        type_.name = name if "." in name or not own else f"{own}.{name}"
        self.named[type_.name] = type_
        type_.aliases = frozenset(
            alias if "." in alias or not own else f"{own}.{alias}" for alias in _texts(schema.get("aliases"))
        )
        return type_

    def with_logical(self, type_: AvroType, schema: Mapping[str, Any]) -> AvroType:
        logical = schema.get("logicalType")
        if isinstance(logical, str):
            type_.logical = logical
            type_.precision, type_.scale = (_whole(schema, name) for name in ("precision", "scale"))
        return type_


def _list(schema: Mapping[str, Any], name: str) -> list[Any]:
    value = schema.get(name)
    if not isinstance(value, list):
        raise FormatError(f"an Avro {schema.get('type')} has no {name}")
    return value


def _texts(value: Any) -> frozenset[str]:
    return frozenset(text for text in value if isinstance(text, str)) if isinstance(value, list) else frozenset()


def _whole(schema: Mapping[str, Any], name: str) -> int:
    value = schema.get(name, 0)
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
