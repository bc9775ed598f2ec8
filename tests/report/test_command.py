"""``stateextract report``."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_cli import Out, out
from tests.cli.test_tables import ORDERS
from tests.report.documents import grown, shop

__all__ = ["out"]  # a fixture


def data(page: Path) -> Any:
    """What a page is given."""
    (found,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page.read_text())
    return json.loads(found)


def test_a_snapshot(out: Out, tmp_path: Path) -> None:
    page = tmp_path / "made" / "report.html"
    said = f"Wrote {page}: 9 states of 3 operators.\n"
    assert out("report", ORDERS, "-o", str(page), "--as-of", "2024-01-01T00:00:00Z", "--ttl", "voucher=1d") == (
        0,
        said,
        "",
    )
    _, text, _ = out("stats", ORDERS, "--output", "json", "--as-of", "2024-01-01T00:00:00Z")
    document = json.loads(text)
    model = data(page)
    assert model["title"] == "Checkpoint 2"
    assert (model["totals"], model["as_of_ms"]) == (document["totals"], 1_704_067_200_000)
    states = [state for operator in document["operators"] for state in operator["states"]]
    assert [(s["state"], s["rows"], s["file_bytes"]) for s in model["states"]] == [
        (s["state"], s["rows"], s["file_bytes"]) for s in states
    ]
    assert {s["state"]: s["ttl"]["ttl_ms"] for s in model["states"] if s["ttl"]} == {"voucher": 86_400_000}


def test_documents(out: Out, tmp_path: Path) -> None:
    folder = tmp_path / "stats"
    folder.mkdir()
    for number, document in enumerate(grown()):
        (folder / f"{number}.json").write_text(document.to_json())
    (folder / "notes.txt").write_text("not one")
    page = tmp_path / "report.html"
    said = f"Wrote {page}: 5 states of 2 operators, and their growth over 3 snapshots.\n"
    assert out("report", "--from", str(folder), "--title", "<b>", "-o", str(page)) == (0, said, "")
    model = data(page)
    assert model["title"] == "<b>"
    assert [s["checkpoint_id"] for s in model["history"]["snapshots"]] == [40, 41, 42]
    assert out("report", "--from", str(folder / "1.json"), "-o", str(page))[0] == 0
    assert data(page)["totals"] == shop().as_dict()["totals"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "there is nothing to report. Say the PATH of a snapshot, or --from FILE."),
        (["--from", "{}/none.json"], "--from {}/none.json cannot be read: No such file or directory"),
        (["--from", "{}"], "--from {} holds no file that ends in .json"),
        (["--from", "{}/a.txt"], "this is no statistics document"),
    ],
)
def test_what_cannot_be_reported(out: Out, tmp_path: Path, arguments: list[str], said: str) -> None:
    (tmp_path / "a.txt").write_text("[1]")
    page = tmp_path / "report.html"
    code, text, error = out("report", *(a.format(tmp_path) for a in arguments), "-o", str(page))
    assert (code, text) == (2, "")
    assert said.format(tmp_path) in error
    assert not page.exists()
