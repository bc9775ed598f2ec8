"""Change sets and where they lie: offsets, compression, shared files, damage with its place."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import replace
from pathlib import Path

import pytest

from stateextract.changelog import log as log_module
from stateextract.changelog.log import Log
from stateextract.changelog.records import read_change_set, read_metadata
from stateextract.errors import ChecksumError, FormatError, StateExtractError, TruncatedError
from stateextract.files.decompressed_files import DecompressedFiles
from stateextract.files.piece import FilePiece, Inline, InMemory
from stateextract.files.window import RangeSource, Window
from stateextract.metadata.model import ChangelogFilesHandle, FileHandle, InlineHandle, StreamHandle
from tests.changelog.writer import Record, change_set, changelog_file, handle, in_files, in_memory
from tests.state.keyed_writer import i32
from tests.writers.flink_writer import compress_snappy_framed

ALL = range(1 << 15)
GROUPS = range(4)
RECORDS: list[Record] = [(-1, b"\x08m"), (1, b"one"), (3, b"three"), (1, b"another")]


def opened(uri: str, data: bytes, start: int = 0) -> FilePiece:
    """A stream handle that was opened."""
    return FilePiece(InMemory(data, start), start, len(data), uri=uri)


class Folder:
    """Files by path. ``start``: where each begins in its physical file."""

    def __init__(self, start: int = 0) -> None:
        self.files: dict[str, bytes] = {}
        self.start = start
        self.opened: list[str] = []

    def open(self, stream: StreamHandle) -> FilePiece:
        assert isinstance(stream, FileHandle)
        self.opened.append(stream.path)
        return opened(stream.path, self.files[stream.path], self.start)

    def increment(self, *places: tuple[str, int], size: int = 0) -> ChangelogFilesHandle:
        files = tuple((offset, FileHandle(1, path)) for path, offset in places)
        return ChangelogFilesHandle(13, 0, 4, files, size, 0, "id")

    def log(self, *increments: ChangelogFilesHandle, files: DecompressedFiles | None = None) -> Log:
        return Log(handle(GROUPS, (), increments), self.open, "_metadata", files=files)


def found(log: Log, wanted: Container[int] = ALL) -> list[Record]:
    return [(change.key_group, change.data) for change in log.changes(wanted)]


def window(data: bytes) -> Window:
    return Window(RangeSource(lambda at, n: data[at : at + n], 0, len(data)))


def test_the_bytes_of_a_set() -> None:
    assert change_set(RECORDS).hex() == (
        "00000003" + "00000001ffffffff" + "00000002086d"
        + "0000000100000003" + "000000057468726565"
        + "0000000200000001" + "000000036f6e65" + "00000007616e6f74686572"
    )  # fmt: skip


def test_a_set_ends_by_its_counts() -> None:
    data = change_set(RECORDS) + b"what follows"
    at = window(data)
    changes = list(read_change_set(at, {1}, 1000))
    assert [(c.key_group, c.data) for c in changes] == [(-1, b"\x08m"), (1, b"one"), (1, b"another")]
    assert at.offset() == len(change_set(RECORDS))
    assert [data[c.location - 1000 :][: len(c.data)] for c in changes] == [c.data for c in changes]
    assert [c.data for c in read_metadata(window(data))] == [b"\x08m"]
    assert list(read_metadata(window(change_set(RECORDS[1:])))) == []
    assert list(read_metadata(window(change_set([])))) == []


@pytest.mark.parametrize("compressed", [False, True])
def test_sets_come_in_the_order_of_the_handle(compressed: bool, tmp_path: Path) -> None:
    folder = Folder()
    sets = [change_set([(0, b"%d" % n)]) for n in range(4)]
    folder.files["a"], a = changelog_file(sets[:2], compressed)
    folder.files["b"], b = changelog_file(sets[2:], compressed)
    log = folder.log(
        folder.increment(("b", b[1]), ("a", a[1]), ("b", b[0]), size=3), folder.increment(("a", a[0]), size=1)
    )
    assert found(log) == [(0, b"3"), (0, b"1"), (0, b"2"), (0, b"0")]
    assert found(log, ()) == []
    assert list(log.metadata()) == []
    assert log.size == 4


def test_memory_and_files(tmp_path: Path) -> None:
    stored = in_files(tmp_path, [RECORDS, [(0, b"last")]], GROUPS)

    def open_file(stream: StreamHandle) -> FilePiece:
        assert isinstance(stream, FileHandle)
        return opened(stream.path, Path(stream.path).read_bytes())

    log = Log(handle(GROUPS, (), [in_memory(RECORDS, GROUPS), stored]), open_file, "_metadata")
    assert found(log) == [*RECORDS, RECORDS[0], RECORDS[2], RECORDS[1], RECORDS[3], (0, b"last")]
    assert [change.data for change in log.metadata()] == [b"\x08m", b"\x08m"]
    assert found(log, {3}) == [RECORDS[0], RECORDS[2], RECORDS[0], RECORDS[2]]


def test_a_compressed_file_is_decompressed_once_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = Folder()
    sets = [change_set([(0, b"%d" % n * 100)]) for n in range(20)]
    folder.files["a"], offsets = changelog_file(sets, True)
    folder.files["b"], _ = changelog_file(sets, True)
    files = DecompressedFiles(most=3000)
    streamed = []
    original = Log._stream
    monkeypatch.setattr(
        Log, "_stream", lambda self, file, size: streamed.append(file.uri) or original(self, file, size)
    )
    expected = [(0, b"%d" % n * 100) for n in range(20)]
    for _ in range(2):
        log = folder.log(folder.increment(*(("a", offset) for offset in offsets)), files=files)
        assert found(log) == expected
    assert streamed == ["a"]
    found(folder.log(folder.increment(("b", 0)), files=files))
    assert (streamed, len(files._kept)) == (["a", "b"], 1)
    # A file that is too large to be kept is streamed from its start for every set.
    monkeypatch.setattr(log_module, "KEPT_FILE", 500)
    log = folder.log(folder.increment(*(("a", offset) for offset in offsets[-2:])), files=DecompressedFiles())
    assert found(log) == expected[-2:]
    assert streamed[2:] == ["a", "a", "a"]


@pytest.mark.parametrize("compressed", [False, True])
def test_files_inside_of_metadata_are_not_taken_for_each_other(compressed: bool) -> None:
    """All of them have the same URI and none a place in it."""

    def inline(stream: StreamHandle) -> Inline:
        assert isinstance(stream, InlineHandle)
        return Inline(stream.data, "_metadata")

    bodies = [changelog_file([change_set([(0, b"%d" % n * 100)])], compressed)[0] for n in range(3)]
    streams = tuple((0, InlineHandle(f"log {n}", data)) for n, data in enumerate(bodies))
    log = Log(handle(GROUPS, (), [ChangelogFilesHandle(13, 0, 4, streams, 0, 0, "id")]), inline, "_metadata")
    assert found(log) == [(0, b"%d" % n * 100) for n in range(3)]


def failure(log: Log, kind: type[StateExtractError]) -> StateExtractError:
    with pytest.raises(StateExtractError) as caught:
        found(log)
    assert type(caught.value) is kind, caught.value
    return caught.value


@pytest.mark.parametrize(
    ("data", "kind", "offset", "group"),
    [
        (b"", TruncatedError, 0, None),
        (i32(-1), FormatError, 0, None),
        (i32(1), TruncatedError, 4, None),
        (i32(1, -2, 0), FormatError, 4, None),
        (i32(1, 1, -2), FormatError, 8, None),
        (i32(1, 1, 1 << 15), FormatError, 8, None),
        (i32(1, 1, 2), TruncatedError, 12, 2),
        (i32(1, 1, 2, 0), FormatError, 12, 2),
        (i32(1, 1, 2, -7), FormatError, 12, 2),
        (i32(1, 1, 2, 9) + b"12345678", TruncatedError, 16, 2),
        (i32(1, 1, 2, 0x7FFFFFFF) + b"12345678", TruncatedError, 16, 2),
        (i32(0x7FFFFFFF, 0, 1), TruncatedError, 12, None),
        (i32(1, 0x7FFFFFFF, -1, 1) + b"8", TruncatedError, 17, None),
    ],
)
def test_damage(data: bytes, kind: type[StateExtractError], offset: int, group: int | None) -> None:
    folder = Folder(start=1000)
    sound = change_set(RECORDS)
    folder.files["plain"] = b"\x00" + sound + data
    error = failure(
        folder.log(folder.increment(("plain", 0), ("plain", len(sound)))), FormatError if not data else kind
    )
    assert error.file == "plain"
    if data:
        assert (error.offset, error.key_group) == (1000 + 1 + len(sound) + offset, group)
    folder.files["small"] = b"\x01" + compress_snappy_framed(sound + data)
    error = failure(
        folder.log(folder.increment(("small", 0), ("small", len(sound)))), FormatError if not data else kind
    )
    assert error.file == "small"
    if data:
        assert (error.offset, error.plain_offset, error.key_group) == (1001, len(sound) + offset, group)


def test_damaged_files() -> None:
    folder = Folder(start=10)
    data, _ = changelog_file([change_set(RECORDS)], True)
    for name, content in {"empty": b"", "flag": b"\x02" + data, "crc": data[:15] + b"\xff" + data[16:]}.items():
        folder.files[name] = content
    error = failure(folder.log(folder.increment(("empty", 0))), FormatError)
    assert (error.message, error.file, error.offset) == ("a changelog file begins with nothing", "empty", 10)
    error = failure(folder.log(folder.increment(("flag", 0))), FormatError)
    assert (error.message, error.expected) == ("a changelog file begins with byte 2", "0 or 1")
    error = failure(folder.log(folder.increment(("crc", 0))), ChecksumError)
    assert (error.file, error.offset) == ("crc", 10 + 1 + 10)
    folder.files["end"] = data
    error = failure(folder.log(folder.increment(("end", 1 << 40))), FormatError)
    assert "a change set at 1099511627776 of a file with " in error.message


def test_a_set_that_is_not_the_handles() -> None:
    folder = Folder()
    folder.files["a"], _ = changelog_file([change_set(RECORDS)])
    size = sum(len(data) for _, data in RECORDS)
    assert len(found(folder.log(folder.increment(("a", 0), size=size)))) == 4
    error = failure(folder.log(folder.increment(("a", 0), size=size + 1)), FormatError)
    assert (error.message, error.expected) == (
        f"the change sets of a handle have {size} bytes of changes",
        f"{size + 1}",
    )
    assert error.file == "a"


@pytest.mark.parametrize("compressed", [False, True])
def test_places(compressed: bool) -> None:
    folder = Folder(start=7)
    sets = [change_set(RECORDS), change_set(RECORDS)]
    folder.files["a"], offsets = changelog_file(sets, compressed)
    memory = in_memory(RECORDS, GROUPS)
    metadata = b"before" + b"".join(i32(g, len(d)) + d for g, d in RECORDS)
    increments = [folder.increment(("a", offsets[1])), memory]
    log = Log(handle(GROUPS, (), increments), folder.open, "_metadata", lambda: metadata)
    plain = b"".join(sets)
    changes = list(log.changes(ALL))
    for number, change in enumerate(changes):
        error = log.with_location(FormatError("it", offset=1), change.location)
        at = error.plain_offset if compressed and number < len(RECORDS) else error.offset
        assert at is not None
        if number < len(RECORDS):
            assert compressed or error.plain_offset is None
            at -= 1 + (0 if compressed else 8)
            assert (error.file, plain[at:][: len(change.data)]) == ("a", change.data)
        else:
            assert (error.file, metadata[at - 1 :][: len(change.data)]) == ("_metadata", change.data)
    assert log.with_location(FormatError("it"), changes[-1].location).offset == len(metadata) - len(changes[-1].data)


def test_an_empty_change_in_memory() -> None:
    log = Log(handle(GROUPS, (), [in_memory([(0, b"")], GROUPS)]), Folder().open, "_metadata", lambda: i32(9, 0, 0))
    error = failure(log, FormatError)
    assert (error.message, error.file, error.offset) == ("a change of 0 bytes", "_metadata", 12)


def test_changes_in_memory_that_are_missing() -> None:
    """Each change has a sequence number."""
    log = Log(handle(GROUPS, (), [replace(in_memory([(0, b"\0")], GROUPS), to_sequence=3)]), Folder().open, "_metadata")
    error = failure(log, FormatError)
    assert (error.message, error.file) == ("an increment of a changelog has 1 change", "_metadata")
    assert error.expected == "3, from sequence number 0 to 3"


@pytest.mark.parametrize("group", [-2, 1 << 15])
def test_changes_in_memory_of_no_key_group(group: int) -> None:
    increment = in_memory([(group, b"\0")], GROUPS)
    log = Log(handle(GROUPS, (), [increment]), Folder().open, "_metadata", lambda: i32(group, 1) + b"\0")
    error = failure(log, FormatError)
    assert (error.message, error.offset) == (f"changes of key group {group}", 8)


def test_code_8() -> None:
    """Codes 8 and 14 differ in what stands around the lists; increments of either are read alike."""
    memory = replace(in_memory(RECORDS, GROUPS), handle_id="other")
    log = Log(handle(GROUPS, (), [memory], code=8), Folder().open, "_metadata")
    assert found(log) == RECORDS
