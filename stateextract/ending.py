"""Ends that are not the normal one: by a signal, and because standard output takes no more.

Containers are stopped with SIGTERM, and the end of a terminal session sends SIGHUP. By default both end a process at once.
Here they become an exception, so that a job cleans up as it does after Ctrl+C.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from stateextract.outcome import ExitCode

_SIGNALS = (signal.SIGTERM, signal.SIGHUP)


class Terminated(KeyboardInterrupt):
    """The process was asked to end by a signal.

    :param number: the signal's number.
    """

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.exit_code = ExitCode(128 + number)


def exit_code_of(error: BaseException | None) -> ExitCode:
    """Exit code of a command that an interrupt ended."""
    return error.exit_code if isinstance(error, Terminated) else ExitCode.INTERRUPTED


def silence_stdout() -> None:
    """What is still in the buffer of standard output must not fail again when Python ends."""
    with open(os.devnull, "wb") as nothing:
        os.dup2(nothing.fileno(), sys.stdout.fileno())


@contextmanager
def printing_about_a_result(complain: Callable[[str], object], written: bool = True) -> Iterator[None]:
    """The block prints about a result that is written. The exit code is that of the result, printed or not.

    :param complain: prints a message on standard error.
    :param written: ``False``: what the block prints is the only result, so an error is one.
    """
    try:
        yield
        sys.stdout.flush()
    except OSError as error:
        if not written:
            raise
        silence_stdout()
        if not isinstance(error, BrokenPipeError):
            complain(f"Warning: the result is written, but standard output fails: {error.strerror or error}.")


@contextmanager
def ending_by_exception() -> Iterator[None]:
    """While the block runs, the first SIGTERM or SIGHUP raises :class:`Terminated`, and later ones do nothing.

    A signal that the caller handles or ignores (as ``nohup`` does) stays as it is. Outside of the main thread nothing
    changes, because Python has no handlers there.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    mine = [number for number in _SIGNALS if signal.getsignal(number) is signal.SIG_DFL]
    came: list[int] = []

    def handle(number: int, frame: FrameType | None) -> None:
        if not came:
            came.append(number)
            raise Terminated(number)

    for number in mine:
        signal.signal(number, handle)
    try:
        yield
    finally:
        for number in mine:
            signal.signal(number, signal.SIG_DFL)
