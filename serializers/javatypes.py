"""Java types as text: ``java.util.Map<java.lang.String, ? extends com.acme.Money[]>``.

Reads one type and must be at its end after it. Plain values; knows no class and no bytes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache

from stateextract.errors import UsageError

PRIMITIVES = {
    "boolean": "Z", "byte": "B", "char": "C", "short": "S", "int": "I", "long": "J", "float": "F", "double": "D",
}  # fmt: skip
BY_CODE = {code: name for name, code in PRIMITIVES.items()}
BOXES = {
    "boolean": "java.lang.Boolean", "byte": "java.lang.Byte", "short": "java.lang.Short", "int": "java.lang.Integer",
    "long": "java.lang.Long", "float": "java.lang.Float", "double": "java.lang.Double", "char": "java.lang.Character",
}  # fmt: skip
OBJECT_CLASS = "java.lang.Object"

_MAX_LENGTH = 1 << 16
_MAX_DEPTH = 32
_TOKEN = re.compile(r"\s*(?:([\w$.\-]+)|(\[\s*\])|([<>,?&]))")


@dataclass(frozen=True)
class JavaType:
    """A type.

    :param name: a primitive's name, a class' binary name, a type parameter's name, or ``?`` for a wildcard.
    :param arguments: type arguments; of a wildcard its bound, if it has one.
    :param dimensions: how many times it is an array.
    :param lower: of a wildcard: the bound is a lower one (``? super``).
    """

    name: str
    arguments: tuple[JavaType, ...] = ()
    dimensions: int = 0
    lower: bool = False

    @property
    def is_primitive(self) -> bool:
        """One of the eight primitive types."""
        return not self.dimensions and self.name in PRIMITIVES

    @property
    def class_name(self) -> str:
        """What ``Class.getName()`` says of its erasure: ``[I``, ``[Ljava.lang.String;``, ``java.util.List``."""
        if not self.dimensions:
            return self.name
        return "[" * self.dimensions + PRIMITIVES.get(self.name, f"L{self.name};")

    @property
    def component(self) -> JavaType:
        """Type of the elements of an array."""
        return replace(self, dimensions=self.dimensions - 1)

    def __str__(self) -> str:
        if self.name == "?":
            return f"? {'super' if self.lower else 'extends'} {self.arguments[0]}" if self.arguments else "?"
        inside = f"<{', '.join(map(str, self.arguments))}>" if self.arguments else ""
        return self.name + inside + "[]" * self.dimensions


@lru_cache(maxsize=1 << 14)
def parse_type(text: str) -> JavaType:
    """The type that a text names.

    :raises UsageError: where it is none.
    """
    if len(text) > _MAX_LENGTH:
        raise UsageError(f"a Java type of {len(text)} characters")
    tokens = _tokens(text)
    type_, at = _type(tokens, 0, text, 0)
    if at != len(tokens):
        raise _wrong(text)
    return type_


def of_class_name(name: str) -> JavaType:
    """The type of a class by what ``Class.getName()`` says: arrays begin with ``[``."""
    dimensions = len(name) - len(name.lstrip("["))
    if not dimensions:
        return JavaType(name)
    element = name[dimensions:]
    if element.startswith("L") and element.endswith(";"):
        return JavaType(element[1:-1], dimensions=dimensions)
    return JavaType(BY_CODE[element], dimensions=dimensions) if element in BY_CODE else JavaType(name)


def _wrong(text: str) -> UsageError:
    return UsageError(
        f"{text[:200]!r} is not a Java type", expected="full names, such as java.util.List<com.acme.Order$Line[]>"
    )


def _tokens(text: str) -> list[str]:
    found, at, text = [], 0, text.strip()
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise _wrong(text)
        found.append("[]" if match[2] else match[0].strip())
        at = match.end()
    return found


def _type(tokens: list[str], at: int, text: str, depth: int) -> tuple[JavaType, int]:
    if at >= len(tokens) or depth > _MAX_DEPTH or tokens[at] in ("<", ">", ",", "[]", "&"):
        raise _wrong(text)
    name, at = tokens[at], at + 1
    if name == "?":
        if at < len(tokens) and tokens[at] in ("extends", "super"):
            bound, after = _type(tokens, at + 1, text, depth + 1)
            return JavaType("?", (bound,), lower=tokens[at] == "super"), after
        return JavaType("?"), at
    arguments = []
    if at < len(tokens) and tokens[at] == "<":
        while tokens[at] != ">":
            argument, at = _type(tokens, at + 1, text, depth + 1)
            arguments.append(argument)
            if at >= len(tokens) or tokens[at] not in (",", ">"):
                raise _wrong(text)
        at += 1
    dimensions = 0
    while at < len(tokens) and tokens[at] == "[]":
        dimensions, at = dimensions + 1, at + 1
    return JavaType(name, tuple(arguments), dimensions), at
