"""Values that are made of one object again and again, and that the object keeps.

The files of a snapshot have few different headers. So the layouts and schemas of thousands of files are made of the same
few objects.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def derived(owner: object, name: str, inputs: object, make: Callable[[], T]) -> T:
    """Return what ``make`` returns, and keep it with ``owner`` for the next call with equal ``inputs``.

    :param owner: an object that does not change. It keeps one value for each name.
    :param inputs: everything else that the value depends on.
    """
    kept = vars(owner)
    slot = f"derived {name}"  # no attribute is called so
    found: tuple[object, T] | None = kept.get(slot)
    if found is None or found[0] != inputs:
        found = kept[slot] = (inputs, make())
    return found[1]
