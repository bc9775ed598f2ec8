"""Which operator a user means, by UID, name or operator ID; and how operators are named and ordered by these."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol, TypeVar

from stateextract.metadata.uid import operator_id
from stateextract.printable import find_named


class Named(Protocol):
    """Whatever has an operator's names."""

    @property
    def id(self) -> str: ...

    @property
    def uid(self) -> str | None: ...

    @property
    def name(self) -> str | None: ...


N = TypeVar("N", bound=Named)


def by_name(operator: Named) -> tuple[str, str]:
    """Sorts operators as listings have them."""
    return operator.uid or operator.name or "", operator.id


def operator_label(operator: Named) -> str:
    """How a person calls an operator."""
    return operator.uid or operator.name or operator.id


def find_operators(name: str, operators: Iterable[N]) -> list[N]:
    """The operators with this UID, name or operator ID; where none has, that whose id Flink makes of it."""
    known = list(operators)
    found = find_named(name, known, lambda o: (o.uid, o.name)) or [o for o in known if name.lower() == o.id]
    # Before Flink 2.0 only the hash of a uid was stored.
    return found or [o for o in known if o.id == operator_id(name)]
