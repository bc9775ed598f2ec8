"""The examples of the README and of the pages of ``docs/`` run, and show what the pages show."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from stateextract.cli import _COMMANDS
from tests.docs.pages import ROOT, Examples, blocks, stateextract

PAGES = {
    "README.md": 4,
    "docs/cli.md": 26,
    "docs/checkpoints.md": 3,
    "docs/kafka.md": 2,
    "docs/statistics.md": 8,
    "docs/tutorial.md": 6,
    "docs/audit.md": 4,
    "docs/diff.md": 2,
    "docs/restore.md": 3,
    "docs/relocate.md": 2,
    "docs/spark-sql.md": 9,
    "docs/pyflink.md": 9,
    "docs/python-api.md": 0,
}
"""With how many blocks there are to compare, so that none is lost by a fence that is written wrongly."""
OUT = "output/orders"
"""Where examples write, which the tests replace by a folder of theirs."""


@pytest.mark.spark
@pytest.mark.parametrize("name", PAGES)
def test_examples(name: str, spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.setenv("COLUMNS", "110")
    # The times of a checkout's files are those of the checkout.
    monkeypatch.setattr("stateextract.audit.statistics._taken", lambda plan: 3_600_000 * plan.metadata.checkpoint_id)
    examples = Examples({"spark": spark}, {"console": stateextract}, {OUT: str(tmp_path / "out")})
    try:
        examples.run(ROOT / name)
    finally:
        spark.conf.unset("spark.sql.python.filterPushdown.enabled")
        spark.sql("DROP TABLE IF EXISTS last_orders")
    assert examples.compared == PAGES[name]


def test_every_command_has_an_example() -> None:
    commands = [block.text.split()[2] for block in blocks(ROOT / "docs" / "cli.md") if block.language == "console"]
    assert set(commands) == set(_COMMANDS)


@pytest.mark.parametrize(
    "page", ["README.md", "CHANGELOG.md", *sorted(f"docs/{p.name}" for p in (ROOT / "docs").glob("*.md"))]
)
def test_files_that_are_named_exist(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)", text):
        assert ((ROOT / page).parent / target).exists(), target


def test_what_is_not_run_is_what_needs_more() -> None:
    """Whoever adds a page with examples adds it above."""
    names = ("backfill", "catalogs", "streaming", "windows", "sql", "serializers")
    elsewhere = {f"docs/{name}.md" for name in names}
    for page in (ROOT / "docs").glob("*.md"):
        if any(block.language in ("python", "sql", "console") for block in blocks(page)):
            assert f"docs/{page.name}" in {*PAGES, *elsewhere}
