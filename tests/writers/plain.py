"""Decompresses what is known to be small, all at once, with the product's decoders."""

from __future__ import annotations

from stateextract.files.compression import BLOCK, stream_decoder


def decompress(codec: str, data: bytes | bytearray | memoryview, verify: bool = True, *, base: int = 0) -> bytes:
    """The plain bytes.

    :param base: offset of ``data[0]`` in its file, for errors.
    """
    decoder = stream_decoder(codec, verify)
    window = memoryview(data)
    room = memoryview(bytearray(max(decoder.largest_output, BLOCK)))
    plain = bytearray()
    pos = 0
    while True:
        start = pos
        pos, n = decoder.decode(window, pos, len(window), room, 0, base)
        plain += room[:n]
        if pos == start and not n:
            break
    decoder.finish(pos, len(window), base)
    return bytes(plain)
