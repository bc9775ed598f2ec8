"""Which state is compared with which, in which pieces, and what is said where one cannot be compared."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stateextract.diff.diff_plan import DiffOptions, make_diff_plan
from stateextract.diff.summary import DiffCounts
from stateextract.errors import FormatError, UnsupportedError, UsageError
from stateextract.metadata.model import OperatorState, SubtaskState
from stateextract.metadata.uid import operator_id
from stateextract.options import JobOptions
from tests.depth import examples
from tests.diff.pairs import copies_of_rules, found
from tests.job.snapshots import TUPLE, UNKNOWN, numbered, write_snapshot
from tests.state.keyed_writer import LONG, Entry, Keyed, State, heap, i64, write, write_operators

ROWS = numbered(64)


def _without(rows: dict[int, list[tuple[int, int]]], groups: set[int]) -> dict[int, list[tuple[int, int]]]:
    return {group: [] if group in groups else pairs for group, pairs in rows.items()}


def test_states_of_one_snapshot_only_are_new_or_gone(tmp_path: Path) -> None:
    one = write_snapshot(tmp_path / "a", {"op": {"kept": ROWS, "old": ROWS}, "left": {"x": ROWS}})
    other = write_snapshot(tmp_path / "b", {"op": {"kept": ROWS, "young": ROWS}})
    result = found(one, other)
    presence = {state.name: state.presence for state in result.states.values()}
    assert presence == {"kept": "both", "old": "gone", "young": "new", "x": "gone"}
    assert result.counts[result.named("kept")] == DiffCounts(before=64, after=64)
    assert result.counts[result.named("old")] == DiffCounts(before=64, removed=64)
    assert result.counts[result.named("young")] == DiffCounts(after=64, added=64)
    assert result.counts[result.named("x")] == DiffCounts(before=64, removed=64)
    (row, *_) = result.changes("young")
    assert (row["before"], row["changed_fields"]) == (None, [])


def test_what_is_chosen_need_be_in_one_snapshot_only(tmp_path: Path) -> None:
    one = write_snapshot(tmp_path / "a", {"op": {"kept": ROWS, "old": ROWS}})
    other = write_snapshot(tmp_path / "b", {"op": {"kept": ROWS}, "more": {"kept": ROWS}})
    assert [s.presence for s in found(one, other, state=("old",)).states.values()] == ["gone"]
    assert [s.presence for s in found(other, one, state=("old",)).states.values()] == ["new"]
    result = found(one, other, operator=("more",))
    assert [(s.uid, s.presence) for s in result.states.values()] == [("more", "new")]
    # Each name may be in another snapshot.
    result = found(one, write_snapshot(tmp_path / "c", {"else": {"young": ROWS}}), state=("old", "young"))
    assert [(s.uid, s.name, s.presence) for s in result.states.values()] == [
        ("op", "old", "gone"),
        ("else", "young", "new"),
    ]
    with pytest.raises(UsageError, match=r"no state of either snapshot is called 'none'.*'kept', 'old'"):
        found(one, other, state=("none", "old"))
    with pytest.raises(
        UsageError, match=r"no operator of either snapshot has the uid, name or id 'none'.*'more', 'op'"
    ):
        found(one, other, operator=("none", "op"))


def _of_another_version(folder: Path, file: str, version: int) -> None:
    """A head of a version that is not read (3), or that there is not."""
    data = (folder / file).read_bytes()
    (folder / file).write_bytes(version.to_bytes(4, "big") + data[4:])


@pytest.mark.parametrize("file", ["op-0", "op-1"])
def test_what_one_side_cannot_read_is_not_gone(tmp_path: Path, file: str) -> None:
    one = write_snapshot(tmp_path / "a", {"op": {"s": ROWS}, "fine": {"s": ROWS}})
    other = write_snapshot(tmp_path / "b", {"op": {"s": ROWS}, "fine": {"s": ROWS}})
    _of_another_version(other, file, 3)
    for before, after in ((one, other), (other, one)):
        result = found(before, after)
        unread, fine = sorted(result.states.values(), key=lambda s: s.operator_id != "op" and s.uid != "op")
        assert (unread.presence, unread.how, unread.output) == ("both", None, None)
        assert unread.reason is not None
        assert unread.reason.startswith("the keyed state was written by a Flink release before 1.7")
        assert (result.counts[unread.operator_id, "keyed", "s"], result.rows) == (DiffCounts(), {})
        assert result.counts[fine.operator_id, "keyed", "s"] == DiffCounts(before=64, after=64)


def test_a_state_may_be_in_what_cannot_be_read(tmp_path: Path) -> None:
    one = write_snapshot(tmp_path / "a", {"op": {"s": ROWS}})
    other = write_snapshot(tmp_path / "b", {"op": {"s": ROWS}, "fine": {"s": ROWS}})
    for file in ("op-0", "op-1"):
        _of_another_version(other, file, 3)
    (state, _) = sorted(found(one, other).states.values(), key=lambda s: s.uid != "op")
    assert (state.presence, state.how) == ("unsure", None)
    assert state.reason is not None
    assert state.reason.startswith("it may be in what cannot be read of the later snapshot: ")


def test_an_operator_that_was_not_asked_for_is_in_nobodys_way(tmp_path: Path) -> None:
    one = write_snapshot(tmp_path / "a", {"other": {"s": ROWS}})
    other = write_snapshot(tmp_path / "b", {"fresh": {"s": ROWS}})
    for version in (3, 77):
        _of_another_version(one, "other-0", version)
        result = found(one, other, operator=("fresh",))
        assert [(s.uid, s.presence) for s in result.states.values()] == [("fresh", "new")]
        assert result.plan.unread == []


@pytest.mark.parametrize("choice", [{}, {"operator": ("op",)}, {"state": ("s",)}])
def test_a_snapshot_without_state(tmp_path: Path, choice: dict[str, tuple[str]]) -> None:
    one = write_operators(tmp_path / "a", [OperatorState(operator_id("op"), "op", "An operator", 2, 8)])
    other = write_snapshot(tmp_path / "b", {"op": {"s": ROWS}})
    assert [s.presence for s in found(one, other, **choice).states.values()] == ["new"]
    result = found(other, one, **choice)
    assert [(s.presence, result.counts[key].removed) for key, s in result.states.items()] == [("gone", 64)]


def test_broadcast_copies_that_differ_are_said(tmp_path: Path) -> None:
    one, other = copies_of_rules(tmp_path / "a", {1: 1}, {1: 1}), copies_of_rules(tmp_path / "b", {1: 1}, {1: 99, 2: 2})
    text = (
        "the copies that the subtasks 1 of the {} snapshot have are not that of the first subtask, which was compared"
    )
    result = found(one, other)
    assert result.counts[result.named("rules")] == DiffCounts(before=1, after=1, remarks=[text.format("later")])
    assert found(other, one).counts[result.named("rules")].remarks == [text.format("earlier")]


def test_other_parallelism_and_other_key_groups(tmp_path: Path) -> None:
    one = write_snapshot(tmp_path / "a", {"op": {"s": ROWS}}, parallelism=1)
    other = write_snapshot(tmp_path / "b", {"op": {"s": _without(ROWS, {3})}}, parallelism=4)
    by_groups = found(one, other, DiffOptions(unit_bytes=1))
    assert [unit.key_groups for unit in by_groups.plan.units] == [(i,) for i in range(8)]
    assert by_groups.counts[by_groups.named("s")] == DiffCounts(before=64, after=56, removed=8)
    assert {row["key_group"] for row in by_groups.changes("s")} == {3}
    more = write_snapshot(tmp_path / "c", {"op": {"s": numbered(64, 32)}}, parallelism=2, max_parallelism=32)
    result = found(one, more)
    assert [unit.key_groups for unit in result.plan.units] == [None]
    assert result.counts[result.named("s")] == DiffCounts(before=64, after=64)


def test_retyped_values(tmp_path: Path) -> None:
    one = write_snapshot(tmp_path / "a", {"op": {"s": ROWS, "t": ROWS}})
    other = write_snapshot(tmp_path / "b", {"op": {"s": ROWS, "t": ROWS}}, values={"s": TUPLE})
    result = found(one, other)
    state = result.states[result.named("s")]
    assert state.reason == "value was int64 and is struct<f0: int64>, which cannot be compared"
    assert [str(change) for change in state.schema_changes] == ["value int64 → struct<f0: int64>"]
    # The others are compared all the same.
    assert result.counts[result.named("t")] == DiffCounts(before=64, after=64)


def test_states_of_another_kind(tmp_path: Path) -> None:
    def snapshot(name: str, kind: str) -> Path:
        entries = [Entry(1, i64(1), i64(2))]
        keyed = Keyed([State("s", entries, kind, LONG), State("t", entries, "VALUE", LONG)])
        return write(tmp_path / name, [SubtaskState(0, managed_keyed=heap(keyed))])

    result = found(snapshot("a", "VALUE"), snapshot("b", "REDUCING"))
    assert result.states[result.named("s")].reason == "it was value state and is reducing state"
    assert result.counts[result.named("t")] == DiffCounts(before=1, after=1)


def test_what_cannot_be_decoded_stops_the_comparison_or_is_said(tmp_path: Path) -> None:
    rows = {group: pairs if group in (1, 2) else [] for group, pairs in ROWS.items()}
    one = write_snapshot(
        tmp_path / "a", {"op": {"known": ROWS, "unknown": rows, "zz": ROWS}}, values={"unknown": UNKNOWN}
    )
    other = write_snapshot(tmp_path / "b", {"op": {"known": ROWS, "unknown": rows, "zz": _without(ROWS, {5})}})
    with pytest.raises(UnsupportedError, match="ShapeSerializer") as caught:
        found(one, other, strict=True)
    assert caught.value.file is not None
    assert caught.value.operator == "op"
    result = found(one, other)
    assert result.states[result.named("unknown")].reason == (
        "values of com.example.ShapeSerializerSnapshot cannot be decoded: the serializer's snapshot class is not known"
    )
    assert result.counts[result.named("known")] == DiffCounts(before=64, after=64)
    # Lost behind the unknown one in its key groups, on one side; nothing is called added there.
    counts = result.counts[result.named("zz")]
    assert counts.left_out == [1, 2]
    assert counts.reasons
    assert (counts.before, counts.after, counts.added, counts.removed) == (48, 40, 0, 8)


def test_damage_is_an_error_with_its_place(tmp_path: Path) -> None:
    one = write_snapshot(tmp_path / "a", {"op": {"s": ROWS}}, compressed=True)
    other = write_snapshot(tmp_path / "b", {"op": {"s": ROWS}}, compressed=True)
    file = max((path for path in other.rglob("*") if path.is_file()), key=lambda path: path.stat().st_size)
    data = bytearray(file.read_bytes())
    data[-40] ^= 0xFF
    file.write_bytes(data)
    with pytest.raises(FormatError) as caught:
        found(one, other, strict=True)
    error = caught.value
    assert error.file is not None
    assert error.file.endswith(file.name)
    assert error.operator == "op"
    assert error.key_group is not None
    # Without strict, all other key groups are compared.
    result = found(one, other)
    counts = result.counts[result.named("s")]
    assert counts.left_out == [error.key_group]
    assert file.name in counts.reasons[0]
    assert (counts.before, counts.after, counts.differs) == (56, 56, False)


def test_options_that_make_no_sense_here(tmp_path: Path) -> None:
    job = JobOptions(snapshot=str(write_snapshot(tmp_path / "a", {"op": {"s": ROWS}})))
    with pytest.raises(UsageError, match="raw bytes"):
        make_diff_plan(job, JobOptions(snapshot=job.snapshot, on_undecodable="raw"))
    with pytest.raises(UsageError, match="types of columns"):
        make_diff_plan(job, JobOptions(snapshot=job.snapshot, types=("op/s/value=date",)))


numbers = st.dictionaries(st.integers(-40, 40), st.integers(-3, 3), max_size=40)
shapes = st.tuples(st.integers(1, 4), st.booleans())


@settings(max_examples=examples(20), deadline=None)
@given(numbers, numbers, shapes, shapes, st.sampled_from([1, 200, 10**6]), st.sampled_from([1, 3000, 10**9]))
def test_random_states_are_compared_as_dictionaries_are(
    before: dict[int, int],
    after: dict[int, int],
    one: tuple[int, bool],
    other: tuple[int, bool],
    unit: int,
    memory: int,
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for name, rows, (parallelism, compressed) in (("a", before, one), ("b", after, other)):
            groups = {group: [pair for pair in rows.items() if pair[0] % 8 == group] for group in range(8)}
            paths.append(
                write_snapshot(
                    Path(folder) / name, {"op": {"s": groups}}, parallelism=parallelism, compressed=compressed
                )
            )
        result = found(*paths, DiffOptions(unit_bytes=unit, memory_bytes=memory))
    rows = {row["key"]: (row["change"], row["before"], row["after"], row["key_group"]) for row in result.changes("s")}
    expected: dict[int, tuple[str, Any, Any, int]] = {}
    for key in before.keys() | after.keys():
        was, is_ = ({"value": side[key]} if key in side else None for side in (before, after))
        if was != is_:
            change = "added" if was is None else "removed" if is_ is None else "changed"
            expected[key] = (change, was, is_, key % 8)
    assert rows == expected
    counts = result.counts[result.named("s")]
    assert (counts.before, counts.after) == (len(before), len(after))
    assert counts.unchanged == sum(before[key] == after[key] for key in before.keys() & after.keys())
