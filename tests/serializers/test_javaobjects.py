"""Java's own serialization as a class and JSON; damage raises errors of ours, whatever the bytes say."""

from __future__ import annotations

import json
import random
import struct
from contextlib import suppress
from typing import Any

import pytest

from serializers import describe
from stateextract.columnar.convert.policy import Policy
from stateextract.columnar.decode.decoder import make_decoder
from stateextract.errors import StateExtractError, ValueRefusedError
from stateextract.files.block import Block
from tests.serializers.test_vectors import snapshot

LAYOUT = describe(snapshot("S JavaSerializer"))
HEAD = b"\xac\xed\0\5"


def utf(text: str) -> bytes:
    return struct.pack(">H", len(text)) + text.encode()


def class_(name: str, fields: bytes = b"\0\0", flags: int = 2, above: bytes = b"\x70") -> bytes:
    return b"\x72" + utf(name) + bytes(8) + bytes([flags]) + fields + b"\x78" + above


def decode(data: bytes) -> Any:
    decoder = make_decoder(LAYOUT, Policy())
    progress = decoder.decode(Block.of(data), 0, len(data), 1)
    assert (progress.entries, progress.pos) == (1, len(data))
    return decoder.flush().to_pylist()[0]


POINT = class_("com.acme.Point", b"\0\2" + b"I" + utf("x") + b"L" + utf("next") + b"\x74" + utf("Lcom/acme/Point;"))
LONG = class_("java.lang.Long", b"\0\1J" + utf("value"), above=class_("java.lang.Number"))
# Handles: the class 0, the class of the field 1, the object 2.
CYCLE = HEAD + b"\x73" + POINT + struct.pack(">i", 7) + b"\x71" + struct.pack(">i", 0x7E0002)
INTS = HEAD + b"\x75" + class_("[I") + struct.pack(">3i", 2, 5, -1)

ENUM = class_("com.acme.E", flags=0x12, above=class_("java.lang.Enum", flags=0x12))
MAP = HEAD + b"\x73" + class_("java.util.HashMap", flags=3) + b"\x77\x08" + bytes(8)
MAP += b"\x74" + utf("k") + b"\x7e" + ENUM + b"\x74" + utf("RED") + b"\x74" + utf("l") + b"\x73" + LONG + bytes(7) + b"\5\x78"
LIST = HEAD + b"\x73" + class_("java.util.ArrayList", flags=3) + b"\x77\x04" + bytes(4)
LIST += b"\x75" + class_("[B") + struct.pack(">i", 1) + b"\xff" + b"\x70\x78"
WRITER = HEAD + b"\x73" + class_("com.acme.W", flags=3) + b"\x77\x01\x05\x74" + utf("x") + b"\x78"

CASES: list[tuple[str, bytes, str, Any]] = [
    ("text", HEAD + b"\x74" + utf("x"), "java.lang.String", "x"),
    ("boxed", HEAD + b"\x73" + LONG + struct.pack(">q", 2**62), "java.lang.Long", 2**62),
    (
        "object", HEAD + b"\x73" + POINT + struct.pack(">i", 7) + b"\x70", "com.acme.Point",
        {"x": 7, "next": None},
    ),
    (
        "object inside itself", CYCLE, "com.acme.Point",
        {"x": 7, "next": {"$ref": 0}},
    ),
    ("ints", INTS, "[I", [5, -1]),
    ("bytes", HEAD + b"\x75" + class_("[B") + struct.pack(">i", 2) + b"\0\xff", "[B", "AP8="),
    (
        "enum", HEAD + b"\x7e" + ENUM + b"\x74" + utf("RED"), "com.acme.E", "RED",
    ),
    ("map", MAP, "java.util.HashMap", {"k": {"$class": "com.acme.E", "$value": "RED"}, "l": 5}),
    ("list", LIST, "java.util.ArrayList", [{"$class": "[B", "$value": "/w=="}, None]),
    ("own writeObject", WRITER, "com.acme.W", {"$written": [{"$class": "[B", "$value": "BQ=="}, "x"]}),
]  # fmt: skip


@pytest.mark.parametrize(("name", "data", "class_name", "value"), CASES, ids=[c[0] for c in CASES])
def test_value(name: str, data: bytes, class_name: str, value: Any) -> None:
    found = decode(data)
    assert found["class"] == class_name
    assert json.loads(found["json"]) == value


def test_null_and_lone_surrogates() -> None:
    assert decode(HEAD + b"\x70") is None
    assert decode(HEAD + b"\x74\0\3\xed\xa0\x80") == {"class": "java.lang.String", "json": '"\\ud800"'}


def test_what_unfolds_beyond_measure() -> None:
    """Each array holds the one inside twice: a short stream, a tree of 2^30."""
    first = 0x7E0000
    data = HEAD + b"\x75" + class_("[Ljava.lang.Object;")
    body = b""
    for level in range(30):
        data += struct.pack(">i", 2)
        inner = b"\x70" if level == 29 else b"\x75\x71" + struct.pack(">i", first)
        data += inner
        # The second element refers to what the first one is.
        body = (b"\x70" if level == 29 else b"\x71" + struct.pack(">i", first + level + 2)) + body
    with pytest.raises(ValueRefusedError, match="the JSON of one value has more than"):
        decode(data + body)


def test_mutations_raise_only_our_errors() -> None:
    rng = random.Random(11)
    for _ in range(5_000):
        raw = bytearray(rng.choice(CASES)[1])
        for _ in range(rng.randint(1, 3)):
            raw[rng.randrange(len(raw))] = rng.choice((0, 1, 0x70, 0x71, 0x7F, 0xFF, rng.randrange(256)))
        with suppress(StateExtractError):
            decoder = make_decoder(LAYOUT, Policy())
            decoder.decode(Block.of(bytes(raw)), 0, len(raw), 1)
            decoder.flush()
