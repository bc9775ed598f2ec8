"""Pieces of files: nothing outside of them is read, and windows need no copy of their bytes."""

from __future__ import annotations

from pathlib import Path

import pytest

from stateextract.errors import TruncatedError
from stateextract.files.filesystem import Store
from stateextract.files.piece import FilePiece
from stateextract.files.window import RangeSource, Window


def test_a_piece(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(bytes(range(100)))
    heard: list[int] = []
    with Store().open(str(path)) as file:
        piece = FilePiece(file, 10, 20, heard.append)
        assert [piece(*asked) for asked in ((0, 3), (18, 9), (20, 1), (25, 4), (0, -1))] == [
            b"\x0a\x0b\x0c", b"\x1c\x1d", b"", b"", b"",
        ]  # fmt: skip
        room = memoryview(bytearray(5))
        assert (piece.into(17, room), bytes(room)) == (3, b"\x1b\x1c\x1d\0\0")
        assert (piece.into(20, room), piece.into(30, room)) == (0, 0)
    assert heard == [3, 2, 0, 0, 0, 3, 0, 0]


@pytest.mark.parametrize("size", [1, 7, 20])
def test_windows_over_a_piece(size: int, tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(bytes(range(100)))
    with Store().open(str(path)) as file:
        window = Window(RangeSource(FilePiece(file, 10, 20), 2, 18), 2, size)
        taken = [bytes(window.take(n) or b"?") for n in (1, 10, 5, 1)]
        assert b"".join(taken) == bytes(range(12, 28)) + b"?"
        window = Window(RangeSource(FilePiece(file, 90, 20), 0, 20))
        with pytest.raises(TruncatedError, match="the file ends 10 bytes before its data does") as raised:
            window.need(11)
    assert raised.value.offset == 10
