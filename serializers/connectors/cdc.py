"""What the sources of Flink CDC keep: splits of the snapshot and of the stream of changes, and their enumerator's state.

MySQL's connector has classes of its own. The others share those of ``flink-cdc-base``, which add flags to the names of tables.
Both begin with a kind, write offsets as JSON, and bounds of splits as hexadecimal text of Java's own serialization. No other
connector writes these bounds and offsets. Bounds are JSON here, offsets a struct of what they contain.

=================  ==============  =================
Flink CDC          MySQL           the others
=================  ==============  =================
2.0                2, 2
2.1                3, 3
2.2                4, 3            3, 3
2.3                4, 5            3, 4
2.4                4, 5            4, 5
3.1, 3.2           4, 5            5, 6
3.3                4, 5            5, 8
3.4 to 3.6         4, 5            6, 8
=================  ==============  =================

Numbers are the versions of splits and of enumerators. The enumerator of a source that reads no snapshot keeps two numbers and
a flag, which may be of any connector.

Classes: ``…cdc.connectors.mysql.source.split.MySqlSplitSerializer``,
``…mysql.source.assigners.state.PendingSplitsStateSerializer``, ``…base.source.meta.split.SourceSplitSerializer``,
``…base.source.assigner.state.PendingSplitsStateSerializer``; packages ``com.ververica`` until 3.0, then ``org.apache.flink``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from serializers.connectors.embedded import java_json, json_object, read_utf8
from serializers.connectors.payload_forms import COORDINATOR, PayloadForm, register_form
from serializers.connectors.payload_parts import (
    FLAG,
    I32,
    I64,
    INT,
    LONG,
    TEXT,
    UTF,
    PayloadPart,
    checked,
    expect,
    many,
    must_end,
    part,
    read_flag,
    read_text,
    record,
    since,
    sized,
    struct_of,
)
from serializers.context import Evidence
from stateextract.errors import FormatError, StateExtractError
from stateextract.files.reader import Reader
from stateextract.printable import replaced

_SNAPSHOT, _STREAM, _HYBRID = 1, 2, 3
_STATUSES = (
    "INITIAL_ASSIGNING", "INITIAL_ASSIGNING_FINISHED", "NEWLY_ADDED_ASSIGNING", "NEWLY_ADDED_ASSIGNING_SNAPSHOT_FINISHED",
    "NEWLY_ADDED_ASSIGNING_FINISHED",
)  # fmt: skip
_STATUSES_2_2 = (*_STATUSES[:2], "SUSPENDED", "NEWLY_ADDED_ASSIGNING", "NEWLY_ADDED_ASSIGNING_FINISHED")
"""Of MySQL until CDC 2.3. That release wrote the enumerator's version 5 as 2.4 does, and gets the names of 2.4."""

# A part is in double quotes (MySQL's splits: in backticks) or, in old versions, in none.
_PART = re.compile(r'"(?:[^"]|"")+"|`(?:[^`]|``)+`|[^."`][^.]*')
_TABLE = re.compile(rf"(?:{_PART.pattern})(?:\.(?:{_PART.pattern}))*", re.DOTALL)

# The keys of the JSON with a column of their own. Debezium names them.
_OFFSET_COLUMNS: dict[str, tuple[str, pa.DataType]] = {
    "file": ("file", TEXT), "pos": ("position", I64), "gtids": ("gtids", TEXT), "kind": ("kind", TEXT),
    "lsn": ("lsn", I64), "change_lsn": ("change_lsn", TEXT), "commit_lsn": ("commit_lsn", TEXT),
    "scn": ("scn", TEXT), "commit_scn": ("commit_scn", TEXT),
    "timestamp": ("timestamp", I64), "resumeToken": ("resume_token", TEXT),
}  # fmt: skip
_MYSQL = frozenset({"file", "kind"})
_MYSQL_STREAM = "binlog-split"
"""The id of the one split of a stream: ``MySqlBinlogSplitAssigner``."""
_OFFSET = struct_of(**dict(_OFFSET_COLUMNS.values()), json=TEXT)


# ---- what splits and enumerators are made of


def _bound(reader: Reader) -> str | None:
    """A Java object in hexadecimal digits, as JSON."""
    try:
        return java_json(bytes.fromhex(read_text(reader)))
    except ValueError:
        raise FormatError("a bound of a split is not hexadecimal") from None


def _table(reader: Reader) -> str:
    """A table's name as Debezium's ``TableId`` prints it: its parts without quotes, joined by dots."""
    text = read_text(reader)
    if not _TABLE.fullmatch(text):
        raise FormatError("no name of a table")
    return ".".join(_unquoted(part[0]) for part in _PART.finditer(text))


def _unquoted(part: str) -> str:
    quote = part[0]
    return part[1:-1].replace(quote * 2, quote) if quote in '"`' else part


def _schema(reader: Reader, version: int) -> str:
    """The schema of a table, which Debezium writes as JSON."""
    schema = read_text(reader) if version == 1 else read_utf8(reader)
    json_object(schema)
    return schema


def _offset(reader: Reader, version: int, base: bool) -> dict[str, Any] | None:
    if not read_flag(reader):
        return None
    found: dict[str, Any] = dict.fromkeys(field.name for field in _OFFSET)
    if version == 1:
        return found | {"file": read_text(reader), "position": reader.i64("a position")}
    text = read_utf8(reader)
    values = json_object(text)
    known = values.keys() & _OFFSET_COLUMNS.keys()
    of_family = bool(known) and base != bool(known & _MYSQL)
    if not of_family or any(value is not None and not isinstance(value, str) for value in values.values()):
        raise FormatError("no offset of a database")
    for key in known:
        name, type_ = _OFFSET_COLUMNS[key]
        value = values[key]
        if type_ == I64:
            found[name] = _int64(value)
        else:
            found[name] = None if value is None else replaced(value)
    return found | {"json": text}


def _int64(text: str | None) -> int | None:
    if text is None:
        return None
    if re.fullmatch(r"-?\d{1,19}", text, re.ASCII) is None or not -(1 << 63) <= int(text) < 1 << 63:
        raise FormatError("no number of 64 bits")
    return int(text)


_BOUND, _NAME = part(TEXT, _bound), part(TEXT, _table)
_NOTHING = part(pa.null(), lambda reader: None)


class _Family:
    """The parts of one of the two families, by the version of the splits.

    :param base: ``flink-cdc-base``, not MySQL's own classes.
    """

    def __init__(self, base: bool) -> None:
        self.base = base
        # Whether the name of a table is to be read in another way.
        flag = since(4, FLAG) if base else _NOTHING
        self.offset = PayloadPart(lambda reader, version: _offset(reader, version, base), _OFFSET)
        self.tables = many(record(_flag=flag, table=_NAME, schema=PayloadPart(_schema, TEXT)))
        self.snapshot = record(
            _flag=flag, table=_NAME, split_id=UTF, key_type=UTF, split_start=_BOUND, split_end=_BOUND,
            high_watermark=self.offset, tables=self.tables,
        )  # fmt: skip
        # The factory of offsets is an object of the database's own class.
        finished = record(
            table=_NAME, split_id=UTF, split_start=_BOUND, split_end=_BOUND, _factory=_BOUND if base else _NOTHING,
            high_watermark=self.offset, _flag=flag,
        )  # fmt: skip
        # The type of a stream's key is of no use.
        self.stream = record(
            split_id=UTF, _key_type=UTF, start=checked(self.offset, lambda offset: offset is not None), end=self.offset,
            finished_splits=many(finished), tables=self.tables, finished_splits_in_all=since(3, INT),
        )  # fmt: skip
        self.nested = sized(PayloadPart(self.snapshot_split, pa.null()))
        self.names = many(record(_flag=since(5, FLAG) if base else _NOTHING, table=_NAME))

    def split(self, reader: Reader, version: int) -> dict[str, Any]:
        kind = reader.i32("a kind")
        expect(kind, (_SNAPSHOT, _STREAM))
        found: dict[str, Any] = dict.fromkeys(_SPLIT_COLUMNS)
        if kind == _SNAPSHOT:
            found |= {"kind": "snapshot"} | self.snapshot.read(reader, version)
            return found
        found |= {"kind": "stream"} | self.stream.read(reader, version)
        # Offsets of version 1 are a text and a number and no JSON, so another connector's bytes could be taken for them.
        if version == 1 and found["split_id"] != _MYSQL_STREAM:
            raise FormatError("no stream of MySQL")
        if version < 3:
            found["finished_splits_in_all"] = len(found["finished_splits"])
        # MySQL's connector 2.2 wrote version 4 without this flag.
        if version >= 5 if self.base else version == 4 and reader.remaining:
            found["suspended"] = read_flag(reader)
        if self.base and version >= 6:
            found["snapshot_completed"] = read_flag(reader)
        return found

    def snapshot_split(self, reader: Reader, version: int) -> dict[str, Any]:
        """A split in the state of an enumerator."""
        split = self.split(reader, version)
        if split["kind"] != "snapshot":
            raise FormatError("no split of a snapshot")
        return {name: split[name] for name in _NESTED_COLUMNS}

    def assigned(self, reader: Reader, version: int) -> dict[str, Any]:
        id_, split = read_text(reader), self.nested.read(reader, version)
        if split["split_id"] != id_:
            raise FormatError("a split under the name of another one")
        found: dict[str, Any] = split
        return found

    def table_names(self, reader: Reader, version: int) -> list[str]:
        """:param version: of the enumerator."""
        return [one["table"] for one in self.names.read(reader, version)]

    def enumerator(self, reader: Reader, version: int) -> dict[str, Any]:
        splits, kind = reader.i32("a version of splits"), reader.i32("a kind")
        expect(splits, range(1, 7))
        expect(kind, (_SNAPSHOT, _HYBRID))
        assigned = PayloadPart(self.assigned, pa.null())
        found: dict[str, Any] = dict.fromkeys(field.name for field in _PENDING) | {
            "kind": "snapshot" if kind == _SNAPSHOT else "hybrid",
            "processed_tables": self.table_names(reader, version),
            "remaining_splits": many(self.nested).read(reader, splits),
            "assigned_splits": many(assigned).read(reader, splits),
            "finished_offsets": many(record(split_id=UTF, offset=self.offset)).read(reader, splits),
            "status": self.status(reader, version, splits),
        }
        if version >= 3:
            found |= {"remaining_tables": self.table_names(reader, version), "table_ids_case_sensitive": read_flag(reader)}
        if version >= 4:
            found["tables"] = self.tables.read(reader, splits)
        if self.base and version >= 7:
            found["finished_checkpoints"] = many(_CHECKPOINT).read(reader, version)
        if version >= (8 if self.base else 5) and read_flag(reader):
            found |= _CHUNK.read(reader, version)
        if kind == _HYBRID:
            found["stream_split_assigned"] = read_flag(reader)
        return found

    def status(self, reader: Reader, version: int, splits: int) -> str:
        """Older versions have whether all is assigned and finished, as has version 3 of MySQL's with splits of version 3."""
        if version < (6 if self.base else 3) or (version == splits == 3 and not self.base):
            return _STATUSES[read_flag(reader)]
        code = reader.i32("a status")
        expect(code, range(len(_STATUSES)))
        return (_STATUSES if self.base or version >= 5 else _STATUSES_2_2)[code]


_CHECKPOINT = record(split_id=UTF, checkpoint_id=LONG)
_CHUNK = record(splitting_table=_NAME, next_chunk_start=_BOUND, next_chunk_id=INT)
_FAMILIES = (_Family(base=False), _Family(base=True))


def read_cdc_split(reader: Reader, version: int) -> dict[str, Any]:
    """A split of either family.

    :raises StateExtractError: if it has neither's layout.
    """
    return _either(reader, lambda family, inner: family.split(inner, version))


def _enumerator(reader: Reader, version: int) -> dict[str, Any]:
    return _either(reader, lambda family, inner: family.enumerator(inner, version))


def _either(reader: Reader, read: Callable[[_Family, Reader], dict[str, Any]]) -> dict[str, Any]:
    """What one of both families takes to the last byte."""
    data = reader.bytes(reader.remaining)
    problem: StateExtractError = FormatError("no split of Flink CDC")
    for family in _FAMILIES:
        inner = Reader(data)
        try:
            value = read(family, inner)
            must_end(inner)
        except StateExtractError as error:
            problem = error
        else:
            return value
    raise problem


def _names_a_table(value: dict[str, Any], evidence: Evidence) -> bool:
    """Counts of zero may be of any connector."""
    return any(value[name] for name in ("processed_tables", "remaining_splits", "assigned_splits", "remaining_tables"))


_TABLES = pa.list_(struct_of(table=TEXT, schema=TEXT))
_FINISHED = struct_of(table=TEXT, split_id=TEXT, split_start=TEXT, split_end=TEXT, high_watermark=_OFFSET)
_SPLIT_COLUMNS: dict[str, pa.DataType] = {
    "kind": TEXT, "split_id": TEXT, "table": TEXT, "key_type": TEXT, "split_start": TEXT, "split_end": TEXT,
    "high_watermark": _OFFSET, "start": _OFFSET, "end": _OFFSET, "finished_splits": pa.list_(_FINISHED),
    "finished_splits_in_all": I32, "suspended": pa.bool_(), "snapshot_completed": pa.bool_(), "tables": _TABLES,
}  # fmt: skip
_NESTED_COLUMNS = ("split_id", "table", "key_type", "split_start", "split_end", "high_watermark")
_NESTED = struct_of(**{name: _SPLIT_COLUMNS[name] for name in _NESTED_COLUMNS})
_PENDING = struct_of(
    kind=TEXT, processed_tables=pa.list_(TEXT), remaining_splits=pa.list_(_NESTED), assigned_splits=pa.list_(_NESTED),
    finished_offsets=pa.list_(struct_of(split_id=TEXT, offset=_OFFSET)), status=TEXT, remaining_tables=pa.list_(TEXT),
    table_ids_case_sensitive=pa.bool_(), tables=_TABLES,
    finished_checkpoints=pa.list_(struct_of(split_id=TEXT, checkpoint_id=I64)), splitting_table=TEXT, next_chunk_start=TEXT,
    next_chunk_id=I32, stream_split_assigned=pa.bool_(),
)  # fmt: skip

register_form(
    "SourceReaderState",
    PayloadForm(
        "cdc_split", tuple(range(1, 7)), read_cdc_split, struct_of(**_SPLIT_COLUMNS),
        reason="offsets as JSON with keys of Debezium, bounds as hexadecimal text of Java objects",
    ),
)  # fmt: skip
register_form(
    COORDINATOR,
    PayloadForm(
        "cdc_enumerator", tuple(range(1, 9)), _enumerator, _PENDING, _names_a_table,
        reason="the same, and at least one table or split",
    ),
)  # fmt: skip
