"""The query of ``docs/windows.md``, over the sessions of a real job."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import duckdb
import pytest

from stateextract.job.execute import in_this_process
from stateextract.job.run import run_job
from stateextract.metadata.uid import operator_id
from stateextract.options import JobOptions

ROOT = Path(__file__).resolve().parents[2]
CASE = ROOT / "tests" / "golden" / "data" / "f23-windows-native-snappy"
PAGE = (ROOT / "docs" / "windows.md").read_text()


def micros(window: list[int]) -> tuple[int, int]:
    return window[0] * 1000, window[1] * 1000


def expected(states: list[dict[str, Any]]) -> list[tuple[str, int, int, int]]:
    """Key, session and number of elements of each open session."""
    named = {state["name"]: state["rows"] for state in states}
    contents = {(row["key"], *micros(row["namespace"]["$window"])): row["value"] for row in named["window-contents"]}
    found = []
    for row in named["merging-window-set"]:
        for pair in row["value"]:
            session, state_window = (micros(window["$window"]) for window in pair["$tuple"])
            found.append((row["key"], *session, len(contents[row["key"], *state_window])))
    return found


@pytest.mark.parametrize("flatten", [False, True])
def test_sessions_with_their_contents(flatten: bool, tmp_path: Path) -> None:
    document = json.loads((CASE / "expected.json").read_text())
    operator = next(o for o in document["operators"] if o["uid"] == "session-process")
    options = JobOptions(
        snapshot=str(CASE / document["snapshot"]), output=str(tmp_path), operator=("session-process",), flatten=flatten,
        state=("merging-window-set",) if flatten else (),
    )  # fmt: skip
    outcome = run_job(options, in_this_process)
    assert {d.operator_id for d in outcome.manifest.datasets} == {operator_id("session-process")}
    folder = (tmp_path / outcome.manifest.datasets[0].folder).parent
    wanted = expected(operator["states"])
    assert any(start < end for _, start, end, _ in wanted)
    if flatten:
        (rows,) = duckdb.sql(f"SELECT count(*) FROM '{folder}/merging-window-set/*.parquet'").fetchall()
        assert rows == (len(wanted),)
        return
    (query,) = re.findall(r"```sql\n(.*?)```", PAGE, re.DOTALL)
    query = query.replace("out/sessions", str(folder))
    found = duckdb.sql(
        f"SELECT key, epoch_us(session_start), epoch_us(session_end), len(value) FROM ({query.split('ORDER BY')[0]})"
    ).fetchall()
    # Lone surrogates in keys are replaced, so keys are compared by what is left of them.
    plain = re.compile("[\ud800-\udfff]")
    assert sorted(found) == sorted((plain.sub("�", key), *rest) for key, *rest in wanted)
