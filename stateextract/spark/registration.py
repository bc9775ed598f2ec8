"""Making the data sources known to a Spark session, with the code that its processes need."""

from __future__ import annotations

from typing import Any

from stateextract.spark import data_sources
from stateextract.spark import worker as worker
from stateextract.spark.environment import check_python
from stateextract.spark.job import code_for_workers


def register(spark: Any, ship_code: str = "auto") -> None:
    """See :func:`stateextract.spark.register`."""
    from pyspark import cloudpickle

    # The driver plans a read in a process of that Python, wherever the workers are.
    check_python(spark)
    code = code_for_workers(spark, ship_code)
    for module in (worker, data_sources):
        cloudpickle.register_pickle_by_value(module)
    for base in data_sources.SOURCES:
        shipped = type(base.__name__, (base,), {"code": code, "__module__": base.__module__})
        try:
            spark.dataSource.register(shipped)
        except Exception as error:
            # Spark 4.0 keeps the source that it found by itself, where stateextract is installed; it is the same.
            if "DATA_SOURCE_ALREADY_EXISTS" not in str(error):
                raise
