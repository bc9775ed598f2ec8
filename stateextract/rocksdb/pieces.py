"""Range deletions cut into disjoint pieces, each with the newest sequence number over it.

Deletions overlap one another; keys come in order. Over disjoint pieces in order one index that only rises answers for
each key whether it is covered. RocksDB's side: ``db/range_tombstone_fragmenter.cc``.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from itertools import pairwise
from typing import TypeAlias

from stateextract.rocksdb.table import RangeDeletion

DeletionPiece: TypeAlias = tuple[bytes, bytes, int]
"""First key, key after the last, sequence number."""


def cut(deletions: Iterable[RangeDeletion]) -> list[DeletionPiece]:
    """Disjoint pieces in order of key; neighbours with one number are one piece."""
    waiting = sorted(deletions)
    bounds = sorted({bound for one in waiting for bound in (one.begin, one.end)})
    pieces: list[DeletionPiece] = []
    active: list[tuple[int, bytes]] = []
    taken = 0
    for begin, end in pairwise(bounds):
        while taken < len(waiting) and waiting[taken].begin <= begin:
            heapq.heappush(active, (-waiting[taken].seqno, waiting[taken].end))
            taken += 1
        while active and active[0][1] <= begin:
            heapq.heappop(active)
        if not active:
            continue
        seqno = -active[0][0]
        if pieces and pieces[-1][1] == begin and pieces[-1][2] == seqno:
            pieces[-1] = (pieces[-1][0], end, seqno)
        else:
            pieces.append((begin, end, seqno))
    return pieces
