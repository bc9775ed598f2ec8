"""Keeps pyarrow from importing pandas, which takes longer than all else that a short command or a worker process imports."""

from __future__ import annotations

import sys
from contextlib import suppress
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from types import ModuleType
from typing import Any


class _PandasLater:
    """A finder of modules. It reports no pandas while pyarrow looks for it.

    A plug-in may import pandas later. Then pyarrow has to look once more, or it takes pandas' objects for unknown ones.
    """

    refuses = True

    def find_spec(self, fullname: str, _path: Any, _target: Any = None) -> ModuleSpec | None:
        if fullname != "pandas":
            return None
        if self.refuses:
            raise ModuleNotFoundError("not needed here", name=fullname)
        place = sys.meta_path.index(self)
        del sys.meta_path[place]
        try:
            spec = find_spec("pandas")
        finally:
            sys.meta_path.insert(place, self)  # who asks may not import it
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module

            def load_and_show(module: ModuleType) -> None:
                import pyarrow as pa

                load(module)
                with suppress(ImportError):  # a release of pandas that pyarrow does not take
                    _ = pa.lib._pandas_api.pd

            spec.loader.exec_module = load_and_show  # type: ignore[method-assign]
        return spec


def without_pandas() -> None:
    """Call it before the first array is made: pyarrow looks for pandas then, and only once."""
    if "pandas" in sys.modules or any(isinstance(finder, _PandasLater) for finder in sys.meta_path):
        return
    import pyarrow as pa

    finder = _PandasLater()
    sys.meta_path.insert(0, finder)
    pa.array([0])
    finder.refuses = False
