"""Reading ahead of files that answer late: the same bytes in order, little asked for in vain, nothing read once closed."""

from __future__ import annotations

import random
import threading
from concurrent.futures import Future, ThreadPoolExecutor

import pytest
from pyarrow import fs

from stateextract.errors import TruncatedError, UnreadableFileError
from stateextract.files import window as windows
from stateextract.files.filesystem import OpenFile, Store, _ArrowFile
from stateextract.files.piece import FilePiece
from stateextract.files.read_ahead import AHEAD, ReadAhead
from stateextract.files.threads import READING
from stateextract.files.window import RangeSource, Window

DATA = random.Random(5).randbytes(10_000)


def later(data: bytes) -> Future[bytes]:
    read: Future[bytes] = Future()
    read.set_result(data)
    return read


def test_more_is_under_way_the_longer_it_goes_on() -> None:
    asked: list[tuple[int, int]] = []

    def start_read(offset: int, length: int) -> Future[bytes]:
        asked.append((offset, length))
        return later(DATA[offset : offset + length])

    ahead = ReadAhead(start_read, ((at, 10) for at in range(0, 120, 10)))
    counts = []
    pieces = []
    while (piece := ahead.next()) is not None:
        counts.append(len(asked))
        pieces.append(piece)
    assert counts == [1, 3, 6, 7, 8, 9, 10, 11, 12, 12, 12, 12]
    assert b"".join(pieces) == DATA[:120]
    assert asked == [(at, 10) for at in range(0, 120, 10)]
    assert ahead.next() is None
    assert ReadAhead(start_read, ()).next() is None


def test_a_read_that_fails_is_an_error_when_its_turn_comes() -> None:
    def start_read(offset: int, length: int) -> Future[bytes]:
        if offset != 20:
            return later(DATA[offset : offset + length][: 35 - offset])
        read: Future[bytes] = Future()
        read.set_exception(UnreadableFileError("no answer"))
        return read

    ahead = ReadAhead(start_read, ((at, 10) for at in range(0, 60, 10)))
    assert [ahead.next(), ahead.next()] == [DATA[:10], DATA[10:20]]
    with pytest.raises(UnreadableFileError, match="no answer"):
        ahead.next()
    with pytest.raises(TruncatedError, match="the file ends 5 bytes before its data does") as caught:
        ahead.next()
    assert caught.value.offset == 35


class Late:
    """A file in memory that answers from threads, in any order.

    :ivar most: reads that were begun and whose results were not taken, at once.
    """

    remote = True

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.threads = ThreadPoolExecutor(AHEAD)
        self.most = self.now = 0

    def read_at(self, offset: int, length: int) -> bytes:
        return self.data[offset : offset + length]

    def read_into(self, offset: int, room: memoryview) -> int:
        raise AssertionError("it is read ahead")

    def start_read(self, offset: int, length: int) -> Future[bytes]:
        def read() -> bytes:
            threading.Event().wait(0.002)
            return self.read_at(offset, length)

        def taken() -> bytes:
            self.now -= 1
            return result()

        self.now += 1
        self.most = max(self.most, self.now)
        begun = self.threads.submit(read)
        result = begun.result
        begun.result = taken  # type: ignore[method-assign]
        return begun

    def size(self) -> int:
        return len(self.data)

    def close(self) -> None:
        self.threads.shutdown()

    def __enter__(self) -> OpenFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@pytest.mark.parametrize("size", [1 << 8, 1 << 12])
@pytest.mark.parametrize("read", [100, 257, 3_000])
def test_windows_over_a_file_that_answers_late(size: int, read: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(windows, "READ", read)
    heard: list[int] = []
    with Late(DATA) as file:
        window = Window(RangeSource(FilePiece(file, 100, 9_800, heard.append), 50, 9_700), 50, size)
        rng = random.Random(size)
        taken = bytearray()
        while (some := window.take(rng.choice([1, 30, 500]))) is not None:
            taken += some
        window.need(1000)
        taken += bytes(window.block.view[window.pos : window.end])
        assert bytes(taken) == DATA[150:9_800]
        assert sum(heard) == 9_650
        assert isinstance(file, Late)
        assert 1 < file.most <= AHEAD
    with Late(DATA) as file:
        window = Window(RangeSource(FilePiece(file, 100, 20_000), 0, 20_000), 0, size)
        with pytest.raises(TruncatedError, match="bytes before its data does") as caught:
            window.skip(20_000)
        assert caught.value.offset == len(DATA) - 100


def test_closing_waits_for_what_is_under_way() -> None:
    go_on, closed = threading.Event(), threading.Event()
    calls: list[str] = []

    class Slow:
        def size(self) -> int:
            return 100

        def read_at(self, length: int, offset: int) -> bytes:
            calls.append("begin")
            go_on.wait()
            assert not closed.is_set()
            return bytes(length)

        def close(self) -> None:
            closed.set()
            calls.append("close")

    file = _ArrowFile(Slow(), "x")
    reads = [file.start_read(0, 10) for _ in range(40)]
    threading.Timer(0.1, go_on.set).start()
    file.close()
    begun = calls.count("begin")
    assert 0 < begun <= 16
    assert calls == ["begin"] * begun + ["close"]
    assert [read.cancelled() for read in reads].count(False) == begun
    file.close()


def test_without_threads_reads_are_done_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(READING, "submit", lambda work: None)
    memory, _ = fs.FileSystem.from_uri("mock:///")
    with memory.open_output_stream("f") as stream:
        stream.write(DATA)
    with _ArrowFile(memory.open_input_file("f"), "mock:///f") as file:
        assert file.start_read(5, 7).result() == DATA[5:12]


def test_files_of_stores_answer_late_and_local_ones_do_not(tmp_path: object) -> None:
    (path := tmp_path / "f").write_bytes(DATA)  # type: ignore[operator]
    store = Store()
    with store.open(str(path)) as file:
        assert not file.remote
        assert file.start_read(5, 7).result() == DATA[5:12]
    memory, _ = fs.FileSystem.from_uri("mock:///")
    memory.create_dir("d")
    with memory.open_output_stream("d/f") as stream:
        stream.write(DATA)
    with _ArrowFile(memory.open_input_file("d/f"), "mock:///d/f") as remote:
        assert remote.remote
        assert remote.start_read(9_990, 70).result() == DATA[9_990:]
