#!/usr/bin/env python3
"""Makes the savepoint in ``services`` anew: sources of RabbitMQ and of Kinesis' old consumer, by their own classes.

    tests/serializers/connectors/services.py [--work DIRECTORY]

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

RUN = Run(
    "services", (),
    (
        "org.apache.flink:flink-connector-rabbitmq:3.0.1-1.17", "org.apache.flink:flink-connector-kinesis:4.3.0-1.19!",
        "org.apache.flink:flink-streaming-java:1.20.5", "org.apache.flink:flink-clients:1.20.5",
        "org.apache.flink:flink-connector-base:1.20.3", "com.google.guava:guava:31.1-jre",
    ),
)  # fmt: skip


def main() -> None:
    """Compile and run the job, and keep the savepoint."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, help="directory for class files and data; default: a temporary one")
    with tempfile.TemporaryDirectory() as temporary:
        work = parser.parse_args().work or Path(temporary)
        work.mkdir(parents=True, exist_ok=True)
        jars = class_path(RUN, work)
        subprocess.run(["javac", "-nowarn", "-cp", jars, "-d", work, HERE / "ServicesJob.java"], check=True)
        target = work / "savepoints"
        shutil.rmtree(target, ignore_errors=True)
        opens = [*OPENS, "--add-opens=java.base/java.util.concurrent=ALL-UNNAMED"]
        subprocess.run(["java", *opens, "-Xmx512m", "-cp", f"{work}:{jars}", "ServicesJob", target], check=True)
        (made,) = target.glob("savepoint-*/_metadata")
        (HERE / "services").mkdir(exist_ok=True)
        shutil.copy(made, HERE / "services" / "_metadata")


if __name__ == "__main__":
    main()
