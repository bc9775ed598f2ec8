"""Payloads that no jar of a registry writes: bytes by the layouts in the connectors' sources."""

from __future__ import annotations

import struct
from typing import Any

import pyarrow as pa
import pytest

from serializers.connectors import COMMITTABLE, COORDINATOR, FORMS, evidence_of, shapes_of
from serializers.connectors.embedded import java_class_and_json
from serializers.connectors.recoverables import unpublished_file
from serializers.context import NO_EVIDENCE
from serializers.javaobjects import read_object
from stateextract.files.reader import Reader
from tests.serializers.connector_bytes import as_printed, decoded, payloads
from tests.serializers.test_connectors import FILE, utf, versioned

ARN = "arn:aws:kinesis:eu-west-1:123456789012:stream/orders"
PARENTS = struct.pack(">i", 1) + utf("shardId-000000000000")
KEYS = utf("0") + utf("170141183460469231731687303715884105727")
AT = utf(ARN) + utf("shardId-000000000001") + utf("AFTER_SEQUENCE_NUMBER") + b"\1\0\1" + utf("4960")
MILLISECONDS = struct.pack(">q", 1_700_000_000_000)
SHARD = {"stream": ARN, "shard_id": "shardId-000000000001", "position": "AFTER_SEQUENCE_NUMBER", "sequence_number": "4960"}
WITH_PARENTS = SHARD | {
    "parent_shard_ids": ["shardId-000000000000"], "starting_hash_key": "0",
    "ending_hash_key": "170141183460469231731687303715884105727",
}  # fmt: skip


@pytest.mark.parametrize(
    ("version", "payload", "expected"),
    [
        (0, AT, SHARD),
        (1, AT + PARENTS + KEYS, WITH_PARENTS),
        (2, AT + PARENTS + KEYS + b"\1", WITH_PARENTS | {"finished": True}),
        (
            0, utf(ARN) + utf("shardId-000000000001") + utf("AT_TIMESTAMP") + b"\1\1" + MILLISECONDS + b"\0",
            {"stream": ARN, "shard_id": "shardId-000000000001", "position": "AT_TIMESTAMP", "timestamp_ms": 1_700_000_000_000},
        ),
    ],
)  # fmt: skip
def test_shards_of_kinesis(version: int, payload: bytes, expected: dict[str, Any]) -> None:
    found = decoded("SourceReaderState", versioned(version, payload))
    assert as_printed(found) == {"kinesis_split": expected}
    assert not decoded("SourceReaderState", versioned(version, payload.replace(b"kinesis:eu", b"kafka:eu-")))
    assert not decoded("SourceReaderState", versioned(version, payload[:-1]))


def test_the_enumerator_of_kinesis() -> None:
    split = AT + PARENTS + KEYS + b"\0"
    state = b"\1" + utf("shardId-000000000001") + struct.pack(">iii", 1, 2, len(split)) + split + struct.pack(">i", 1)
    splits = [WITH_PARENTS | {"finished": False, "assigned": False}]
    expected = {"kinesis_enumerator": {"last_seen_shard_id": "shardId-000000000001", "splits": splits}}
    assert as_printed(decoded(COORDINATOR, versioned(1, state))) == expected
    assert not decoded(COORDINATOR, versioned(1, b"\0" + struct.pack(">ii", 0, 2)))


def little(*texts: str) -> bytes:
    return b"".join(struct.pack("<i", len(text)) + text.encode() for text in texts)


def test_uploads_to_s3() -> None:
    """Two parts are in the upload, and what is too short for a part is in an object of its own."""
    parts = struct.pack("<i", 2) + b"".join(struct.pack("<i", n) + little(f"etag-{n}") for n in (1, 2))
    upload = bytes.fromhex("32147698") + little("out/part-0", "upload-7") + parts + struct.pack("<q", 10_485_760)
    upload += little("out/_tmp_part-0") + struct.pack("<q", 77)
    expected = {
        "file_system": "s3", "path": "out/part-0", "upload_id": "upload-7", "length": 10_485_760,
        "parts": [{"number": 1, "etag": "etag-1"}, {"number": 2, "etag": "etag-2"}],
        "incomplete_object": "out/_tmp_part-0", "incomplete_length": 77,
    }  # fmt: skip
    in_progress = bytes.fromhex("b3a4073d") + versioned(1, upload)
    assert as_printed(unpublished_file(1, in_progress)) == expected
    # Until Flink 1.10, and with what later versions record of the file.
    assert as_printed(unpublished_file(1, upload)) == expected
    pending = bytes.fromhex("2c853c89") + b"\1" + utf("s3://b/out/part-0") + struct.pack(">q", 5) + versioned(1, upload)
    assert as_printed(unpublished_file(2, pending)) == expected | {"target_path": "s3://b/out/part-0", "size": 5}
    for damaged in (in_progress[:-1], in_progress + b"\0", pending.replace(b"\x32\x14\x76\x98", b"\x32\x14\x76\x99")):
        assert as_printed(unpublished_file(1, damaged)) == {}


def test_older_splits_of_cdc_have_no_flag() -> None:
    """MySQL's connector 2.1 wrote version 3, 2.0 version 2, and 2.2 version 4 without the last flag."""
    (plain,) = (p for p in payloads() if p.name == "cdc_split mysql 2.4 stream plain")
    expected = as_printed(plain.value) | {"suspended": None}
    for version, end in ((4, -1), (3, -1), (2, -5)):
        found = decoded("SourceReaderState", versioned(version, plain.inner[:end]))["cdc_split"]
        assert as_printed(found) == as_printed(expected)


def sized(text: str) -> bytes:
    return struct.pack(">i", len(text)) + text.encode()


def test_lone_surrogates_do_not_reach_arrow() -> None:
    """JSON can have them as escapes, Java's own serialization in names of classes, and Flink's strings as they are."""
    offset = b"\1" + sized('{"file":"mysql-bin.\\ud800","pos":"4"}')
    stream = struct.pack(">i", 2) + utf("binlog-split") + utf("") + offset + b"\0" + bytes(12) + b"\0"
    (partition,) = (p.inner for p in payloads() if p.name == "delta_split 3.2")
    partition = partition.replace(b"\x04day\0\x0b2024-01-01", b"\x04da\x80\xb0\x03\0\x0b2024-01-0\x80\xb0\x03")
    task = utf('{"data-file":{"file-path":"/t/\\ud800"}}')
    found = {
        "cdc_split": decoded("SourceReaderState", versioned(4, stream)),
        "iceberg_split": decoded("SourceReaderState", versioned(2, struct.pack(">iqi", 0, 0, 1) + task)),
        "file_split": decoded("SourceReaderState", versioned(1, FILE.replace(b"\x0a/in/a.csv", b"\x0a/in/a.cs\x80\xb0\x03"))),
        "delta_split": decoded("SourceReaderState", versioned(1, partition)),
    }
    assert found["cdc_split"]["cdc_split"]["start"]["file"] == "mysql-bin.\ufffd"
    assert found["iceberg_split"]["iceberg_split"]["tasks"][0]["path"] == "/t/\ufffd"
    assert found["file_split"]["file_split"]["path"] == "hdfs://nn:8020/in/a.cs\ufffd"
    assert found["delta_split"]["delta_split"]["partition"] == [("da\ufffd", "2024-01-0\ufffd"), ("note", None)]
    for name, value in found.items():
        pa.array([value[name]], FORMS["SourceReaderState"][name].column.type).validate(full=True)
    class_name = b"A\xed\xa0\x80"
    instance = bytes.fromhex("aced00057372") + struct.pack(">H", len(class_name)) + class_name + bytes(8) + b"\2\0\0xp"
    assert java_class_and_json(instance) == ("A\ufffd", "{}")
    assert read_object(Reader(instance)) == {"class": "A\ufffd", "json": "{}"}


NO_END = b"\0" + struct.pack(">ii", 0, 0)


@pytest.mark.parametrize(
    ("place", "version", "payload"),
    [
        # A stream of version 1 has a text and a number for an offset, so its id has to be the one of MySQL.
        ("SourceReaderState", 1, struct.pack(">i", 2) + utf("s") + utf("") + b"\1" + utf("f") + bytes(8) + NO_END),
        # A position of Iceberg has no time without an id, and ids have no sign.
        (COORDINATOR, 1, b"\1" + versioned(1, b"\0\1" + MILLISECONDS) + struct.pack(">ii", 2, 0)),
        (COORDINATOR, 1, b"\1" + versioned(1, b"\1" + b"\xff" * 8 + b"\1" + MILLISECONDS) + struct.pack(">ii", 2, 0)),
        ("writer_raw_states", 1, b'{"labelSnapshots":{}}'),
        ("writer_raw_states", 1, b'{"labelSnapshots":[{"label":"a"}]}'),
        (COMMITTABLE, 1, b'{"labelSnapshot":"a"}'),
        ("writer_raw_states", 2, utf("label") + utf("a.b") + utf("orders") + struct.pack(">i", 3)),
        ("writer_raw_states", 2, utf("label") + utf("shop") + utf("7 days") + struct.pack(">i", 3)),
        # A request of 2^60 bytes.
        ("writer_raw_states", 0, b"\xff" * 8 + struct.pack(">iq", 1, 1 << 60) + b"abc"),
    ],
)
def test_bytes_that_only_resemble_a_form_have_none(place: str, version: int, payload: bytes) -> None:
    assert decoded(place, versioned(version, payload)) == {}


def test_wrappers_of_wrappers_end() -> None:
    """Bytes can have thousands of HybridSource's wrappers around each other."""
    split, state = b"?", b"?"
    for _ in range(3000):
        split = struct.pack(">i", 0) + utf("") + versioned(0, split)
        state = struct.pack(">i", 0) + versioned(0, state)
    assert decoded("SourceReaderState", versioned(0, split)) == {}
    assert decoded(COORDINATOR, versioned(0, state)) == {}
    assert evidence_of(struct.pack(">i", 1) + versioned(0, state)) == NO_EVIDENCE
    assert shapes_of(struct.pack(">i", 1) + versioned(0, state)) == frozenset()
