"""A plug-in module that breaks attempts in workers of Spark and of the local engine; tests name it in the job's ``plugins``.

The file ``sabotage.json`` next to the output is a list of what it does: to which splits, how, and how often. It works in
workers only.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from multiprocessing import parent_process
from pathlib import Path
from typing import Any

from stateextract.errors import FormatError
from stateextract.job.task import SplitReport, TaskRunner
from stateextract.job.writer import TaskWriter, WrittenFile


def sabotage(folder: Path, how: str, splits: list[int], times: int = 1) -> None:
    """Add an order: what the first so many attempts at these splits do."""
    file = folder / "sabotage.json"
    orders = json.loads(file.read_text()) if file.exists() else []
    file.write_text(json.dumps([*orders, {"how": how, "splits": splits, "times": times}]))


def _orders(path: str) -> tuple[Path, list[dict[str, Any]]]:
    folder = Path(path)
    while folder != folder.parent:
        orders = folder / "sabotage.json"
        if orders.exists():
            return folder, json.loads(orders.read_text())
        folder = folder.parent
    return folder, []


def _count(folder: Path, split: int) -> int:
    """How many attempts at the split there have been, this one included."""
    for number in range(1, 100):
        try:
            (folder / f"attempt-{split}-{number}").touch(exist_ok=False)
            return number
        except FileExistsError:
            continue
    raise AssertionError("too many attempts")


def _kill() -> None:
    os._exit(1)


def _fail() -> None:
    raise FormatError("made to fail", offset=17)


def _kill_executor() -> None:
    """End the JVM, the parent of PySpark's daemon, whose child this process is."""
    status = Path(f"/proc/{os.getppid()}/stat").read_text()
    os.kill(int(status.rpartition(")")[2].split()[1]), signal.SIGKILL)
    time.sleep(60)


def _wait() -> None:
    """As a slow machine, until Spark ends this attempt because another one was faster."""
    time.sleep(900)


_ATTEMPTS = {"kill": _kill, "fail": _fail, "kill executor": _kill_executor, "wait": _wait}


def _install() -> None:
    finish, run = TaskWriter.finish, TaskRunner.run

    def finish_and_break(self: TaskWriter) -> list[WrittenFile]:
        files = finish(self)
        folder, orders = _orders(self._root)
        split = int(self._stem.split("-")[1])
        for order in (order for order in orders if split in order["splits"]):
            if _count(folder, split) <= order["times"]:
                _ATTEMPTS[order["how"]]()
        return files

    def run_twice(self: TaskRunner, split: int) -> SplitReport:
        if all(order["how"] != "double" for order in _orders(self._context.folder)[1]):
            return run(self, split)
        # Two attempts at once; the one whose report is lost ends later.
        child = os.fork()
        if child == 0:
            try:
                run(self, split)
                time.sleep(0.2)
            finally:
                os._exit(0)
        report = run(self, split)
        os.waitpid(child, 0)
        return report

    TaskWriter.finish = finish_and_break  # type: ignore[method-assign]
    TaskRunner.run = run_twice  # type: ignore[method-assign]


if parent_process() is not None or "pyspark.worker" in sys.modules or "pyspark.daemon" in sys.modules:
    _install()
