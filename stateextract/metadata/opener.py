"""The bytes of stream handles: files, windows of merged files, inline bytes.

Readers of databases and changelogs open a :class:`FilePiece` for each handle; :class:`Opener` is the function for a located
snapshot. Does I/O.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from stateextract.errors import StateExtractError, TruncatedError
from stateextract.files.piece import FilePiece, Inline
from stateextract.files.prefetch import FilePrefetcher, PrefetchRequest
from stateextract.metadata.locate import Location, Locator
from stateextract.metadata.model import StreamHandle

OpenHandle = Callable[[StreamHandle], FilePiece]


class Opener:
    """Opens stream handles of a located snapshot.

    :param exact_size: False for changelog files, whose handles state another size than the file has.
    :param on_read: called with the number of bytes of each read.
    """

    def __init__(
        self, locator: Locator, files: FilePrefetcher, *, exact_size: bool = True, on_read: Callable[[int], None] | None = None
    ) -> None:
        self._locator, self._files, self._exact_size, self._on_read = locator, files, exact_size, on_read

    def __call__(self, handle: StreamHandle) -> FilePiece:
        location = self._locator.locate(handle, exact_size=self._exact_size)
        if location.uri is None:
            return Inline(location.inline or b"", self._locator.found.metadata_uri, on_read=self._on_read)
        return FilePiece(self._files.open(location.uri), location.start, location.size, self._on_read, location.uri)

    def coming(self, handle: StreamHandle, last: int) -> PrefetchRequest | None:
        """The file of a handle that will be opened, of which so many of the last bytes are read first.

        :returns: ``None`` for bytes inside of ``_metadata``, and for what is not there: that is reported when it is opened.
        """
        try:
            location = self._locator.locate(handle, exact_size=self._exact_size)
        except StateExtractError:
            return None
        end = location.start + location.size
        return None if location.uri is None else PrefetchRequest(location.uri, [(end - min(last, location.size), end)])

    def identify(self, handle: StreamHandle) -> tuple[str | bytes, int, int]:
        """The physical file of a handle and where its bytes lie there, or the bytes of an inline one."""
        return identity_of(self._locator.locate(handle, exact_size=self._exact_size))

    def expect(self, handle: StreamHandle, last: int) -> Callable[[], None] | None:
        """Have the file of a handle opened in the background, and its last bytes read.

        :returns: what forgets it, if it is not opened after all; ``None``: files are local, and opened in their turn.
        """
        file = self.coming(handle, last)
        if file is None:
            return nothing
        expected = self._files.expect(file)
        return None if expected is None else partial(self._files.forget, expected)


def nothing() -> None:
    """There is nothing to forget."""


def identity_of(location: Location) -> tuple[str | bytes, int, int]:
    """Equal for the same bytes of the same file, and for equal inline bytes."""
    return location.inline or b"" if location.uri is None else location.uri, location.start, location.size


IdentifyHandle = Callable[[StreamHandle], tuple[str | bytes, int, int]]
"""As :meth:`Opener.identify`."""

ExpectHandle = Callable[[StreamHandle, int], "Callable[[], None] | None"]
"""As :meth:`Opener.expect`."""


@contextmanager
def errors_of(file: FilePiece, name: str) -> Iterator[None]:
    """Errors raised inside are about this file; positions in it become positions in the physical file.

    :param name: its local name, for files without a URI of their own.
    """
    try:
        yield
    except StateExtractError as error:
        error.moved(file.start).at(file=f"{file.uri} ({name})" if file.uri else name)
        raise


def read_exactly(file: FilePiece, offset: int, length: int) -> bytes:
    """``length`` bytes, which the caller knows to lie below the file's stated size."""
    data = file.read_at(offset, length)
    if len(data) != length:
        raise TruncatedError(
            f"the file ends {length - len(data)} bytes early", expected=f"{length} bytes", offset=offset
        )
    return data
