"""Threads that wait for answers of stores: one pool for opening files, one for reading them, for all of a process."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


class IoThreadPool:
    """Some threads, started when there is something to do. A forked process has its own.

    :param count: how many at most; :param name: what they are called.
    """

    def __init__(self, count: int, name: str) -> None:
        self._count = count
        self._name = name
        self._pool: tuple[int, ThreadPoolExecutor] | None = None

    def submit(self, work: Callable[[], T]) -> Future[T] | None:
        """Have it done by one of the threads; ``None`` where none can be started, as when Python is about to end."""
        pool = self._pool
        if pool is None or pool[0] != os.getpid():
            pool = self._pool = os.getpid(), ThreadPoolExecutor(self._count, thread_name_prefix=self._name)
        try:
            return pool[1].submit(work)
        except RuntimeError:
            return None


OPENING = IoThreadPool(8, "open")
READING = IoThreadPool(16, "read")
