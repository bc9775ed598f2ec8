"""How fast Kryo values are decoded: values per second of the kernel, of the interpreter, and of Flink's KryoSerializer.

Each vector of ``tests/kryo`` named below is one kind of value. The kernel and the interpreter decode it into Arrow batches
over and over, as the entries of a state. Flink's serializer deserializes the same bytes in a loop (``KryoLoop.java``), with
Kryo 2 in Flink 1.20 and Kryo 5 in Flink 2.3. The figures are values per second of processor time on one core. Each runs
several times in turn, and the best run of each counts. The interpreter also decodes each value as one of unknown structure
(``Object``), as JSON; beside that, the standard library parses and writes the same JSON.

Usage: ``python -m benchmarks.kryo [SECONDS] [--rounds N] [--no-jvm]``. The JVM needs a JDK 17 and Maven, which fetches
Flink's jars on the first run.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from benchmarks.measuring import Measurement, Size, one_core, show
from serializers import DescribeContext, describe
from serializers.javatypes import OBJECT_CLASS
from stateextract.columnar.convert.policy import Policy
from stateextract.columnar.decode.decoder import Stop, make_decoder
from stateextract.columnar.interpreter import interpret
from stateextract.files.block import Block
from tests.golden.generate import OPENED, class_path
from tests.kryo.generate import VERSIONS
from tests.kryo.zoo import JAR, Vector, models, vectors

KINDS = ("String 33", "UUID", "Instant", "mixed list", "map of ints", "Item", "Leaf", "Drawing")
"""The vectors."""
GOALS = {"mixed list": 0.25, "Item": 3.0, "Leaf": 3.0}
"""How many times as fast as the JVM the kernel has to be at least, if not 1."""
JSON_GOAL = 0.15
"""How many times as fast as the standard library parses and writes the JSON the interpreter has to make it at least."""
COPIES = {"auto": 50_000, "interpreter": 2000}
SOURCE = Path(__file__).with_name("KryoLoop.java")


def unknown(vector: Vector) -> Vector:
    """The same bytes, of a state whose values are declared as ``Object``."""
    details = {**vector.snapshot.details, "class": OBJECT_CLASS}
    return replace(vector, declared=OBJECT_CLASS, snapshot=replace(vector.snapshot, details=details))


def json_speed(vector: Vector, seconds: float) -> float:
    """How many times a second the standard library parses and writes the JSON of a value."""
    layout = describe(unknown(vector).snapshot, DescribeContext(vector.flavour, models()))  # type: ignore[arg-type]
    text = interpret(layout, vector.data, 0, len(vector.data))[0]["json"]
    start, count = time.process_time(), 0
    while time.process_time() - start < seconds:
        for _ in range(100):
            json.dumps(json.loads(text))
        count += 100
    return count / (time.process_time() - start)


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
        command = [
            "java",
            "-XX:+UseSerialGC",
            *opened,
            "-cp",
            f"{made}:{JAR}:{jars}",
            "KryoLoop",
            str(lines),
            str(seconds),
        ]
        out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    return [float(line) for line in out.split()]


def has_jvm() -> bool:
    """Whether a JDK and Maven are there."""
    return shutil.which("javac") is not None and shutil.which("mvn") is not None


def measure(flavour: int, seconds: float, with_jvm: bool, rounds: int = 2) -> Iterator[Measurement]:
    """All kinds of values in one version of Kryo."""
    found = [v for name in KINDS for v in vectors("kryo") if (v.flavour, v.name) == (flavour, name)]
    flink, kernel, interpreter, as_json, library = [], [], [], [], []
    for _ in range(rounds):
        flink += [jvm(flavour, found, seconds)] if with_jvm else []
        kernel.append([speed(vector, seconds, "auto") for vector in found])
        interpreter.append([speed(vector, seconds / 2, "interpreter") for vector in found])
        as_json.append([speed(unknown(vector), seconds / 2, "interpreter") for vector in found])
        library.append([json_speed(vector, seconds / 2) for vector in found])
    figures = zip(*map(_best, (kernel, interpreter, as_json, library, flink)), strict=True)
    for vector, (fast, slow, text, parsed, theirs) in zip(found, figures, strict=True):
        subject = f"{vector.name}, Kryo {flavour}, {len(vector.data)} bytes"
        yield Measurement(subject, "kernel", fast / 1e6, "M values/s")
        yield Measurement(subject, "interpreter", slow / 1e6, "M values/s")
        yield Measurement(subject, "interpreter, as JSON", text / 1e6, "M values/s")
        yield Measurement(subject, "interpreter ÷ json, speed", text / parsed, "", JSON_GOAL, at_least=True)
        if theirs:
            yield Measurement(subject, "Flink's KryoSerializer", theirs / 1e6, "M values/s")
            yield Measurement(
                subject, "kernel ÷ Flink, speed", fast / theirs, "", GOALS.get(vector.name, 1.0), at_least=True
            )


def _best(runs: list[list[float]]) -> list[float]:
    """The best of several runs, for each kind of value; 0 where nothing ran."""
    return [max(run) for run in zip(*runs, strict=True)] if runs else [0.0] * len(KINDS)


def benchmark(size: Size) -> Iterator[Measurement]:
    """Kryo 2 and Kryo 5."""
    one_core()
    for flavour in VERSIONS:
        yield from measure(flavour, 0.3 if size.times > 1 else 0.1, has_jvm())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("seconds", nargs="?", type=float, default=0.5)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--no-jvm", action="store_true")
    options = parser.parse_args()
    one_core()
    for flavour in VERSIONS:
        show(measure(flavour, options.seconds, has_jvm() and not options.no_jvm, options.rounds))


if __name__ == "__main__":
    main()
