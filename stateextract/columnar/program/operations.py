"""Programs: what the kernel runs, as data.

A program is a flat array of numbers, operations with their operands, and a list of *columns*: one output buffer set for
each leaf, list and nullable struct, kept in a tree of :class:`ColumnNode` from which ``assembly.py`` builds Arrow arrays.

Columns live on *levels*: level 0 has one slot per entry, every list opens a level below with one slot per element. An
operation writes the current slot of its column; slots are counted per level, never per column. So a null must fill a
slot in every column of its level (``FILL``), and a batch can be cut at any entry: the length of every column follows
from the offsets of the list above it.

May import layouts, numpy, pyarrow. Must not know of numba, files, Flink.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum, unique

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from stateextract.columnar.layout import Undecodable

MAX_CALLS = 100
"""Most ``CALL`` inside of each other."""
CLASS_MIX = -7046029254386353131
"""What the keys of a table of classes are multiplied with: 2^64 divided by the golden ratio, so that near keys lie apart."""


@unique
class Op(IntEnum):
    """Operations; operands follow in the program. ``c`` is a column, ``t`` a position in the program to go on at."""

    END = 0  #          the entry is complete
    FIXED1 = 1  #       c
    FIXED2 = 2  #       c              big-endian
    FIXED4 = 3  #       c
    FIXED8 = 4  #       c
    NFIXED1 = 5  #      c              a flag byte (not 0: null), then the number
    NFIXED2 = 6  #      c
    NFIXED4 = 7  #      c
    NFIXED8 = 8  #      c
    TEXT = 9  #        c, binary      varint of units + 1, units
    NTEXT = 10  #       c, binary      a flag byte (not 0: null), then as TEXT
    TEXT_VALUE = 11  #  c, binary      varint of units, units
    UTF = 12  #         c, binary      u16 bytes, modified UTF-8
    CHAR = 13  #        c, binary      one unit of two bytes
    BYTES = 14  #       c              i32 length, bytes
    BYTES_N = 15  #     c, n
    BIG_INTEGER = 16  # c, scaled
    SKIP = 17  #        n
    EXPECT = 18  #      n, constant
    SKIP_TEXT = 19  #   bias           as TEXT (1) or TEXT_VALUE (0), without output
    SKIP_UTF = 20  #
    SKIP_BYTES = 21  #
    SKIP_BIG = 22  #    scaled
    NSKIP = 56  #       n              a flag byte (not 0: null, and nothing follows), then n bytes
    NULL = 23  #        c, n
    PRESENT = 24  #     c              true, no bytes
    NULLABLE = 25  #    null_if, padding, t
    JUMP = 26  #        t
    FILL = 27  #        n, c × n       a null (or empty) slot in each
    LIST = 28  #        c, level, least, t       i32 count; c is -1 where nothing is kept; least: fewest bytes of an element, or
    #                                  of one without bytes its values, negative; t: behind the list
    LIST8 = 58  #       c, level, c    the same of eight-byte numbers, which go into the second column
    NEXT = 29  #        end of a list's element
    PLAIN = 57  #       an element begins, of numbers of four and eight bytes, texts, structs of them
    MASK = 30  #        bits, c        mask of a Row; c for its kind or -1
    MASK_BIT = 31  #    bit, t         go to t if the bit is set
    MASK_END = 32  #
    SWITCH = 33  #      n, t of other tags or -1, (tag, t) × n
    POJO = 34  #        c, t null, t declared, n, (tag or -1, constant, length, t) × n
    FAIL = 35  #        index into Program.undecodable
    FIXED = 36  #       c, width, little, flip    the rarer numbers
    # Pairs of key and value, as canonical bodies and RocksDB have them (pair_programs.py).
    PAIR = 37  #        n              both lengths; the key group's n bytes; what follows reads the key
    MARK = 40  #        n, c, level, t    as PAIR; if what tells rows apart is that of the row before: behind it, and
    #                                  as MARKED, go to t
    MARKED = 41  #      c, level       what tells rows apart ends; one more element in the list of the row
    PART = 38  #        the key or the namespace begins
    LENGTH = 39  #      its length, as Flink appends it
    VALUE = 43  #       n              the key ends n bytes further on, the value begins
    VALUE8 = 42  #      n, c, n, c, c  as VALUE, eight bytes of which are the whole of the value, and END_PAIR; then all pairs
    #                                  of the key group that are plain: its n bytes, the columns of the keys, which are
    #                                  eight bytes (-1: no more pairs), and of the key group or -1
    FLAG = 53  #        t              the key ends, the value begins with a flag: not 0: go to t
    ENTRY8 = 54  #      t, c, c, n, c, kind     as FLAG, then eight bytes for the first column, and END_PAIR for the second;
    #                                  then all pairs of the same row that are plain: the key group's n bytes, the column
    #                                  of the user keys and their kind: eight bytes (0), text (1), others (-1: no more)
    REST = 44  #        pass over what is left of the value
    BYTES_REST = 45  #  c              what is left of the value
    LIST_REST = 46  #   c, level, t    elements with a byte between them, up to the value's end
    LIST8_REST = 55  #  c, level, c    the same of eight-byte numbers, which go into the second column
    NEXT_REST = 47  #   end of such an element
    END_PAIR = 48  #    c              the pair is complete; c: the column that MARKED extended or -1
    GROUP = 51  #       c              the pair's key group
    LIST_BLOCKS = 49  # c, level, t    a list of counted blocks; t: its NEXT_BLOCK
    NEXT_BLOCK = 50  #  c, level, least          end of such an element, or the list's beginning
    PLACE = 52  #       c              where in the window this is
    # Sections: SQL's binary format (binary.py). A bit and an offset count from the row's beginning.
    SECTION = 60  #                    i32 length, the section
    REGION = 61  #                     the section that the slot at hand tells
    LEAVE = 62  #       exact          the section ends; exact: all its bytes must have been taken
    ROW = 63  #         least, c       a row of at least that many bytes; c for its kind or -1
    SLOT = 64  #        bit, offset, t     to the slot, or to t if the bit is set
    SLOT1 = 65  #       c, bit, offset     a number, or a null
    SLOT2 = 66  #       c, bit, offset
    SLOT4 = 67  #       c, bit, offset
    SLOT8 = 68  #       c, bit, offset
    SLOT_BYTES = 69  #  c, bit, offset     the bytes that a slot tells, or a null
    SLOT_UTF8 = 70  #   c, bit, offset     the same as text
    UTF8_REST = 71  #   c              what is left of the section, as text
    TIMESTAMP = 72  #   c, c           milliseconds and nanoseconds of the slot at hand
    ARRAY = 73  #       c, level, width, t     elements; c is -1 where nothing is kept; t: behind them
    MAP_ARRAY = 74  #   c, level, width, t     a map's values; the keys are there already
    ARRAY_ELEMENT = 75  # width, t     to the element's slot, or to t if it is null
    MAP_KEYS = 76  #                   the section of the keys
    MAP_VALUES = 77  #                 the section behind it
    MASKED_LIST = 78  # c, level, t    i32 count, null bits
    MASKED_ELEMENT = 79  # t           go to t if the element is null
    # Kryo's values (layout/kryo_plan.py), of which c is -1 where nothing is kept. What is none of these is SLOW.
    KRYO = 80  #        kept, t        a value begins; to t if Python has decoded it; kept: columns take it
    SLOW = 81  #                       only Python reads what follows
    CLASS = 82  #       t null, n, bits, (class, constant, length, registered as or -1, bytes or -1, t, t) × n, place × 2^bits
    #                                  a class, a mark; bytes: a number for what they are, -1 without marks; the second t is
    #                                  for an earlier object; the places are a hash table of the classes
    REFERENCE = 83  #   bytes, t null, t       a mark
    LATER = 116  #                     such an object was read
    VARYING = 84  #     c, form, low, high     an int (0), zigzag (1), a long (2, 3), a byte (4), two bytes (5, little: 6),
    #                                  four bytes, eight bytes (7, 8, little: 9, 10)
    KRYO_TEXT = 85  #   c, binary
    KRYO_CHAR = 86  #   c, binary, little
    CONSTANT = 87  #    c, constant, length    no bytes
    ONE_OF = 88  #      c, n, bias, (constant, length) × n     the position plus one; 0 is null; bias 1: the position itself
    UUID = 89  #        c, form        two longs, little-endian (0), zigzag (1) or big-endian (2)
    MOMENT = 90  #      c, c, form     milliseconds; and nanoseconds (1); where the milliseconds are whole seconds (2)
    CLOCK = 91  #       c, c, c, c     hour, minute, second, nanoseconds
    JODA = 96  #        form, c × 7    a date (0), time of day (1), both (2) of the ISO calendar
    EMPTY = 97  #       t              go to t behind an empty string or null
    BIG = 92  #         c, scaled
    BLOB = 93  #        c, bias        a length plus the bias; of 1: 0 is null
    ELEMENTS = 94  #    form, width, t null, t flagged, c, level, t    a count: as it is (0), plus one (1), with a flag (2), or
    #                                  the operand itself (3); t: behind the elements
    BODY = 95  #                       an element's code begins
    NO_CLASS = 99  #                   a class reference that is null
    # The same as JSON, in pieces.
    JSON = 100  #       c              the text of a column begins
    END_JSON = 101  #
    CALL = 102  #       t
    RETURN = 103  #
    PIECE = 104  #      constant, length       no bytes
    JSON_NUMBER = 105  #    form       as VARYING
    JSON_BOOLEAN = 106  #
    JSON_REAL = 107  #  little         a double
    JSON_CHAR = 108  #  little
    JSON_STRING = 109  #    name, class, bytes     name: of a member, behind a class (-1: none) and a mark, a colon behind it
    JSON_KEY = 110  #   pair, class, bytes, t      go to t if what follows is no such name; pair: the class of the object
    #                                  that it is in, or -1
    JSON_ONE_OF = 111  #    n, bias, (constant, length) × n
    JSON_UUID = 112  #  form
    JSON_TIME = 113  #  form           milliseconds; Kryo 5's Instant (1), Kryo 2's (2), LocalDate (3, 4);
    #                                  sql.Timestamp (6, 5)
    JSON_CLOCK = 117  # form           a time of day of Kryo 5 (0), of Kryo 2 (1)
    JSON_OFFSET = 118  #    form       a zone's offset, as it is in Kryo 5 (0), in Kryo 2 (1)
    JSON_ZONE = 119  #  bare           the name of a zone in brackets, or bare where it is an offset
    JSON_BIG = 114  #   scaled
    JSON_NEXT = 115  #                 as NEXT, with a comma


class Kind(IntEnum):
    """What buffers a column has."""

    FIXED = 0  # data
    VAR = 1  #   int32 offsets, data
    LIST = 2  #  int32 offsets; its elements are the next level
    VALID = 3  # nothing but validity


@dataclass
class ColumnNode:
    """One column and the ones below it.

    :param index: position among the program's columns.
    :param type: Arrow wire type.
    :param nullable: the column has a validity buffer.
    :param level: whose slots it has.
    :param child_level: level of a list's elements.
    """

    index: int
    kind: Kind
    type: pa.DataType
    width: int
    level: int
    nullable: bool
    child_level: int = -1
    children: dict[str, ColumnNode] = field(default_factory=dict)

    def same_level(self) -> list[ColumnNode]:
        """The node and those below it that share its level: what a null must fill."""
        nodes = [self]
        if self.kind is not Kind.LIST:
            for child in self.children.values():
                nodes.extend(child.same_level())
        return nodes


@dataclass
class Program:
    """A compiled layout.

    :param code: the operations, int32.
    :param constants: bytes that operations refer to.
    :param columns: all columns, parents before children.
    :param root: the tree; ``None`` if the layout makes no column.
    :param levels: number of levels.
    :param depth: deepest nesting of lists; :param masks: deepest nesting of rows.
    :param least: fewest bytes of an entry.
    :param kryo: it has operations for Kryo's values.
    """

    code: npt.NDArray[np.int32]
    constants: npt.NDArray[np.uint8]
    columns: list[ColumnNode]
    root: ColumnNode | None
    levels: int
    depth: int
    masks: int
    least: int
    undecodable: list[Undecodable]
    kryo: bool

    @property
    def skips(self) -> int:
        """Bytes of an entry, where entries are only passed over and all have the same size; else 0."""
        return self.least if self.code.tolist() == [Op.SKIP, self.least, Op.END] else 0


class Label:
    """A position in the program that is not known yet."""

    def __init__(self) -> None:
        self.position: int | None = None
        self.uses: list[int] = []
