from __future__ import annotations

from pathlib import Path

import duckdb
import polars
import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq
import pytest

from stateextract.errors import OutputError
from stateextract.job.writer import DICTIONARY, TaskWriter, WriterOptions, column_encodings
from tests.job.differences import differences, write_differences


def _writer(root: Path, **options: object) -> TaskWriter:
    return TaskWriter(pafs.LocalFileSystem(), str(root), "part-00000-try", WriterOptions(**options))  # type: ignore[arg-type]


def _longs(first: int, n: int) -> pa.RecordBatch:
    return pa.record_batch({"key": pa.array(range(first, first + n), pa.int64())})


def test_batches_of_one_dataset_become_one_row_group(tmp_path: Path) -> None:
    writer = _writer(tmp_path)
    for i in range(10):
        writer.add("op/a", _longs(i * 100, 100))
        writer.add("op/b", _longs(i, 1))
    files = writer.finish()
    assert [(f.path, f.rows) for f in files] == [
        ("op/a/part-00000-try-0.parquet", 1000),
        ("op/b/part-00000-try-0.parquet", 10),
    ]
    meta = pq.read_metadata(tmp_path / files[0].path)
    assert (meta.num_row_groups, meta.num_rows) == (1, 1000)
    assert files[0].bytes == (tmp_path / files[0].path).stat().st_size
    assert pq.read_table(tmp_path / files[0].path)["key"].to_pylist() == list(range(1000))


def test_the_largest_dataset_is_written_when_memory_is_full(tmp_path: Path) -> None:
    writer = _writer(tmp_path, memory_bytes=10_000)
    writer.add("small", _longs(0, 100))  # 800 bytes
    for i in range(3):
        writer.add("large", _longs(i * 500, 500))  # 4,000 bytes each: the third goes beyond the budget
    assert pq_groups(tmp_path, writer) == {"large": [1500], "small": [100]}


def test_a_dataset_is_written_when_it_fills_a_row_group(tmp_path: Path) -> None:
    writer = _writer(tmp_path, row_group_bytes=8_000)
    for i in range(5):
        writer.add("d", _longs(i * 500, 500))
    assert pq_groups(tmp_path, writer) == {"d": [1000, 1000, 500]}


def pq_groups(root: Path, writer: TaskWriter) -> dict[str, list[int]]:
    groups: dict[str, list[int]] = {}
    for file in writer.finish():
        meta = pq.read_metadata(root / file.path)
        rows = [meta.row_group(i).num_rows for i in range(meta.num_row_groups)]
        groups.setdefault(file.path.split("/")[0], []).extend(rows)
    return groups


def test_files_end_at_the_target_size(tmp_path: Path) -> None:
    writer = _writer(tmp_path, row_group_bytes=8_000, target_file_bytes=10_000, compression="none")
    for i in range(6):
        writer.add("d", _longs(i * 1000, 1000))
    files = writer.finish()
    assert [f.path for f in files] == [f"d/part-00000-try-{i}.parquet" for i in range(3)]
    assert [f.rows for f in files] == [2000, 2000, 2000]
    keys = [k for f in files for k in pq.read_table(tmp_path / f.path)["key"].to_pylist()]
    assert keys == list(range(6000))


def test_empty_batches_make_no_file(tmp_path: Path) -> None:
    writer = _writer(tmp_path)
    writer.add("d", _longs(0, 0))
    assert writer.finish() == []
    assert list(tmp_path.iterdir()) == []


def test_abort_deletes_open_and_finished_files(tmp_path: Path) -> None:
    writer = _writer(tmp_path, row_group_bytes=8_000, target_file_bytes=1)
    writer.add("done", _longs(0, 1000))
    writer._options = WriterOptions(row_group_bytes=8_000)
    writer.add("open", _longs(0, 1000))
    assert {p.name for p in tmp_path.rglob("*.parquet")} == {"part-00000-try-0.parquet"}
    assert len(list(tmp_path.rglob("*.parquet"))) == 2
    writer.abort()
    del writer
    assert list(tmp_path.rglob("*.parquet")) == []


def test_a_full_disk_is_said_and_leaves_nothing_that_counts(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "part-00000-try-0.parquet").symlink_to("/dev/full")
    writer = _writer(tmp_path, row_group_bytes=80_000, compression="none")
    with pytest.raises(OutputError, match="the disk is full") as caught:
        writer.add("d", _longs(0, 1_000_000))
    assert caught.value.file == f"{tmp_path}/d"
    writer.abort()
    assert list((tmp_path / "d").iterdir()) == []


def test_an_output_that_cannot_be_created(tmp_path: Path) -> None:
    (tmp_path / "d").write_text("a file where a folder should be")
    writer = _writer(tmp_path)
    writer.add("d", _longs(0, 1))
    with pytest.raises(OutputError, match="cannot be written"):
        writer.finish()


def test_dictionaries_only_where_values_repeat(tmp_path: Path) -> None:
    n = 2_000
    table = pa.table(
        {
            "few": pa.array([f"v{i % 7}" for i in range(n)]),
            "all": pa.array(range(n)),
            "flag": pa.array([True] * n),
            "s": pa.array([{"a": i, "b.c": i % 3} for i in range(n)]),
            "l": pa.array([[1, 2, 3, 4]] * n),
            "m": pa.array([[(str(i), 1)] for i in range(n)], pa.map_(pa.string(), pa.int64())),
            "none": pa.array([None] * n, pa.string()),
        }
    )
    assert column_encodings(table, "zstd") == dict.fromkeys(
        ["few", "s.b.c", "l.list.element", "m.key_value.value"], DICTIONARY
    )
    writer = _writer(tmp_path)
    for batch in table.to_batches():
        writer.add("d", batch)
    meta = pq.read_metadata(tmp_path / writer.finish()[0].path).row_group(0)
    with_dictionary = {
        meta.column(i).path_in_schema for i in range(meta.num_columns) if "RLE_DICTIONARY" in meta.column(i).encodings
    }
    assert {"few", "s.b.c", "l.list.element", "m.key_value.value"} <= with_dictionary
    assert not with_dictionary & {"all", "flag", "s.a", "m.key_value.key"}


def test_numbers_and_strings_are_encoded_as_differences_where_that_is_smaller(tmp_path: Path) -> None:
    table = differences(20_000)
    chosen = column_encodings(table, "zstd")
    assert chosen == {
        "near": "DELTA_BINARY_PACKED", "time": "DELTA_BINARY_PACKED", "day": DICTIONARY, "key": "DELTA_BYTE_ARRAY",
        "s.n": "DELTA_BINARY_PACKED", "s.t": "DELTA_BYTE_ARRAY", "l.list.element": "DELTA_BINARY_PACKED",
        "m.key_value.key": "DELTA_BYTE_ARRAY", "m.key_value.value": "DELTA_BINARY_PACKED",
    }  # fmt: skip
    # Few values are not worth the attempt.
    assert column_encodings(table.slice(0, 2_000), "zstd") == {"day": DICTIONARY}
    file = write_differences(tmp_path, table)
    meta = pq.read_metadata(file).row_group(0)
    found = {meta.column(i).path_in_schema: set(meta.column(i).encodings) for i in range(meta.num_columns)}
    for path, encodings in found.items():
        name = chosen.get(path, "PLAIN").replace(DICTIONARY, "RLE_DICTIONARY")
        assert name in encodings, path
    assert pq.read_table(file).select(table.column_names) == table
    keys = [f"key-{number:08d}" for number in range(20_000)]
    select = f"select key, near, day, l[2], s.t from read_parquet('{file}') where near % 5000 = 7 order by key"
    rows = table.to_pylist()
    expected = [(r["key"], r["near"], r["day"], r["l"][1], r["s"]["t"]) for r in rows if (r["near"] or 0) % 5000 == 7]
    assert expected
    assert duckdb.sql(select).fetchall() == expected
    frame = polars.read_parquet(file)
    assert frame["key"].to_list() == keys
    assert frame["near"].to_list() == table["near"].to_pylist()
    assert frame["s"].to_list() == table["s"].to_pylist()
    assert frame["l"].to_list() == table["l"].to_pylist()


def test_encodings_are_judged_by_more_than_a_small_first_batch(tmp_path: Path) -> None:
    table = pa.table({"name": [f"name {i * 7919 % 3_000}" for i in range(20_000)]})
    assert column_encodings(table.slice(0, 1_024), "zstd") == {}
    writer = _writer(tmp_path)
    for start, end in ((0, 1_024), (1_024, 20_000)):
        writer.add("d", table.slice(start, end - start).combine_chunks().to_batches()[0])
    column = pq.read_metadata(tmp_path / writer.finish()[0].path).row_group(0).column(0)
    assert "RLE_DICTIONARY" in column.encodings


def test_the_file_is_smaller_than_a_plain_one(tmp_path: Path) -> None:
    table = differences(20_000)
    dictionary = [path for path, name in column_encodings(table, "zstd").items() if name == DICTIONARY]
    pq.write_table(table, tmp_path / "plain.parquet", compression="zstd", use_dictionary=dictionary)
    assert write_differences(tmp_path, table).stat().st_size < 0.85 * (tmp_path / "plain.parquet").stat().st_size


def test_compression_is_what_was_asked_for(tmp_path: Path) -> None:
    for name in ("zstd", "snappy", "gzip", "lz4", "none"):
        writer = _writer(tmp_path, compression=name)
        writer.add(name, _longs(0, 1000))
        column = pq.read_metadata(tmp_path / writer.finish()[0].path).row_group(0).column(0)
        assert column.compression == {"none": "UNCOMPRESSED"}.get(name, name.upper())
