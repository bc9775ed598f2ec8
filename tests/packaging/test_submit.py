"""What ``stateextract-submit`` makes of its arguments."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from stateextract.errors import EnvironmentProblem
from stateextract.spark.submit import main, release_of, spark_submit

ROOT = Path(__file__).resolve().parents[2]
DEFAULTS = str(ROOT / "conf" / "spark-defaults.conf")
LOG = f"-Dlog4j2.configurationFile={(ROOT / 'conf' / 'log4j2.properties').as_uri()}"


@pytest.fixture
def spark_home(tmp_path: Path) -> Path:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "spark-submit").touch()
    return tmp_path


def test_the_job_alone(spark_home: Path) -> None:
    command, environment = spark_submit(["--snapshot", "s", "--output", "o"], {"SPARK_HOME": str(spark_home), "A": "b"})
    program = str(spark_home / "bin" / "spark-submit")
    assert command == [
        program, "--properties-file", DEFAULTS, str(ROOT / "extract.py"), "--snapshot", "s", "--output", "o",
    ]  # fmt: skip
    assert environment == {
        "SPARK_HOME": str(spark_home), "A": "b", "SPARK_SUBMIT_OPTS": LOG,
        "PYSPARK_PYTHON": sys.executable, "PYSPARK_DRIVER_PYTHON": sys.executable,
    }  # fmt: skip


def test_what_the_user_says_wins(spark_home: Path) -> None:
    given = {
        "SPARK_HOME": str(spark_home), "PYSPARK_PYTHON": "./environment/bin/python", "PYSPARK_DRIVER_PYTHON": "mine",
        "SPARK_SUBMIT_OPTS": "-Dlog4j2.configurationFile=mine",
    }  # fmt: skip
    command, environment = spark_submit(
        ["--master", "yarn", "--properties-file", "mine", "--", "--snapshot", "s"], given
    )
    assert command[1:] == ["--master", "yarn", "--properties-file", "mine", str(ROOT / "extract.py"), "--snapshot", "s"]
    assert environment == given


@pytest.mark.parametrize(
    "options", [["--deploy-mode", "cluster"], ["--deploy-mode=cluster"], ["--conf", "spark.submit.deployMode=cluster"]]
)
def test_a_driver_elsewhere_is_told_no_interpreter_of_this_machine(spark_home: Path, options: list[str]) -> None:
    _, environment = spark_submit([*options, "--", "--snapshot", "s"], {"SPARK_HOME": str(spark_home)})
    assert set(environment) == {"SPARK_HOME", "SPARK_SUBMIT_OPTS"}


def test_spark_is_found_where_pyspark_is() -> None:
    pyspark = pytest.importorskip("pyspark")
    command, _ = spark_submit(["--snapshot", "s"], {})
    assert command[0] == str(Path(pyspark.__file__).parent / "bin" / "spark-submit")


def test_without_a_spark(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentProblem, match=f"no bin/spark-submit at SPARK_HOME={tmp_path}"):
        spark_submit(["--snapshot", "s"], {"SPARK_HOME": str(tmp_path)})


@pytest.mark.parametrize(
    ("jar", "release"),
    [("spark-core_2.12-3.5.6-amzn-1.jar", (3, 5)), ("spark-core_2.13-4.3.0.jar", (4, 3)), ("spark-sql_2.12-3.5.6.jar", (4, 0))],
)
def test_the_release_of_a_spark(jar: str, release: tuple[int, int], tmp_path: Path) -> None:
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / jar).touch()
    assert release_of(tmp_path) == release


def test_without_java(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["stateextract-submit", "--snapshot", "x", "--output", "y"])
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    assert main() == EnvironmentProblem("").exit_code
    assert "or later and none was found at JAVA_HOME=/nowhere" in capsys.readouterr().err


def test_usage(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "argv", ["stateextract-submit", "--help"])
    assert main() == 0
    assert capsys.readouterr().out.startswith("usage: stateextract-submit [SPARK-SUBMIT OPTION ... --]")
    monkeypatch.setattr(sys, "argv", ["stateextract-submit"])
    assert main() == 2
