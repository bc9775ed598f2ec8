"""How fast the product code of this tree is beside that of another commit: the same files, by processor time, in turn.

    python -m benchmarks.against COMMIT [--megabytes 50] [--times 9] [--shape pojo]... [--task decode]...

Snapshots of each shape are written once, in three forms. A process of each version reads them through the Python API and the
command ``stats``, one after the other and several times over, each on the same core, and the least times are compared. For
``get-command``, it starts the command as a process of its own. A version whose machine code is not kept compiles it first. The
other version's files come out of git.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from benchmarks.get import ENVIRONMENT, present_keys
from benchmarks.measuring import Measurement, in_turn, one_core, show
from benchmarks.pairs import OPERATOR, STATE, Pairs, write_canonical, write_rocksdb
from tests.writers.generate import PlannedOperator, PlannedState, entry_size, write_snapshot
from tests.writers.shapes import SHAPES

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("stateextract", "serializers")
WORST = 1.03
TASKS = {
    "decode": "heap", "canonical": "canonical", "rocksdb": "rocksdb", "get": "heap", "get-command": "heap", "stats": "heap"
}  # fmt: skip
"""What is measured, and the form of the snapshot that it reads."""
WORKER = """
import contextlib, io, json, resource, subprocess, sys
from stateextract.api import open_snapshot
from stateextract.cli import main

RUN = "import sys; from stateextract.cli import main; sys.exit(main(sys.argv[1:]))"

def work(task, path, key):
    if task == "get-command":
        command = [sys.executable, "-c", RUN, "get", path, f"--key={key}"]
        return len(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout.splitlines())
    if task == "stats":
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            try:
                return main(["stats", path])
            except SystemExit as end:
                return end.code
    (state,) = open_snapshot(path).states
    return state.get(key).num_rows if task == "get" else sum(batch.num_rows for batch in state.to_batches())

def spent():
    both = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in both)

for line in sys.stdin:
    start = spent()
    result = work(*json.loads(line))
    print(json.dumps([spent() - start, result]), flush=True)
"""
"""Uses only names that both versions have."""


class Version:
    """A process that runs one version of the product code.

    :param root: the directory of its packages.
    :param worker: a script that answers each line with seconds and a result; both are JSON.
    """

    def __init__(self, root: Path, worker: str = WORKER) -> None:
        environment = {**ENVIRONMENT, "PYTHONPATH": str(root)}
        self.process = subprocess.Popen(
            [sys.executable, "-c", worker], cwd=root, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def run(self, *request: object) -> tuple[float, object]:
        """Seconds of processor time, and what came out."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(request, default=str) + "\n")
        self.process.stdin.flush()
        seconds, result = json.loads(self.process.stdout.readline())
        return seconds, result

    def seconds(self, *request: object) -> float:
        """As :meth:`run`, without what came out."""
        return self.run(*request)[0]

    def __enter__(self) -> Version:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.wait()


def write_forms(folder: Path, name: str, megabytes: float) -> None:
    """The snapshots of a shape, by the names of their forms."""
    entries = int(megabytes * 1e6 / entry_size(SHAPES[name]))
    write_snapshot(folder / "heap", [PlannedOperator(OPERATOR, [PlannedState(name, entries, STATE)])])
    pairs = Pairs(SHAPES[name], entries)
    write_canonical(folder / "canonical", pairs)
    write_rocksdb(folder / "rocksdb", pairs)


def unpack(commit: str, folder: Path, packages: Sequence[str] = PACKAGES) -> None:
    """The packages of a commit."""
    archive = subprocess.run(["git", "archive", commit, *packages], cwd=ROOT, check=True, stdout=subprocess.PIPE)
    subprocess.run(["tar", "-x"], cwd=folder, input=archive.stdout, check=True)


def compare(
    versions: Sequence[Version], folder: Path, name: str, tasks: Sequence[str], times: int
) -> Iterator[Measurement]:
    """Measure one shape."""
    key: object = present_keys(folder / "heap")["last"]
    key = int(str(key)) if SHAPES[name].long_key else key
    for task in tasks:
        path = folder / TASKS[task]
        results = [version.run(task, path, key)[1] for version in versions]  # also compiles and fills caches
        assert results[0] == results[1], (task, results)
        before, now = in_turn(times, *(partial(version.seconds, task, path, key) for version in versions))
        yield Measurement(name, f"{task}, this tree", now, "s")
        yield Measurement(name, f"{task}, this tree ÷ the commit", now / before, "", WORST)


def main() -> None:
    """Compare with the commit that is named."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("commit")
    parser.add_argument("--megabytes", type=float, default=50, help="size of each heap file")
    parser.add_argument("--times", type=int, default=9)
    parser.add_argument("--shape", action="append", choices=sorted(SHAPES))
    parser.add_argument("--task", action="append", choices=list(TASKS))
    given = parser.parse_args()
    one_core()
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        other = folder / "commit"
        other.mkdir()
        unpack(given.commit, other)
        versions = [stack.enter_context(Version(root)) for root in (other, ROOT)]
        for name in given.shape or SHAPES:
            write_forms(folder / name, name, given.megabytes)
            show(compare(versions, folder / name, name, given.task or list(TASKS), given.times))


if __name__ == "__main__":
    main()
