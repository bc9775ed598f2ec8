"""Runs of seeded mutations in a process of their own, with a limit of memory.

``STATEEXTRACT_SEED`` makes others.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa

ROOT = Path(__file__).resolve().parents[1]
ROOM = 1 << 30
"""Bytes that damage may make the reader allocate, far below 2^31."""
SEED = int(os.environ.get("STATEEXTRACT_SEED", "20"))


def limited() -> Callable[[], int]:
    """In the process that makes the run: limits its memory from now on; what is given back says how much it grew, in bytes.

    The limit goes by the address space for data, of which allocators reserve gigabytes that they do not use. Arrow's has to
    have done so before: with the limit reached, CPython 3.11 waits for a thread that could not start.
    """
    pa.allocate_buffer(1 << 20)
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    status = Path("/proc/self/status").read_text()
    reserved = int(status.split("VmData:")[1].split()[0]) * 1024
    resource.setrlimit(resource.RLIMIT_DATA, (max(used, reserved) + ROOM, resource.RLIM_INFINITY))
    return lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - used


def outcomes_of(module: str, *arguments: object, count: int, most_memory: int = 400 << 20) -> Counter[str]:
    """How often each outcome came up: ``read``, or the name of an error.

    A crash would be a return code, an endless loop a time-out, a huge allocation a MemoryError.

    :param module: prints a summary as JSON; :param arguments: for it; :param count: of the mutations that it makes.
    """
    command = [sys.executable, "-X", "faulthandler", "-m", module, *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=max(600, count // 50), check=False)
    assert (done.returncode, done.stderr) == (0, "")
    summary = json.loads(done.stdout)
    assert summary["unexpected"] == []
    assert sum(summary["outcomes"].values()) == count
    assert summary["slowest"] < 10
    assert summary["grown"] < most_memory
    return Counter(summary["outcomes"])
