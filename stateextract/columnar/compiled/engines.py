"""Which engine reads: the interpreter, which is there at once, or the kernel, which is loaded and perhaps compiled first.

The one place that weighs the two. It is asked where the reading happens, since machine code may be kept on one machine and not
on another. Imports the kernel only where it is to be used.
"""

from __future__ import annotations

import sys
from functools import cache

SMALL = 1 << 20
"""Bytes of state that the interpreter reads sooner than the kernel is compiled. It reads 0.3 to 0.5 MB/s of small entries, so
that it takes some 3 s for them, and compiling takes about a minute."""
TINY = 1 << 16
"""Bytes of state that the interpreter reads about as soon as the kernel is loaded, where its machine code is kept."""


def engine_for(size: int, least: int = TINY) -> str:
    """``interpreter``, or ``auto`` for the kernel wherever it can run the layout.

    :param size: bytes of state that are read, all of them and not only those of the current file.
    :param least: for so many or fewer the kernel is not loaded, unless it is there already.
    """
    if size > min(least, SMALL) or "stateextract.columnar.kernel" in sys.modules:
        from stateextract.columnar import kernel

        kernels = kernel.run, kernel.run_kryo
        if all(k.is_kept for k in kernels) or (size > SMALL and all(k.is_usable for k in kernels)):
            return "auto"
    if size > SMALL:
        _note_slow_reading()
    return "interpreter"


@cache
def _note_slow_reading() -> None:
    """Once for each process of the user, and not for those that it starts."""
    import multiprocessing  # a command that has not loaded it ends faster

    if multiprocessing.parent_process() is None:
        from stateextract.columnar.compiled.compile import COMPILE_ADVICE

        text = "stateextract has no machine code for this machine: Python decodes the values, which is about 100 times slower."
        print(f"{text} To have it fast, {COMPILE_ADVICE}.", file=sys.stderr, flush=True)


__all__ = ["SMALL", "TINY", "engine_for"]
