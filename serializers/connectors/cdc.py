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
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from serializers.connectors.embedded import java_json, json_object, read_utf8
from serializers.connectors.forms import COORDINATOR, PayloadForm, register_form
from serializers.connectors.payload_parts import I32, I64, TEXT, expect, must_end, read_flag, read_text, struct_of
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


@dataclass(frozen=True)
class _Layout:
    """How one of the two families writes in one version.

    :param version: of the splits' serializer.
    :param base: ``flink-cdc-base``, not MySQL's own classes.
    """

    version: int
    base: bool

    @property
    def flags(self) -> bool:
        """Whether a flag tells how the name of a table is to be read."""
        return self.base and self.version >= 4


# ---- splits


def read_cdc_split(reader: Reader, version: int) -> dict[str, Any]:
    """A split of either family.

    :raises StateExtractError: if it has neither's layout.
    """
    return _either(reader, lambda inner, base: _split(inner, _Layout(version, base)))


def _either(reader: Reader, read: Callable[[Reader, bool], dict[str, Any]]) -> dict[str, Any]:
    """What one of both families takes to the last byte."""
    data = reader.bytes(reader.remaining)
    problem: StateExtractError = FormatError("no split of Flink CDC")
    for base in (False, True):
        inner = Reader(data)
        try:
            value = read(inner, base)
            must_end(inner)
        except StateExtractError as error:
            problem = error
        else:
            return value
    raise problem


def _split(reader: Reader, layout: _Layout) -> dict[str, Any]:
    kind = reader.i32("a kind")
    expect(kind, (_SNAPSHOT, _STREAM))
    read = _snapshot_split if kind == _SNAPSHOT else _stream_split
    return dict.fromkeys(_SPLIT_COLUMNS) | read(reader, layout)


def _snapshot_split(reader: Reader, layout: _Layout) -> dict[str, Any]:
    if layout.flags:
        read_flag(reader)
    return {
        "kind": "snapshot", "table": _table(reader), "split_id": read_text(reader), "key_type": read_text(reader),
        **_bounds(reader), "high_watermark": _offset(reader, layout), "tables": _tables(reader, layout),
    }  # fmt: skip


def _stream_split(reader: Reader, layout: _Layout) -> dict[str, Any]:
    split: dict[str, Any] = {"kind": "stream", "split_id": read_text(reader)}
    read_text(reader)  # the type of the key, which is of no use
    split |= {"start": _offset(reader, layout), "end": _offset(reader, layout)}
    if split["start"] is None:
        raise FormatError("a stream without an offset")
    # Offsets of version 1 are a text and a number and no JSON, so another connector's bytes could be taken for them.
    if layout.version == 1 and split["split_id"] != _MYSQL_STREAM:
        raise FormatError("no stream of MySQL")
    finished = [_finished_split(reader, layout) for _ in range(reader.count("splits", least=9))]
    split |= {"finished_splits": finished, "tables": _tables(reader, layout)}
    split["finished_splits_in_all"] = reader.i32("a number of splits") if layout.version >= 3 else len(finished)
    # MySQL's connector 2.2 wrote version 4 without this flag.
    if layout.version >= 5 if layout.base else layout.version == 4 and reader.remaining:
        split["suspended"] = read_flag(reader)
    if layout.base and layout.version >= 6:
        split["snapshot_completed"] = read_flag(reader)
    return split


def _finished_split(reader: Reader, layout: _Layout) -> dict[str, Any]:
    split: dict[str, Any] = {"table": _table(reader), "split_id": read_text(reader)} | _bounds(reader)
    if layout.base:
        # The factory of offsets, an object of the database's own class.
        java_json(_hex(reader))
    split["high_watermark"] = _offset(reader, layout)
    if layout.flags:
        read_flag(reader)
    return split


def _bounds(reader: Reader) -> dict[str, str | None]:
    return {"split_start": java_json(_hex(reader)), "split_end": java_json(_hex(reader))}


def _hex(reader: Reader) -> bytes:
    try:
        return bytes.fromhex(read_text(reader))
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


def _offset(reader: Reader, layout: _Layout) -> dict[str, Any] | None:
    if not read_flag(reader):
        return None
    found: dict[str, Any] = dict.fromkeys(field.name for field in _OFFSET)
    if layout.version == 1:
        return found | {"file": read_text(reader), "position": reader.i64("a position")}
    text = read_utf8(reader)
    values = json_object(text)
    known = values.keys() & _OFFSET_COLUMNS.keys()
    of_family = bool(known) and layout.base != bool(known & _MYSQL)
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


def _tables(reader: Reader, layout: _Layout) -> list[dict[str, Any]]:
    """Tables with their schemas, which Debezium writes as JSON."""
    tables = []
    for _ in range(reader.count("tables", least=4)):
        if layout.flags:
            read_flag(reader)
        name = _table(reader)
        schema = read_text(reader) if layout.version == 1 else read_utf8(reader)
        json_object(schema)
        tables.append({"table": name, "schema": schema})
    return tables


# ---- enumerators


def _enumerator(reader: Reader, version: int) -> dict[str, Any]:
    return _either(reader, lambda inner, base: _pending(inner, version, base))


def _pending(reader: Reader, version: int, base: bool) -> dict[str, Any]:
    split_version, kind = reader.i32("a version of splits"), reader.i32("a kind")
    expect(split_version, range(1, 7))
    expect(kind, (_SNAPSHOT, _HYBRID))
    layout = _Layout(split_version, base)
    flags = base and version >= 5
    found: dict[str, Any] = dict.fromkeys(field.name for field in _PENDING) | {
        "kind": "snapshot" if kind == _SNAPSHOT else "hybrid",
        "processed_tables": _table_names(reader, flags),
        "remaining_splits": [_nested(reader, layout) for _ in range(reader.count("splits", least=8))],
        "assigned_splits": [_assigned(reader, layout) for _ in range(reader.count("splits", least=8))],
        "finished_offsets": [
            {"split_id": read_text(reader), "offset": _offset(reader, layout)}
            for _ in range(reader.count("offsets", least=3))
        ],
        "status": _status(reader, version, layout),
    }
    if version >= 3:
        found |= {"remaining_tables": _table_names(reader, flags), "table_ids_case_sensitive": read_flag(reader)}
    if version >= 4:
        found["tables"] = _tables(reader, layout)
    if base and version >= 7:
        found["finished_checkpoints"] = [
            {"split_id": read_text(reader), "checkpoint_id": reader.i64("a checkpoint")}
            for _ in range(reader.count("checkpoints", least=10))
        ]
    if version >= (8 if base else 5) and read_flag(reader):
        found |= {"splitting_table": _table(reader), "next_chunk_start": java_json(_hex(reader))}
        found["next_chunk_id"] = reader.i32("a chunk")
    if kind == _HYBRID:
        found["stream_split_assigned"] = read_flag(reader)
    return found


def _table_names(reader: Reader, flags: bool) -> list[str]:
    names = []
    for _ in range(reader.count("tables", least=2)):
        if flags:
            read_flag(reader)
        names.append(_table(reader))
    return names


def _nested(reader: Reader, layout: _Layout) -> dict[str, Any]:
    inner = Reader(reader.bytes(reader.i32("a length"), "a split"))
    split = _split(inner, layout)
    must_end(inner)
    if split["kind"] != "snapshot":
        raise FormatError("no split of a snapshot")
    return {name: split[name] for name in _NESTED_COLUMNS}


def _assigned(reader: Reader, layout: _Layout) -> dict[str, Any]:
    id_ = read_text(reader)
    split = _nested(reader, layout)
    if split["split_id"] != id_:
        raise FormatError("a split under the name of another one")
    return split


def _status(reader: Reader, version: int, layout: _Layout) -> str:
    """Older versions have whether all is assigned and finished, as has version 3 of MySQL's with splits of version 3."""
    if version < (6 if layout.base else 3) or (version == layout.version == 3 and not layout.base):
        return _STATUSES[read_flag(reader)]
    code = reader.i32("a status")
    expect(code, range(len(_STATUSES)))
    return (_STATUSES if layout.base or version >= 5 else _STATUSES_2_2)[code]


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
