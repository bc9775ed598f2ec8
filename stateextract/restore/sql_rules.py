"""Rows of SQL and their parts: ``RowDataSerializerSnapshot`` and others that hold logical types.

Flink compares the types and not the names, and an aggregation's state is one row of accumulators by position. So equal
types mean that Flink accepts the state, and not that a field still means the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from serializers.logical_types import read_logical_type
from serializers.registry import SerializerSnapshot
from serializers.sql_type import LogicalType
from stateextract.restore.answers import Answer

if TYPE_CHECKING:
    from stateextract.restore.compare_serializers import Comparer

TYPES: Final = frozenset({"types", "java", "data_type"})
"""Details that are Java objects."""
_ADVICE: Final = "compare the queries; give the compiled plans of both jobs, --plan and --old-plan"


def rows(comparer: Comparer, new: SerializerSnapshot, old: SerializerSnapshot, at: str) -> Answer:
    """The answer for a serializer that is made of logical types."""
    before, after = list(_types(old)), list(_types(new))
    findings = comparer.findings
    if before != after:
        if not all(type_.root for type_ in (*before, *after)):
            return findings.unknown(at, "a type of the row is not a known SQL type", "test the restore")
        if new.details.get("names") and old.details.get("names"):
            return findings.unknown(at, f"{_text(before)} became {_text(after)}; snapshots with names may evolve")
        return findings.incompatible(
            at, f"the row's types {_text(before)} became {_text(after)}", "start the query from the beginning"
        )
    answer = comparer.parts(replace(new, details={}), replace(old, details={}), at)
    names = new.details.get("names"), old.details.get("names")
    if comparer.same_query or comparer.same_job:
        return answer
    if "types" in old.details and before and answer < Answer.UNKNOWN and (None in names or names[0] != names[1]):
        return findings.unknown(
            at,
            f"the types are the same, {_text(before)}; which column or aggregate a field is, is not in the snapshot",
            _ADVICE,
        )
    return answer


def _types(snapshot: SerializerSnapshot) -> Iterator[LogicalType]:
    """A row of a query's only key has no types."""
    details = snapshot.details
    found = details["types"] if "types" in details else details.get("java") or (details["data_type"],)
    return map(read_logical_type, found)


def _text(types: list[LogicalType]) -> str:
    return f"({', '.join(map(str, types))})"
