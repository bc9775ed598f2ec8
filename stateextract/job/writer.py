"""Parquet files of one task: rows gathered per dataset under one memory budget, written as whole row groups.

A key group holds all states of its operator in turn, and pyarrow begins a row group with every write call; so batches
gather per dataset, and when the budget is full the largest dataset becomes one row group with one call. A file that
has reached the target size is finished and the next begun. The names of files are unique to the attempt: a second
attempt at the same split never touches the files of the first.

``ParquetWriter`` is never used with ``with``, nor left to its finalizer: both would write a footer and leave a valid
but short file behind when an exception passes. What is not finished is deleted.

Imports pyarrow; takes any ``pyarrow.fs`` file system. Must not know of Flink, Spark, or who publishes the files.
"""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq

from stateextract.errors import OutputError, StateExtractError
from stateextract.files.connect import access_error, without_queries
from stateextract.files.filesystem import split_uri

_SAMPLE = 20_000  # values per leaf column that the choice of an encoding looks at
_WORTH = 4  # a dictionary pays where a value occurs at least this often on average
_LEAST = 4_096  # values from which on encodings are tried: less is not worth the time
_SMALLER = 0.98  # another encoding than PLAIN pays if the sample gets at least this small

DICTIONARY = "DICTIONARY"


@dataclass(frozen=True)
class WriterOptions:
    """How files are written.

    :param compression: a codec of Parquet, or ``none``.
    :param target_file_bytes: size at which a file is finished.
    :param row_group_bytes: size in memory at which the rows of one dataset are written.
    :param memory_bytes: size in memory of the rows of all datasets at which the largest is written.
    """

    compression: str = "zstd"
    target_file_bytes: int = 512 * 10**6
    row_group_bytes: int = 64 * 10**6
    memory_bytes: int = 128 * 10**6


@dataclass(frozen=True)
class WrittenFile:
    """A finished file; ``path`` is relative to the folder that the task writes to, and in the manifest to the output."""

    path: str
    rows: int
    bytes: int


@dataclass
class _Dataset:
    schema: pa.Schema
    folder: str
    batches: list[pa.RecordBatch] = field(default_factory=list)
    size: int = 0
    rows: int = 0
    encodings: Mapping[str, str] | None = None
    files: int = 0
    open: _OpenFile | None = None


class _OpenFile:
    """A Parquet file in the making."""

    def __init__(self, fs: pafs.FileSystem, path: str, schema: pa.Schema, settings: dict[str, Any]) -> None:
        self._fs = fs
        self._path = path
        self.rows = 0
        self._stream = fs.open_output_stream(path)
        try:
            self._writer = pq.ParquetWriter(self._stream, schema, **settings)
        except BaseException:
            self._drop_file()
            raise

    def write(self, table: pa.Table) -> int:
        """Add a row group; the size of the file so far."""
        self._writer.write_table(table, row_group_size=max(table.num_rows, 1))
        self.rows += table.num_rows
        return int(self._stream.tell())

    def finish(self) -> int:
        """Write the footer; the size of the file."""
        self._writer.close()
        size = int(self._stream.tell())
        self._stream.close()
        return size

    def abort(self) -> None:
        """Delete the file. The stream is closed first, so that no footer can reach it any more."""
        self._writer.is_open = False
        self._drop_file()

    def _drop_file(self) -> None:
        with contextlib.suppress(Exception):
            self._stream.close()
        with contextlib.suppress(Exception):
            self._fs.delete_file(self._path)


class TaskWriter:
    """Writes the datasets of one attempt at one split.

    :param fs: file system of the output.
    :param root: folder that the paths of the files are relative to.
    :param stem: beginning of the files' names, unique to the attempt.
    """

    def __init__(self, fs: pafs.FileSystem, root: str, stem: str, options: WriterOptions) -> None:
        self._fs = fs
        self._root = root.rstrip("/")
        self._stem = stem
        self._options = options
        self._datasets: dict[str, _Dataset] = {}
        self._finished: list[WrittenFile] = []
        self._gathered = 0

    def add(self, folder: str, batch: pa.RecordBatch) -> None:
        """Take rows for the dataset in ``folder``; all batches of a dataset have the same schema."""
        if batch.num_rows == 0:
            return
        dataset = self._datasets.get(folder)
        if dataset is None:
            dataset = self._datasets[folder] = _Dataset(batch.schema, folder)
        size = int(batch.nbytes)
        dataset.batches.append(batch)
        dataset.size += size
        dataset.rows += batch.num_rows
        self._gathered += size
        if dataset.size >= self._options.row_group_bytes:
            self._flush(dataset)
        while self._gathered > self._options.memory_bytes:
            self._flush(max(self._datasets.values(), key=lambda d: d.size))

    def finish(self) -> list[WrittenFile]:
        """Write what is left and finish all files."""
        for dataset in self._datasets.values():
            if dataset.batches:
                self._flush(dataset)
            if dataset.open is not None:
                self._finish_file(dataset)
        return self._finished

    def abort(self) -> None:
        """Delete everything that this attempt wrote, finished files too; never raises."""
        for dataset in self._datasets.values():
            if dataset.open is not None:
                dataset.open.abort()
                dataset.open = None
            dataset.batches.clear()
        for file in self._finished:
            with contextlib.suppress(Exception):
                self._fs.delete_file(f"{self._root}/{file.path}")
        self._finished.clear()

    def _flush(self, dataset: _Dataset) -> None:
        table = pa.Table.from_batches(dataset.batches, dataset.schema)
        dataset.batches = []
        self._gathered -= dataset.size
        dataset.size = dataset.rows = 0
        if dataset.encodings is None:
            dataset.encodings = column_encodings(table, self._options.compression)
        with _as_output_error(f"{self._root}/{dataset.folder}"):
            if dataset.open is None:
                dataset.open = self._begin_file(dataset)
            size = dataset.open.write(table)
        if size >= self._options.target_file_bytes:
            self._finish_file(dataset)

    def _begin_file(self, dataset: _Dataset) -> _OpenFile:
        self._fs.create_dir(f"{self._root}/{dataset.folder}", recursive=True)
        return _OpenFile(self._fs, f"{self._root}/{self._path(dataset)}", dataset.schema, self._settings(dataset))

    def _finish_file(self, dataset: _Dataset) -> None:
        assert dataset.open is not None
        with _as_output_error(f"{self._root}/{dataset.folder}"):
            size = dataset.open.finish()
        self._finished.append(WrittenFile(self._path(dataset), dataset.open.rows, size))
        dataset.open = None
        dataset.files += 1

    def _path(self, dataset: _Dataset) -> str:
        return f"{dataset.folder}/{self._stem}-{dataset.files}.parquet"

    def _settings(self, dataset: _Dataset) -> dict[str, Any]:
        return parquet_settings(self._options.compression, dataset.encodings or {})


def parquet_settings(compression: str, encodings: Mapping[str, str]) -> dict[str, Any]:
    """Arguments of ``ParquetWriter``: what the job's files are written with, also for benchmarks to compare with.

    :param encodings: of leaf columns by path, as :func:`column_encodings` returns them.
    """
    others = {path: encoding for path, encoding in encodings.items() if encoding != DICTIONARY}
    return {
        "compression": _codec(compression),
        "use_dictionary": [path for path in encodings if path not in others] or False,
        "column_encoding": others or None,
        "version": "2.6",
    }


def column_encodings(table: pa.Table, compression: str) -> dict[str, str]:
    """The encodings of the leaf columns that are not plain, by path, judged by their first values.

    A dictionary where values repeat. Else Parquet's encoding of differences, if it makes a sample smaller. Spark, DuckDB,
    Polars and pyarrow read it.
    """
    chosen = {}
    for name, column in zip(table.column_names, table.columns, strict=True):
        # The first batch of a decoder is small, and would show few repeated values.
        first = column.slice(0, _SAMPLE).chunks
        if not first:
            continue
        for path, leaf in _leaves(name, pa.concat_arrays(first)):
            sample = leaf.slice(0, _SAMPLE).drop_null()
            if len(sample) == 0 or pa.types.is_boolean(leaf.type):
                continue
            if len(sample.unique()) * _WORTH <= len(sample):
                chosen[path] = DICTIONARY
                continue
            other = _encoding_of_differences(leaf.type)
            if other is None or len(sample) < _LEAST:
                continue
            if _encoded_size(sample, compression, other) <= _SMALLER * _encoded_size(sample, compression, None):
                chosen[path] = other
    return chosen


def _encoding_of_differences(type_: pa.DataType) -> str | None:
    """The encoding for a type that Parquet stores as whole numbers or as strings; ``None`` for other types."""
    types = pa.types
    if types.is_integer(type_) or types.is_timestamp(type_) or types.is_date(type_) or types.is_time(type_):
        return "DELTA_BINARY_PACKED"
    if types.is_string(type_) or types.is_binary(type_):
        return "DELTA_BYTE_ARRAY"
    return None


def _encoded_size(sample: pa.Array, compression: str, encoding: str | None) -> int:
    """Bytes of a file with these values."""
    stream = pa.BufferOutputStream()
    pq.write_table(
        pa.table({"c": sample}), stream, compression=_codec(compression), use_dictionary=False,
        column_encoding=None if encoding is None else {"c": encoding}, write_statistics=False, store_schema=False,
    )  # fmt: skip
    return int(stream.tell())


def _codec(compression: str) -> str:
    return "NONE" if compression == "none" else compression


def _leaves(path: str, array: pa.Array) -> Iterator[tuple[str, pa.Array]]:
    """Leaf columns below an array with their Parquet paths."""
    type_ = array.type
    if pa.types.is_struct(type_):
        for i, child in enumerate(array.flatten()):
            yield from _leaves(f"{path}.{type_.field(i).name}", child)
    elif pa.types.is_map(type_):
        first = array.offsets[0].as_py()
        count = array.offsets[len(array)].as_py() - first
        for name, child in (("key", array.keys), ("value", array.items)):
            yield from _leaves(f"{path}.key_value.{name}", child.slice(first, count))
    elif pa.types.is_list(type_) or pa.types.is_large_list(type_) or pa.types.is_fixed_size_list(type_):
        yield from _leaves(f"{path}.list.element", array.flatten())
    elif not pa.types.is_null(type_):
        yield path, array


@contextlib.contextmanager
def _as_output_error(where: str) -> Iterator[None]:
    """Errors of the store become :class:`OutputError`; a full disk says so."""
    try:
        yield
    except StateExtractError as error:  # a store that does not answer
        raise error.at(file=where) from None
    except OSError as error:
        raise write_error(error, where) from error


def write_error(error: Exception, where: str) -> OutputError:
    """The error that the user sees for one of the store's."""
    denied = access_error(error, split_uri(where).scheme)
    if denied is not None:
        return OutputError(f"the output cannot be written: {denied[0]}", file=where, advice=denied[1])
    reason = " ".join(without_queries(str(error)).split())
    if "No space left" in reason or getattr(error, "errno", None) == errno.ENOSPC:
        return OutputError("the disk is full", file=where, advice="free space or choose another --output")
    return OutputError(f"the output cannot be written: {reason}", file=where)
