"""Arrow values as text for people; the JSON that they are made of is in ``columnar/arrow/json_values.py``."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa

from stateextract.columnar.arrow.json_values import json_value


def text_value(scalar: pa.Scalar, longest: int = 200) -> str:
    """A value in a cell of a table; a long one is cut."""
    value = json_value(scalar)
    if isinstance(value, str):
        text = (
            value if value.isprintable() and value.strip() == value and value else json.dumps(value, ensure_ascii=False)
        )
    else:
        text = _compact(value)
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def _compact(value: Any) -> str:
    """JSON, but for names without quotes and maps as ``{key: value}``."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name}: {_compact(v)}" for name, v in value.items()) + "}"
    if isinstance(value, list):
        if value and all(isinstance(v, dict) and list(v) == ["key", "value"] for v in value):
            return "{" + ", ".join(f"{_compact(v['key'])}: {_compact(v['value'])}" for v in value) + "}"
        return "[" + ", ".join(map(_compact, value)) + "]"
    return json.dumps(value, ensure_ascii=False)
