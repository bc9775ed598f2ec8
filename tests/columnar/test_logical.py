"""Conversions of wire values: exact results and extremes."""

from __future__ import annotations

import datetime
import random
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stateextract.columnar.convert.logical import CONVERSIONS, apply_logical
from stateextract.columnar.convert.numerals import MAX_DIGIT_BYTES, big_decimal_text, big_integer_text
from stateextract.columnar.convert.policy import ChangeCounts, Policy, apply_policy
from stateextract.columnar.layout import (
    Bytes,
    List,
    Logical,
    Map,
    Number,
    Text,
    struct,
)
from tests.columnar.columns import (
    BIG_DECIMAL,
    BIG_INTEGER,
    COLOR,
    DATE,
    EPOCH_MS,
    I32,
    INSTANT,
    INT_MIN,
    LOCAL_DATE,
    LOCAL_DATETIME,
    LOCAL_TIME,
    LONG_MAX,
    LONG_MIN,
    SQL_TIMESTAMP,
    impossible,
    refused,
    run,
    ticks,
)
from tests.depth import examples

# ---- instants


def test_date() -> None:
    assert ticks(run(DATE, [0, 1000, -1, LONG_MIN, None])) == [0, 1_000_000, -1000, None, None]
    assert run(DATE, [1_709_209_845_678]).to_pylist() == [
        datetime.datetime(2024, 2, 29, 12, 30, 45, 678_000, datetime.UTC)
    ]


def test_date_at_the_edges_of_the_column() -> None:
    edge = LONG_MAX // 1000
    assert ticks(run(DATE, [edge, -edge])) == [edge * 1000, -edge * 1000]
    for beyond in (edge + 1, -edge - 1, LONG_MAX, LONG_MIN + 1):
        text = refused(DATE, beyond)
        assert f"{beyond} ms since 1970" in text
        assert "--out-of-range null" in text
    counts = ChangeCounts()
    assert ticks(run(DATE, [edge + 1, LONG_MAX, LONG_MIN, 5], Policy(out_of_range="null"), counts)) == [
        None, None, None, 5000,
    ]  # fmt: skip
    assert counts == ChangeCounts(out_of_range=2)


def test_epoch_ms_knows_no_null() -> None:
    assert ticks(run(EPOCH_MS, [-1, 0, 999])) == [-1000, 0, 999_000]
    assert f"{LONG_MIN} ms since 1970" in refused(EPOCH_MS, LONG_MIN)
    counts = ChangeCounts()
    assert ticks(run(EPOCH_MS, [LONG_MIN, LONG_MAX], Policy(out_of_range="null"), counts)) == [None, None]
    assert counts == ChangeCounts(out_of_range=2)


def test_sql_timestamp_takes_the_fraction_from_the_nanos() -> None:
    counts = ChangeCounts()
    wire = [
        {"ms": 1500, "nanos": 500_000_007},
        {"ms": -1, "nanos": 999_000_000},
        {"ms": -1500, "nanos": 500_000_000},
        {"ms": LONG_MIN, "nanos": 0},
        None,
    ]
    assert ticks(run(SQL_TIMESTAMP, wire, counts=counts)) == [1_500_000, -1000, -1_500_000, None, None]
    assert counts == ChangeCounts(sub_microsecond=1)
    assert ticks(run(SQL_TIMESTAMP, wire, Policy(timestamps="nanoseconds"))) == [
        1_500_000_007, -1_000_000, -1_500_000_000, None, None,
    ]  # fmt: skip
    assert "1000000000 ns" in impossible(SQL_TIMESTAMP, {"ms": 0, "nanos": 10**9})
    assert "-1 ns" in impossible(SQL_TIMESTAMP, {"ms": 0, "nanos": -1})


def test_instant() -> None:
    counts = ChangeCounts()
    wire = [
        {"seconds": -1, "nanos": 5},
        {"seconds": 0, "nanos": 999_999_999},
        {"seconds": 1, "nanos": 1000},
        {"seconds": LONG_MIN, "nanos": INT_MIN},
        None,
    ]
    assert ticks(run(INSTANT, wire, counts=counts)) == [-1_000_000, 999_999, 1_000_001, None, None]
    assert counts == ChangeCounts(sub_microsecond=2)


def test_instant_in_nanoseconds() -> None:
    policy = Policy(timestamps="nanoseconds")
    highest, lowest = divmod(LONG_MAX, 10**9), divmod(LONG_MIN, 10**9)
    wire = [{"seconds": s, "nanos": n} for s, n in [(-1, 5), highest, lowest]]
    counts = ChangeCounts()
    assert ticks(run(INSTANT, wire, policy, counts)) == [-999_999_995, LONG_MAX, LONG_MIN]
    assert not counts
    for seconds, nanos in [(highest[0], highest[1] + 1), (lowest[0], lowest[1] - 1), (highest[0] + 1, 0)]:
        assert f"{seconds} s since 1970 and {nanos} ns does not fit" in refused(
            INSTANT, {"seconds": seconds, "nanos": nanos}, policy
        )


def test_instant_at_the_edges_of_microseconds() -> None:
    highest, lowest = divmod(LONG_MAX, 10**6), divmod(LONG_MIN, 10**6)
    wire = [{"seconds": s, "nanos": t * 1000} for s, t in (highest, lowest)]
    assert ticks(run(INSTANT, wire)) == [LONG_MAX, LONG_MIN]
    above = {"seconds": highest[0], "nanos": (highest[1] + 1) * 1000}
    below = {"seconds": lowest[0], "nanos": (lowest[1] - 1) * 1000}
    counts = ChangeCounts()
    assert ticks(run(INSTANT, [above, below], Policy(out_of_range="null"), counts)) == [None, None]
    assert counts == ChangeCounts(out_of_range=2)


def test_instant_extremes_of_java() -> None:
    # Instant.MAX and Instant.MIN are right, but too far away; one second more is damage.
    assert "31556889864403199 s" in refused(INSTANT, {"seconds": 31_556_889_864_403_199, "nanos": 999_999_999})
    assert "-31557014167219200 s" in refused(INSTANT, {"seconds": -31_557_014_167_219_200, "nanos": 0})
    for seconds, nanos in [
        (31_556_889_864_403_200, 0), (-31_557_014_167_219_201, 0), (LONG_MAX, 0), (LONG_MIN, 0), (0, INT_MIN),
        (0, 10**9),
    ]:  # fmt: skip
        assert "invalid value: the instant" in impossible(INSTANT, {"seconds": seconds, "nanos": nanos})
    # A value out of range is not also counted for its digits.
    counts = ChangeCounts()
    run(INSTANT, [{"seconds": 31_556_889_864_403_199, "nanos": 1}], Policy(out_of_range="null"), counts)
    assert counts == ChangeCounts(out_of_range=1)


def test_timestamps_refuse() -> None:
    policy = Policy(timestamps="fail")
    text = refused(INSTANT, {"seconds": -7, "nanos": 1001}, policy)
    assert "-7 s since 1970 and 1001 ns has digits below the microsecond" in text
    assert "timestamps to floor" in text
    assert "or nanoseconds" in text
    assert ticks(run(INSTANT, [{"seconds": -7, "nanos": 1000}], policy)) == [-6_999_999]


# ---- local dates and times


def ymd(year: int, month: int, day: int) -> dict[str, int]:
    return {"year": year, "month": month, "day": day}


def hms(hour: int, minute: int, second: int, nanos: int = 0) -> dict[str, int]:
    return {"hour": hour, "minute": minute, "second": second, "nanos": nanos}


NO_DATE = ymd(INT_MIN, -128, 0)
NO_TIME = hms(-128, -128, 0, INT_MIN)


def test_local_date() -> None:
    wire = [ymd(2024, 2, 29), ymd(1970, 1, 1), ymd(1969, 12, 31), ymd(1, 1, 1), ymd(0, 2, 29), NO_DATE, None]
    assert ticks(run(LOCAL_DATE, wire)) == [19_782, 0, -1, -719_162, -719_469, None, None]
    assert ticks(run(LOCAL_DATE, [ymd(2000, 2, 29), ymd(2000, 3, 1), ymd(1900, 3, 1)])) == [11_016, 11_017, -25_508]


@settings(max_examples=examples(50), deadline=None)
@given(st.lists(st.dates(), min_size=1, max_size=20))
def test_local_date_is_the_calendar_of_datetime(dates: list[datetime.date]) -> None:
    array = pa.array([ymd(d.year, d.month, d.day) for d in dates], type=LOCAL_DATE.wire_type)
    assert apply_logical(array, LOCAL_DATE, Policy(), ChangeCounts()).to_pylist() == dates


def test_local_date_edges() -> None:
    # date32 ends at 2^31 - 1 days: 5881580-07-11, and begins at -5877641-06-23.
    assert ticks(run(LOCAL_DATE, [ymd(5_881_580, 7, 11), ymd(-5_877_641, 6, 23)])) == [2**31 - 1, -(2**31)]
    assert "the date +5881580-07-12 does not fit the type date32" in refused(LOCAL_DATE, ymd(5_881_580, 7, 12))
    assert "the date -5877641-06-22 does not fit" in refused(LOCAL_DATE, ymd(-5_877_641, 6, 22))
    assert "+999999999-12-31" in refused(LOCAL_DATE, ymd(999_999_999, 12, 31))
    assert "-999999999-01-01" in refused(LOCAL_DATE, ymd(-999_999_999, 1, 1))
    counts = ChangeCounts()
    wire = [ymd(999_999_999, 12, 31), ymd(-999_999_999, 1, 1), ymd(1970, 1, 2)]
    assert ticks(run(LOCAL_DATE, wire, Policy(out_of_range="null"), counts)) == [None, None, 1]
    assert counts == ChangeCounts(out_of_range=2)


@pytest.mark.parametrize(
    "parts",
    [
        (2023, 2, 29), (1900, 2, 29), (2024, 2, 30), (2024, 4, 31), (2024, 0, 1), (2024, 13, 1), (2024, 1, 0),
        (2024, 1, 32), (2024, -128, 1), (2024, 127, 1), (2024, 1, -1), (1_000_000_000, 1, 1), (-(2**31) + 1, 1, 1),
    ],
)  # fmt: skip
def test_impossible_dates(parts: tuple[int, int, int]) -> None:
    assert "invalid value: the date" in impossible(LOCAL_DATE, ymd(*parts))


def test_local_time_is_text_with_as_few_digits_as_needed() -> None:
    wire = [
        hms(0, 0, 0), hms(23, 59, 58, 7), hms(1, 2, 3, 500_000_000), hms(1, 2, 3, 1_000), hms(12, 34, 56, 999_999_999),
        hms(1, 2, 3, 1_000_000), NO_TIME, None, hms(9, 0, 0, 120_000),
    ]  # fmt: skip
    assert run(LOCAL_TIME, wire).to_pylist() == [
        "00:00:00", "23:59:58.000000007", "01:02:03.500", "01:02:03.000001", "12:34:56.999999999",
        "01:02:03.001", None, None, "09:00:00.000120",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "parts",
    [(24, 0, 0, 0), (-1, 0, 0, 0), (0, 60, 0, 0), (0, 0, 60, 0), (0, 0, 0, 10**9), (0, 0, 0, -1), (0, -1, 0, 0)],
)
def test_impossible_times(parts: tuple[int, int, int, int]) -> None:
    assert "invalid value: the time of day" in impossible(LOCAL_TIME, hms(*parts))
    assert "invalid value: the time of day" in impossible(LOCAL_DATETIME, ymd(2024, 1, 1) | hms(*parts))


def test_local_datetime() -> None:
    counts = ChangeCounts()
    wire = [
        ymd(2024, 2, 29) | hms(23, 59, 58, 7),
        ymd(1969, 12, 31) | hms(23, 59, 59, 999_999_000),
        NO_DATE | NO_TIME,
        None,
    ]
    seconds = 19_782 * 86_400 + 86_398
    assert ticks(run(LOCAL_DATETIME, wire, counts=counts)) == [seconds * 10**6, -1, None, None]
    assert counts == ChangeCounts(sub_microsecond=1)
    assert ticks(run(LOCAL_DATETIME, wire, Policy(timestamps="nanoseconds"))) == [
        seconds * 10**9 + 7, -1000, None, None,
    ]  # fmt: skip
    assert apply_policy(LOCAL_DATETIME, Policy(timestamps="nanoseconds")).arrow_type == pa.timestamp("ns")


def test_local_datetime_half_null_is_damage() -> None:
    assert "only the date or only the time" in impossible(LOCAL_DATETIME, NO_DATE | hms(1, 2, 3))
    assert "only the date or only the time" in impossible(LOCAL_DATETIME, ymd(2024, 1, 1) | NO_TIME)


def test_local_datetime_extremes() -> None:
    latest = ymd(999_999_999, 12, 31) | hms(23, 59, 59, 999_999_999)
    assert "the date-time +999999999-12-31 23:59:59 does not fit" in refused(LOCAL_DATETIME, latest)
    counts = ChangeCounts()
    assert ticks(run(LOCAL_DATETIME, [latest], Policy(out_of_range="null"), counts)) == [None]
    assert counts == ChangeCounts(out_of_range=1)


# ---- names and big numbers


def test_labels() -> None:
    assert run(COLOR, [2, 0, None, 1]).to_pylist() == ["BLUE", "RED", None, "GREEN"]
    assert "the index 3 among 3 names" in impossible(COLOR, 3)
    assert "the index -1 among 3 names" in impossible(COLOR, -1)
    nameless = Logical(Number(pa.int8()), "labels", pa.string())
    assert run(nameless, [None, None]).to_pylist() == [None, None]
    assert "the index 0 among 0 names" in impossible(nameless, 0)


def twos(number: int, extra: int = 0) -> bytes:
    return number.to_bytes((number.bit_length() + 8) // 8 + extra, "big", signed=True)


BIG_EXAMPLES = [
    0, 1, -1, 10, 127, 128, -128, -129, 255, -256, LONG_MAX, LONG_MIN, LONG_MAX + 1, LONG_MIN - 1, 2**64, -(2**64),
    10**38, -(10**38), 10**76 + 1,
]  # fmt: skip


def test_big_integer() -> None:
    wire = [twos(n) for n in BIG_EXAMPLES] + [None] + [twos(n, extra=3) for n in (5, -5, 2**40)]
    texts = [str(n) for n in BIG_EXAMPLES] + [None, "5", "-5", str(2**40)]
    assert run(BIG_INTEGER, wire).to_pylist() == texts


def test_big_integer_of_thousands_of_digits() -> None:
    number = 7**20_000  # 16,902 digits: more than Python prints at once
    (text,) = run(BIG_INTEGER, [twos(-number)]).to_pylist()
    assert text[0] == "-"
    assert len(text) == 16_903
    value = 0
    for i in range(1, len(text), 4000):
        chunk = text[i : i + 4000]
        value = value * 10 ** len(chunk) + int(chunk)
    assert value == number
    assert big_integer_text(10**5000) == "1" + "0" * 5000


def test_numbers_too_long_for_digits_do_not_fit() -> None:
    huge = b"\x7f" * (MAX_DIGIT_BYTES + 1)
    assert f"a number of {len(huge)} bytes does not fit" in refused(BIG_INTEGER, huge)
    assert f"a number of {len(huge)} bytes does not fit" in refused(BIG_DECIMAL, huge + bytes(4))
    counts = ChangeCounts()
    null = Policy(out_of_range="null")
    assert run(BIG_INTEGER, [huge, b"\x05"], null, counts).to_pylist() == [None, "5"]
    assert run(BIG_DECIMAL, [huge + bytes(4), b"\x05" + bytes(4)], null, counts).to_pylist() == [None, "5"]
    assert counts == ChangeCounts(out_of_range=2)


def test_avros_numbers() -> None:
    """Bytes with the scale in the schema, and with their own."""
    huge = b"\x7f" * (MAX_DIGIT_BYTES + 1)
    text = Logical(OF_BYTES, "scaled", pa.string(), ("2",))
    own = Logical(OF_BYTES, "big_decimal_bytes", pa.string())
    size = b"\x82\x80\x08"  # the zigzag of MAX_DIGIT_BYTES + 1
    assert f"a number of {len(huge)} bytes does not fit" in refused(text, huge)
    assert f"a number of {len(huge)} bytes does not fit" in refused(own, size + huge + b"\x00")
    counts = ChangeCounts()
    null = Policy(out_of_range="null")
    assert run(text, [huge, b"\x7b"], null, counts).to_pylist() == [None, "1.23"]
    assert run(own, [size + huge + b"\x00", b"\x02\x7b\x04"], null, counts).to_pylist() == [None, "1.23"]
    assert counts == ChangeCounts(out_of_range=2)
    assert "a big decimal with the scale 1" in impossible(own, b"\x02\x7b\x02\x00")
    assert "a big decimal with the scale 2147483648" in impossible(own, b"\x02\x7b\x80\x80\x80\x80\x10")


def test_numbers_with_names() -> None:
    """``number=name``; a number alone is that of null."""
    node = Logical(I32, "labels_by_number", pa.string(), ("1=A", "-5=B=C", "7"))
    assert run(node, [1, -5, 7, None]).to_pylist() == ["A", "B=C", None, None]
    assert "the number 2 has no name" in impossible(node, 2)


def scaled(number: int, scale: int, extra: int = 0) -> bytes:
    return twos(number, extra) + scale.to_bytes(4, "big", signed=True)


@pytest.mark.parametrize(
    ("number", "scale", "text"),
    [
        (12345, 3, "12.345"),
        (1, -3, "1E+3"),
        (0, 2, "0.00"),
        (0, 0, "0"),
        (10, 1, "1.0"),
        (100, 2, "1.00"),
        # The examples of the documentation of BigDecimal.toString():
        (123, 0, "123"),
        (-123, 0, "-123"),
        (123, -1, "1.23E+3"),
        (123, -3, "1.23E+5"),
        (123, 1, "12.3"),
        (123, 5, "0.00123"),
        (123, 10, "1.23E-8"),
        (-123, 12, "-1.23E-10"),
        # where the exponent begins
        (1, 6, "0.000001"),
        (1, 7, "1E-7"),
        (0, 6, "0.000000"),
        (0, 7, "0E-7"),
        (0, -5, "0E+5"),
        (-1234567, 7, "-0.1234567"),
        (LONG_MIN, 19, "-0.9223372036854775808"),
        (LONG_MAX, 38, "9.223372036854775807E-20"),
        (LONG_MAX + 1, 3, "9223372036854775.808"),
        (7, 2**31 - 1, "7E-2147483647"),
        (-12, -(2**31), "-1.2E+2147483649"),
    ],
)
def test_big_decimal_is_java_text(number: int, scale: int, text: str) -> None:
    assert big_decimal_text(number, scale) == text
    assert run(BIG_DECIMAL, [scaled(number, scale), scaled(number, scale, extra=1)]).to_pylist() == [text, text]


def test_big_decimal_of_many_scales_keeps_the_order() -> None:
    dice = random.Random(1)
    numbers = [dice.choice(BIG_EXAMPLES) + dice.randrange(100) for _ in range(500)]
    scales = [dice.choice([0, 0, 2, 2, 3, 10, 38, 39, -1, -40, 500]) for _ in numbers]
    texts: list[str | None] = [
        str(Decimal((int(n < 0), tuple(map(int, str(abs(n)))), -s))) for n, s in zip(numbers, scales, strict=True)
    ]
    wire: list[bytes | None] = [scaled(n, s) for n, s in zip(numbers, scales, strict=True)]
    for i in range(0, 500, 7):
        texts[i] = wire[i] = None
    assert run(BIG_DECIMAL, wire).to_pylist() == texts


I64, OF_BYTES, WIDE = Number(pa.int64()), Bytes(), struct(ms=Number(pa.int64()), nanos=I32)
EVERY = [
    DATE, EPOCH_MS, SQL_TIMESTAMP, INSTANT, LOCAL_DATE, LOCAL_TIME, LOCAL_DATETIME, COLOR, BIG_INTEGER, BIG_DECIMAL,
    Logical(I32, "epoch_day", pa.date32()), Logical(I32, "day_ms", pa.string()), Logical(I64, "day_us", pa.string()),
    Logical(WIDE, "ms_micros", pa.timestamp("us")), Logical(WIDE, "ms_nanos", pa.timestamp("us")),
    Logical(I64, "epoch_us", pa.timestamp("us")), Logical(I64, "epoch_ns", pa.timestamp("us")),
    Logical(I64, "decimal", pa.decimal128(10, 2)), Logical(OF_BYTES, "decimal", pa.decimal128(25, 3)),
    Logical(OF_BYTES, "scaled", pa.string(), ("2",)), Logical(OF_BYTES, "scaled", pa.decimal128(25, 3), ("3",)),
    Logical(OF_BYTES, "big_decimal_bytes", pa.string()), Logical(Text("utf8"), "decimal_text", pa.decimal128(5, 2)),
    Logical(Bytes(16), "uuid_bytes", pa.string()), Logical(Number(pa.uint32()), "widened", pa.int64()),
    Logical(I32, "labels_by_number", pa.string(), ("1=A",)),
]  # fmt: skip


def test_columns_without_values() -> None:
    assert {layout.conversion for layout in EVERY} == set(CONVERSIONS)
    for layout in EVERY:
        assert run(layout, []).to_pylist() == []
        assert run(layout, [None, None]).to_pylist() == [None, None]
        for nested in (List(layout), struct(x=layout), Map(I32, layout), Map(I32, layout, as_list=True)):
            assert run(nested, []).to_pylist() == []
            assert run(nested, [None]).to_pylist() == [None]
