"""From an operator's uid to the operator id in ``_metadata``.

Flink hashes the uid with murmur3 (x64, 128 bits, seed 0) over its UTF-8 bytes and prints the two halves little-endian
(``StreamGraphHasherV2``, Guava's ``Hashing.murmur3_128(0)``). Operators without a uid have a hash of the job graph as
their id, which no name leads to. Knows nothing else, imports nothing.
"""

from __future__ import annotations

_MASK = (1 << 64) - 1
_C1 = 0x87C37B91114253D5
_C2 = 0x4CF5AD432745937F


def operator_id(uid: str) -> str:
    """The id, in hex as Flink prints it, of an operator with this uid."""
    # Java turns a lone surrogate into "?" when it encodes.
    data = uid.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass").encode("utf-8", "replace")
    return murmur3_x64_128(data).hex()


def murmur3_x64_128(data: bytes) -> bytes:
    """Murmur3 with seed 0: ``h1`` then ``h2``, each little-endian."""
    h1 = h2 = 0
    body = len(data) & ~15
    for start in range(0, body, 16):
        h1 ^= _mix1(int.from_bytes(data[start : start + 8], "little"))
        h1 = (_rotate(h1, 27) + h2) & _MASK
        h1 = (h1 * 5 + 0x52DCE729) & _MASK
        h2 ^= _mix2(int.from_bytes(data[start + 8 : start + 16], "little"))
        h2 = (_rotate(h2, 31) + h1) & _MASK
        h2 = (h2 * 5 + 0x38495AB5) & _MASK
    h2 ^= _mix2(int.from_bytes(data[body + 8 :], "little"))
    h1 ^= _mix1(int.from_bytes(data[body : body + 8], "little"))
    h1 ^= len(data)
    h2 ^= len(data)
    h1 = (h1 + h2) & _MASK
    h2 = (h2 + h1) & _MASK
    h1, h2 = _finish(h1), _finish(h2)
    h1 = (h1 + h2) & _MASK
    h2 = (h2 + h1) & _MASK
    return h1.to_bytes(8, "little") + h2.to_bytes(8, "little")


def _rotate(value: int, bits: int) -> int:
    return (value << bits | value >> 64 - bits) & _MASK


def _mix1(k: int) -> int:
    return _rotate(k * _C1 & _MASK, 31) * _C2 & _MASK


def _mix2(k: int) -> int:
    return _rotate(k * _C2 & _MASK, 33) * _C1 & _MASK


def _finish(h: int) -> int:
    h ^= h >> 33
    h = h * 0xFF51AFD7ED558CCD & _MASK
    h ^= h >> 33
    h = h * 0xC4CEB9FE1A85EC53 & _MASK
    return h ^ h >> 33
