"""The site is built without a warning: every page has its place, every link and anchor a target."""

from __future__ import annotations

import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import ROOT


def test_the_site(tmp_path: Path) -> None:
    pytest.importorskip("material")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", tmp_path / "site"],
        cwd=ROOT, capture_output=True, text=True, timeout=300, check=False,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    built = {path.parent.name for path in (tmp_path / "site").glob("*/index.html")}
    assert {page.stem for page in (ROOT / "docs").glob("*.md")} - {"index"} <= built


def test_the_page_of_options_is_current() -> None:
    page = runpy.run_path(str(ROOT / "scripts" / "options_page.py"))["page"]
    assert (ROOT / "docs" / "options.md").read_text(encoding="utf-8") == page(), (
        "python scripts/options_page.py > docs/options.md"
    )


def test_the_page_of_exit_codes_is_current() -> None:
    page = runpy.run_path(str(ROOT / "scripts" / "exit_codes_page.py"))["page"]
    assert (ROOT / "docs" / "exit-codes.md").read_text(encoding="utf-8") == page(), (
        "python scripts/exit_codes_page.py > docs/exit-codes.md"
    )
