#!/usr/bin/env python3
"""Makes the golden data anew: runs the jobs in ``jobs/src`` on each Flink version and keeps their snapshots.

Needs a JDK 17 and Maven, which fetches Flink's jars on the first run, and Python 3.11 for PyFlink. Usage::

    tests/golden/generate.py [--work FOLDER] [--only SUBSTRING]

Snapshots get new file names and bytes every time; ``expected.json`` comes from the jobs' input and stays the same.
``--work`` is where Flink writes. That path stands in the ``_metadata`` of checkpoints and in RocksDB's options, so it should
say nothing about the machine.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))

from tests.golden.case import NATIVE, Case  # noqa: E402
from tests.golden.libraries import LIBRARIES, NONE, library_cases, profiles  # noqa: E402
from tests.golden.pyflink_cases import PROGRAMS, pyflink_cases, run_pyflink  # noqa: E402
from tests.golden.shapes_input import write_shapes  # noqa: E402

JOBS = HERE / "jobs"
DATA = HERE / "data"
KRYO_JAR = HERE / "kryo.jar"
EXAMPLE_FOLDER = HERE.parents[1] / "examples" / "orders-checkpoint"
VERSIONS = {"f113": "1.13.6", "f117": "1.17.2", "f118": "1.18.1", "f120": "1.20.5", "f20": "2.0.2", "f23": "2.3.0"}

# Flink 1 reaches into the JDK by reflection.
OPENED = (
    "java.lang",
    "java.lang.ref",
    "java.lang.reflect",
    "java.math",
    "java.net",
    "java.nio",
    "java.text",
    "java.time",
    "java.util",
    "java.util.concurrent",
    "java.util.concurrent.atomic",
    "jdk.internal.ref",
)


EXAMPLE = Case("f23", "orders", parallelism=2)  # kept as the README's example, not with the golden data


def cases() -> list[Case]:
    """All cases, each after the one it is restored from.

    Not the full product: every version meets both kinds, compression on and off, parallelism 1 to 3, a restore, inline
    and file state, and 128 and 1,000 key groups, but each job only some of them.
    """
    return [
        Case("f113", "kinds", parallelism=2),
        Case("f113", "kinds", compression=True, parallelism=3, restored="f113-kinds-checkpoint", suffix="rescaled"),
        Case("f113", "keys", max_parallelism=1000),
        Case("f113", "windows", max_parallelism=24, compression=True, storage="inline"),
        Case("f113", "types", max_parallelism=16),
        Case("f113", "evolution"),
        Case("f113", "evolution", parallelism=2, restored="f113-evolution-checkpoint", suffix="restored"),
        Case("f113", "custom", parallelism=2),
        Case("f117", "kinds", NATIVE, max_parallelism=32, compression=True, storage="inline"),
        Case("f117", "keys", max_parallelism=1000),
        Case("f117", "keys", NATIVE, parallelism=2),
        Case("f117", "keys", compression=True, parallelism=3, restored="f117-keys-native", suffix="rescaled"),
        Case("f117", "windows", max_parallelism=24, parallelism=2),
        Case("f117", "types", NATIVE, compression=True, parallelism=2, max_parallelism=16),
        Case("f117", "custom", compression=True),
        Case("f120", "kinds", max_parallelism=32, parallelism=2),
        Case(
            "f120",
            "kinds",
            NATIVE,
            max_parallelism=32,
            compression=True,
            parallelism=3,
            restored="f120-kinds-checkpoint",
            suffix="rescaled",
        ),
        Case("f120", "keys", compression=True, storage="inline"),
        Case("f120", "windows", NATIVE, parallelism=2),
        Case("f120", "types", parallelism=2, max_parallelism=32),
        Case("f120", "evolution", NATIVE, parallelism=2),
        Case("f120", "evolution", compression=True, restored="f120-evolution-native", suffix="restored"),
        Case("f120", "custom", NATIVE),
        Case("f120", "records", compression=True, max_parallelism=1000),
        Case("f120", "kryo", compression=True, max_parallelism=16),
        Case("f20", "kinds", max_parallelism=32, compression=True, storage="inline"),
        Case("f20", "kinds", NATIVE, max_parallelism=32, parallelism=2),
        Case("f20", "keys", parallelism=3),
        Case("f20", "windows", max_parallelism=24, parallelism=3, storage="inline"),
        Case("f20", "types", compression=True, max_parallelism=16),
        Case("f20", "custom", NATIVE, compression=True),
        Case("f20", "records", NATIVE, parallelism=2),
        Case("f20", "async", max_parallelism=1000),
        Case(
            "f20",
            "async",
            NATIVE,
            max_parallelism=1000,
            parallelism=2,
            restored="f20-async-checkpoint",
            suffix="rescaled",
        ),
        Case("f23", "kinds", NATIVE, max_parallelism=32, parallelism=3),
        Case(
            "f23",
            "kinds",
            max_parallelism=32,
            compression=True,
            parallelism=2,
            restored="f23-kinds-native",
            suffix="rescaled",
        ),
        Case("f23", "kinds", max_parallelism=32, parallelism=2, storage="merged", suffix="merged"),
        Case("f23", "keys", NATIVE, compression=True, parallelism=2, storage="inline"),
        Case("f23", "windows", NATIVE, max_parallelism=24, compression=True, parallelism=2),
        Case("f23", "windows", max_parallelism=24, restored="f20-windows-checkpoint", suffix="upgraded"),
        Case("f23", "types", NATIVE, parallelism=2, max_parallelism=16),
        Case("f23", "types", compression=True, max_parallelism=16, storage="inline"),
        Case("f23", "evolution"),
        Case("f23", "evolution", NATIVE, parallelism=2, restored="f23-evolution-checkpoint", suffix="restored"),
        Case("f23", "custom", parallelism=2),
        Case("f23", "custom", NATIVE, compression=True),
        Case("f23", "records"),
        Case("f23", "kryo", NATIVE, parallelism=2, max_parallelism=16),
        Case("f23", "async", max_parallelism=1000),
        Case("f23", "async", NATIVE, compression=True, parallelism=2),
        Case("f23", "shapes", max_parallelism=16),
        Case("f23", "shapes", compression=True, max_parallelism=16),
        Case("f118", "kinds", compression=True, parallelism=2),
        Case("f118", "keys", compression=True, parallelism=2),
        *(Case(f, "finished", parallelism=2, phases=(1, 4), pause_ms=1500) for f in ("f117", "f23")),
        EXAMPLE,
        *library_cases(),
        *pyflink_cases(),
    ]


def run(command: list[str]) -> None:
    """Runs a command; its class path would drown everything else, so a failure names only the program."""
    if subprocess.run(command).returncode != 0:
        sys.exit(f"{command[0]} failed")


class Batch(NamedTuple):
    """Cases that run in one JVM: with the same jars and classes."""

    version: str
    library: str
    evolution: str

    @staticmethod
    def of(case: Case) -> Batch:
        old = case.job == "evolution" and case.restored is None
        return Batch(case.version, LIBRARIES.get(case.job, NONE).name, "old" if old else "new")

    @property
    def order(self) -> tuple[int, str, bool]:
        """What is restored from is made first."""
        return list(VERSIONS).index(self.version), self.library, self.evolution == "new"


def class_path(version: str, library: str = "") -> str:
    """Flink's jars, resolved by Maven and remembered in ``jobs/target``."""
    remembered = JOBS / "target" / f"classpath-{version}{library and '-' + library}.txt"
    if not remembered.exists():
        remembered.parent.mkdir(exist_ok=True)
        suffix = "_2.12" if version.startswith("1.13") else ""
        run(
            [
                "mvn",
                "-q",
                "-B",
                "-f",
                str(JOBS / "pom.xml"),
                "dependency:build-classpath",
                *(f"-P{profile}" for profile in profiles(library, version)),
                f"-Dflink.version={version}",
                f"-Dflink.suffix={suffix}",
                f"-Dmdep.outputFile={remembered}",
            ]
        )
    return remembered.read_text().strip()


def compile_jobs(version: str, jars: str, batch: Batch) -> Path:
    """Compiles the jobs against one Flink version, with the old or the new classes of the evolution job."""
    classes = JOBS / "target" / f"classes-{version}-{batch.evolution}"
    shutil.rmtree(classes, ignore_errors=True)
    modern = version.startswith(("1.20", "2."))
    folders = ["common", "flink" + version[0], f"evolution-{batch.evolution}"] + (["java17"] if modern else [])
    folders += [batch.library, f"{batch.library}-flink{version[0]}"] if batch.library else []
    sources = [str(path) for folder in folders for path in sorted((JOBS / "src" / folder).rglob("*.java"))]
    # Up to 1.17 Flink's bytecode reader may not know Java 17's class files.
    run(
        [
            "javac",
            "-nowarn",
            "-Xlint:-options",
            "--release",
            "17" if modern else "8",
            "-encoding",
            "UTF-8",
            "-cp",
            jars,
            "-d",
            str(classes),
            *sources,
        ]
    )
    scala = [str(path) for folder in folders for path in sorted((JOBS / "src" / folder).rglob("*.scala"))]
    if scala:
        both = os.pathsep.join([str(classes), jars])
        run(["java", "-cp", jars, "scala.tools.nsc.Main", "-classpath", both, "-d", str(classes), *scala])
    return classes


def run_batch(batch: Batch, cases: list[Case], work: Path) -> None:
    """Makes some cases in a JVM of their own."""
    version = LIBRARIES.get(cases[0].job, NONE).versions.get(batch.version, VERSIONS[batch.version])
    jars = class_path(version, batch.library)
    classes = compile_jobs(version, jars, batch)
    if any(case.job == "kryo" for case in cases):
        pack(classes, KRYO_JAR)
    made = JOBS / "target" / "resources"
    if any(case.job == "shapes" for case in cases):
        write_shapes(made / "shapes.jsonl")
    listing = JOBS / "target" / "cases.txt"
    listing.write_text("".join(case.line() + "\n" for case in cases))
    opened = [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in OPENED]
    temporary = work / "tmp"
    temporary.mkdir(exist_ok=True)
    resources = [JOBS / "src" / "resources", made] + ([JOBS / "src" / batch.library] if batch.library else [])
    run(
        [
            "java",
            "-Xmx512m",
            "-XX:+UseSerialGC",
            "-Duser.timezone=UTC",
            f"-Djava.io.tmpdir={temporary}",  # stands in RocksDB's options, which are part of a snapshot
            *opened,
            "-cp",
            os.pathsep.join([str(classes), *map(str, resources), jars]),
            "golden.Runner",
            str(listing),
            str(work),
            str(DATA),
        ]
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--work", type=Path, default=Path("/flink"), help="where Flink writes (default: %(default)s)")
    parser.add_argument("--only", default="", help="only the cases with this text in their name")
    arguments = parser.parse_args()
    wanted = [case for case in cases() if arguments.only in case.name]
    names = {case.name for case in cases()}
    for stale in [path for path in DATA.glob("*") if path.is_dir() and path.name not in names]:
        shutil.rmtree(stale)
    arguments.work.mkdir(parents=True, exist_ok=True)
    batches: dict[Batch, list[Case]] = {}
    run_pyflink([case for case in wanted if case.job in PROGRAMS], arguments.work, DATA)
    for case in wanted:
        if case.job in PROGRAMS:
            continue
        batches.setdefault(Batch.of(case), []).append(case)
    for batch in sorted(batches, key=lambda b: b.order):
        run_batch(batch, batches[batch], arguments.work)
    if EXAMPLE in wanted:
        keep_example()
    return 0


def pack(classes: Path, jar: Path) -> None:
    """The classes of the job that Kryo writes, for the tests to read their fields from."""
    with zipfile.ZipFile(jar, "w") as archive:
        for path in sorted((classes / "golden").glob("Fleet*.class")):
            entry = zipfile.ZipInfo(f"golden/{path.name}", (2024, 1, 1, 0, 0, 0))
            archive.writestr(entry, path.read_bytes(), zipfile.ZIP_DEFLATED)


def keep_example() -> None:
    """Moves the example out of the golden data; its folder is the job's checkpoint directory."""
    made = DATA / EXAMPLE.name
    expected = (made / "expected.json").read_text()
    job_folder = next(path for path in made.iterdir() if path.is_dir())
    shutil.rmtree(EXAMPLE_FOLDER, ignore_errors=True)
    shutil.move(job_folder, EXAMPLE_FOLDER)
    (EXAMPLE_FOLDER / "expected.json").write_text(expected.replace(f'"{job_folder.name}/', '"'))
    shutil.rmtree(made)


if __name__ == "__main__":
    sys.exit(main())
