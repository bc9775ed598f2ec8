#!/usr/bin/env python3
"""Makes the savepoints in ``snapshots`` anew: a job with all of Kafka's sources and an exactly-once sink, against a broker.

    tests/serializers/kafka/snapshots.py [--work FOLDER]

Needs a JDK 17 and Maven, which fetches Flink's, the connector's and the broker's jars the first time. Each savepoint is its
``_metadata``, which has all of the small state in it, and ``values.txt``: what the connector's own classes read from it.
"""

from __future__ import annotations

import argparse
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent
PORT = 39192
# Flink reaches into the JDK by reflection.
OPENED = ("lang", "lang.reflect", "net", "nio", "text", "time", "util", "util.concurrent")
RUNS = {
    "f117-connector117": ("1.17.2", "1.17.2"),
    "f120-connector34": ("1.20.5", "3.4.0-1.20"),
    "f20-connector40": ("2.0.2", "4.0.1-2.0"),
    "f22-connector50": ("2.2.0", "5.0.0-2.2"),
}
"""By the folder's name, the versions of Flink and of the connector."""
LATEST = "f22-connector50"
EXAMPLE = HERE.parents[2] / "examples" / "kafka-savepoint"
"""Of the documentation: the savepoint of the latest versions."""
SERVER = f"""\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@localhost:{PORT + 1}
listeners=PLAINTEXT://localhost:{PORT},CONTROLLER://localhost:{PORT + 1}
advertised.listeners=PLAINTEXT://localhost:{PORT}
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
"""


def main() -> None:
    """Run the job with each version, against a broker of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, help="folder for class files, class paths and data; default: a temporary one")
    with tempfile.TemporaryDirectory() as temporary:
        work = parser.parse_args().work or Path(temporary)
        work.mkdir(parents=True, exist_ok=True)
        for folder, (flink, connector) in RUNS.items():
            broker = start_broker(work)
            try:
                run(work, folder, flink, connector)
            finally:
                broker.terminate()
                broker.wait()


def start_broker(work: Path) -> subprocess.Popen[bytes]:
    """A broker that is its own controller."""
    jars = class_path(work, "broker", "broker.xml")
    data = work / "broker-data"
    shutil.rmtree(data, ignore_errors=True)
    properties = work / "server.properties"
    properties.write_text(f"{SERVER}log.dirs={data}\n")
    java = ["java", "-Xmx512m", "-cp", jars]
    format_ = [*java, "kafka.tools.StorageTool", "format", "-t", "AAAAAAAAAAAAAAAAAAAABw", "-c", str(properties)]
    subprocess.run(format_, check=True, stdout=subprocess.DEVNULL)
    broker = subprocess.Popen([*java, "kafka.Kafka", str(properties)], stdout=subprocess.DEVNULL)
    for _ in range(60):
        with socket.socket() as probe:
            if probe.connect_ex(("localhost", PORT)) == 0:
                return broker
        time.sleep(1)
    broker.kill()
    raise SystemExit("the broker does not answer")


def run(work: Path, folder: str, flink: str, connector: str) -> None:
    """The job of one version, whose savepoint becomes a folder."""
    jars = class_path(work, folder, "job.xml", flink=flink, connector=connector)
    classes = work / f"classes-{folder}"
    classes.mkdir(exist_ok=True)
    sources = [HERE / "OffsetsJob.java", HERE / "KafkaBytes.java"]
    subprocess.run(["javac", "-nowarn", "-cp", jars, "-d", classes, *sources], check=True)
    opened = [f"--add-opens=java.base/java.{name}=ALL-UNNAMED" for name in OPENED]
    written = work / f"savepoints-{folder}"
    shutil.rmtree(written, ignore_errors=True)
    command = ["java", *opened, "-Xmx700m", "-cp", f"{classes}:{jars}", "OffsetsJob", f"localhost:{PORT}", written]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    (savepoint,) = written.iterdir()
    target = HERE / "snapshots" / folder
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(savepoint, target)
    (target / "values.txt").write_text(done.stdout)
    if folder == LATEST:
        shutil.copytree(savepoint, EXAMPLE, dirs_exist_ok=True)


def class_path(work: Path, name: str, pom: str, **versions: str) -> str:
    """The jars that a pom names."""
    found = work / f"classpath-{name}"
    defined = [f"-D{what}.version={version}" for what, version in versions.items()]
    command = ["mvn", "-q", "-B", "-f", HERE / pom, "dependency:build-classpath", f"-Dmdep.outputFile={found}", *defined]
    subprocess.run(command, check=True)
    return found.read_text().strip()


if __name__ == "__main__":
    main()
