"""Statistics on Spark: its tasks read the splits, the driver puts together what they found.

The same statistics as ``stateextract stats`` gives (``audit/statistics.py``); only who reads is another.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stateextract.audit.document import Statistics
from stateextract.audit.history import table_of
from stateextract.audit.statistics import StatisticsOptions, statistics
from stateextract.options import JobOptions
from stateextract.spark.job import spark_executor


def spark_statistics(spark: Any, options: JobOptions, statistics_options: StatisticsOptions | None = None) -> Statistics:
    """The statistics of the states that the options choose.

    :param spark: a ``SparkSession``, classic or Connect.
    :param options: as for an extract job, without an output.
    :raises StateExtractError: where the snapshot, or a state of it, cannot be read.
    """
    return statistics(options, statistics_options, spark_executor(spark, options.ship_code))


def statistics_frame(spark: Any, documents: Statistics | Sequence[Statistics]) -> Any:
    """Statistics as a Spark table: a row for each snapshot, operator and state, with the columns of a history."""
    from pyspark.sql.pandas.types import from_arrow_schema

    given = [documents] if isinstance(documents, Statistics) else documents
    table = table_of(given)
    return spark.createDataFrame(table.to_pylist(), from_arrow_schema(table.schema))  # Spark 3.5 takes no table of Arrow
