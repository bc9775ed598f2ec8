"""Stores of tests: file systems in memory in the place of those that a scheme stands for."""

from __future__ import annotations

from typing import Any

import pytest

from stateextract.files.connect import STORES


def mock_filesystem(*_: Any) -> tuple[Any, str]:
    """pyarrow's."""
    from pyarrow.fs import FileSystem

    found: tuple[Any, str] = FileSystem.from_uri("mock:///")
    return found


def memory_filesystem(scheme: str, authority: str, *_: Any) -> tuple[Any, str]:
    """fsspec's, one for all."""
    import fsspec
    from pyarrow import fs

    return fs.PyFileSystem(fs.FSSpecHandler(fsspec.filesystem("memory"))), f"/{authority}"


def put_stores_into_memory(patch: pytest.MonkeyPatch) -> None:
    """``hdfs://`` is pyarrow's memory then, ``oss://`` that of fsspec."""
    patch.setitem(STORES, "hdfs", STORES["hdfs"]._replace(make=mock_filesystem))
    patch.setitem(STORES, "oss", STORES["oss"]._replace(make=memory_filesystem))
