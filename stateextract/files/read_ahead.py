"""Reading ahead: of a file whose store answers late, some pieces are under way while others are decoded."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future

from stateextract.errors import TruncatedError

AHEAD = 4
"""Pieces of one file that are under way at most."""

StartRead = Callable[[int, int], "Future[bytes]"]
"""``start_read(offset, length)`` begins to read bytes of a file, fewer only at its end."""


class ReadAhead:
    """Gives pieces of a file in order.

    At first one is read, then two at once, then four: a caller that stops early has asked for little in vain.

    :param pieces: their offsets and lengths.
    :param most: pieces that are under way at once.
    """

    def __init__(self, start_read: StartRead, pieces: Iterable[tuple[int, int]], most: int = AHEAD) -> None:
        self._start_read = start_read
        self._pieces = iter(pieces)
        self._most = most
        self._count = 1
        self._under_way: deque[tuple[int, int, Future[bytes]]] = deque()

    def next(self) -> bytes | None:
        """The next piece; ``None`` at the end.

        :raises TruncatedError: the file ends before it does.
        """
        while len(self._under_way) < self._count and (piece := next(self._pieces, None)) is not None:
            self._under_way.append((*piece, self._start_read(*piece)))
        self._count = min(2 * self._count, self._most)
        if not self._under_way:
            return None
        offset, length, read = self._under_way.popleft()
        data = read.result()
        if len(data) < length:
            raise TruncatedError(
                f"the file ends {length - len(data)} bytes before its data does", offset=offset + len(data)
            )
        return data
