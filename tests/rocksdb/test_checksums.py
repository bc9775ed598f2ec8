"""The checksums against published values."""

from __future__ import annotations

import numpy as np
import pytest

from stateextract.errors import UnsupportedError
from stateextract.rocksdb import checksums

# A data block of a snapshot of Flink's own tests (2.3), Snappy-compressed, and its checksum.
BLOCK = bytes.fromhex("2510001208030009010C02000101090A0D0120020000000001000000")


@pytest.mark.parametrize(
    ("kind", "stored", "published"),
    [
        (checksums.XXH3, b"abc\x00", 0x892F3950),
        (checksums.XXHASH64, b"abc", 0xAD770999),
        (checksums.XXHASH, b"abc", 0x32D153FF),
        (checksums.CRC32C, b"\x01", 0x43282B05),
    ],
)
def test_published_values(kind: int, stored: bytes, published: int) -> None:
    assert checksums.checksum(kind, stored) == published
    assert checksums.checksum(kind, memoryview(stored), 2) == published + 2


def test_block_of_flink() -> None:
    assert checksums.checksum(checksums.XXH3, BLOCK + b"\x01") == 0x9CCF7046


def test_no_checksum_is_the_bare_context() -> None:
    assert checksums.checksum(checksums.NONE, BLOCK + b"\x01") == 0
    assert checksums.modifier(0, 123) == 0
    assert checksums.modifier(0xFF, (1 << 32) + 2) == 0xFF ^ 3


def test_unknown_kind() -> None:
    with pytest.raises(UnsupportedError, match="checksum type 5"):
        checksums.check_kind(5)


@pytest.mark.parametrize("kind", [checksums.CRC32C, checksums.XXHASH, checksums.XXHASH64, checksums.XXH3])
@pytest.mark.parametrize("context", [0, 0xFEDCBA98])
def test_many_blocks_as_one_by_one(kind: int, context: int) -> None:
    rng = np.random.default_rng(kind)
    raw = rng.bytes(4000)
    starts = np.array([0, 1, 17, 900, 3000])
    sizes = np.array([0, 15, 880, 2000, 999])
    offsets = starts + np.array([0, 5, (1 << 32) - 1, 1 << 32, 3 << 33])
    expected = [
        checksums.checksum(kind, raw[start : start + size + 1], checksums.modifier(context, offset))
        for start, size, offset in zip(starts.tolist(), sizes.tolist(), offsets.tolist(), strict=True)
    ]
    assert checksums.of_blocks(kind, raw, starts, sizes, context, offsets).tolist() == expected
