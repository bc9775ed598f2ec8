from importlib.util import find_spec

import pytest

HAS_SOURCES = find_spec("pyspark") is None or find_spec("pyspark.sql.datasource") is not None
needs_sources = pytest.mark.skipif(not HAS_SOURCES, reason="Spark 3.5 has no data sources in Python")
