"""Column names: what Java names become where Spark, Parquet or our own columns would refuse them.

Rules: a lone surrogate, which no encoding takes, becomes U+FFFD; a name that differs from an earlier one of the same
struct at most in case gets ``_2``, ``_3``, …; a field that is called like the column of a POJO's class (``class``) gets a
trailing underscore.
"""

from __future__ import annotations

from collections.abc import Iterable

from stateextract.columnar.layout import Field, Layout, Subclasses
from stateextract.printable import replaced


class Names:
    """Hands out names that differ in more than case."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = {name.casefold() for name in taken}

    def take(self, name: str) -> str:
        """The name, without lone surrogates, itself or with the first free suffix."""
        name = replaced(name)
        free, n = name, 1
        while free.casefold() in self._taken:
            n += 1
            free = f"{name}_{n}"
        self._taken.add(free.casefold())
        return free


def java_field(name: str) -> str:
    """A Java field's name as a column's, before names are made distinct."""
    return f"{name}_" if name.casefold() == Subclasses.CLASS_FIELD else name


def simple_name(class_name: str) -> str:
    """The last part of a Java class name, inner classes without their outer ones."""
    return class_name.rsplit(".", 1)[-1].rsplit("$", 1)[-1] or class_name


def positional(layouts: Iterable[Layout]) -> tuple[Field, ...]:
    """Fields ``f0``, ``f1``, … as Flink's tuples and rows name them."""
    return tuple(Field(f"f{i}", layout) for i, layout in enumerate(layouts))
