"""pyarrow does not import pandas, and knows it all the same if a plug-in does."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import importlib.util, sys
from stateextract.columnar.arrow.without_pandas import without_pandas
without_pandas()
without_pandas()
assert importlib.util.find_spec("pandas") is not None  # to ask is not to import
import pyarrow as pa
assert "pandas" not in sys.modules
import pandas as pd
assert pa.array(pd.Series([pd.NA, "a"], dtype="string")).to_pylist() == [None, "a"]
assert str(pa.array(pd.Categorical(["a"])).type).startswith("dictionary<")
assert pa.table({"n": [1, None]}).to_pandas()["n"].tolist()[0] == 1.0
assert [type(finder).__name__ for finder in sys.meta_path].count("_PandasLater") == 1
"""


def test_a_plug_in_may_use_pandas() -> None:
    pytest.importorskip("pandas")
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
