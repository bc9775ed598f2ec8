"""The compiled decoder: an interpreter of programs, with one fixed signature, compiled once by Numba and cached.

``run`` decodes whole entries from a window of bytes into columns that lie in one arena of fixed capacity. It stops after
the last whole entry: at the end of the input, when a column is full, after as many entries as the caller requested, or
at an error. There is no growing and no second pass. Whatever stopped it, the columns' counts are then those of the
whole entries; ``decoder.py`` hands over the batch, refills the window or grows the arena, and calls again.

Rules that keep corrupt input harmless: every read is checked against the window's end before it happens, every write
against the column's capacity; a list's count is checked against the bytes that its elements need at least, and where they
need none, against what is believed of a row; the caller
gives 16 readable bytes after the window and as many writable ones after each data buffer (loads and stores overrun by at
most fifteen).

What the operations do is in ``numbers.py``, ``variable.py``, ``skips.py``, ``choices.py``, ``lists.py``, ``plain.py``,
``pairs.py``, ``sections.py``, ``kryo.py`` and ``json.py``, one each. ``OPERATIONS`` lists them, and ``assemble.py`` puts
them into the loop of ``run``. ``run_kryo`` has ``KRYO_OPERATIONS`` too, which would make ``run`` slower. To add an
operation, write its function, give it a number in ``Op`` (``operations.py``) and a row in ``OPERATIONS``.

At its first call on a machine it is compiled, which takes about a minute; afterwards its machine code is loaded
(``native.py``). Must not know of layouts, Arrow, files, Flink.
"""

from __future__ import annotations

from stateextract.columnar.kernel.loop import run, run_kryo
from stateextract.columnar.kernel.machine import (
    ARGUMENT,
    BAD_CONSTANT,
    BAD_COUNT,
    BAD_GROUP,
    BAD_PAIR,
    BAD_POJO,
    BAD_SECTION,
    BAD_SUBCLASS,
    BAD_TAG,
    BAD_TEXT,
    C_VAR_CAP,
    C_VAR_N,
    CONSUMED,
    CONTINUED,
    DECODED,
    DECODED_SIZE,
    DONE,
    F_SIZE,
    FULL,
    GROUP,
    KEY,
    KEY_CAP,
    KEY_FULL,
    KEY_SIZE,
    LAST,
    MALFORMED,
    MAX_EMPTY,
    NEED_INPUT,
    NEEDED,
    OUT_SIZE,
    PAIRS,
    POSITION,
    ROWS,
    SLOW,
    SURROGATES,
    UNDECODABLE,
)

__all__ = [
    "ARGUMENT",
    "BAD_CONSTANT",
    "BAD_COUNT",
    "BAD_GROUP",
    "BAD_PAIR",
    "BAD_POJO",
    "BAD_SECTION",
    "BAD_SUBCLASS",
    "BAD_TAG",
    "BAD_TEXT",
    "CONSUMED",
    "CONTINUED",
    "C_VAR_CAP",
    "C_VAR_N",
    "DECODED",
    "DECODED_SIZE",
    "DONE",
    "FULL",
    "F_SIZE",
    "GROUP",
    "KEY",
    "KEY_CAP",
    "KEY_FULL",
    "KEY_SIZE",
    "LAST",
    "MALFORMED",
    "MAX_EMPTY",
    "NEEDED",
    "NEED_INPUT",
    "OUT_SIZE",
    "PAIRS",
    "POSITION",
    "ROWS",
    "SLOW",
    "SURROGATES",
    "UNDECODABLE",
    "run",
    "run_kryo",
]
