"""The type overrides of a job: which columns of which states are to have another type.

In the job file ``[types]`` has lines like ``"orders/total/value.amount" = "decimal(38,10)"``: an operator (uid, name,
hex ID), a state, a path, and the type (``columnar/convert/type_overrides.py``). In each of the three, ``*`` represents any
letters and ``?`` for one. Names may contain slashes; they are distinguished by the operators and states that there are. May
import options' texts, the model and overrides; knows no files.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache

import pyarrow as pa

from stateextract.columnar.convert.type_overrides import located, overridden_schema, parse_override
from stateextract.errors import UsageError
from stateextract.metadata.model import OperatorState
from stateextract.metadata.uid import operator_id

OverrideTexts = tuple[tuple[str, str], ...]
"""Paths and types, as a plan keeps them for the tasks."""


class JobTypeOverrides:
    """What is wanted, by operator and state.

    :param types: lines of the job file, as ``OPERATOR/STATE/PATH=TYPE``.
    :raises UsageError: where a type is none.
    """

    def __init__(self, types: Sequence[str]) -> None:
        self._lines = [(target, type_) for target, _, type_ in (line.rpartition("=") for line in types)]
        self._used: set[str] = set()
        for _, type_ in self._lines:
            parse_override("value", type_)

    def concern(self, operator: OperatorState, state: str) -> None:
        """Note the lines that are about a state which there is."""
        self._used |= {target for target, _ in self._lines if next(_matches(target, operator, state), None)}

    def fitting(self, operator: OperatorState, state: str, schema: pa.Schema, fine: bool = False) -> OverrideTexts:
        """The overrides of a state, one for each path: a line without patterns wins over one with, then the last one.

        A line whose state or path is a pattern is about those columns that can become its type; it need not be about any.

        :param schema: the state's columns.
        :param fine: instants of PyFlink have nanoseconds.
        :raises UsageError: where a line without patterns leads nowhere, or its column cannot become the type.
        """
        by_pattern: dict[str, str] = {}
        exact: dict[str, str] = {}
        for target, type_ in self._lines:
            match = next(_matches(target, operator, state), None)
            if match is None:
                continue
            self._used.add(target)
            path, pattern = match
            for one in _paths(schema, path) if is_pattern(path) else [path]:
                override = parse_override(one, type_, fine)
                try:
                    at = str(located(schema, override))
                    overridden_schema(schema, [override])
                except UsageError:
                    if pattern:
                        continue
                    raise
                (by_pattern if pattern else exact)[at] = type_
        return tuple((by_pattern | exact).items())

    def refuse_strangers(self, operators: Collection[OperatorState]) -> None:
        """A type for an operator that does not exist is a mistake."""
        for target, _ in self._lines:
            names = [name for name, _ in beginnings(target)]
            if not any(fits(name, o) for o in operators for name in names):
                raise _mistake(target, "operator")

    def refuse_unused(self, unread: Collection[OperatorState] = ()) -> None:
        """A type that applies to no column is a mistake.

        :param unread: operators whose states were not asked for yet; a type may be for one of these.
        """
        for target, _ in self._lines:
            names = [name for name, _ in beginnings(target)]
            waits = any(fits(name, o) for o in unread for name in names)
            if not waits and target not in self._used:
                raise _mistake(target, "selected state")


def _mistake(target: str, what: str) -> UsageError:
    return UsageError(
        f"the type of {target!r} is set, and no {what} has this name",
        expected="OPERATOR/STATE/PATH",
        advice="the operator is a UID, a name or a hex ID; * matches any characters; the path begins with key, namespace or "
        "value",
    )


def beginnings(target: str) -> Iterator[tuple[str, str]]:
    """What the operator may be called, and the rest: names may hold slashes."""
    parts = target.split("/")
    for at in range(1, len(parts)):
        yield "/".join(parts[:at]), "/".join(parts[at:])


def _matches(target: str, operator: OperatorState, state: str) -> Iterator[tuple[str, bool]]:
    """The path of a line that is about a state, and whether its state or its path is a pattern."""
    for name, rest in beginnings(target):
        if not fits(name, operator):
            continue
        if rest.startswith(f"{state}/") and len(rest) > len(state) + 1:
            path = rest[len(state) + 1 :]
            yield path, is_pattern(path)
            return
        for of_state, path in beginnings(rest):
            if path and is_pattern(of_state) and matches(of_state, state):
                yield path, True
                return


def fits(name: str, operator: OperatorState) -> bool:
    """Whether an operator is called so, or as the pattern says."""
    if is_called(operator, name):
        return True
    return is_pattern(name) and any(matches(name, own) for own in (operator.uid, operator.name, operator.id) if own)


def is_pattern(text: str) -> bool:
    """Whether a text has letters that represent others."""
    return "*" in text or "?" in text


def matches(pattern: str, text: str) -> bool:
    """Whether a text is as the pattern says: ``*`` represents any letters, ``?`` for one."""
    return _compiled(pattern).fullmatch(text) is not None


@lru_cache(1024)
def _compiled(pattern: str) -> re.Pattern[str]:
    parts = re.split(r"([*?])", re.sub(r"\*+", "*", pattern))
    return re.compile("".join({"*": ".*", "?": "."}.get(part, re.escape(part)) for part in parts), re.DOTALL)


def _paths(schema: pa.Schema, pattern: str) -> list[str]:
    """The paths of a schema's columns, and of what is inside of them, that a pattern names."""
    found: list[str] = []

    def walk(path: str, type_: pa.DataType) -> None:
        if matches(pattern, path):
            found.append(path)
        if pa.types.is_struct(type_):
            for inner in type_:
                walk(f"{path}.{inner.name}", inner.type)
        elif pa.types.is_map(type_):
            walk(f"{path}.key", type_.key_type)
            walk(f"{path}.value", type_.item_type)
        elif pa.types.is_list(type_):
            walk(f"{path}.element", type_.value_type)

    for column in schema:
        walk(column.name, column.type)
    return found


def is_called(operator: OperatorState, name: str) -> bool:
    """Whether an operator has this UID, name or operator ID."""
    # Before Flink 2.0 only the hash of a uid was stored.
    return name in (operator.uid, operator.name) or operator.id in (name.lower(), operator_id(name))
