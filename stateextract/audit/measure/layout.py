"""The description of a column for the kernel of statistics: a row of int64, to which the kernel also writes its results."""

ROW = 19
"""Numbers that a column is described by. First what a batch has of it:"""
# What its values are, and where: numbers themselves, of byte strings the offsets, then the data, and where its buffer ends.
KIND, VALUES, DATA, LIMIT = 0, 1, 2, 3
# The bitmap of values that are not null (0: none is null, else one is not), and which bit is the first one's.
VALID, BIT = 4, 5
# Where the hash of each value goes (0: nowhere); how many values were seen.
HASHES, SEEN = 6, 7
# Then the table of the smallest hashes: its slots less one, and above what threshold no hash is wanted.
TABLE, MASK, THRESHOLD, COUNT = 8, 9, 10, 11
# Then extremes of lengths; of numbers the extremes, of byte strings which they are (-1: none); how many NaN; the first words of
# the extremes that are known, with the sign turned over.
SHORTEST, LONGEST, LEAST, MOST, NANS, LEAST_WORD, MOST_WORD = 12, 13, 14, 15, 16, 17, 18

NOTHING, WIDE, NARROW, FLOATING, TEXT = 0, 1, 2, 3, 4
"""Kinds: nothing to do, int64, int32, float64, byte strings with offsets of int32."""

BATCH = 7
"""Numbers that a batch is described by."""
# Key groups (0: none), where the bounds of their runs go, and how many there are (-1: there is no room for them).
GROUPS, BOUNDS, RUNS = 0, 1, 2
# Hashes of rows (0: none), below what which are looked for, where those rows go, and how many there are (-1: no room).
ROWS_HASHES, BELOW, ROWS, FOUND = 3, 4, 5, 6
ROOM = 1 << 13
"""For how many bounds, and for how many rows, there is room."""

OWNERS = 15
"""Numbers that a table of owners is described by."""
# Hashes of the owners of rows, and how many rows were seen; the sizes of rows (0: all take EACH bytes); the offsets of the
# entries of each row, int32 (0: a row is one entry).
SOURCE, SEEN_ROWS, SIZES, EACH, ENTRIES = 0, 1, 2, 3, 4
# Slots, pairs of a hash and the number of its counter, and how many there are less one; counters of four numbers, the hash of
# each, the row that each was made for, how many there are, and for how many there is room.
SLOTS, SLOT_MASK, COUNTERS, COUNTER_HASHES, NEW, USED, COUNTERS_ROOM = 5, 6, 7, 8, 9, 10, 11
# What owners without a counter have at most, by a part of the hash; how many of these there are less one; above what an owner
# gets a counter.
BOUNDS_AT, BOUNDS_MASK, FLOOR = 12, 13, 14

SPANS, SUMMANDS = 0, 1
"""Kinds of what sizes are sums of: offsets, whose distances count, and numbers."""
