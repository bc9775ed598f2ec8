"""Dates and times: ``java.util.Date``, ``java.sql``, ``java.time``.

Flink's classes: ``org.apache.flink.api.common.typeutils.base.{Date,SqlDate,SqlTime,SqlTimestamp,Instant,LocalDate,
LocalTime,LocalDateTime}Serializer``; simple snapshots. Nulls are values out of range, which ``logical.py`` knows.

``java.sql.Date`` and ``Time`` hold the milliseconds of a local midnight or of 1970-01-01 in the time zone of the JVM
that wrote them, which is not recorded: they stay instants.
"""

from __future__ import annotations

import pyarrow as pa

from serializers.registry import register
from serializers.scalars import BASE
from stateextract.columnar.layout import Field, Layout, Logical, Number, Struct, struct

UTC = pa.timestamp("us", tz="UTC")
LOCAL = pa.timestamp("us")

_I8, _I32, _I64 = Number(pa.int8()), Number(pa.int32()), Number(pa.int64())
_DATE = (Field("year", _I32), Field("month", _I8), Field("day", _I8))
_TIME = (Field("hour", _I8), Field("minute", _I8), Field("second", _I8), Field("nanos", _I32))

EPOCH_MS = Logical(_I64, "epoch_ms", UTC)
"""Milliseconds since 1970 without a null: window bounds, TTL's last access."""

DATES: dict[str, Layout] = {
    "Date": Logical(_I64, "date", UTC),
    "SqlDate": Logical(_I64, "date", UTC),
    "SqlTime": Logical(_I64, "date", UTC),
    "SqlTimestamp": Logical(struct(ms=_I64, nanos=_I32), "sql_timestamp", UTC),
    "Instant": Logical(struct(seconds=_I64, nanos=_I32), "instant", UTC),
    "LocalDate": Logical(Struct(_DATE), "local_date", pa.date32()),
    "LocalTime": Logical(Struct(_TIME), "local_time", pa.string()),
    "LocalDateTime": Logical(Struct(_DATE + _TIME), "local_datetime", LOCAL),
}

for _name, _layout in DATES.items():
    register(f"{BASE}{_name}Serializer${_name}SerializerSnapshot", _layout, fixed_length=True)
