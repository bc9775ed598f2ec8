"""``docs/streaming.md`` on a Flink job that runs, with tables of Iceberg and Delta. About a minute and a half.

Maven has, or fetches, Flink's jars; without a JDK or Maven the test is skipped and says so.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import ROOT
from tests.sinks.test_backfill import CACHE, PAGE, SETTINGS, pyspark_of, pyspark_version

FLINK = "2.3.0"
JOBS = ROOT / "tests" / "golden" / "jobs"


def class_path() -> str:
    """Flink's jars, as Maven resolves them; kept for the next time."""
    remembered = CACHE / f"flink-{FLINK}.txt"
    if not remembered.exists() or not all(Path(jar).exists() for jar in remembered.read_text().split(os.pathsep)):
        CACHE.mkdir(parents=True, exist_ok=True)
        done = subprocess.run(
            ["mvn", "-q", "-B", "-f", JOBS / "pom.xml", "dependency:build-classpath", "-Pbackends",
             f"-Dflink.version={FLINK}", "-Dflink.suffix=", f"-Dmdep.outputFile={remembered}"],
            capture_output=True, text=True, timeout=600, check=False,
        )  # fmt: skip
        if done.returncode:
            pytest.skip(f"Maven cannot fetch Flink {FLINK}: {(done.stdout.strip().splitlines() or ['it does not say why'])[0]}")
    return remembered.read_text().strip()


@pytest.mark.long
@pytest.mark.spark
def test_the_tables_follow_a_running_job(tmp_path: Path) -> None:
    for program in ("mvn", "javac"):
        if shutil.which(program) is None:
            pytest.skip(f"there is no {program}, which the job needs")
    jars = class_path()
    source = Path(__file__).parent / "running" / "RunningJob.java"
    compiler = ["javac", "-nowarn", "-Xlint:none", "-cp", jars, "-d", tmp_path / "classes", source]
    subprocess.run(compiler, check=True, timeout=120, capture_output=True)
    pyspark = pyspark_of(pyspark_version(PAGE))
    (tmp_path / "spark-defaults.conf").write_text("".join(f"{name} {value}\n" for name, value in SETTINGS.items()))
    (tmp_path / "tmp").mkdir()
    job = [
        "java", "-Xmx768m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", f"-Djava.io.tmpdir={tmp_path / 'tmp'}",
        *(f"--add-opens=java.base/java.{name}=ALL-UNNAMED" for name in ("lang", "util")),
        "-cp", os.pathsep.join(map(str, (tmp_path / "classes", JOBS / "src" / "resources", jars))), "RunningJob",
    ]  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-m", "tests.sinks.running.run_streaming", ROOT / "docs" / "streaming.md", *job],
        cwd=tmp_path, capture_output=True, text=True, timeout=600, check=False,
        env={
            **{k: v for k, v in os.environ.items() if k not in ("SPARK_HOME", "SPARK_REMOTE")},
            "PYTHONPATH": f"{pyspark}{os.pathsep}{ROOT}", "PYSPARK_PYTHON": sys.executable,
            "SPARK_CONF_DIR": str(tmp_path),
        },
    )  # fmt: skip
    if "unresolved dependenc" in done.stderr:
        pytest.skip("Spark cannot fetch the packages of Iceberg and Delta")
    assert done.returncode == 0, done.stderr[-6000:]
    rows, numbers = map(int, re.fullmatch(r"(\d+) rows after (\d+) numbers\n", done.stdout).groups())  # type: ignore[union-attr]
    # Six of seven keys are there, and some have changed.
    assert rows > 80_000
    assert numbers > 110_000
