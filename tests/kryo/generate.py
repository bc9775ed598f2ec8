#!/usr/bin/env python3
"""Makes ``zoo.jar`` and the vectors anew, with Flink 1.20 (Kryo 2) and 2.3 (Kryo 5).

Needs a JDK 17 and Maven, which fetches Flink's jars on the first run (``tests/golden/generate.py`` shares them).
Usage: ``tests/kryo/generate.py``.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))

from tests.golden.generate import OPENED, class_path  # noqa: E402

VERSIONS = {2: "1.20.5", 5: "2.3.0"}


def main() -> None:
    for flavour, version in VERSIONS.items():
        jars = class_path(version)
        with tempfile.TemporaryDirectory() as folder:
            sources = [str(path) for path in sorted((HERE / "src" / "zoo").glob("*.java"))]
            subprocess.run(
                ["javac", "-nowarn", "-g:none", "--release", "17", "-encoding", "UTF-8", "-cp", jars, "-d", folder, *sources],
                check=True,
            )  # fmt: skip
            if flavour == 2:
                pack(Path(folder), HERE / "zoo.jar")
            opened = [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in (*OPENED, "java.util.regex")]
            target = HERE / f"kryo{flavour}.txt"
            subprocess.run(
                ["java", "-Duser.timezone=UTC", "-Dfile.encoding=UTF-8", *opened, "-cp", os.pathsep.join([folder, jars]),
                 "zoo.Vectors", str(target)],
                check=True,
            )  # fmt: skip
            shutil.rmtree(folder, ignore_errors=True)


def pack(folder: Path, jar: Path) -> None:
    """The classes of the job, and none of those that write the vectors but one."""
    with zipfile.ZipFile(jar, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.rglob("*.class")):
            name = path.relative_to(folder).as_posix()
            if not name.startswith("zoo/Vectors") or name.endswith("RegisteredLater.class"):
                archive.writestr(zipfile.ZipInfo(name, (2024, 1, 1, 0, 0, 0)), path.read_bytes(), zipfile.ZIP_DEFLATED)


if __name__ == "__main__":
    main()
