"""Extracts savepoints of POJOs with stateextract and with Flink's State Processor API, both to Parquet with zstd on two cores.

    python -m benchmarks.state_processor [--rows 2000000] [--times 2]

``StateProcessor.java`` makes native savepoints by a job of Flink 2.3: of the HashMap backend, of the same with snapshot
compression (Snappy, with which Flink reads blocks instead of single values), and of RocksDB.
It reads each with ``SavepointReader`` and writes Parquet by ``FileSink``, several times in one JVM, of which the best run
counts. The JVM's own start does not count. stateextract's time is that of ``stateextract extract --engine local`` as a whole
process. The rows of both outputs are compared. Needs a JDK 17 and Maven, which fetches the jars on the first run.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.get import ENVIRONMENT
from benchmarks.measuring import Measurement, Size, UnavailableError, show
from tests.golden.generate import OPENED

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "benchmarks" / "StateProcessor.java"
POM = ROOT / "benchmarks" / "state-processor-pom.xml"
BACKENDS = ("heap", "heap-snappy", "rocksdb")
GOAL = 1.0
"""stateextract is at least as fast."""
FIELDS = ("active", "balance", "name", "orders", "updated")


class Flink:
    """Runs ``StateProcessor`` in a JVM."""

    def __init__(self, folder: Path) -> None:
        """Fetch the jars, compile.

        :raises UnavailableError: without a JDK, Maven or jars.
        """
        if shutil.which("javac") is None or shutil.which("mvn") is None:
            raise UnavailableError("it needs a JDK and Maven")
        jars = folder / "jars"
        command = ["mvn", "-q", "-B", "-f", str(POM), "dependency:build-classpath", f"-Dmdep.outputFile={jars}"]
        if subprocess.run(command, check=False, stdout=subprocess.DEVNULL).returncode:
            raise UnavailableError("Maven could not fetch Flink's jars")
        classes = folder / "classes"
        subprocess.run(["javac", "-nowarn", "-cp", jars.read_text(), "-d", classes, SOURCE], check=True)
        self.class_path = f"{classes}:{jars.read_text()}"

    def __call__(self, *arguments: object) -> list[str]:
        """The lines that the program prints."""
        opened = [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in OPENED]
        command = ["java", "-Xmx8g", *opened, "-cp", self.class_path, "StateProcessor", *map(str, arguments)]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(done.stderr[-4000:])
        return done.stdout.split()


def extracted(savepoint: str, output: Path) -> tuple[float, float]:
    """Seconds, and seconds of processor time, of ``stateextract extract``."""
    shutil.rmtree(output, ignore_errors=True)
    command = [sys.executable, "-m", "stateextract", "extract", "--engine", "local", "--snapshot", savepoint]
    start, before = time.perf_counter(), os.times()
    subprocess.run(
        [*command, "--operator", "customers", "--output", str(output)], check=True, cwd=ROOT, capture_output=True,
        env=ENVIRONMENT,
    )  # fmt: skip
    seconds, after = time.perf_counter() - start, os.times()
    return seconds, after.children_user + after.children_system - before.children_user - before.children_system


def rows_of(folder: Path) -> pa.Table:
    """The rows of all Parquet files in the order of their keys, with the value's fields as columns."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.name.startswith("part-")]
    table = pa.concat_tables(pq.read_table(path) for path in files)
    if "value" in table.column_names:
        fields = {name: pc.struct_field(table["value"], name) for name in FIELDS}
        table = pa.table({"key": table["key"], **fields})
    return table.select(["key", *FIELDS]).sort_by("key")


def measure(flink: Flink, backend: str, rows: int, folder: Path, times: int) -> Iterator[Measurement]:
    """Make a savepoint, read it with both."""
    (savepoint,) = flink("write", backend, rows, folder / "savepoints")
    size = sum(file.stat().st_size for file in Path(savepoint.removeprefix("file:")).iterdir())
    # Before and after the JVM, so that a change of the machine's speed affects both.
    runs = [extracted(savepoint, folder / "ours") for _ in range(times)]
    lines = [line.split(",") for line in flink("read", backend, savepoint, folder / "theirs", times)]
    runs += [extracted(savepoint, folder / "ours") for _ in range(times)]
    ours, theirs = rows_of(folder / "ours"), rows_of(folder / "theirs" / "run-0")
    assert ours.num_rows == rows
    assert ours.cast(theirs.schema).equals(theirs)
    subject = f"{backend}, {rows:,} POJOs, {size / 1e6:.0f} MB"
    yield Measurement(
        subject, "State Processor API, read calls per kB", min(float(line[2]) for line in lines) / size * 1e3
    )
    for number, quantity in enumerate(("", ", processor time")):
        mine, flinks = min(run[number] for run in runs), [float(line[number]) for line in lines]
        yield Measurement(subject, f"stateextract, whole process{quantity}", mine, "s")
        yield Measurement(subject, f"State Processor API, first run{quantity}", flinks[0], "s")
        yield Measurement(subject, f"State Processor API, best run{quantity}", min(flinks), "s")
        yield Measurement(
            subject, f"stateextract ÷ State Processor API, speed{quantity}", min(flinks) / mine, "", GOAL, at_least=True
        )


def savepoints(rows: int, times: int) -> Iterator[Measurement]:
    """Both backends."""
    with tempfile.TemporaryDirectory() as name:
        flink = Flink(Path(name))
        for backend in BACKENDS:
            folder = Path(name) / backend
            folder.mkdir()
            yield from measure(flink, backend, rows, folder, times)
            shutil.rmtree(folder)


def benchmark(size: Size) -> Iterator[Measurement]:
    """2 million POJOs."""
    return savepoints(int(2_000_000 * size.factor), min(size.times, 2))


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--times", type=int, default=2)
    options = parser.parse_args()
    show(savepoints(options.rows, options.times))


if __name__ == "__main__":
    main()
