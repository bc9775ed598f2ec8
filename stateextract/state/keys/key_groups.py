"""From a key to the key groups that can hold it, and from what a person writes to a key.

A key lies in the key group that its Java hash leads to. :func:`key_groups` gives the key groups in which a row with that
key can be, or ``None`` where the hash is not defined (``java_hash.py`` lists when) and every key group has to be read::

    key = key_scalar("42", row.schema.field("key").type)         # text of a command line, or a Python or Spark value
    groups = key_groups(key, row.key_serializer, operator.max_parallelism, policy)
    if groups is None:
        ...                                                      # nothing can be left out

Rows in those key groups still have to be compared with the key. ``row`` is a ``RowLayout`` (``state/row_layout.py``); each file
has its own serializer snapshots, and a state's files should be asked one by one if they differ.

Flink's classes: ``org.apache.flink.runtime.state.KeyGroupRangeAssignment``, ``…util.MathUtils.murmurHash``.
May import ``serializers``, the policy, errors and pyarrow; does no I/O.
"""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa

from serializers import SerializerSnapshot
from stateextract.columnar.convert.policy import Policy
from stateextract.errors import UsageError
from stateextract.state.keys.java_hash import java_hashes
from stateextract.state.keys.java_values import signed
from stateextract.state.keys.row_hash import avalanche, mixed

_INTEGER = re.compile("[+-]?[0-9]+")


def key_group_of_hash(hash_code: int, max_parallelism: int) -> int:
    """The key group of a key with this ``hashCode``.

    :param hash_code: any 32 bits, signed or not.
    :param max_parallelism: the operator's number of key groups, at least 1.
    """
    code = signed(avalanche(mixed(0, hash_code) ^ 4))
    return (-code if code != -(1 << 31) else 0) % max_parallelism if code < 0 else code % max_parallelism


def key_groups(
    key: pa.Scalar,
    serializer: SerializerSnapshot,
    max_parallelism: int,
    policy: Policy | None = None,
) -> frozenset[int] | None:
    """The key groups that can hold rows whose key column equals a key.

    :param key: of the key column's type; see :func:`key_scalar`.
    :param serializer: the snapshot of the key's serializer.
    :param max_parallelism: the operator's number of key groups.
    :param policy: by which the columns are made.
    :returns: usually one; two for zeros of floating point; ``None`` where nothing can be left out.
    """
    if not key.is_valid:
        return None
    hashes = java_hashes(key, serializer, policy or Policy())
    if hashes is None:
        return None
    return frozenset(key_group_of_hash(code, max_parallelism) for code in hashes)


def key_scalar(value: Any, type_: pa.DataType, called: str = "key") -> pa.Scalar:
    """A key as a value of its column's type.

    :param value: a Python value as Arrow or Spark give it (a struct: a mapping by its fields' names, or a sequence in
        their order), or text. Text of a string is that string; of bytes, hex; of a time, ISO 8601 (UTC if no zone is
        given); of a struct, list or map, JSON; else as one writes the number.
    :param type_: the type of the key column.
    :param called: what messages call it: a namespace is given in the same way.
    :raises UsageError: if it is not such a value.
    """
    try:
        return pa.scalar(_plain(value, type_), type_)
    except (ValueError, TypeError, ArithmeticError, RecursionError, pa.ArrowException) as error:
        raise UsageError(
            f"{value!r} is not a {called} of the type {type_}", expected=_example(type_), advice=_reason(error)
        ) from None


def _reason(error: Exception) -> str | None:
    return str(error).split("\n", 1)[0] if isinstance(error, UsageError | _Misfit) else None


class _Misfit(ValueError):
    """A value that is not of the type, with a sentence that says why."""


def _plain(value: Any, type_: pa.DataType) -> Any:
    """The value in a form that ``pa.scalar`` takes for exactly this type."""
    if isinstance(value, pa.Scalar):
        value = value.as_py()
    if value is None or pa.types.is_string(type_):
        if value is None or isinstance(value, str):
            return value
        raise _Misfit(f"{value!r} is not text")
    if _is_alone(value, type_):
        return {type_.field(0).name: _plain(value, type_.field(0).type)}
    if pa.types.is_nested(type_):
        return _nested(json.loads(value, parse_float=Decimal) if isinstance(value, str) else value, type_)
    if pa.types.is_boolean(type_):
        return _boolean(value)
    if pa.types.is_integer(type_):
        return _integer(value)
    if pa.types.is_floating(type_):
        return float(_number(value))
    if pa.types.is_decimal(type_):
        return Decimal(str(_number(value)))
    if pa.types.is_binary(type_):
        return bytes.fromhex(value.removeprefix("0x")) if isinstance(value, str) else bytes(value)
    if pa.types.is_timestamp(type_):
        return _timestamp(value, type_)
    if pa.types.is_date(type_):
        return pa.scalar(value).cast(type_) if isinstance(value, str) else value
    return value


def _is_alone(value: Any, type_: pa.DataType) -> bool:
    """Whether a value is that of the one field which a row or tuple has, written without the row around it."""
    if not pa.types.is_struct(type_) or [f.name for f in type_][1:] not in ([], ["row_kind"]):
        return False
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return True
    return not isinstance(value, Mapping | Sequence) or (isinstance(value, str) and pa.types.is_string(type_.field(0).type))


def _boolean(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    known = {"true": True, "false": False}.get(value.lower()) if isinstance(value, str) else None
    if known is None:
        raise _Misfit(f"{value!r} is neither true nor false")
    return known


def _number(value: Any) -> Any:
    if isinstance(value, str) and ("_" in value or value != value.strip()):  # which Python takes
        raise _Misfit(f"{value!r} is not a number")
    return value


def _integer(value: Any) -> int:
    if isinstance(value, str):
        if not _INTEGER.fullmatch(value):
            raise _Misfit(f"{value!r} is not a whole number")
        return int(value)
    if isinstance(value, bool) or value != int(value):
        raise _Misfit(f"{value!r} is not a whole number")
    return int(value)


def _timestamp(value: Any, type_: pa.DataType) -> Any:
    """What Arrow makes a time of: a ``datetime``, or its own scalar of text."""
    if isinstance(value, str):
        text = value.strip().replace("T", " ")
        zoned = text.endswith(("Z", "z")) or (text[-6:-5] in ("+", "-") and text[-3:-2] == ":")
        if zoned and type_.tz is None:
            raise _Misfit("the key is a local time, which has no zone")
        return pa.scalar(text if zoned or type_.tz is None else text + "Z").cast(type_)
    if not isinstance(value, datetime.datetime):
        raise _Misfit(f"{value!r} is not a time")
    if (value.tzinfo is None) != (type_.tz is None):
        if value.tzinfo is not None:
            raise _Misfit("the key is a local time, which has no zone")
        value = value.replace(tzinfo=datetime.UTC)
    return value


def _nested(value: Any, type_: pa.DataType) -> Any:
    if pa.types.is_struct(type_):
        return _struct(value, type_)
    if pa.types.is_map(type_):
        entries = value.items() if isinstance(value, Mapping) else value
        return [(_plain(k, type_.key_type), _plain(v, type_.item_type)) for k, v in entries]
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Sequence | set | frozenset):
        raise _Misfit(f"{value!r} is not a list")
    return [_plain(element, type_.value_type) for element in value]


def _struct(value: Any, type_: pa.DataType) -> dict[str, Any]:
    if hasattr(value, "asDict"):  # a Spark Row
        value = value.asDict()
    fields = [type_.field(i) for i in range(type_.num_fields)]
    if isinstance(value, Mapping):
        unknown = [name for name in value if name not in {f.name for f in fields}]
        if unknown:
            raise _Misfit(f"there is no field {unknown[0]!r}; there are {', '.join(f.name for f in fields)}")
        return {f.name: _plain(value.get(f.name), f.type) for f in fields}
    if isinstance(value, str | bytes) or not isinstance(value, Sequence) or len(value) != len(fields):
        raise _Misfit(f"the fields are {', '.join(f.name for f in fields)}")
    return {f.name: _plain(v, f.type) for f, v in zip(fields, value, strict=True)}


def _example(type_: pa.DataType) -> str:
    if pa.types.is_timestamp(type_):
        return "a time such as 2024-02-29T12:00:00.5" + ("Z" if type_.tz else "")
    if pa.types.is_struct(type_):
        return "JSON such as {" + ", ".join(f'"{f.name}": …' for f in type_) + "}"
    if pa.types.is_nested(type_):
        return "JSON such as [[…, …]]" if pa.types.is_map(type_) else "JSON such as […]"
    if pa.types.is_string(type_):
        return "text in UTF-8"
    known = {"bool": "true or false", "date32[day]": "a date such as 2024-02-29", "binary": "hex digits"}
    return known.get(str(type_), "a number")
