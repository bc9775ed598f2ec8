"""Which files of a snapshot cannot be found: looked for, not opened. May import metadata and files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from stateextract.errors import StateExtractError
from stateextract.metadata.locate import Locator
from stateextract.metadata.model import (
    ChangelogFilesHandle,
    ChangelogHandle,
    Handle,
    IncrementalHandle,
    OperatorState,
    StreamHandle,
)
from stateextract.printable import agreeing, pluralize


@dataclass(frozen=True)
class MissingFiles:
    """Of some operators' files.

    :param count: how many files there are; one that several handles share counts once.
    :param paths: of those that cannot be found, or have another size, as the snapshot writes them.
    """

    count: int
    paths: tuple[str, ...]

    @property
    def note(self) -> str | None:
        """What to say of them; ``None`` where all are there."""
        if not self.paths:
            return None
        such = f", such as {self.paths[0]}" if len(self.paths) > 1 else f": {self.paths[0]}"
        return f"{self.sentence}{such} (`stateextract files` lists {'it' if len(self.paths) == 1 else 'them'})"

    @property
    def sentence(self) -> str:
        """How many there are."""
        few = len(self.paths)
        size = "it" if few == 1 else "they"
        of = pluralize(self.count, "file")
        return f"{few:,} of {of} {agreeing(few, 'is')} missing, or not as large as {size} should be"


def missing_files(operators: Iterable[OperatorState], locator: Locator) -> MissingFiles:
    """Look for all files of operators. The locator remembers which lie elsewhere than the snapshot says."""
    found: set[str] = set()
    paths: dict[str, None] = {}
    for operator in operators:
        for use in operator.handles():
            for _, stream, exact in streams(use.handle):
                path = getattr(stream, "path", None)
                try:
                    locator.locate(stream, exact_size=exact)
                except StateExtractError:
                    paths[str(path or stream.kind)] = None
                if path is not None:
                    found.add(path)
    return MissingFiles(len(found | set(paths)), tuple(paths))


def streams(handle: Handle) -> Iterator[tuple[str | None, StreamHandle, bool]]:
    """The streams of a handle with the local names that RocksDB's have, and whether their size is that of the file."""
    if isinstance(handle, IncrementalHandle):
        yield from ((None, stream, True) for stream in handle.meta.streams())
        for name, outer in (*handle.shared, *handle.private):
            yield from ((name, stream, True) for stream in outer.streams())
    elif isinstance(handle, ChangelogHandle):
        for part in (*handle.materialized, *handle.increments):
            yield from streams(part)
    else:
        exact = not isinstance(handle, ChangelogFilesHandle)
        yield from ((None, stream, exact) for stream in handle.streams())
