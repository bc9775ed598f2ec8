"""What decoding Avro records costs beside writing Parquet: eight fields of mixed types, in Flink's own encoding.

    python -m benchmarks.avro [--megabytes 100] [--times 5]

The records are encoded here from their description, apart from the decoder; ``benchmarks/values.py`` measures.
"""

from __future__ import annotations

import json
import random
import struct
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from typing import Any

from benchmarks.measuring import Measurement, Size
from benchmarks.values import Sample, main, measure_all
from serializers.avro import schema_layout
from serializers.avroschema import parse_schema
from tests.writers.shapes import NAMES, WORDS

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_STATES = ("NEW", "PAID", "SHIPPED")
SCHEMA = {
    "type": "record",
    "name": "Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "quantity", "type": "int"},
        {"name": "name", "type": ["null", "string"]},
        {"name": "price", "type": "double"},
        {"name": "state", "type": {"type": "enum", "name": "State", "symbols": list(_STATES)}},
        {"name": "placed", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "due", "type": {"type": "int", "logicalType": "date"}},
        {"name": "tags", "type": {"type": "array", "items": "string"}},
    ],
}


def encode(row: dict[str, Any]) -> bytes:
    """A record: numbers big-endian in full width, texts behind their length, the array as one block and its end."""
    name = b"\0\0\0\0" if row["name"] is None else b"\0\0\0\1" + _text(row["name"])
    tags = row["tags"]
    return (
        struct.pack(">qi", row["id"], row["quantity"])
        + name
        + struct.pack(
            ">diqi", row["price"], _STATES.index(row["state"]),
            (row["placed"] - _EPOCH) // timedelta(milliseconds=1), (row["due"] - date(1970, 1, 1)).days,
        )
        + (bytes([len(tags)]) + b"".join(map(_text, tags)) if tags else b"")
        + b"\0"
    )  # fmt: skip


def _text(text: str) -> bytes:
    raw = text.encode()
    return struct.pack(">i", len(raw)) + raw


def rows(count: int, seed: int = 7) -> list[dict[str, Any]]:
    """Records as Arrow gives them back; two names in a hundred are null."""
    random_ = random.Random(seed)
    found = []
    for _ in range(count):
        placed = _EPOCH + timedelta(milliseconds=random_.randrange(1_600_000_000_000, 1_800_000_000_000))
        found.append({
            "id": random_.getrandbits(63), "quantity": random_.randrange(10_000),
            "name": None if random_.random() < 0.02 else random_.choice(NAMES), "price": random_.random() * 1000,
            "state": random_.choice(_STATES), "placed": placed, "due": placed.date(),
            "tags": random_.sample(WORDS, random_.randrange(4)),
        })  # fmt: skip
    return found


def samples(count: int) -> Sequence[Sample]:
    return [Sample("Avro", schema_layout(parse_schema(json.dumps(SCHEMA))), encode, rows(count))]


def benchmark(size: Size) -> Iterator[Measurement]:
    """Avro records."""
    return measure_all(samples, size)


if __name__ == "__main__":
    main(__doc__, samples)
