"""Which body a file holds: every rule, on bytes built by hand."""

from __future__ import annotations

import struct

import pytest

from stateextract.errors import FormatError
from stateextract.state.bodies.body import SNAPPY_IDENTIFIER, BodyKind, body_kind

HEAD = b"h" * 40


def kind(
    code: int, offsets: list[int], body: bytes, first: int = 0, compressed: bool = False, states: int | None = None
) -> BodyKind:
    data = HEAD + body
    return body_kind(code, offsets, first, compressed, lambda at, n: data[at : at + n], states=states)


def i32(*values: int) -> bytes:
    return struct.pack(f">{len(values)}i", *values)


def nothing(at: int, n: int) -> bytes:
    raise AssertionError("nothing needs to be read")


def test_a_code_that_says_it() -> None:
    assert body_kind(7, [40, 50], 0, False, nothing) is BodyKind.FULL_SNAPSHOT


@pytest.mark.parametrize("code", [3, 12])
@pytest.mark.parametrize("offsets", [[0, 0], [40, 0, 60], [0, 40]])
def test_an_offset_of_zero_is_a_full_snapshot(code: int, offsets: list[int]) -> None:
    assert body_kind(code, offsets, 0, False, nothing) is BodyKind.FULL_SNAPSHOT


@pytest.mark.parametrize("code", [3, 12])
def test_compressed(code: int) -> None:
    assert kind(code, [40], SNAPPY_IDENTIFIER + b"\x01", compressed=True) is BodyKind.FULL_SNAPSHOT
    assert kind(code, [40], i32(0) + SNAPPY_IDENTIFIER, compressed=True) is BodyKind.HEAP
    assert kind(code, [40], i32(0), compressed=True) is BodyKind.HEAP
    with pytest.raises(FormatError, match="no Snappy stream begins"):
        kind(code, [40], i32(0, 0, 0, 0), compressed=True)


@pytest.mark.parametrize("code", [3, 12])
def test_key_groups_in_front(code: int) -> None:
    body = i32(5) + b"\0\0" + i32(0) + i32(6) + b"\0\0" + i32(0)
    assert kind(code, [40, 50], body, first=5) is BodyKind.HEAP
    # One of them is enough: the other is damaged.
    assert kind(code, [40, 46], body, first=5) is BodyKind.HEAP
    with pytest.raises(FormatError, match="neither those of a heap body nor those of a full snapshot") as caught:
        kind(code, [40, 50], body, first=4)
    assert (caught.value.key_group, caught.value.offset) == (4, 40)


@pytest.mark.parametrize("prefix", [1, 2])
def test_pairs_of_the_key_group(prefix: int) -> None:
    """Two key groups of a full snapshot, and each of them damaged."""
    first, second = (b"\0\1" + pair(n.to_bytes(prefix, "big") + b"key", b"v", last=0xFFFF) for n in (5, 6))
    for body in (first + second, b"\xff" + first[1:] + second, first + b"\0\1" + i32(-5) + second[6:]):
        assert kind(12, [40, 40 + len(first)], body, first=5, states=2) is BodyKind.FULL_SNAPSHOT
    with pytest.raises(FormatError, match="neither"):
        kind(12, [40, 40 + len(first)], first + second, first=5, states=1)


def pair(key: bytes, value: bytes, last: int | None = None) -> bytes:
    """A pair of a full snapshot; ``last``: what follows it."""
    mark = b"" if last is None else struct.pack(">H", last)
    return i32(len(key)) + (bytes([key[0] | 0x80]) + key[1:] if mark else key) + i32(len(value)) + value + mark


FULL = b"\0\0" + pair(b"\0a", b"v") + pair(b"\0b", b"", last=2) + pair(b"\0c", b"vv", last=0xFFFF)
HEAP = i32(0) + b"\0\0" + i32(1) + b"\0\x02a" + i32(7) + b"\0\x01" + i32(0) + b"\0\x02" + i32(0)


def test_key_group_zero_alone() -> None:
    assert kind(12, [40], FULL) is BodyKind.UNDECIDED
    assert kind(12, [40], FULL, states=3) is BodyKind.FULL_SNAPSHOT
    assert kind(12, [40], HEAP, states=3) is BodyKind.HEAP
    # A state that the head does not have; a byte behind the end.
    assert kind(12, [40], FULL, states=2) is BodyKind.HEAP
    assert kind(12, [40], FULL + b"x", states=3) is BodyKind.HEAP


def test_key_group_zero_is_the_only_sound_one() -> None:
    """What is behind it is damaged, so it has to say by itself what the file is."""
    damage = bytes(range(200, 220))
    for body, expected in ((FULL, BodyKind.FULL_SNAPSHOT), (HEAP, BodyKind.HEAP)):
        assert kind(12, [40, 40 + len(body)], body + damage, states=3) is expected


@pytest.mark.parametrize("order", [(0, 1, 2), (1, 2, 0), (2, 1, 0)])
def test_key_group_zero_of_an_idle_job(order: tuple[int, ...]) -> None:
    body = i32(0) + b"".join(struct.pack(">Hi", state, 0) for state in order)
    assert kind(12, [40], body, states=3) is BodyKind.HEAP


def test_many_pairs() -> None:
    many = b"\0\0" + pair(b"\0key", bytes(100)) * 2000
    assert kind(12, [40], many, states=1) is BodyKind.FULL_SNAPSHOT


def test_one_huge_pair_stays_open() -> None:
    assert kind(12, [40], b"\0\0" + pair(b"\0key", bytes(1 << 17)), states=1) is BodyKind.UNDECIDED
