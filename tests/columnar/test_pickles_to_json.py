"""Many pickles at once: the fast way gives the slow way's text, takes plain data only, and executes nothing."""

from __future__ import annotations

import pickle
import random
import struct
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stateextract.columnar.convert import pickles_to_json
from stateextract.columnar.convert.pickles_to_json import pickle_texts
from stateextract.files.pickles import MAX_STEPS, PickleNotes, pickle_json
from tests.depth import examples


@pytest.fixture(autouse=True)
def compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pickles_to_json, "engine_for", lambda size: "auto")


def fast(data: bytes) -> bool:
    """Whether the compiled pass lets it through."""
    return len(pickles_to_json._plain([data])) == 1


def slow(values: list[bytes]) -> list[str | None]:
    return [pickle_json(value) for value in values]


LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(-(2**70), 2**70), st.floats(), st.text(), st.binary(max_size=20),
    st.sampled_from([1e-4, 9.999e-5, 1e16, 9999999999999998.0, -0.0, 2**63 - 1, 2**63, "\x1f\x7f\u2028", "a\n,\nb"]),
)  # fmt: skip
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner), st.tuples(inner, inner), st.lists(inner).map(tuple), st.dictionaries(st.text(), inner),
        st.dictionaries(st.one_of(st.integers(), st.text()), inner, max_size=3), st.tuples(inner).map(lambda t: t * 2),
    ),
    max_leaves=20,
)  # fmt: skip


@settings(max_examples=examples(50), deadline=None)
@given(st.lists(st.tuples(VALUES, st.integers(2, 5)), min_size=1, max_size=5))
def test_both_ways_give_the_same_text(given_: list[tuple[Any, int]]) -> None:
    data = [pickle.dumps(value, protocol) for value, protocol in given_]
    assert pickle_texts(data, PickleNotes()).to_pylist() == slow(data)


PLAIN = {
    "numbers": [0, 255, 65_536, -(2**31), 2**63 - 1, -(2**63)], "floats": [1.5, -0.0, 1e-4], "text": "é€😀\n\"\\\x00",
    "tuple": (1, (2, 3), (4, 5, 6), (7, 8, 9, 10), ()), "bytes": b"\0\xff", "none": None, "again": "text",
}  # fmt: skip


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_plain_data_takes_the_fast_way(protocol: int) -> None:
    plain = {key: value for key, value in PLAIN.items() if protocol > 2 or key != "bytes"}  # in 2 bytes are made by a call
    assert fast(pickle.dumps(plain, protocol))


@pytest.mark.parametrize("value", [{1}, {1: 2}, 2**64, 1e300, float("nan"), "\ud800", [[]] * 2, object, bytearray(b"a")])
def test_other_data_takes_the_slow_way(value: Any) -> None:
    assert not fast(pickle.dumps(value, 4))


def test_mutations_give_the_slow_ways_text() -> None:
    rng = random.Random(11)
    sources = [pickle.dumps(PLAIN, protocol) for protocol in (3, 4, 5)]
    mutated, passed = [], 0
    for _ in range(20_000):
        raw = bytearray(rng.choice(sources))
        for _ in range(rng.randint(1, 3)):
            raw[rng.randrange(len(raw))] = rng.randrange(256)
        mutated.append(bytes(raw))
    passed = len(pickles_to_json._plain(mutated))
    assert 1_000 < passed < 19_000
    assert pickle_texts(mutated, PickleNotes()).to_pylist() == slow(mutated)


CALLED: list[str] = []


def planted(*_: Any) -> str:
    CALLED.append("called")
    return "called"


class Trap:
    def __reduce__(self) -> Any:
        return planted, (1,)


class State:
    def __setstate__(self, state: Any) -> None:
        planted()

    def __getstate__(self) -> Any:
        return {"a": 1}


HOSTILE = {
    "calls a function": pickle.dumps(Trap(), 4),
    "sets a state": pickle.dumps(State(), 4),
    "copyreg": b"\x80\x02ccopyreg\n_reconstructor\nc" + f"{__name__}\nplanted\n".encode() + b"c__builtin__\nobject\nN\x87R.",
    "INST": b"\x80\x02(" + f"i{__name__}\nplanted\n".encode() + b".",
    "OBJ": b"\x80\x02(c" + f"{__name__}\nplanted\n".encode() + b"o.",
    "an extension": b"\x80\x04\x82\x01.",
    "a persistent id": b"\x80\x04Pplanted\n.",
    "a chain of calls": b"\x80\x04c" + f"{__name__}\nplanted\n".encode() + b")R" * 5_000 + b".",
    "BUILD with slots": b"\x80\x04c" + f"{__name__}\nState\n".encode() + b")\x81N}\x8c\x01aK\x01s\x86b.",
    "a large memo index": b"\x80\x04Nr\xff\xff\xff\x7f.",
    "a large index to recall": b"\x80\x04j\xff\xff\xff\x7f.",
    "a text beyond the end": b"\x80\x04X\xff\xff\xff\x7f.",
    "bytes beyond the end": b"\x80\x04\x8e" + struct.pack("<Q", 1 << 62) + b".",
    "a number beyond the end": b"\x80\x04\x8b\xff\xff\xff\x7f.",
    "deep": b"\x80\x04" + b"]" * 30_000 + b"a" * 29_999 + b".",
    "deep tuples": b"\x80\x04N" + b"\x85" * 30_000 + b".",
    "many marks": b"\x80\x04" + b"(" * 60_000 + b".",
    "a text recalled often": b"\x80\x04(X\x00\x80\x00\x00" + b"a" * 0x8000 + b"\x94" + b"h\x00" * 15_000 + b"t.",
    "doubled lists": b"\x80\x04]\x94" + b"".join(b"](h%cK\x01eq%c" % (n, n + 1) for n in range(60)) + b".",
    "many opcodes": b"\x80\x04" + b"N0" * MAX_STEPS + b"N.",
    "truncated": pickle.dumps(PLAIN, 4)[:-5] + b".",
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_pickles_in_bounded_time_and_memory(name: str) -> None:
    data = HOSTILE[name]
    assert not fast(data)
    notes, start = PickleNotes(), time.monotonic()
    (text,) = pickle_texts([data], notes, whole=True).to_pylist()
    assert time.monotonic() - start < 20
    assert CALLED == []
    assert len(text) <= 2 * len(data) + 500
    if notes.unread:
        assert text == f'{{"$pickle":"{data.hex()}"}}'
        assert len(notes.reasons) == 1
    else:
        assert notes.objects or name in ("a large memo index",)


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A text that is shown often counts as often as it is shown."""
    from stateextract.files import pickles as reader

    monkeypatch.setattr(reader, "MAX_TEXT", 1 << 20)
    notes = PickleNotes()
    assert pickle_texts([HOSTILE["a text recalled often"]], notes).to_pylist() == [None]
    assert list(notes.reasons) == ["the pickle has more than 1048576 characters"]


def test_nulls_and_bytes_that_are_no_pickles() -> None:
    notes = PickleNotes()
    data = [None, b"", b"abc", pickle.dumps([1])]
    assert pickle_texts(data, notes).to_pylist() == [None, None, None, "[1]"]
    assert (notes.unread, list(notes.reasons)) == (2, ["the bytes are not a pickle of protocol 2 to 5"])
    assert pickle_texts(data, notes, whole=True).to_pylist() == [None, '{"$pickle":""}', '{"$pickle":"616263"}', "[1]"]
