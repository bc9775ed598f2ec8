"""Type wishes: columns as the user wants them, exactly or not at all.

A wish is a path and a type: ``value.amount`` as ``decimal(38,10)``. Steps of a path are a column, then fields of
structs, ``element`` of a list, ``key`` and ``value`` of a map. :func:`wished_schema` says what a schema becomes,
:func:`apply_overrides` converts a batch; a value that the wanted type does not hold exactly is refused and named.
:data:`REACH` tells what can be made of what.

May import errors, ``elements.py``, the reader of pickles and pyarrow. Must not know of layouts, snapshots, files.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal, DecimalException
from typing import Any

import numpy as np
import pyarrow as pa

from stateextract.columnar.layout.elements import PICKLED, Element, elements_of, parse_element
from stateextract.errors import UsageError, ValueRefusedError
from stateextract.files.pickles import pickle_json

_DECIMAL = re.compile(r"decimal\(\s*(\d+)\s*,\s*(\d+)\s*\)")
_ELEMENTS = re.compile(r"elements\((.+)\)", re.DOTALL)
_TIMESTAMP = re.compile(r"timestamp\[\s*(s|ms|us|ns)\s*(,\s*UTC\s*)?\]")
_PLAIN: dict[str, pa.DataType] = {
    "bool": pa.bool_(), "int8": pa.int8(), "int16": pa.int16(), "int32": pa.int32(), "int64": pa.int64(),
    "float32": pa.float32(), "float64": pa.float64(), "string": pa.string(), "binary": pa.binary(), "date": pa.date32(),
}  # fmt: skip
REACH = {
    "bool, int8, int16, int32, int64": "numbers and text of the same value",
    "float32, float64": "numbers of the same value; text that is the shortest of its float",
    "decimal(p,s)": "numbers and text of the same value",
    "string": "everything but structs, lists and maps; bytes that are UTF-8",
    "binary": "text, as UTF-8",
    "date": "timestamps at midnight, integers (days since 1970), ISO text",
    "timestamp[unit], timestamp[unit, UTC]": "timestamps without digits below the unit (s, ms, us, ns), whose zone comes or "
    "goes without a shift; dates; integers, which count that unit since 1970",
    "json": "everything, as text: bytes in hexadecimal, decimals as text",
    "pickle": "bytes, as a struct of `bytes` and, where they are a pickle, their `json`; nothing in them is run",
    "elements(TYPE)": "bytes that PyFlink's coders wrote into state of a Python process, as a list; the types are below",
}
"""What can be wished for, and of what it is made."""

_EXACT = Context(prec=80, Emin=-400, Emax=400)
_NESTED_ADVICE = "structs, lists and maps can only become json; a path can go on inside of them"


@dataclass(frozen=True)
class TypeOverride:
    """A path and the type that is wanted there.

    :param type: of the column; for JSON a string.
    :param json: JSON text is wanted.
    :param pickle: what Python pickled is wanted as JSON text beside its bytes.
    :param elements: bytes are wanted as a list of such elements, which PyFlink's coders wrote.
    """

    path: tuple[str, ...]
    type: pa.DataType
    json: bool = False
    pickle: bool = False
    elements: Element | None = None

    def __str__(self) -> str:
        return ".".join(self.path)


def parse_override(path: str, type_: str) -> TypeOverride:
    """A wish from its two texts.

    :raises UsageError: where the type or the path is none.
    """
    steps = tuple(path.split("."))
    if not all(steps):
        raise UsageError(f"{path!r} is not a path of a column", expected="names with a dot between them")
    text = type_.strip()
    if text == "json":
        return TypeOverride(steps, pa.string(), json=True)
    if text == "pickle":
        return TypeOverride(steps, PICKLED, pickle=True)
    if (match := _ELEMENTS.fullmatch(text)) and (element := parse_element(match[1])):
        return TypeOverride(steps, pa.list_(element.type), elements=element)
    if text in _PLAIN:
        return TypeOverride(steps, _PLAIN[text])
    if match := _DECIMAL.fullmatch(text):
        precision, scale = int(match[1]), int(match[2])
        if 1 <= precision <= 38 and scale <= precision:
            return TypeOverride(steps, pa.decimal128(precision, scale))
    if match := _TIMESTAMP.fullmatch(text):
        return TypeOverride(steps, pa.timestamp(match[1], "UTC" if match[2] else None))
    raise UsageError(
        f"{type_!r} is not a type of a column",
        expected=", ".join(
            [
                *_PLAIN,
                "json",
                "pickle",
                "elements(TYPE)",
                "decimal(p,s) of 1 to 38 digits",
                "timestamp[us]",
                "timestamp[us, UTC]",
            ]
        ),
    )


def wished_schema(schema: pa.Schema, overrides: Sequence[TypeOverride]) -> pa.Schema:
    """What a schema becomes.

    :raises UsageError: where a path leads nowhere, or a type cannot become the wanted one.
    """
    for wish in overrides:
        index = schema.get_field_index(wish.path[0])
        if index < 0:
            raise _nowhere(wish, wish.path[0], schema.names)
        schema = schema.set(index, schema.field(index).with_type(_wished(schema.field(index).type, wish, 1)))
    return schema


def _wished(type_: pa.DataType, wish: TypeOverride, at: int) -> pa.DataType:
    if at == len(wish.path):
        of_python = wish.pickle or wish.elements is not None
        fits = pa.types.is_binary(type_) if of_python else wish.json or _possible(type_, wish.type)
        if not fits:
            nested = pa.types.is_nested(type_)
            raise UsageError(
                f"the column {wish} is {type_} and cannot become {wish.type}", advice=_NESTED_ADVICE if nested else None
            )
        return wish.type
    step = wish.path[at]
    if pa.types.is_struct(type_):
        index = type_.get_field_index(step)
        if index < 0:
            raise _nowhere(wish, step, [f.name for f in type_])
        fields = list(type_)
        fields[index] = fields[index].with_type(_wished(fields[index].type, wish, at + 1))
        return pa.struct(fields)
    if pa.types.is_list(type_) and step == "element":
        return pa.list_(type_.value_field.with_type(_wished(type_.value_type, wish, at + 1)))
    if pa.types.is_map(type_) and step == "key":
        return pa.map_(_wished(type_.key_type, wish, at + 1), type_.item_type)
    if pa.types.is_map(type_) and step == "value":
        return pa.map_(type_.key_type, _wished(type_.item_type, wish, at + 1))
    steps = ["element"] if pa.types.is_list(type_) else ["key", "value"] if pa.types.is_map(type_) else []
    raise _nowhere(wish, step, steps)


def _nowhere(wish: TypeOverride, step: str, there: Sequence[str]) -> UsageError:
    return UsageError(f"the path {wish} leads nowhere: there is no {step!r}", expected=", ".join(there) or "its end")


def _possible(source: pa.DataType, wanted: pa.DataType) -> bool:
    kinds = _KINDS.get(_kind(wanted), ())
    return source == wanted or _kind(source) in kinds


def _kind(type_: pa.DataType) -> str:
    for name, is_kind in (
        ("bool", pa.types.is_boolean), ("integer", pa.types.is_integer), ("float", pa.types.is_floating),
        ("decimal", pa.types.is_decimal), ("string", pa.types.is_string), ("binary", pa.types.is_binary),
        ("date", pa.types.is_date32), ("timestamp", pa.types.is_timestamp),
    ):  # fmt: skip
        if is_kind(type_):
            return name
    return ""


_NUMBERS = ("bool", "integer", "float", "decimal", "string")
_KINDS: dict[str, tuple[str, ...]] = {
    "bool": ("integer", "string"),
    "integer": _NUMBERS,
    "float": ("integer", "float", "decimal", "string"),
    "decimal": ("integer", "float", "decimal", "string"),
    "string": (*_NUMBERS, "binary", "date", "timestamp"),
    "binary": ("string", "binary"),
    "date": ("date", "timestamp", "integer", "string"),
    "timestamp": ("date", "timestamp", "integer"),
}
"""What each kind of type can be made of."""


# ---- batches


def apply_overrides(batch: pa.RecordBatch, overrides: Sequence[TypeOverride]) -> pa.RecordBatch:
    """A batch with its columns as they are wanted; of a path that this batch does not have, nothing is done.

    :raises ValueRefusedError: a value that the wanted type does not hold exactly.
    """
    for wish in overrides:
        index = batch.schema.get_field_index(wish.path[0])
        if index >= 0:
            column = _grant(batch.column(index), wish, 1)
            batch = batch.set_column(index, batch.schema.field(index).with_type(column.type), column)
    return batch


def _grant(array: pa.Array, wish: TypeOverride, at: int) -> pa.Array:
    if at == len(wish.path):
        return array if array.type == wish.type and not wish.json else _converted(array, wish)
    type_, step = array.type, wish.path[at]
    if array.offset:
        array = pa.concat_arrays([array])
    if pa.types.is_struct(type_):
        index = type_.get_field_index(step)
        if index < 0:
            return array
        # Where the struct is null, its fields may hold anything: flatten() makes them null.
        children = array.flatten()
        children[index] = _grant(children[index], wish, at + 1)
        fields = [f.with_type(child.type) for f, child in zip(type_, children, strict=True)]
        return pa.StructArray.from_arrays(children, fields=fields, mask=array.is_null() if array.null_count else None)
    if pa.types.is_list(type_):
        values = _grant(array.values, wish, at + 1)
        list_type = pa.list_(type_.value_field.with_type(values.type))
        return pa.Array.from_buffers(list_type, len(array), array.buffers()[:2], children=[values])
    if not pa.types.is_map(type_):
        return array
    keys, items = array.keys, array.items
    keys, items = (_grant(keys, wish, at + 1), items) if step == "key" else (keys, _grant(items, wish, at + 1))
    map_type = pa.map_(keys.type, items.type)
    entries = pa.StructArray.from_arrays([keys, items], fields=[map_type.key_field, map_type.item_field])
    return pa.Array.from_buffers(map_type, len(array), array.buffers()[:2], children=[entries])


def _converted(array: pa.Array, wish: TypeOverride) -> pa.Array:
    convert = _conversion(array, wish)
    try:
        return convert(array, wish.type)
    except (pa.ArrowException, ValueError, ArithmeticError, DecimalException):
        # Which one it is, is looked for only now.
        bad = next((i for i in range(len(array)) if not _fits(array.slice(i, 1), convert, wish)), 0)
        raise ValueRefusedError(
            f"the value {_shown(array, bad)} of the column {wish} does not fit the wanted type {wish.type} exactly",
            advice=_advice(array.type, wish),
        ) from None


def _advice(type_: pa.DataType, wish: TypeOverride) -> str:
    """What could hold the value; not the type that did not."""
    keep = f"leave {wish} out of `types` to keep its type {type_}"
    if wish.json or wish.pickle or wish.elements is not None or pa.types.is_string(wish.type):
        return keep
    return f"choose a wider type, or string, or {keep}"


def _conversion(array: pa.Array, wish: TypeOverride) -> Callable[[pa.Array, pa.DataType], pa.Array]:
    if wish.elements is not None:
        return elements_of(wish.elements)
    if wish.pickle:
        return _pickled
    return _json if wish.json else _CONVERSIONS.get((_kind(array.type), _kind(wish.type)), _cast)


def _fits(one: pa.Array, convert: Callable[[pa.Array, pa.DataType], pa.Array], wish: TypeOverride) -> bool:
    try:
        convert(one, wish.type)
    except (pa.ArrowException, ValueError, ArithmeticError, DecimalException):
        return False
    return True


def _shown(array: pa.Array, row: int) -> str:
    try:
        return repr(array[row].as_py())[:100]
    except (ValueError, ArithmeticError):
        return str(array[row])[:100]


# ---- conversions: an array to a type, or a ValueError, an ArithmeticError or an error of Arrow


def _cast(array: pa.Array, type_: pa.DataType) -> pa.Array:
    """Arrow's cast, if it can be taken back."""
    there = array.cast(type_)
    back = there.cast(array.type)
    if pa.types.is_floating(array.type):
        width = np.dtype(array.type.to_pandas_dtype()).itemsize
        whole = pa.int64() if width == 8 else pa.int32() if width == 4 else pa.int16()
        array, back = array.view(whole), back.view(whole)  # -0.0 is not 0.0
    if not back.equals(array):
        raise ValueError("not the same")
    return there


def _each(convert: Callable[[Any], Any]) -> Callable[[pa.Array, pa.DataType], pa.Array]:
    def whole(array: pa.Array, type_: pa.DataType) -> pa.Array:
        return pa.array([None if v is None else convert(v) for v in array.to_pylist()], type_)

    return whole


def _to_decimal(array: pa.Array, type_: pa.DataType) -> pa.Array:
    step = Decimal(1).scaleb(-type_.scale)
    single = pa.types.is_float32(array.type)
    numbers: list[Decimal | None] = []
    for value in array.to_pylist():
        if value is None:
            numbers.append(None)
            continue
        if isinstance(value, float):
            if value == 0 and str(value).startswith("-"):
                raise ValueError("a decimal has no negative zero")
            value = str(np.float32(value)) if single else repr(value)
        exact = Decimal(value)
        number = _EXACT.quantize(exact, step)
        if number != exact or len(number.as_tuple().digits) > type_.precision:
            raise ValueError("not the same")
        numbers.append(number)
    return pa.array(numbers, type_)


def _text_to_float(array: pa.Array, type_: pa.DataType) -> pa.Array:
    """Text that a float tells apart from all others, or one of its own words."""
    numbers = [None if v is None else float(v) for v in array.to_pylist()]
    there = pa.array(numbers, type_)
    for text, number in zip(array.to_pylist(), there.to_numpy(zero_copy_only=False), strict=True):
        if text is not None and np.isfinite(number) and Decimal(str(number)) != Decimal(text):
            raise ValueError("not the same")
        if text is not None and np.isinf(number) and "inf" not in text.lower():
            raise ValueError("beyond the type")
    return there


def _decimal_to_float(array: pa.Array, type_: pa.DataType) -> pa.Array:
    return _text_to_float(array.cast(pa.string()), type_)


def _float_to_text(array: pa.Array, type_: pa.DataType) -> pa.Array:
    single = pa.types.is_float32(array.type)
    return _each(lambda v: str(np.float32(v)) if single else repr(v))(array, type_)


def _to_timestamp(array: pa.Array, type_: pa.DataType) -> pa.Array:
    """Between units only without loss; a zone comes and goes without a shift."""
    plain = array.view(pa.timestamp(array.type.unit)) if pa.types.is_timestamp(array.type) else array
    return _cast(plain, pa.timestamp(type_.unit)).view(type_)


def _date_of(array: pa.Array, type_: pa.DataType) -> pa.Array:
    return _cast(array.view(pa.timestamp(array.type.unit)), type_)


def _days(array: pa.Array, type_: pa.DataType) -> pa.Array:
    return _cast(array, pa.int32()).view(type_)


def _count(array: pa.Array, type_: pa.DataType) -> pa.Array:
    return _cast(array, pa.int64()).view(type_)


def _plain_cast(array: pa.Array, type_: pa.DataType) -> pa.Array:
    return array.cast(type_)


def _text_to_bool(array: pa.Array, type_: pa.DataType) -> pa.Array:
    return _each(_bool)(array, type_)


def _bool(text: str) -> bool:
    if text not in ("true", "false"):
        raise ValueError("no boolean")
    return text == "true"


def _text_to_integer(array: pa.Array, type_: pa.DataType) -> pa.Array:
    return _each(_integer)(array, type_)


def _integer(text: str) -> int:
    number = Decimal(text)
    # An exponent makes a number of any size out of a short text.
    if not number.is_finite() or number.adjusted() > 20 or number != number.to_integral_value():
        raise ValueError("no integer of 64 bits")
    return int(number)


def _json(array: pa.Array, type_: pa.DataType) -> pa.Array:
    return _each(lambda v: json.dumps(_plain(v), ensure_ascii=False, separators=(",", ":")))(array, type_)


def _pickled(array: pa.Array, type_: pa.DataType) -> pa.Array:
    texts = _each(pickle_json)(array, pa.string())
    mask = array.is_null() if array.null_count else None
    return pa.StructArray.from_arrays([array, texts], fields=list(type_), mask=mask)


def _plain(value: Any) -> Any:
    """What JSON knows of a Python value of Arrow's."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if np.isfinite(value) else str(value).replace("inf", "Infinity").replace("nan", "NaN")
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(v) for v in value]
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


_CONVERSIONS: dict[tuple[str, str], Callable[[pa.Array, pa.DataType], pa.Array]] = {
    **{(kind, "decimal"): _to_decimal for kind in ("integer", "float", "decimal", "string")},
    ("string", "float"): _text_to_float,
    ("decimal", "float"): _decimal_to_float,
    ("float", "string"): _float_to_text,
    ("string", "bool"): _text_to_bool,
    ("string", "integer"): _text_to_integer,
    ("binary", "string"): _plain_cast,
    ("string", "binary"): _plain_cast,
    ("decimal", "string"): _plain_cast,
    ("timestamp", "string"): _plain_cast,
    ("date", "string"): _plain_cast,
    ("timestamp", "timestamp"): _to_timestamp,
    ("date", "timestamp"): _to_timestamp,
    ("timestamp", "date"): _date_of,
    ("integer", "date"): _days,
    ("integer", "timestamp"): _count,
}

__all__ = ["TypeOverride", "apply_overrides", "parse_override", "wished_schema"]
