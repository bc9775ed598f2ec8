"""Why states cannot be decoded, each cause once, however many states it makes unreadable.

A value of an unknown class hides the states after it in its key group, so that one class is the reason of many states.
Depends on the texts of problems only, which the report of a job, statistics and their documents all have.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from stateextract.printable import agreeing, pluralize

K = TypeVar("K", bound=Hashable)

USER_KEYS_CHANGED = "the serializer of the map's keys changed, so entries before and after cannot be compared"

_COUNTED = "(?:the rows cannot be counted: )?"
_AFTER = re.compile(_COUNTED + "unreadable after state .* in the same key group: (?=(?:a )?values? of )", re.DOTALL)
_UNDECODABLE = re.compile(_COUNTED + "(?:a )?values? of (.+?) cannot be decoded: (.*)", re.DOTALL)
_KINDS = {"its class is not known": "class is not described", "snapshot class is not known": "serializer is not known"}


def problem_after(state: str, message: str) -> str:
    """The problem of a state that is unreadable because of a state before it.

    :param message: of that state's error.
    """
    return f"unreadable after state {state!r} in the same key group: {message}"


@dataclass
class Cause(Generic[K]):
    """Values of a class that cannot be decoded.

    :param message: why not.
    :param own: the states that have such values; :param after: those that are unreadable because they follow them.
    """

    class_name: str
    message: str
    own: list[K] = field(default_factory=list)
    after: list[K] = field(default_factory=list)

    @property
    def sentence(self) -> str:
        """The cause and how many states it makes unreadable."""
        kind = next((what for part, what in _KINDS.items() if part in self.message), None)
        what = f"values of {self.class_name} cannot be decoded" if kind is None else f"1 {kind}: {self.class_name}"
        number = len(self.after) or len(self.own)
        return f"{what} → {pluralize(number, 'state')}{' after it' if self.after else ''} {agreeing(number, 'is')} unreadable"


def causes_of(states: Iterable[tuple[K, Sequence[str | None]]]) -> list[Cause[K]]:
    """The causes, in the order in which they are met.

    :param states: what identifies each state, and its reason and problems.
    """
    found: dict[str, Cause[K]] = {}
    for key, texts in states:
        for text in filter(None, texts):
            cause, is_after = _cause(text)
            if cause is not None:
                known = found.setdefault(cause[0], Cause(*cause))
                to, other = (known.after, known.own) if is_after else (known.own, known.after)
                if key not in to and key not in other:
                    to.append(key)
    return list(found.values())


def causes_once(states: Iterable[tuple[K, Sequence[str | None]]]) -> dict[K, str]:
    """The cause's sentence for each state that shares it with others: one state's own reason says more."""
    causes = [(cause.sentence, (*cause.own, *cause.after)) for cause in causes_of(states)]
    return {key: sentence for sentence, keys in causes if len(keys) > 1 for key in keys}


def is_caused(text: str) -> bool:
    """Whether a problem is one that :func:`causes_of` reports."""
    return _cause(text)[0] is not None


def _cause(text: str) -> tuple[tuple[str, str] | None, bool]:
    """Class and reason, and whether the class is that of a state before."""
    before = _AFTER.match(text)
    found = _UNDECODABLE.match(text[before.end() :] if before else text)
    return (None if found is None else (found[1], found[2])), before is not None
