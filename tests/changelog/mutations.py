"""Damages changelogs and reads them: ``python -m tests.changelog.mutations SEED COUNT ENGINE``.

Small snapshots over every kind of materialized part, their changes in plain files, in compressed ones and in memory; each
mutation damages one piece of the changes. Runs in a process of its own, under a limit of memory that is set here. Prints a
JSON summary. Every mutation is made from the seed and its number alone.
"""

from __future__ import annotations

import json
import random
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

import stateextract
from stateextract.errors import StateExtractError
from stateextract.metadata.model import SubtaskState
from tests.changelog.test_replay import BASES, random_job
from tests.changelog.writer import cut, handle, in_files, in_memory
from tests.mutation_runs import limited
from tests.state.keyed_writer import FORMS, write
from tests.state.mutations import mutated

Snapshot = tuple[Path, list[tuple[Path, int]]]
"""The folder, and the files to damage with where in them damage begins."""


def snapshots(folder: Path) -> list[Snapshot]:
    """One for each materialized part and place of the changes."""
    made: list[Snapshot] = []
    for number, base in enumerate(BASES):
        for location in ("memory", "plain", "compressed"):
            job, materialized = random_job(("mutations", base), base, number % 2 == 0)
            here = folder / f"{base} {location}"
            parts = [] if materialized is None else [FORMS[base](materialized)]
            log = job.log[:120]
            if location == "memory":
                increment: Any = in_memory(log, job.groups)
            else:
                increment = in_files(here, cut(log, 3), job.groups, compressed=location == "compressed")
            path = write(here / "chk-7", [SubtaskState(0, managed_keyed=handle(job.groups, parts, [increment]))])
            if location == "memory":
                metadata = path / "_metadata"
                begin = metadata.read_bytes().rindex(log[0][1]) - 8
                made.append((path, [(metadata, begin)]))
            else:
                made.append((path, [(file, 0) for file in sorted(here.glob("log-*"))]))
    return made


def read(folder: Path, engine: Any, on_undecodable: Any, verify: bool) -> None:
    """All states."""
    snapshot = stateextract.open_snapshot(
        str(folder), decoder=engine, on_undecodable=on_undecodable, verify_checksums=verify, out_of_range="null"
    )
    for operator in snapshot.operators:
        for problem in operator.problems:
            assert isinstance(problem, StateExtractError)
            assert problem.operator == "op"
            assert problem.file is not None or "serializer of the keys" in problem.message, repr(problem)
    for state in snapshot.states:
        for batch in state.to_batches():
            batch.validate(full=True)


def run(seed: int, count: int, engine: str) -> dict[str, Any]:
    outcomes: Counter[str] = Counter()
    unexpected: list[str] = []
    slowest = 0.0
    with tempfile.TemporaryDirectory() as folder:
        made = snapshots(Path(folder))
        for path, _ in made:
            read(path, engine, "fail", True)
        grown = limited()
        for number in range(count):
            random_ = random.Random(f"{seed} {number}")
            path, files = made[number % len(made)]
            file, begin = random_.choice(files)
            sound = file.read_bytes()
            file.write_bytes(mutated(sound, random_, begin, len(sound))[0])
            began = time.process_time()
            try:
                read(path, engine, random_.choice(["fail", "skip", "raw"]), random_.random() < 0.5)
                outcomes["read"] += 1
            except StateExtractError as error:
                outcomes[type(error).__name__] += 1
                if error.operator is None and file.name != "_metadata":
                    unexpected.append(f"{seed} {number} without its operator: {error!r}")
            except BaseException:
                unexpected.append(f"{seed} {number} {file}: {traceback.format_exc()[-1500:]}")
            finally:
                file.write_bytes(sound)
            slowest = max(slowest, time.process_time() - began)
    return {"outcomes": dict(outcomes), "unexpected": unexpected, "slowest": slowest, "grown": grown()}


if __name__ == "__main__":
    print(json.dumps(run(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3])))
