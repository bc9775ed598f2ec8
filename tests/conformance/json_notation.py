"""Columns ``struct<class, json>`` in comparable form: the JSON's content, without classes and without the order of keys.

What others wrote down names no classes of collections and numbers, so only contents are compared; that the ``class``
column is right is a matter of ``tests/kryo``.
"""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa

from serializers.time_texts import instant_text

ANY = pa.struct([("class", pa.string()), ("json", pa.string())])


def of_json(text: str) -> Any:
    """What we decoded."""
    return _plain(json.loads(text))


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        if value and all(isinstance(v, dict) and set(v) == {"key", "value"} for v in value):
            return tuple(sorted(((_plain(v["key"]), _plain(v["value"])) for v in value), key=repr))
        return tuple(_plain(v) for v in value)
    if isinstance(value, dict):
        if set(value) == {"$class", "$value"}:
            return _plain(value["$value"])
        return tuple(sorted(((k, _plain(v)) for k, v in value.items() if k != "$class"), key=repr))
    return repr(value) if isinstance(value, float) else value


def of_expected(value: Any) -> Any:
    """What others wrote down, in the notation of Flink's files."""
    if isinstance(value, list):
        return tuple(of_expected(v) for v in value)
    if not isinstance(value, dict):
        return repr(value) if isinstance(value, float) else value
    if "set" in value:
        # Sets of the cases are sorted, as are the bytes of what is compared: TreeSet.
        return tuple(sorted(of_expected(v) for v in value["set"]))
    if "map" in value:
        return tuple(sorted(((of_expected(k), of_expected(v)) for k, v in value["map"]), key=repr))
    if "pojo" in value:
        return tuple(sorted(((k, of_expected(v)) for k, v in value["fields"].items()), key=repr))
    for tag in ("double", "float"):
        if tag in value:
            return repr(float(value[tag]))
    if "bigint" in value:
        return int(value["bigint"])
    if "instant" in value:
        return instant_text(*value["instant"])
    if "date_ms" in value:
        return instant_text(value["date_ms"] // 1000, value["date_ms"] % 1000 * 1_000_000)
    for tag in ("uuid", "enum", "char", "decimal"):
        if tag in value:
            return value[tag]
    raise TypeError(f"no JSON for {value!r}")
