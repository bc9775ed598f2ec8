"""Spark: the extract job's splits as tasks, and the data sources ``flink-state`` and ``flink-state-metadata``."""

from __future__ import annotations

from typing import Any


def register(spark: Any, ship_code: str = "auto") -> None:
    """Make the data sources ``flink-state`` and ``flink-state-metadata`` known to a session.

    :param spark: a ``SparkSession``, classic or Connect.
    :param ship_code: ``auto`` sends stateextract and serializers to the workers unless they run on this machine;
        ``always`` and ``never`` do as they say. What these two need (pyarrow, numba, …) has to be there in any case.
    :raises EnvironmentProblem: where Spark is too old, or does not take the code.
    """
    from stateextract.spark.registration import register as do_register

    do_register(spark, ship_code)


__all__ = ["register"]
