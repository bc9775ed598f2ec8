"""Policies of single states: one value that an Arrow column cannot hold decides about its own state only."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset as ds
import pytest

from stateextract import open_snapshot
from stateextract.errors import UsageError, ValueRefusedError
from stateextract.job.execute import in_this_process
from stateextract.job.run import JobResult, run_job
from stateextract.options import JobOptions, from_lines, parse_file
from tests.job.snapshots import numbered, write_snapshot
from tests.writers import flink_writer as flink

SURROGATE = b"\x02\xc1\xb0\x03"  # Flink's string of the one character U+D841


@pytest.fixture
def snapshot(tmp_path: Path) -> Path:
    """``maps`` has a map with a null key at key 5, ``texts`` a lone surrogate at key 2."""

    def map_row(key: int) -> bytes:
        name = b"\0" if key == 5 else flink.flink_string("k")
        return struct.pack(">bqi", 0, key, 1) + name + b"\0" + struct.pack(">q", key)

    def text_row(key: int) -> bytes:
        return struct.pack(">bq", 0, key) + (SURROGATE if key == 2 else flink.flink_string("t"))

    states: Any = {
        "maps": {key: [map_row(key)] for key in range(8)}, "texts": {key: [text_row(key)] for key in range(8)},
        "whole": numbered(8),
    }  # fmt: skip
    values = {"maps": flink.map_of(flink.STRING, flink.LONG), "texts": flink.STRING}
    return write_snapshot(tmp_path / "s", {"op": states, "other": states}, values=values)


def run(snapshot: Path, output: Path, *policies: str, **more: Any) -> JobResult:
    return run_job(JobOptions(snapshot=str(snapshot), output=str(output), policies=policies, **more), in_this_process)


def statuses(outcome: JobResult) -> dict[tuple[str | None, str | None], tuple[str, int]]:
    return {(e.uid, e.state): (str(e.status), e.read.rows) for e in outcome.coverage.entries}


def column(outcome: JobResult, output: Path, folder: str) -> pa.ChunkedArray:
    (dataset,) = [one for one in outcome.datasets if one.folder == folder]
    return ds.dataset([str(output / file.path) for file in dataset.files], format="parquet").to_table()["value"]


@pytest.mark.parametrize("split_bytes", [1, 10**9])
def test_a_null_key_leaves_out_its_state_only(snapshot: Path, tmp_path: Path, split_bytes: int) -> None:
    outcome = run(snapshot, tmp_path / "out", split_bytes=split_bytes)
    for uid in ("op", "other"):
        found = {state: value for (of, state), value in statuses(outcome).items() if of == uid}
        assert found == {"maps": ("skipped", 0), "texts": ("decoded", 8), "whole": ("decoded", 8)}
        assert not (tmp_path / "out" / uid / "maps").exists()
    assert outcome.exit_code == 3
    assert "a map has a null key" in str(outcome.coverage.entries[0].reason)
    with pytest.raises(ValueRefusedError, match="a map has a null key"):
        run(snapshot, tmp_path / "strict", strict=True)
    assert not (tmp_path / "strict").exists()


def test_policies_are_for_the_states_that_they_name(snapshot: Path, tmp_path: Path) -> None:
    outcome = run(
        snapshot, tmp_path / "out",
        "op/maps/maps=list", "other/*/maps=list", "*/texts/strings=fail", "op/texts/strings=binary",
    )  # fmt: skip
    assert statuses(outcome) == {
        ("op", "maps"): ("decoded", 8), ("op", "texts"): ("decoded", 8), ("op", "whole"): ("decoded", 8),
        ("other", "maps"): ("decoded", 8), ("other", "texts"): ("skipped", 0), ("other", "whole"): ("decoded", 8),
    }  # fmt: skip
    for uid in ("op", "other"):
        maps = column(outcome, tmp_path / "out", f"{uid}/maps")
        assert pa.types.is_list(maps.type)
        assert [{"key": None, "value": 5}] in maps.to_pylist()
    texts = column(outcome, tmp_path / "out", "op/texts")
    assert texts.type == pa.binary()
    assert sorted(texts.to_pylist()) == [b"t"] * 7 + [b"\xed\xa1\x81"]


def test_the_job_file_and_python_have_them(snapshot: Path) -> None:
    text = '[policies]\n"op/maps/maps" = "list"\n"*/*/out-of-range" = "null"\n'
    options = JobOptions(**parse_file(text))
    assert options.policies == ("op/maps/maps=list", "*/*/out-of-range=null")
    assert from_lines(options.lines()) == options
    opened = open_snapshot(str(snapshot), policies={"op/maps/maps": "list"})
    assert [{"key": None, "value": 5}] in opened.operator("op").state("maps").to_table()["value"].to_pylist()
    assert pa.types.is_map(opened.operator("other").state("maps").schema.field("value").type)
    with pytest.raises(ValueRefusedError, match="a map has a null key"):
        opened.operator("other").state("maps").to_table()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("op/maps/maps=tree", "expected one of map, list"),
        ("op/maps/colour=red", "is for no option"),
        ("maps=list", "is for no option"),
        ("op/mops/maps=list", "is for no selected state"),
        ("up/maps/maps=list", "is for no selected state"),
    ],
)
def test_mistakes(snapshot: Path, tmp_path: Path, line: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        run(snapshot, tmp_path / "out", line)
    with pytest.raises(UsageError, match=words):
        list(open_snapshot(str(snapshot), policies=dict([line.split("=")])).states)
