"""Keeps pyarrow from importing pandas, which takes longer than all else that a short command or a worker process imports."""

from __future__ import annotations

import sys
from typing import Any


class _NoPandas:
    """A finder of modules that says that there is no pandas."""

    def find_spec(self, fullname: str, _path: Any, _target: Any = None) -> None:
        if fullname == "pandas":
            raise ModuleNotFoundError("not needed here", name=fullname)


def without_pandas() -> None:
    """Call it before the first array is made: pyarrow looks for pandas then, and only once."""
    if "pandas" in sys.modules:
        return
    import pyarrow as pa

    finder = _NoPandas()
    sys.meta_path.insert(0, finder)
    try:
        pa.array([0])
    finally:
        sys.meta_path.remove(finder)
