"""The data sources as Spark's processes use them, but in this one: pickled from step to step, and checked by Spark's code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark import cloudpickle
from pyspark.sql.datasource import CaseInsensitiveDict, DataSource, DataSourceReader
from pyspark.sql.types import StructType
from pyspark.sql.worker.plan_data_source_read import records_to_arrow_batches

from stateextract.spark.data_sources import FlinkStateMetadataSource, FlinkStateSource, SplitReader
from stateextract.spark.source_types import arrow_schema


def again(value: Any) -> Any:
    """The value in another process."""
    return cloudpickle.loads(cloudpickle.dumps(value))


def make(source: type[DataSource], options: dict[str, Any]) -> DataSource:
    """A source with its options as Spark hands them over."""
    texts = {k: str(v).lower() if isinstance(v, bool) else str(v) for k, v in options.items()}
    return source(CaseInsensitiveDict(texts))


class Loaded:
    """``load()``, and what comes after it."""

    def __init__(self, source: DataSource, given: StructType | None = None) -> None:
        self.schema: StructType = source.schema() if given is None else given
        self.source = again(source)

    def planned(self, filters: Sequence[Any] = ()) -> tuple[DataSourceReader, list[Any]]:
        """A reader that has planned, as it comes to a task, and the partitions."""
        reader = self.source.reader(self.schema)
        if filters:
            assert list(reader.pushFilters(list(filters))) == list(filters)
        return again(reader), again(reader.partitions() if isinstance(reader, SplitReader) else [None])

    def batches(self, filters: Sequence[Any] = ()) -> Iterator[pa.RecordBatch]:
        """What tasks give, after Spark's check of it."""
        reader, partitions = self.planned(filters)
        for partition in partitions:
            yield from records_to_arrow_batches(reader.read(partition), 10_000, self.schema, self.source)

    def table(self, filters: Sequence[Any] = ()) -> pa.Table:
        """All rows."""
        schema = arrow_schema(self.schema)
        return pa.Table.from_batches(list(self.batches(filters)), schema)


def load(path: Any, given: StructType | None = None, **options: Any) -> Loaded:
    """``spark.read.format("flink-state").options(…).load(path)``."""
    return Loaded(make(FlinkStateSource, {"path": path, **options}), given)


def load_metadata(path: Any, table: str, **options: Any) -> pa.Table:
    """A table of ``flink-state-metadata``."""
    return Loaded(make(FlinkStateMetadataSource, {"path": path, "table": table, **options})).table()
