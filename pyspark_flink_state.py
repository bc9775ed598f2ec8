"""Lets Spark find the data source ``flink-state`` by itself: in modules called ``pyspark_…`` it looks for this name."""

from stateextract.spark.data_sources import FlinkStateSource as DefaultSource

__all__ = ["DefaultSource"]
