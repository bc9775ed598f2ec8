"""What options are called at the doors of the project: the command line, Spark's sources, and Python.

Messages name options as the command line does (``--path-map``). :meth:`StateExtractError.worded` puts the words of another
door in their place where an error leaves by it, and leaves out advice that cannot be followed there. Imports nothing of the
project.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import ClassVar

OptionNames = tuple[str | None, str | None]

OPTIONS: dict[str, OptionNames] = {
    "--against": (None, "against"),
    "--allow-non-restored-state": (None, "allow_non_restored"),
    "--backend": (None, "backend"),
    "--flink": (None, "flink"),
    "--max-parallelism": (None, "max_parallelism"),
    "--old-classpath": (None, "classpath of open_snapshot"),
    "--same-declarations": (None, "same_declarations"),
    "--same-job": (None, "same_job"),
    "--old-plan": (None, "plan of open_snapshot"),
    **dict.fromkeys(("--conf", "--config", "--engine", "--from", "--rules", "--workers"), (None, None)),
}
"""The option in Spark's sources, and as a keyword argument in Python; ``None``: only the command line has it.

``options.py`` adds its table; here are options of single commands.
"""

_PHRASES: dict[str, tuple[str, str]] = {
    # Spark's sources keep nothing raw, and have no columns of nanoseconds.
    "--on-undecodable to skip or raw": ("onUndecodable to skip", "on_undecodable to skip or raw"),
    " or nanoseconds (which Spark cannot read)": ("", " or nanoseconds (which Spark cannot read)"),
    "set --timestamps to nanoseconds": ("compare them on the command line, with nanoseconds", "set timestamps to nanoseconds"),
    # What only a job file can hold.
    "a [[kryo.class]] in the job file": ("an entry of kryoClasses", "an entry of kryo_classes"),
}

# Patterns are compiled when they are used: most commands show none of these words.
_FLAG = r"(?<![\w-])--[a-z][a-z-]*[a-z]"
_NAMED = "|".join([*(re.escape(phrase) for phrase in _PHRASES), _FLAG])
_ALTERNATIVES = "(; |, or )"


@dataclass(frozen=True)
class Door:
    """Where a message is read.

    :param column: in the tables, counted from one; 0 is the command line, whose words they are.
    :param flags: the options that can be set there, as the command line calls them; ``None``: all that the door has a name for.
    """

    column: int
    flags: frozenset[str] | None = None

    COMMAND_LINE: ClassVar[Door]
    SPARK: ClassVar[Door]
    PYTHON: ClassVar[Door]

    def having(self, flags: Iterable[str]) -> Door:
        """The door of a command, or of one of Spark's sources, that has these options."""
        return replace(self, flags=frozenset(flags))

    def words(self, text: str) -> str:
        """A text of the command line in which options are called as they are here."""
        return re.sub(_NAMED, self._name, text) if self.column else text

    def advice(self, text: str) -> str | None:
        """The alternatives of an advice (separated by semicolons or ``, or``) that can be followed here."""
        parts = ["", *re.split(_ALTERNATIVES, text)]
        kept = [pair for pair in zip(parts[::2], parts[1::2], strict=True) if all(map(self.has, re.findall(_FLAG, pair[1])))]
        return self.words("".join(separator * (n > 0) + part for n, (separator, part) in enumerate(kept))) or None

    def reason(self, text: str | None) -> str | None:
        """The reason of a state's status, without what cannot be done here."""
        return text and (self.advice(text) or self.words(text))

    def has(self, flag: str) -> bool:
        """Whether the option can be set here; any other option belongs to another program."""
        if flag not in OPTIONS:
            return True
        return flag in self.flags if self.flags is not None else not self.column or self._option(flag) is not None

    def _name(self, match: re.Match[str]) -> str:
        found = match[0]
        return _PHRASES[found][self.column - 1] if found in _PHRASES else self._option(found) or found

    def _option(self, flag: str) -> str | None:
        return OPTIONS.get(flag, (None, None))[self.column - 1]


Door.COMMAND_LINE, Door.SPARK, Door.PYTHON = Door(0), Door(1), Door(2)

_outermost: ContextVar[Door] = ContextVar("door", default=Door.PYTHON)


def api_door() -> Door:
    """Where what the Python API returns and raises is read: in Python, or where the program uses the API itself."""
    return _outermost.get()


@contextmanager
def read_at(door: Door) -> Iterator[None]:
    """While the block runs, what the Python API returns and raises is in the words of that door."""
    token = _outermost.set(door)
    try:
        yield
    finally:
        _outermost.reset(token)
