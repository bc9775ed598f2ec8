"""The kinds of state as every command, table and document calls them; Flink's own words stay inside."""

from __future__ import annotations

TIMER, BROADCAST, COORDINATOR = "timer", "broadcast", "coordinator"
QUEUE = "priority queue"
LIST_SPLIT, LIST_UNION = "list (split)", "list (union)"
OPERATOR_KINDS = (LIST_SPLIT, LIST_UNION, BROADCAST)
"""The kinds of operator state: a list whose elements a restore splits among the subtasks, one that each gets whole, a map."""

_WORDS = {"SPLIT_DISTRIBUTE": LIST_SPLIT, "UNION": LIST_UNION, "PRIORITY_QUEUE": QUEUE}


def kind_word(kind: str) -> str:
    """The word for Flink's name of a kind: ``value`` for ``VALUE``, ``list (split)`` for ``SPLIT_DISTRIBUTE``."""
    return _WORDS.get(kind, kind.lower())
