"""Files opened before their turn: the same bytes, errors when their turn comes, and none left open."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest
from pyarrow import fs

from stateextract.errors import MissingFileError, UnreadableFileError
from stateextract.files.early import EARLY, Coming, EarlyFile, in_order
from stateextract.files.filesystem import Store, _ArrowFile
from stateextract.files.piece import FilePiece
from tests.files.test_ahead import DATA, Late


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

    def settle(self) -> None:
        """Wait for what is done in the background."""
        if self._threads is not None:
            self._threads.shutdown()

    def _resolve(self, address: Any) -> tuple[Any, str]:
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

        return System(), name


NAMES = [f"f{i}" for i in range(20)]


@pytest.fixture
def far() -> Iterator[Far]:
    store = Far({name: DATA[i:] for i, name in enumerate(NAMES)})
    yield store
    store.settle()
    assert sorted(store.of("close")) == sorted(name for name in store.of("open") if name not in ("bad", "none"))


def coming(name: str) -> list[Coming]:
    return [Coming(f"mem://b/{name}", [(0, 100), (200, 250)])]


def test_all_files_in_order(far: Far) -> None:
    for i, name in enumerate(in_order(far, NAMES, coming)):
        with far.open(f"mem://b/{name}") as file:
            assert file.late
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
    assert not far._expected


def test_more_are_opened_the_longer_it_goes_on(far: Far) -> None:
    counts = []
    for name in in_order(far, NAMES, coming):
        far.open(f"mem://b/{name}").close()
        counts.append(sum(map(len, far._expected.values())))
    # Those that are expected and not opened yet.
    assert counts[:5] == [0, 1, 3, EARLY - 1, EARLY - 1]
    assert counts[-1] == 0


@pytest.mark.parametrize("stop", [1, 3, 7])
def test_whoever_stops_leaves_no_file_open(far: Far, stop: int) -> None:
    names = in_order(far, NAMES, coming)
    for _ in range(stop):
        far.open(f"mem://b/{next(names)}").close()
    names.close()  # type: ignore[attr-defined]
    assert not far._expected
    far.settle()
    assert len(far.of("open")) <= stop + EARLY


def test_items_that_are_not_opened(far: Far) -> None:
    assert list(in_order(far, NAMES, coming)) == NAMES
    assert not far._expected


def test_what_cannot_be_opened_is_an_error_when_its_turn_comes(far: Far) -> None:
    found: list[Any] = []
    for name in in_order(far, ["f1", "none", "f2", "bad", "f3"], coming):
        try:
            with far.open(f"mem://b/{name}") as file:
                found.append(file.read_at(0, 2))
        except (MissingFileError, UnreadableFileError) as error:
            found.append((type(error), error.file))
    assert found == [
        DATA[1:3],
        (MissingFileError, "mem://b/none"),
        DATA[2:4],
        (UnreadableFileError, "mem://b/bad"),
        DATA[3:5],
    ]


def test_a_file_that_is_shorter_than_what_was_expected(far: Far) -> None:
    expected = far.expect("mem://b/f0", [(9_990, 10_050)])
    assert expected is not None
    with far.open("mem://b/f0") as file:
        assert file.read_at(9_990, 60) == DATA[9_990:]
        assert file.read_at(9_995, 2) == DATA[9_995:9_997]
    far.forget(expected)


def test_one_file_expected_twice(far: Far) -> None:
    one, two = far.expect("mem://b/f0", [(0, 10)]), far.expect("mem://b/f0", [(10, 20)])
    assert one is not None
    assert two is not None
    far.forget(one)
    with far.open("mem://b/f0") as file:
        assert file.read_at(10, 10) == DATA[10:20]
    far.forget(two)
    with far.open("mem://b/f0") as file:
        assert file.read_at(0, 20) == DATA[:20]
    far.settle()
    assert len(far.of("open")) == 3 or len(far.of("open")) == 2  # the first one may not have been begun


def test_local_files_are_opened_when_their_turn_comes(tmp_path: Any) -> None:
    (tmp_path / "f").write_bytes(DATA)
    store = Store()
    assert store.expect(str(tmp_path / "f"), [(0, 10)]) is None
    assert list(in_order(store, [1, 2], lambda _: [Coming(str(tmp_path / "f"))])) == [1, 2]
    assert store._threads is None


def test_reading_ahead_of_an_early_file() -> None:
    with EarlyFile(Late(DATA), [(0, DATA[:100])]) as file:
        assert file.read_at(50, 10) == DATA[50:60]
        assert file.start_read(0, 100).result() == DATA[:100]
        assert file.start_read(1, 100).result() == DATA[1:101]
        assert FilePiece(file, 10, 50).late
    assert _ArrowFile.late
