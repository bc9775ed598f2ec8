"""How fast Kryo values are decoded: values per second of the kernel, of the interpreter, and of Flink's KryoSerializer.

Each vector of ``tests/kryo`` named below is one kind of value. The kernel and the interpreter decode it into Arrow batches
over and over, as the entries of a state. Flink's serializer deserializes the same bytes in a loop (``KryoLoop.java``), with
Kryo 2 in Flink 1.20 and Kryo 5 in Flink 2.3. The figures are values per second of processor time on one core. The JVM runs
before and after the kernel, and the better run counts. Usage: ``python -m benchmarks.kryo [SECONDS] [--no-jvm] [--json FILE]``.
The JVM needs a JDK 17 and Maven, which fetches Flink's jars on the first run.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import pyarrow as pa

from serializers import DescribeContext, describe
from stateextract.columnar.convert.policy import Policy
from stateextract.columnar.decode.decoder import Stop, make_decoder
from stateextract.files.block import Block
from tests.golden.generate import OPENED, class_path
from tests.kryo.generate import VERSIONS
from tests.kryo.zoo import JAR, Vector, models, vectors

KINDS = ("String 33", "UUID", "Instant", "mixed list", "map of ints", "Item", "Leaf", "Drawing")
GOALS = {"mixed list": 0.25, "Item": 3.0, "Leaf": 3.0}
"""How many times as fast as the JVM the kernel has to be at least, if not 1."""
COPIES = {"auto": 50_000, "interpreter": 2000}
SOURCE = Path(__file__).with_name("KryoLoop.java")


def speed(vector: Vector, seconds: float, engine: str) -> float:
    """Values per second, Arrow arrays included."""
    layout = describe(vector.snapshot, DescribeContext(vector.flavour, models()))  # type: ignore[arg-type]
    decoder, copies = make_decoder(layout, Policy(), engine=engine), COPIES[engine]
    block, size = Block.of(vector.data * copies), len(vector.data) * copies
    decoder.decode(block, 0, size, copies)
    decoder.flush()
    start = time.process_time()
    values = 0
    while time.process_time() - start < seconds:
        position = 0
        while position < size:
            progress = decoder.decode(block, position, size, copies)
            values, position = values + progress.entries, progress.pos
            if progress.stop is Stop.FULL:
                decoder.flush()
        decoder.flush()
    return values / (time.process_time() - start)


def jvm(flavour: int, found: list[Vector], seconds: float) -> list[float]:
    """Values per second of Flink's serializer."""
    jars = class_path(VERSIONS[flavour], "")
    opened = [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in OPENED]
    with tempfile.TemporaryDirectory() as made:
        subprocess.run(["javac", "-nowarn", "-cp", jars, "-d", made, str(SOURCE)], check=True)
        lines = Path(made) / "values"
        lines.write_text("".join(f"{vector.declared}\t{vector.data.hex()}\n" for vector in found))
        command = ["java", "-XX:+UseSerialGC", *opened, "-cp", f"{made}:{JAR}:{jars}", "KryoLoop", str(lines), str(seconds)]
        out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [float(line) for line in out.split()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("seconds", nargs="?", type=float, default=1.0)
    parser.add_argument("--no-jvm", action="store_true")
    parser.add_argument("--json", type=Path, help="Also write the figures to this file.")
    options = parser.parse_args()
    pa.set_cpu_count(1)
    with_jvm = not options.no_jvm and shutil.which("javac") is not None and shutil.which("mvn") is not None
    rows = []
    print(f"{'value':12}{'Kryo':>5}{'bytes':>6}{'kernel/s':>12}{'interpreter/s':>15}{'JVM/s':>12}{'kernel/JVM':>12}{'goal':>6}")
    for flavour in VERSIONS:
        found = [v for name in KINDS for v in vectors("kryo") if (v.flavour, v.name) == (flavour, name)]
        before = jvm(flavour, found, options.seconds) if with_jvm else []
        kernel = [speed(vector, options.seconds, "auto") for vector in found]
        interpreter = [speed(vector, options.seconds, "interpreter") for vector in found]
        after = jvm(flavour, found, options.seconds) if with_jvm else []
        flink = [max(pair) for pair in zip(before, after, strict=True)] or [None] * len(found)
        for vector, fast, slow, theirs in zip(found, kernel, interpreter, flink, strict=True):
            goal = GOALS.get(vector.name, 1.0)
            compared = f"{'-':>12}{'-':>12}{goal:6}" if theirs is None else f"{theirs:12,.0f}{fast / theirs:12.2f}{goal:6}"
            print(f"{vector.name:12}{flavour:5}{len(vector.data):6}{fast:12,.0f}{slow:15,.0f}{compared}", flush=True)
            row = {"value": vector.name, "kryo": flavour, "kernel": fast, "interpreter": slow, "jvm": theirs, "goal": goal}
            rows.append(row)
    if options.json is not None:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
