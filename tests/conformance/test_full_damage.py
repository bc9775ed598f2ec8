"""Damage in canonical bodies and operator files of Flink's own: refused, or read as something else; nothing else happens."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from stateextract.errors import StateExtractError
from stateextract.files.filesystem import Store
from stateextract.metadata.locate import Locator, find_snapshot
from stateextract.metadata.parser import parse_metadata
from stateextract.snapshot.content import Content, Header, read_content
from stateextract.snapshot.headers import HeaderReader, StateFile
from stateextract.state.bodies.body import BodyKind
from stateextract.state.counters import Counters
from stateextract.state.state_columns import ReadOptions
from stateextract.state.target import FileRead
from tests.conformance.conftest import flink_cases, flink_files

TESTS = flink_files() / "flink-tests"
FOLDERS = [
    TESTS / "new-stateful-udf-migration-itcase-flink1.20-hashmap-savepoint",
    TESTS / "new-stateful-broadcast-udf-migration-itcase-flink2.3-rocksdb-savepoint",
    *sorted((flink_cases() / "f1205-pojos-hashmap-canonical-zip").glob("**/savepoint-*")),
]
LENGTHS = (b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff", b"\x80\x00\x00\x00", b"\x00\x0f\xff\xff", b"\x00\x00\x00\x00")


def files(folder: Path) -> Iterator[tuple[StateFile, bytes]]:
    store = Store()
    found = find_snapshot(str(folder), store)
    data = store.read(found.metadata_uri)
    metadata = parse_metadata(data)
    for file in HeaderReader(metadata, data, Locator(found, store)).read(1):
        if file.content is not None and file.form in (BodyKind.FULL_SNAPSHOT, BodyKind.OPERATOR):
            yield file, store.read(file.uri)[file.start : file.start + file.size]


def damaged(data: bytes, random_: random.Random, start: int) -> bytes:
    at = random_.randrange(start, max(len(data), start + 1))
    kind = random_.randrange(5)
    if kind <= 1:
        return data[:at] + bytes([data[at] ^ (1 << random_.randrange(8))]) + data[at + 1 :]
    if kind == 2:
        return data[:at] + random_.choice(LENGTHS) + data[at + 4 :]
    if kind == 3:
        return data[:at]
    n = random_.randrange(1, 9)
    return data[:at] + random_.randbytes(n) + data[at + n :]


def at_of(data: bytes) -> Callable[[int, int], bytes]:
    return lambda at, n: data[at : at + n]


@pytest.mark.parametrize("engine", ["interpreter", "kernel"])
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda p: p.name)
def test_mutations(folder: Path, engine: str) -> None:
    random_ = random.Random(f"{folder.name} {engine}")
    known = list(files(folder))
    assert known
    # Once without damage, so that compiling counts nowhere.
    for file, data in known:
        assert file.content is not None
        assert file.header is not None
        names = {meta.name for meta in file.header.states}
        options = ReadOptions(engine=engine, on_undecodable="skip")
        for _ in read_content(at_of(data), file.header, file.content, FileRead(names, options, Counters(), 0)):
            pass
    outcomes: Counter[str] = Counter()
    for _ in range(400):
        file, data = random_.choice(known)
        header: Header | None = file.header
        content: Content | None = file.content
        assert header is not None
        assert content is not None
        if content.header_end >= len(data):
            continue
        options = ReadOptions(
            on_undecodable=random_.choice(["fail", "skip", "raw"]),  # type: ignore[arg-type]
            verify_checksums=random_.random() < 0.5,
            engine=engine,
        )
        began = time.process_time()
        read_at = at_of(damaged(data, random_, content.header_end))
        names = {meta.name for meta in header.states}
        try:
            for piece in read_content(read_at, header, content, FileRead(names, options, Counters(), 0)):
                piece.batch.validate(full=True)
            outcomes["read"] += 1
        except StateExtractError:
            outcomes["refused"] += 1
        assert time.process_time() - began < 10
    assert outcomes["refused"] > 50
