"""Golden data is whole: every case has its snapshot and rows to hold it to. What the rows say is tested elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.golden.expected import DATA, load

HERE = Path(__file__).resolve().parent
EXAMPLE = HERE.parents[1] / "examples" / "orders-checkpoint"
FOLDERS = [*sorted(path for path in DATA.iterdir() if path.is_dir()), EXAMPLE]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda path: path.name)
def test_case_is_whole(folder: Path) -> None:
    document = load(folder)
    snapshot = folder / document["snapshot"]
    assert (snapshot / "_metadata").read_bytes()[:4] == bytes.fromhex("4960672d")
    assert len(list(folder.rglob("_metadata"))) == 1
    others = [path for path in folder.rglob("*") if path.is_file() and path.name not in ("_metadata", "expected.json")]
    assert bool(others) == (document["storage"] != "inline")
    rows = [row for operator in document["operators"] for state in operator["states"] for row in state["rows"]]
    assert rows
    assert all({"key", "value"} <= set(row) for row in rows)


@pytest.mark.parametrize("version", ["1.13", "1.17", "1.20", "2.0", "2.3"])
def test_every_version_meets_every_axis(version: str) -> None:
    documents = [d for d in map(load, FOLDERS) if d["flink_version"].startswith(version + ".")]
    assert {d["compression"] for d in documents} == {False, True}
    kinds = {d["kind"] for d in documents} - {"canonical-savepoint"}
    assert kinds == ({"checkpoint"} if version == "1.13" else {"checkpoint", "native-savepoint"})
    assert {1, 2, 3} >= {d["parallelism"] for d in documents} >= {1, 2}
    assert {d["max_parallelism"] for d in documents} >= {128, 1000}
    assert {d["storage"] for d in documents} >= {"file", "inline"}
    assert any(d["restored_from"] for d in documents)
