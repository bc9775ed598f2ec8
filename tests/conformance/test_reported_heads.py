"""Reported snapshots whose heads were not read rightly (``shared/reports``): each README says what is right."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import stateextract
from tests.conformance.conftest import flink_cases

OPERATOR = "450a0803d49491061345559201191867"
"""The id of the uid ``both``."""


def reported(name: str) -> str:
    """A folder of ``shared/reports``."""
    folder: Path = flink_cases().parent / "reports" / name
    if not folder.is_dir():
        pytest.skip("the reported snapshots are not there")
    return str(folder)


def rows(state: stateextract.State, *columns: str) -> list[tuple[Any, ...]]:
    table = state.to_table()
    return sorted(zip(*(table[column].to_pylist() for column in columns), strict=True))


def raw(state: stateextract.State, *columns: str) -> list[tuple[Any, ...]]:
    table = state.raw_batches().read_all()
    return sorted(zip(*(table[column].to_pylist() for column in columns), strict=True))


def _string(text: str) -> bytes:
    return len(text).to_bytes(4, "big") + text.encode()


def test_raw_map_of_unknown_value() -> None:
    snapshot = stateextract.open_snapshot(reported("raw-map-of-unknown-value/canonical"), on_undecodable="raw")
    both = snapshot.operator(OPERATOR)
    assert rows(both.state("count"), "key", "value") == [("k0", 9), ("k1", 12), ("k2", 15)]
    assert rows(both.state("offsets"), "value") == [(42,)]
    assert raw(both.state("ylib"), "key", "bytes") == [(f"k{i}", _string(f"v{i + 6}")) for i in range(3)]
    # Each entry has its flag: the value is not null.
    assert raw(both.state("zmap"), "key", "map_key", "bytes") == [
        (f"k{i % 3}", f"m{i}", b"\0" + _string(f"w{i}")) for i in (0, 3, 6, 1, 4, 7, 2, 5, 8)
    ]
    assert str(both.state("zmap").schema.field("value").type) == "map<string, binary>"


def test_operator_list_of_an_unknown_serializer() -> None:
    snapshot = stateextract.open_snapshot(reported("operator-list-unknown-serializer/canonical"), on_undecodable="raw")
    both = snapshot.operator(OPERATOR)
    assert both.problems == []
    assert rows(both.state("count"), "key", "value") == [("k0", 9), ("k1", 12), ("k2", 15)]
    assert rows(both.state("offsets"), "value", "index") == [(42, 0)]
    buffer = both.state("buffer")
    assert (buffer.kind, raw(buffer, "bytes")) == ("list", [(_string("a"),), (_string("b"),)])
