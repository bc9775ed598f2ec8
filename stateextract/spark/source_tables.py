"""The source ``flink-state-metadata``: the tables of ``snapshot/tables.py`` with Spark's options and schemas.

The table ``statistics`` is that of ``source_statistics.py``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from stateextract.api.offset_table import SCHEMA as KAFKA_OFFSETS_SCHEMA
from stateextract.columnar.arrow.unite_schemas import cast_batch
from stateextract.errors import UsageError, leaving
from stateextract.options import JobOptions
from stateextract.printable import plain_names
from stateextract.snapshot.checkpoint_list import SCHEMA as SNAPSHOTS_SCHEMA
from stateextract.snapshot.checkpoint_list import snapshots_of
from stateextract.snapshot.tables import SCHEMAS, SnapshotTables
from stateextract.spark.source_options import (
    DOORS,
    KAFKA_OFFSETS,
    METADATA,
    METADATA_OPTIONS,
    READ_TABLES,
    SNAPSHOTS,
    STATISTICS,
    STATISTICS_OPTIONS,
    job_options,
    parse_options,
    tables_of,
)
from stateextract.spark.source_types import given_schema, spark_schema

_BATCH = 10_000
_SCHEMAS = {SNAPSHOTS: SNAPSHOTS_SCHEMA, KAFKA_OFFSETS: KAFKA_OFFSETS_SCHEMA, **SCHEMAS}


def table_schema(options: Mapping[str, str]) -> Any:
    """The ``StructType`` of the table that the options ask for."""
    table = _values(options)["table"]
    if table in READ_TABLES:
        from stateextract.spark.source_statistics import read_table_schema  # imports all that decodes

        return read_table_schema(table)
    return spark_schema(_SCHEMAS[table])


def _values(options: Mapping[str, str]) -> dict[str, Any]:
    """The options' values.

    :raises UsageError: for one that is unknown, wrong, or not the table's.
    """
    values = parse_options(options, METADATA_OPTIONS, METADATA)
    given = {name.lower() for name in options}
    for option in STATISTICS_OPTIONS:
        tables = (STATISTICS,) if option.name in ("asOf", "ttl") else READ_TABLES
        if values["table"] not in tables and option.name.lower() in given:
            raise UsageError(f"{METADATA}: the option {option.name} is for the {tables_of(option)}")
    return values


def planned(options: Mapping[str, str], schema: Any) -> bytes | None:
    """The plan of ``source_statistics.py``, if it is a table for which states are read."""
    values = _values(options)
    if values["table"] not in READ_TABLES:
        return None
    from stateextract.spark import source_statistics

    return source_statistics.planned(values, schema)


def read(options: Mapping[str, str], schema: Any) -> Iterator[pa.RecordBatch]:
    """The table.

    :param schema: the columns of it that are wanted, as Spark's ``StructType``.
    :raises StateExtractError: where the snapshot cannot be read.
    """
    values = _values(options)
    have = _SCHEMAS[values["table"]]
    given = given_schema(schema, have)
    with leaving(DOORS[METADATA]):
        job = job_options(values, METADATA_OPTIONS)
        rows: list[dict[str, Any]] = []
        for row in _rows(values["table"], job):
            rows.append(plain_names(row))
            if len(rows) == _BATCH:
                yield cast_batch(pa.RecordBatch.from_pylist(rows, have), given)
                rows.clear()
        if rows:
            yield cast_batch(pa.RecordBatch.from_pylist(rows, have), given)


def _rows(table: str, job: JobOptions) -> Iterator[dict[str, Any]]:
    if table == KAFKA_OFFSETS:
        from stateextract.api.snapshot import opened_by  # imports all that decodes

        return iter(opened_by(job).kafka_offsets().to_pylist())
    if table == SNAPSHOTS:
        return (row.as_dict() for row in snapshots_of(job, door=DOORS[METADATA]).snapshots)
    made: Iterator[dict[str, Any]] = getattr(SnapshotTables(job, DOORS[METADATA]), table)()
    return made
