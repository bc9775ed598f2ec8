"""Some columns instead of all, of canonical savepoints and of RocksDB's files, whose keys stand apart from their values."""

from __future__ import annotations

import pytest

import stateextract
from tests.conformance.conftest import flink_cases
from tests.state.test_projection import check

CASES = [
    "f202-windows-rocksdb-incremental",
    "f1205-pojos-hashmap-canonical-zip",
    "f230-shop-rescaled-rocksdb-incremental",
]


@pytest.mark.parametrize("case", CASES)
def test_columns(case: str) -> None:
    checked = 0
    for metadata in sorted((flink_cases() / case).rglob("_metadata")):
        for flatten in (False, True):
            snapshot = stateextract.open_snapshot(
                str(metadata), out_of_range="null", maps="list", on_undecodable="skip", flatten=flatten
            )
            checked += sum(check(state) for state in snapshot.states)
    assert checked > 4
