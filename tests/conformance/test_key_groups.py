"""Keys of real jobs lie in the key groups that their hashes lead to; those of SQL above all, whose bytes are written anew."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import stateextract
from stateextract.errors import StateExtractError
from stateextract.state.keys.key_groups import key_groups
from tests.conformance.conftest import flink_cases, flink_files

SQL = ["f1205-sql-join-hashmap-checkpoint", "f230-sql-agg-hashmap-checkpoint"]


def check(metadata: Path, checked: Counter[str]) -> None:
    snapshot = stateextract.open_snapshot(str(metadata), out_of_range="null", maps="list", on_undecodable="skip")
    for operator in snapshot.operators:
        for state in operator.states:
            if state.scope != "keyed" or not state._rows or state._rows[0].key_serializer is None:
                continue
            serializer = state._rows[0].key_serializer
            name = serializer.class_name.rsplit(".", 1)[-1].split("Serializer")[0]
            table = state.to_table()
            if "key" not in table.column_names:
                continue
            for key, group in zip(table["key"], table["key_group"].to_pylist(), strict=True):
                groups = key_groups(key, serializer, operator.max_parallelism)
                assert groups is None or group in groups, (metadata, operator, state, key)
                checked[name if groups is not None else f"no {name}"] += 1


@pytest.mark.parametrize("case", SQL)
def test_keys_of_sql(case: str) -> None:
    checked: Counter[str] = Counter()
    for metadata in sorted((flink_cases() / case).rglob("_metadata")):
        check(metadata, checked)
    assert set(checked) == {"RowData"}
    assert checked["RowData"] > 20


@pytest.mark.slow
def test_keys_of_flinks_own_files() -> None:
    checked: Counter[str] = Counter()
    for metadata in sorted(flink_files().rglob("_metadata")):
        try:
            check(metadata, checked)
        except StateExtractError:  # what cannot be read is the matter of other tests
            continue
    assert {"Long", "Tuple", "RowData"} <= set(checked)
