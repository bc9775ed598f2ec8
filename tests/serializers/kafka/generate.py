#!/usr/bin/env python3
"""Makes ``kafka.txt`` anew: what Kafka's connectors keep in state, by the connectors' own classes.

    tests/serializers/kafka/generate.py [--work FOLDER]

Needs a JDK 17 and Maven, which fetches the jars the first time. The same versions give the same bytes.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
OPENS = [f"--add-opens=java.base/java.{name}=ALL-UNNAMED" for name in ("lang", "time", "util")]

# Flink, the suffix of its artifacts, the connector, its version, and what to print.
RUNS = [
    ("1.11.6", "_2.12", "flink-connector-kafka-0.11_2.12", "1.11.6", [["producer", "FlinkKafkaProducer011"]]),
    ("1.12.7", "_2.12", "flink-connector-kafka_2.12", "1.12.7", [["source", "1.12"]]),
    ("1.14.6", "_2.12", "flink-connector-kafka_2.12", "1.14.6", [["source", "1.14"], ["sink", "1.14"]]),
    (
        "1.17.2", "", "flink-connector-kafka", "1.17.2",
        [["producer", "FlinkKafkaProducer"], ["consumer", "FlinkKafkaConsumer"], ["source", "1.17"], ["sink", "1.17"]],
    ),
    ("1.18.1", "", "flink-connector-kafka", "3.2.0-1.18", [["source", "3.2"], ["sink", "3.2"]]),
    ("1.20.5", "", "flink-connector-kafka", "3.4.0-1.20", [["source", "3.4"], ["sink", "3.4"]]),
    ("2.0.2", "", "flink-connector-kafka", "4.0.1-2.0", [["source", "4.0"], ["sink", "4.0"]]),
    ("2.2.0", "", "flink-connector-kafka", "5.0.0-2.2", [["source", "5.0"], ["sink", "5.0"]]),
]  # fmt: skip


def main() -> None:
    """Print every line into ``kafka.txt``."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, help="folder for class files and class paths; default: a temporary one")
    with tempfile.TemporaryDirectory() as temporary:
        work = parser.parse_args().work or Path(temporary)
        lines = ["# Written by generate.py: name, = and the bytes in hex."]
        for flink, suffix, connector, version, wanted in RUNS:
            place = work / f"{connector}-{version}"
            place.mkdir(parents=True, exist_ok=True)
            jars = class_path(place, flink, suffix, connector, version)
            subprocess.run(["javac", "-nowarn", "-cp", jars, "-d", place, HERE / "KafkaBytes.java"], check=True)
            for arguments in wanted:
                command = ["java", *OPENS, "-Xmx512m", "-cp", f"{place}:{jars}", "KafkaBytes", *arguments]
                done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
                lines += done.stdout.splitlines()
    (HERE / "kafka.txt").write_text("\n".join(lines) + "\n")


def class_path(place: Path, flink: str, suffix: str, connector: str, version: str) -> str:
    """The jars of a connector and its Flink."""
    found = place / "classpath"
    # Flink 1.11 has no flink-connector-base of its own version, and the connector of that time does not use it.
    base = "1.14.6" if flink == "1.11.6" else flink
    properties = {
        "flink.version": flink, "base.version": base, "suffix": suffix, "connector": connector, "connector.version": version,
    }  # fmt: skip
    command = ["mvn", "-q", "-B", "-f", HERE / "pom.xml", "dependency:build-classpath", f"-Dmdep.outputFile={found}"]
    subprocess.run([*command, *(f"-D{name}={value}" for name, value in properties.items())], check=True)
    return found.read_text().strip()


if __name__ == "__main__":
    main()
