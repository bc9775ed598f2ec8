"""A plug-in module that breaks attempts in workers of Spark and of the local engine; tests name it in the job's ``plugins``.

What it does stands in ``sabotage.json`` beside the output: which splits, how, and how often. It works in workers only.
"""

from __future__ import annotations

import json
import os
import sys
import time
from multiprocessing import parent_process
from pathlib import Path

from stateextract.errors import FormatError
from stateextract.job.task import SplitReport, TaskRunner
from stateextract.job.writer import TaskWriter, WrittenFile


def _order(path: str) -> tuple[Path, dict[str, object]] | None:
    folder = Path(path)
    while folder != folder.parent:
        order = folder / "sabotage.json"
        if order.exists():
            return folder, json.loads(order.read_text())
        folder = folder.parent
    return None


def _count(folder: Path, split: int) -> int:
    """How many attempts at the split there have been, this one included."""
    for number in range(1, 100):
        try:
            (folder / f"attempt-{split}-{number}").touch(exist_ok=False)
            return number
        except FileExistsError:
            continue
    raise AssertionError("too many attempts")


def _install() -> None:
    finish, run = TaskWriter.finish, TaskRunner.run

    def finish_and_break(self: TaskWriter) -> list[WrittenFile]:
        files = finish(self)
        found = _order(self._root)
        split = int(self._stem.split("-")[1])
        if found is not None and split in found[1]["splits"]:  # type: ignore[operator]
            folder, order = found
            attempt = _count(folder, split)
            if attempt <= int(order["times"]):  # type: ignore[call-overload]
                if order["how"] == "kill":
                    os._exit(1)
                if order["how"] == "fail":
                    raise FormatError("made to fail", offset=17)
        return files

    def run_twice(self: TaskRunner, split: int) -> SplitReport:
        found = _order(self._context.folder)
        if found is None or found[1]["how"] != "double":
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
