"""Spark 3.5 has no data sources in Python: their tests are not collected there."""

from tests.spark import HAS_SOURCES

collect_ignore_glob = [] if HAS_SOURCES else ["test_source*.py", "test_data_sources.py"]
