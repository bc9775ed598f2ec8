"""More conversions for ``logical.py``: whole columns of wire values into the user's types.

They belong to Avro's logical types, whose scales and units are in the schema: decimals wider than 16 bytes, UUIDs as bytes.
Each takes the column, the rows that hold a value, the ``Logical`` node and the context with the policy and its counters, as
those of ``logical.py`` do.

May import layouts, the policy, errors and pyarrow. Must not know of bytes' positions, files, numba.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID

import pyarrow as pa

from stateextract.columnar.convert.numerals import MAX_DIGIT_BYTES, big_decimal_text
from stateextract.columnar.convert.wire_columns import Context, Mask
from stateextract.columnar.layout import Logical
from stateextract.errors import FormatError, ValueRefusedError


def epoch_units(array: pa.Array, valid: Mask, node: Logical, ctx: Context) -> pa.Array:
    """Microseconds since 1970, and widened numbers: the same bytes or the same numbers, of another type."""
    return array.view(node.type) if array.type.bit_width == node.type.bit_width else array.cast(node.type)


def scaled(array: pa.Array, valid: Mask, node: Logical, ctx: Context) -> pa.Array:
    """Two's complement of any length with the scale in ``labels``: a decimal, or text for more than 38 digits."""
    scale = int(node.labels[0])
    exact = _decimal_of(scale, node, ctx) if pa.types.is_decimal(node.type) else _text_of(scale, node, ctx)
    return pa.array([None if raw is None else exact(raw) for raw in _values(array, valid)], node.type)


def _number(raw: bytes) -> int:
    if not raw:
        raise FormatError("invalid value: a number without digits")
    return int.from_bytes(raw, "big", signed=True)


def _decimal_of(scale: int, node: Logical, ctx: Context) -> Callable[[bytes], Any]:
    from decimal import Context as Arithmetic

    arithmetic = Arithmetic(prec=80)
    bound = 10**node.type.precision

    def exact(raw: bytes) -> Any:
        number = _number(raw) if len(raw) <= MAX_DIGIT_BYTES else bound
        if not -bound < number < bound:
            return _unfit(f"a decimal of {len(raw)} bytes", node, ctx)
        return arithmetic.scaleb(number, -scale)

    return exact


def _text_of(scale: int, node: Logical, ctx: Context) -> Callable[[bytes], Any]:
    def exact(raw: bytes) -> Any:
        if len(raw) > MAX_DIGIT_BYTES:
            return _unfit(f"a number of {len(raw)} bytes", node, ctx)
        return big_decimal_text(_number(raw), scale)

    return exact


def decimal_text(array: pa.Array, valid: Mask, node: Logical, ctx: Context) -> pa.Array:
    """Decimal digits as text into the column's decimal, exactly."""
    from decimal import Context as Arithmetic
    from decimal import Decimal, DecimalException

    arithmetic = Arithmetic(prec=node.type.precision, Emin=-99, Emax=99)
    arithmetic.traps = dict.fromkeys(arithmetic.traps, True)
    step = Decimal(1).scaleb(-node.type.scale)

    def exact(text: str | bytes) -> Any:
        # Where the policy keeps strings as bytes, these are bytes too.
        digits = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
        try:
            # Zeros after the last digit that counts may go or come.
            number = arithmetic.quantize(Decimal(digits), step)
        except DecimalException:
            return _unfit(f"the decimal {digits[:80]!r}", node, ctx)
        return number if number.is_finite() else _unfit(f"the decimal {digits[:80]!r}", node, ctx)

    return pa.array([None if text is None else exact(text) for text in _values(array, valid)], node.type)


def big_decimal_bytes(array: pa.Array, valid: Mask, node: Logical, ctx: Context) -> pa.Array:
    """Avro's ``big-decimal``: inside of the bytes a zig-zag length, the number, and a zig-zag scale."""
    return pa.array([None if raw is None else _big_decimal(raw, node, ctx) for raw in _values(array, valid)], node.type)


def _big_decimal(raw: bytes, node: Logical, ctx: Context) -> str | None:
    length, at = _zigzag(raw, 0)
    if not 0 < length <= len(raw) - at:
        raise FormatError(f"invalid value: a big decimal of {length} bytes in {len(raw)}")
    scale, end = _zigzag(raw, at + length)
    if end != len(raw) or not -(1 << 31) <= scale < 1 << 31:
        raise FormatError(f"invalid value: a big decimal with the scale {scale}")
    if length > MAX_DIGIT_BYTES:
        _unfit(f"a number of {length} bytes", node, ctx)
        return None
    return big_decimal_text(_number(raw[at : at + length]), scale)


def _zigzag(raw: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(raw):
            break
        value |= (raw[at] & 0x7F) << shift
        at += 1
        if raw[at - 1] < 0x80:
            return (value >> 1) ^ -(value & 1), at
    raise FormatError("invalid value: a big decimal that ends too early")


def uuid_bytes(array: pa.Array, valid: Mask, node: Logical, ctx: Context) -> pa.Array:
    """Sixteen bytes as ``8-4-4-4-12`` hexadecimal digits."""
    values = list(_values(array, valid))
    wrong = next((raw for raw in values if raw is not None and len(raw) != 16), None)
    if wrong is not None:
        raise FormatError(f"invalid value: a UUID of {len(wrong)} bytes", expected="16 bytes")
    return pa.array([None if raw is None else str(UUID(bytes=raw)) for raw in values], node.type)


def labels_by_number(array: pa.Array, valid: Mask, node: Logical, ctx: Context) -> pa.Array:
    """Numbers that have names: each label is ``number=name``, and ``number`` alone is that of null."""
    parts = (label.partition("=") for label in node.labels)
    names = {int(number): name if equals else None for number, equals, name in parts}
    numbers = list(_values(array, valid))
    unknown = next((n for n in numbers if n is not None and n not in names), None)
    if unknown is not None:
        raise FormatError(f"invalid value: the number {unknown} has no name", expected=f"one of {sorted(names)[:20]}")
    return pa.array([None if n is None else names[n] for n in numbers], node.type)


def _values(array: pa.Array, valid: Mask) -> Iterator[Any]:
    return (value if live else None for value, live in zip(array.to_pylist(), valid.tolist(), strict=True))


def _unfit(what: str, node: Logical, ctx: Context) -> None:
    """A value that its column cannot hold: refused, or counted and null."""
    if ctx.policy.out_of_range == "fail":
        raise ValueRefusedError(
            f"{what} does not fit the type {node.type}",
            advice="set --out-of-range null to get a null, which is counted",
        )
    ctx.counts.out_of_range += 1


MORE: dict[str, Callable[[pa.Array, Mask, Logical, Context], pa.Array]] = {
    "epoch_us": epoch_units,
    "widened": epoch_units,
    "labels_by_number": labels_by_number,
    "scaled": scaled,
    "decimal_text": decimal_text,
    "big_decimal_bytes": big_decimal_bytes,
    "uuid_bytes": uuid_bytes,
}
"""By the names that layouts use."""
