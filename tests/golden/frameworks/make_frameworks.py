#!/usr/bin/env python3
"""Makes the snapshots of frameworks on Flink anew: of Beam, flink-scala-api, Stateful Functions, Agents and ML.

Needs a JDK 17 and Maven, which fetches the jars on the first run. Maven's own registry did not have all of them: ``scala``
needs the sources of flink-scala-api, and ``agents`` the jar for Flink 1.20 out of Python's package ``flink-agents``::

    tests/golden/frameworks/make_frameworks.py [--work FOLDER] [--only TEXT] [--flinkx FOLDER] [--agents JAR]

Each case is the newest checkpoint of a job that has seen all of its input, or its savepoint. Files get new names and bytes
every time; what is in them stays the same, and ``test_<framework>.py`` says what that is. ``--work`` is where Flink writes; the
path is part of the snapshots.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
DATA = HERE / "data"
TARGET = HERE.parent / "jobs" / "target"
OPENED = ("lang", "lang.reflect", "math", "net", "nio", "text", "time", "util", "util.concurrent", "util.concurrent.atomic")


@dataclass(frozen=True)
class Case:
    """One checkpoint, or the savepoint if that is an argument of the job.

    :param framework: ``beam``, ``scala``, ``statefun``, ``agents`` or ``ml``.
    :param version: of the framework; for ``scala`` that of Flink.
    :param arguments: of the job, after the backend and the folder of checkpoints.
    :param label: at the end of the name, if it is not the backend.
    """

    framework: str
    version: str
    backend: str
    arguments: tuple[str, ...] = ()
    label: str | None = None

    @property
    def name(self) -> str:
        return f"{self.framework}-{self.version}-{self.label or self.backend}"

    @property
    def main(self) -> str:
        return f"golden.{'Flinkx' if self.framework == 'scala' else self.framework.capitalize()}Job"


CASES = (
    Case("beam", "2.62.0", "hashmap"),
    Case("beam", "2.62.0", "rocksdb", ("small",)),
    Case("beam", "2.70.0", "hashmap"),
    Case("scala", "1.20.3", "hashmap"),
    Case("scala", "1.20.3", "rocksdb"),
    Case("scala", "2.0.1", "hashmap"),
    Case("statefun", "3.3.0", "hashmap", ("protobuf",), "protobuf"),
    Case("statefun", "3.3.0", "hashmap", ("kryo", "savepoint"), "kryo-savepoint"),
    Case("agents", "0.2.0", "hashmap"),
    Case("ml", "2.0.0", "hashmap"),
)


_made: list[Path] = []
"""Folders of classes that this run has compiled."""


def class_path(case: Case) -> str:
    """The jars, resolved by Maven and remembered."""
    remembered = TARGET / f"classpath-{case.framework}-{case.version}.txt"
    if not remembered.exists():
        remembered.parent.mkdir(parents=True, exist_ok=True)
        maven = ["mvn", "-q", "-B", "-f", str(HERE / "frameworks-pom.xml"), "dependency:build-classpath"]
        options = [f"-P{case.framework}", f"-Dframework.version={case.version}", f"-Dmdep.outputFile={remembered}"]
        subprocess.run([*maven, *options], check=True)
    return remembered.read_text().strip()


def compiled(case: Case, jars: str, sources: Path) -> Path:
    """The job's classes."""
    classes = TARGET / f"classes-{case.framework}-{case.version}"
    if classes in _made:
        return classes
    _made.append(classes)
    shutil.rmtree(classes, ignore_errors=True)
    classes.mkdir(parents=True)
    if case.framework != "scala":
        java = [str(path) for folder in (case.framework, "common") for path in sorted((HERE / folder).glob("*.java"))]
        subprocess.run(["javac", "-nowarn", "-proc:none", "-cp", jars, "-d", str(classes), *java], check=True)
        return classes
    scala = [str(path) for folder in flinkx_sources(case, sources) for path in sorted(folder.rglob("*.scala"))]
    own = ("scala", f"scala-flink{case.version[0]}")
    scala += [str(path) for folder in own for path in sorted((HERE / folder).glob("*.scala"))]
    compiler = ["java", "-Xmx1g", "-Xss8m", "-cp", jars, "scala.tools.nsc.Main", "-nowarn", "-language:higherKinds"]
    subprocess.run([*compiler, "-language:implicitConversions", "-cp", jars, "-d", str(classes), *scala], check=True)
    return classes


def flinkx_sources(case: Case, sources: Path) -> list[Path]:
    """The folders of flink-scala-api that hold its types and serializers."""
    common = sources / "modules" / "flink-common-api" / "src" / "main"
    return [common / "scala", common / "scala-2"]


def run(case: Case, work: Path, sources: Path, agents: Path) -> None:
    """Runs the job and keeps its newest checkpoint."""
    jars = f"{agents}{os.pathsep}" * (case.framework == "agents") + class_path(case)
    classes = compiled(case, jars, sources)
    checkpoints = work / case.name
    shutil.rmtree(checkpoints, ignore_errors=True)
    checkpoints.mkdir(parents=True)
    opened = [f"--add-opens=java.base/java.{package}=ALL-UNNAMED" for package in OPENED]
    options = ["-Xmx512m", "-XX:+UseSerialGC", "-Duser.timezone=UTC", "-Dorg.slf4j.simpleLogger.defaultLogLevel=error"]
    backend = "filesystem" if case.framework == "beam" and case.backend == "hashmap" else case.backend
    command = ["java", *options, *opened, "-cp", os.pathsep.join([str(classes), jars]), case.main]
    subprocess.run([*command, backend, str(checkpoints), *case.arguments], check=True, timeout=300)
    taken = "savepoint-" if "savepoint" in case.arguments else "chk-"
    found = [path.parent for path in checkpoints.rglob("_metadata") if path.parent.name.startswith(taken)]
    newest = max(found, key=lambda path: (len(path.name), path.name))
    kept = DATA / case.name
    shutil.rmtree(kept, ignore_errors=True)
    shutil.copytree(newest, kept / newest.name)
    if case.framework == "scala":
        pack(classes)
    shared = newest.parent / "shared"
    if any(shared.glob("*")):
        shutil.copytree(shared, kept / "shared")


def pack(classes: Path) -> None:
    """The case classes of the job, for the tests to read the names of their fields from."""
    with zipfile.ZipFile(DATA / "flinkx.jar", "w") as jar:
        for name in ("Order", "Item", "Id", "Pair", "Click", "Purchase"):
            entry = zipfile.ZipInfo(f"golden/{name}.class", (2024, 1, 1, 0, 0, 0))
            jar.writestr(entry, (classes / "golden" / f"{name}.class").read_bytes(), zipfile.ZIP_DEFLATED)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    work = Path("/flink/frameworks")
    parser.add_argument("--work", type=Path, default=work, help="where Flink writes (default: %(default)s)")
    parser.add_argument("--only", default="", help="only the cases with this text in their name")
    parser.add_argument("--flinkx", type=Path, default=Path("/flink/flink-scala-api"), help="sources of flink-scala-api")
    parser.add_argument("--agents", type=Path, default=Path("/flink/flink-agents.jar"), help="jar of Flink Agents")
    arguments = parser.parse_args()
    for case in CASES:
        if arguments.only in case.name:
            run(case, arguments.work, arguments.flinkx, arguments.agents)
    return 0


if __name__ == "__main__":
    sys.exit(main())
