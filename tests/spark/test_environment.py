"""What is said when something around the job is missing."""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from typing import Any, ClassVar

import pytest

from stateextract import errors
from stateextract.errors import EnvironmentProblem, FormatError, StateExtractError
from stateextract.spark import job, register
from stateextract.spark import worker as carrier
from stateextract.spark.archive import zipped
from stateextract.spark.environment import (
    check_java,
    check_python,
    explain_failure,
    java_version,
    least_java,
    read_properties,
)
from stateextract.spark.job import job_error
from tests.spark import HAS_SOURCES, needs_sources

ROOT = Path(errors.__file__).parents[1]


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('java version "1.8.0_392"', 8),
        ('openjdk version "21" 2023-09-19', 21),
        ("nonsense", None),
    ],
)
def test_java_versions(text: str, version: int | None) -> None:
    assert java_version(text) == version


def _java(folder: Path, version: str) -> dict[str, str]:
    java = folder / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    java.chmod(java.stat().st_mode | stat.S_IXUSR)
    return {"JAVA_HOME": str(folder), "PATH": "/nowhere"}


def test_java_that_is_missing_or_too_old(tmp_path: Path) -> None:
    with pytest.raises(EnvironmentProblem, match=r"needs Java 17 or later and none was found on the PATH.*JAVA_HOME"):
        check_java({"PATH": str(tmp_path)})
    with pytest.raises(EnvironmentProblem, match="none was found at JAVA_HOME=/nowhere"):
        check_java({"JAVA_HOME": "/nowhere", "PATH": "/nowhere"})
    with pytest.raises(EnvironmentProblem, match="is Java 11"):
        check_java(_java(tmp_path / "old", "11.0.2"))
    check_java(_java(tmp_path / "new", "17.0.1"))
    assert [least_java(release) for release in ((3, 5), (4, 0))] == [8, 17]
    check_java({"JAVA_HOME": str(tmp_path / "old"), "PATH": "/nowhere"}, least_java((3, 5)))


def _extract_py(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(ROOT / "extract.py"), *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        timeout=300,
        check=False,
    )


def test_the_command_says_one_sentence_without_java(tmp_path: Path) -> None:
    from tests.job.snapshots import numbered, write_snapshot

    snap = write_snapshot(tmp_path / "s", {"op": {"a": numbered(3)}})
    done = _extract_py("--snapshot", str(snap), "--output", str(tmp_path / "out"), JAVA_HOME="/nowhere")
    assert done.returncode == 1
    java = "17" if HAS_SOURCES else "8"
    assert done.stderr.strip() == (
        f"extract.py: Spark needs Java {java} or later and none was found at JAVA_HOME=/nowhere. "
        f"Install Java {java} or later and set JAVA_HOME to it."
    )
    assert not (tmp_path / "out").exists()


def test_the_command_says_what_is_wrong_with_its_arguments() -> None:
    done = _extract_py("--snapshto", "x")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.strip() == "extract.py: option '--snapshto' is unknown. The nearest is --snapshot."


def test_the_command_says_which_package_is_missing() -> None:
    done = subprocess.run(
        [sys.executable, "-S", str(ROOT / "extract.py")], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert re.search("has no (rich|pyarrow|numpy)", done.stderr), "whichever is imported first"
    assert "PYSPARK_PYTHON" in done.stderr


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("PySparkImportError: [PACKAGE_NOT_INSTALLED] PyArrow >= 18.0.0 must be installed; however", "lacks PyArrow"),
        ("ModuleNotFoundError: No module named 'pyarrow'", "lacks pyarrow"),
        ("[PYTHON_VERSION_MISMATCH] Python in worker has different version: 3.12", "another Python version"),
        ('java.io.IOException: Cannot run program "python9": error=2', "cannot start python9"),
    ],
)
def test_workers_that_lack_something(text: str, words: str) -> None:
    problem = explain_failure(f"org.apache.spark.SparkException: Job aborted\n{text}\n at x")
    assert problem is not None
    assert words in str(problem)
    assert "PYSPARK_PYTHON" in str(problem)


def test_other_failures_are_not_the_environment() -> None:
    assert explain_failure("java.lang.OutOfMemoryError") is None
    error = job_error(RuntimeError("Job aborted\nCaused by: java.lang.OutOfMemoryError: heap"))
    assert type(error) is StateExtractError
    assert "OutOfMemoryError: heap" in str(error)


def test_what_takes_long_is_said(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    said = ""

    def compile_slowly(size: int | None) -> None:
        nonlocal said
        deadline = time.monotonic() + 30
        while not (said := capsys.readouterr().err) and time.monotonic() < deadline:
            time.sleep(0.01)

    monkeypatch.setattr(job, "compile_once", compile_slowly)
    monkeypatch.setattr(job, "_NOTICE_SECONDS", 0)
    job.compiled(1)
    assert said == "Compiling the kernel: about a minute, once on this machine.\n"
    monkeypatch.setattr(job, "compile_once", lambda size: None)
    monkeypatch.setattr(job, "_NOTICE_SECONDS", 300)
    job.compiled(1)
    assert capsys.readouterr().err == ""


@needs_sources
def test_a_source_that_spark_found_by_itself_stays() -> None:
    """Spark 4.0 refuses to replace it."""

    class Registry:
        def __init__(self, refusal: str) -> None:
            self.refusal = refusal
            self.asked: list[str] = []

        def register(self, source: Any) -> None:
            self.asked.append(source.name())
            raise RuntimeError(self.refusal)

    class Session:
        conf: ClassVar[dict[str, str]] = {"spark.master": "local[1]"}

        def __init__(self, refusal: str) -> None:
            self.dataSource = Registry(refusal)

    pytest.importorskip("pyspark")
    session = Session("[DATA_SOURCE_ALREADY_EXISTS] Data source 'flink-state' already exists.")
    register(session)
    assert session.dataSource.asked == ["flink-state", "flink-state-metadata", "flink-state-diff"]
    with pytest.raises(RuntimeError, match="something else"):
        register(Session("something else"))


def test_an_error_that_nobody_foresaw_is_said_in_python_s_words() -> None:
    text = """Job aborted due to stage failure: Task 0 failed
org.apache.spark.api.python.PythonException: An exception was thrown from the Python worker:
Traceback (most recent call last):
  File "worker.py", line 1, in main
    process()
    ^^^^^^^^^
OSError: [Errno 28] No space left on device

\tat org.apache.spark.api.python.BasePythonRunner"""
    assert "the Spark job failed: OSError: [Errno 28] No space left on device." in str(job_error(RuntimeError(text)))


def test_an_error_of_a_task_comes_back_as_it_was() -> None:
    error = FormatError('broken "here"\n', file="/ä", operator="o", state="s", key_group=3, offset=7, plain_offset=9,
                        expected="e", advice="a")  # fmt: skip
    assert all(value is not None for value in error.context.values())
    text = f"Traceback\n  RuntimeError: {carrier.marked(error)}\n\n at org.apache...\n{carrier.marked(error)}"
    again = job_error(RuntimeError(text))
    assert type(again) is FormatError
    assert vars(again) == vars(error)


def test_an_import_that_fails_on_a_worker() -> None:
    text = carrier.marked_import_error(ModuleNotFoundError("No module named 'lz4'", name="lz4"))
    error = job_error(RuntimeError(f"x\n{text}\ny"))
    assert type(error) is EnvironmentProblem
    assert "cannot import lz4" in str(error)
    assert "PYSPARK_PYTHON" in str(error)


def test_properties() -> None:
    text = (ROOT / "conf" / "spark-defaults.conf").read_text(encoding="utf-8")
    settings = read_properties(text + "\na=b\nc: d\n")
    assert settings["spark.master"] == "local[*,4]"
    assert (settings["a"], settings["c"]) == ("b", "d")


def test_the_code_for_workers_is_unpacked_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    machine_code = {"kernels/key/name": b"machine code"}
    data = zipped(ROOT, machine_code)
    assert data == zipped(ROOT, machine_code), "equal code gives equal bytes"
    delivered = tmp_path / "stateextract-abc.zip"
    delivered.write_bytes(data)
    folder = carrier.unpack(str(delivered), delivered.name)
    assert folder is not None
    assert (Path(folder) / "stateextract" / "job" / "task.py").is_file()
    assert (Path(folder) / "serializers" / "__init__.py").is_file()
    assert (Path(folder) / "stateextract" / "kernels" / "key" / "name").read_bytes() == b"machine code"
    delivered.unlink()
    assert carrier.unpack(str(delivered), delivered.name) == folder
    Path(folder).chmod(0o777)
    assert carrier.unpack(str(delivered), delivered.name) is None, "what others can write to is not run"
    assert zipfile.is_zipfile(delivered) is False


# ---- the Python that Spark starts


class _Session:
    """As much of a session on this machine as ``check_python`` looks at."""

    def __init__(self, python: str, **conf: str) -> None:
        self.conf = {"spark.master": "local[2]"} | {name.replace("_", "."): value for name, value in conf.items()}
        self.sparkContext = type("Context", (), {"pythonExec": python})()


def _python(folder: Path, *answer: str) -> str:
    folder.mkdir(exist_ok=True)
    python = folder / "python3"
    python.write_text("#!/bin/sh\n" + "".join(f"echo '{line}'\n" for line in answer))
    python.chmod(0o755)
    return str(python)


OURS = f"{sys.version_info[0]}.{sys.version_info[1]}"


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (("/usr", OURS, "numpy pyarrow"), "Spark starts the Python {}, which lacks numpy, pyarrow"),
        (("/usr", "3.9", ""), f"Spark starts the Python {{}} of version 3.9, and this one has version {OURS}"),
        ((), "Spark starts the Python {}, which does not run"),
    ],
)
def test_a_python_of_spark_that_cannot_run_it(answer: tuple[str, ...], problem: str, tmp_path: Path) -> None:
    python = _python(tmp_path / "bin", *answer)
    # Nobody chose it: Spark is set to this one.
    session = _Session("python3")
    check_python(session, {"PATH": str(tmp_path / "bin")})
    assert session.sparkContext.pythonExec == sys.executable
    # Somebody chose it, or the workers are elsewhere: that is said.
    advice = f"Set PYSPARK_PYTHON={sys.executable} before Spark starts, or activate its environment."
    for chosen, environment in (
        (_Session(python), {"PYSPARK_PYTHON": python}),
        (_Session(python, spark_pyspark_python=python), {}),
        (_Session(python, spark_master="spark://host:7077"), {}),
    ):
        with pytest.raises(EnvironmentProblem) as caught:
            check_python(chosen, {"PATH": "", **environment})
        assert str(caught.value).startswith(problem.format(python))
        assert str(caught.value).endswith(advice)
        assert "\n" not in str(caught.value)
        assert chosen.sparkContext.pythonExec == python


def test_a_python_of_spark_that_can(tmp_path: Path) -> None:
    for answer in ((sys.prefix, OURS, "numpy"), ("/other", OURS, "")):
        python = _python(tmp_path, *answer)
        for session in (_Session(python), _Session(sys.executable)):
            before = session.sparkContext.pythonExec
            check_python(session, {"PATH": str(tmp_path), "PYSPARK_PYTHON": python})
            assert session.sparkContext.pythonExec == before
    with pytest.raises(EnvironmentProblem, match=r"^Spark starts the Python /none, which is not there\. Set PYSPARK_PYTHON="):
        check_python(_Session("/none"), {"PYSPARK_PYTHON": "/none"})


def test_a_spark_that_is_too_old(monkeypatch: pytest.MonkeyPatch) -> None:
    import pyspark

    monkeypatch.setattr(pyspark, "__version__", "3.4.4")
    with pytest.raises(EnvironmentProblem) as caught:
        register(object())
    assert str(caught.value) == (
        "PySpark 3.4.4 is too old; expected PySpark 3.5 or later. Run pip install 'stateextract[spark]'."
    )
    monkeypatch.setattr(pyspark, "__version__", "3.5.9")
    session = type("Session", (), {"version": "3.5.9"})()  # classic and Connect lack the attribute dataSource
    with pytest.raises(EnvironmentProblem) as caught:
        register(session)
    assert str(caught.value) == (
        "the data sources of stateextract need Spark 4.0 or later, and this is Spark 3.5.9. "
        "Run the extract job, which Spark 3.5 runs too, and read its Parquet files."
    )


@pytest.mark.spark
@needs_sources
def test_register_in_an_environment_that_is_not_activated(tmp_path: Path) -> None:
    """The first ``python3`` of the PATH has nothing of what is needed."""
    _python(tmp_path / "bin", "/usr", OURS, "pyarrow")
    code = (
        "from pyspark.sql import SparkSession\n"
        "from stateextract.spark import register\n"
        "spark = SparkSession.builder.master('local[1]').config('spark.ui.enabled', 'false').getOrCreate()\n"
        "register(spark)\n"
        f"read = spark.read.format('flink-state-metadata').option('path', {str(ROOT / 'examples' / 'orders-checkpoint')!r})\n"
        "print('operators', read.option('table', 'operators').load().count())\n"
    )
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYSPARK")}
    environment["PATH"] = f"{tmp_path / 'bin'}:/usr/bin:/bin"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=300, cwd=ROOT,
        env={**environment, "SPARK_LOCAL_IP": "127.0.0.1"}, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    assert "operators 3" in done.stdout
