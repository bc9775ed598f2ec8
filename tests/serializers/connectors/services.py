#!/usr/bin/env python3
"""Makes savepoints anew by connectors' own classes.

``services`` has sources of RabbitMQ and of Kinesis' old consumer, ``iceberg-committer`` what the committer of Iceberg's old
sink keeps, ``hudi-writer`` the writer of Hudi, and ``debezium`` the old source of Flink CDC.

    tests/serializers/connectors/services.py [--work DIRECTORY] [--only NAME]

Needs what ``generate.py`` needs. No server is reached: a client answers for RabbitMQ, and Kinesis is not read.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from generate import OPENS, Run, class_path  # noqa: E402

JOBS = {
    "services": Run(
        "ServicesJob", (),
        (
            "org.apache.flink:flink-connector-rabbitmq:3.0.1-1.17", "org.apache.flink:flink-connector-kinesis:4.3.0-1.19!",
            "org.apache.flink:flink-streaming-java:1.20.5", "org.apache.flink:flink-clients:1.20.5",
            "org.apache.flink:flink-connector-base:1.20.3", "com.google.guava:guava:31.1-jre",
        ),
    ),
    "iceberg-committer": Run(
        "IcebergJob", (),
        (
            "org.apache.iceberg:iceberg-flink-runtime-1.20:1.10.1!", "org.apache.flink:flink-streaming-java:1.20.3",
            "org.apache.flink:flink-clients:1.20.3", "org.apache.flink:flink-table-runtime:1.20.3",
            "org.apache.flink:flink-table-api-java-bridge:1.20.3", "org.apache.flink:flink-connector-base:1.20.3",
        ),
    ),
    "hudi-writer": Run(
        "HudiJob", (),
        (
            "org.apache.hudi:hudi-flink1.16-bundle:0.13.1!", "org.apache.flink:flink-clients:1.16.2",
            "org.apache.flink:flink-streaming-java:1.16.2", "org.apache.flink:flink-table-api-java-bridge:1.16.2",
            "org.apache.flink:flink-table-runtime:1.16.2", "org.apache.flink:flink-table-planner-loader:1.16.2",
            "org.apache.hadoop:hadoop-client-api:3.3.6", "org.apache.hadoop:hadoop-client-runtime:3.3.6",
            "org.apache.hadoop:hadoop-mapreduce-client-core:3.3.6!", "ch.qos.reload4j:reload4j:1.2.22",
        ),
    ),
    "debezium": Run(
        "DebeziumJob", (),
        (
            "com.ververica:flink-connector-debezium:2.4.2", "org.apache.flink:flink-clients:1.17.2",
            "org.apache.flink:flink-streaming-java:1.17.2", "org.apache.flink:flink-connector-base:1.17.2",
        ),
    ),
}  # fmt: skip
"""By the directory that has the savepoint: the job's class, and the jars."""


def main() -> None:
    """Compile and run the jobs, and keep their savepoints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, help="directory for class files and data; default: a temporary one")
    parser.add_argument("--only", help="one directory")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        for name, job in JOBS.items():
            if options.only in (None, name):
                take(name, job, (options.work or Path(temporary)) / name)


def take(name: str, job: Run, work: Path) -> None:
    """Run a job and keep its savepoint."""
    work.mkdir(parents=True, exist_ok=True)
    jars = class_path(job, work)
    sources = [HERE / f"{job.family}.java", HERE / "Printing.java"]
    subprocess.run(["javac", "-nowarn", "-proc:none", "-cp", jars, "-d", work, *sources], check=True)
    target = work / "savepoints"
    shutil.rmtree(target, ignore_errors=True)
    opens = [*OPENS, "--add-opens=java.base/java.util.concurrent=ALL-UNNAMED"]
    subprocess.run(["java", *opens, "-Xmx512m", "-cp", f"{work}:{jars}", job.family, target], check=True)
    (made,) = target.glob("savepoint-*/_metadata")
    (HERE / name).mkdir(exist_ok=True)
    shutil.copy(made, HERE / name / "_metadata")


if __name__ == "__main__":
    main()
