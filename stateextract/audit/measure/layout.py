"""How the kernel of statistics is told of a column: a row of int64, which it also writes what it finds to. Only numbers."""

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
