"""Changelogs give the rows of a heap checkpoint of the same state, whatever was materialized and wherever the log is."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import stateextract
from stateextract.errors import UndecodableError, UnsupportedError
from stateextract.metadata.key_group_assignment import key_group_range
from stateextract.metadata.model import KeyedStateHandle, SubtaskState
from tests.changelog.writer import Job, Record, cut, handle, in_files, in_memory
from tests.state.keyed_writer import FORMS, LONG, STRING, Keyed, State, heap, i64, write
from tests.writers.flink_writer import flink_string, list_of, map_of, versioned

ENGINES = ("interpreter", "kernel")
BASES = ("nothing", *FORMS)

WORDS = [flink_string(w) for w in ("", "a", "bä", "long enough to have a length of its own " * 4, "\U0001f600", "zz")]


def states(namespace: bytes, lengths: bool) -> list[State]:
    """One of each kind. Namespaces are those of windows, as long as the test's are."""
    return [
        State("value", kind="VALUE", value=STRING, lengths=False),
        State("list", kind="LIST", value=list_of(STRING), namespace=namespace, lengths=lengths),
        State("numbers", kind="LIST", value=list_of(LONG)),
        State("map", kind="MAP", value=map_of(STRING, LONG)),
        State("sum", kind="REDUCING", value=LONG, namespace=namespace, lengths=lengths),
        State("accumulator", kind="AGGREGATING", value=LONG),
        State("timers", kind="TIMER", namespace=namespace),
        State("untouched", kind="VALUE", value=LONG),
    ]


class Random:
    """Does at random to the states of a job what jobs do."""

    def __init__(self, seed: object, job: Job, keys: Sequence[bytes], namespaces: Sequence[bytes]) -> None:
        self.random = random.Random(repr(seed))
        self.job = job
        self.keys = keys
        self.namespaces = namespaces

    def run(self, steps: int) -> None:
        for _ in range(steps):
            self.random.choice((self.value, self.lists, self.lists, self.maps, self.maps, self.windows, self.timers))()

    def location(self) -> tuple[int, bytes]:
        key = self.random.choice(self.keys)
        groups = self.job.groups
        return groups[sum(key) % len(groups)], key

    def word(self) -> bytes:
        return self.random.choice(WORDS)

    def number(self) -> bytes:
        return i64(self.random.randrange(-5, 1000))

    def value(self) -> None:
        group, key = self.location()
        if self.random.random() < 0.3:
            self.job.clear("value", group, key)
        else:
            self.job.set("value", group, key, self.word())
        if self.random.random() < 0.5:
            self.job.set("accumulator", group, key, self.number())

    def lists(self) -> None:
        group, key = self.location()
        namespace = self.random.choice(self.namespaces)
        some = [self.word() for _ in range(self.random.randrange(4))]
        numbers = [self.number() for _ in range(self.random.randrange(3))]
        match self.random.randrange(7):
            case 0:
                self.job.clear("list", group, key, namespace)
            case 1:
                self.job.update("list", group, key, some, namespace)
            case 2:
                self.job.add_all("list", group, key, some, namespace)
            case 3 | 4:
                self.job.add("list", group, key, self.word(), namespace)
            case 5:
                self.job.add_all("numbers", group, key, numbers)
            case 6:
                self.job.update("numbers", group, key, numbers)

    def maps(self) -> None:
        group, key = self.location()
        match self.random.randrange(6):
            case 0 | 1:
                self.job.put("map", group, key, self.word(), self.number())
            case 2 | 3:
                self.job.remove("map", group, key, self.word())
            case 4:
                entries = {self.word(): self.random.choice((None, self.number())) for _ in range(3)}
                self.job.put_all("map", group, key, entries)
            case 5:
                self.job.clear("map", group, key)

    def windows(self) -> None:
        group, key = self.location()
        namespace = self.random.choice(self.namespaces)
        match self.random.randrange(4):
            case 0:
                self.job.set("sum", group, key, self.number(), namespace)
            case 1:
                self.job.clear("sum", group, key, namespace)
            case _:
                sources = self.random.sample([n for n in self.namespaces if n != namespace], 2)
                name = self.random.choice(("sum", "list"))
                self.job.merge(name, group, key, namespace, sources)
                if name == "sum":
                    # As the window operator does: the element that made the windows one comes right behind.
                    self.job.set("sum", group, key, self.number(), namespace)
                elif self.random.random() < 0.5:
                    self.job.add("list", group, key, self.word(), namespace)

    def timers(self) -> None:
        group, key = self.location()
        time = self.random.randrange(-3, 10)
        namespace = self.random.choice(self.namespaces)
        self.random.choice((self.job.register, self.job.register, self.job.delete))(
            "timers", group, time, key, namespace
        )


def tables(folder: Path, managed: KeyedStateHandle, most: int, **options: Any) -> dict[str, pa.Table]:
    """All states of a snapshot, rows in order."""
    groups = managed.key_groups
    fits = (p for p in range(1, most + 1) if groups == key_group_range(groups.start * p // most, p, most))
    path = write(folder, [SubtaskState(0, managed_keyed=managed)], most, parallelism=next(fits))
    snapshot = stateextract.open_snapshot(str(path), **options)
    assert snapshot.operators[0].problems == []
    found = {}
    for state in snapshot.states:
        table = state.to_table()
        assert table.schema == state.schema
        assert state.coverage.complete
        assert state.coverage.status == "decoded"
        found[state.name] = table
    return found


def rows(table: pa.Table) -> list[Any]:
    """Rows in a fixed order; entries of maps have none."""

    def comparable(value: Any) -> Any:
        is_map = isinstance(value, list) and value and isinstance(value[0], tuple | dict)
        return sorted(value, key=repr) if is_map else value

    return sorted(([comparable(v) for v in row.values()] for row in table.to_pylist()), key=repr)


def check(found: dict[str, pa.Table], expected: dict[str, pa.Table]) -> None:
    """The same rows and schema. A state that was neither materialized nor changed is nowhere in a changelog."""
    for name, table in expected.items():
        if name not in found:
            assert table.num_rows == 0, name
            continue
        assert found[name].schema == table.schema
        assert rows(found[name]) == rows(table), name
    assert set(found) <= set(expected)


Store = Callable[[Path, list[Record], range], list[KeyedStateHandle]]


def two_of_memory(folder: Path, log: list[Record], groups: range) -> list[KeyedStateHandle]:
    half = len(log) // 2
    return [in_memory(log[:half], groups), in_memory(log[half:], groups)]


def one_file(folder: Path, log: list[Record], groups: range) -> list[KeyedStateHandle]:
    return [in_files(folder, cut(log, 1), groups)]


def many_files(folder: Path, log: list[Record], groups: range) -> list[KeyedStateHandle]:
    half = len(log) // 2
    first = in_files(folder, cut(log[:half], 5), groups, name="first")
    return [first, in_files(folder, cut(log[half:], 4), groups, compressed=True, name="second")]


STORES: dict[str, Store] = {"memory": two_of_memory, "one file": one_file, "many files": many_files}


def random_job(seed: object, base: str, strings: bool, most: int = 4) -> tuple[Job, Keyed | None]:
    """A job that did many things, and what was materialized in the middle of them."""
    groups = range(4) if most == 4 else range(150, 153)
    keys = WORDS if strings else [i64(n) for n in range(12)]
    namespaces = [flink_string(f"window {n}") for n in range(4)] if strings else [i64(n) for n in range(4)]
    key, namespace = (STRING, STRING) if strings else (LONG, LONG)
    job = Job(states(namespace, strings), key, groups, most)
    done = Random(seed, job, keys, namespaces)
    materialized = None
    if base != "nothing":
        for name in ("untouched", "value"):
            for number, any_key in enumerate(keys):
                job.set(
                    name, groups[sum(any_key) % len(groups)], any_key, i64(number) if name == "untouched" else WORDS[1]
                )
        done.run(150)
        materialized = job.materialize()
    done.run(200)
    return job, materialized


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("store", STORES)
@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("strings", [False, True])
def test_as_a_heap_checkpoint(strings: bool, base: str, store: str, engine: str, tmp_path: Path) -> None:
    for seed in range(2):
        job, materialized = random_job((seed, base, store), base, strings)
        parts = [] if materialized is None else [FORMS[base](materialized)]
        increments = STORES[store](tmp_path / f"log-{seed}", job.log, job.groups)
        managed = handle(job.groups, parts, increments)
        found = tables(tmp_path / f"found-{seed}", managed, job.most, decoder=engine)
        expected = tables(tmp_path / f"expected-{seed}", heap(job.keyed()), job.most, decoder=engine)
        check(found, expected)
        assert materialized is None or set(found) == set(expected)


@pytest.mark.parametrize("base", ["nothing", "canonical", "RocksDB"])
def test_two_bytes_of_key_group(base: str, tmp_path: Path) -> None:
    job, materialized = random_job(base, base, True, 1000)
    parts = [] if materialized is None else [FORMS[base](materialized)]
    managed = handle(job.groups, parts, one_file(tmp_path / "log", job.log, job.groups))
    found = tables(tmp_path / "found", managed, 1000, decoder="interpreter")
    check(found, tables(tmp_path / "expected", heap(job.keyed()), 1000, decoder="interpreter"))


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("options", [{"flatten": True}, {"maps": "list", "key_group_column": False}])
def test_options(options: dict[str, Any], base: str, tmp_path: Path) -> None:
    job, materialized = random_job(base, base, False)
    parts = [] if materialized is None else [FORMS[base](materialized)]
    managed = handle(job.groups, parts, one_file(tmp_path / "log", job.log, job.groups))
    found = tables(tmp_path / "found", managed, job.most, decoder="interpreter", **options)
    check(found, tables(tmp_path / "expected", heap(job.keyed()), job.most, decoder="interpreter", **options))


UNKNOWN = versioned("com.example.ShapeSerializerSnapshot", 1, b"")
WINDOWS = "2 windows were merged, and nothing was added since: only the job knows what their values make together"
CLASS = "a value of com.example.ShapeSerializerSnapshot cannot be decoded: the serializer's snapshot class is not known"


def a_row_that_cannot_be_made(kind: str) -> tuple[Job, Keyed]:
    """In each key group a row, and in the second one changes over it whose outcome only the job knows."""
    if kind == "merged":
        job = Job([State("s", kind="REDUCING", value=LONG, namespace=LONG)])
        for group in job.groups:
            job.set("s", group, i64(group), i64(5), i64(100))
        materialized = job.materialize()
        job.set("s", 1, i64(1), i64(9), i64(200))
        job.merge("s", 1, i64(1), i64(100), [i64(200)])
    else:
        job = Job([State("s", kind="LIST", value=list_of(UNKNOWN))])
        for group in job.groups:
            job.add("s", group, i64(group), b"xyz")
        materialized = job.materialize()
        job.add("s", 1, i64(1), b"more")
    return job, materialized


@pytest.mark.parametrize(
    ("kind", "base", "reason", "rows", "lost"),
    [
        ("merged", "heap", WINDOWS, 3, 1), ("merged", "RocksDB", WINDOWS, 3, 1),
        ("unknown", "canonical", CLASS, 0, 4), ("unknown", "RocksDB", CLASS, 0, 4),
    ],
)  # fmt: skip
def test_a_row_that_cannot_be_made(kind: str, base: str, reason: str, rows: int, lost: int, tmp_path: Path) -> None:
    job, materialized = a_row_that_cannot_be_made(kind)
    managed = handle(job.groups, [FORMS[base](materialized)], [in_memory(job.log, job.groups)])
    path = str(write(tmp_path, [SubtaskState(0, managed_keyed=managed)], job.most))
    for choice, raw_rows in (("skip", 0), ("raw", lost)):
        state = stateextract.open_snapshot(path, on_undecodable=choice).operator("op").state("s")
        assert state.to_table().num_rows == rows
        counters = state.coverage.counters
        assert (state.coverage.reason, counters.lost_entries, counters.raw_rows) == (reason, lost, raw_rows)
    with pytest.raises(UndecodableError) as caught:
        stateextract.open_snapshot(path).operator("op").state("s").to_table()
    assert (caught.value.message, caught.value.operator, caught.value.state) == (reason, "op", "s")
    assert caught.value.advice is not None
    assert caught.value.advice.startswith("set on_undecodable to skip or raw")


@pytest.mark.parametrize("base", ["heap", "canonical", "RocksDB"])
def test_a_state_that_was_materialized_as_one_of_another_kind(base: str, tmp_path: Path) -> None:
    job = Job([State("s", kind="VALUE", value=LONG)])
    job.set("s", 1, i64(1), i64(5))
    materialized = job.materialize()
    job.states["s"].state = State("s", kind="REDUCING", value=LONG)
    job.set("s", 1, i64(1), i64(6))
    managed = handle(job.groups, [FORMS[base](materialized)], [in_memory(job.log, job.groups)])
    path = str(write(tmp_path, [SubtaskState(0, managed_keyed=managed)], job.most))
    with pytest.raises(UnsupportedError) as caught:
        stateextract.open_snapshot(path).operator("op").state("s").to_table()
    assert caught.value.message == "the state was materialized as VALUE state and changed as REDUCING state"
    assert (caught.value.operator, caught.value.state) == ("op", "s")


def test_the_order_of_struct_is_that_of_the_wire() -> None:
    """The writer's own bytes: a reader that agrees with a wrong writer proves nothing."""
    job = Job([State("list", kind="LIST", value=list_of(LONG))])
    job.add("list", 2, i64(7), i64(1))
    assert [group for group, _ in job.log] == [-1, 2]
    assert job.log[1][1] == struct.pack(">BhqBq", 5, 0, 7, 0, 1)
