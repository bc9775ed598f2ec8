"""Statistics on Spark: its tasks read the splits, the driver puts together what they found.

The same figures as ``stateextract stats`` gives (``audit/statistics.py``); only who reads is another.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from stateextract.audit.collect import Execute, prepare
from stateextract.audit.document import Statistics
from stateextract.audit.history import table_of
from stateextract.audit.statistics import StatisticsOptions, statistics
from stateextract.options import JobOptions
from stateextract.spark import worker as carrier
from stateextract.spark.job import code_for_workers, compiled, mapped


def spark_statistics(spark: Any, options: JobOptions, question: StatisticsOptions | None = None) -> Statistics:
    """The figures of the states that the options choose.

    :param spark: a ``SparkSession``, classic or Connect.
    :param options: as for an extract job, without an output.
    :raises StateExtractError: where the snapshot, or a state of it, cannot be read.
    """
    return statistics(options, question, execute=_reader(spark, options.ship_code))


def statistics_frame(spark: Any, documents: Statistics | Sequence[Statistics]) -> Any:
    """Statistics as a Spark table: a row for each snapshot, operator and state, with the columns of a history."""
    given = [documents] if isinstance(documents, Statistics) else documents
    return spark.createDataFrame(table_of(given))


def _reader(spark: Any, ship_code: str) -> Execute:
    def execute(work: bytes, splits: Sequence[bytes], size: int) -> Iterable[bytes]:
        if not splits:
            return []
        folder, archive = code_for_workers(spark, ship_code, size)
        if folder is not None:
            compiled(size)
            prepare()
        return mapped(spark, len(splits), carrier.make_statistician(work, splits, folder, archive))

    return execute


__all__ = ["spark_statistics", "statistics_frame"]
