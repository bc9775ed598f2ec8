"""Rules: what must hold of a snapshot's states, in a TOML file, held against the statistics document and the rows.

The file is one of their own, or the job file.

    [[rules]]
    name = "orders stay small"
    operator = "orders-*"
    max-rows = 1_000_000
    max-value-bytes = "64 kB"

``docs/audit.md`` has all of them. A rule is about the states that ``operator`` (uid, name or id) and ``state`` match, each by
itself; patterns are those of a shell. Parses and compares; the function ``query`` runs SQL.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from stateextract.audit.document import OperatorDocument, StateDocument, Statistics
from stateextract.errors import UsageError
from stateextract.options import AUDIT, parse_size, show_size
from stateextract.printable import pluralize
from stateextract.snapshot.coverage import CANNOT_BE_READ, DECODED, NOT_SELECTED, PARTIAL, RAW, SKIPPED
from stateextract.state.kinds import OPERATOR_KINDS

Figure = int | float | None


@dataclass(frozen=True)
class _Limit:
    """A figure that must not be larger. ``None``: the state has none, so nothing is wrong."""

    of: Callable[[StateDocument], Figure]
    what: str
    kind: str


def _skew(state: StateDocument, of: str, name: str) -> Figure:
    skew = getattr(state.skew, of) if state.skew is not None else None
    value: Figure = None if skew is None else getattr(skew, name)
    return value


def _expired_share(state: StateDocument) -> Figure:
    ttl = state.ttl
    if ttl is None or ttl.expired is None or not ttl.rows_with_time:
        return None
    return ttl.expired / ttl.rows_with_time


LIMITS: Mapping[str, _Limit] = {
    "max-rows": _Limit(lambda s: s.rows, "rows", "count"),
    "max-keys": _Limit(
        lambda s: s.distinct_keys.count if s.distinct_keys is not None else None, "different keys", "count"
    ),
    "max-file-bytes": _Limit(lambda s: s.file_bytes, "bytes in files", "bytes"),
    "max-decoded-bytes": _Limit(lambda s: s.decoded_bytes, "bytes of values", "bytes"),
    "max-key-bytes": _Limit(lambda s: s.biggest_keys[0].bytes if s.biggest_keys else None, "bytes of a key", "bytes"),
    "max-value-bytes": _Limit(
        lambda s: s.biggest_values[0].bytes if s.biggest_values else None, "bytes of a value", "bytes"
    ),
    "max-key-group-skew": _Limit(
        lambda s: _skew(s, "key_groups", "max_over_mean"), "times the average key group's rows", "number"
    ),
    "max-key-group-top-percent-share": _Limit(
        lambda s: _skew(s, "key_groups", "top_percent_share"), "of the rows in a hundredth of the key groups", "number"
    ),
    "max-subtask-skew": _Limit(
        lambda s: _skew(s, "subtasks", "max_over_mean"), "times the average subtask's rows", "number"
    ),
    "max-expired-share": _Limit(_expired_share, "of the last accesses expired", "number"),
    "max-past": _Limit(
        lambda s: s.times.past if s.times is not None else None, "windows or timers in the past", "count"
    ),
}
"""The limits by their names in the file."""

_OTHERS = ("name", "operator", "state", "decoded", "owned", "schema", "sql")
_SETTINGS = ("as-of", "ttl", "uids")


@dataclass(frozen=True)
class Rule:
    """One rule.

    :param limits: by name. :param decoded: every state must be decoded; :param owned: every operator must be known.
    :param schema: a file of ``stateextract schema --format json``, that the columns must equal.
    :param sql: a query of the table ``state`` that must give no row.
    """

    name: str
    operator: str | None = None
    state: str | None = None
    limits: Mapping[str, float] = field(default_factory=dict)
    decoded: bool = False
    owned: bool = False
    schema: str | None = None
    sql: str | None = None

    def about(self, operator: OperatorDocument, state: StateDocument) -> bool:
        """Whether the rule is about this state."""
        if state.status == NOT_SELECTED:
            return False
        names = [name for name in (operator.operator_uid, operator.operator_name, operator.operator_id) if name]
        return self.matches(names, state.state_name)

    def matches(self, operator_names: Sequence[str], state: str | None) -> bool:
        """Whether an operator of these names and a state are what the patterns say."""
        if self.operator is not None and not any(fnmatchcase(name, self.operator) for name in operator_names):
            return False
        return self.state is None or (state is not None and fnmatchcase(state, self.state))


@dataclass(frozen=True)
class RuleFile:
    """The rules, and what the statistics are to be asked (``as-of``, ``ttl``, ``uids``)."""

    rules: list[Rule]
    settings: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Violation:
    """Where a rule does not hold.

    :param value: the figure, ``None`` where it is none; :param rows: some that a query gave;
    :param row_count: how many it gave.
    """

    operator_label: str
    state_name: str | None
    what: str
    value: Figure = None
    limit: Figure = None
    rows: list[Any] = field(default_factory=list)
    row_count: int = 0


@dataclass(frozen=True)
class RuleResult:
    """What became of a rule: of how many states and rows it is, and where it does not hold."""

    name: str
    states: int
    rows: int
    violations: list[Violation]

    @property
    def holds(self) -> bool:
        return not self.violations


Query = Callable[[OperatorDocument, StateDocument, str], tuple[list[Any], int]]
"""Gives some of the rows that a query of a state's rows gives, and how many it gives."""

Schemas = Callable[[str], Any]
"""Gives the document of a file with schemas."""


def parse_rules(text: str, name: str = "the rules file", *, job_file: bool = False) -> RuleFile:
    """The rules of a file.

    :param job_file: whether it is a job file, whose other tables ``options.py`` reads.
    :raises UsageError: for what cannot be right.
    """
    try:
        document = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise UsageError(f"{name} is not TOML: {error}") from error
    unknown = [table for table in document if table not in AUDIT]
    if unknown and not job_file:
        raise UsageError(f"{name}: {unknown[0]!r} is unknown", expected="[audit] and [[rules]]")
    tables, settings = document.get("rules"), document.get("audit", {})
    if not isinstance(tables, list) or not tables or not all(isinstance(table, dict) for table in tables):
        raise UsageError(f"{name} has no rules", expected="[[rules]] tables")
    if not isinstance(settings, dict):
        raise UsageError(f"{name}: 'audit' is {settings!r}", expected="an [audit] table")
    for setting in settings:
        if setting not in _SETTINGS:
            raise UsageError(f"{name}: [audit] {setting!r} is unknown", expected="one of " + ", ".join(_SETTINGS))
    return RuleFile([_rule(table, f"{name}: rule {i}") for i, table in enumerate(tables, 1)], settings)


def _rule(table: Mapping[str, Any], where: str) -> Rule:
    limits = {}
    for option, value in table.items():
        if option in LIMITS:
            limits[option] = _number(value, LIMITS[option].kind, f"{where}: {option}")
        elif option not in _OTHERS:
            raise UsageError(f"{where}: {option!r} is unknown", expected="one of " + ", ".join((*_OTHERS, *LIMITS)))
        elif not isinstance(value, bool if option in ("decoded", "owned") else str):
            raise UsageError(
                f"{where}: {option} is {value!r}", expected="true" if option in ("decoded", "owned") else "a string"
            )
    others = {name: table[name] for name in _OTHERS if name in table and name != "name"}
    wants = [*limits, *(name for name in ("decoded", "owned", "schema", "sql") if table.get(name))]
    if not wants:
        raise UsageError(f"{where} demands nothing", expected="a limit, decoded, owned, schema or sql")
    about = "/".join(str(others[name]) for name in ("operator", "state") if name in others)
    return Rule(
        str(table.get("name") or f"{', '.join(wants)}{' of ' + about if about else ''}"), limits=limits, **others
    )


def _number(value: Any, kind: str, where: str) -> float:
    if kind == "bytes" and isinstance(value, str):
        value = parse_size(value)
    if not isinstance(value, int | float) or isinstance(value, bool) or value < 0:
        raise UsageError(
            f"{where} is not a number", expected="a size as '64 MB' or a number" if kind == "bytes" else "a number"
        )
    return value


def judge(rules: list[Rule], document: Statistics, query: Query, schemas: Schemas) -> list[RuleResult]:
    """Hold rules against a snapshot.

    :raises StateExtractError: where a query or a file of schemas cannot be right.
    """
    return [_judge(rule, document, query, schemas) for rule in rules]


def _judge(rule: Rule, document: Statistics, query: Query, schemas: Schemas) -> RuleResult:
    about = [(operator, state) for operator, state in document.states if rule.about(operator, state)]
    if not about:
        nothing = Violation(rule.operator or "*", rule.state, "no state of the snapshot is what the rule is about")
        return RuleResult(rule.name, 0, 0, [nothing])
    violations = []
    for operator, state in about:
        label, name = operator.operator_label, state.state_name
        unknown = _unknown(rule, state)
        if unknown is not None:
            violations.append(Violation(label, name, f"it cannot be judged: {unknown}"))
        for limited, limit in rule.limits.items():
            value = LIMITS[limited].of(state)
            if value is not None and value > limit:
                what = f"{_shown(value, limited)} {LIMITS[limited].what}, and at most {_shown(limit, limited)} are allowed"
                violations.append(Violation(label, name, what, value, limit))
        if rule.decoded and state.status != DECODED:
            reason = f": {state.reason}" if state.reason else ""
            violations.append(Violation(label, name, f"{state.state_kind} is {state.status}{reason}"))
        if rule.sql is not None and state.columns:
            rows, count = query(operator, state, rule.sql)
            if count:
                given = f"the query returns {pluralize(count, 'row')}"
                violations.append(Violation(label, name, given, rows=rows, row_count=count))
    if rule.owned:
        owners = {operator.operator_id: operator for operator, _ in about}
        if any(o.unowned is None for o in owners.values()):
            raise UsageError(
                f"the rule {rule.name!r} uses `owned`, but the operators of the job are not known",
                advice="name a file of uids in [audit], or give a --plan",
            )
        violations += [
            Violation(o.operator_label, None, "no operator of the job owns its state") for o in owners.values() if o.unowned
        ]
    if rule.schema is not None:
        there = {(operator.operator_id, state.state_name) for operator, state in document.states}
        violations += _schema_violations(rule, about, there, schemas(rule.schema))
    return RuleResult(rule.name, len(about), sum(state.rows for _, state in about), violations)


def _unknown(rule: Rule, state: StateDocument) -> str | None:
    """Why a rule cannot be held against a state, whose statistics would be those of what was read only."""
    asks = rule.sql is not None or rule.schema is not None or any(name != "max-file-bytes" for name in rule.limits)
    if asks and state.state_name is not None and state.status in (PARTIAL, RAW, SKIPPED, *CANNOT_BE_READ):
        return f"it is {state.status}{': ' + state.reason if state.reason else ''}"
    if "max-expired-share" in rule.limits and state.ttl is not None and state.ttl.ttl_ms is None:
        return "no time to live is given for it"
    return None


def _schema_violations(
    rule: Rule,
    about: list[tuple[OperatorDocument, StateDocument]],
    there: Container[tuple[str | None, str | None]],
    committed: Any,
) -> list[Violation]:
    """Where columns differ from those of the committed document, and which of its states are gone.

    :param there: the snapshot's states, those that were not selected too.
    """
    documents = committed if isinstance(committed, list) else [committed]
    try:
        known = {
            (d["operator_id"], d["state_name"], d["state_scope"]): {c["name"]: c["arrow"] for c in d["columns"]}
            for d in documents
        }
    except (KeyError, TypeError, AttributeError) as error:
        raise UsageError(
            "a file of schemas is none", advice="write it by stateextract schema PATH --format json"
        ) from error
    violations = []
    for d in documents:
        names = [name for name in (d.get("operator_label"), d["operator_id"]) if name]
        if (d["operator_id"], d["state_name"]) not in there and rule.matches(names, d["state_name"]):
            violations.append(Violation(str(names[0]), d["state_name"], "the snapshot does not have this state"))
    for operator, state in about:
        if state.state_name is None or not state.schema:
            continue
        label, name = operator.operator_label, state.state_name
        have = {f.name: f.type for f in state.schema}
        scope = "operator" if state.state_kind in OPERATOR_KINDS else "keyed"
        expected = known.get((operator.operator_id, name, scope))
        if expected is None:
            violations.append(Violation(label, name, "the committed schemas do not have this state"))
            continue
        for column in [*expected, *(n for n in have if n not in expected)]:
            if have.get(column) != expected.get(column):
                was, is_ = (columns.get(column) or "not there" for columns in (expected, have))
                violations.append(Violation(label, name, f"column {column} was {was}, and is {is_}"))
    return violations


def _shown(value: float, name: str) -> str:
    if LIMITS[name].kind == "bytes":
        return show_size(int(value))
    return f"{value:,.2f}" if isinstance(value, float) else f"{value:,}"


def verdicts_as_dict(document: Statistics, verdicts: list[RuleResult]) -> dict[str, Any]:
    """The document of ``stateextract audit --format json``."""
    return {
        "format": 1,
        "tool_version": document.tool_version,
        "snapshot": asdict(document.snapshot),
        "as_of_ms": document.as_of_ms,
        "holds": all(verdict.holds for verdict in verdicts),
        "rules": [{"holds": verdict.holds, **asdict(verdict)} for verdict in verdicts],
    }
