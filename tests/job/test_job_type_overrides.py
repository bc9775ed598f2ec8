"""Type overrides by pattern, and guesses of types from bytes."""

from __future__ import annotations

import struct

import pyarrow as pa
import pytest

from stateextract.errors import UsageError
from stateextract.metadata.model import OperatorState
from stateextract.snapshot.job_type_overrides import JobTypeOverrides, matches
from stateextract.snapshot.python_guess import guess

SCHEMA = pa.schema([("key", pa.string()), ("value", pa.struct([("a", pa.int64()), ("b", pa.int64()), ("c", pa.binary())]))])


def operator(uid: str, name: str) -> OperatorState:
    return OperatorState(id="0" * 32, uid=uid, name=name, parallelism=1, max_parallelism=1)


ORDERS = operator("orders", "Group[6]")


def fitting(*lines: str, state: str = "python-state-x", schema: pa.Schema = SCHEMA) -> dict[str, str]:
    overrides = JobTypeOverrides(lines)
    found = dict(overrides.fitting(ORDERS, state, schema))
    overrides.refuse_unused()
    return found


@pytest.mark.parametrize(
    ("pattern", "text", "fits"),
    [
        ("*", "", True), ("a*c", "abbc", True), ("a*c", "abd", False), ("a?", "ab", True), ("a?", "a", False),
        ("Group[6]", "Group[6]", True), ("Group[6]", "Group6", False), ("**" * 50 + "x", "y" * 200, False),
        ("a.c", "abc", False), ("*\n*", "a\nb", True),
    ],
)  # fmt: skip
def test_wildcards(pattern: str, text: str, fits: bool) -> None:
    assert matches(pattern, text) == fits


def test_wildcards_in_each_part() -> None:
    assert fitting("*/python-state-*/value.a=string") == {"value.a": "string"}
    assert fitting("ord*/*/value.?=string") == {"value.a": "string", "value.b": "string", "value.c": "string"}
    assert fitting("Group[6]/python-state-x/value.a=string") == {"value.a": "string"}
    assert fitting("*/a/b/*/value.b=string", "*/a?b*/value.a=json", state="a/b/c") == {"value.b": "string", "value.a": "json"}


def test_a_pattern_is_about_columns_that_can_become_the_type() -> None:
    assert fitting("*/*/*=decimal(20,2)") == {"key": "decimal(20,2)", "value.a": "decimal(20,2)", "value.b": "decimal(20,2)"}
    assert fitting("*/*/value.nothing=string") == {}
    for place in ("orders", "*"):
        with pytest.raises(UsageError, match="leads nowhere"):
            fitting(f"{place}/python-state-x/value.nothing=string")


def test_which_line_wins() -> None:
    lines = ("orders/python-state-x/value.a=int32", "*/*/value.*=string", "*/*/value.b=int16")
    assert fitting(*lines) == {"value.a": "int32", "value.b": "int16", "value.c": "string"}


def test_a_line_about_nothing_is_a_mistake() -> None:
    with pytest.raises(UsageError, match="no selected state has this name"):
        fitting("*/other-*/value.a=string")
    overrides = JobTypeOverrides(["pay*/x/value=string"])
    with pytest.raises(UsageError, match="no operator has this name"):
        overrides.refuse_strangers([ORDERS])


def of_length(*texts: bytes) -> bytes:
    return b"".join(len(text).to_bytes(4, "big") + text for text in texts)


@pytest.mark.parametrize(
    ("found", "counts", "expected"),
    [
        ([struct.pack(">q", 25), struct.pack(">q", -3)], [1, 1], "element(int64)"),
        ([struct.pack(">q", 2_500_000_000_000_000_000)], [1], "element(int64)"),
        ([struct.pack(">d", 8.25), struct.pack(">d", float("-inf"))], [1, 1], "element(float64)"),
        ([struct.pack(">f", 6.25)], [1], "element(float32)"),
        ([struct.pack(">i", -1_750_000_000)], [1], "element(int32)"),
        ([struct.pack(">h", 7)], [1], "element(int16)"),
        ([b"\1", b"\0"], [1, 1], "element(bool)"),
        ([b"\7"], [1], "element(int8)"),
        ([struct.pack(">qi", 1_700_000_025, 123_456_000)], [1], "element(instant)"),
        ([struct.pack(">qi", 1_700_000_025_000, 456_000)], [1], "element(timestamp[us])"),
        ([of_length(b"a"), of_length(b"")], [1, 1], "element(string)"),
        ([of_length(b"a"), of_length(b"b", b"c")], [2], "elements(string)"),
        ([of_length(b"\xff\xfe")], [1], "element(binary)"),
        ([struct.pack(">qq", 1, 2), struct.pack(">q", 3)], [2], "elements(int64)"),
        ([b"\0\0\0\2" b"\1" + struct.pack(">q", 5) + b"\0"], [1], "element(list<int64>)"),
        ([b"\0\0\0\1" + of_length(b"k") + b"\0" + struct.pack(">d", 12.5)], [1], "element(map<string, float64>)"),
        ([b"\x10" + struct.pack(">i", 25) + b"\1"], [1], None),
    ],
)  # fmt: skip
def test_guesses(found: list[bytes], counts: list[int], expected: str | None) -> None:
    made = guess(found, counts, True)
    assert made.type == expected
    assert made.sizes == (min(map(len, found)), max(map(len, found)))


def test_what_fits_as_well_is_named() -> None:
    assert guess([struct.pack(">q", 25)], [1], True).others == ("timestamp[ms]",)
    assert guess([of_length(b"1.25"), of_length(b"-3")], [1, 1], True).others[0] == "decimal(38,2)"
