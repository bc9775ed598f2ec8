"""A history on disk: a folder with one Parquet file for each snapshot, which any engine reads as one dataset.

A file holds the rows of its snapshot (``history.py``) and, as JSON in the column ``statistics``, all that the
statistics document says of each state; what else the document says is in the file's key-value metadata. So the document is
there again without reading the snapshot, and who queries the statistics reads neither.

A file is called after its snapshot, so that writing a snapshot again replaces it, and is visible only when it is whole: it is
renamed where the store can do that, and object stores show no part of a file.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq

from stateextract.audit.document import SnapshotDocument, Statistics, Totals, check_format
from stateextract.audit.history import SCHEMA, identity, in_order, table_of
from stateextract.audit.history.growth import COLUMNS
from stateextract.errors import OutputError, UsageError
from stateextract.job.output import open_output, refuse_inside
from stateextract.printable import pluralize

KEY = b"stateextract.statistics"
"""Of the file's metadata: the statistics document, with the number of an operator's states in place of them."""
DIGEST = b"stateextract.sha256"
"""Of the file's metadata: the SHA-256 of that text in hex, since Parquet has checksums of pages only."""
STATISTICS = "statistics"
"""The column that has what the document says of a state."""
FILE_SCHEMA = SCHEMA.append(pa.field(STATISTICS, pa.string()))
_ADVICE = "write it by stateextract history"
_DAMAGE = (
    OSError, pa.ArrowException, ValueError, TypeError, KeyError, RecursionError, StopIteration, MemoryError,
)  # fmt: skip
"""What reading a damaged file may raise."""


@dataclass(frozen=True)
class Recorded:
    """A snapshot whose statistics are known.

    :param rows: of its states, the columns that growth is about (``growth.COLUMNS``).
    :param document: gives the whole document. Its errors are those of :func:`read_history`.
    """

    snapshot: SnapshotDocument
    totals: Totals
    rows: pa.Table
    document: Callable[[], Statistics]


def recorded(document: Statistics) -> Recorded:
    """Of statistics that were measured already."""
    rows = table_of([document]).select(list(COLUMNS))
    return Recorded(document.snapshot, document.totals, rows, lambda: document)


def file_name(snapshot: SnapshotDocument) -> str:
    """What the file of a snapshot is called, wherever the snapshot lies."""
    return f"checkpoint-{snapshot.checkpoint_id}-{identity(snapshot)[:16]}.parquet"


# ---- writing


def write_snapshot(folder: str, document: Statistics) -> str:
    """Write the file of a snapshot into the folder of a history; one that is there is replaced.

    :param folder: a path or a URI; made if it is not there.
    :returns: the name of the file.
    :raises OutputError: where that is invalid.
    :raises UsageError: where it is the URI of no store, or inside of the snapshot.
    """
    refuse_inside(folder, document.snapshot.path)
    output, name = open_output(folder), file_name(document.snapshot)
    texts = [json.dumps(state, default=vars, allow_nan=False) for _, state in document.states]
    table = table_of([document]).append_column(FILE_SCHEMA.field(STATISTICS), pa.array(texts, pa.string()))
    head = {**vars(document), "operators": [{**vars(o), "states": len(o.states)} for o in document.operators]}
    text = json.dumps(head, default=vars, allow_nan=False).encode()
    table = table.replace_schema_metadata({KEY: text, DIGEST: hashlib.sha256(text).hexdigest().encode()})
    # Engines skip files whose names begin like this.
    written = output.path(f"_{uuid.uuid4().hex[:12]}-{name}.tmp" if output.renames else name)
    try:
        output.fs.create_dir(output.root, recursive=True)
        try:
            with output.fs.open_output_stream(written) as stream:
                # With checksums: what damage makes of statistics must not pass for statistics.
                pq.write_table(table, stream, compression="zstd", write_page_checksum=True)
            if output.renames:
                output.replace(written, output.path(name))
        except BaseException:
            with contextlib.suppress(OSError):
                output.fs.delete_file(written)
            raise
    except OSError as error:
        raise OutputError(f"it cannot be written: {' '.join(str(error).split())}", file=output.path(name)) from error
    return name


# ---- reading


def history_files(path: str) -> list[str]:
    """The names of the files of a history; none if the folder does not exist. A path of one file gives that file.

    :raises UsageError: where the folder cannot be looked into.
    """
    output = open_output(path)
    with _our_errors(path):
        if output.fs.get_file_info(output.root).type == pafs.FileType.File:
            return [output.root]
        found = output.fs.get_file_info(pafs.FileSelector(output.root, allow_not_found=True))
    return sorted(
        info.path
        for info in found
        if info.type == pafs.FileType.File and info.base_name.endswith(".parquet") and info.base_name[0] not in "._"
    )


def read_history(path: str) -> list[Recorded]:
    """The snapshots of a history, from the oldest to the newest.

    :param path: a folder, or one of its files.
    :raises UsageError: where a file is something else than :func:`write_snapshot` writes.
    """
    fs = open_output(path).fs
    # Files of one snapshot under two names (a copy) count once.
    found = {identity(one.snapshot): one for one in (_recorded(fs, file) for file in history_files(path))}
    return in_order(found.values())


def _recorded(fs: pafs.FileSystem, file: str) -> Recorded:
    with _our_errors(file), _opened(fs, file) as parquet:
        head = _head(parquet, file)
        rows = _rows(parquet, file, COLUMNS)
        known = Statistics.from_dict({**head, "operators": []})
        if sum(operator["states"] for operator in head["operators"]) != rows.num_rows:
            raise UsageError(f"it has {pluralize(rows.num_rows, 'row')}, and not those that were written", advice=_ADVICE)

        def document() -> Statistics:
            with _our_errors(file), _opened(fs, file) as again:
                return _document(again, file)

        return Recorded(known.snapshot, known.totals, rows, document)


def _document(parquet: pq.ParquetFile, file: str) -> Statistics:
    head = _head(parquet, file)
    texts = iter(_rows(parquet, file, (STATISTICS,))[STATISTICS].to_pylist())
    operators = [{**o, "states": [json.loads(next(texts)) for _ in range(o["states"])]} for o in head["operators"]]
    return Statistics.from_dict({**head, "operators": operators})


def _head(parquet: pq.ParquetFile, file: str) -> dict[str, Any]:
    metadata = parquet.metadata.metadata or {}
    text = metadata.get(KEY)
    if text is None:
        raise UsageError("it is a Parquet file, but no statistics document is in it", advice=_ADVICE)
    if metadata.get(DIGEST) != hashlib.sha256(text).hexdigest().encode():
        raise UsageError("its statistics document is not the one that was written", advice=_ADVICE)
    head = json.loads(text)
    if not isinstance(head, dict):
        raise UsageError("its statistics document is not an object", advice=_ADVICE)
    check_format(head)
    operators = head.get("operators")
    if not isinstance(operators, list) or not all(isinstance(o, dict) for o in operators):
        raise UsageError("its statistics document has no operators", advice=_ADVICE)
    if any(type(o.get("states")) is not int or o["states"] < 0 for o in operators):
        raise UsageError("its statistics document does not count the states of operators", advice=_ADVICE)
    return head


def _rows(parquet: pq.ParquetFile, file: str, columns: tuple[str, ...]) -> pa.Table:
    schema = pa.schema([FILE_SCHEMA.field(name) for name in columns])
    missing = [name for name in columns if name not in parquet.schema_arrow.names]
    if missing:
        raise UsageError(f"it lacks the column {missing[0]}", advice=_ADVICE)
    table = parquet.read(columns=list(columns)).select(list(columns))
    return table.replace_schema_metadata(None).cast(schema)


@contextlib.contextmanager
def _opened(fs: pafs.FileSystem, file: str) -> Iterator[pq.ParquetFile]:
    with fs.open_input_stream(file) as source:  # of some stores only this can be read without a seek
        data = source.read()
    with pq.ParquetFile(pa.BufferReader(data), page_checksum_verification=True, memory_map=False) as parquet:
        yield parquet


@contextlib.contextmanager
def _our_errors(file: str) -> Iterator[None]:
    """Reports any problem of a file as one error about this file."""
    try:
        yield
    except UsageError as error:
        raise error.at(file=file) from None
    except _DAMAGE as error:
        reason = " ".join(str(error).split())[:300] or type(error).__name__
        raise UsageError(
            f"this is not a file of a history, or it is corrupt: {reason}", file=file, advice=_ADVICE
        ) from error
