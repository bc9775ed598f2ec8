"""Lets Spark find the data source ``flink-state-metadata`` by itself, as ``pyspark_flink_state`` does for ``flink-state``."""

from stateextract.spark.data_sources import FlinkStateMetadataSource as DefaultSource

__all__ = ["DefaultSource"]
