"""A second thread for one step of work, in memory that is only valid during that step."""

from __future__ import annotations

from collections.abc import Callable
from concurrent import futures
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from stateextract.files.cores import usable_cores

A = TypeVar("A")
B = TypeVar("B")


class SecondThread:
    """Runs two pieces of work at once, where there is a core for each and a thread can be started; else one after the other."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1) if usable_cores() > 1 else None

    @property
    def is_there(self) -> bool:
        """Whether two pieces of work may run at once."""
        return self._thread is not None

    def run(self, here: Callable[[], A], there: Callable[[], B]) -> tuple[A, Future[B]]:
        """Run ``here`` in this thread and ``there`` in the other one.

        Comes back, or raises what ``here`` raises or an interruption, only when both have ended: what they work on may be
        another's then.
        """
        other = self._begun(there)
        try:
            return here(), other
        finally:
            _ended(other)

    def _begun(self, there: Callable[[], B]) -> Future[B]:
        if self._thread is not None:
            try:
                return self._thread.submit(there)
            except RuntimeError:
                # No more threads, or Python is about to end. What was submitted must not run later, by any other thread.
                self._thread = None
        return done(there)


def done(work: Callable[[], B]) -> Future[B]:
    """What has been run at once, in this thread, in the form of what runs in another."""
    future: Future[B] = Future()
    try:
        future.set_result(work())
    except Exception as error:
        future.set_exception(error)
    return future


def _ended(other: Future[B]) -> None:
    interruption: BaseException | None = None
    while not other.done():
        try:
            futures.wait((other,))
        except BaseException as error:  # KeyboardInterrupt, which has to wait as well
            interruption = error
    if interruption is not None:
        raise interruption
