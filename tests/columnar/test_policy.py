"""The policy for values that do not fit, and the counters."""

from __future__ import annotations

import pyarrow as pa
import pytest

from stateextract.columnar.convert.policy import ChangeCounts, Policy, apply_policy
from stateextract.columnar.layout import (
    Case,
    Field,
    List,
    Logical,
    Map,
    MaskedStruct,
    Nullable,
    Subclass,
    Subclasses,
    Switch,
    Text,
    struct,
)
from stateextract.errors import UsageError, ValueRefusedError
from tests.columnar.columns import (
    DATE,
    INSTANT,
    LOCAL_DATETIME,
    LOCAL_TIME,
    SQL_TIMESTAMP,
    UTC_NS,
)

# ---- the policy


def test_policy_rewrites_the_tree_everywhere() -> None:
    layout = struct(
        a=List(Map(Text(), Nullable(INSTANT))),
        b=Switch((Case(0, (Field("x", SQL_TIMESTAMP),)), Case(None, (Field("y", Text("utf")),)))),
        c=Subclasses("K", (Field("s", Text()),), (Subclass("L", 0, (Field("s", Nullable(Text())), Field("t", DATE))),)),
        d=MaskedStruct((Field("m", LOCAL_DATETIME),), kind=True),
        e=LOCAL_TIME,
    )
    changed = apply_policy(layout, Policy(strings="binary", timestamps="nanoseconds", maps="list"))
    assert changed == struct(
        a=List(Map(Text(as_binary=True), Nullable(Logical(INSTANT.inner, "instant", UTC_NS)), as_list=True)),
        b=Switch(
            (
                Case(0, (Field("x", Logical(SQL_TIMESTAMP.inner, "sql_timestamp", UTC_NS)),)),
                Case(None, (Field("y", Text("utf", as_binary=True)),)),
            )
        ),
        c=Subclasses(
            "K",
            (Field("s", Text(as_binary=True)),),
            (Subclass("L", 0, (Field("s", Nullable(Text(as_binary=True))), Field("t", DATE))),),
        ),
        d=MaskedStruct((Field("m", Logical(LOCAL_DATETIME.inner, "local_datetime", pa.timestamp("ns"))),), kind=True),
        e=LOCAL_TIME,
    )
    assert apply_policy(layout, Policy()) == layout


def test_policy_refuses_unknown_choices() -> None:
    with pytest.raises(UsageError, match="the option timestamps cannot be 'round'; expected one of floor, fail"):
        Policy(timestamps="round")  # type: ignore[arg-type]


def test_policy_refuses_what_is_no_utf8() -> None:
    Policy().check(ChangeCounts(malformed_utf8=4))
    with pytest.raises(ValueRefusedError, match="4 sequences of bytes in strings that are not UTF-8"):
        Policy(strings="fail").check(ChangeCounts(malformed_utf8=4))


def test_policy_refuses_lone_surrogates() -> None:
    Policy(strings="fail").check(ChangeCounts(sub_microsecond=5))
    Policy().check(ChangeCounts(lone_surrogates=5))
    with pytest.raises(ValueRefusedError, match="5 lone surrogates") as caught:
        Policy(strings="fail").check(ChangeCounts(lone_surrogates=5))
    assert "strings to replace" in str(caught.value)
    assert "or binary" in str(caught.value)


def test_counts() -> None:
    counts = ChangeCounts(lone_surrogates=1) + ChangeCounts(1, 2, 3)
    counts["out_of_range"] += 4
    counts += ChangeCounts(sub_microsecond=10)
    assert counts.as_dict() == {"lone_surrogates": 2, "sub_microsecond": 12, "out_of_range": 7, "malformed_utf8": 0,
                                "python_objects": 0, "unread_pickles": 0}  # fmt: skip
    assert dict(counts.as_dict()) == {name: counts[name] for name in counts}
    assert counts
    assert not ChangeCounts()
    with pytest.raises(KeyError):
        counts["lone_surrogate"] = 1
