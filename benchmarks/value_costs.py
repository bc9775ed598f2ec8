"""What one value of n bytes costs: the most memory that reading it takes beside what the process has without it.

    python -m benchmarks.value_costs [--megabytes 100]

For a string, a list of longs and a map of longs, a heap state file and a canonical one with one such value are made, and each
is read in a process of its own, as it is and flattened. Printed is by how many bytes the process grows per byte of the value.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path

from benchmarks.measuring import Measurement, Size, show
from tests.writers.flink_writer import LONG, STRING, list_of, map_of, varint

SHAPES = ("string", "list", "map")
FORMS = ("heap", "canonical")


def snapshot(folder: Path, shape: str, form: str, size: int) -> None:
    """A snapshot whose one value has about ``size`` bytes."""
    from stateextract.metadata.model import FileHandle, InlineHandle, KeyGroupsHandle, SubtaskState
    from tests.state.keyed_writer import FORMS as WRITERS
    from tests.state.keyed_writer import Entry, Keyed, State, i64, write

    if shape == "string":
        state = State("s", [Entry(0, i64(1), varint(size + 1) + b"x" * size)], "VALUE", STRING)
    elif shape == "list":
        state = State("s", [Entry(0, i64(1), [i64(n) for n in range(size // 8)])], "LIST", list_of(LONG))
    else:
        state = State("s", [Entry(0, i64(1), [(i64(n), i64(n)) for n in range(size // 17)])], "MAP", map_of(LONG, LONG))
    handle = WRITERS[form](Keyed([state], groups=range(4), max_parallelism=4))
    assert isinstance(handle, KeyGroupsHandle)
    assert isinstance(handle.stream, InlineHandle)
    file = folder / "state"
    file.write_bytes(handle.stream.data)
    handle = replace(handle, stream=FileHandle(file.stat().st_size, str(file)))
    write(folder, [SubtaskState(0, managed_keyed=handle)])


def read(folder: str, flatten: bool) -> None:
    """Print by how much reading grows the process."""
    import stateextract

    opened = stateextract.open_snapshot(folder, flatten=flatten, decoder="kernel", max_value_bytes=1 << 40)
    state = opened.operator("op").state("s")
    before = _memory("VmRSS")
    rows = sum(batch.num_rows for batch in state.to_batches())
    print(_memory("VmHWM") - before, rows)


def _memory(name: str) -> int:
    """Bytes of this process; what ``getrusage`` gives is the parent's too."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return 1024 * int(next(line.split()[1] for line in status.splitlines() if line.startswith(name)))


def measure(size: int) -> Iterator[Measurement]:
    """Read values of that many bytes, each in a process of its own."""
    for shape, form in product(SHAPES, FORMS):
        with tempfile.TemporaryDirectory() as folder:
            snapshot(Path(folder), shape, form, size)
            for flatten in (False, True):
                command = [sys.executable, "-m", "benchmarks.value_costs", "--read", folder, str(flatten)]
                out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
                subject = f"{shape} of {size / 1e6:.0f} MB, {form}"
                yield Measurement(
                    subject, f"memory ÷ value{', flattened' if flatten else ''}", int(out.split()[0]) / size
                )


def benchmark(size: Size) -> Iterator[Measurement]:
    """Values of 50 MB."""
    return measure(int(50e6 * min(max(size.factor, 0.4), 1)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument("--read", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.read:
        read(given.read[0], given.read[1] == "True")
        return
    show(measure(given.megabytes * 10**6))


if __name__ == "__main__":
    main()
