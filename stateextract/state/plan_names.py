"""Names of fields from outside the snapshot: out of a compiled plan of SQL, or out of a file written by hand.

SQL's state holds the types of its rows but, up to Flink 2.3, not the names of their fields. A *compiled plan*
(``COMPILE PLAN``, ``CompiledPlan.writeToFile``) has nodes with an ``outputType`` each, and edges between them. A node's
operator is found in the snapshot by its uid (``<id>_<transformation>``, of which often only the hash is there), else by
the number in the operator's name (``Join[88]``). What its states hold is known by the states' names: rows of an input,
the fields that an exchange hashed as the key, the fields that a ranking sorts by. A rule is applied only to rows with
the types that the plan says, so a plan of another job gives no wrong names.

A *names file* (TOML or JSON) has for operators (id, uid or name) and states the names at a path::

    [operator."88_join"."left-records"]
    key = ["deptno"]
    "value.key" = ["deptno", "name"]

Flink's classes: ``org.apache.flink.table.planner.plan.nodes.exec.*``. Text goes in, rules come out; no I/O.
"""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from serializers.sql_type import ANYWHERE, PATTERN, LogicalType, NameRule
from serializers.type_strings import plan_type
from stateextract.errors import UsageError
from stateextract.metadata.operator_lookup import Named
from stateextract.metadata.uid import operator_id
from stateextract.printable import pluralize

_TRANSFORMATIONS: Final = {
    "limit": ("rank",),
    "lookup-join": ("lookup-join-materialize", "lookup-join-key-ordered"),
    "sort-limit": ("rank",),
    "sink": ("upsert-materialize", "sink-materializer", "sink"),
    "window-table-function": ("window", "window-table-function"),
}
"""Where an exec node's transformation is not called as the node."""

_ROWS: Final = (
    (r"left-records|left|IntervalJoinLeftCache|LEFT_BUFFER|probe-buffer", 0),
    (r"right-records|right|IntervalJoinRightCache|RIGHT_BUFFER|build-table|build-change-buffer", 1),
    (r"multi-join-input-(\d+)|input-sort-buffer-data-(\d+)", None),
    (
        r"deduplicate-state|waiting-to-emit-on-timer|window_deduplicate|window_rank|data-state"
        r"|data-state-with-(append|update)|sorted-map|Top1-Rank-State|inputState|valueMapState|dataState|sortState"
        r"|localBufferState|values|list|rowToSqnState|sqnToNodeState|session-window-tvf-acc|eventQueuesStateName"
        r"|sharedBuffer-events|current-value|watermark-buffer",
        0,
    ),
)
"""Names of states that hold rows of an input, and of which; ``None``: the number in the name says."""
_SORTED: Final = r"data-state|data-state-with-append|window_rank|sorted-map"
"""Names of states whose map keys are the fields that a ranking sorts by."""
_LOOKED_UP: Final = PATTERN + "unique-value|values"
"""States of a lookup join: rows of the table, not of the input."""
_ASYNC: Final = "_(?:keyed_)?async_wait_operator_state_"
"""Input rows that wait for an asynchronous call."""
_NAMED: Final = 10
"""Operators that a note lists."""
_WAITING: Final = "_delta_join_operator_async_wait_state_"
"""Elements of a delta join that wait: a tuple of a left record, a right one, a watermark, and the number of the input."""


@dataclass(frozen=True)
class _Row:
    names: tuple[str, ...]
    types: tuple[LogicalType, ...]

    def only(self, indices: Iterable[Any]) -> _Row | None:
        chosen = [i for i in indices if isinstance(i, int) and 0 <= i < len(self.names)]
        return _Row(tuple(self.names[i] for i in chosen), tuple(self.types[i] for i in chosen)) if chosen else None


# ---- compiled plans


def names_of_plan(text: str, operators: Sequence[Named]) -> tuple[NameRule, ...]:
    """Rules for the operators of a snapshot that a compiled plan describes.

    :param text: the plan, JSON.
    :raises UsageError: where it is not a compiled plan, or where none of its nodes is in the snapshot.
    """
    nodes, edges = _read_plan(text)
    if not any(_operators_of(node, operators) for node in nodes.values()):
        raise UsageError(
            f"no operator of the snapshot is among the {pluralize(len(nodes), 'node')} of the compiled plan",
            advice="give the plan of the job that wrote the snapshot",
        )
    rules: list[NameRule] = []
    for node in nodes.values():
        found = _operators_of(node, operators)
        if found:
            inputs = [nodes[source] for source, target in edges if target == node["id"] and source in nodes]
            for operator in found:
                rules.extend(_rules(node, inputs, operator))
    return tuple(rules)


def note_on_plan(text: str, operators: Sequence[Named]) -> list[str]:
    """A sentence if the snapshot lacks operators with state of a compiled plan; else nothing."""
    nodes, _ = _read_plan(text)
    with_state = [node for node in nodes.values() if node.get("state")]
    lacking = [f"{_kind(node)}[{node['id']}]" for node in with_state if not _operators_of(node, operators)]
    if not lacking:
        return []
    more = ", …" if len(lacking) > _NAMED else ""
    of = pluralize(len(with_state), "operator")
    return [f"{len(lacking)} of {of} with state in the plan not found in the snapshot: {', '.join(lacking[:_NAMED])}{more}"]


def operators_of_plan(text: str, operators: Sequence[Named]) -> frozenset[str]:
    """The ids of those operators of a snapshot that a compiled plan has.

    :param text: the plan, JSON.
    :raises UsageError: where it is not a compiled plan.
    """
    nodes, _ = _read_plan(text)
    return frozenset(id_ for node in nodes.values() for id_ in _operators_of(node, operators))


def queries_of_plan(text: str, operators: Sequence[Named]) -> dict[str, str]:
    """What the operators of a snapshot compute that a compiled plan has, by their ids: equal for equal queries.

    An operator is found by its uid only, as a restore finds it.

    :param text: the plan, JSON.
    :returns: a hash of the node and all nodes before it, without their ids and descriptions.
    :raises UsageError: if it is not a compiled plan.
    """
    nodes, edges = _read_plan(text)
    inputs: dict[int, list[int]] = {}
    for source, target in edges:
        inputs.setdefault(target, []).append(source)
    known: dict[int, str] = {}

    def query(number: int, above: frozenset[int]) -> str:
        if number not in known:
            before = [query(i, above | {number}) for i in inputs.get(number, ()) if i in nodes and i not in above]
            own = {key: value for key, value in nodes[number].items() if key not in ("id", "uid", "description")}
            own["type"] = _kind(nodes[number])
            whole = json.dumps([own, before], sort_keys=True)
            known[number] = hashlib.sha256(whole.encode()).hexdigest()
        return known[number]

    return {
        operator.id: query(number, frozenset())
        for number, node in nodes.items()
        for operator in operators
        if operator.uid in _uids(node) or operator.id in {operator_id(uid) for uid in _uids(node)}
    }


def _read_plan(text: str) -> tuple[dict[int, Mapping[str, Any]], list[tuple[Any, Any]]]:
    """The nodes by id, and the edges."""
    try:
        document = json.loads(text)
        nodes = {n["id"]: n for n in document["nodes"] if isinstance(n["id"], int) and isinstance(n["type"], str)}
        edges = [(e["source"], e["target"]) for e in document["edges"]]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise UsageError(
            "this is not a compiled plan of Flink SQL", advice="give the file that COMPILE PLAN wrote"
        ) from error
    return nodes, edges


def _uids(node: Mapping[str, Any]) -> set[str]:
    kind = _kind(node)
    uids = {f"{node['id']}_{name}" for name in (kind, *_TRANSFORMATIONS.get(kind, ()))}
    if isinstance(node.get("uid"), str):
        uids.add(node["uid"])
    return uids


def _operators_of(node: Mapping[str, Any], operators: Sequence[Named]) -> list[str]:
    uids = _uids(node)
    ids = {operator_id(uid) for uid in uids}
    exact = [o.id for o in operators if o.id in ids or o.uid in uids]
    return exact or [o.id for o in operators if _bears(o, node)]


def _kind(node: Mapping[str, Any]) -> str:
    """``stream-exec-group-aggregate_1`` is a ``group-aggregate``."""
    name: str = node["type"].removeprefix("stream-exec-").removeprefix("batch-exec-")
    return re.sub(r"_\d+$", "", name)


def _bears(operator: Named, node: Mapping[str, Any]) -> bool:
    """``Join[88] -> Calc[89]`` is the operator of node 88, whose description begins with ``Join``, and of node 89."""
    what = re.match(r"\w+", str(node.get("description", "")))
    called = {what.group() if what else "", "SinkMaterializer" if _kind(node) == "sink" else ""} - {""}
    parts = re.findall(r"(\w+)\[(\d+)\]", operator.name or "")
    return any(name in called and int(number) == node["id"] for name, number in parts)


def _rules(node: Mapping[str, Any], inputs: Sequence[Mapping[str, Any]], operator: str) -> Iterator[NameRule]:
    rows = [_row(i.get("outputType")) for i in inputs]
    key = _key(node, inputs, rows)
    if key is not None:
        yield NameRule(operator, "", ("key", ANYWHERE), key.names, key.types)
    if rows and rows[0] is not None:
        yield NameRule(operator, PATTERN + _ASYNC, ("value", ANYWHERE), rows[0].names, rows[0].types)
    if _kind(node) == "lookup-join":
        looked_up = _looked_up(node, rows)
        if looked_up is not None:
            yield NameRule(operator, _LOOKED_UP, ("value", ANYWHERE), looked_up.names, looked_up.types)
        return
    if _kind(node) == "delta-join":
        for part, row in zip(("f0", "f1"), rows, strict=False):
            if row is not None:
                yield NameRule(operator, _WAITING, ("value", "element", part, ANYWHERE), row.names, row.types)
        return
    for pattern, input_number in _ROWS:
        for number, row in enumerate(rows):
            if row is None or (input_number is not None and number != min(input_number, len(rows) - 1)):
                continue
            # With several inputs, only rows of one's own: they may have the same types.
            state = PATTERN + pattern if input_number is not None else PATTERN + pattern.replace(r"(\d+)", str(number))
            yield NameRule(operator, state, ("value", ANYWHERE), row.names, row.types)
            sorted_by = _sort_key(node, row)
            if input_number == 0 and sorted_by is not None:
                yield NameRule(operator, PATTERN + _SORTED, ("value", ANYWHERE), sorted_by.names, sorted_by.types)
    # Behind the rules for whole rows: a key of all fields has their names anyway.
    for state, number, fields in _unique_keys(node):
        row = rows[number] if number < len(rows) else None
        unique = row.only(fields) if row is not None else None
        if unique is not None:
            yield NameRule(operator, state, ("value", ANYWHERE), unique.names, unique.types)


def _row(value: Any) -> _Row | None:
    type_ = plan_type(value)
    return _Row(type_.names, type_.children) if type_.root == "ROW" and type_.names else None


def _key(node: Mapping[str, Any], inputs: Sequence[Mapping[str, Any]], rows: Sequence[_Row | None]) -> _Row | None:
    """The fields by which the first input is distributed: those of an exchange, else those that the node says."""
    if not rows or rows[0] is None:
        return None
    if _kind(node) == "sink":
        return rows[0].only(_primary_key(node))
    if _kind(node) == "lookup-join":
        # Flink distributes the input anew: by its upsert key in ascending order, else by all fields.
        keys = [i for i in _list(node.get("inputUpsertKey")) if isinstance(i, int)]
        return rows[0].only(sorted(keys) or range(len(rows[0].names)))
    if _kind(inputs[0]) == "exchange":
        for properties in inputs[0].get("inputProperties") or ():
            distribution = properties.get("requiredDistribution") if isinstance(properties, dict) else None
            if isinstance(distribution, dict) and distribution.get("type") == "HASH":
                return rows[0].only(_list(distribution.get("keys")))
    for path in (
        ("grouping",), ("finalAggGrouping",), ("uniqueKeys",), ("partitionKeys",), ("joinSpec", "leftKeys"),
        ("intervalJoinSpec", "joinSpec", "leftKeys"), ("partition", "fields"), ("partitionSpec", "fields"),
        ("overSpec", "partition", "fields"), ("leftJoinKeys",),
    ):  # fmt: skip
        found = rows[0].only(_list(_at(node, path)))
        if found is not None:
            return found
    return None


def _primary_key(node: Mapping[str, Any]) -> list[int]:
    """The indices of a sink's primary key in its rows: physical columns, after them metadata that is written."""
    schema = _at(node, ("dynamicTableSink", "table", "resolvedTable", "schema"))
    columns = [c for c in _list(_at(schema, ("columns",))) if isinstance(c, dict)]
    names = [c.get("name") for c in columns if c.get("kind", "PHYSICAL") == "PHYSICAL"]
    return [names.index(name) for name in _list(_at(schema, ("primaryKey", "columns"))) if name in names]


def _looked_up(node: Mapping[str, Any], rows: Sequence[_Row | None]) -> _Row | None:
    """The fields of the table: what comes after those of the input in what the join gives."""
    joined = _row(node.get("outputType"))
    if joined is None or not rows or rows[0] is None:
        return None
    return joined.only(range(len(rows[0].names), len(joined.names)))


def _sort_key(node: Mapping[str, Any], row: _Row) -> _Row | None:
    for path in (("orderBy", "fields"), ("sortSpec", "fields"), ("overSpec", "groups")):
        found = row.only(f.get("index", f.get("fieldIndex")) for f in _list(_at(node, path)) if isinstance(f, dict))
        if found is not None:
            return found
    return None


def _unique_keys(node: Mapping[str, Any]) -> Iterator[tuple[str, int, list[Any]]]:
    """States whose map keys are a unique key of an input: of which input, and its fields."""
    for state, number, path in (("left-records", 0, "leftUpsertKeys"), ("right-records", 1, "rightUpsertKeys")):
        keys = _list(node.get(path))
        if len(keys) == 1:  # which of several Flink takes, the plan does not say
            yield state, number, _list(keys[0])
    yield "data-state-with-update", 0, _list(_at(node, ("rankStrategy", "primaryKeys")))


def _at(value: Any, path: Sequence[str]) -> Any:
    for step in path:
        value = value.get(step) if isinstance(value, dict) else None
    return value


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


# ---- names by hand


def names_of_file(text: str, operators: Sequence[Named], json_text: bool = False) -> tuple[NameRule, ...]:
    """Rules of a names file.

    :param text: TOML, or JSON of the same shape.
    :raises UsageError: if its content is invalid.
    """
    try:
        document = json.loads(text) if json_text else tomllib.loads(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"the names file is not {'JSON' if json_text else 'TOML'}: {error}") from error
    by_operator = document.get("operator") if isinstance(document, dict) else None
    if not isinstance(by_operator, dict) or set(document) != {"operator"}:
        raise UsageError("a names file has one table, operator", expected='[operator."<uid, id or name>"."<state>"]')
    rules: list[NameRule] = []
    for label, states in by_operator.items():
        found = [o.id for o in operators if label in (o.id, o.uid, o.name) or operator_id(label) == o.id]
        if not found:
            raise UsageError(f"the names file speaks of an operator {label!r}, which the snapshot does not have")
        for state, paths in _table(states, label).items():
            for path, names in _table(paths, f"{label}.{state}").items():
                if not isinstance(names, list) or not names or not all(isinstance(n, str) and n for n in names):
                    raise UsageError(f"the names of {label}.{state}.{path} are {names!r}", expected="a list of strings")
                steps = tuple(path.split("."))
                if steps[0] not in ("key", "namespace", "value"):
                    raise UsageError(f"there is no column {steps[0]!r}", expected="key, namespace or value")
                rules.extend(NameRule(operator, state, steps, tuple(names)) for operator in found)
    return tuple(rules)


def _table(value: Any, where: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise UsageError(f"{where} is {value!r} in the names file", expected="a table")
    return value
