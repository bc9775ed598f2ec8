"""Runs ``docs/streaming.md`` on a job that runs: ``python -m tests.sinks.running.run_streaming PAGE JAVA…``, where JAVA is the
command of the job but for the folder of its checkpoints.

The query is stopped and started twice, and the job is killed and restored under a new id. In the end the tables have what the
job was given, which is worked out here, and what its last checkpoint has.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import stateextract
from stateextract.files.filesystem import Store
from stateextract.snapshot.completed import Completed, newest_completed
from tests.docs.pages import ROOT, Examples, blocks

KEYS = 100_000
CHECKPOINTS = Path("flink-checkpoints")
_PATIENCE = 120


class Job:
    """A running job. :param restored: the checkpoint that it begins with."""

    def __init__(self, java: list[str], restored: Completed | None = None) -> None:
        arguments = [CHECKPOINTS.resolve().as_uri()] + ([Path(restored.folder).as_uri()] if restored else [])
        self.process = subprocess.Popen([*java, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def end(self) -> int:
        """How many numbers it was given until its last checkpoint."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write("end\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def kill(self) -> None:
        """As a machine that fails."""
        self.process.kill()
        self.process.wait()


def newest() -> Completed | None:
    return newest_completed(str(CHECKPOINTS), Store()) if CHECKPOINTS.exists() else None


def wait_for(what: Callable[[], Any], name: str) -> Any:
    """What is given once it is something."""
    begun = time.monotonic()
    while not (found := what()):
        assert time.monotonic() < begun + _PATIENCE, f"waited for {name}"
        time.sleep(0.1)
    return found


def given(count: int) -> dict[str, int]:
    """The state of the job after so many numbers."""
    state: dict[str, int] = {}
    for n in range(count):
        key = n * 7919 % KEYS
        if (n // KEYS + key) % 7 == 0:
            state.pop(f"k{key}", None)
        else:
            state[f"k{key}"] = n
    return state


def offset_of(query: Any) -> tuple[str, int]:
    """The checkpoint of the last batch that is done."""
    if query.exception() is not None:
        raise query.exception()
    progress = [json.loads(one.json) for one in query.recentProgress]
    done = [one["sources"][0]["endOffset"] for one in progress if one["numInputRows"]]
    return (done[-1]["job"], done[-1]["checkpoint"]) if done else ("", 0)


def main(page: Path, java: list[str]) -> None:
    job = Job(java)
    examples = Examples({})
    copy = Path("page.md")
    # With a trigger for tests.
    copy.write_text(page.read_text(encoding="utf-8").replace("10 seconds", "2 seconds"))
    start, again = (one for one in blocks(copy) if ".start()" in one.text)
    (session,) = (one for one in blocks(ROOT / "docs" / "backfill.md") if "SparkSession.builder" in one.text)
    try:
        examples.one(session)
        spark = examples.names["spark"]
        first = wait_for(newest, "the first checkpoint")

        def query() -> Any:
            return examples.names["query"]

        seen = 0
        for block in blocks(copy):
            examples.one(block)
            if block == start:
                wait_for(lambda: offset_of(query())[1] > first.number, "the second batch")
                _, seen = offset_of(query())
                query().stop()
        wait_for(lambda: newest().number > seen + 2, "checkpoints that the query does not see")
        examples.one(start)
        wait_for(lambda: offset_of(query())[1] > seen + 2, "the query that was started again")

        job.kill()
        restored = newest()
        assert restored is not None
        job = Job(java, restored)
        wait_for(lambda: offset_of(query())[0] not in ("", restored.job), "the query to follow the job")
        assert len([one for one in CHECKPOINTS.iterdir() if one.is_dir()]) == 2
        query().stop()
        count = job.end()
        last = newest()
        assert last is not None
        examples.one(start)
        query().processAllAvailable()
        assert offset_of(query()) == (last.job, last.number)
        query().stop()
        examples.one(again)

        expected = given(count)
        state = stateextract.open_snapshot(last.folder).operator("last-of-key").state("last").to_table().to_pydict()
        assert dict(zip(state["key"], state["value"], strict=True)) == expected
        for name in ("lake.shop.last_of_key", "last_of_key"):
            rows = spark.table(name).toArrow().to_pydict()
            assert len(rows["key"]) == len(expected), name
            assert dict(zip(rows["key"], rows["last"], strict=True)) == expected, name
        spark.stop()
    finally:
        job.kill()
    print(f"{len(expected)} rows after {count} numbers")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
