"""A real ZooKeeper server for tests, out of jars that Maven keeps or fetches."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

JARS = {
    "org.apache.flink:flink-shaded-zookeeper-3": "3.7.2-21.0",
    "org.slf4j:slf4j-api": "1.7.36",
    "org.xerial.snappy:snappy-java": "1.1.10.4",
}
MAIN = "org.apache.flink.shaded.zookeeper3.org.apache.zookeeper.server.ZooKeeperServerMain"


def jars() -> list[str]:
    """The jars of the server; skips the test where they cannot be had."""
    repository = Path(os.environ.get("M2_REPO", Path.home() / ".m2" / "repository"))
    found = []
    for artifact, version in JARS.items():
        group, name = artifact.split(":")
        jar = repository.joinpath(*group.split("."), name, version, f"{name}-{version}.jar")
        if not jar.exists() and shutil.which("mvn"):
            get = ["mvn", "-q", "-B", "dependency:get", f"-Dartifact={artifact}:{version}", "-Dtransitive=false"]
            subprocess.run(get, timeout=120, check=False, stdout=subprocess.DEVNULL)
        if not jar.exists():
            pytest.skip(f"{artifact} cannot be had")
        found.append(str(jar))
    return found


@contextmanager
def zookeeper(folder: Path) -> Iterator[str]:
    """A server on a free port, until the block ends: its address."""
    if not shutil.which("java"):
        pytest.skip("there is no Java")
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
    options = ["-Xmx64m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Dzookeeper.admin.enableServer=false"]
    command = ["java", *options, "-cp", os.pathsep.join(jars()), MAIN, str(port), str(folder)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(600):
            with socket.socket() as one:
                if one.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.1)
        yield f"127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()
