"""What was decompressed of files that several readers read, up to a limit. Does no I/O."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable

KEPT = 64 << 20
"""Most bytes of all files that are kept."""


class DecompressedFiles:
    """Decompressed changelog files by URI and start; for the logs of many subtasks, in several threads."""

    def __init__(self, most: int = KEPT) -> None:
        self._most = most
        self._kept: OrderedDict[tuple[str, int], bytes] = OrderedDict()
        self._large: set[tuple[str, int]] = set()
        self._lock = threading.Lock()

    def plain(self, uri: str, start: int, decompress: Callable[[], bytes | None]) -> bytes | None:
        """The file's plain bytes; ``None`` where they are too many to be kept."""
        key = uri, start
        with self._lock:
            if key in self._large:
                return None
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        data = decompress()
        with self._lock:
            if data is None:
                self._large.add(key)
                return None
            self._kept[key] = data
            while len(self._kept) > 1 and sum(map(len, self._kept.values())) > self._most:
                self._kept.popitem(last=False)
        return data
