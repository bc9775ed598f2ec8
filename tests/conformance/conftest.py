"""Where the conformance tests find Flink's own files: beside the repository, or where the environment says."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

_ROOT = Path(__file__).resolve().parents[2]


def flink_files() -> Path:
    """Folder of Flink's own test files (``FLINK_FILES``)."""
    return Path(os.environ.get("FLINK_FILES", _ROOT.parent / "shared" / "flink-files"))


def flink_cases() -> Path:
    """Folder of the cases with their truth (``FLINK_CASES``)."""
    return Path(os.environ.get("FLINK_CASES", _ROOT.parent / "shared" / "cases"))


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Without the files there is nothing to conform to."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents and not (flink_files().is_dir() and flink_cases().is_dir()):
            item.add_marker(pytest.mark.skip(reason="Flink's files are not there (FLINK_FILES, FLINK_CASES)"))
