"""Tasks of ``extract``, ``stats`` and ``diff``, and who runs them: this process, or processes of this machine.

Spark is the third (``spark/job.py``). Processes are spawned, not forked: the planner's threads and what pyarrow has opened
would not survive a fork. An error in a task ends the job as on Spark, but nothing is tried again: what fails on one machine
fails there again.

Must not know of Spark.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import lru_cache
from types import FrameType
from typing import Any, TypeVar

import pyarrow as pa

from stateextract.columnar.arrow.without_pandas import without_pandas
from stateextract.errors import EnvironmentProblem, OutputError, UsageError
from stateextract.files.cores import usable_cores
from stateextract.job.task import compile_once
from stateextract.printable import pluralize

R = TypeVar("R")

ALONE = 64 << 20
"""Bytes of state that this process reads sooner than others are started.

A process takes about 0.4 s of processor time to start. In this time it decodes and writes 100 MB of POJOs. So small snapshots
are not split for the cores: 100 MB took 1.8 s of processor time as one task, and 2.7 s in two processes.
"""

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3
"""Parameters of glibc's ``mallopt``."""

_ENDS: set[int] = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}

RunTask = Callable[[int, bytes], bytes]
"""Runs one task, given its number and its record, and returns its report."""


@dataclass(frozen=True)
class Tasks:
    """Tasks to run.

    :param open: function of a module, so that another process finds it. It opens what all tasks share.
    :param shared: its argument.
    :param sizes: bytes of state that each task reads.
    :param records: what each task is given; none: its number is enough.
    :param prepare: compiles kernels that the extract job does not use, for the processes of this machine.
    :param here: runs a task in this process in place of what ``open`` gives. It takes what it finds itself, so that nothing is
        written only to be read again, and its report is empty.
    """

    open: Callable[[bytes], RunTask]
    shared: bytes
    sizes: Sequence[int]
    records: Sequence[bytes] = ()
    prepare: Callable[[], object] = lambda: None
    here: RunTask | None = None

    @property
    def count(self) -> int:
        """How many tasks there are."""
        return len(self.sizes)

    def record(self, number: int) -> bytes:
        """What a task is given."""
        return self.records[number] if self.records else b""


OnReport = Callable[[int, bytes], None]
"""Called with the number of a task and its report, as reports come."""

Execute = Callable[[Tasks, OnReport], None]
"""Runs all tasks, in any order."""


def reports_of(execute: Execute, tasks: Tasks, decode: Callable[[bytes], R]) -> list[R]:
    """Run tasks.

    :returns: the report of each task. A second report of one task is another attempt at it, and is left out.
    :raises OutputError: if a task gave no report.
    """
    found: dict[int, R] = {}

    def on_report(number: int, report: bytes) -> None:
        if number not in found:
            found[number] = decode(report)

    execute(tasks, on_report)
    missing = sorted(set(range(tasks.count)) - set(found))
    if missing:
        raise OutputError(f"{len(missing)} of {pluralize(tasks.count, 'task')} gave no report, the first is {missing[0]}")
    return [found[number] for number in range(tasks.count)]


def in_this_process(tasks: Tasks, on_report: OnReport) -> None:
    """Run all tasks in this process, one after the other."""
    run = tasks.here or tasks.open(tasks.shared)
    for number in range(tasks.count):
        on_report(number, run(number, tasks.record(number)))


def on_this_machine(workers: int | None = None) -> Execute:
    """Run tasks in this process if they are soon done, else in processes.

    :param workers: how many at once; ``None``: one for each core, if there is much to read.
    :raises UsageError: if that is not a number of processes.
    """
    in_processes = processes(workers)

    def execute(tasks: Tasks, on_report: OnReport) -> None:
        alone = min(workers or usable_cores(), tasks.count) < 2 or (workers is None and sum(tasks.sizes) <= ALONE)
        (in_this_process if alone else in_processes)(tasks, on_report)

    return execute


def processes(workers: int | None = None) -> Execute:
    """Run tasks in processes.

    :param workers: how many at once; ``None``: one for each core.
    :raises UsageError: if that is not a number of processes. The function that is returned raises ``EnvironmentProblem`` if a
        process ends by itself.
    """
    if workers is not None and workers < 1:
        raise UsageError(f"--workers is {workers}", expected="a whole number, at least 1")

    def execute(tasks: Tasks, on_report: OnReport) -> None:
        if tasks.count:
            _in_processes(tasks, min(workers or usable_cores(), tasks.count), on_report)

    return execute


def _in_processes(tasks: Tasks, count: int, on_report: OnReport) -> None:
    if count > 1:
        compile_once(sum(tasks.sizes))
        tasks.prepare()
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(count, context, initializer=_prepare)
    others = set(multiprocessing.active_children())
    try:
        with _interrupt_later():
            running = {
                pool.submit(_run, tasks.open, tasks.shared, number, tasks.record(number)): number
                for number in range(tasks.count)
            }
        for future in as_completed(running):
            on_report(running[future], future.result())
    except BrokenProcessPool as error:
        raise EnvironmentProblem(
            f"one of {count} worker processes ended before its task was done",
            advice="if the system had too little memory for it, set fewer --workers, or set smaller --memory-bytes",
        ) from error
    except KeyboardInterrupt:
        # A container that is stopped gives seconds, and the signal reaches this process alone.
        for child in set(multiprocessing.active_children()) - others:
            child.terminate()
        raise
    finally:
        # The tasks that run now are waited for, so that none writes when the output is cleared.
        pool.shutdown(wait=True, cancel_futures=True)


@contextlib.contextmanager
def _interrupt_later() -> Iterator[None]:
    """Processes that begin here get signals when they have started, not during an import; this process after the block.

    What a thread blocks, the processes that it begins block too. Here other threads may still receive a signal, and Python
    then calls its handler in the main thread, so the handlers wait as well.
    """
    came: list[tuple[int, FrameType | None]] = []
    main = threading.current_thread() is threading.main_thread()
    handlers: dict[int, Any] = {number: signal.getsignal(number) for number in _ENDS} if main else {}
    handlers = {number: handler for number, handler in handlers.items() if callable(handler)}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDS)
    for number in handlers:
        signal.signal(number, lambda number, frame: came.append((number, frame)))
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for number, frame in came[:1]:
            handlers[number](number, frame)


@lru_cache(maxsize=1)
def opened(open_shared: Callable[[bytes], RunTask], shared: bytes) -> RunTask:
    """What all tasks share, for a worker process that is given several of them.

    Spark's workers collect garbage after each task, which took 9 % of their time. What has been imported by now is not garbage.
    """
    keep_memory()
    run = open_shared(shared)
    if not gc.get_freeze_count():
        gc.freeze()
    return run


def keep_memory() -> None:
    """Let this process keep the memory that it frees, up to 256 MiB, for the next batches and row groups.

    They are some MB large. pyarrow's default pool gives such memory back to the system each time, and so does malloc, depending
    on what is last on its heap. The system then clears the memory again, which took up to 12 % of a task's processor time.
    Pieces of more than 32 MiB are not on the heap.
    """
    pa.set_memory_pool(pa.system_memory_pool())
    with contextlib.suppress(AttributeError, OSError, TypeError):  # another C library than glibc
        libc = ctypes.CDLL(None)
        libc.mallopt(_M_MMAP_THRESHOLD, 32 << 20)
        libc.mallopt(_M_TRIM_THRESHOLD, 256 << 20)


def _run(open_shared: Callable[[bytes], RunTask], shared: bytes, number: int, record: bytes) -> bytes:
    """In a worker: one task."""
    return opened(open_shared, shared)(number, record)


def _prepare() -> None:
    """In a worker: end without a word when the user interrupts, and when the process that started it is gone."""
    without_pandas()
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDS)
    starter = multiprocessing.parent_process()
    assert starter is not None

    def follow() -> None:
        starter.join()
        os._exit(1)

    threading.Thread(target=follow, daemon=True).start()
