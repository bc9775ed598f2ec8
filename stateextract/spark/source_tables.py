"""The source ``flink-state-metadata``: the tables of ``job/tables.py`` with Spark's options and schemas."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from stateextract.columnar.schema import conform
from stateextract.errors import StateExtractError
from stateextract.job.tables import SCHEMAS, SnapshotTables
from stateextract.spark.source_options import METADATA, METADATA_OPTIONS, in_spark_words, job_options, parse_options
from stateextract.spark.source_types import arrow_schema, check_given, spark_schema

_BATCH = 10_000


def table_schema(options: Mapping[str, str]) -> Any:
    """The ``StructType`` of the table that the options ask for."""
    return spark_schema(SCHEMAS[parse_options(options, METADATA_OPTIONS, METADATA)["table"]])


def read(options: Mapping[str, str], schema: Any) -> Iterator[pa.RecordBatch]:
    """The table.

    :param schema: the columns of it that are wanted, as Spark's ``StructType``.
    :raises StateExtractError: where the snapshot cannot be read.
    """
    values = parse_options(options, METADATA_OPTIONS, METADATA)
    given, have = arrow_schema(schema), SCHEMAS[values["table"]]
    check_given(given, have)
    try:
        tables = SnapshotTables(job_options(values, METADATA_OPTIONS), in_spark_words)
        rows: list[dict[str, Any]] = []
        for row in getattr(tables, values["table"])():
            rows.append(row)
            if len(rows) == _BATCH:
                yield conform(pa.RecordBatch.from_pylist(rows, have), given)
                rows.clear()
        if rows:
            yield conform(pa.RecordBatch.from_pylist(rows, have), given)
    except StateExtractError as error:
        raise in_spark_words(error) from None


__all__ = ["read", "table_schema"]
