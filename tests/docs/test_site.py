"""The site is built without a warning: every page has its place, every link and anchor a target."""

from __future__ import annotations

import html
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import ROOT


def test_the_site(tmp_path: Path) -> None:
    pytest.importorskip("zensical")
    # Zensical writes next to its configuration.
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    shutil.copy(ROOT / "mkdocs.yml", tmp_path)
    command = [sys.executable, "-m", "zensical", "build", "--strict"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    built = {path.parent.name for path in (tmp_path / "site").glob("*/index.html")}
    assert built == {page.stem for page in (ROOT / "docs").glob("*.md")} - {"index"}


def test_every_page_is_in_the_navigation() -> None:
    pages = re.findall(r"- (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(pages) == sorted(page.name for page in (ROOT / "docs").glob("*.md"))


@pytest.mark.parametrize("text", sorted((ROOT / "docs" / "drawings").glob("*.dot")), ids=lambda path: path.stem)
def test_drawings_are_current(text: Path) -> None:
    """Every label of the text is in the picture: ``scripts/drawings``."""
    drawn = text.with_suffix(".svg").read_text(encoding="utf-8")
    labels = re.findall(r'label="([^"]*)"', text.read_text(encoding="utf-8"))
    words = {part.strip() for label in labels for part in re.split(r"\||\\n", label)}
    assert {word for word in words if word not in html.unescape(drawn)} == set()
    assert drawn.count("<text") == sum(len(re.split(r"\||\\n", label)) for label in labels)


def test_troubleshooting_quotes_messages_that_exist() -> None:
    """Headings that begin with a small letter are messages; what is not in quotation of the code is left out with …."""
    sources = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "stateextract").rglob("*.py"))
    page = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
    messages = re.findall(r"^### ([a-z].*)$", page, re.MULTILINE)
    parts = [part.strip() for message in messages for part in re.split(r"…|\bN\b", message)]
    assert len(messages) >= 6
    assert [part for part in parts if part not in sources] == []


@pytest.mark.parametrize(
    ("script", "file"),
    [
        ("options_page", "docs/options.md"), ("types_page", "docs/types.md"), ("exit_codes_page", "docs/exit-codes.md"),
        ("job_file", "conf/extract.toml"),
    ],
)  # fmt: skip
def test_a_generated_file_is_current(script: str, file: str) -> None:
    page = runpy.run_path(str(ROOT / "scripts" / f"{script}.py"))["page"]
    assert (ROOT / file).read_text(encoding="utf-8") == page(), f"python scripts/{script}.py > {file}"
