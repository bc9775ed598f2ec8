"""The bytes that a pickled key most likely has, from its JSON text.

Python's pickles of plain values are a function of the value and the protocol. JSON does not tell tuples from lists, so there
may be two. Writes pickles, and reads none.
"""

from __future__ import annotations

import json
import pickle
from typing import Any

_PROTOCOL = 4
"""Python's default from 3.8 to 3.13."""


def pickles_of(text: str | None) -> list[bytes]:
    """The pickles of a value of JSON, as tuples and as lists.

    :param text: a value's JSON; ``None``, and text that is none, give nothing.
    """
    try:
        value = json.loads(text or "")
    except ValueError:
        return []
    return list(dict.fromkeys(pickle.dumps(v, _PROTOCOL) for v in (_tuples(value), value)))


def _tuples(value: Any) -> Any:
    """The value with tuples in place of lists."""
    if isinstance(value, list):
        return tuple(map(_tuples, value))
    return {key: _tuples(inner) for key, inner in value.items()} if isinstance(value, dict) else value


__all__ = ["pickles_of"]
