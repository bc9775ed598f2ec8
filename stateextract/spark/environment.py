"""What the job needs around it: Java, PySpark, an interpreter for the workers, and the session.

Every check here ends in one sentence that says what to set. Works for ``spark-submit extract.py``, where Spark has been
started already, for ``python extract.py``, which starts it, and for Spark Connect, where it runs elsewhere.

Imports PySpark only when a session is asked for. Must not know of snapshots or Parquet.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from stateextract.errors import EnvironmentProblem

_JAVA_OPTIONS = "spark.driver.extraJavaOptions"
LEAST_SPARK = (3, 5)
"""The first Spark that runs tasks with ``mapInArrow`` and tags jobs: extract jobs, statistics and comparisons need no more."""
_INSTALL = "run pip install 'stateextract[spark]'"
_NEEDED = ("google_crc32c", "lz4", "numpy", "pandas", "pyarrow", "snappy")
"""What a Python of Spark needs to import for stateextract."""
_LOOK = (
    "import importlib.util as u, sys; print(sys.prefix); print('%d.%d' % sys.version_info[:2]); "
    f"print(*[name for name in {_NEEDED!r} if u.find_spec(name) is None])"
)
WORKERS_ADVICE = (
    "set PYSPARK_PYTHON (or spark.pyspark.python) to a Python that has stateextract's requirements, on every worker"
)
"""What to set where the workers lack something."""


def remote(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether Spark Connect is asked for."""
    return "SPARK_REMOTE" in environment or "SPARK_CONNECT_MODE_ENABLED" in environment


def least_java(spark: tuple[int, ...]) -> int:
    """The oldest Java that a release of Spark accepts."""
    return 17 if spark >= (4,) else 8


def check_java(environment: Mapping[str, str] = os.environ, least: int = 17) -> None:
    """Check that a Java that Spark accepts would be started.

    :param least: the oldest one that it accepts.
    :raises EnvironmentProblem: where there is none, or it is too old.
    """
    home = environment.get("JAVA_HOME")
    java = os.path.join(home, "bin", "java") if home else shutil.which("java", path=environment.get("PATH"))
    where = f"at JAVA_HOME={home}" if home else "on the PATH"
    advice = f"install Java {least} or later and set JAVA_HOME to it"
    if java is None or not os.path.exists(java):
        raise EnvironmentProblem(f"Spark needs Java {least} or later and none was found {where}", advice=advice)
    try:
        answer = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.SubprocessError) as error:
        raise EnvironmentProblem(f"the Java at {java} does not run: {error}", advice=advice) from error
    version = java_version(answer.stderr + answer.stdout)
    if version is None:
        raise EnvironmentProblem(f"the Java at {java} does not print its version", advice=advice)
    if version < least:
        raise EnvironmentProblem(f"Spark needs Java {least} or later and {java} is Java {version}", advice=advice)


def java_version(text: str) -> int | None:
    """The major version out of what ``java -version`` prints (``1.8.0_392`` is 8)."""
    match = re.search(r'version "(\d+)(?:\.(\d+))?', text)
    if match is None:
        return None
    major = int(match[1])
    return int(match[2]) if major == 1 and match[2] else major


def open_session(defaults: Path | None = None, settings: Mapping[str, str] | None = None) -> tuple[Any, bool]:
    """The Spark session, and whether this call started it.

    :param defaults: a properties file for a Spark that is started here; ``spark-submit`` has its own.
    :param settings: more of them, which win over the file's.
    :raises EnvironmentProblem: where something is missing.
    """
    try:
        import pandas  # type: ignore[import-untyped]  # noqa: F401  (mapInArrow asks for it)
        import pyspark
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise EnvironmentProblem(f"the Python at {sys.executable} cannot import {error.name}", advice=_INSTALL) from error
    release = check_pyspark(pyspark.__version__)
    running = SparkSession.getActiveSession()
    if running is not None:
        return running, False
    builder = SparkSession.builder.appName("stateextract")
    lent = False
    if not remote():
        if "PYSPARK_GATEWAY_PORT" not in os.environ:  # else spark-submit started this process, and Spark runs already
            check_java(least=least_java(release))
            for name, value in {**_defaults(defaults), **(settings or {})}.items():
                builder = builder.config(name, value)
        lent = os.environ.setdefault("PYSPARK_PYTHON", sys.executable) == sys.executable
    try:
        session = builder.getOrCreate()
    except Exception as error:
        raise EnvironmentProblem(f"Spark could not be started: {_first_line(error)}",
                                 advice="the lines above have details") from error
    if lent and not remote() and not is_local(session):
        # The driver's interpreter may not exist on other machines: Spark's own choice is kept there.
        session.sparkContext.pythonExec = "python3"
    return session, True


def check_pyspark(version: str) -> tuple[int, ...]:
    """Major and minor version of PySpark.

    :raises EnvironmentProblem: if it is too old.
    """
    release = tuple(int(number) for number in re.findall(r"\d+", version)[:2])
    if release < LEAST_SPARK:
        raise EnvironmentProblem(f"PySpark {version} is too old", expected="PySpark 3.5 or later", advice=_INSTALL)
    return release


def check_sources(session: Any) -> None:
    """:raises EnvironmentProblem: if this Spark has no data sources in Python."""
    if not hasattr(session, "dataSource"):
        raise EnvironmentProblem(
            f"the data sources of stateextract need Spark 4.0 or later, and this is Spark {session.version}",
            advice="run the extract job, which Spark 3.5 runs too, and read its Parquet files",
        )


def check_python(session: Any, environment: Mapping[str, str] = os.environ) -> None:
    """Check that the Python that Spark starts can run stateextract, as in an environment that is not activated it cannot.

    If it cannot, no setting chose it and the workers are on this machine, Spark is set to this process's Python. Sessions of
    Spark Connect start their Python elsewhere; there is nothing to check.

    :raises EnvironmentProblem: if another Python was chosen, or has to be.
    """
    context = None if _is_connect(session) else getattr(session, "sparkContext", None)
    chosen = getattr(context, "pythonExec", None)
    if context is None or not isinstance(chosen, str):
        return
    path = shutil.which(chosen, path=environment.get("PATH"))
    if path is not None and os.path.abspath(path) == os.path.abspath(sys.executable):
        return
    problem = _problem_of(chosen, path)
    if problem is None:
        return
    if is_local(session) and "PYSPARK_PYTHON" not in environment and not session.conf.get("spark.pyspark.python", None):
        context.pythonExec = sys.executable
        return
    raise EnvironmentProblem(
        problem, advice=f"set PYSPARK_PYTHON={sys.executable} before Spark starts, or activate its environment"
    )


def _is_connect(session: Any) -> bool:
    return type(session).__module__.startswith("pyspark.sql.connect")


def is_classic_of_3(session: Any) -> bool:
    """Whether tags and artifacts are the context's: classic sessions of Spark 3.5 have these methods, and refuse them."""
    return not _is_connect(session) and str(session.version).startswith("3.")


def _problem_of(chosen: str, path: str | None) -> str | None:
    """Why Spark's Python cannot run what this Python sends it; ``None`` if it can."""
    if path is None:
        return f"Spark starts the Python {chosen}, which is not there"
    try:
        answer = subprocess.run([path, "-c", _LOOK], capture_output=True, text=True, timeout=60, check=True)
        prefix, version, missing = answer.stdout.split("\n")[:3]
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        return f"Spark starts the Python {path}, which does not run: {_first_line(error)}"
    if prefix == sys.prefix:
        return None
    ours = f"{sys.version_info[0]}.{sys.version_info[1]}"
    if version != ours:
        return f"Spark starts the Python {path} of version {version}, and this one has version {ours}"
    return f"Spark starts the Python {path}, which lacks {', '.join(missing.split())}" if missing else None


def is_local(session: Any) -> bool:
    """Whether the workers run on this machine, with its files."""
    if remote():
        return False
    return str(session.conf.get("spark.master", "")).startswith("local")


def _defaults(path: Path | None) -> dict[str, str]:
    settings = {"spark.master": "local[*,4]"} if "MASTER" not in os.environ else {}
    if path is not None and path.is_file():
        settings.update(read_properties(path.read_text(encoding="utf-8")))
        log = path.parent / "log4j2.properties"
        if log.is_file():
            options = (settings.get(_JAVA_OPTIONS), f"-Dlog4j2.configurationFile={log.resolve().as_uri()}")
            settings[_JAVA_OPTIONS] = " ".join(option for option in options if option)
    return settings


def read_properties(text: str) -> dict[str, str]:
    """Settings of a ``spark-defaults.conf``."""
    settings = {}
    for line in text.splitlines():
        line = line.strip()
        if line and not line.startswith("#"):
            name, *value = re.split(r"[\s=:]+", line, maxsplit=1)
            settings[name] = value[0] if value else ""
    return settings


def explain_failure(text: str) -> EnvironmentProblem | None:
    """What is wrong with the workers' environment, from the text of a failed Spark job; ``None`` if it is not that."""
    missing = re.search(r"PACKAGE_NOT_INSTALLED\] (\w+)|No module named '?([\w.]+)|ImportError: (\w+) >= ", text)
    if missing is not None:
        package = next(group for group in missing.groups() if group)
        return EnvironmentProblem(f"the Python interpreter of Spark's workers lacks {package}", advice=WORKERS_ADVICE)
    if "PYTHON_VERSION_MISMATCH" in text:
        return EnvironmentProblem("Spark's workers run another Python version than the driver", advice=WORKERS_ADVICE)
    program = re.search(r'Cannot run program "([^"]+)"', text)
    if program is not None:
        return EnvironmentProblem(f"Spark's workers cannot start {program[1]}", advice=WORKERS_ADVICE)
    return None


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n", 1)[0] or type(error).__name__
