#!/usr/bin/env python3
"""Makes ``zoo.jar`` and the vectors anew, with Flink 1.20 (Kryo 2) and 2.3 (Kryo 5); Scala's with Flink 1.17 and flink-scala;
those of Protobuf and Thrift with twitter/chill, those of collections and Joda's times with kryo-serializers.

Needs a JDK 17 and Maven, which fetches Flink's jars on the first run (``tests/golden/generate.py`` shares them).
Usage: ``tests/kryo/generate.py``.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))

from tests.golden.generate import OPENED, class_path  # noqa: E402

VERSIONS = {2: "1.20.5", 5: "2.3.0"}

JDK_HEAD = '''"""Classes of JDK 17 whose objects a job may keep: kind, supertypes, names, enums' constants; without ``java.``.

Made by ``tests/kryo/generate.py``; ``jdk.py`` reads it. Data only.
"""

from typing import Final
'''


def main() -> None:
    for flavour, version in VERSIONS.items():
        jars = class_path(version, "")
        with tempfile.TemporaryDirectory() as folder:
            sources = [str(path) for path in sorted((HERE / "src" / "zoo").glob("*.java"))]
            subprocess.run(
                ["javac", "-nowarn", "-g:none", "--release", "17", "-encoding", "UTF-8", "-cp", jars, "-d", folder, *sources],
                check=True,
            )  # fmt: skip
            if flavour == 2:
                pack(Path(folder), HERE / "zoo.jar")
            write_vectors([folder, jars], "zoo.Vectors", HERE / f"kryo{flavour}.txt")
        pojos(flavour, jars)
        library(flavour, jars, "messages", "zoo.MessageVectors")
        library(flavour, jars, "libraries", "zoo.LibraryVectors")
    scala()
    jdk()


def pojos(flavour: int, jars: str) -> None:
    """Vectors of classes that one state keeps as POJOs and another by Kryo."""
    with tempfile.TemporaryDirectory() as folder:
        source = str(HERE / "src" / "pojo" / "PojoVectors.java")
        subprocess.run(["javac", "-nowarn", "-encoding", "UTF-8", "-cp", jars, "-d", folder, source], check=True)
        write_vectors([folder, jars], "zoo.PojoVectors", HERE / f"pojo{flavour}.txt")


def jdk() -> None:
    """The table of the JDK's classes that the reader has."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["javac", "-d", folder, str(HERE / "src" / "jdk" / "Lineage.java")], check=True)
        lines = subprocess.run(["java", "-cp", folder, "jdk.Lineage"], check=True, capture_output=True, text=True).stdout
    target = HERE.parents[1] / "serializers" / "kryo" / "jdk_classes.py"
    target.write_text(f'{JDK_HEAD}\nCLASSES: Final = """\\\n{grouped(lines)}"""  # noqa: E501\n', encoding="utf-8")


def grouped(lines: str) -> str:
    """Classes of one kind with the same supertypes are in one line, or in several if it would be long."""
    groups: dict[str, list[str]] = {}
    for line in lines.splitlines():
        described, _, constants = line.partition(" |")
        name, kind, *above = described.split()
        groups.setdefault(" ".join((kind, *above)), []).append(f"{name} |{constants}" if constants else name)
    made = []
    for head, names in groups.items():
        for name in names:
            is_alone = "|" in name or not made or not made[-1].startswith(f"{head}: ") or "|" in made[-1]
            if is_alone or len(made[-1]) + len(name) > 120:
                made.append(f"{head}: {name}")
            else:
                made[-1] += f" {name}"
    return "".join(f"{line}\n" for line in made)


def library(flavour: int, flink: str, name: str, main_class: str) -> None:
    """Vectors of what libraries bring: Protobuf and Thrift (``messages``), kryo-serializers (``libraries``)."""
    source = HERE / "src" / name
    with tempfile.TemporaryDirectory() as folder:
        jars = os.pathsep.join([flink, maven_class_path(source, folder)])
        sources = [str(path) for path in sorted(source.glob("*.java"))]
        subprocess.run(["javac", "-nowarn", "-encoding", "UTF-8", "-cp", jars, "-d", folder, *sources], check=True)
        write_vectors([folder, jars], main_class, HERE / f"{name}{flavour}.txt")


def maven_class_path(source: Path, folder: str) -> str:
    """The jars that a folder's ``pom.xml`` names."""
    output = Path(folder, "class-path.txt")
    subprocess.run(
        ["mvn", "-q", "-B", "-f", str(source / "pom.xml"), "dependency:build-classpath", f"-Dmdep.outputFile={output}"],
        check=True,
    )  # fmt: skip
    jars = output.read_text().strip()
    output.unlink()
    return jars


def scala() -> None:
    """Vectors and classes of a job in Scala."""
    source = HERE / "src" / "scala"
    with tempfile.TemporaryDirectory() as folder:
        jars = maven_class_path(source, folder)
        sources = [str(path) for path in sorted(source.glob("*.scala"))]
        compiler = ["java", "-cp", jars, "scala.tools.nsc.Main", "-usejavacp", "-cp", jars, "-d", folder]
        subprocess.run([*compiler, *sources], check=True)
        pack(Path(folder), HERE / "scala-zoo.jar")
        write_vectors([folder, jars], "zoo.ScalaVectors", HERE / "scala2.txt")


def write_vectors(class_path: list[str], main_class: str, target: Path) -> None:
    opened = [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in (*OPENED, "java.io", "java.util.regex")]
    java = ["java", "-Duser.timezone=UTC", "-Dfile.encoding=UTF-8", *opened, "-cp", os.pathsep.join(class_path)]
    subprocess.run([*java, main_class, str(target)], check=True)


def pack(folder: Path, jar: Path) -> None:
    """The classes of the job, and none of those that write the vectors but one."""
    with zipfile.ZipFile(jar, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.rglob("*.class")):
            name = path.relative_to(folder).as_posix()
            if not name.startswith(("zoo/Vectors", "zoo/ScalaVectors")) or name.endswith("RegisteredLater.class"):
                archive.writestr(zipfile.ZipInfo(name, (2024, 1, 1, 0, 0, 0)), path.read_bytes(), zipfile.ZIP_DEFLATED)


if __name__ == "__main__":
    main()
