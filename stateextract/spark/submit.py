"""``stateextract-submit``: ``spark-submit extract.py`` from a virtual environment, active or not.

``spark-submit`` looks for a ``python3`` on the PATH to find Spark with, starts the driver with another, and the workers with
a third; each of them has to be the environment's. This command sets them and hands over: its process becomes
``spark-submit``. Everything before ``--`` goes to ``spark-submit``, everything after it to the job; without a ``--`` all of
it is the job's.

Spark's log is kept down to warnings, as ``conf/log4j2.properties`` says. What the user has set wins: ``SPARK_HOME``,
``PYSPARK_PYTHON``, ``PYSPARK_DRIVER_PYTHON``, ``SPARK_SUBMIT_OPTS``, ``--properties-file``. In cluster mode the driver runs on
another machine, so no interpreter of this one is named.

Standard library only; finds PySpark without importing it.
"""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from stateextract.errors import EnvironmentProblem
from stateextract.spark.environment import check_java, least_java

_USAGE = """usage: stateextract-submit [SPARK-SUBMIT OPTION ... --] JOB OPTION ...

Runs the extract job by spark-submit with the Python of this environment:

    stateextract-submit --snapshot PATH --output PATH
    stateextract-submit --master yarn --num-executors 8 -- --snapshot PATH --output PATH

The job's options are those of `stateextract-submit -- --help`, spark-submit's are its own."""


def main() -> int:
    """The command; returns only if it cannot hand over."""
    arguments = sys.argv[1:]
    if not arguments or arguments[0] in ("-h", "--help"):
        print(_USAGE)
        return 0 if arguments else 2
    try:
        command, environment = spark_submit(arguments, os.environ)
        check_java(least=least_java(release_of(Path(environment["SPARK_HOME"]))))
    except EnvironmentProblem as problem:
        print(f"stateextract-submit: {problem}", file=sys.stderr)
        return problem.exit_code
    os.execve(command[0], command, environment)


def spark_submit(arguments: Sequence[str], environment: Mapping[str, str]) -> tuple[list[str], dict[str, str]]:
    """The command line of ``spark-submit`` and the environment it needs.

    :param arguments: what comes after ``stateextract-submit``.
    :raises EnvironmentProblem: where there is no Spark.
    """
    split = arguments.index("--") if "--" in arguments else -1
    options, job = (list(arguments[:split]), list(arguments[split + 1 :])) if split >= 0 else ([], list(arguments))
    home = Path(environment["SPARK_HOME"]) if environment.get("SPARK_HOME") else _packaged_spark()
    program = home / "bin" / "spark-submit"
    if not program.is_file():
        raise EnvironmentProblem(f"there is no bin/spark-submit at SPARK_HOME={home}", advice="unset it, or correct it")
    settings = {**environment, "SPARK_HOME": str(home)}
    if not _in_cluster(options):
        settings.setdefault("PYSPARK_PYTHON", sys.executable)
        settings.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    script, defaults = job_files()
    if "log4j2.configurationFile" not in settings.get("SPARK_SUBMIT_OPTS", ""):
        log = f"-Dlog4j2.configurationFile={(defaults.parent / 'log4j2.properties').as_uri()}"
        settings["SPARK_SUBMIT_OPTS"] = " ".join(filter(None, (settings.get("SPARK_SUBMIT_OPTS"), log)))
    if not any(option.split("=")[0] == "--properties-file" for option in options):
        options = ["--properties-file", str(defaults), *options]
    return [str(program), *options, str(script), *job], settings


def release_of(home: Path) -> tuple[int, ...]:
    """Major and minor version of an installed Spark, by the name of its main jar; a new one if it has another name."""
    named = [re.search(r"-(\d+)\.(\d+)", jar.name) for jar in (home / "jars").glob("spark-core_*.jar")]
    return next(((int(found[1]), int(found[2])) for found in named if found is not None), (4, 0))


def job_files() -> tuple[Path, Path]:
    """``extract.py`` and Spark's settings for it: a wheel has them next to this module, a checkout in its root.

    :raises EnvironmentProblem: where they are missing, as in a zip of the code.
    """
    here = Path(__file__).resolve()
    for folder in (here.parent / "submitted", here.parents[2]):
        script, defaults = folder / "extract.py", folder / "conf" / "spark-defaults.conf"
        if script.is_file() and defaults.is_file():
            return script, defaults
    raise EnvironmentProblem("extract.py is not installed", advice="pip install 'stateextract[spark]'")


def _packaged_spark() -> Path:
    found = importlib.util.find_spec("pyspark")
    if found is None or found.origin is None:
        raise EnvironmentProblem(
            f"the Python at {sys.executable} has no pyspark and SPARK_HOME is not set",
            advice="pip install 'stateextract[spark]', or set SPARK_HOME",
        )
    return Path(found.origin).parent


def _in_cluster(options: Sequence[str]) -> bool:
    """Whether the driver is to run on another machine."""
    text = " ".join(options)
    return any(f"{name}{mark}cluster" in text for name in ("--deploy-mode", "spark.submit.deployMode") for mark in " =")
