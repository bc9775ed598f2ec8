"""Hadoop's mini clusters as a child process: HDFS of one or two NameNodes and a DataNode, and YARN."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tests.world.components import Server, component, running

JAVA = ("-Xmx512m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "--add-opens=java.base/java.lang=ALL-UNNAMED")


class MiniCluster(NamedTuple):
    """A running cluster.

    :param address: authority of its ``hdfs://`` URIs; :param web: of its ``webhdfs://`` URIs.
    :param conf: directory of Hadoop's configuration files.
    """

    server: Server
    address: str
    web: str
    conf: Path

    def ask(self, command: str) -> str:
        """Make it do something: see ``MiniCluster.java``."""
        return self.server.ask(command, r"^DONE (.*)", 300)[1]


@contextmanager
def mini_cluster(directory: Path, *options: str) -> Iterator[MiniCluster]:
    """Run a cluster.

    :param options: ``ha``, ``yarn``, and properties of Hadoop as ``name=value``.
    """
    installed = component("hdfs")
    home = os.environ.get("JAVA_HOME") or str(Path(shutil.which("java") or "java").resolve().parents[1])
    classes = f"{installed}/classes:{installed}/lib/*"
    command = [f"{home}/bin/java", *JAVA, "-cp", classes, "MiniCluster", str(directory), *options]
    with running(command, r"^READY (\S+) (\S+)", env={"JAVA_HOME": home}, seconds=240) as server:
        yield MiniCluster(server, server.match[1], server.match[2], directory / "conf")


__all__ = ["MiniCluster", "mini_cluster"]
