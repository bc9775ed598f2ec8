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

import pyarrow as pa

from serializers.connectors.embedded import decode_utf8, java_json, java_object, json_object
from serializers.connectors.forms import (
    COMMITTABLE,
    COORDINATOR,
    I32,
    I64,
    TEXT,
    PayloadForm,
    must_end,
    read_flag,
    read_text,
    register_form,
    struct_of,
)
from stateextract.errors import FormatError
from stateextract.files.reader import Reader

# ---- JDBC

_OFFSETS = tuple(
    f"org.apache.flink.connector.jdbc.{package}source.split.CheckpointedOffset" for package in ("core.datastream.", "")
)


def _jdbc_split(reader: Reader, version: int) -> dict[str, Any]:
    split: dict[str, Any] = {"split_id": read_text(reader), "sql": read_text(reader)}
    split["parameters"] = java_json(reader.bytes(reader.i32("a length"), "parameters"))
    inner = Reader(reader.bytes(reader.i32("a length"), "an offset"))
    offset = java_object(inner, *_OFFSETS)
    must_end(inner)
    for column, name in (("offset", "offset"), ("records_after_offset", "recordsAfterOffset")):
        value = offset.get(name)
        if not isinstance(value, int) or not -(1 << 63) <= value < 1 << 63:
            raise FormatError("no offset of a split")
        split[column] = value
    return split


def _jdbc_enumerator(reader: Reader, version: int) -> dict[str, Any]:
    found: dict[str, Any] = {
        name: [_jdbc_split(reader, version) for _ in range(reader.count("splits", least=12))]
        for name in ("completed_splits", "pending_splits", "remaining_splits")
    }
    found["user_state"] = java_json(reader.bytes(reader.i32("a length"), "state"))
    return found


# ---- MongoDB


def _mongodb_split(reader: Reader, version: int) -> dict[str, Any]:
    if reader.i32("a kind") != 1:
        raise FormatError("no split of a scan")
    split: dict[str, Any] = {
        name: read_text(reader) for name in ("split_id", "database", "collection", "min", "max", "hint")
    }
    for document in ("min", "max", "hint"):
        json_object(split[document])
    return split | {"offset": reader.i32("an offset")}


def _mongodb_enumerator(reader: Reader, version: int) -> dict[str, Any]:
    found: dict[str, Any] = {
        name: [read_text(reader) for _ in range(reader.count("collections", least=2))]
        for name in ("remaining_collections", "processed_collections")
    }
    found["remaining_splits"] = [_mongodb_split(reader, version) for _ in range(reader.count("splits", least=20))]
    assigned = []
    for _ in range(reader.count("splits", least=22)):
        id_ = read_text(reader)
        assigned.append(_mongodb_split(reader, version))
        if assigned[-1]["split_id"] != id_:
            raise FormatError("a split under the name of another one")
    return found | {"assigned_splits": assigned, "initialized": read_flag(reader)}


# ---- Doris

_LABEL = re.compile(r"[-_A-Za-z0-9:]{1,128}", re.ASCII)
_NAME = re.compile(r"[^\W\d][\w$-]{0,255}")
"""A letter of any language, then letters, digits, ``_``, ``-``: Doris' ``FeNameFormat``."""


def _doris_writer(reader: Reader, version: int) -> dict[str, Any]:
    label, database, table, subtask = read_text(reader), read_text(reader), read_text(reader), reader.i32("a subtask")
    if (
        not (_LABEL.fullmatch(label) and _NAME.fullmatch(database) and _NAME.fullmatch(table))
        or not 0 <= subtask < 32_768
    ):
        raise FormatError("no writer of Doris")
    return {"label_prefix": label, "database": database, "table": table, "subtask": subtask}


_HOST = re.compile(r"[A-Za-z0-9_.\[\]:-]{1,255}:\d{1,5}", re.ASCII)


def _doris_committable(reader: Reader, version: int) -> dict[str, Any]:
    host, database, transaction = read_text(reader), read_text(reader), reader.i64("a transaction")
    if not (_HOST.fullmatch(host) and _NAME.fullmatch(database)) or transaction < 0:
        raise FormatError("no transaction of Doris")
    return {"host": host, "database": database, "transaction_id": transaction}


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


_JDBC = struct_of(split_id=TEXT, sql=TEXT, parameters=TEXT, offset=I64, records_after_offset=I64)
_MONGODB = struct_of(split_id=TEXT, database=TEXT, collection=TEXT, min=TEXT, max=TEXT, hint=TEXT, offset=I32)

register_form(
    "SourceReaderState",
    PayloadForm("jdbc_split", (0,), _jdbc_split, _JDBC, reason="a Java object of the connector's class"),
)
register_form(
    COORDINATOR,
    PayloadForm(
        "jdbc_enumerator", (0,), _jdbc_enumerator,
        struct_of(
            completed_splits=pa.list_(_JDBC), pending_splits=pa.list_(_JDBC), remaining_splits=pa.list_(_JDBC), user_state=TEXT
        ),
        lambda value, evidence: any(value[name] for name in value if name != "user_state"), reason="at least one such split",
    ),
)  # fmt: skip
register_form(
    "SourceReaderState", PayloadForm("mongodb_split", (0,), _mongodb_split, _MONGODB, reason="three documents of JSON")
)
register_form(
    COORDINATOR,
    PayloadForm(
        "mongodb_enumerator", (0,), _mongodb_enumerator,
        struct_of(
            remaining_collections=pa.list_(TEXT), processed_collections=pa.list_(TEXT), remaining_splits=pa.list_(_MONGODB),
            assigned_splits=pa.list_(_MONGODB), initialized=pa.bool_(),
        ),
        lambda value, evidence: bool(value["remaining_splits"] or value["assigned_splits"]), reason="at least one such split",
    ),
)  # fmt: skip
register_form(
    "writer_raw_states",
    PayloadForm(
        "doris_writer", (2,), _doris_writer, struct_of(label_prefix=TEXT, database=TEXT, table=TEXT, subtask=I32),
        reason="a label of Doris, two names and a subtask",
    ),
)  # fmt: skip
register_form(
    COMMITTABLE,
    PayloadForm(
        "doris_committable", (1,), _doris_committable, struct_of(host=TEXT, database=TEXT, transaction_id=I64),
        reason="a host with its port, a name and a number",
    ),
)  # fmt: skip
register_form(
    "writer_raw_states",
    PayloadForm(
        "starrocks_writer", (1,), _starrocks_writer, struct_of(json=TEXT),
        reason="JSON with the key of its class, and a list of labels with their tables",
    ),
)  # fmt: skip
register_form(
    COMMITTABLE,
    PayloadForm(
        "starrocks_committable",
        (1,),
        _starrocks_committable,
        struct_of(json=TEXT),
        reason="JSON with the key of its class, and a list of transactions with their tables",
    ),
)
