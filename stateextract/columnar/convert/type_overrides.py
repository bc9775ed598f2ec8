"""Type overrides: columns as the user wants them, exactly or not at all.

An override is a path and a type: ``value.amount`` as ``decimal(38,10)``. Steps of a path are a column, then fields of
structs, ``element`` of a list, ``key`` and ``value`` of a map. A path may be shorter or longer than the column is deep: the
struct of a TTL value is passed by itself, so is the list around PyFlink's bytes, and steps into what was flattened are left
out. :func:`overridden_schema` gives what a schema becomes, :func:`apply_overrides` converts a batch; a value that the type does
not hold exactly is refused and named. :data:`REACH` has what can be made of what.

May import errors, ``elements.py``, the reader of pickles and pyarrow. Must not know of layouts, snapshots, files.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Context, Decimal, DecimalException
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from stateextract.columnar.convert.elements import Conversion, Element, parse_element, split, split_pickles
from stateextract.columnar.convert.pickles_to_json import pickle_texts
from stateextract.errors import UsageError, ValueRefusedError

_DECIMAL = re.compile(r"decimal\(\s*(\d+)\s*,\s*(\d+)\s*\)")
_ELEMENTS = re.compile(r"(element|elements)\((.+)\)", re.DOTALL)
_PICKLE = re.compile(r"pickle(?:<(.+)>)?", re.DOTALL)
PICKLE_WITH_BYTES = "pickle_with_bytes"
PICKLED = pa.struct([pa.field("bytes", pa.binary()), pa.field("json", pa.string())])
"""The column of :data:`PICKLE_WITH_BYTES`."""
_JSON_TEXT = pa.null()
"""The type of pickles that are wanted as JSON text."""
UNWRAP_ROW, UNWRAP_ONE, UNWRAP_ALL, UNWRAP_TTL = "unwrap(row)", "unwrap(one)", "unwrap(all)", "unwrap(ttl)"
"""Types that only the snapshot layer sets: of a Row its one field; of a list its one element; of lists of lists one list; of a
struct of last access and value two columns."""
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
    "pickle": "bytes that are a pickle, as JSON text; bytes that are none become `{\"$pickle\": HEX}`. Nothing in them is run",
    "pickle_with_bytes": "the same as a struct of `bytes` and `json`, which is null where the bytes are not a pickle",
    "pickle<TYPE>": "pickles of numbers, texts, dates or `None`, as a column of a type above",
    "element(TYPE)": "bytes that PyFlink's coders wrote into state of a Python process: one element; the types are below",
    "elements(TYPE)": "the same of any number of elements, as a list",
}
"""The types that can be requested, and the types that they are made of."""

_EXACT = Context(prec=80, Emin=-400, Emax=400)
_NESTED_ADVICE = "structs, lists and maps can only become json; a path can go on inside of them"


@dataclass(frozen=True)
class TypeOverride:
    """A path and the type that is wanted there.

    :param type: of the column; for JSON a string.
    :param json: JSON text is wanted.
    :param pickle: the type of what Python pickled: :data:`PICKLED`, one of a scalar, or null for JSON text.
    :param element: bytes are wanted as such elements, which PyFlink's coders wrote.
    :param chunks: bytes have ``one`` element or pickle of PyFlink's coders, or any number (``all``); ``""``: no coder's.
    :param unwrap: one of the types that unwrap.
    """

    path: tuple[str, ...]
    type: pa.DataType
    json: bool = False
    pickle: pa.DataType | None = None
    element: Element | None = None
    chunks: str = ""
    unwrap: str = ""

    def __str__(self) -> str:
        return ".".join(self.path)

    @property
    def of_python(self) -> bool:
        """Whether it is about bytes that Python wrote."""
        return self.pickle is not None or self.element is not None


def parse_override(path: str, type_: str, fine: bool = False) -> TypeOverride:
    """An override from its two texts.

    :param fine: instants of PyFlink have nanoseconds.
    :raises UsageError: where the type or the path is none.
    """
    steps = tuple(path.split("."))
    if not all(steps):
        raise UsageError(f"{path!r} is not a path of a column", expected="names with a dot between them")
    text = type_.strip()
    if text == "json":
        return TypeOverride(steps, pa.string(), json=True)
    if text in (UNWRAP_ROW, UNWRAP_ONE, UNWRAP_ALL, UNWRAP_TTL):
        return TypeOverride(steps, pa.null(), unwrap=text)
    chunks, inner = "", text
    if match := _ELEMENTS.fullmatch(text):
        chunks, inner = {"element": "one", "elements": "all"}[match[1]], match[2].strip()
    found = _of_python(steps, inner, chunks, fine) or (None if chunks else _plain_override(steps, text))
    if found is not None:
        return found
    raise UsageError(
        f"{type_!r} is not a type of a column",
        expected=f"{', '.join(_PLAIN)}, json, pickle, element(TYPE), elements(TYPE), decimal(p,s) of 1 to 38 digits, "
        "timestamp[us], timestamp[us, UTC]",
    )


def _of_python(steps: tuple[str, ...], text: str, chunks: str, fine: bool) -> TypeOverride | None:
    """A pickle's override, or one of PyFlink's elements."""
    pickle: pa.DataType | None = None
    if match := _PICKLE.fullmatch(text):
        inner = TypeOverride(steps, _JSON_TEXT) if match[1] is None else _plain_override(steps, match[1].strip())
        pickle = None if inner is None or pa.types.is_binary(inner.type) else inner.type
    elif text == PICKLE_WITH_BYTES:
        pickle = PICKLED
    if pickle is not None:
        type_ = pa.string() if pickle == _JSON_TEXT else pickle
        return TypeOverride(steps, pa.list_(type_) if chunks == "all" else type_, pickle=pickle, chunks=chunks)
    element = parse_element(text, fine) if chunks else None
    if element is None:
        return None
    return TypeOverride(steps, pa.list_(element.type) if chunks == "all" else element.type, element=element, chunks=chunks)


def _plain_override(steps: tuple[str, ...], text: str) -> TypeOverride | None:
    if text in _PLAIN:
        return TypeOverride(steps, _PLAIN[text])
    if match := _DECIMAL.fullmatch(text):
        precision, scale = int(match[1]), int(match[2])
        if 1 <= precision <= 38 and scale <= precision:
            return TypeOverride(steps, pa.decimal128(precision, scale))
    if match := _TIMESTAMP.fullmatch(text):
        return TypeOverride(steps, pa.timestamp(match[1], "UTC" if match[2] else None))
    return None


def overridden_schema(schema: pa.Schema, overrides: Sequence[TypeOverride]) -> pa.Schema:
    """What a schema becomes.

    :raises UsageError: where a path leads nowhere, or a type cannot become the wanted one.
    """
    for given in overrides:
        override = located(schema, given)
        index = schema.get_field_index(override.path[0])
        if override.unwrap == UNWRAP_TTL:
            access, value = schema.field(index).type
            schema = schema.set(index, value.with_name(override.path[0])).insert(index + 1, access)
            continue
        schema = schema.set(index, schema.field(index).with_type(_overridden(schema.field(index).type, override, 1)))
    return schema


_LAST_ACCESS = "last_access"


def _is_ttl(type_: pa.DataType) -> bool:
    """Whether it is the struct that Flink writes around a value with a TTL."""
    return pa.types.is_struct(type_) and [f.name for f in type_] == [_LAST_ACCESS, "value"]


def located(schema: pa.Schema, override: TypeOverride) -> TypeOverride:
    """The override with its path as this schema has it.

    :raises UsageError: where it leads nowhere.
    """
    if override.unwrap:
        return override
    column, *rest = override.path
    if column == "value" and rest[:1] == ["key"] and "map_key" in schema.names:  # the entries are rows
        column, rest = "map_key", rest[1:]
    index = schema.get_field_index(column)
    if index < 0:
        raise _nowhere(override, column, schema.names)
    type_, path = schema.field(index).type, [column]
    while True:
        names = _steps(type_)
        if _is_ttl(type_) and not override.json and (not rest or rest[0] not in names):
            step = "value"
        elif not rest:
            if not (override.of_python and pa.types.is_list(type_)):
                return replace(override, path=tuple(path))
            step = "element"
        elif not pa.types.is_nested(type_) and set(rest) <= {"element", "value"}:
            return replace(override, path=tuple(path))
        elif rest[0] in names:
            step = rest.pop(0)
        elif _is_ttl_list(type_) and rest[0] == "value":
            step = "element"
        else:
            raise _nowhere(override, rest[0], names)
        path.append(step)
        type_ = _inner(type_, step)


def _is_ttl_list(type_: pa.DataType) -> bool:
    return pa.types.is_list(type_) and _is_ttl(type_.value_type)


def _steps(type_: pa.DataType) -> list[str]:
    """The steps that lead into a type."""
    if pa.types.is_struct(type_):
        return [f.name for f in type_]
    return ["element"] if pa.types.is_list(type_) else ["key", "value"] if pa.types.is_map(type_) else []


def _inner(type_: pa.DataType, step: str) -> pa.DataType:
    if pa.types.is_struct(type_):
        return type_.field(step).type
    if pa.types.is_list(type_):
        return type_.value_type
    return type_.key_type if step == "key" else type_.item_type


def _overridden(type_: pa.DataType, override: TypeOverride, at: int) -> pa.DataType:
    if at == len(override.path):
        if override.unwrap:
            return _unwrapped_type(type_, override)
        fits = pa.types.is_binary(type_) if override.of_python else override.json or _possible(type_, override.type)
        if not fits:
            nested = pa.types.is_nested(type_)
            raise UsageError(
                f"the column {override} is {type_} and cannot become {override.type}", advice=_NESTED_ADVICE if nested else None
            )
        return override.type
    step = override.path[at]
    inner = _overridden(_inner(type_, step), override, at + 1)
    if pa.types.is_struct(type_):
        return pa.struct([f.with_type(inner) if f.name == step else f for f in type_])
    if pa.types.is_list(type_):
        return pa.list_(type_.value_field.with_type(inner))
    return pa.map_(inner, type_.item_type) if step == "key" else pa.map_(type_.key_type, inner)


def _unwrapped_type(type_: pa.DataType, override: TypeOverride) -> pa.DataType:
    if override.unwrap == UNWRAP_ROW:
        return type_.field(0).type
    if override.unwrap == UNWRAP_ONE:
        return type_.value_type
    inner = type_.value_type
    if _is_ttl(inner):
        return pa.list_(pa.struct([inner.field(0), pa.field("value", inner.field(1).type.value_type)]))
    return pa.list_(inner.value_type)


def _nowhere(override: TypeOverride, step: str, there: Sequence[str]) -> UsageError:
    return UsageError(f"the path {override} leads nowhere: there is no {step!r}", expected=", ".join(there) or "its end")


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


def apply_overrides(
    batch: pa.RecordBatch, overrides: Sequence[TypeOverride], conversion: Conversion | None = None
) -> pa.RecordBatch:
    """A batch with its columns as they are wanted; of a path that this batch does not have, nothing is done.

    :param conversion: takes what was met.
    :raises ValueRefusedError: a value that the wanted type does not hold exactly.
    """
    conversion = conversion or Conversion()
    for given in overrides:
        try:
            override = located(batch.schema, given)
        except UsageError:
            continue
        index = batch.schema.get_field_index(override.path[0])
        if index < 0:
            continue
        if override.unwrap == UNWRAP_TTL:
            access, value = batch.column(index).flatten()
            batch = batch.set_column(index, override.path[0], value).add_column(index + 1, _LAST_ACCESS, access)
            continue
        column = _grant(batch.column(index), override, 1, conversion)
        batch = batch.set_column(index, batch.schema.field(index).with_type(column.type), column)
    return batch


def _grant(array: pa.Array, override: TypeOverride, at: int, conversion: Conversion) -> pa.Array:
    if at == len(override.path):
        if override.unwrap:
            return _unwrapped(array, override)
        same = array.type == override.type and not override.json and not override.of_python
        return array if same else _converted(array, override, conversion)
    type_, step = array.type, override.path[at]
    if array.offset:
        array = pa.concat_arrays([array])
    if pa.types.is_struct(type_):
        index = type_.get_field_index(step)
        if index < 0:
            return array
        # Where the struct is null, its fields may hold anything: flatten() makes them null.
        children = array.flatten()
        children[index] = _grant(children[index], override, at + 1, conversion)
        fields = [f.with_type(child.type) for f, child in zip(type_, children, strict=True)]
        return pa.StructArray.from_arrays(children, fields=fields, mask=array.is_null() if array.null_count else None)
    if pa.types.is_list(type_):
        values = _grant(array.values, override, at + 1, conversion)
        list_type = pa.list_(type_.value_field.with_type(values.type))
        return pa.Array.from_buffers(list_type, len(array), array.buffers()[:2], children=[values])
    if not pa.types.is_map(type_):
        return array
    keys, items = array.keys, array.items
    keys, items = (
        (_grant(keys, override, at + 1, conversion), items)
        if step == "key"
        else (keys, _grant(items, override, at + 1, conversion))
    )
    map_type = pa.map_(keys.type, items.type)
    entries = pa.StructArray.from_arrays([keys, items], fields=[map_type.key_field, map_type.item_field])
    return pa.Array.from_buffers(map_type, len(array), array.buffers()[:2], children=[entries])


def _converted(array: pa.Array, override: TypeOverride, conversion: Conversion) -> pa.Array:
    convert = _conversion(array, override, conversion)
    try:
        return convert(array, override.type)
    except (pa.ArrowException, ValueError, ArithmeticError, DecimalException):
        # Which one it is, is looked for only now.
        trial = _conversion(array, override, Conversion(conversion.policy))
        bad = next((i for i in range(len(array)) if not _fits(array.slice(i, 1), trial, override)), 0)
        raise ValueRefusedError(
            f"the value {_shown(array, bad)} of the column {override} does not fit the wanted type {_called(override)} exactly",
            advice=_advice(array.type, override),
        ) from None


def _called(override: TypeOverride) -> str:
    """The wanted type as it was written, as far as messages need it."""
    of = {"one": " (one element of PyFlink)", "all": " (elements of PyFlink)"}
    return f"{override.type}{of.get(override.chunks, '')}"


def _advice(type_: pa.DataType, override: TypeOverride) -> str:
    """What could hold the value; not the type that did not."""
    keep = f"leave {override} out of `types` to keep its type {type_}"
    if override.chunks == "one":
        return f"set elements(…) if the state can have several elements, or another type, or {keep}"
    if override.json or override.of_python or pa.types.is_string(override.type):
        return keep
    return f"choose a wider type, or string, or {keep}"


def _conversion(
    array: pa.Array, override: TypeOverride, conversion: Conversion
) -> Callable[[pa.Array, pa.DataType], pa.Array]:
    if override.of_python:
        return lambda values, _: _from_python(values, override, conversion)
    return _json if override.json else _CONVERSIONS.get((_kind(array.type), _kind(override.type)), _cast)


def _fits(one: pa.Array, convert: Callable[[pa.Array, pa.DataType], pa.Array], override: TypeOverride) -> bool:
    try:
        convert(one, override.type)
    except (pa.ArrowException, ValueError, ArithmeticError, DecimalException):
        return False
    return True


# ---- what Python wrote


def _from_python(array: pa.Array, override: TypeOverride, conversion: Conversion) -> pa.Array:
    chunks: list[bytes | None] = array.to_pylist()
    if override.pickle is not None and not override.chunks:
        return _pickles(chunks, override.pickle, conversion)
    if override.element is not None and override.element.form is not None:
        return _numbers(array, override.element.form, override)
    if override.chunks == "one" and (override.element is None or override.element.is_text) and _is_one_of_length(array):
        inner = [None if data is None else data[4:] for data in chunks]
        if override.pickle is None:
            return pa.array(inner, pa.binary()).cast(override.type)
        return _pickles(inner, override.pickle, conversion)
    found: list[list[Any] | None] = []
    for data in chunks:
        if data is None:
            found.append(None)
            continue
        found.append(split_pickles(data) if override.element is None else split(data, override.element, conversion))
        if override.chunks == "one" and len(found[-1] or ()) != 1:
            raise ValueError("not one element")
    if override.element is not None:
        return pa.array([v if v is None or override.chunks == "all" else v[0] for v in found], override.type)
    assert override.pickle is not None
    if override.chunks == "one":
        return _pickles([None if v is None else v[0] for v in found], override.pickle, conversion)
    values = _pickles([pickle for v in found for pickle in v or ()], override.pickle, conversion)
    offsets = np.zeros(len(found) + 1, np.int32)
    np.cumsum([len(v or ()) for v in found], out=offsets[1:])
    mask = pa.array([v is None for v in found]) if array.null_count else None
    return pa.ListArray.from_arrays(pa.array(offsets), values, mask=mask)


def _bounds(array: pa.Array) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """The bytes of a binary array, where each value begins in them and the last one ends, and which are not null."""
    array = pa.concat_arrays([array]) if array.offset else array
    valid = array.is_valid().to_numpy(zero_copy_only=False)
    return np.frombuffer(array.buffers()[2] or b"", np.uint8), _offsets(array).astype(np.int64), valid


def _offsets(array: pa.Array) -> npt.NDArray[np.int32]:
    """Where each value of an array begins, and the last one ends."""
    return np.frombuffer(array.buffers()[1], np.int32)[: len(array) + 1] if len(array) else np.zeros(1, np.int32)


def _is_one_of_length(array: pa.Array) -> bool:
    """Whether each value is one element after its length."""
    data, offsets, valid = _bounds(array)
    starts, sizes = offsets[:-1][valid], np.diff(offsets)[valid]
    if (sizes < 4).any():
        return False
    lengths = data[starts[:, None] + np.arange(4)] @ (1 << np.array([24, 16, 8, 0], np.int64))
    return bool((lengths == sizes - 4).all())


def _numbers(array: pa.Array, form: str, override: TypeOverride) -> pa.Array:
    """Numbers of a fixed width."""
    data, offsets, valid = _bounds(array)
    width, sizes = struct.calcsize(form), np.diff(offsets)
    if (sizes % width).any() or (override.chunks == "one" and (sizes[valid] != width).any()):
        raise ValueError("a part of an element is left, or there is not one")
    assert override.element is not None
    numbers = np.frombuffer(data[offsets[0] : offsets[-1]].tobytes(), form).astype(form[1:])
    if override.chunks == "one":
        filled = np.zeros(len(array), numbers.dtype)
        filled[valid] = numbers
        return pa.array(filled, mask=~valid).view(override.type)
    lists = pa.array(((offsets - offsets[0]) // width).astype(np.int32))
    mask = pa.array(~valid) if array.null_count else None
    return pa.ListArray.from_arrays(lists, pa.array(numbers).view(override.element.type), mask=mask)


def _pickles(pickles: Sequence[bytes | None], type_: pa.DataType, conversion: Conversion) -> pa.Array:
    """Pickles as JSON text, as bytes and text, or as values of another type."""
    if type_ == _JSON_TEXT:
        return pickle_texts(pickles, conversion.notes, whole=True)
    texts = pickle_texts(pickles, conversion.notes)
    if type_ == PICKLED:
        bytes_ = pa.array(pickles, pa.binary())
        mask = bytes_.is_null() if bytes_.null_count else None
        return pa.StructArray.from_arrays([bytes_, texts], fields=list(type_), mask=mask)
    values = [_scalar_text(text, data) for text, data in zip(texts.to_pylist(), pickles, strict=True)]
    if pa.types.is_timestamp(type_):
        return _text_to_timestamp(values, type_)
    source = pa.array(values, pa.string())
    return _CONVERSIONS.get(("string", _kind(type_)), _cast)(source, type_)


def _scalar_text(text: str | None, data: bytes | None) -> str | None:
    """A pickled scalar as text."""
    if data is None:
        return None
    value = json.loads(text, parse_float=str, parse_int=str) if text is not None else []
    if isinstance(value, dict | list):
        raise ValueError("not a pickle of a scalar")
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else value


def _text_to_timestamp(values: Sequence[str | None], type_: pa.DataType) -> pa.Array:
    moments = [None if v is None else datetime.fromisoformat(v) for v in values]
    if any(m is not None and (m.tzinfo is None) != (type_.tz is None) for m in moments):
        raise ValueError("a time with a zone, or without one")
    return pa.array(moments, pa.timestamp("us", type_.tz)).cast(type_)


def _unwrapped(array: pa.Array, override: TypeOverride) -> pa.Array:
    """What PyFlink wraps: a key in a Row of one field, values in lists of what was added at one time."""
    if override.unwrap == UNWRAP_ROW:
        return array.flatten()[0]
    if array.offset:
        array = pa.concat_arrays([array])
    offsets, values = _offsets(array), array.values
    if override.unwrap == UNWRAP_ONE:
        counts = np.diff(offsets)
        valid = array.is_valid().to_numpy(zero_copy_only=False)
        if (counts[valid] != 1).any():
            row = int(np.flatnonzero(valid & (counts != 1))[0])
            raise ValueRefusedError(
                f"the column {override} has {counts[row]} elements in a row where one was expected",
                advice="set the type elements(…) for this state, or set --python-wrapping",
            )
        if valid.all():
            return values.slice(int(offsets[0]), len(array))
        return values.take(pa.array(np.where(valid, offsets[:-1], 0), mask=~valid))
    ttl = _is_ttl(values.type)
    lists = values.field(1) if ttl else values
    lists = pa.concat_arrays([lists]) if lists.offset else lists
    lengths = _offsets(lists)
    new = pa.array(lengths[offsets])
    inner = lists.values
    if ttl:
        repeated = np.repeat(np.arange(len(lists)), np.diff(lengths))
        inner = inner.slice(int(lengths[0]), int(lengths[-1] - lengths[0]))
        new = pa.array(lengths[offsets] - lengths[0])
        fields = [values.type.field(0), pa.field("value", inner.type)]
        inner = pa.StructArray.from_arrays([values.field(0).take(pa.array(repeated)), inner], fields=fields)
    mask = array.is_null() if array.null_count else None
    return pa.ListArray.from_arrays(new, inner, mask=mask)


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
    """Text that identifies a float among all others, or one of its own words."""
    numbers = [None if v is None else float(v) for v in array.to_pylist()]
    there = pa.array(numbers, type_)
    for text, number in zip(array.to_pylist(), there.to_numpy(zero_copy_only=False), strict=True):
        if text is not None and np.isfinite(number) and Decimal(str(number)) != Decimal(text):
            raise ValueError("not the same")
        if text is not None and np.isinf(number) and "inf" not in text.lower():
            raise ValueError("beyond the type")
    return there


def _float_to_text(array: pa.Array, type_: pa.DataType) -> pa.Array:
    single = pa.types.is_float32(array.type)
    return _each(lambda v: str(np.float32(v)) if single else repr(v))(array, type_)


def _to_timestamp(array: pa.Array, type_: pa.DataType) -> pa.Array:
    """Between units only without loss; a zone comes and goes without a shift."""
    plain = array.view(pa.timestamp(array.type.unit)) if pa.types.is_timestamp(array.type) else array
    return _cast(plain, pa.timestamp(type_.unit)).view(type_)


def _date_of(array: pa.Array, type_: pa.DataType) -> pa.Array:
    return _cast(array.view(pa.timestamp(array.type.unit)), type_)


def _bool(text: str) -> bool:
    if text not in ("true", "false"):
        raise ValueError("no boolean")
    return text == "true"


def _integer(text: str) -> int:
    number = Decimal(text)
    # An exponent makes a number of any size out of a short text.
    if not number.is_finite() or number.adjusted() > 20 or number != number.to_integral_value():
        raise ValueError("no integer of 64 bits")
    return int(number)


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


_json = _each(lambda value: json.dumps(_plain(value), ensure_ascii=False, separators=(",", ":")))

_CONVERSIONS: dict[tuple[str, str], Callable[[pa.Array, pa.DataType], pa.Array]] = {
    **{(kind, "decimal"): _to_decimal for kind in ("integer", "float", "decimal", "string")},
    ("string", "float"): _text_to_float,
    ("decimal", "float"): lambda array, type_: _text_to_float(array.cast(pa.string()), type_),
    ("float", "string"): _float_to_text,
    ("string", "bool"): _each(_bool),
    ("string", "integer"): _each(_integer),
    **{(kind, "string"): pa.Array.cast for kind in ("binary", "decimal", "timestamp", "date")},
    ("string", "binary"): pa.Array.cast,
    ("timestamp", "timestamp"): _to_timestamp,
    ("date", "timestamp"): _to_timestamp,
    ("timestamp", "date"): _date_of,
    ("integer", "date"): lambda array, type_: _cast(array, pa.int32()).view(type_),
    ("integer", "timestamp"): lambda array, type_: _cast(array, pa.int64()).view(type_),
}
