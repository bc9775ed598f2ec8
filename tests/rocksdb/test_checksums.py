"""The checksums against published values, and the compiled ones against the plain ones."""

from __future__ import annotations

import random

import numpy as np
import pytest

from stateextract.errors import UnsupportedError
from stateextract.rocksdb import checksums, hash_kernel

# A data block of a snapshot of Flink's own tests (2.3), Snappy-compressed, and its checksum.
BLOCK = bytes.fromhex("2510001208030009010C02000101090A0D0120020000000001000000")


def test_published_values() -> None:
    assert checksums.xxh3(b"") == 0x2D06800538D394C2
    assert checksums.xxh3(b"abc") == 0x78AF5F94892F3950
    assert checksums.xxh64(b"") == 0xEF46DB3751D8E999
    assert checksums.xxh64(b"abc") == 0x44BC2CF5AD770999
    assert checksums.xxh32(b"") == 0x02CC5D05
    assert checksums.xxh32(b"abc") == 0x32D153FF
    assert checksums.masked_crc(b"\x01") == 0x43282B05


def test_block_of_flink() -> None:
    assert checksums.checksum(checksums.XXH3, BLOCK, 1) == 0x9CCF7046


def test_no_checksum_is_the_bare_context() -> None:
    assert checksums.checksum(checksums.NONE, BLOCK, 1) == 0
    assert checksums.modifier(0, 123) == 0
    assert checksums.modifier(0xFF, (1 << 32) + 2) == 0xFF ^ 3


def test_unknown_kind() -> None:
    with pytest.raises(UnsupportedError, match="checksum type 5"):
        checksums.check_kind(5)


def test_compiled_like_plain() -> None:
    for n in [*range(290), 511, 512, 513, 1024, 1025, 1088, 1089, 4096, 9999]:
        data = random.Random(n).randbytes(n)
        array = np.frombuffer(data + b"#", np.uint8)
        where = int(array.ctypes.data)
        assert hash_kernel.xxh3(where, n, hash_kernel.SECRET_ADDRESS) == checksums.xxh3(data), n
        assert hash_kernel.xxh64(where, n) == checksums.xxh64(data), n
        assert hash_kernel.xxh32(where, n) == checksums.xxh32(data), n
