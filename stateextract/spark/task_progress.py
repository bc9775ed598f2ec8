"""How far Spark is with the job's tasks, asked of its status tracker while it runs them.

Only classic Spark reports it. With Connect, nothing is shown. A failed request never disturbs the job.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from stateextract.job.execute import Tasks
from stateextract.spark.environment import remote

OnTasks = Callable[[Tasks, int], None]
"""Receives how many tasks of a job are done."""

_EVERY = 0.5


@contextmanager
def watched(spark: Any, tasks: Tasks, on_tasks: OnTasks | None) -> Iterator[None]:
    """While the block runs Spark's job, say how far it is, twice a second."""
    if on_tasks is None or remote():
        yield
        return
    ended = threading.Event()
    thread = threading.Thread(target=_watch, args=(spark, tasks, on_tasks, ended), daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _watch(spark: Any, tasks: Tasks, on_tasks: OnTasks, ended: threading.Event) -> None:
    try:
        tracker = spark.sparkContext.statusTracker()
        while not ended.wait(_EVERY):
            stages = [tracker.getStageInfo(stage) for stage in tracker.getActiveStageIds()]
            for done in (s.numCompletedTasks for s in stages if s is not None and s.numTasks == tasks.count):
                on_tasks(tasks, done)
    except Exception:
        return  # a session that ends, or that does not report it
