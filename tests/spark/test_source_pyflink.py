"""PyFlink's state in Spark's data source: typed, without wrapping, and as it is stored."""

from __future__ import annotations

import json
from datetime import date
from pathlib import Path

import pytest

from stateextract.errors import ValueRefusedError
from tests.conformance.test_pyflink import CASES, PROCESS
from tests.golden.expected import DATA
from tests.golden.expected import load as expected
from tests.spark.sources import load

CASE = DATA / "f23-pyflink-native-snappy"
PATH = CASE / expected(CASE)["snapshot"]
TYPED = {"operatorUid": "typed", "includeMetadata": False}


def test_types_and_keys() -> None:
    options = {**TYPED, "stateName": "python-state-date", "types": "value=element(date)"}
    table = load(PATH, **options).table()
    assert table.schema.names == ["key", "value"]
    rows = {row["key"]: row["value"] for row in table.to_pylist()}
    assert rows["plain"] == date(2024, 2, 21)
    source = load(PATH, **options, keys='["plain"]')
    assert source.table().to_pylist() == [{"key": "plain", "value": date(2024, 2, 21)}]
    assert len(rows) == 5


def test_pickles_need_no_type() -> None:
    table = load(PATH, operatorUid="pickled", stateName="python-state-dataclass", includeMetadata=False).table()
    found = {row["key"]: json.loads(row["value"])["fields"]["x"] for row in table.to_pylist()}
    assert found == {'[0,"key"]': 21, '[1,"key"]': 22, '[2,"key"]': 23}


def test_as_it_is_stored() -> None:
    options = {**TYPED, "stateName": "python-state-date", "pythonWrapping": True}
    table = load(PATH, **options, keys='[{"f0": "plain", "row_kind": "+I"}]').table()
    assert table.to_pylist() == [{"key": {"f0": "plain", "row_kind": "+I"}, "value": [(19774).to_bytes(4, "big")]}]


def test_wide_reads_it_as_it_is_stored() -> None:
    table = load(PATH, **TYPED, wide=True, stateName="python-state-long,python-state-int").table()
    types = [str(table.schema.field(name).type) for name in ("python-state-long", "python-state-int")]
    assert types == ["list<element: binary>"] * 2
    assert table.num_rows == 5


def test_a_wrong_type_is_an_error() -> None:
    with pytest.raises(ValueRefusedError, match="does not fit the wanted type"):
        load(PATH, **TYPED, stateName="python-state-date", types="value=element(int64)").table()


@pytest.mark.skipif(not CASES.is_dir(), reason="the cases are not there (PYFLINK_CASES)")
@pytest.mark.parametrize("columns", ["", "key,last_access", "value", "last_access"])
def test_columns_of_a_value_with_a_ttl(columns: str) -> None:
    document = json.loads((CASES / PROCESS / "truth.json").read_text(encoding="utf-8"))
    options = {**TYPED, "operatorUid": "ttl", "stateName": "python-state-t_long", "types": "value=element(int64)"}
    path = Path(CASES) / PROCESS / document["path"]
    whole = load(path, **options).table()
    assert whole.column_names == ["key", "value", "last_access"]
    assert sorted(whole["value"].to_pylist()) == [25, 26, 27, 28, 29]
    if columns:
        assert load(path, **options, columns=columns).table().equals(whole.select(columns.split(",")))
