"""Operator ids from uids, against values printed by Flink."""

from __future__ import annotations

import pytest

from stateextract.metadata.uid import murmur3_x64_128, operator_id


@pytest.mark.parametrize(
    ("uid", "expected"),
    [
        ("src", "f362c87ffabe89c8a91fa7d0a523ba6c"),
        ("proc", "576dd1d1f766474368806deb544ded87"),
        ("bsrc", "422cbfa16d9df46125bf9f0ca550f6e2"),
        ("ünï", "bba98b606cec9770bbfb66f22cefb01a"),
        ("a-very-long-operator-uid-with-more-than-16-bytes", "8b9fc3428709b59c7f9201731a34fad3"),
    ],
)
def test_operator_ids(uid: str, expected: str) -> None:
    assert operator_id(uid) == expected


def test_murmur3_reference_values() -> None:
    assert murmur3_x64_128(b"").hex() == "00" * 16
    # From the reference implementation, one tail length of each sort.
    assert murmur3_x64_128(b"hello").hex() == "029bbd41b3a7d8cb191dae486a901e5b"
    assert murmur3_x64_128(b"The quick brown fox jumps over the lazy dog").hex() == "6c1b07bc7bbc4be347939ac4a93c437a"


def test_a_lone_surrogate_is_a_question_mark_as_in_java() -> None:
    assert operator_id("x\ud800") == operator_id("x?")
    assert operator_id("\ud83d\ude00") == operator_id("\U0001f600")
