"""What all benchmarks share: measurements with their goals, the sizes of a run, one core, and the table.

A benchmark is a module with a function ``benchmark(size)`` that yields :class:`Measurement`. ``python -m benchmarks`` runs all
of them, and each module also runs alone, with options of its own.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import pyarrow as pa

from stateextract.files.cores import usable_cores


class UnavailableError(Exception):
    """The benchmark needs something that this machine does not have. The text names it."""


@dataclass(frozen=True)
class Measurement:
    """One figure.

    :param subject: what was measured, for example a shape of state; :param quantity: which figure of it.
    :param unit: of ``value`` and ``goal``; empty for a ratio.
    :param at_least: the goal is a lower bound; otherwise it is an upper bound.
    """

    subject: str
    quantity: str
    value: float
    unit: str = ""
    goal: float | None = None
    at_least: bool = False

    @property
    def verdict(self) -> str:
        """Whether the goal is met; empty without a goal."""
        if self.goal is None:
            return ""
        met = self.value >= self.goal if self.at_least else self.value <= self.goal
        return "met" if met else "missed"

    @property
    def goal_text(self) -> str:
        """The goal with its direction."""
        return "" if self.goal is None else f"{'≥' if self.at_least else '≤'} {number(self.goal)}"


@dataclass(frozen=True)
class Size:
    """How much a run measures: all sizes are multiplied by ``factor``, and the best of ``times`` repetitions counts."""

    factor: float = 1.0
    times: int = 3


QUICK, DEFAULT, FULL = Size(0.1, 1), Size(), Size(4.0, 5)


def number(value: float) -> str:
    """Three significant digits; whole numbers from 100 on, with separators."""
    if value >= 100:
        return f"{value:,.0f}"
    if value == 0:
        return "0"
    digits = 2 if value >= 1 else 3
    return f"{value:.{1 if value >= 10 else digits}f}"


def show(measurements: Iterable[Measurement], title: str = "") -> list[Measurement]:
    """Print measurements as they come, one a line.

    :returns: all of them.
    """
    shown = []
    for one in measurements:
        value = f"{number(one.value):>10} {one.unit:14}"
        print(
            f"{title:17}{one.subject:36}{one.quantity:46}{value}{one.goal_text:>9} {one.verdict}".rstrip(), flush=True
        )
        shown.append(one)
    return shown


def one_core() -> None:
    """Pin this process to one core, and Arrow to one thread."""
    pa.set_cpu_count(1)
    pa.set_io_thread_count(1)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def in_turn(times: int, *actions: Callable[[], float]) -> list[float]:
    """The least result of each action, which run in turn, so that a change of the machine's speed affects all."""
    best = [float("inf")] * len(actions)
    for _ in range(times):
        best = [min(least, action()) for least, action in zip(best, actions, strict=True)]
    return best


def machine() -> dict[str, object]:
    """Processor, usable cores and memory."""
    model = "unknown processor"
    try:
        with open("/proc/cpuinfo", encoding="ascii") as lines:
            model = next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    return {
        "processor": model,
        "cores": usable_cores(),
        "memory_gb": round(memory),
        "load": round(os.getloadavg()[0], 1),
    }
