"""What the connectors of databases keep: JDBC, MongoDB, Doris and StarRocks.

A JDBC split has two Java objects, of which one is of its own class. A split of MongoDB has three documents of JSON. Doris'
writers of version 1 keep one text, as Kafka's do, and their committables a host, a database and a number.

Classes: ``org.apache.flink.connector.jdbc.core.datastream.source.split.JdbcSourceSplitSerializer`` (and its older package),
``…source.enumerator.JdbcSourceEnumStateSerializer``,
``org.apache.flink.connector.mongodb.source.split.MongoSourceSplitSerializer``,
``…mongodb.source.enumerator.MongoSourceEnumStateSerializer``,
``org.apache.doris.flink.sink.writer.DorisWriterStateSerializer``, ``org.apache.doris.flink.sink.DorisCommittableSerializer``,
``com.starrocks.connector.flink.table.sink.v2.StarRocksWriterStateSerializer``, ``…v2.StarRocksCommittableSerializer``.
"""

from __future__ import annotations

import re
from typing import Any

from serializers.connectors.embedded import decode_utf8, java_json, java_object, json_object
from serializers.connectors.payload_forms import COMMITTABLE, COORDINATOR, PayloadForm, register_form
from serializers.connectors.payload_parts import (
    FLAG,
    I64,
    INT,
    LONG,
    TEXT,
    UTF,
    PayloadPart,
    checked,
    fixed,
    joined,
    many,
    part,
    read_text,
    record,
    sized,
    struct_of,
)
from stateextract.errors import FormatError
from stateextract.files.reader import Reader

# ---- JDBC

_OFFSETS = tuple(
    f"org.apache.flink.connector.jdbc.{package}source.split.CheckpointedOffset" for package in ("core.datastream.", "")
)


def _jdbc_offset(reader: Reader) -> dict[str, Any]:
    offset = java_object(reader, *_OFFSETS)
    return {"offset": offset.get("offset"), "records_after_offset": offset.get("recordsAfterOffset")}


def _is_jdbc_offset(value: dict[str, Any]) -> bool:
    return all(isinstance(number, int) and -(1 << 63) <= number < 1 << 63 for number in value.values())


_JAVA_JSON = part(TEXT, lambda reader: java_json(reader.bytes(reader.remaining)))
_JDBC = joined(
    record(split_id=UTF, sql=UTF, parameters=sized(_JAVA_JSON)),
    checked(sized(part(struct_of(offset=I64, records_after_offset=I64), _jdbc_offset)), _is_jdbc_offset),
)
_JDBC_ENUMERATOR = record(
    completed_splits=many(_JDBC), pending_splits=many(_JDBC), remaining_splits=many(_JDBC), user_state=sized(_JAVA_JSON)
)


# ---- MongoDB


def _document(reader: Reader) -> str:
    text = read_text(reader)
    json_object(text)
    return text


def _named_split(reader: Reader, version: int) -> dict[str, Any]:
    """A split after its id."""
    id_, split = read_text(reader), _MONGODB.read(reader, version)
    if split["split_id"] != id_:
        raise FormatError("a split under the name of another one")
    found: dict[str, Any] = split
    return found


_DOCUMENT = part(TEXT, _document)
_MONGODB = record(
    _kind=fixed(1), split_id=UTF, database=UTF, collection=UTF, min=_DOCUMENT, max=_DOCUMENT, hint=_DOCUMENT, offset=INT
)
"""A split of a scan."""
_MONGODB_ENUMERATOR = record(
    remaining_collections=many(UTF), processed_collections=many(UTF), remaining_splits=many(_MONGODB),
    assigned_splits=many(PayloadPart(_named_split, _MONGODB.type)), initialized=FLAG,
)  # fmt: skip


# ---- Doris

_LABEL = re.compile(r"[-_A-Za-z0-9:]{1,128}", re.ASCII)
_NAME = re.compile(r"[^\W\d][\w$-]{0,255}")
"""A letter of any language, then letters, digits, ``_``, ``-``: Doris' ``FeNameFormat``."""


_HOST = re.compile(r"[A-Za-z0-9_.\[\]:-]{1,255}:\d{1,5}", re.ASCII)
_NAMED = checked(UTF, _NAME.fullmatch)
_DORIS_WRITER = record(
    label_prefix=checked(UTF, _LABEL.fullmatch), database=_NAMED, table=_NAMED,
    subtask=checked(INT, lambda number: 0 <= number < 32_768),
)  # fmt: skip
_DORIS_COMMITTABLE = record(
    host=checked(UTF, _HOST.fullmatch), database=_NAMED, transaction_id=checked(LONG, lambda number: number >= 0)
)


# ---- StarRocks


def _starrocks_writer(reader: Reader, version: int) -> dict[str, Any]:
    text = decode_utf8(reader.bytes(reader.remaining))
    _check_objects(json_object(text).get("labelSnapshots"), "labelPrefix", "db", "table")
    return {"json": text}


def _starrocks_committable(reader: Reader, version: int) -> dict[str, Any]:
    text = decode_utf8(reader.bytes(reader.remaining))
    snapshot = json_object(text).get("labelSnapshot")
    _check_objects(snapshot.get("transactions") if isinstance(snapshot, dict) else None, "label", "database", "table")
    return {"json": text}


def _check_objects(items: Any, *keys: str) -> None:
    """Refuse what is not a list of objects that have these keys."""
    if not isinstance(items, list) or not all(isinstance(item, dict) and item.keys() >= set(keys) for item in items):
        raise FormatError("no JSON of StarRocks")


_JSON = struct_of(json=TEXT)

register_form(
    "SourceReaderState", PayloadForm("jdbc_split", (0,), *_JDBC, reason="a Java object of the connector's class")
)
register_form(
    COORDINATOR,
    PayloadForm(
        "jdbc_enumerator", (0,), *_JDBC_ENUMERATOR,
        lambda value, evidence: any(value[name] for name in value if name != "user_state"), reason="at least one such split",
    ),
)  # fmt: skip
register_form(
    "SourceReaderState", PayloadForm("mongodb_split", (0,), *_MONGODB, reason="three documents of JSON")
)
register_form(
    COORDINATOR,
    PayloadForm(
        "mongodb_enumerator", (0,), *_MONGODB_ENUMERATOR,
        lambda value, evidence: bool(value["remaining_splits"] or value["assigned_splits"]), reason="at least one such split",
    ),
)  # fmt: skip
register_form(
    "writer_raw_states",
    PayloadForm("doris_writer", (2,), *_DORIS_WRITER, reason="a label of Doris, two names and a subtask"),
)
register_form(
    COMMITTABLE,
    PayloadForm("doris_committable", (1,), *_DORIS_COMMITTABLE, reason="a host with its port, a name and a number"),
)
register_form(
    "writer_raw_states",
    PayloadForm(
        "starrocks_writer", (1,), _starrocks_writer, _JSON,
        reason="JSON with the key of its class, and a list of labels with their tables",
    ),
)  # fmt: skip
register_form(
    COMMITTABLE,
    PayloadForm(
        "starrocks_committable", (1,), _starrocks_committable, _JSON,
        reason="JSON with the key of its class, and a list of transactions with their tables",
    ),
)  # fmt: skip
