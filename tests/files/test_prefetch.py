"""Files opened before their turn: the same bytes, errors when their turn comes, and none left open."""

from __future__ import annotations

import gc
import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import wait
from typing import Any
from unittest import mock

import pytest
from pyarrow import fs

from stateextract.errors import MissingFileError, UnreadableFileError
from stateextract.files.filesystem import Store, _ArrowFile, _RemoteErrors
from stateextract.files.piece import FilePiece
from stateextract.files.prefetch import AHEAD, FilePrefetcher, PrefetchedFile, PrefetchRequest, in_order
from stateextract.files.threads import OPENING
from tests.files.test_read_ahead import DATA, Late


class Far(Store):
    """Files of a store in memory, of which it is noted what is opened, read and closed."""

    def __init__(self, files: dict[str, bytes]) -> None:
        super().__init__()
        self.memory, _ = fs.FileSystem.from_uri("mock:///")
        self.memory.create_dir("b")
        for name, data in files.items():
            with self.memory.open_output_stream(f"b/{name}") as stream:
                stream.write(data)
        self.notes: list[tuple[Any, ...]] = []
        self.lock = threading.Lock()

    def note(self, *what: Any) -> None:
        with self.lock:
            self.notes.append(what)

    def of(self, kind: str) -> list[Any]:
        with self.lock:
            return [note[1:] if len(note) > 2 else note[1] for note in self.notes if note[0] == kind]

    def finalize(self) -> None:
        """Wait for what is done in the background: until all threads have nothing else to do."""
        meeting = threading.Barrier(8, timeout=30)
        wait([one for _ in range(8) if (one := OPENING.submit(meeting.wait)) is not None])

    def _call(self, address: Any, work: Any) -> Any:
        outer, name = self, address.path.lstrip("/")

        class Noting:
            def __init__(self, file: Any) -> None:
                self.file = file

            def size(self) -> int:
                return int(self.file.size())

            def read_at(self, length: int, offset: int) -> bytes:
                outer.note("read", name, offset, length)
                return bytes(self.file.read_at(length, offset))

            def close(self) -> None:
                outer.note("close", name)
                self.file.close()

        class System:
            def open_input_file(self, path: str) -> Noting:
                outer.note("open", path)
                if path == "bad":
                    raise OSError("no answer")
                return Noting(outer.memory.open_input_file(f"b/{path}"))

        with _RemoteErrors(str(address)):
            return work(System(), name)


NAMES = [f"f{i}" for i in range(20)]


@pytest.fixture
def far() -> Iterator[Far]:
    """Of all that is opened nothing is left open."""
    store = Far({name: DATA[i:] for i, name in enumerate(NAMES)})
    yield store
    store.finalize()
    gc.collect()
    assert sorted(store.of("close")) == sorted(name for name in store.of("open") if name not in ("bad", "none"))


@pytest.fixture
def files(far: Far) -> FilePrefetcher:
    return FilePrefetcher(far)


def coming(name: str) -> list[PrefetchRequest]:
    return [PrefetchRequest(f"hdfs://b/{name}", [(0, 100), (200, 250)])]


def test_all_files_in_order(far: Far, files: FilePrefetcher) -> None:
    for i, name in enumerate(in_order(files, NAMES, coming)):
        with files.open(f"hdfs://b/{name}") as file:
            assert file.remote
            assert file.size() == len(DATA) - i
            assert [file.read_at(0, 100), file.read_at(90, 10), file.read_at(200, 50)] == [
                DATA[i : i + 100], DATA[i + 90 : i + 100], DATA[i + 200 : i + 250],
            ]  # fmt: skip
            assert file.start_read(210, 5).result() == DATA[i + 210 : i + 215]
            room = memoryview(bytearray(20))
            assert (file.read_into(30, room), bytes(room)) == (20, DATA[i + 30 : i + 50])
            assert [r for r in far.of("read") if r[0] == name] == [(name, 0, 100), (name, 200, 50)]
            assert file.read_at(150, 10) == DATA[i + 150 : i + 160]
            assert (file.read_into(95, room), bytes(room)) == (20, DATA[i + 95 : i + 115])
            assert file.start_read(248, 5).result() == DATA[i + 248 : i + 253]
    assert sorted(far.of("open")) == sorted(NAMES)
    assert not files._expected


def test_more_are_opened_the_longer_it_goes_on(far: Far, files: FilePrefetcher) -> None:
    counts = []
    for name in in_order(files, NAMES, coming):
        files.open(f"hdfs://b/{name}").close()
        counts.append(len(files._expected))
    # Those that are expected and not opened yet.
    assert counts[:5] == [0, 1, 3, AHEAD - 1, AHEAD - 1]
    assert counts[-1] == 0


@pytest.mark.parametrize("stop", [1, 3, 7])
def test_whoever_stops_leaves_no_file_open(far: Far, files: FilePrefetcher, stop: int) -> None:
    names = in_order(files, NAMES, coming)
    for _ in range(stop):
        files.open(f"hdfs://b/{next(names)}").close()
    names.close()  # type: ignore[attr-defined]
    assert not files._expected
    far.finalize()
    assert len(far.of("open")) <= stop + AHEAD


def test_items_that_are_not_opened(far: Far, files: FilePrefetcher) -> None:
    assert list(in_order(files, NAMES, coming)) == NAMES
    assert not files._expected


def test_what_cannot_be_opened_is_an_error_when_its_turn_comes(far: Far, files: FilePrefetcher) -> None:
    found: list[Any] = []
    for name in in_order(files, ["f1", "none", "f2", "bad", "f3"], coming):
        try:
            with files.open(f"hdfs://b/{name}") as file:
                found.append(file.read_at(0, 2))
        except (MissingFileError, UnreadableFileError) as error:
            found.append((type(error), error.file))
    assert found == [
        DATA[1:3],
        (MissingFileError, "hdfs://b/none"),
        DATA[2:4],
        (UnreadableFileError, "hdfs://b/bad"),
        DATA[3:5],
    ]


def test_a_file_that_is_shorter_than_what_was_expected(far: Far, files: FilePrefetcher) -> None:
    expected = files.expect(PrefetchRequest("hdfs://b/f0", [(9_990, 10_050)]))
    assert expected is not None
    with files.open("hdfs://b/f0") as file:
        assert file.read_at(9_990, 60) == DATA[9_990:]
        assert file.read_at(9_995, 2) == DATA[9_995:9_997]
    files.forget(expected)


def test_one_file_expected_twice(far: Far, files: FilePrefetcher) -> None:
    one, two = (files.expect(PrefetchRequest("hdfs://b/f0", [(n, n + 10)])) for n in (0, 10))
    assert one is not None
    assert two is not None
    files.forget(one)
    with files.open("hdfs://b/f0") as file:
        assert file.read_at(10, 10) == DATA[10:20]
    files.forget(two)
    with files.open("hdfs://b/f0") as file:
        assert file.read_at(0, 20) == DATA[:20]
    far.finalize()
    assert len(far.of("open")) == 3 or len(far.of("open")) == 2  # the first one may not have been begun


def test_local_files_are_opened_when_their_turn_comes(tmp_path: Any) -> None:
    (tmp_path / "f").write_bytes(DATA)
    files = FilePrefetcher(Store())
    assert files.expect(PrefetchRequest(str(tmp_path / "f"), [(0, 10)])) is None
    assert list(in_order(files, [1, 2], lambda _: [PrefetchRequest(str(tmp_path / "f"))])) == [1, 2]


def test_a_file_that_is_there_again(far: Far, files: FilePrefetcher) -> None:
    """What went wrong when it was opened early may be over."""
    expected = files.expect(PrefetchRequest("hdfs://b/none"))
    assert expected is not None
    assert isinstance(expected.file.exception(), MissingFileError)
    with far.memory.open_output_stream("b/none") as stream:
        stream.write(b"here")
    with files.open("hdfs://b/none") as file:
        assert file.read_at(0, 4) == b"here"
    far.notes.remove(("close", "none"))


def test_an_interruption_while_a_file_is_opened(far: Far, files: FilePrefetcher, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = files.expect(PrefetchRequest("hdfs://b/f0"))
    assert expected is not None
    with monkeypatch.context() as patch:
        patch.setattr(expected.file, "result", mock.Mock(side_effect=[KeyboardInterrupt, expected.file.result()]))
        with pytest.raises(KeyboardInterrupt):
            files.open("hdfs://b/f0")
    far.finalize()
    assert far.of("close") == ["f0"]


def test_an_item_whose_files_cannot_be_told(far: Far, files: FilePrefetcher) -> None:
    """What was expected for it and before it is closed."""

    def some(name: str) -> Iterator[PrefetchRequest]:
        yield from coming(name)
        if name == "f3":
            raise ValueError(name)

    seen = []
    with pytest.raises(ValueError, match="f3"):
        seen.extend(in_order(files, NAMES, some))
    assert seen == ["f0", "f1"]
    assert not files._expected


def test_readers_that_the_collector_ends(far: Far, files: FilePrefetcher) -> None:
    """In whatever call it comes, also amid one that expects a file."""
    thresholds = gc.get_threshold()
    gc.set_threshold(1, 1, 1)
    try:
        for _ in range(60):
            circle: list[Any] = [in_order(files, NAMES, coming)]
            circle.append(circle)
            next(circle[0])
            next(circle[0])
            del circle
    finally:
        gc.set_threshold(*thresholds)
    gc.collect()
    assert not files._expected


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")
def test_a_forked_process_has_threads_of_its_own(far: Far, files: FilePrefetcher) -> None:
    assert list(in_order(files, NAMES[:3], coming)) == NAMES[:3]
    with files.open("hdfs://b/f1") as file:
        file.start_read(0, 10).result()
        child = os.fork()
        if not child:
            signal.alarm(20)
            found = [file.start_read(0, 10).result() == DATA[1:11]]
            for name in in_order(files, NAMES[:5], coming):
                with files.open(f"hdfs://b/{name}") as other:
                    found.append(other.size() > 0)
            os._exit(0 if all(found) and len(found) == 6 else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_without_threads_files_are_opened_in_their_turn(
    far: Far, files: FilePrefetcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(OPENING, "submit", lambda work: None)
    for name in in_order(files, NAMES, coming):
        with files.open(f"hdfs://b/{name}") as file:
            assert file.read_at(0, 1) == DATA[NAMES.index(name) :][:1]


def test_reading_ahead_of_an_early_file() -> None:
    with PrefetchedFile(Late(DATA), [(0, DATA[:100])]) as file:
        assert file.read_at(50, 10) == DATA[50:60]
        assert file.start_read(0, 100).result() == DATA[:100]
        assert file.start_read(1, 100).result() == DATA[1:101]
        assert FilePiece(file, 10, 50).remote
    assert _ArrowFile.remote
