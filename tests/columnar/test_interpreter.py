"""The interpreter: real bytes of Flink's serializers, errors and their positions, and whatever hypothesis thinks of."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stateextract.columnar import interpreter
from stateextract.columnar.convert.policy import ChangeCounts, Policy
from stateextract.columnar.decode.decoder import Stop, make_decoder
from stateextract.columnar.interpreter import MAX_EMPTY, NO_COLUMN, has_column, interpret
from stateextract.columnar.layout import (
    BigInteger,
    Bool,
    Bytes,
    Case,
    Field,
    Layout,
    List,
    Logical,
    Map,
    MaskedStruct,
    Null,
    Nullable,
    Number,
    Python,
    Skip,
    Struct,
    Subclass,
    Subclasses,
    Switch,
    Text,
    Undecodable,
    struct,
    walk,
)
from stateextract.errors import FormatError, StateExtractError, TruncatedError, UndecodableError, ValueRefusedError
from stateextract.files.block import Block
from tests.columnar.strategies import (
    encode,
    expected,
    layouts,
    layouts_and_entries,
    layouts_and_values,
    makes_column,
    replaced,
    same,
)
from tests.depth import examples

I8, I16, I32, I64 = (Number(t) for t in (pa.int8(), pa.int16(), pa.int32(), pa.int64()))
F32, F64, U16 = Number(pa.float32()), Number(pa.float64()), Number(pa.uint16())
CHAR, UTF, VALUE, TEXT = Text("char"), Text("utf"), Text("value"), Text()
EMPTY = struct()

SQL_TIMESTAMP = struct(ms=I64, nanos=I32)
INSTANT = struct(seconds=I64, nanos=I32)
LOCAL_DATE = struct(year=I32, month=I8, day=I8)
LOCAL_TIME = struct(hour=I8, minute=I8, second=I8, nanos=I32)
LOCAL_DATETIME = Struct(LOCAL_DATE.fields + LOCAL_TIME.fields)

ROW = MaskedStruct((Field("f0", I32), Field("f1", TEXT)), kind=True)
ROW_WITHOUT_KIND = MaskedStruct(ROW.fields)
ROW7 = MaskedStruct(tuple(Field(f"f{i}", I32) for i in range(7)), kind=True)
P_FIELDS = (Field("a", Nullable(TEXT)), Field("b", Nullable(I32)), Field("c", Nullable(I64)))
OWN_FLAGS = Field("", Skip(expect=b"\x02"))
POJO = Subclasses(
    "V$P",
    P_FIELDS,
    (
        Subclass("V$Q", 0, (OWN_FLAGS, *P_FIELDS, Field("d", Nullable(F64)))),
        Subclass("V$R2", None, (OWN_FLAGS, *P_FIELDS, Field("e", Nullable(Bool())))),
    ),
)
PLAIN_POJO = Subclasses("V$P", P_FIELDS)
EITHER = Switch((Case(0, (Field("right", TEXT),)), Case(None, (Field("left", I32),))))
ALL_NULL = {"a": None, "b": None, "c": None, "d": None, "e": None}

# Output of Flink's own serializers (version 2.3.0).
VECTORS: list[tuple[str, Layout, str, Any]] = [
    ("bool true", Bool(), "01", True),
    ("byte -2", I8, "fe", -2),
    ("short -2", I16, "fffe", -2),
    ("int 258", I32, "00000102", 258),
    ("long -1", I64, "ffffffffffffffff", -1),
    ("float 1.5", F32, "3fc00000", 1.5),
    ("double 1.5", F64, "3ff8000000000000", 1.5),
    ("float NaN", F32, "7fc00000", float("nan")),
    ("double NaN", F64, "7ff8000000000000", float("nan")),
    ("double -0.0", F64, "8000000000000000", -0.0),
    ("char", CHAR, "20ac", "€"),
    ("char as a number", U16, "20ac", 0x20AC),
    ("string null", TEXT, "00", None),
    ("string empty", TEXT, "01", ""),
    ("string Hi", TEXT, "034869", "Hi"),
    ("string of two and three bytes", TEXT, "03e901ac41", "é€"),
    ("string emoji", TEXT, "03bdb00380bc03", "😀"),
    ("string of 127", TEXT, "8001" + "78" * 127, "x" * 127),
    ("string lone surrogate", TEXT, "0280b003", "\ufffd"),
    ("string lone surrogate as binary", Text(as_binary=True), "0280b003", b"\xed\xa0\x80"),
    ("string emoji as binary", Text(as_binary=True), "03bdb00380bc03", "😀".encode()),
    ("string NUL", TEXT, "0200", "\x00"),
    ("string U+3FFF", TEXT, "02ff7f", "\u3fff"),
    ("string U+4000", TEXT, "02808001", "\u4000"),
    ("StringValue Hi", VALUE, "024869", "Hi"),
    ("StringValue empty", VALUE, "00", ""),
    ("StringValue of two and three bytes", VALUE, "02e901ac41", "é€"),
    ("NullValue", Null(), "", None),
    ("Void", Null(1), "00", None),
    ("VoidNamespace", Skip(1), "00", NO_COLUMN),
    ("Tuple0", Struct((Field("", Skip(expect=b"\x2a")),)), "2a", True),
    ("bigint null", BigInteger(), "00000000", None),
    ("bigint ZERO", BigInteger(), "00000001", b"\x00"),
    ("bigint ONE", BigInteger(), "00000002", b"\x01"),
    ("bigint TEN", BigInteger(), "00000003", b"\x0a"),
    ("bigint new(10)", BigInteger(), "000000050a", b"\x0a"),
    ("bigint 0 parsed", BigInteger(), "0000000500", b"\x00"),
    ("bigint 1 parsed", BigInteger(), "0000000501", b"\x01"),
    ("bigint -256", BigInteger(), "00000006ff00", b"\xff\x00"),
    ("bigdec null", BigInteger(scaled=True), "00000000", None),
    ("bigdec ZERO", BigInteger(scaled=True), "0000000100000000", b"\x00\0\0\0\0"),
    ("bigdec ONE", BigInteger(scaled=True), "0000000200000000", b"\x01\0\0\0\0"),
    ("bigdec 12.345", BigInteger(scaled=True), "00000006303900000003", b"\x30\x39\0\0\0\x03"),
    ("bigdec 1E+3", BigInteger(scaled=True), "00000002fffffffd", b"\x01\xff\xff\xff\xfd"),
    ("bigdec 0.00", BigInteger(scaled=True), "0000000100000002", b"\x00\0\0\0\x02"),
    ("Date null", Logical(I64, "date", pa.timestamp("us", "UTC")), "8000000000000000", -(2**63)),
    ("Date 1000", Logical(I64, "date", pa.timestamp("us", "UTC")), "00000000000003e8", 1000),
    ("SqlTimestamp", SQL_TIMESTAMP, "00000000000005dc1dcd6507", {"ms": 1500, "nanos": 500_000_007}),
    ("SqlTimestamp null", SQL_TIMESTAMP, "800000000000000000000000", {"ms": -(2**63), "nanos": 0}),
    ("Instant", INSTANT, "ffffffffffffffff00000005", {"seconds": -1, "nanos": 5}),
    ("Instant null", INSTANT, "800000000000000080000000", {"seconds": -(2**63), "nanos": -(2**31)}),
    ("LocalDate", LOCAL_DATE, "000007e8021d", {"year": 2024, "month": 2, "day": 29}),
    ("LocalDate null", LOCAL_DATE, "800000008000", {"year": -(2**31), "month": -128, "day": 0}),
    ("LocalTime", LOCAL_TIME, "173b3a00000007", {"hour": 23, "minute": 59, "second": 58, "nanos": 7}),
    ("LocalTime null", LOCAL_TIME, "80800080000000", {"hour": -128, "minute": -128, "second": 0, "nanos": -(2**31)}),
    ("LocalDateTime", LOCAL_DATETIME, "000007e8021d173b3a00000007",
     {"year": 2024, "month": 2, "day": 29, "hour": 23, "minute": 59, "second": 58, "nanos": 7}),
    ("int[]", List(I32), "0000000200000001ffffffff", [1, -1]),
    ("byte[]", Bytes(), "00000003010203", b"\x01\x02\x03"),
    ("boolean[]", List(Bool()), "000000020100", [True, False]),
    ("char[]", List(CHAR), "00000002004120ac", ["A", "€"]),
    ("String[]", List(TEXT), "0000000302610001", ["a", None, ""]),
    ("Integer[]{1,null}", List(Nullable(I32, null_if=False)), "00000002010000000100", [1, None]),
    ("List[a,null]", List(TEXT), "00000002026100", ["a", None]),
    ("Map{k:5,n:null}", Map(TEXT, Nullable(I64)), "00000002026b000000000000000005026e01", [("k", 5), ("n", None)]),
    ("Map as list", Map(TEXT, Nullable(I64), as_list=True), "00000002026b000000000000000005026e01",
     [{"key": "k", "value": 5}, {"key": "n", "value": None}]),
    ("NullAwareMap{null:5}", Map(Nullable(I32), Nullable(I64), as_list=True), "0000000101000000000000000005",
     [{"key": None, "value": 5}]),
    ("Set{7,null}", List(Nullable(I32)), "00000002000000000701", [7, None]),
    ("enum GREEN", Logical(I32, "labels", pa.string(), ("RED", "GREEN", "BLUE")), "00000001", 1),
    ("nullable padded null", Nullable(I32, padding=4), "0100000000", None),
    ("nullable padded 5", Nullable(I32, padding=4), "0000000005", 5),
    ("nullable unpadded null", Nullable(I32), "01", None),
    ("either Left(7)", EITHER, "0100000007", {"right": None, "left": 7}),
    ("either Right(x)", EITHER, "000278", {"right": "x", "left": None}),
    ("Tuple2(a,1)", struct(f0=TEXT, f1=I32), "026100000001", {"f0": "a", "f1": 1}),
    ("Row +I(1,null)", ROW, "1000000001", {"f0": 1, "f1": None, "row_kind": 0}),
    ("Row -D(1,x)", ROW, "c0000000010278", {"f0": 1, "f1": "x", "row_kind": 3}),
    ("Row -U(null,x)", ROW, "a00278", {"f0": None, "f1": "x", "row_kind": 1}),
    ("Row without kind", ROW_WITHOUT_KIND, "4000000001", {"f0": 1, "f1": None}),
    ("Row of seven, +U", ROW7, "7f0000000001", dict.fromkeys(f"f{i}" for i in range(6)) | {"f6": 1, "row_kind": 2}),
    ("pojo P", PLAIN_POJO, "02000278000000000101", {"a": "x", "b": 1, "c": None}),
    ("pojo P among subclasses", POJO, "02000278000000000101", {"class": 0, **ALL_NULL, "a": "x", "b": 1}),
    ("pojo null", POJO, "01", None),
    ("pojo registered subclass", POJO, "080002010000000002000000000000000003003ff0000000000000",
     {"class": 1, **ALL_NULL, "b": 2, "c": 3, "d": 1.0}),
    ("pojo unregistered subclass", POJO, "0400045624523202010000000000010001",
     {"class": 2, **ALL_NULL, "b": 0, "e": True}),
    ("record Rec(1,x)", Subclasses("Rec", (Field("a", Nullable(I32)), Field("b", Nullable(TEXT)))),
     "020000000001000278", {"a": 1, "b": "x"}),
    ("Flink-2 List<String> field", Nullable(Nullable(List(Nullable(TEXT)))), "00" + "000000000200026101", ["a", None]),
    ("timer", struct(timestamp=Number(pa.int64(), flip_sign=True), key=TEXT, namespace=struct(start=I64, end=I64)),
     "80000000000003e8026b000000000000000000000000000003e8",
     {"timestamp": 1000, "key": "k", "namespace": {"start": 0, "end": 1000}}),
    ("timer of -1", struct(timestamp=Number(pa.int64(), flip_sign=True), key=TEXT, namespace=Skip(1)),
     "7fffffffffffffff026b00", {"timestamp": -1, "key": "k"}),
    ("TimeWindow", struct(start=I64, end=I64), "000000000000000000000000000003e8", {"start": 0, "end": 1000}),
    ("TtlValue(1000,v)", struct(last_access=I64, value=TEXT), "00000000000003e80276",
     {"last_access": 1000, "value": "v"}),
]  # fmt: skip


@pytest.mark.parametrize(("layout", "data", "value"), [pytest.param(*v[1:], id=v[0]) for v in VECTORS])
def test_bytes_of_flink(layout: Layout, data: str, value: Any) -> None:
    raw = bytes.fromhex(data)
    found, pos = interpret(layout, b"\xff" + raw + b"\xff", 1, len(raw) + 1)
    assert same(found, value)
    assert pos == len(raw) + 1
    if value is not NO_COLUMN:
        assert same(pa.array([found], type=layout.wire_type).to_pylist(), [value])
    for end in range(len(raw)):
        with pytest.raises(TruncatedError):
            interpret(layout, raw, 0, end)


def read(layout: Layout, data: str) -> Any:
    raw = bytes.fromhex(data)
    value, pos = interpret(layout, raw, 0, len(raw))
    assert pos == len(raw)
    return value


def test_little_endian() -> None:
    assert read(Number(pa.int32(), little=True), "01020000") == 513
    assert read(Number(pa.int64(), little=True), "feffffffffffffff") == -2
    assert read(Number(pa.float64(), little=True), "000000000000f83f") == 1.5
    assert read(Number(pa.int16(), little=True, flip_sign=True), "0180") == 1
    assert read(Number(pa.uint64()), "ffffffffffffffff") == 2**64 - 1


def test_any_byte_but_zero_is_true() -> None:
    assert [read(Bool(), byte) for byte in ("00", "01", "02", "ff")] == [False, True, True, True]
    assert read(Nullable(I8), "ff") is None
    assert read(Nullable(I8, null_if=False), "8005") == 5


def test_modified_utf8() -> None:
    assert read(UTF, "0000") == ""
    assert read(UTF, "0003c08041") == "\x00A"
    assert read(UTF, "0006eda0bdedb880") == "😀"
    assert read(UTF, "0006" + "41" + "c3a9" + "e282ac") == "Aé€"
    counts = ChangeCounts()
    raw = bytes.fromhex("0007" + "edb880" + "41" + "eda0bd")
    assert interpret(UTF, raw, 0, len(raw), counts) == ("\ufffdA\ufffd", len(raw))
    assert counts == ChangeCounts(lone_surrogates=2)
    # What Java's reader takes though its writer never makes it.
    assert read(UTF, "000100") == "\x00"
    assert read(UTF, "0002c181") == "A"


def test_surrogates_that_do_not_pair_are_counted_one_by_one() -> None:
    counts = ChangeCounts()
    # D83D D83D DE00 DE00: a half, a pair, a half.
    raw = bytes.fromhex("05" + "bdb003" * 2 + "80bc03" * 2)
    assert interpret(TEXT, raw, 0, len(raw), counts) == ("\ufffd😀\ufffd", len(raw))
    assert counts == ChangeCounts(lone_surrogates=2)
    assert read(TEXT, "05" + "80b803" + "80b803" + "80b003" + "80b003") == "\ufffd" * 4
    assert read(TEXT, "03" + "80b803" + "80b003") == "\ufffd" * 2
    counts = ChangeCounts()
    value, _ = interpret(Text(as_binary=True), raw, 0, len(raw), counts)
    assert value == b"\xed\xa0\xbd" + "😀".encode() + b"\xed\xb8\x80"
    assert counts == ChangeCounts()


def test_varints_longer_than_needed_are_read() -> None:
    assert read(TEXT, "8280808000" + "c18000") == "A"


def test_what_makes_no_column() -> None:
    assert read(Skip(2), "0001") is NO_COLUMN
    assert repr(NO_COLUMN) == "NO_COLUMN"
    assert read(Nullable(Skip(2)), "00ffff") is NO_COLUMN
    assert read(Nullable(Skip(2)), "01") is NO_COLUMN
    assert read(struct(a=I8, gap=Skip(2), b=I8), "01ffff02") == {"a": 1, "b": 2}
    assert read(struct(gap=Skip(1), rest=Nullable(Skip(1))), "ff01") is True
    assert read(EMPTY, "") is True
    assert read(struct(x=EMPTY), "") == {"x": True}
    assert read(Nullable(EMPTY), "01") is None
    assert read(Nullable(EMPTY), "00") is True
    assert read(List(Skip(1)), "00000002ffff") == [True, True]
    assert read(Map(Skip(1), Nullable(Skip())), "0000000101" + "01") == [(True, True)]
    assert read(Switch((Case(1, ()), Case(2, (Field("", Skip(1)),)))), "02ff") is True
    assert read(Subclasses("K", ()), "02") is True
    assert read(Subclasses("K", ()), "01") is None
    assert read(MaskedStruct(()), "") is True
    assert read(MaskedStruct((Field("gap", Skip(1)),)), "80") is True
    assert read(MaskedStruct((), kind=True), "40") == {"row_kind": 2}


def test_switch_prefers_a_tag_to_the_rest() -> None:
    shared = Field("x", I8)
    layout = Switch((Case(None, (Field("other", I16),)), Case(7, (shared,)), Case(8, (Field("y", I8), shared))))
    assert read(layout, "0705") == {"other": None, "x": 5, "y": None}
    assert read(layout, "080506") == {"other": None, "x": 6, "y": 5}
    assert read(layout, "090001") == {"other": 1, "x": None, "y": None}


def test_pojo_flags_are_tested_in_flinks_order() -> None:
    assert read(POJO, "0f") is None
    named = {"class": 2, **ALL_NULL}
    assert read(POJO, "0e" + "000456245232" + "02" + "01" * 4) == named
    assert read(POJO, "0a" + "00" + "02" + "01" * 4) == {"class": 1, **ALL_NULL}
    # A registered subclass may also be written by name.
    assert read(POJO, "04" + "0003562451" + "02" + "01" * 4) == {"class": 1, **ALL_NULL}


def test_no_bytes_for_many_elements() -> None:
    assert read(List(Null()), "00000003") == [None, None, None]
    assert read(List(EMPTY), "00000002") == [True, True]
    assert read(Map(Null(), EMPTY, as_list=True), "00000001") == [{"key": None, "value": True}]


def test_python_leaf() -> None:
    def decode(data: memoryview, pos: int, end: int) -> tuple[Any, int]:
        if end - pos < 2:
            raise TruncatedError("too short")
        return data[pos : pos + 2].hex(), pos + 2

    layout = struct(a=I8, b=Python(decode, pa.string()), c=I8)
    assert read(layout, "01abcd02") == {"a": 1, "b": "abcd", "c": 2}
    with pytest.raises(TruncatedError, match="too short") as caught:
        interpret(layout, bytes.fromhex("01ab"), 0, 2)
    assert caught.value.offset == 1


def test_undecodable_is_an_error_only_where_it_is_met() -> None:
    layout = List(Nullable(Undecodable("my.Serializer", "its snapshot is not known")))
    assert read(layout, "00000000") == []
    assert read(layout, "0000000201" + "01") == [None, None]
    failing(layout, "000000020100", 6, UndecodableError, "my.Serializer cannot be decoded: its snapshot is not known")


# ---- errors


def failing(layout: Layout, data: str, offset: int, kind: type[StateExtractError], words: str) -> StateExtractError:
    """The bytes must fail in exactly this way; also further into the data, with the position moved along."""
    raw = bytes.fromhex(data)
    for before in (0, 5):
        with pytest.raises(StateExtractError) as caught:
            interpret(layout, bytes(before) + raw, before, before + len(raw))
        assert type(caught.value) is kind
        assert caught.value.offset == before + offset
        assert words in str(caught.value)
    return caught.value


A_PAIR = struct(a=I8, b=Nullable(TEXT))

ERRORS: list[tuple[str, Layout, str, int, type[StateExtractError], str]] = [
    ("nothing there", I8, "", 0, TruncatedError, "inside a number"),
    ("half a number", struct(a=I8, b=I32), "01000000", 1, TruncatedError, "4 bytes, 3 are left"),
    ("flag is missing", A_PAIR, "01", 1, TruncatedError, "inside a null flag"),
    ("padding is missing", Nullable(I32, padding=4), "01000000", 1, TruncatedError, "inside padding"),
    ("length varint is cut", A_PAIR, "010080", 3, TruncatedError, "inside a string's length"),
    ("more units than bytes", A_PAIR, "01000461", 2, TruncatedError, "a string of 3 units"),
    ("unit is cut", A_PAIR, "01000361e9", 5, TruncatedError, "inside a character"),
    ("huge string", TEXT, "ffffffff07", 0, TruncatedError, "a string of 2147483646 units"),
    ("length above Java's", TEXT, "8080808008", 0, FormatError, "2147483648 is too large for a string's length"),
    ("length varint of six bytes", VALUE, "808080808000", 0, FormatError, "does not end"),
    ("length varint has no end", TEXT, "ffffffffff", 0, FormatError, "at most 5 bytes"),
    ("unit above FFFF", A_PAIR, "01000361808004", 6, FormatError, "a string that Java does not write"),
    ("unit has no end", TEXT, "02" + "80" * 5, 3, FormatError, "a string that Java does not write"),
    ("utf is cut", UTF, "000361", 2, TruncatedError, "inside a string"),
    ("utf lone continuation", UTF, "00026180", 3, FormatError, "not modified UTF-8"),
    ("utf of four bytes", UTF, "0004f09f9880", 2, FormatError, "not modified UTF-8"),
    ("utf character cut by the length", UTF, "0003" + "61e282", 3, FormatError, "not modified UTF-8"),
    ("utf bad second byte", UTF, "0002c341", 2, FormatError, "not modified UTF-8"),
    ("utf bad third byte", UTF, "0003e28241", 2, FormatError, "not modified UTF-8"),
    ("half a char", CHAR, "00", 0, TruncatedError, "inside a character"),
    ("negative bytes", Bytes(), "ffffffff", 0, FormatError, "negative number -1 of bytes"),
    ("bytes are cut", struct(a=I8, b=Bytes()), "0000000003ffff", 5, TruncatedError, "3 bytes, 2 are left"),
    ("fixed bytes are cut", Bytes(4), "ffffff", 0, TruncatedError, "4 bytes, 3 are left"),
    ("big number below 0", BigInteger(), "ffffffff", 0, FormatError, "invalid length code -1"),
    ("big number of no bytes", BigInteger(), "00000004", 0, FormatError, "invalid length code 4"),
    ("big number is cut", BigInteger(), "00000006ff", 4, TruncatedError, "inside a big number"),
    ("scale is cut", BigInteger(scaled=True), "00000001000000", 4, TruncatedError, "inside a scale"),
    ("constant differs", struct(a=I8, b=Skip(expect=b"\x2a\x2b")), "012a2c", 1, FormatError, "found the bytes 2a2c"),
    ("constant is cut", Skip(expect=b"\x2a\x2b"), "2c", 0, TruncatedError, "2 bytes, 1 are left"),
    ("mask is cut", ROW7, "7f", 0, TruncatedError, "inside a null mask"),
    ("negative count", struct(a=I8, b=List(I8)), "0080000000", 1, FormatError, "negative number -2147483648 of elem"),
    ("count above the bytes", List(I32), "00000003" + "00" * 11, 0, TruncatedError, "12 bytes, 11 are left"),
    ("count above any file", List(I64), "7fffffff", 0, TruncatedError, "17179869176 bytes, 0 are left"),
    ("list in a list", List(List(I8)), "00000001" + "00000005" + "01", 4, TruncatedError, "5 bytes, 1 are left"),
    ("count of nothing", List(Null()), "00100001", 0, FormatError, f"invalid number {MAX_EMPTY + 1} of elem"),
    ("map of nothing", Map(EMPTY, Skip()), "7fffffff", 0, FormatError, "invalid number 2147483647 of entries"),
    ("map count", Map(I8, Nullable(I8)), "00000003" + "0001" * 2, 0, TruncatedError, "6 bytes, 4 are left"),
    ("negative map count", Map(I8, I8), "fffffffe", 0, FormatError, "negative number -2 of entries"),
    ("null key", Map(TEXT, I8), "00000002" + "026b01" + "0001", 7, ValueRefusedError, "Set --maps list"),
    ("null struct as key", Map(Nullable(struct(a=I8)), I8), "00000001" + "0101", 4, ValueRefusedError, "null key"),
    ("unknown tag", struct(a=I8, b=Switch((Case(1, ()), Case(2, ())))), "0003", 1, FormatError, "one of [1, 2]"),
    ("no cases", Switch(()), "00", 0, FormatError, "unknown tag 0"),
    ("pojo without flags", struct(a=I8, b=POJO), "0000", 1, FormatError, "invalid flags 0x00"),
    ("pojo with strange flags", POJO, "f0", 0, FormatError, "invalid flags 0xf0"),
    ("unknown subclass tag", POJO, "0801", 1, UndecodableError, "a value of V$P is of the subclass with tag 1"),
    ("unknown subclass name", POJO, "04" + "0003562453", 1, UndecodableError, "the subclass V$S"),
    ("declared class by name", POJO, "04" + "0003562450", 1, UndecodableError, "the subclass V$P"),
    ("tag is cut", POJO, "08", 1, TruncatedError, "inside a subclass tag"),
    ("name is cut", POJO, "040004562452", 3, TruncatedError, "inside a string"),
    ("null where a subclass must be", POJO, "080001", 2, FormatError, "expected 02"),
    ("undecodable", struct(a=I8, b=Undecodable("K", "no")), "00", 1, UndecodableError, "a value of K cannot be decoded: no"),
]


@pytest.mark.parametrize(("layout", "data", "offset", "kind", "words"), [pytest.param(*e[1:], id=e[0]) for e in ERRORS])
def test_error(layout: Layout, data: str, offset: int, kind: type[StateExtractError], words: str) -> None:
    failing(layout, data, offset, kind, words)


def test_the_most_elements_without_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    assert MAX_EMPTY == 1_048_576
    monkeypatch.setattr(interpreter, "MAX_EMPTY", 3)
    assert read(List(Null()), "00000003") == [None] * 3
    failing(List(Null()), "00000004", 0, FormatError, "invalid number 4 of elements that take no bytes; expected at most 3")


def test_the_end_is_not_the_end_of_the_data() -> None:
    with pytest.raises(TruncatedError):
        interpret(I32, bytes(8), 2, 5)
    assert interpret(I32, memoryview(bytes(8)), 2, 6) == (0, 6)


# ---- whatever hypothesis thinks of

COMMON = settings(max_examples=examples(75), deadline=None, suppress_health_check=[HealthCheck.too_slow])


@COMMON
@given(layouts_and_entries(), st.binary(max_size=3), st.binary(max_size=3))
def test_reads_back_what_was_written(example: tuple[Layout, list[Any]], before: bytes, behind: bytes) -> None:
    layout, written = example
    parts = [encode(layout, value) for value in written]
    data = before + b"".join(parts) + behind
    counts, pos, found = ChangeCounts(), len(before), []
    for value, part in zip(written, parts, strict=True):
        wire, after = interpret(layout, data, pos, len(data) - len(behind), counts)
        assert same(wire, expected(layout, value))
        assert after == pos + len(part) >= pos + layout.least
        found.append(wire)
        pos = after
    assert counts == sum((replaced(layout, value) for value in written), ChangeCounts())
    array = pa.array(found, type=layout.wire_type)
    array.validate(full=True)
    assert all(map(same, array.to_pylist(), found))


@COMMON
@given(layouts_and_values(depth=2))
def test_every_strict_prefix_is_truncated(example: tuple[Layout, Any]) -> None:
    layout, value = example
    data = encode(layout, value)
    for end in {*range(min(len(data), 40)), *range(max(0, len(data) - 8), len(data))}:
        with pytest.raises(TruncatedError) as caught:
            interpret(layout, data, 0, end)
        assert caught.value.offset is not None
        assert 0 <= caught.value.offset <= end


@COMMON
@given(layouts(depth=2), st.binary(max_size=60))
def test_noise_never_does_more_than_fail(layout: Layout, data: bytes) -> None:
    try:
        value, pos = interpret(layout, data, 0, len(data))
    except StateExtractError as error:
        failure = error
    else:
        assert layout.least <= pos <= len(data)
        pa.array([value], type=layout.wire_type).validate(full=True)
        return
    assert failure.offset is not None
    assert 0 <= failure.offset <= len(data)


@settings(max_examples=examples(30), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(layouts())
def test_columns_are_told_without_building_types(layout: Layout) -> None:
    for node in walk(layout):
        assert has_column(node) is makes_column(node) is (node.wire_type is not None)


def test_entries_that_are_cut_off_or_wrong_are_not_counted() -> None:
    layout = struct(text=UTF, constant=Skip(expect=b"\x07"), number=I8)
    good, wrong = bytes.fromhex("0003edb8800701"), bytes.fromhex("0003edb88008")
    decoder = make_decoder(layout, Policy(), engine="interpreter")
    data = good * 2 + wrong
    first = decoder.decode(Block.of(data), 0, 13, 9)
    assert (first.stop, first.entries, first.pos, decoder.counts) == (Stop.NEED_INPUT, 1, 7, ChangeCounts(lone_surrogates=1))
    with pytest.raises(FormatError):
        decoder.decode(Block.of(data), 7, len(data), 9)
    assert decoder.counts == ChangeCounts(lone_surrogates=2)
    assert decoder.flush().to_pylist() == [{"text": "\ufffd", "number": 1}] * 2
