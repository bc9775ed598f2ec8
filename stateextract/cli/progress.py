"""Bars on standard error for what takes longer than two seconds: tasks, bytes, rows, and the time that is left.

Where standard error is no terminal nothing is shown. rich is loaded when a bar appears.
"""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

DELAY = 2.0
"""Seconds before a bar appears."""


class Meter:
    """Counts what is done; a context manager, whose bar is gone at its end.

    :param title: what is being done, in a word or two.
    :param size: bytes that there are to do, about.
    :param tasks: how many tasks there are; 0: there are none.
    :param console: where to show it; ``None``: on standard error, if that is a terminal.
    """

    def __init__(
        self, title: str, size: int = 0, tasks: int = 0, console: Console | None = None, delay: float = DELAY
    ) -> None:
        self.title, self.size, self.tasks = title, size, tasks
        self.done = self.rows = self.tasks_done = 0
        self._console = console
        self._lock = threading.Lock()
        self._bar: Any = None
        self._line: Any = None
        self._timer: threading.Timer | None = None
        if console is not None or sys.stderr.isatty():
            self._timer = threading.Timer(delay, self._appear)
            self._timer.daemon = True

    def __enter__(self) -> Meter:
        if self._timer is not None:
            self._timer.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._timer is not None:
            self._timer.cancel()
        with self._lock:
            self._timer = None
            if self._bar is not None:
                self._bar.stop()
                self._bar = None

    def expect(self, size: int, tasks: int = 0) -> None:
        """There is that much more to do."""
        with self._lock:
            self.size += size
            self.tasks += tasks
            self._show()

    def add(self, size: int = 0, rows: int = 0, tasks: int = 0) -> None:
        """That much was done."""
        with self._lock:
            self.done += size
            self.rows += rows
            self.tasks_done += tasks
            self._show()

    def _appear(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        with self._lock:
            if self._timer is None:
                return
            self._bar = Progress(
                TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[counts]}"),
                TimeRemainingColumn(), console=self._console or Console(stderr=True), transient=True,
            )  # fmt: skip
            self._line = self._bar.add_task(self.title, total=self.size or None, counts="")
            self._bar.start()
            self._show()

    def _show(self) -> None:
        if self._bar is None:
            return
        from stateextract.cli.sizes import text_size

        done = min(self.done, self.size)
        parts = [f"{self.tasks_done} of {self.tasks} tasks"] if self.tasks else []
        if self.size:
            parts.append(f"{text_size(done)} of {text_size(self.size)}")
        if self.rows or not self.tasks:
            parts.append(f"{self.rows:,} rows")
        self._bar.update(self._line, total=self.size or None, completed=done, counts=" · ".join(parts))


__all__ = ["DELAY", "Meter"]
