"""Damaged changelogs: only documented errors come out, in bounded time and memory."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

import stateextract
from stateextract.errors import TruncatedError
from tests.depth import examples
from tests.golden.expected import DATA, load
from tests.mutation_runs import SEED, outcomes_of


@pytest.mark.parametrize("engine", ["interpreter", "kernel"])
def test_mutations(engine: str) -> None:
    count = examples(120)
    outcomes = outcomes_of("tests.changelog.mutations", SEED, count, engine, count=count, most_memory=200 << 20)
    assert {"read", "TruncatedError", "FormatError"} < set(outcomes)


def test_a_file_that_is_cut_after_its_head_was_read(tmp_path: Path) -> None:
    """What was materialized is read again with its head, which may be another one by then."""
    source = DATA / "f120-changes-checkpoint-changelog-materialized"
    shutil.copytree(source, tmp_path / "job")
    snapshot = stateextract.open_snapshot(str(tmp_path / "job" / load(source)["snapshot"]))
    files = {file.uri: file for state in snapshot.states for file in state._named_state.files}
    materialized = [uri for uri, file in files.items() if file.changelog is not None and not uri.endswith("_metadata")]
    assert len(materialized) == 2
    for uri in materialized:
        data = Path(uri).read_bytes()
        for size in (0, 5, 50, 2000):
            Path(uri).write_bytes(data[:size])
            state = next(s for s in snapshot.states if uri in s.files)
            with pytest.raises(TruncatedError, match="the file ends inside its header") as caught:
                state.to_table()
            assert (caught.value.file, caught.value.offset) == (uri, size)
        Path(uri).write_bytes(data)
