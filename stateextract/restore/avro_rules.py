"""Avro: ``AvroSerializerSnapshot``, by Avro's rules for reading one schema's values with another.

What Avro allows is a migration. For generic records that is not enough: Flink rebuilds them with the old schema and writes
them by position with the new one, so whatever moves a field goes wrong.

Avro's class: ``org.apache.avro.SchemaCompatibility``.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from serializers.avroschema import AvroType, parse_schema
from serializers.registry import SerializerSnapshot
from stateextract.errors import FormatError
from stateextract.outcome import Verdict
from stateextract.restore.answers import Answer, Phase

if TYPE_CHECKING:
    from stateextract.restore.compare_serializers import Comparer

_GENERIC: Final = "org.apache.avro.generic.GenericRecord"
_WIDER: Final = {
    "long": ("int",), "float": ("int", "long"), "double": ("int", "long", "float"), "bytes": ("string",),
    "string": ("bytes",),
}  # fmt: skip
"""What a primitive of the reader reads in addition to its own type."""
_MAX_PAIRS: Final = 100_000


def schemas(comparer: Comparer, new: SerializerSnapshot, old: SerializerSnapshot, at: str) -> Answer:
    """The answer for a serializer of Avro."""
    texts = new.details["schema"], old.details["schema"]
    findings = comparer.findings
    if None in texts:
        return findings.unknown(at, "an Avro serializer's snapshot has no schema")
    try:
        if _plain(json.loads(texts[0])) == _plain(json.loads(texts[1])):
            return Answer.AS_IS
        after, before = parse_schema(texts[0]), parse_schema(texts[1])
    except (FormatError, ValueError, RecursionError) as error:
        return findings.unknown(at, f"a schema cannot be read: {error}")
    problem = Resolution().problem(after, before, "")
    if problem is not None:
        return findings.incompatible(
            at, f"Avro cannot read the old schema's values with the new schema: {problem}",
            "give the field a default, or the old name as an alias",
        )  # fmt: skip
    if old.details["class"] == _GENERIC:
        for moved, same_type in _moves(after, before):
            advice = "use a class that Avro's compiler made, or keep the order of fields and add none"
            if same_type:
                findings.loses(
                    at, f"generic records are written by position: {moved}; its values come under another name", advice
                )
            elif comparer.backend == "rocksdb":
                findings.add(
                    Verdict.REFUSED, Phase.RESTORE, f"{at}: generic records are written by position: {moved}; migrating "
                    "fails (StateMigrationException: Error while trying to migrate RocksDB state)", advice,
                )  # fmt: skip
            else:
                findings.loses(
                    at, f"generic records keep the old schema: {moved}; the next checkpoint fails", advice,
                    Phase.NEXT_CHECKPOINT,
                )  # fmt: skip
    return Answer.MIGRATION


def _plain(schema: Any) -> Any:
    """A schema without what ``Schema.equals`` does not look at."""
    if isinstance(schema, dict):
        return {key: _plain(value) for key, value in schema.items() if key not in ("doc", "aliases")}
    return [_plain(item) for item in schema] if isinstance(schema, list) else schema


class Resolution:
    """``SchemaCompatibility.checkReaderWriterCompatibility``."""

    def __init__(self) -> None:
        self._seen: set[tuple[int, int]] = set()

    def problem(self, reader: AvroType, writer: AvroType, at: str) -> str | None:
        """Why the reader cannot read the writer's values, or ``None``."""
        pair = id(reader), id(writer)
        if pair in self._seen or len(self._seen) > _MAX_PAIRS:
            return None
        self._seen.add(pair)
        if writer.kind == "union":
            return next(filter(None, (self.problem(reader, branch, at) for branch in writer.branches)), None)
        if reader.kind == "union":
            problems = [self.problem(branch, writer, at) for branch in reader.branches]
            return None if None in problems else f"{_where(at)}no branch of the union takes {_name(writer)}"
        if reader.kind != writer.kind:
            known = writer.kind in _WIDER.get(reader.kind, ())
            return None if known else f"{_where(at)}{_name(writer)} became {_name(reader)}"
        match reader.kind:
            case "array" | "map":
                return self.problem(reader.branches[0], writer.branches[0], f"{at}.element")
            case "record" | "enum" | "fixed":
                return self._named(reader, writer, at)
        return None

    def _named(self, reader: AvroType, writer: AvroType, at: str) -> str | None:
        if reader.simple_name != writer.simple_name and writer.name not in reader.aliases:
            return f"{_where(at)}{_name(writer)} became {_name(reader)} without an alias"
        if reader.size != writer.size:
            return f"{_where(at)}{writer.size} bytes became {reader.size}"
        if reader.kind == "enum":
            gone = [symbol for symbol in writer.symbols if symbol not in reader.symbols]
            return f"{_where(at)}the symbol {gone[0]} is gone" if gone and not reader.defaults else None
        before = dict(writer.fields)
        for name, type_ in reader.fields:
            source = _source(reader, name, before)
            if source is None and name not in reader.defaults:
                return f"{_where(at)}the new field {name} has no default"
            problem = None if source is None else self.problem(type_, before[source], f"{at}.{name}")
            if problem is not None:
                return problem
        return None


def _source(reader: AvroType, name: str, before: dict[str, AvroType]) -> str | None:
    """The writer's field that a field of the reader takes its value from."""
    return next((n for n in (name, *sorted(reader.field_aliases.get(name, ()))) if n in before), None)


def _moves(reader: AvroType, writer: AvroType) -> Iterator[tuple[str, bool]]:
    """Fields of the reader that are not where the writer has them, and whether the types agree there."""
    ahead, seen = [(reader, writer)], set[tuple[int, int]]()
    while ahead:
        after, before = ahead.pop()
        if (id(after), id(before)) in seen or len(seen) > _MAX_PAIRS:
            continue
        seen.add((id(after), id(before)))
        if "union" in (after.kind, before.kind):
            pairs = [
                (a, b) for a in _branches(after) for b in _branches(before) if (a.kind, a.name) == (b.kind, b.name)
            ]
            ahead += [(a, b) for a, b in pairs if a.kind in ("record", "array", "map")]
        elif after.kind == before.kind == "record":
            fields, places = dict(before.fields), [name for name, _ in before.fields]
            for i, (name, type_) in enumerate(after.fields):
                source = _source(after, name, fields)
                if source is None:
                    yield f"the field {name} is new", False
                elif i >= len(places) or places[i] != source:
                    there = before.fields[i][1] if i < len(places) else None
                    yield f"the field {name} moved", there is not None and there.kind == type_.kind
                else:
                    ahead.append((type_, fields[source]))
        elif after.kind == before.kind and after.kind in ("array", "map"):
            ahead.append((after.branches[0], before.branches[0]))


def _branches(type_: AvroType) -> list[AvroType]:
    return type_.branches if type_.kind == "union" else [type_]


def _name(type_: AvroType) -> str:
    return type_.name or type_.kind


def _where(at: str) -> str:
    return f"{at.removeprefix('.')}: " if at else ""
