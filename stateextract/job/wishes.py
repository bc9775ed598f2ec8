"""The wishes of a job: which columns of which states are to have another type.

In the job file ``[types]`` has lines like ``"orders/total/value.amount" = "decimal(38,10)"``: an operator (uid, name, hex id,
or ``*`` for any), a state, a path, and the type (``columnar/wishes.py``). Names may hold slashes; they are told apart by
the operators and states that there are. May import options' texts, the model and wishes; knows no files.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from stateextract.columnar.wishes import parse_wish, wished_schema
from stateextract.errors import StateExtractError, UsageError
from stateextract.metadata.model import OperatorState

WishTexts = tuple[tuple[str, str], ...]
"""Paths and types, as a plan keeps them for the tasks."""


class JobWishes:
    """What is wanted, by operator and state.

    :param types: lines of the job file, as ``OPERATOR/STATE/PATH=TYPE``.
    """

    def __init__(self, types: Sequence[str]) -> None:
        self._lines = [(place, type_) for place, _, type_ in (line.rpartition("=") for line in types)]
        self._used: set[str] = set()

    def of(self, operator: OperatorState, state: str) -> WishTexts:
        """The wishes for a state."""
        found = []
        for place, type_ in self._lines:
            for name in ("*", operator.uid, operator.name, operator.id):
                prefix = f"{name}/{state}/"
                if name and place.startswith(prefix) and len(place) > len(prefix):
                    self._used.add(place)
                    found.append((place.removeprefix(prefix), type_))
                    break
        return tuple(found)

    def schema(self, operator: OperatorState, state: str, schema: pa.Schema) -> pa.Schema:
        """A state's schema as it is wanted."""
        try:
            return wished_schema(schema, [parse_wish(path, type_) for path, type_ in self.of(operator, state)])
        except StateExtractError as error:
            raise error.at(operator=operator.uid or operator.name or operator.id, state=state) from None

    def refuse_unused(self) -> None:
        """A wish that is about nothing is a mistake."""
        for place, _ in self._lines:
            if place not in self._used:
                raise UsageError(
                    f"the type of {place!r} is set, and no chosen state is called so",
                    expected="OPERATOR/STATE/PATH",
                    advice="the operator is a uid, a name, a hex id or *; the path begins with key, namespace or value",
                )
