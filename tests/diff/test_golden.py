"""Golden pairs: the same state taken in two ways has no changes; a later state has those of the job's own input."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from stateextract.diff.diff_plan import DiffOptions
from stateextract.errors import ValueRefusedError
from stateextract.metadata.uid import operator_id
from tests.diff.pairs import Found, Key, changes_found, changes_of_input, found, golden
from tests.golden.expected import DATA, load

ELSEWHERE = "-claimed-savepoint"  # its files are not where its checkpoint says


def _cases(*words: str) -> list[str]:
    names = sorted(path.parent.name for path in DATA.glob("*/expected.json"))
    return [n for n in names if all(word in n for word in words) and not n.endswith(ELSEWHERE)]


def _phase(case: str) -> str:
    return str(load(DATA / case).get("rows"))


BASE = "f23-changes-checkpoint"
SIX = [case for case in _cases("f23-changes-") if _phase(case) == "changes-6.json" and case != BASE]
OLDER = ["f113-changes-canonical", "f117-changes-checkpoint-rocksdb-incremental", "f120-changes-native-snappy"]
EIGHT = [case for case in _cases("-changes-") if _phase(case) == "changes-8.json"]
TWICE = [
    ("f113-keys-checkpoint", "f23-keys-native-snappy"),
    ("f113-kinds-checkpoint", "f23-kinds-checkpoint-merged"),
    ("f118-kinds-checkpoint-snappy", "f20-kinds-native"),
    ("f113-windows-checkpoint-snappy", "f20-windows-checkpoint"),
    ("f120-windows-native", "f23-windows-native-snappy"),
    ("f117-avro-canonical", "f23-avro-checkpoint-snappy"),
    ("f113-scala-checkpoint", "f120-scala-canonical-snappy"),
    ("f120-cep-canonical", "f23-cep-checkpoint"),
    ("f120-types-checkpoint", "f117-types-native-snappy"),
    ("f20-types-checkpoint-snappy", "f23-types-native"),
    ("f120-records-checkpoint-snappy", "f23-records-checkpoint"),
    ("f20-async-checkpoint", "f23-async-native-snappy"),
    ("f120-sqlcore-canonical", "f23-sqlcore-canonical"),
    ("f23-shapes-checkpoint", "f23-shapes-checkpoint-snappy"),
    ("f117-finished-checkpoint", "f23-finished-checkpoint"),
    ("f113-evolution-checkpoint", "f23-evolution-checkpoint"),
    ("f113-evolution-checkpoint-restored", "f23-evolution-native-restored"),
    ("f120-kryo-checkpoint-snappy", "f23-kryo-native"),
]
CLASSES = (str(DATA.parent / "kryo.jar"),)


def _rows_of(case: str) -> int:
    """Rows of keyed state that a case holds, but for maps without entries, which not every kind knows."""
    states = [s for o in load(DATA / case)["operators"] for s in o["states"]]
    return sum(row["value"] != {"$map": []} for s in states for row in s["rows"])


def _nothing_changed(result: Found, rows: int) -> None:
    keyed = {key: counts for key, counts in result.counts.items() if key[1] == "keyed"}
    assert {key: counts for key, counts in keyed.items() if counts.differs or counts.left_out or counts.fields} == {}
    assert sum(counts.before for counts in keyed.values()) == sum(counts.after for counts in keyed.values()) == rows
    assert [key for key in result.rows if key[1] == "keyed"] == []
    assert [state.name for state in result.states.values() if state.reason or state.schema_changes] == []


@pytest.mark.parametrize("case", [*SIX, *OLDER])
def test_the_same_state_in_another_kind_has_no_changes(case: str) -> None:
    result = found(golden(BASE), golden(case))
    _nothing_changed(result, _rows_of(BASE))
    for key, state in result.states.items():
        # Changelogs without a materialized part know only of states that were changed.
        assert state.presence == "both" or (result.counts[key].before == 0 and "changelog" in case)


@pytest.mark.parametrize(("one", "other"), TWICE)
def test_the_same_state_of_another_version_has_no_changes(one: str, other: str) -> None:
    # The extremes of the golden rows: dates beyond any column, and (by name) maps with a null key.
    maps = "list" if "types" in one else "map"
    result = found(golden(one), golden(other), out_of_range="null", maps=maps, classpath=CLASSES)
    keyed = {key: counts for key, counts in result.counts.items() if key[1] == "keyed"}
    _nothing_changed(result, sum(counts.before for counts in keyed.values()))
    assert sum(counts.before for counts in keyed.values()) >= 17


def test_pickles_are_compared_as_they_are_stored() -> None:
    """NumPy 1 and 2 have other names for the same function; all other pickles of both Flink versions are the same bytes."""
    result = found(golden("f120-pyflink-canonical-thread"), golden("f23-pyflink-checkpoint-thread"))
    differing = {key[2]: counts.changed for key, counts in result.counts.items() if counts.differs}
    assert differing == {"numpy": 3}
    assert sum(counts.before for key, counts in result.counts.items() if key[1] == "keyed") == 133


def test_rows_that_cannot_be_distinguished_leave_out_their_key_group_only() -> None:
    """Of this state the file has three entries whose keys are the same bytes."""
    snapshot = golden("f23-pyflink-tables-checkpoint")
    result = found(snapshot, snapshot)
    counts = result.counts[result.named("python-state-accumulators")]
    assert (counts.before, counts.after, counts.differs, counts.left_out) == (2, 2, False, [3])
    assert "two rows of one snapshot have the same key" in counts.reasons[0]
    with pytest.raises(ValueRefusedError, match="key group 3"):
        found(snapshot, snapshot, strict=True)


@pytest.mark.parametrize(
    ("one", "other"),
    [("f113-custom-checkpoint", "f117-custom-checkpoint-snappy"), ("f120-custom-native", "f23-custom-native-snappy")],
)
def test_what_one_side_cannot_decode_is_never_called_added_or_removed(one: str, other: str) -> None:
    result = found(golden(one), golden(other), on_undecodable="skip")
    assert [key for key, counts in result.counts.items() if counts.differs] == []
    assert {state.name for state in result.states.values() if state.reason} == {"balance", "reading"}
    assert all(result.counts[result.named(name)].left_out for name in ("wallet", "figure", "last"))


def test_kinds_differ_by_lists_that_name_their_subtasks() -> None:
    """An element of operator state has no key: with another parallelism the job put in other elements."""
    result = found(golden("f113-changes-canonical"), golden("f113-changes-canonical-rocksdb"))
    counts = result.counts[result.named("split-list")]
    assert (counts.before, counts.after, counts.added, counts.removed, counts.changed) == (6, 3, 3, 6, 0)
    assert Counter(
        row["after"]["value"] for row in result.changes("split-list") if row["change"] == "added"
    ) == Counter(
        [
            "subtask 0 of 1: plain",
            "subtask 0 of 1: ",
            "subtask 0 of 1: äöü ß ı",
        ]
    )
    union = result.counts[result.named("union-list")]
    assert (union.before, union.after, union.added, union.removed) == (4, 2, 0, 2)


# -- known changes


def _expected(case: str) -> dict[Key, dict[str, Any]]:
    operators = load(DATA / case)["operators"]
    return {(operator_id(o["uid"]), "keyed", s["name"]): s for o in operators for s in o["states"]}


def _size(state: dict[str, Any]) -> int:
    return sum(row["value"] != {"$map": []} for row in state["rows"])


@pytest.mark.parametrize(
    ("earlier", "later"),
    [
        *((BASE, later) for later in EIGHT),
        ("f120-changes-canonical-rocksdb-snappy", "f23-changes-checkpoint-changelog-rescaled"),
    ],
)
def test_changes_are_those_of_the_input(earlier: str, later: str) -> None:
    result = found(golden(earlier), golden(later))
    before, after = _expected(earlier), _expected(later)
    compared = 0
    for key, state in before.items():
        if key not in result.states:
            assert not state["rows"]
            continue
        ours = result.states[key]
        assert ours.how is not None
        assert ours.output is not None
        expected = changes_of_input(ours.output, state, after[key])
        assert changes_found(result, key, state) == expected, key
        counts = result.counts[key]
        assert counts.added == sum(row[1] == "added" for row in expected)
        assert counts.removed == sum(row[1] == "removed" for row in expected)
        assert counts.changed == sum(row[1] == "changed" for row in expected)
        assert (counts.before, counts.after) == (_size(state), _size(after[key]))
        compared += len(expected)
    assert compared == 175


def test_flattened_maps_are_compared_entry_by_entry() -> None:
    later = "f23-changes-checkpoint-changelog-rescaled"
    result = found(golden(BASE), golden(later), flatten=True)
    for name in ("texts", "ttl-map"):
        key = result.named(name)
        old, new = (
            {(row["key"], k): v for row in _expected(case)[key]["rows"] for k, v in row["value"]["$map"]}
            for case in (BASE, later)
        )
        counts = result.counts[key]
        assert (counts.before, counts.after) == (len(old), len(new))
        assert (counts.removed, counts.added) == (len(old.keys() - new.keys()), len(new.keys() - old.keys()))
        assert counts.changed == sum(old[k] != new[k] for k in old.keys() & new.keys())
        assert min(counts.removed, counts.added) > 1
        assert {"map_key", "before", "after"} <= {*result.changes(name)[0]}


# -- evolved schemas


@pytest.mark.parametrize("later", ["f23-evolution-native-restored", "f120-evolution-checkpoint-snappy-restored"])
def test_an_evolved_pojo_is_compared_field_by_field(later: str) -> None:
    result = found(golden("f23-evolution-checkpoint"), golden(later))
    key = result.named("account")
    assert [str(change) for change in result.states[key].schema_changes] == [
        "value.legacy removed (int64)",
        "value.credit added (double)",
        "value.email added (string)",
    ]
    old, new = (
        {row["key"]: row["value"]["$pojo"]["fields"] for row in _expected(case)[key]["rows"]}
        for case in ("f23-evolution-checkpoint", later)
    )
    fields = dict.fromkeys(f for values in (old, new) for row in values.values() for f in row)
    expected = Counter(f"value.{f}" for k in old for f in fields if old[k].get(f) != new[k].get(f))
    assert result.counts[key].fields == dict(expected)
    for row in result.changes("account"):
        assert row["change"] == "changed"
        was, is_ = row["before"]["value"], row["after"]["value"]
        assert was["credit"] is None
        assert was["email"] is None
        assert is_["legacy"] is None
        assert row["changed_fields"] == [f"value.{f}" for f in was if was[f] != is_[f]]


def test_fields_of_one_side_need_not_count() -> None:
    result = found(
        golden("f23-evolution-checkpoint"), golden("f23-evolution-native-restored"), DiffOptions(common_fields=True)
    )
    key = result.named("account")
    assert result.counts[key].fields == {"value.note": 10, "value.visits": 11}
    assert result.counts[key].changed == 11
    # In lists and maps too.
    assert 0 < result.counts[result.named("history")].changed < 17
    assert len(result.states[key].schema_changes) == 3


# -- forced ways


@pytest.mark.parametrize(
    "options",
    [
        DiffOptions(memory_bytes=4000),
        DiffOptions(unit_bytes=1),
        DiffOptions(bits=0),
        DiffOptions(bits=2, memory_bytes=4000),
    ],
    ids=["on disk", "one key group at a time", "all hashes collide", "collisions on disk"],
)
@pytest.mark.parametrize("kind", ["rocksdb-incremental-restored", "changelog-rescaled"])
def test_no_limit_changes_what_is_found(options: DiffOptions, kind: str) -> None:
    later = f"{BASE}-{kind}"
    plain, forced = (found(golden(BASE), golden(later), how) for how in (DiffOptions(), options))
    assert {k: c.as_dict() for k, c in plain.counts.items()} == {k: c.as_dict() for k, c in forced.counts.items()}
    for key in plain.states:
        assert plain.changes_of(key) == forced.changes_of(key)
    if options.unit_bytes == 1 and kind == "changelog-rescaled":
        assert len(forced.plan.units) > 2 * len(plain.plan.units)


def test_the_last_access_counts_if_it_is_asked_for() -> None:
    one, other = golden("f23-kinds-native"), golden("f120-kinds-checkpoint")
    plain, strict = found(one, other), found(one, other, DiffOptions(last_access=True))
    ttl = [
        s["name"] for o in load(DATA / "f23-kinds-native")["operators"] for s in o["states"] if s["ttl"] and s["rows"]
    ]
    assert len(ttl) >= 5
    for name in ttl:
        key = plain.named(name)
        assert plain.counts[key].changed == 0
        # The runs were years apart, so every row was accessed at another time.
        assert strict.counts[key].changed == strict.counts[key].before > 0
