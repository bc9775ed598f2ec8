"""Lets Spark find the data source ``flink-state`` by itself: it looks for modules called ``pyspark_…`` with this name inside."""

from stateextract.spark.source import FlinkStateSource as DefaultSource

__all__ = ["DefaultSource"]
