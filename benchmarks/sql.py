"""What decoding SQL's rows costs beside writing Parquet: ``BinaryRow`` with eight fields of mixed types.

    python -m benchmarks.sql [--megabytes 100] [--times 5]

The rows are encoded here from their description, apart from the decoder; ``benchmarks/values.py`` measures.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

from benchmarks.measuring import Measurement, Size
from benchmarks.values import Sample, main, measure_all
from serializers.logical_types import row_fields
from serializers.sql_type import LogicalType
from tests.writers.shapes import NAMES

_EPOCH = datetime(1970, 1, 1)


def _type(root: str, precision: int = 0, scale: int = 0) -> LogicalType:
    return LogicalType(root, "org.apache.flink.table.types.logical.LogicalType", True, precision, scale)


TYPES = [
    _type("BIGINT"), _type("INTEGER"), _type("VARCHAR"), _type("DOUBLE"), _type("BOOLEAN"), _type("DECIMAL", 10, 2),
    _type("TIMESTAMP_WITHOUT_TIME_ZONE", 3), _type("DATE"),
]  # fmt: skip


def encode(row: dict[str, Any]) -> bytes:
    """A row behind its length: kind and null bits, a slot of eight bytes per field, then texts of more than seven bytes."""
    fields = [row[f"f{i}"] for i in range(len(TYPES))]
    bits, slots, behind = 0, [], b""
    for number, value in enumerate(fields):
        if value is None:
            bits |= 1 << (8 + number)  # the first byte is the row's kind, 0: an insertion
            slots.append(bytes(8))
            continue
        if isinstance(value, str):
            text = value.encode()
            if len(text) < 8:
                slots.append(text.ljust(7, b"\0") + bytes([0x80 | len(text)]))
                continue
            # Null bits and kind take the first eight bytes.
            slots.append(struct.pack("<II", len(text), 8 + 8 * len(fields) + len(behind)))
            behind += text.ljust(-(-len(text) // 8) * 8, b"\0")
        else:
            slots.append(_slot(number, value))
    section = struct.pack("<Q", bits) + b"".join(slots) + behind
    return struct.pack(">i", len(section)) + section


def _slot(number: int, value: Any) -> bytes:
    match number:
        case 0:
            return struct.pack("<q", value)
        case 1:
            return struct.pack("<ii", value, 0)
        case 3:
            return struct.pack("<d", value)
        case 4:
            return struct.pack("<?7x", value)
        case 5:
            return struct.pack("<q", int(value.scaleb(2)))
        case 6:
            return struct.pack("<q", (value - _EPOCH) // timedelta(milliseconds=1))
    return struct.pack("<ii", (value - date(1970, 1, 1)).days, 0)


def rows(count: int, seed: int = 7) -> list[dict[str, Any]]:
    """Rows as Arrow gives them back; two in a hundred fields are null, and one name in four is short."""
    random_ = random.Random(seed)
    found = []
    for _ in range(count):
        name = random_.choice(NAMES)
        moment = _EPOCH + timedelta(milliseconds=random_.randrange(1_600_000_000_000, 1_800_000_000_000))
        values: list[Any] = [
            random_.getrandbits(63), random_.randrange(10_000), name[:6].strip() if random_.random() < 0.25 else name,
            random_.random() * 1000, random_.random() < 0.5, Decimal(random_.randrange(10**9)).scaleb(-2), moment,
            moment.date(),
        ]  # fmt: skip
        row = {f"f{i}": None if random_.random() < 0.02 else value for i, value in enumerate(values)}
        found.append(row | {"row_kind": "+I"})
    return found


def samples(count: int) -> Sequence[Sample]:
    return [Sample("RowData", row_fields(TYPES, kind=True), encode, rows(count))]


def benchmark(size: Size) -> Iterator[Measurement]:
    """SQL rows."""
    return measure_all(samples, size)


if __name__ == "__main__":
    main(__doc__, samples)
