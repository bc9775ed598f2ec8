"""What all tests share: one Spark session, started when the first test asks for it."""

from __future__ import annotations

import gc
import os
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parents[1]

# Processes that tests start are short: their Java compiles no further than it must and takes Spark's own classes, most of the
# time of a start, without verifying them again; and their Python finds byte code.
QUICK_JAVA = (
    "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote "
    "-XX:+IgnoreUnrecognizedVMOptions"
)
os.environ.setdefault("SPARK_SUBMIT_OPTS", QUICK_JAVA)
os.environ.setdefault("SPARK_LAUNCHER_OPTS", QUICK_JAVA)
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# How long a test takes by its marks, against one that has none.
_WEIGHTS = {"long": 600, "slow": 300, "spark": 100, "": 1}

# CI repeats what it did before; everybody else looks for something new.
settings.register_profile("ci", derandomize=True)
if "CI" in os.environ:
    settings.load_profile("ci")


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist looks at the marks
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Of several processes (``-n 2 --dist loadgroup``) one has the Spark session, and each file is run by one of them.

    With ``--no-loadscope-reorder`` those that take long come first, so that no process waits for another in the end.
    """
    groups, weights = [], Counter[str]()
    for item in items:
        group = "spark" if "spark" in getattr(item, "fixturenames", ()) else item.nodeid.split("::")[0]
        if group.startswith("tests/sinks/"):  # They fetch the same packages, which two processes must not do at once.
            group = "tests/sinks"
        item.add_marker(pytest.mark.xdist_group(group))
        groups.append(group)
        marks = {mark.name for mark in item.iter_markers()}
        weights[group] += max(weight for name, weight in _WEIGHTS.items() if name in marks or not name)
    if config.getoption("loadgroup", False):
        order = sorted(range(len(items)), key=lambda at: -weights[groups[at]])
        items[:] = [items[at] for at in order]


def pytest_collection_finish() -> None:
    """Ten thousand tests are no garbage: looking for it among them again and again took a third of the processor's time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """Two cores, and four attempts per task: ``local[2]`` alone never tries again."""
    pyspark = pytest.importorskip("pyspark")
    from stateextract.spark.environment import check_java

    check_java()
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = pyspark.sql.SparkSession.builder.master("local[2,4]").appName("stateextract tests")
    for name, value in {
        "spark.ui.enabled": "false",
        "spark.driver.memory": "1g",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": "spark-warehouse",
        "spark.log.level": "OFF",
    }.items():
        builder = builder.config(name, value)
    with pytest.MonkeyPatch.context() as environment:
        # Spark's processes find the project as where it is installed: its folder stands for site-packages.
        environment.setenv("PYTHONPATH", str(ROOT), prepend=os.pathsep)
        session = builder.getOrCreate()
    yield session
    session.stop()
