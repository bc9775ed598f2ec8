"""What the operations of the kernel work on: registers, tables in memory, and the ways to stop.

An operation is a function of a :class:`Machine` and of its operands. It is never called. ``assemble.py`` puts the bodies
of all operations into one flat function, in which ``m.pos`` is the local variable ``pos`` and ``m.require(8)`` is an
``if``. So everything that is written here costs nothing when the kernel runs.
"""

from __future__ import annotations

from typing import NoReturn

from stateextract.columnar.program.operations import MAX_CALLS as MAX_CALLS

# Why `run` stopped.
DONE = 0  #           as many entries as the caller requested
NEED_INPUT = 1  #     the window ends inside an entry; out[NEEDED] says up to where bytes are needed at least
FULL = 2  #           out[ARGUMENT] is the column that is full, or -1 - level for a level without free slots
BAD_COUNT = 3  #      a negative length or count, or a count of zero-width elements beyond reason
BAD_TEXT = 4  #       a varint or UTF-8 sequence that Java does not write
BAD_CONSTANT = 5  #   bytes that had to be others
BAD_TAG = 6  #        a tag byte that no case has
BAD_POJO = 7  #       POJO flags without meaning
BAD_SUBCLASS = 8  #   a subclass that the snapshot does not have
UNDECODABLE = 9  #    out[ARGUMENT]: index into Program.undecodable
LAST = 10  #          the pair that was decoded last says that no other of its state follows
BAD_PAIR = 11  #      a key or value that does not end at its recorded length
BAD_GROUP = 12  #     a key of another key group; out[ARGUMENT] says of which
KEY_FULL = 13  #      out[NEEDED] bytes are needed at out[KEY]
BAD_SECTION = 14  #   a part of a section that reaches beyond it
SLOW = 15  #          a value of Kryo that the program does not have

# Slots of `out`.
ROWS, CONSUMED, ARGUMENT, POSITION, NEEDED, SURROGATES = 0, 1, 2, 3, 4, 5
# Its slots for pairs: how many were decoded; the key group they must be of (-1: any); the bytes that distinguish the
# current row from the next (address, length or -1, capacity); whether the first row continues the last one of the batch
# before.
PAIRS, GROUP, KEY, KEY_SIZE, KEY_CAP, CONTINUED = 6, 7, 8, 9, 10, 11
# Sequences that are not valid UTF-8, lone surrogates excepted.
MALFORMED = 12
# Kryo's values that Python has decoded, in the order of the program: the address of the next one's row, or 0. A row has where
# the value begins and ends in the window, the addresses of the beginning and the end of what came out, and how many lone
# surrogates were replaced. Behind the last row one that begins nowhere.
DECODED, DECODED_SIZE = 13, 5
# The classes whose names the value at hand has written out, by their number in it.
NAMES, MAX_NAMES = 14, 16
# Bytes of a name that is looked for.
MAX_NAME = 512
# The value's objects that others can refer to, two numbers for each: where it begins in the window; what its bytes are, and,
# from bit 32 on, how many names were known.
OBJECTS, MAX_OBJECTS = 30, 4096
OUT_SIZE = OBJECTS + 2 * MAX_OBJECTS
# Columns of `cols`, one row per column.
C_KIND, C_DATA, C_VALID, C_VAR, C_VAR_N, C_VAR_CAP, C_LEVEL, C_CHILD, C_SIZE = 0, 1, 2, 3, 4, 5, 6, 7, 8
# What C_KIND says: the width of a fixed column, or one of these.
K_VAR, K_LIST, K_VALID = 16, 17, 18
# Columns of `levels`.
L_COUNT, L_CAP, L_SIZE = 0, 1, 2
# Columns of `frames`, one row per open list: elements left, slot and level of the list, where an element's code begins,
# all elements, where their null bits begin.
F_LEFT, F_SLOT, F_BODY, F_LEVEL, F_TOTAL, F_MASK, F_SIZE = 0, 1, 2, 3, 4, 5, 6
# The same rows for open sections: the bounds of the outer section, and the position after this one.
F_BASE, F_END, F_AFTER = 0, 1, 2
# And for an earlier object of Kryo that is read again: how many names and objects were known, and where it begins.
F_NAMES, F_REFS, F_BEGIN = 3, 4, 5

# Elements that take no bytes give no bound on their number: so many values of them are believed in all lists of a row.
MAX_EMPTY = 1 << 20
# Elements of one value of Kryo, in all its lists, that are read without asking Python.
MAX_ELEMENTS = 1 << 22
# Characters of a JSON text, and bytes of objects that are read once more in a value, without asking Python.
MAX_JSON, MAX_SPENT = 1 << 20, 1 << 24
SLACK = 16

HIGH_BITS = -9187201950435737472  # 0x8080808080808080


class Machine:
    """The registers, which are local variables of ``run``, and the ways in which an operation ends early.

    Registers are whole numbers of 64 bits. Those with an address point to arrays of int64, unless another type is given.
    """

    op: int
    """The operation, for those that share a function."""

    # The program.
    code: int
    """Address of the program."""
    constants: int
    """Address of the program's constants, bytes."""
    pc: int
    """The position in the program, after the operands of the operation. Where operands vary in number, they begin here,
    and the operation sets it."""

    # The input.
    src: int
    """Address of the window, bytes."""
    pos: int
    """The position in the window."""
    end: int
    """Where the window, the pair's key or value, or the section ends."""
    window_end: int
    base: int
    """Where the open section begins."""
    sections: int
    """How many sections are open."""

    # The output.
    cols: int
    levels: int
    out: int
    i: int
    """The current slot of the columns of ``level``."""
    level: int

    # Open lists and rows.
    frames: int
    depth: int
    """How many rows of ``frames`` are in use."""
    masks: int
    mask_depth: int

    empty: int
    """Values of the entry that were made of elements without bytes."""

    # The value of Kryo at hand.
    names: int
    """How many class names it has written out."""
    refs: int
    """How many objects it has that others can refer to."""
    spent: int
    """How many bytes of earlier objects were read once more."""
    elements: int
    """How many elements its lists have."""
    json: int
    """The column whose text is being written, or -1."""
    calls: int
    """How many ``CALL`` are open."""

    # Entries.
    limit: int
    """How many entries the caller requested."""
    rows: int
    """Entries that are complete."""
    taken: int
    """The slot of level 0 of the current entry."""
    slots: int
    """Slots of level 0."""

    # Pairs of key and value.
    pair_end: int
    """Where the pair ends; 0 outside of pairs."""
    part: int
    """Where the key or the namespace began."""
    mark: int
    """Where the bytes that distinguish rows began."""
    mark_size: int
    row: int
    """The slot of level 0 that the pair belongs to."""
    new_row: int
    """1 if the pair begins a row."""
    goes_on: int
    """1 if that row continues the last one of the batch before."""
    last: int
    """1 if no other pair of the state follows."""
    group: int
    """The pair's key group."""
    only_group: int

    def require(self, n: int) -> None:
        """Stop, unless ``n`` bytes from the position on are there."""

    def need_input(self, position: int) -> NoReturn:
        """Stop: bytes up to ``position`` are needed at least."""
        raise NotImplementedError

    def bad(self, status: int, position: int) -> NoReturn:
        """Stop: the bytes at ``position`` are wrong."""
        raise NotImplementedError

    def full(self, c: int) -> NoReturn:
        """Stop: the column ``c`` is full (-1: level 0 is)."""
        raise NotImplementedError

    def full_level(self, level: int, slots: int) -> NoReturn:
        """Stop: the level needs so many slots."""
        raise NotImplementedError

    def stop(
        self, status: int, *, argument: int | None = None, position: int | None = None, needed: int | None = None
    ) -> NoReturn:
        """Stop, with what ``out`` says about it."""
        raise NotImplementedError

    def check(self, status: int) -> None:
        """Stop, unless the status is ``DONE``."""

    def end_entry(self) -> NoReturn:
        """The entry is complete."""
        raise NotImplementedError
