"""The job without Spark: splits to processes of this machine.

The same plan, tasks and commit as on Spark (``run.py``); only who runs the tasks is another. Processes are spawned, not
forked: the planner's threads and what pyarrow has opened would not survive a fork. An error in a task ends the job as on
Spark, but nothing is tried again: what fails on one machine fails there again.

Must not know of Spark.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from types import FrameType
from typing import Any, TypeVar

from stateextract.errors import EnvironmentProblem, UsageError
from stateextract.files.cores import usable_cores
from stateextract.job.run import Execute, Tasks
from stateextract.job.task import compile_once, runner_for

R = TypeVar("R")

_ENDS: set[int] = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}

OnReport = Callable[[Tasks, bytes], None]
"""Is told of each report as it comes."""


def processes(workers: int | None = None, on_report: OnReport = lambda tasks, report: None) -> Execute:
    """How splits are executed by processes.

    :param workers: how many at once; ``None``: one for each core.
    :raises UsageError: where that is not a number of processes.
    """
    if workers is not None and workers < 1:
        raise UsageError(f"--workers is {workers}", expected="a whole number, at least 1")

    def execute(tasks: Tasks) -> Iterable[bytes]:
        arguments = [(tasks, split) for split in range(tasks.count)]
        return in_processes(_run, arguments, workers, lambda report: on_report(tasks, report), sum(tasks.sizes))

    return execute


def in_processes(
    function: Callable[..., R],
    arguments: Sequence[tuple[Any, ...]],
    workers: int | None,
    on_result: Callable[[R], None],
    size: int,
) -> list[R]:
    """Call a function for each of some arguments in processes of this machine.

    :param function: of a module, so that another process finds it.
    :param workers: how many processes at once; ``None``: one for each core.
    :param on_result: is told of each result as it comes.
    :param size: bytes of state that all of them read.
    :returns: the results in the order in which they came.
    :raises EnvironmentProblem: where a process ended by itself.
    """
    if not arguments:
        return []
    count = min(workers or usable_cores(), len(arguments))
    if count > 1:
        compile_once(size)
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(count, context, initializer=_prepare)
    others = set(multiprocessing.active_children())
    try:
        with _interrupt_later():
            running = [pool.submit(function, *given) for given in arguments]
        results = []
        for future in as_completed(running):
            results.append(future.result())
            on_result(results[-1])
        return results
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


@contextmanager
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


def _run(tasks: Tasks, split: int) -> bytes:
    """In a worker: one split."""
    return runner_for(tasks.output, tasks.plan_path, tasks.context_bytes).run(split).to_bytes()


def _prepare() -> None:
    """In a worker: end without a word when the user interrupts, and when the process that started it is gone."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDS)
    starter = multiprocessing.parent_process()
    assert starter is not None

    def follow() -> None:
        starter.join()
        os._exit(1)

    threading.Thread(target=follow, daemon=True).start()


__all__ = ["OnReport", "in_processes", "processes"]
