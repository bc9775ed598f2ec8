"""What makes short commands quick."""

from __future__ import annotations

import sys
from typing import Any


class _NoPandas:
    """A finder of modules that says that there is no pandas."""

    def find_spec(self, fullname: str, _path: Any, _target: Any = None) -> None:
        if fullname == "pandas":
            raise ModuleNotFoundError("not needed here", name=fullname)


def without_pandas() -> None:
    """pyarrow looks for pandas when it makes its first array, which takes longer than all else here; none is needed."""
    if "pandas" in sys.modules:
        return
    import pyarrow as pa

    finder = _NoPandas()
    sys.meta_path.insert(0, finder)
    try:
        pa.array([0])
    finally:
        sys.meta_path.remove(finder)
