"""More conversions for ``logical.py``: whole columns of wire values into the user's types.

They belong to Avro's logical types, whose scales and units are in the schema: microseconds and nanoseconds since
1970, times of day in microseconds, decimals wider than 16 bytes, UUIDs as bytes. Each takes the column, the rows that
hold a value, the ``Logical`` node and the context with the policy and its counters, as those of ``logical.py`` do.

May import layouts, the policy, errors, numpy and pyarrow. Must not know of bytes' positions, files, numba.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol
from uuid import UUID

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from stateextract.columnar.convert.numerals import MAX_DIGIT_BYTES, big_decimal_text
from stateextract.columnar.convert.policy import ChangeCounts, Policy
from stateextract.columnar.layout import Logical
from stateextract.errors import FormatError, ValueRefusedError

Mask = npt.NDArray[np.bool_]


class ConversionContext(Protocol):
    """The policy, and the counters of what is changed to fit."""

    @property
    def policy(self) -> Policy: ...

    @property
    def counts(self) -> ChangeCounts: ...


def epoch_units(array: pa.Array, valid: Mask, node: Logical, ctx: ConversionContext) -> pa.Array:
    """Microseconds since 1970, and widened numbers: the same bytes or the same numbers, of another type."""
    return array.view(node.type) if array.type.bit_width == node.type.bit_width else array.cast(node.type)


def epoch_ns(array: pa.Array, valid: Mask, node: Logical, ctx: ConversionContext) -> pa.Array:
    """Nanoseconds since 1970; towards the past where the column has microseconds."""
    if node.type.unit == "ns":
        return array.view(node.type)
    if len(array) == 0:
        return pa.array([], node.type)
    nanos = np.frombuffer(array.buffers()[1], np.int64)[array.offset : array.offset + len(array)]
    micros, rest = np.divmod(np.where(valid, nanos, 0), 1000)
    finer = rest != 0
    if finer.any():
        if ctx.policy.timestamps == "fail":
            raise ValueRefusedError(
                f"the time {nanos[int(finer.argmax())]} ns since 1970 has digits below the microsecond",
                advice="set --timestamps to floor (cut off and counted) or nanoseconds (which Spark cannot read)",
            )
        ctx.counts.sub_microsecond += int(finer.sum())
    return pa.array(micros, pa.int64(), mask=~valid).view(node.type)


def day_us(array: pa.Array, valid: Mask, node: Logical, ctx: ConversionContext) -> pa.Array:
    """Microseconds since midnight as ``HH:MM:SS`` with 0, 3 or 6 more digits."""
    return pa.array([None if us is None else _time_of_day(us, node, ctx) for us in _values(array, valid)], node.type)


def _time_of_day(us: int, node: Logical, ctx: ConversionContext) -> str | None:
    if not 0 <= us < 86_400_000_000:
        _unfit(f"the time of day {us} us since midnight", node, ctx)
        return None
    seconds, rest = divmod(us, 1_000_000)
    digits = "" if rest == 0 else f".{rest // 1000:03}" if rest % 1000 == 0 else f".{rest:06}"
    return f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}{digits}"


def scaled(array: pa.Array, valid: Mask, node: Logical, ctx: ConversionContext) -> pa.Array:
    """Two's complement of any length with the scale in ``labels``: a decimal, or text for more than 38 digits."""
    scale = int(node.labels[0])
    exact = _decimal_of(scale, node, ctx) if pa.types.is_decimal(node.type) else _text_of(scale, node, ctx)
    return pa.array([None if raw is None else exact(raw) for raw in _values(array, valid)], node.type)


def _number(raw: bytes) -> int:
    if not raw:
        raise FormatError("invalid value: a number without digits")
    return int.from_bytes(raw, "big", signed=True)


def _decimal_of(scale: int, node: Logical, ctx: ConversionContext) -> Callable[[bytes], Any]:
    from decimal import Context as Arithmetic

    arithmetic = Arithmetic(prec=80)
    bound = 10**node.type.precision

    def exact(raw: bytes) -> Any:
        number = _number(raw) if len(raw) <= MAX_DIGIT_BYTES else bound
        if not -bound < number < bound:
            return _unfit(f"a decimal of {len(raw)} bytes", node, ctx)
        return arithmetic.scaleb(number, -scale)

    return exact


def _text_of(scale: int, node: Logical, ctx: ConversionContext) -> Callable[[bytes], Any]:
    def exact(raw: bytes) -> Any:
        if len(raw) > MAX_DIGIT_BYTES:
            return _unfit(f"a number of {len(raw)} bytes", node, ctx)
        return big_decimal_text(_number(raw), scale)

    return exact


def decimal_text(array: pa.Array, valid: Mask, node: Logical, ctx: ConversionContext) -> pa.Array:
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


def big_decimal_bytes(array: pa.Array, valid: Mask, node: Logical, ctx: ConversionContext) -> pa.Array:
    """Avro's ``big-decimal``: inside of the bytes a zig-zag length, the number, and a zig-zag scale."""
    return pa.array([None if raw is None else _big_decimal(raw, node, ctx) for raw in _values(array, valid)], node.type)


def _big_decimal(raw: bytes, node: Logical, ctx: ConversionContext) -> str | None:
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


def uuid_bytes(array: pa.Array, valid: Mask, node: Logical, ctx: ConversionContext) -> pa.Array:
    """Sixteen bytes as ``8-4-4-4-12`` hexadecimal digits."""
    values = list(_values(array, valid))
    wrong = next((raw for raw in values if raw is not None and len(raw) != 16), None)
    if wrong is not None:
        raise FormatError(f"invalid value: a UUID of {len(wrong)} bytes", expected="16 bytes")
    return pa.array([None if raw is None else str(UUID(bytes=raw)) for raw in values], node.type)


def labels_by_number(array: pa.Array, valid: Mask, node: Logical, ctx: ConversionContext) -> pa.Array:
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


def _unfit(what: str, node: Logical, ctx: ConversionContext) -> None:
    """A value that its column cannot hold: refused, or counted and null."""
    if ctx.policy.out_of_range == "fail":
        raise ValueRefusedError(
            f"{what} does not fit the type {node.type}",
            advice="set --out-of-range null to get a null, which is counted",
        )
    ctx.counts.out_of_range += 1


MORE: dict[str, Callable[[pa.Array, Mask, Logical, Any], pa.Array]] = {
    "epoch_us": epoch_units,
    "widened": epoch_units,
    "epoch_ns": epoch_ns,
    "day_us": day_us,
    "labels_by_number": labels_by_number,
    "scaled": scaled,
    "decimal_text": decimal_text,
    "big_decimal_bytes": big_decimal_bytes,
    "uuid_bytes": uuid_bytes,
}
"""By the names that layouts use."""
