"""Changelogs over what was materialized, where entries are larger than a window and rows more than a batch has."""

from __future__ import annotations

from pathlib import Path

import pytest

from stateextract.changelog.change_filter import ChangeFilterDecoder
from stateextract.files.block import Block
from stateextract.state.bodies import heap as heap_bodies
from tests.changelog.test_replay import check, tables
from tests.changelog.writer import Job, handle, in_memory
from tests.state.keyed_writer import FORMS, LONG, STRING, State, heap, i64
from tests.writers.flink_writer import flink_string, list_of, map_of

BASES = [*((base, "kernel") for base in FORMS), ("heap", "interpreter")]
N = 3_000
HOT, GROWN, REPLACED, COLD = map(flink_string, ("hot", "grown", "replaced", "cold"))


@pytest.mark.parametrize(("base", "engine"), BASES)
def test_large_entries(base: str, engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those that were changed are read as a whole, others in parts."""
    monkeypatch.setattr(heap_bodies, "LARGE", 8 << 10)
    monkeypatch.setattr("stateextract.files.window.WINDOW", 16 << 10)
    touched = []
    touches = ChangeFilterDecoder.touches

    def noted(self: ChangeFilterDecoder, data: Block, pos: int, end: int) -> bool:
        touched.append(touches(self, data, pos, end))
        return touched[-1]

    monkeypatch.setattr(ChangeFilterDecoder, "touches", noted)
    states = [State("lists", kind="LIST", value=list_of(LONG)), State("maps", kind="MAP", value=map_of(LONG, STRING))]
    job = Job(states, STRING)
    for key in (HOT, GROWN, REPLACED):
        job.add_all("lists", 1, key, [i64(n) for n in range(N)])
        job.put_all("maps", 1, key, {i64(n): None if n % 3 == 0 else flink_string(f"v{n}") for n in range(N)})
    job.add("lists", 2, COLD, i64(5))
    materialized = job.materialize()
    job.add("lists", 1, GROWN, i64(-1))
    job.update("lists", 1, REPLACED, [i64(-2)])
    job.put("maps", 1, GROWN, i64(-1), flink_string("new"))
    job.remove("maps", 1, GROWN, i64(7))
    job.clear("maps", 1, REPLACED)
    managed = handle(job.groups, [FORMS[base](materialized)], [in_memory(job.log, job.groups)])
    found = tables(tmp_path / "found", managed, job.most, decoder=engine, flatten=True)
    assert {name: table.num_rows for name, table in found.items()} == {"lists": 2 * N + 3, "maps": 2 * N}
    check(found, tables(tmp_path / "expected", heap(job.keyed()), job.most, decoder=engine, flatten=True))
    assert base != "heap" or set(touched) == {False, True}


@pytest.mark.parametrize(("base", "engine"), BASES)
def test_more_rows_than_a_batch(base: str, engine: str, tmp_path: Path) -> None:
    job = Job([State("value", kind="VALUE", value=STRING), State("map", kind="MAP", value=map_of(LONG, STRING))])
    for n in range(N):
        job.set("value", n % 4, i64(n), flink_string(f"v{n}"))
        job.put("map", n // 3 % 4, i64(n // 3), i64(n), flink_string(f"v{n}"))
    materialized = job.materialize()
    for n in range(0, N, 1000):
        job.set("value", n % 4, i64(n), flink_string("changed"))
        job.clear("value", (n + 1) % 4, i64(n + 1))
        job.put("map", n // 3 % 4, i64(n // 3), i64(-n), flink_string("changed"))
    managed = handle(job.groups, [FORMS[base](materialized)], [in_memory(job.log, job.groups)])
    found = tables(tmp_path / "found", managed, job.most, decoder=engine)
    assert found["value"].num_rows == N - N // 1000
    check(found, tables(tmp_path / "expected", heap(job.keyed()), job.most, decoder=engine))
