"""Text out of files as it may be shown to people: without what a terminal would obey, and no longer than people read.

Names and values are whatever somebody wrote into a snapshot. Control characters (but tabs and line ends) and marks that turn
the direction of what follows are shown as Python writes them. Halves of surrogate pairs, which no encoding takes, become
U+FFFD wherever a name leaves this program: in columns, labels, tables and JSON.
"""

from __future__ import annotations

import io
import json
import os
import re
import sys
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

T = TypeVar("T")

NEAREST = 5
"""Names that advice lists."""
LONGEST_NAME = 200
"""Characters of a name that a message shows."""
LONGEST_TEXT = 2000
"""Characters of one part of a message."""

_OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_LONE = re.compile("[\ud800-\udfff]")  # Python's text has no pairs of them
_REPLACEMENT = "\ufffd"


def printable(text: str) -> str:
    """The text, with ``\\x1b`` for what would begin a command to the terminal."""
    return replaced(_OBEYED.sub(lambda found: found[0].encode("unicode_escape").decode(), text))


def pluralize(number: int, what: str, verb: str = "") -> str:
    """``1 state``, ``2,000 states``, ``3 entries``; with the verb ``is``: ``1 state is``, ``2 states are``."""
    plural = f"{what[:-1]}ies" if what.endswith("ry") else f"{what}s"
    return f"{number:,} {what if number == 1 else plural}" + (f" {agreeing(number, verb)}" if verb else "")


def agreeing(number: int, verb: str) -> str:
    """The form of ``is``, ``has`` or a regular verb (``holds``) that goes with that many things."""
    return verb if number == 1 else {"is": "are", "has": "have"}.get(verb, verb.removesuffix("s"))


def sentence(text: str) -> str:
    """The text with one full stop at its end. Texts of errors have one already, reasons and remarks do not."""
    return text.rstrip(".") + "."


def one_line(text: str) -> str:
    """A name as :func:`printable` shows it, with ``\\n`` for an end of a line, so that it begins none."""
    return printable(text).replace("\r", "\\r").replace("\n", "\\n").replace("\t", "\\t")


def named(name: str) -> str:
    """A name in a sentence or a heading: in one line, and no longer than people read."""
    return shortened(one_line(name))


def replaced(text: str) -> str:
    """The text with U+FFFD for every lone surrogate."""
    return text if text.isascii() else _LONE.sub(_REPLACEMENT, text)


def distinct(names: Iterable[str]) -> list[str]:
    """Names as :func:`replaced` gives them; one that another has already gets ``_2``, ``_3``, …"""
    names = list(names)
    taken = {name for name in names if replaced(name) == name}
    found = []
    for name in names:
        free = plain = replaced(name)
        if plain != name:
            n = 1
            while free in taken:
                n += 1
                free = f"{plain}_{n}"
            taken.add(free)
        found.append(free)
    return found


def lone_surrogates(text: str) -> int:
    """How many characters :func:`replaced` replaces."""
    return 0 if text.isascii() else len(_LONE.findall(text))


def find_named(wanted: str, known: Iterable[T], names: Callable[[T], Iterable[str | None]]) -> list[T]:
    """What has the name that a person gives, who sees names with their lone surrogates replaced.

    :param names: of one of them.
    """
    known = list(known)
    exact = [one for one in known if wanted in names(one)]
    return exact or [one for one in known if any(wanted == replaced(name) for name in names(one) if name is not None)]


def nearest(name: str, known: Iterable[str], most: int = 1, least: float = 0.6) -> list[str]:
    """The names that a mistyped one may be, the likeliest first.

    :param least: how like they must be, from 0 to 1.
    """
    import difflib  # only for those who mistyped

    return difflib.get_close_matches(name, list(known), most, least)


def there_is(name: str, known: Iterable[str], what: str) -> str:
    """Advice about a name that does not exist: the nearest names, or all where they are few."""
    names = list(dict.fromkeys(known))
    if not names:
        return f"there are no {what}"
    near = [one for one in names if name.lower() in one.lower()] or nearest(name, names, NEAREST)
    few = len(names) <= NEAREST
    start = "the nearest are" if near else f"the {what} are" if few else f"the nearest of {len(names)} {what} are"
    near = near or (names if few else nearest(name, names, NEAREST, 0.0))
    return f"{start} {', '.join(repr(shortened(one, 60)) for one in near[:NEAREST])}"


def shortened(text: str, longest: int = LONGEST_NAME) -> str:
    """The beginning and the end of a text that is too long to be read."""
    if len(text) <= longest:
        return text
    end = longest // 4
    return f"{text[: longest - end - 1]}…{text[len(text) - end :]}"


def plain_names(value: Any) -> Any:
    """Lists and dicts, with all text in them, keys too, as :func:`replaced` gives it."""
    if isinstance(value, str):
        return replaced(value)
    if isinstance(value, dict):
        names = [name if isinstance(name, str) else None for name in value]
        keys = list(value) if None in names else distinct(name for name in names if name is not None)
        return {key: plain_names(item) for key, item in zip(keys, value.values(), strict=True)}
    if isinstance(value, list | tuple):
        return [plain_names(item) for item in value]
    return value


def encode_any_text() -> None:
    """Make standard output and standard error take every character.

    A locale or PYTHONIOENCODING may have chosen an encoding that lacks most. A terminal then shows escapes such as ``\\u20ac``;
    into files and pipes, whose readers need exact values, go UTF-8. A stream that is closed discards what it gets.
    """
    _occupy_descriptors()
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # closed by the process that started this
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115
        elif isinstance(stream, io.TextIOWrapper):  # notebooks have other streams
            encoding = stream.encoding if stream.isatty() else "utf-8"
            stream.reconfigure(encoding=encoding, errors="backslashreplace")


def _occupy_descriptors() -> None:
    """Open the descriptors of standard streams that are closed.

    Otherwise a file of the output would get the number of standard error, to which libraries in C write.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            opened = os.open(os.devnull, os.O_RDWR)  # the lowest number that is free
            os.set_inheritable(opened, True)


def json_document(value: Any, **options: Any) -> str:
    """A document of ours as JSON text, which every reader of UTF-8 takes."""
    return json.dumps(plain_names(value), **options)


def json_escapes(text: str) -> str:
    """JSON text of a value, with the escapes that JSON has for lone surrogates."""
    return text if text.isascii() else _LONE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
