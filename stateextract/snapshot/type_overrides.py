"""The wishes of a job: which columns of which states are to have another type.

In the job file ``[types]`` has lines like ``"orders/total/value.amount" = "decimal(38,10)"``: an operator (uid, name,
hex id, or ``*`` for any), a state, a path, and the type (``columnar/convert/type_overrides.py``). Names may hold
slashes; they are told apart by the operators and states that there are. May import options' texts, the model and
wishes; knows no files.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import pyarrow as pa

from stateextract.columnar.convert.type_overrides import parse_override, wished_schema
from stateextract.errors import StateExtractError, UsageError
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
        self._lines = [(place, type_) for place, _, type_ in (line.rpartition("=") for line in types)]
        self._used: set[str] = set()
        for _, type_ in self._lines:
            parse_override("value", type_)

    def of(self, operator: OperatorState, state: str) -> OverrideTexts:
        """The wishes for a state."""
        found = []
        for place, type_ in self._lines:
            for name, rest in beginnings(place):
                prefix = f"{state}/"
                if rest.startswith(prefix) and len(rest) > len(prefix) and (name == "*" or is_called(operator, name)):
                    self._used.add(place)
                    found.append((rest.removeprefix(prefix), type_))
                    break
        return tuple(found)

    def schema(self, operator: OperatorState, state: str, schema: pa.Schema) -> pa.Schema:
        """A state's schema as it is wanted."""
        try:
            return wished_schema(schema, [parse_override(path, type_) for path, type_ in self.of(operator, state)])
        except StateExtractError as error:
            raise error.at(operator=operator.uid or operator.name or operator.id, state=state) from None

    def refuse_strangers(self, operators: Collection[OperatorState]) -> None:
        """A wish for an operator that there is not is a mistake."""
        for place, _ in self._lines:
            names = [name for name, _ in beginnings(place)]
            if "*" not in names and not any(is_called(o, name) for o in operators for name in names):
                raise _mistake(place, "operator")

    def refuse_unused(self, unread: Collection[OperatorState] = ()) -> None:
        """A wish that is about nothing is a mistake.

        :param unread: operators whose states were not asked for yet; a wish may be for one of these.
        """
        for place, _ in self._lines:
            names = [name for name, _ in beginnings(place)]
            waits = unread and ("*" in names or any(is_called(o, name) for o in unread for name in names))
            if not waits and place not in self._used:
                raise _mistake(place, "chosen state")


def _mistake(place: str, what: str) -> UsageError:
    return UsageError(
        f"the type of {place!r} is set, and no {what} is called so",
        expected="OPERATOR/STATE/PATH",
        advice="the operator is a uid, a name, a hex id or *; the path begins with key, namespace or value",
    )


def beginnings(place: str) -> Iterator[tuple[str, str]]:
    """What the operator may be called, and the rest: names may hold slashes."""
    parts = place.split("/")
    for at in range(1, len(parts)):
        yield "/".join(parts[:at]), "/".join(parts[at:])


def is_called(operator: OperatorState, name: str) -> bool:
    """Whether an operator has this uid, name or hex id."""
    # Before Flink 2.0 only the hash of a uid was stored.
    return name in (operator.uid, operator.name) or operator.id in (name.lower(), operator_id(name))
