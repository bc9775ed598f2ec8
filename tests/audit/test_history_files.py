"""A history on disk: one file for each snapshot, a dataset for any engine, and the document back as it was."""

from __future__ import annotations

import hashlib
import json
import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from stateextract.audit.document import FORMAT, Statistics
from stateextract.audit.history import SCHEMA, table_of
from stateextract.audit.history.growth import COLUMNS
from stateextract.audit.history.history_files import (
    DIGEST,
    FILE_SCHEMA,
    KEY,
    file_name,
    history_files,
    read_history,
    recorded,
    write_snapshot,
)
from stateextract.errors import OutputError, UsageError
from tests.audit.test_document import DOCUMENT
from tests.audit.test_history import at
from tests.report.documents import hostile, shop
from tests.stores import put_stores_into_memory


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_the_dataset_grows(tmp_path: Path) -> None:
    folder = tmp_path / "made" / "history"
    assert read_history(str(folder)) == []
    first, second = at(1, None), at(2, 7)
    written = [write_snapshot(str(folder), document) for document in (second, first)]
    assert written == [file_name(second.snapshot), file_name(first.snapshot)]
    assert names(folder) == sorted(written)
    found = read_history(str(folder))
    assert [one.document() for one in found] == [first, second]
    assert [(one.snapshot, one.totals) for one in found] == [(d.snapshot, d.totals) for d in (first, second)]
    assert [one.rows for one in found] == [recorded(d).rows for d in (first, second)]
    assert [one.document() for one in read_history(str(folder / written[0]))] == [second]
    # The same snapshot again, of which more is known now: its rows are replaced.
    again = at(2, 8)
    write_snapshot(str(folder), again)
    assert names(folder) == sorted(written)
    assert pq.read_table(folder, columns=["row_count"])["row_count"].to_pylist() == [1, 8, None, 2]
    # A copy of a snapshot is that snapshot.
    moved = replace(again, snapshot=replace(again.snapshot, metadata_sha256="ab" * 32))
    write_snapshot(str(folder), moved)
    write_snapshot(str(folder), replace(moved, snapshot=replace(moved.snapshot, path="/elsewhere/_metadata")))
    assert names(folder) == sorted([*written, "checkpoint-2-abababababababab.parquet"])
    (folder / "a copy.parquet").write_bytes((folder / written[0]).read_bytes())
    assert [one.snapshot.checkpoint_id for one in read_history(str(folder))] == [1, 2, 2]


def test_engines_read_it_as_it_is(tmp_path: Path) -> None:
    for document in (at(1, None), DOCUMENT):
        write_snapshot(str(tmp_path), document)
    table = pq.read_table(tmp_path)
    assert table.schema.remove_metadata() == FILE_SCHEMA
    assert table.select(SCHEMA.names).replace_schema_metadata(None) == table_of([at(1, None), DOCUMENT])
    unnested = f"(SELECT *, unnest(columns) AS c FROM '{tmp_path}/*.parquet' WHERE checkpoint_id = 7)"
    query = f"SELECT state_name, c.name, c.max, c.quantiles[1].value FROM {unnested}"
    assert duckdb.sql(query).fetchall() == [("totals", "value.amount", "Infinity", "1.25")]
    query = f"SELECT statistics->>'$.ttl.histogram[0].rows' FROM '{tmp_path}/*.parquet' WHERE checkpoint_id = 7 AND expired = 4"
    assert duckdb.sql(query).fetchall() == [("10",)]


@pytest.mark.parametrize("document", [DOCUMENT, shop(), hostile(), replace(shop(), operators=[])])
def test_the_document_is_there_again(tmp_path: Path, document: Statistics) -> None:
    write_snapshot(str(tmp_path), document)
    (found,) = read_history(str(tmp_path))
    assert found.document() == document


def test_nothing_is_left_of_what_could_not_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_snapshot(str(tmp_path), at(1, 1))
    before = (tmp_path / names(tmp_path)[0]).read_bytes()

    def full(table: Any, stream: Any, **_: Any) -> None:
        assert any(name.startswith("_") and name.endswith(".tmp") for name in names(tmp_path))
        stream.write(b"PAR1")
        raise OSError("no space")

    monkeypatch.setattr("stateextract.audit.history.history_files.pq.write_table", full)
    with pytest.raises(OutputError, match="it cannot be written: no space"):
        write_snapshot(str(tmp_path), at(1, 2))
    assert names(tmp_path) == [file_name(at(1, 1).snapshot)]
    assert (tmp_path / names(tmp_path)[0]).read_bytes() == before
    with pytest.raises(OutputError, match="it cannot be written"):
        write_snapshot(str(tmp_path / names(tmp_path)[0]), at(2, 1))


def test_a_store_that_does_not_rename(monkeypatch: pytest.MonkeyPatch) -> None:
    put_stores_into_memory(monkeypatch)
    folder = "oss://history/of a job"
    for document in (at(2, 7), at(1, 1), at(2, 8)):
        name = write_snapshot(folder, document)
    assert [one.document() for one in read_history(folder)] == [at(1, 1), at(2, 8)]
    assert [one.snapshot.checkpoint_id for one in read_history(f"{folder}/{name}")] == [2]


def test_what_is_passed_over(tmp_path: Path) -> None:
    written = write_snapshot(str(tmp_path), at(1, 1))
    for name in ("_unfinished.parquet", ".hidden.parquet", "notes.txt", "chk-1.json"):
        (tmp_path / name).write_text("nothing")
    (tmp_path / "folder.parquet").mkdir()
    assert history_files(str(tmp_path)) == [str(tmp_path / written)]


def rewritten(file: Path, metadata: dict[bytes, bytes] | None = None, table: pa.Table | None = None) -> None:
    known = pq.read_table(file)
    given = (known.schema.metadata or {}) | (metadata or {})
    pq.write_table((known if table is None else table).replace_schema_metadata(given), file)


def _head(**values: Any) -> bytes:
    head: dict[str, Any] = {"format": FORMAT, "tool_version": "9.9", **values}
    return json.dumps(head).encode()


@pytest.mark.parametrize(
    ("head", "message"),
    [
        (b"{", "this is not a file of a history, or it is corrupt"),
        (b"\xff", "this is not a file of a history, or it is corrupt"),
        (b"[]", "its statistics document is not an object"),
        (_head(), "its statistics document has no operators"),
        (_head(operators=[1]), "its statistics document has no operators"),
        (_head(operators=[{}]), "does not count the states of operators"),
        (_head(operators=[{"states": True}]), "does not count the states of operators"),
        (_head(operators=[{"states": -1}]), "does not count the states of operators"),
        (_head(operators=[]), "the statistics document lacks something at its top"),
        (
            _head(format=2),
            r"has format 2, of a newer stateextract \(9.9\); expected format 1; .* Read it with that version",
        ),
        (_head(format="1"), "has format '1'; expected format 1"),
    ],
)
def test_documents_that_are_none(tmp_path: Path, head: bytes, message: str) -> None:
    file = tmp_path / write_snapshot(str(tmp_path), DOCUMENT)
    rewritten(file, {KEY: head})
    with pytest.raises(UsageError, match="its statistics document is not the one that was written"):
        read_history(str(tmp_path))
    rewritten(file, {DIGEST: hashlib.sha256(head).hexdigest().encode()})
    with pytest.raises(UsageError, match=message) as caught:
        read_history(str(tmp_path))
    assert caught.value.file == str(file)


def test_files_that_are_none(tmp_path: Path) -> None:
    file = tmp_path / write_snapshot(str(tmp_path), DOCUMENT)
    table = pq.read_table(file)
    rewritten(file, table=table.slice(1))
    with pytest.raises(UsageError, match="it has 1 row, and not those that were written"):
        read_history(str(file))
    rewritten(file, table=table.drop_columns(["row_count"]))
    with pytest.raises(UsageError, match="it lacks the column row_count"):
        read_history(str(file))
    rewritten(file, table=table.set_column(table.schema.names.index("row_count"), "row_count", pa.array(["ten", "x"])))
    with pytest.raises(UsageError, match="this is not a file of a history, or it is corrupt"):
        read_history(str(file))
    rewritten(file, table=table.set_column(table.schema.names.index("statistics"), "statistics", pa.array(["{", None])))
    (one,) = read_history(str(file))
    with pytest.raises(UsageError, match="this is not a file of a history, or it is corrupt"):
        one.document()
    pq.write_table(pa.table({"a": [1]}), file)
    with pytest.raises(UsageError, match="it is a Parquet file, but no statistics document is in it"):
        read_history(str(file))
    for damaged in (b"", b"PAR1", b"{}", b"PAR1" * 100):
        file.write_bytes(damaged)
        with pytest.raises(UsageError, match="this is not a file of a history, or it is corrupt"):
            read_history(str(tmp_path))
    with pytest.raises(UsageError, match="nowhere:// is not the scheme of a supported store"):
        read_history("nowhere://x/y")


def test_damage_is_an_error_and_never_another_figure(tmp_path: Path) -> None:
    file = tmp_path / write_snapshot(str(tmp_path), shop())
    whole, rng, refused = file.read_bytes(), random.Random(7), 0
    footer = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    for number in range(100):
        place = rng.randrange(footer) if number % 3 else rng.randrange(len(whole))
        damaged = bytearray(whole)
        damaged[place] ^= 1 << rng.randrange(8)
        if number % 10 == 0:
            damaged = damaged[:place]
        file.write_bytes(damaged)
        try:
            (one,) = read_history(str(file))
            document, rows = one.document(), one.rows
        except UsageError:
            refused += 1
            continue
        # Such as in columns that are not read.
        assert document == shop()
        assert rows == table_of([shop()]).select(list(COLUMNS))
    assert refused > 15
