"""The bytes that a pickled key most likely has, from its JSON text.

Python's pickles of plain values are a function of the value and the protocol. JSON has one form for tuples and lists, so
there may be two. Writes pickles, and reads none.
"""

from __future__ import annotations

import json
import pickle
from typing import Any

_PROCESS, _THREAD = 5, 4
"""The protocols that PyFlink uses in a Python process (the highest), and in a thread of the JVM (Python's default)."""


def pickles_of(text: str | None, process: bool) -> list[bytes]:
    """The pickles of a value of JSON, as tuples and as lists.

    :param text: a value's JSON; ``None``, and text that is none, give nothing.
    :param process: a Python process wrote them.
    """
    try:
        value = json.loads(text or "")
    except ValueError:
        return []
    return list(dict.fromkeys(pickle.dumps(v, _PROCESS if process else _THREAD) for v in (_tuples(value), value)))


def _tuples(value: Any) -> Any:
    """The value with tuples in place of lists."""
    if isinstance(value, list):
        return tuple(map(_tuples, value))
    return {key: _tuples(inner) for key, inner in value.items()} if isinstance(value, dict) else value
