from __future__ import annotations

import random
from itertools import product

import lz4.frame
import pytest

from stateextract.errors import ChecksumError, FormatError, TruncatedError, UnsupportedError
from stateextract.files.compression import StreamDecoder, stream_decoder
from tests.writers.flink_writer import BLOCK, STREAM_IDENTIFIER, compress_snappy_framed
from tests.writers.plain import decompress

# state-files.md §11: the first state of an empty key group, as Flink 2.3.0 wrote it.
EMPTY_STATE = bytes.fromhex("FF060000734E61507059 01 0A0000 B7AF0AF3 000A 00000000")
# Written by hand: a block of ten plain bytes as literal "ab" and a copy of eight bytes from two back.
# CRC-32C("ababababab") is 0xF7C19E32, masked 0xDEE8DA5B.
COMPRESSED = bytes.fromhex("00 0A0000 5BDAE8DE 0A 04 6162 11 02")


def noise(n: int, seed: int = 1) -> bytes:
    return random.Random(seed).randbytes(n)


def text(n: int, seed: int = 2) -> bytes:
    rng = random.Random(seed)
    return b"".join(rng.choice([b"alpha ", b"beta ", b"gamma ", b"delta "]) for _ in range(n // 5 + 1))[:n]


MIXED = text(200_000) + noise(150_000) + text(5) + noise(70_000, 3)
STREAMS = b"".join(compress_snappy_framed(part) for part in (MIXED, b"", text(6), noise(BLOCK), noise(1)))
STREAMS_PLAIN = MIXED + text(6) + noise(BLOCK) + noise(1)


def in_windows(decoder: StreamDecoder, data: bytes, cuts: list[int], room: int) -> bytes:
    """Decode with windows that end at ``cuts`` and outputs of ``room`` bytes."""
    plain = bytearray()
    pos = start = 0
    for cut in [*cuts, len(data)]:
        while True:
            window = memoryview(data[start:cut])
            out = memoryview(bytearray(room))
            new, n = decoder.decode(window, pos - start, len(window), out, 0, base=start)
            plain += out[:n]
            moved = start + new != pos or n
            pos = start + new
            start = pos - min(pos, 7)
            if not moved:
                break
    decoder.finish(pos, len(data))
    return bytes(plain)


def test_an_unknown_codec_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="unknown codec 'zip'; expected one of lz4, snappy"):
        stream_decoder("zip")


def test_a_chunk_that_flink_wrote() -> None:
    assert decompress("snappy", EMPTY_STATE) == bytes.fromhex("000A00000000")
    assert compress_snappy_framed(bytes.fromhex("000A00000000")) == EMPTY_STATE


def test_a_compressed_chunk_written_by_hand() -> None:
    assert decompress("snappy", STREAM_IDENTIFIER + COMPRESSED) == b"ababababab"


def test_a_block_without_bytes() -> None:
    # CRC-32C of nothing is 0, masked 0xA282EAD8.
    assert decompress("snappy", STREAM_IDENTIFIER + bytes.fromhex("00 050000 D8EA82A2 00")) == b""
    assert decompress("snappy", STREAM_IDENTIFIER + bytes.fromhex("01 040000 D8EA82A2")) == b""
    with pytest.raises(FormatError, match="bytes follow an empty Snappy block"):
        decompress("snappy", STREAM_IDENTIFIER + bytes.fromhex("00 060000 D8EA82A2 00 00"))


def test_several_streams_and_incompressible_data() -> None:
    assert decompress("snappy", STREAMS) == STREAMS_PLAIN
    kinds = {compress_snappy_framed(data)[10] for data in (noise(BLOCK), text(BLOCK))}
    assert kinds == {0x00, 0x01}
    assert decompress("snappy", b"") == b""


def test_where_streams_start() -> None:
    decoder = stream_decoder("snappy")
    data = memoryview(b"".join(map(compress_snappy_framed, (b"abc", b"", b"defg", b"h" * 1000))))
    out = memoryview(bytearray(BLOCK))
    assert decoder.decode(data, 0, len(data), out, 100) == (len(data), 100 + 3 + 4 + 1000)
    assert decoder.stream_starts == [100, 103, 107]
    decoder.decode(data, len(data), len(data), out, 0)
    assert decoder.stream_starts == []


def test_skippable_chunks_are_passed_over_even_if_they_are_longer_than_the_window() -> None:
    skipped = b"\x80\x40\x42\x0f" + bytes(1_000_000)
    padding = b"\xfe\x00\x00\x00"
    data = STREAM_IDENTIFIER + skipped + padding + COMPRESSED + padding
    assert in_windows(stream_decoder("snappy"), data, list(range(0, len(data), 1000)), BLOCK) == b"ababababab"
    with pytest.raises(TruncatedError, match="ends inside a Snappy chunk"):
        decompress("snappy", data[:5000])


@pytest.mark.parametrize("kind", [0x02, 0x03, 0x7F])
def test_reserved_chunk_types_are_refused(kind: int) -> None:
    with pytest.raises(FormatError, match=f"unknown Snappy chunk type 0x{kind:02X}; in byte offset 1010") as caught:
        decompress("snappy", STREAM_IDENTIFIER + bytes([kind]) + b"\x00\x00\x00", base=1000)
    assert caught.value.offset == 1010


def test_the_identifier_comes_first() -> None:
    with pytest.raises(FormatError, match="begins with a chunk of type 0x00"):
        decompress("snappy", COMPRESSED)
    with pytest.raises(FormatError, match="begins with a chunk of type 0x80"):
        decompress("snappy", b"\x80\x00\x00\x00" + STREAM_IDENTIFIER)


@pytest.mark.parametrize(
    ("identifier", "message"),
    [
        ("FF050000734E615070", "has 5 bytes"),
        ("FF060000734E61507058", "identifier is wrong"),
        ("FFFFFFFF", "16777215 bytes"),
    ],
)
def test_wrong_identifiers(identifier: str, message: str) -> None:
    with pytest.raises(FormatError, match=message):
        decompress("snappy", bytes.fromhex(identifier))


def test_the_checksum_is_verified_unless_switched_off() -> None:
    for at in (4, 7):
        damaged = bytearray(STREAM_IDENTIFIER + COMPRESSED)
        damaged[10 + at] ^= 0x10
        with pytest.raises(ChecksumError, match="CRC-32C of a Snappy chunk is 0xDEE8DA5B; expected 0x") as caught:
            decompress("snappy", damaged)
        assert caught.value.offset == 10
        assert decompress("snappy", damaged, verify=False) == b"ababababab"
    damaged = bytearray(EMPTY_STATE)
    damaged[-1] ^= 1
    with pytest.raises(ChecksumError):
        decompress("snappy", damaged)
    assert decompress("snappy", damaged, verify=False) == bytes.fromhex("000A00000001")


def test_the_blocks_own_length_is_checked_before_decompressing() -> None:
    for varint in ("818004", "FFFFFFFF0F", "80808001", "8080"):  # 65537, 2^32-1, four bytes long, without an end
        body = bytes(4) + bytes.fromhex(varint)
        chunk = b"\x00" + len(body).to_bytes(3, "little") + body
        with pytest.raises(FormatError, match="invalid plain length") as caught:
            decompress("snappy", STREAM_IDENTIFIER + chunk)
        assert caught.value.offset == 18


@pytest.mark.parametrize("chunk", ["00030000", "01030000", "00FFFFFF", "01050001"])
def test_chunk_lengths_that_cannot_be(chunk: str) -> None:
    with pytest.raises(FormatError, match=r"a Snappy chunk has \d+ bytes; expected 4 to"):
        decompress("snappy", STREAM_IDENTIFIER + bytes.fromhex(chunk) + bytes(100))


def test_a_block_whose_inside_is_wrong() -> None:
    for block in ("0A 04 6162 11 03", "0A 04 6162", "0B 04 6162 11 02", "0A FC FFFFFF7F 61"):
        body = bytes(4) + bytes.fromhex(block)
        with pytest.raises(FormatError, match="cannot be decompressed"):
            decompress("snappy", STREAM_IDENTIFIER + b"\x00" + len(body).to_bytes(3, "little") + body)


def test_every_truncation_is_found() -> None:
    data = compress_snappy_framed(text(300)) + compress_snappy_framed(noise(20))
    second = 10 + 4 + int.from_bytes(data[11:14], "little")
    whole = {0, 10, second, second + 10, len(data)}
    for cut in range(len(data) + 1):
        if cut in whole:
            assert (text(300) + noise(20)).startswith(decompress("snappy", data[:cut]))
        else:
            with pytest.raises(TruncatedError):
                decompress("snappy", data[:cut])
    frame = lz4.frame.compress(text(300), content_checksum=True)
    for cut in range(1, len(frame)):
        with pytest.raises(TruncatedError):
            decompress("lz4", frame[:cut])


@pytest.mark.parametrize("two_threads", [False, True])
@pytest.mark.parametrize("codec", ["snappy", "lz4"])
def test_windows_and_room_of_any_size_give_the_same(codec: str, two_threads: bool) -> None:
    plain = STREAMS_PLAIN
    if codec == "lz4":
        data = b"".join(lz4.frame.compress(part, block_size=4) for part in (MIXED, b"", plain[len(MIXED) :]))
    else:
        data = STREAMS
    rng = random.Random(4)
    for _ in range(20):
        cuts = sorted(rng.randrange(len(data) + 1) for _ in range(rng.randrange(12)))
        room = rng.choice([BLOCK, BLOCK + 1, 100_000, 1 << 20])
        assert in_windows(stream_decoder(codec, two_threads=two_threads), data, cuts, room) == plain


@pytest.mark.parametrize("two_threads", [False, True])
def test_of_several_faults_the_first_one_is_said(two_threads: bool) -> None:
    parts = [noise(100, seed) for seed in range(40)]
    one = len(compress_snappy_framed(parts[0])) - 10
    sound = STREAM_IDENTIFIER + b"".join(compress_snappy_framed(part)[10:] for part in parts)
    wrong_header = bytearray(sound)
    wrong_header[10 + 39 * one] = 0x02
    for first in (0, 13, 14, 26, 38):
        data = bytearray(wrong_header)
        for chunk in {first, 38}:
            data[10 + chunk * one + 50] ^= 1
        out = memoryview(bytearray(BLOCK))
        with pytest.raises(ChecksumError) as caught:
            stream_decoder("snappy", two_threads=two_threads).decode(memoryview(data), 0, len(data), out, 0, base=7)
        assert caught.value.offset == 7 + 10 + first * one
    with pytest.raises(FormatError, match="unknown Snappy chunk type 0x02") as unknown:
        stream_decoder("snappy", two_threads=two_threads).decode(memoryview(wrong_header), 0, len(sound), out, 0)
    assert unknown.value.offset == 10 + 39 * one


def test_a_chunk_that_does_not_fit_waits() -> None:
    decoder = stream_decoder("snappy")
    data = memoryview(STREAM_IDENTIFIER + COMPRESSED + COMPRESSED)
    out = memoryview(bytearray(19))
    middle = 10 + len(COMPRESSED)
    assert decoder.decode(data, 0, len(data), out, 0) == (middle, 10)
    assert decoder.decode(data, middle, len(data), out, 10) == (middle, 10)
    assert decoder.decode(data, middle, len(data), out, 9) == (len(data), 19)
    assert bytes(out) == b"ababababa" + b"ababababab"
    assert decoder.largest_output == 65536


def test_lz4_frames_one_after_the_other() -> None:
    skippable = b"\x50\x2a\x4d\x18\x03\x00\x00\x00abc"
    parts = [text(100_000), b"", noise(300_000), b"x"]
    data = skippable.join(lz4.frame.compress(part, content_checksum=True, block_checksum=True) for part in parts)
    assert decompress("lz4", data) == b"".join(parts)
    assert decompress("lz4", b"") == b""
    decoder = stream_decoder("lz4")
    two = memoryview(lz4.frame.compress(b"abc") + lz4.frame.compress(b"de"))
    out = memoryview(bytearray(100))
    assert decoder.decode(two, 0, len(two), out, 0) == (len(two), 5)
    assert decoder.stream_starts == [0, 3]


def test_damaged_lz4_frames() -> None:
    frame = bytearray(lz4.frame.compress(noise(1000), content_checksum=True))
    with pytest.raises(FormatError, match="frameType_unknown"):
        decompress("lz4", b"\x00" * 20)
    with pytest.raises(FormatError):
        decompress("lz4", bytes(frame) + b"leftover")
    frame[500] ^= 1
    with pytest.raises(ChecksumError, match="contentChecksum_invalid"):
        decompress("lz4", frame)


@pytest.mark.parametrize("codec", ["snappy", "lz4"])
@pytest.mark.parametrize("verify", [True, False])
def test_mutations_give_documented_errors_only(codec: str, verify: bool) -> None:
    parts = (text(3000), noise(500), text(40))
    pack = compress_snappy_framed if codec == "snappy" else lz4.frame.compress
    data = b"".join(pack(part) for part in parts)
    # A damaged type byte can hide a whole chunk; nothing else can get past a checksum.
    masks = product((0, 1), repeat=len(parts))
    kept = [b"".join(part for part, keep in zip(parts, mask, strict=True) if keep) for mask in masks]
    rng = random.Random(5)
    offsets: list[int | None] = []
    results: list[bytes] = []
    for _ in range(1500):
        damaged = bytearray(data)
        for _ in range(rng.choice([1, 1, 1, 2, 8])):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        if rng.random() < 0.1:
            del damaged[rng.randrange(len(damaged)) :]
        try:
            results.append(decompress(codec, damaged, verify))
        except FormatError as error:
            offsets.append(error.offset)
    assert len(offsets) > 300
    assert all(offset is not None and 0 <= offset <= len(data) for offset in offsets)
    assert b"".join(parts) in results
    if codec == "snappy" and verify:
        assert set(results) <= set(kept)
