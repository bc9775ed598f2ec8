"""Classes whose objects are in the states of ``job.py``; a module of its own, as the workers import it to pickle them."""

from __future__ import annotations

from collections import namedtuple
from dataclasses import dataclass
from enum import Enum, IntEnum


@dataclass
class Point:
    x: int
    y: float
    tags: list[str]


Pair = namedtuple("Pair", ["left", "right"])


class Color(Enum):
    RED = "red"
    GREEN = "green"


class Level(IntEnum):
    LOW = 1
    HIGH = 2


class Slots:
    """An object whose state is a pair: no fields, and those in slots."""

    __slots__ = ("a", "b")

    def __init__(self, a: int, b: str) -> None:
        self.a, self.b = a, b
