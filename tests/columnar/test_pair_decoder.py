"""Pairs of key and value: kernel and interpreter give the rows that were written, on any window split and size of batch."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stateextract.columnar.convert.policy import Policy
from stateextract.columnar.decode.decoder import Stop
from stateextract.columnar.decode.pair_decoder import PairDecoder, make_pair_decoder
from stateextract.columnar.layout import (
    Field,
    Layout,
    List,
    Logical,
    Map,
    Nullable,
    Number,
    Skip,
    Subclass,
    Subclasses,
    Text,
    Undecodable,
    struct,
)
from stateextract.columnar.program.pair_programs import PairLayout
from stateextract.errors import FormatError, StateExtractError
from stateextract.files.block import Block
from tests.columnar.reference import expected_item
from tests.columnar.strategies import encode, expected, layouts, same, values
from tests.depth import examples

_SETTINGS = settings(
    max_examples=examples(40), deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)
_ENGINES = ("kernel", "interpreter")


def vlen(size: int) -> bytes:
    """A length behind a key: least significant byte first, at least one."""
    out = bytes([size & 0xFF])
    while size := size >> 8:
        out += bytes([size & 0xFF])
    return out


def framed(key: bytes, value: bytes) -> bytes:
    return len(key).to_bytes(4, "big") + key + len(value).to_bytes(4, "big") + value


def pure(layout: Layout) -> bool:
    """No conversions, whose random wire values make no dates."""
    columns = [f.layout for f in getattr(layout, "columns", ())]
    return not isinstance(layout, Logical) and all(pure(child) for child in [*layout.children, *columns])


def plain(depth: int = 1) -> st.SearchStrategy[Layout]:
    return layouts(depth).filter(pure)


@st.composite
def cases(draw: st.DrawFn) -> tuple[PairLayout, list[bytes], list[dict[str, Any]], list[int]]:
    """A layout, its pairs in key order, the rows they make, and where windows end."""
    shape = draw(st.sampled_from(["value", "list", "map", "queue"]))
    prefix = draw(st.sampled_from([1, 2]))
    lengths = draw(st.booleans())
    key, namespace = draw(plain()), draw(st.one_of(st.just(Skip(1)), plain(0)))
    element = draw(plain())
    group = bytes([draw(st.integers(0, 127))]) + draw(st.binary(min_size=prefix - 1, max_size=prefix - 1))
    if shape == "queue":
        layout = PairLayout(
            "queue", (Field("timestamp", Number(pa.int64(), flip_sign=True)), Field("key", key)), prefix, False
        )
    elif shape == "list":
        layout = PairLayout(
            shape, (Field("key", key), Field("namespace", namespace), Field("value", List(element))), prefix, lengths
        )
    elif shape == "map":
        value = Map(key, Nullable(element), as_list=True)
        layout = PairLayout(
            shape, (Field("key", key), Field("namespace", namespace), Field("value", value)), prefix, lengths
        )
    else:
        layout = PairLayout(
            shape, (Field("key", key), Field("namespace", namespace), Field("value", element)), prefix, lengths
        )
    pairs, rows, seen = [], [], set()
    for _ in range(draw(st.integers(1, 5))):
        row: dict[str, Any] = {}
        if shape == "queue":
            parts = [(f, draw(values(f.layout))) for f in layout.fields]
            pairs.append(framed(group + b"".join(encode(f.layout, v) for f, v in parts), draw(st.binary(max_size=2))))
            row = {f.name: expected(f.layout, v) for f, v in parts if f.layout.wire_type is not None}
            rows.append(row)
            continue
        head = group
        for f in layout.fields[:2]:
            written = draw(values(f.layout))
            data = encode(f.layout, written)
            head += data + (vlen(len(data)) if lengths else b"")
            if f.layout.wire_type is not None:
                row[f.name] = expected(f.layout, written)
        if head in seen:
            continue
        seen.add(head)
        if shape == "value":
            written = draw(values(element))
            pairs.append(framed(head, encode(element, written)))
            row["value"] = expected_item(element, written)
        elif shape == "list":
            items = draw(st.lists(values(element), min_size=1, max_size=4))
            encoded = [encode(element, v) for v in items]
            if any(not e for e in encoded):
                continue  # elements without bytes cannot be told from separators
            pairs.append(framed(head, b",".join(encoded)))
            row["value"] = [expected_item(element, v) for v in items]
        else:
            entries = []
            for _ in range(draw(st.integers(1, 4))):
                user_key = draw(values(key))
                if draw(st.booleans()):
                    pairs.append(framed(head + encode(key, user_key), b"\x01" + draw(st.binary(max_size=3))))
                    entries.append({"key": expected_item(key, user_key), "value": None})
                else:
                    user_value = draw(values(element))
                    pairs.append(framed(head + encode(key, user_key), b"\x00" + encode(element, user_value)))
                    entries.append({"key": expected_item(key, user_key), "value": expected_item(element, user_value)})
            row["value"] = entries
        rows.append(row)
    if not pairs:
        pairs, rows, layout = [framed(group + b"\x05\x00", b"\x07")], [{"key": 5, "value": 7}], PairLayout(
            "value",
            (Field("key", Number(pa.int8())), Field("namespace", Skip(1)), Field("value", Number(pa.int8()))),
            prefix,
            False,
        )  # fmt: skip
    size = sum(map(len, pairs))
    return layout, pairs, rows, sorted(draw(st.lists(st.integers(0, size), max_size=3)))


@st.composite
def runs(draw: st.DrawFn) -> tuple[PairLayout, list[bytes], list[dict[str, Any]], list[int]]:
    """What the kernel reads many of in one operation: numbers of eight bytes by such numbers or by texts, and others."""
    long, text = Number(pa.int64()), Text()
    shape, prefix, groups = draw(st.sampled_from(["value", "map"])), draw(st.sampled_from([1, 2])), draw(st.booleans())
    key, user_key = draw(st.sampled_from([long, text])), draw(st.sampled_from([long, text]))
    value: Layout = Map(user_key, Nullable(long), as_list=True) if shape == "map" else long
    fields = (Field("key", key), Field("namespace", Skip(1)), Field("value", value))
    layout = PairLayout(shape, fields, prefix, False, groups=groups)
    longs = st.integers(-(1 << 63), (1 << 63) - 1)
    texts = st.one_of(
        st.text("abc", max_size=20), st.text(max_size=3), st.sampled_from(["", "a" * 126, "b" * 127, "c" * 300, None])
    )
    drawn = {long: longs, text: texts}
    pairs: list[bytes] = []
    rows: list[dict[str, Any]] = []
    groups_of = st.integers(0, 127 if prefix == 1 else 0x7FFF)
    for group, ones in draw(
        st.dictionaries(groups_of, st.lists(drawn[key], min_size=1, max_size=4), min_size=1)
    ).items():
        for one in ones:
            if any(row["key"] == one for row in rows):
                continue  # a key is in one key group only
            head = group.to_bytes(prefix, "big") + encode(key, one) + b"\0"
            row = {"key": one, "namespace": True, "value": []} | ({"key_group": group} if groups else {})
            if shape == "value":
                row["value"] = draw(longs)
                pairs.append(framed(head, encode(long, row["value"])))
            else:
                for user in draw(st.lists(drawn[user_key], min_size=1, max_size=9, unique=True)):
                    given_ = draw(st.one_of(longs, longs, longs, st.none()))
                    data = b"\1" + draw(st.binary(max_size=9)) if given_ is None else b"\0" + encode(long, given_)
                    pairs.append(framed(head + encode(user_key, user), data))
                    row["value"].append({"key": user, "value": given_})
            rows.append(row)
    size = sum(map(len, pairs))
    return layout, pairs, rows, sorted(draw(st.lists(st.integers(0, size), max_size=3)))


def decode(decoder: PairDecoder, pairs: list[bytes], cuts: list[int]) -> list[Any]:
    """All rows; the last pair is marked as the last, as a canonical body does it."""
    *others, last = pairs
    data = b"".join(others) + last[:4] + bytes([last[4] | 0x80]) + last[5:]
    out: list[Any] = []
    pos = 0
    decoder.begin(-1)
    for end in [*cuts, len(data)]:
        block = Block.of(data[:end])
        while True:
            progress = decoder.decode(block, pos, end, 1 << 60)
            pos = progress.pos
            if progress.stop is Stop.FULL:
                out += decoder.flush(last=False).to_pylist()
                continue
            break
        if progress.stop is Stop.LAST:
            break
        assert progress.stop is Stop.NEED_INPUT
    assert progress.stop is Stop.LAST
    assert pos == len(data)
    return out + decoder.flush(last=True).to_pylist()


def arrow(rows: list[dict[str, Any]], layout: PairLayout) -> list[Any]:
    """The rows as Arrow gives them back, so that both sides went through it."""
    type_ = layout.entry.wire_type
    assert type_ is not None
    return list(
        pa.array([{k: v for k, v in row.items() if type_.get_field_index(k) >= 0} for row in rows], type_).to_pylist()
    )


@_SETTINGS
@given(case=st.one_of(cases(), runs()))
def test_pairs_give_the_rows(case: Any) -> None:
    layout, pairs, rows, cuts = case
    if not pa.types.is_struct(layout.entry.wire_type):
        return
    wanted = arrow(rows, layout)
    for engine, batch_rows in product(_ENGINES, (1, 2, 1 << 16)):
        got = decode(make_pair_decoder(layout, Policy(), engine, batch_rows), pairs, cuts)
        assert same(got, wanted), (engine, batch_rows)


@_SETTINGS
@given(case=st.one_of(cases(), runs()), data=st.data())
def test_corrupt_pairs_end_alike(case: Any, data: st.DataObject) -> None:
    layout, pairs, _, _ = case
    raw = bytearray(b"".join(pairs))
    for _ in range(data.draw(st.integers(1, 3))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    results = []
    for engine in _ENGINES:
        decoder = make_pair_decoder(layout, Policy(), engine)
        rows: list[Any] = []
        pos = entries = 0
        try:
            while True:
                progress = decoder.decode(Block.of(bytes(raw)), pos, len(raw), 1 << 60)
                pos, entries = progress.pos, entries + progress.entries
                if progress.stop is not Stop.FULL:
                    break
                rows += decoder.flush(last=False).to_pylist()
            results.append(repr((progress.stop, entries, pos, rows + decoder.flush(last=True).to_pylist())))
        except StateExtractError:
            results.append("refused")
    assert results[0] == results[1]


_MAP = PairLayout(
    "map",
    (Field("key", Text()), Field("namespace", Skip(1)), Field("value", Map(Text(), Nullable(Number(pa.int32()))))),
    1,
    False,
)


def map_pair(key: str, user_key: str, value: int, last: bool = False, group: int = 7) -> bytes:
    head = bytes([group | (0x80 if last else 0)]) + encode(Text(), key) + b"\0" + encode(Text(), user_key)
    return framed(head, b"\0" + value.to_bytes(4, "big"))


@pytest.mark.parametrize("engine", _ENGINES)
def test_a_map_larger_than_a_batch_stays_one_row(engine: str) -> None:
    """The arena holds one row of a few entries at first; the map of 5,000 entries comes out whole all the same."""
    pairs = [
        map_pair("a", "x", 1),
        *(map_pair("big", f"k{i}", i) for i in range(5000)),
        map_pair("z", "y", 2, last=True),
    ]
    decoder = make_pair_decoder(_MAP, Policy(), engine, batch_rows=1, batch_bytes=1 << 10)
    rows = decode(decoder, pairs, [])
    assert [row["key"] for row in rows] == ["a", "big", "z"]
    assert rows[1]["value"] == [(f"k{i}", i) for i in range(5000)]


_LONGS = PairLayout(
    "list", (Field("key", Text()), Field("namespace", Skip(1)), Field("value", List(Number(pa.int64())))), 1, False
)


@pytest.mark.parametrize("shape", ["map", "list", "run"])
@_SETTINGS
@given(
    sizes=st.lists(st.integers(1, 40), min_size=1, max_size=6),
    width=st.integers(0, 30),
    run=runs(),
    batch_rows=st.integers(1, 4),
    batch_bytes=st.sampled_from([64, 512, 4096]),
    limit=st.integers(1, 9),
    window=st.integers(1, 300),
    flushes=st.lists(st.integers(0, 2), min_size=1, max_size=4),
)
def test_rows_go_on_over_batches_windows_and_calls(
    shape: str, sizes: list[int], width: int, run: Any, batch_rows: int, batch_bytes: int, limit: int, window: int,
    flushes: list[int],
) -> None:  # fmt: skip
    """Whatever runs full, and whenever a batch is asked for: also several times with nothing new in between."""
    layout = _MAP if shape == "map" else _LONGS
    pairs: list[bytes] = []
    wanted: list[dict[str, Any]] = []
    if shape == "run":
        layout, pairs, rows, _ = run
        wanted = arrow(rows, layout)
    for row, size in enumerate(sizes if shape != "run" else []):
        key = f"row {row}"
        if shape == "map":
            entries = [(f"{i}".rjust(width, "k"), i) for i in range(size)]
            pairs += [map_pair(key, *entry) for entry in entries]
            wanted.append({"key": key, "value": entries})
        else:
            value = b",".join(i.to_bytes(8, "big") for i in range(size))
            pairs.append(framed(b"\x07" + encode(Text(), key) + b"\0", value))
            wanted.append({"key": key, "value": list(range(size))})
    data = b"".join(pairs)
    for engine in _ENGINES:
        decoder = make_pair_decoder(layout, Policy(), engine, batch_rows=batch_rows, batch_bytes=batch_bytes)
        found: list[Any] = []
        pos, end, calls = 0, 0, 0
        decoder.begin(-1)
        while pos < len(data):
            progress = decoder.decode(Block.of(data[:end]), pos, end, limit)
            pos = progress.pos
            if progress.stop is Stop.NEED_INPUT:
                end = min(max(progress.needed, end + window), len(data))
            calls += 1
            for _ in range(max(flushes[calls % len(flushes)], progress.stop is Stop.FULL)):
                found += decoder.flush(last=False).to_pylist()
        assert found + decoder.flush(last=True).to_pylist() == wanted, engine


@pytest.mark.parametrize("engine", _ENGINES)
def test_flat_maps_give_a_row_per_entry(engine: str) -> None:
    decoder = make_pair_decoder(_MAP, Policy(), engine, flat=True)
    assert decode(decoder, [map_pair("a", "x", 1), map_pair("a", "y", 2, last=True)], []) == [
        {"key": "a", "map_key": "x", "value": 1},
        {"key": "a", "map_key": "y", "value": 2},
    ]


@pytest.mark.parametrize("engine", _ENGINES)
def test_values_as_bytes(engine: str) -> None:
    """Of a map, a row per entry, flag and all; key and user key are what they are."""
    decoder = make_pair_decoder(replace(_MAP, raw=True, groups=True), Policy(), engine)
    null = framed(b"\x87" + encode(Text(), "a") + b"\0" + encode(Text(), "y"), b"\x01junk")
    assert decode(decoder, [map_pair("a", "x", 1), null], []) == [
        {"key": "a", "map_key": "x", "value": b"\0\0\0\0\x01", "key_group": 7},
        {"key": "a", "map_key": "y", "value": b"\x01junk", "key_group": 7},
    ]
    unknown = Undecodable("org.X", "unknown")
    layout = PairLayout("value", (Field("key", Number(pa.int8())), Field("value", unknown)), 1, False, raw=True)
    layout = replace(layout, fields=(layout.fields[0], Field("namespace", Skip(1)), layout.fields[1]))
    decoder = make_pair_decoder(layout, Policy(), engine)
    assert decode(decoder, [framed(b"\x01\x05\0", b"???"), framed(b"\x01\x06\0", b"")], []) == [
        {"key": 5, "value": b"???"},
        {"key": 6, "value": b""},
    ]


@pytest.mark.parametrize("engine", _ENGINES)
def test_pairs_that_are_passed_over(engine: str) -> None:
    """By their lengths alone; their key group and their last one are still looked at."""
    decoder = make_pair_decoder(PairLayout("skip", (), 1, False), Policy(), engine)
    decoder.begin(1)
    data = framed(b"\x01", b"") + framed(b"\x01whatever", b"at all") + framed(b"\x81", b"x") + b"behind"
    progress = decoder.decode(Block.of(data), 0, len(data), 1 << 60)
    assert (progress.stop, progress.entries, progress.pos) == (Stop.LAST, 3, len(data) - 6)
    other = framed(b"\x02", b"")
    with pytest.raises(FormatError, match="key group 2"):
        decoder.decode(Block.of(other), 0, len(other), 1)
    for end in range(len(data) - 7):
        decoder.begin(1)
        progress = decoder.decode(Block.of(data[:end]), 0, end, 1 << 60)
        assert progress.stop is Stop.NEED_INPUT


@pytest.mark.parametrize("engine", _ENGINES)
def test_surrogates_in_the_key_of_a_row_count_once(engine: str) -> None:
    """Two entries of one map under the key U+D800, with one such user key."""
    lone = b"\x02\x80\xb0\x03"
    pairs = [framed(b"\x07" + lone + b"\0" + key, b"\0\0\0\0\1") for key in (encode(Text(), "x"), lone)]
    decoder = make_pair_decoder(_MAP, Policy(), engine)
    assert decode(decoder, pairs, []) == [{"key": "\ufffd", "value": [("x", 1), ("\ufffd", 1)]}]
    assert decoder.counts.lone_surrogates == 2


@pytest.mark.parametrize("engine", _ENGINES)
def test_a_key_of_another_key_group_is_refused(engine: str) -> None:
    decoder = make_pair_decoder(_MAP, Policy(), engine)
    decoder.begin(8)
    data = map_pair("a", "x", 1, group=7)
    with pytest.raises(FormatError, match="key group 7") as caught:
        decoder.decode(Block.of(data), 0, len(data), 1)
    assert caught.value.offset == 4


@pytest.mark.parametrize("engine", _ENGINES)
def test_an_undecodable_value_costs_its_row_only(engine: str) -> None:
    layout = PairLayout(
        "value",
        (
            Field("key", Number(pa.int8())),
            Field("namespace", Skip(1)),
            Field("value", struct(a=Nullable(Undecodable("org.X", "unknown")))),
        ),
        1,
        False,
    )
    good, bad = framed(b"\x01\x05\x00", b"\x01"), framed(b"\x01\x06\x00", b"\x00???")
    decoder = make_pair_decoder(layout, Policy(), engine)
    data = good + bad + good
    progress = decoder.decode(Block.of(data), 0, len(data), 1 << 60)
    assert (progress.stop, progress.entries, progress.pos) == (Stop.UNDECODABLE, 1, len(good))
    assert progress.error is not None
    assert "org.X" in progress.error.message
    progress = decoder.decode(Block.of(data), len(good) + len(bad), len(data), 1)
    assert progress.stop is Stop.DONE
    assert decoder.flush(last=True).to_pylist() == [{"key": 5, "value": {"a": None}}] * 2


@pytest.mark.parametrize("engine", _ENGINES)
def test_an_unknown_subclass_is_named(engine: str) -> None:
    value = Subclasses("org.Base", (Field("a", Nullable(Number(pa.int8()))),), (Subclass("org.Known", 0, ()),))
    fields = (Field("key", Number(pa.int8())), Field("namespace", Skip(1)), Field("value", value))
    decoder = make_pair_decoder(PairLayout("value", fields, 1, False), Policy(), engine)
    data = framed(b"\x01\x05\x00", b"\x04\x00\x09org.Other")
    progress = decoder.decode(Block.of(data), 0, len(data), 1)
    assert (progress.stop, progress.entries, progress.pos) == (Stop.UNDECODABLE, 0, 0)
    assert progress.error is not None
    assert "the subclass org.Other" in progress.error.message
    assert progress.error.offset == 12


@pytest.mark.parametrize("engine", _ENGINES)
@pytest.mark.parametrize("flat", [False, True])
def test_rows_of_any_key_group_say_which(engine: str, flat: bool) -> None:
    decoder = make_pair_decoder(replace(_MAP, groups=True), Policy(), engine, flat=flat)
    pairs = [map_pair("a", "x", 1, group=7), map_pair("b", "x", 2, group=9), map_pair("b", "y", 3, last=True, group=9)]
    rows = decode(decoder, pairs, [])
    assert [(row["key_group"], row["key"]) for row in rows] == [(7, "a"), (9, "b"), (9, "b")][: 3 if flat else 2]
