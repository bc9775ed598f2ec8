"""Times by age: a histogram around the time that ages are counted to, and counts of what lies before a time.

Bins lie at fixed ages, so that parts can be added up; those at both ends are open. May import numpy.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from stateextract.audit.document import Bin

_MINUTE, _HOUR, _DAY = 60_000, 3_600_000, 86_400_000
AGES = (
    0, _MINUTE, 10 * _MINUTE, _HOUR, 6 * _HOUR, _DAY, 3 * _DAY, 7 * _DAY, 14 * _DAY, 30 * _DAY, 90 * _DAY, 180 * _DAY,
    365 * _DAY, 1000 * _DAY,
)  # fmt: skip
"""Where bins meet, in milliseconds before and after the time that ages are counted to."""


class TimeStatistics:
    """How many times lie where.

    :param as_of_ms: what ages are counted to.
    :param ttl_ms: a time to live, of which the expired are counted.
    """

    def __init__(self, as_of_ms: int, ttl_ms: int | None = None) -> None:
        self.as_of_ms, self.ttl_ms = as_of_ms, ttl_ms
        edges = {as_of_ms + sign * age for age in AGES for sign in (-1, 1)}
        self.edges = sorted(edges)
        self.rows = self.expired = self.past = 0
        self.least: int | None = None
        self.most: int | None = None
        self.before = np.zeros(len(self.edges), np.int64)

    def add(self, ms: npt.NDArray[np.int64]) -> None:
        """Add times in milliseconds since 1970."""
        if not len(ms):
            return
        least, most = int(ms.min()), int(ms.max())
        self._extremes(least, most)
        self.rows += len(ms)
        self.before += [_before(ms, edge, least, most) for edge in self.edges]
        self.past += _before(ms, self.as_of_ms + 1, least, most)
        if self.ttl_ms is not None:
            # Flink's TtlUtils.expired: the last access and the time to live are together not behind now.
            self.expired += _before(ms, self.as_of_ms - self.ttl_ms + 1, least, most)

    def _extremes(self, least: int, most: int) -> None:
        self.least = least if self.least is None else min(self.least, least)
        self.most = most if self.most is None else max(self.most, most)

    def merge(self, other: TimeStatistics) -> None:
        """Take in other times."""
        if other.least is not None and other.most is not None:
            self._extremes(other.least, other.most)
        self.rows += other.rows
        self.expired += other.expired
        self.past += other.past
        self.before = self.before + other.before

    @property
    def histogram(self) -> list[Bin]:
        """The bins from the first to the last that has rows."""
        bounds = [None, *self.edges, None]
        counts = np.diff([0, *self.before.tolist(), self.rows]).tolist()
        filled = [i for i, count in enumerate(counts) if count]
        return [Bin(bounds[i], bounds[i + 1], counts[i]) for i in range(filled[0], filled[-1] + 1)] if filled else []

    def as_list(self) -> list[Any]:
        """For JSON."""
        return [self.rows, self.expired, self.past, self.least, self.most, self.before.tolist()]

    def load(self, data: list[Any]) -> None:
        """The inverse of :meth:`as_list`."""
        self.rows, self.expired, self.past, self.least, self.most, before = data
        self.before = np.array(before, np.int64)


def _before(ms: npt.NDArray[np.int64], edge: int, least: int, most: int) -> int:
    if edge <= least:
        return 0
    return len(ms) if edge > most else int(np.count_nonzero(ms < edge))


__all__ = ["AGES", "TimeStatistics"]
