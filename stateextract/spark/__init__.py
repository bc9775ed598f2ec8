"""Spark: the extract job's splits as tasks, and the data sources ``flink-state`` and ``flink-state-metadata``."""

from __future__ import annotations

from typing import Any


def register(spark: Any, ship_code: str = "auto") -> None:
    """Make the data sources ``flink-state`` and ``flink-state-metadata`` known to a session.

    :param spark: a ``SparkSession``, classic or Connect.
    :param ship_code: ``auto`` sends stateextract and serializers to the workers unless they run on this machine;
        ``always`` and ``never`` do as they say. What these two need (pyarrow, numpy, …) has to be there in any case.
    In an environment that is not activated, a Spark on this machine is set to this Python, unless ``PYSPARK_PYTHON`` or
    ``spark.pyspark.python`` chose one.

    :raises EnvironmentProblem: if Spark is too old, does not take the code, or starts a Python that cannot run it.
    """
    import pyspark

    from stateextract.spark.environment import check_pyspark, check_sources

    check_pyspark(pyspark.__version__)
    check_sources(spark)
    # This imports modules that older ones lack.
    from stateextract.spark.registration import register as do_register

    do_register(spark, ship_code)
