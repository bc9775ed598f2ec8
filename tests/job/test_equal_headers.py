"""Files with equal headers: a task parses the header, and makes the layout, once for all of them."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from stateextract.derived import derived
from stateextract.job.execute import in_this_process
from stateextract.job.run import run_job
from stateextract.options import JobOptions
from stateextract.snapshot import content
from stateextract.state import row_layout as rows_of_states
from tests.writers.plan_files import SHAPES, write_plan_files
from tests.writers.shapes import rows

OPERATORS, FILES, KEY_GROUPS = 4, 3, 2


class Owner:
    """Keeps values."""


def test_they_are_parsed_once_and_every_row_is_exact(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: Counter[str] = Counter()

    def count(module: Any, name: str) -> None:
        function = getattr(module, name)

        def counted(*arguments: Any) -> Any:
            calls[name] += 1
            return function(*arguments)

        monkeypatch.setattr(module, name, counted)

    write_plan_files(tmp_path / "snap", OPERATORS, FILES, KEY_GROUPS, entries=60, seed=1)
    count(content, "parse_header")
    count(rows_of_states, "_keyed_row_layout")
    run_job(JobOptions(snapshot=str(tmp_path / "snap"), output=str(tmp_path / "out")), in_this_process)
    assert calls["parse_header"] == OPERATORS
    assert calls["_keyed_row_layout"] == 2 * OPERATORS  # the plan's header is another object
    manifest = json.loads((tmp_path / "out" / "_manifest.json").read_bytes())
    for dataset in manifest["datasets"]:
        found = pa.concat_tables([pq.read_table(tmp_path / "out" / f["path"]) for f in dataset["files"]])
        shape = SHAPES[int(dataset["folder"].split("/")[0].split("-")[1]) % len(SHAPES)]
        expected = rows(shape, 1, 0, 60)
        assert found.select(["key", "value"]).sort_by("key") == expected.sort_by("key")
        for row in found.to_pylist():
            assert row["subtask"] == row["key_group"] // KEY_GROUPS


def test_derived_is_made_anew_for_other_inputs() -> None:
    owner = Owner()
    made: list[int] = []

    def make() -> int:
        made.append(len(made))
        return made[-1]

    assert [derived(owner, "name", inputs, make) for inputs in ("a", "a", "b", "a")] == [0, 0, 1, 2]
    assert derived(owner, "other", "a", make) == 3
    assert derived(owner, "name", "a", make) == 2
