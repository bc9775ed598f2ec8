"""Which engine reads: the interpreter, which is there at once, or the kernel, which has to be compiled or loaded first.

The one place that weighs the two. It is asked where the reading happens, since machine code may be kept on one machine and not
on another. Imports the kernel only where it is to be used.
"""

from __future__ import annotations

import sys

SMALL = 1 << 20
"""Bytes of state that the interpreter reads sooner than the kernel is compiled. It reads 0.3 to 0.5 MB/s of small entries, so
that it takes some 3 s for them, and compiling takes 25 to 30 s."""
TINY = 1 << 16
"""Bytes of state that the interpreter reads about as soon as the kernel is loaded, where its machine code is kept."""


def engine_for(size: int, least: int = TINY) -> str:
    """``interpreter``, or ``auto`` for the kernel wherever it can run the layout.

    :param size: bytes of state that are read, all of them and not only those of the file at hand.
    :param least: for so many or fewer the kernel is not loaded, unless it is there already.
    """
    if size > SMALL:
        return "auto"
    if size > least or "stateextract.columnar.kernel" in sys.modules:
        from stateextract.columnar import kernel

        if kernel.run.is_kept and kernel.run_kryo.is_kept:
            return "auto"
    return "interpreter"


__all__ = ["SMALL", "TINY", "engine_for"]
