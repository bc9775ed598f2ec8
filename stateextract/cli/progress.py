"""Bars on standard error for what takes longer than two seconds: tasks, bytes, rows, and the time that is left.

If standard error is not a terminal, nothing is shown. rich is loaded when a bar appears.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from stateextract.printable import pluralize

if TYPE_CHECKING:
    from rich.console import Console

    from stateextract.job.execute import Execute, OnReport, Tasks

DELAY = 2.0
"""Seconds before a bar appears."""
READING_HEADERS = "reading headers"

_screen = threading.Lock()


class Meter:
    """Counts what is done; a context manager, whose bar is gone at its end.

    :param title: what is being done, in a word or two.
    :param size: bytes that there are to do, about.
    :param console: where to show it; ``None``: on standard error, if that is a terminal.
    """

    def __init__(self, title: str, size: int = 0, console: Console | None = None, delay: float = DELAY) -> None:
        self.title, self.size = title, size
        self.tasks = self.done = self.rows = self.tasks_done = 0
        self._headers: tuple[int, int] | None = None
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
                _screen.release()

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

    def headers(self, done: int, count: int) -> None:
        """The heads of files are read before anything else: so many were, of so many. Until all are, the bar is about them."""
        with self._lock:
            self._headers = (done, count) if done < count else None
            if self._bar is not None and done == count:
                # What is left of another kind of work says nothing about what comes.
                self._bar.remove_task(self._line)
                self._line = self._bar.add_task(self.title, total=None, counts="")
            self._show()

    def _appear(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        with self._lock:
            # Of two bars at once the one that came first stays.
            if self._timer is None or not _screen.acquire(blocking=False):
                return
            self._bar = Progress(
                TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[counts]}"),
                TimeRemainingColumn(), console=self._console or Console(stderr=True), transient=True,
            )  # fmt: skip
            self._line = self._bar.add_task(self.title, total=None, counts="")
            self._bar.start()
            self._show()

    def _show(self) -> None:
        if self._bar is None:
            return
        from stateextract.cli.sizes import text_size

        if self._headers is not None:
            done, count = self._headers
            counts = f"{done} of {pluralize(count, 'file')}"
            self._bar.update(self._line, description=READING_HEADERS, total=count, completed=done, counts=counts)
            return
        done = min(self.done, self.size)
        parts = [f"{self.tasks_done} of {self.tasks} tasks"] if self.tasks else []
        if self.size:
            parts.append(f"{text_size(done)} of {text_size(self.size)}")
        if self.rows or not self.tasks:
            parts.append(pluralize(self.rows, "row"))
        total = self.size or self.tasks or None
        done = done if self.size else self.tasks_done
        counts = " · ".join(parts)
        self._bar.update(self._line, description=self.title, total=total, completed=done, counts=counts)


def counted(meter: Meter, execute: Execute, rows: Callable[[bytes], int] = lambda report: 0) -> Execute:
    """Have a meter count the tasks that are done.

    :param rows: returns how many rows a report is about.
    """

    def run(tasks: Tasks, on_report: OnReport) -> None:
        def done(number: int, report: bytes) -> None:
            meter.add(tasks.sizes[number], rows(report), 1)
            on_report(number, report)

        meter.expect(sum(tasks.sizes), tasks.count)
        execute(tasks, done)

    return run


class HeadersBar:
    """A bar for reading the heads of files, if that takes long: called with how many were read, and of how many.

    :param console: and ``delay``: as of :class:`Meter`.
    """

    def __init__(self, console: Console | None = None, delay: float = DELAY) -> None:
        self._console, self._delay = console, delay
        self._meter: Meter | None = None

    def __call__(self, done: int, count: int) -> None:
        if done == 0 and count:
            self._meter = Meter(READING_HEADERS, console=self._console, delay=self._delay).__enter__()
        if self._meter is not None and done < count:
            self._meter.headers(done, count)
        elif self._meter is not None:
            self._meter.__exit__()
            self._meter = None
