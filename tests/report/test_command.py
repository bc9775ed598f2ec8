"""``stateextract report``."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from stateextract.audit.history.history_files import read_history, write_snapshot
from stateextract.report.page_data import page_model
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
    _, text, _ = out("stats", ORDERS, "--format", "json", "--as-of", "2024-01-01T00:00:00Z")
    document = json.loads(text)
    model = data(page)
    assert model["title"] == "Checkpoint 2"
    assert (model["totals"], model["as_of_ms"]) == (document["totals"], 1_704_067_200_000)
    states = [state for operator in document["operators"] for state in operator["states"]]
    assert [(s["state_name"], s["rows"], s["file_bytes"]) for s in model["states"]] == [
        (s["state_name"], s["rows"], s["file_bytes"]) for s in states
    ]
    assert {s["state_name"]: s["ttl"]["ttl_ms"] for s in model["states"] if s["ttl"]} == {"voucher": 86_400_000}


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


def test_a_history(out: Out, tmp_path: Path) -> None:
    page, folder = tmp_path / "report.html", tmp_path / "history"
    files = {d.snapshot.checkpoint_id: write_snapshot(str(folder), d) for d in grown()}
    said = f"Wrote {page}: 5 states of 2 operators, and their growth over 3 snapshots.\n"
    assert out("report", "--from", str(folder), "-o", str(page)) == (0, said, "")
    of_documents = json.loads(json.dumps(page_model(grown())))
    assert data(page) == {**of_documents, "title": "Checkpoint 42"}
    # One of its files, and beside it a document of a snapshot that the history lacks.
    (tmp_path / "41.json").write_text(grown()[0].to_json())
    out("report", "--from", str(folder / files[40]), "--from", str(tmp_path / "41.json"), "-o", str(page))
    assert [s["checkpoint_id"] for s in data(page)["history"]["snapshots"]] == [40, 41]
    assert data(page)["snapshot"]["checkpoint_id"] == 41
    # The snapshot itself is there twice, and counts once.
    (folder / "42.json").write_text(shop().to_json())
    assert out("report", "--from", str(folder), "-o", str(page))[1] == said


def test_only_the_newest_document_of_a_history_is_read(tmp_path: Path) -> None:
    for document in grown():
        write_snapshot(str(tmp_path), document)
    read: list[int] = []
    recorded = [
        replace(one, document=lambda one=one: read.append(one.snapshot.checkpoint_id) or one.document())
        for one in read_history(str(tmp_path))
    ]
    assert page_model(recorded) == page_model(grown())
    assert read == [42]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "there is nothing to report. Give the PATH of a snapshot, or --from FILE."),
        (["--from", "{}/none.json"], "--from {}/none.json cannot be read: No such file or directory"),
        (["--from", "{}/empty"], "--from {}/empty contains no file that ends in .json or .parquet"),
        (["--from", "{}/x.parquet"], "this is not a file of a history, or it is corrupt"),
        (["--from", "{}/none.parquet"], "contains no file that ends in .json or .parquet"),
        (["--from", "{}/bad"], "{}/bad/b.parquet"),
        (["--from", "{}/a.txt"], "this is not a statistics document"),
    ],
)
def test_what_cannot_be_reported(out: Out, tmp_path: Path, arguments: list[str], said: str) -> None:
    (tmp_path / "a.txt").write_text("[1]")
    (tmp_path / "x.parquet").write_text("PAR1")
    (tmp_path / "bad").mkdir()
    (tmp_path / "empty").mkdir()
    (tmp_path / "bad" / "b.parquet").write_text("PAR1")
    page = tmp_path / "report.html"
    code, text, error = out("report", *(a.format(tmp_path) for a in arguments), "-o", str(page))
    assert (code, text) == (2, "")
    assert said.format(tmp_path) in error
    assert not page.exists()
