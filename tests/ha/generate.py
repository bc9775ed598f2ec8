#!/usr/bin/env python3
"""Makes the high-availability data anew: runs a golden job with ZooKeeper on each Flink version, and lets the cluster die.

Needs what ``tests/golden/generate.py`` needs, and ``kazoo``. Usage::

    tests/ha/generate.py [--work FOLDER] [--only SUBSTRING]

Each case is a folder of ``data``, but for the example of the documentation, ``examples/high-availability``:

- ``znodes.json``: all nodes of ZooKeeper after the cluster died. ``configmap.json`` and ``configmap.yaml`` (1.17 and 2.3):
  the same entries as Flink's own class writes them into a ConfigMap, and one more that is being removed.
- ``ha``, ``checkpoints``, ``savepoints``: what Flink wrote there.
- ``expected.json``: what Flink's own classes read in the entries (``HighAvailability.java``), and ``restored``: the checkpoint
  that a new cluster on the same data restored the job from.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))

from tests.golden.backends import INCREMENTAL, UNMANAGED  # noqa: E402
from tests.golden.case import CANONICAL, Case  # noqa: E402
from tests.golden.generate import JOBS, OPENED, VERSIONS, Batch, class_path, compile_jobs, run  # noqa: E402

DATA = HERE / "data"
EXAMPLE = HERE.parents[1] / "examples" / "high-availability"
KUBERNETES = ("1.17.2", "2.3.0")
"""Of these versions Maven has flink-kubernetes."""
SERVER = "org.apache.flink.shaded.zookeeper3.org.apache.zookeeper.server.ZooKeeperServerMain"


@dataclass(frozen=True)
class HaCase:
    """:param cluster: ``high-availability.cluster-id``; :param retained: how many checkpoints Flink keeps."""

    version: str
    name: str
    kind: str = "checkpoint"
    backend: str = "hashmap"
    cluster: str = "default"
    retained: int = 2
    phases: tuple[int, int] = (1, 3)
    options: dict[str, str] = field(default_factory=dict)

    def case(self, port: int, work: Path) -> Case:
        storage = (work / self.case_name / "ha").as_uri()
        options = {
            "high-availability": "zookeeper",
            "high-availability.type": "zookeeper",
            "high-availability.zookeeper.quorum": f"127.0.0.1:{port}",
            "high-availability.storageDir": storage,
            "high-availability.cluster-id": self.cluster,
            "state.checkpoints.num-retained": str(self.retained),
            "execution.checkpointing.num-retained": str(self.retained),
            "blob.storage.directory": str(work / "blobs"),
        }
        if self.backend == "rocksdb":
            options |= {**UNMANAGED, **INCREMENTAL}
        return Case(
            self.version, "changes", self.kind, backend=self.backend, suffix=self.name, max_parallelism=16,
            storage="inline" if self.backend == "hashmap" else "file", phases=self.phases,
            flink_options={**options, **self.options},
        )  # fmt: skip

    @property
    def case_name(self) -> str:
        return Case(self.version, "changes", self.kind, backend=self.backend, suffix=self.name).name


CASES = [
    HaCase("f113", "ha", backend="rocksdb", retained=2),
    HaCase("f117", "ha", cluster="/team/a", retained=3),
    HaCase("f120", "example", backend="rocksdb", retained=3, phases=(1, 4)),
    HaCase("f20", "ha", retained=1),
    HaCase("f23", "ha-savepoint", CANONICAL, retained=2),
]


class Server:
    """A ZooKeeper server out of Flink's jars."""

    def __init__(self, jars: str, work: Path) -> None:
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            self.port: int = one.getsockname()[1]
        self.folder = tempfile.mkdtemp(prefix="zookeeper-", dir=work)
        self.process = subprocess.Popen(
            # The server of 1.13 would look for log4j 1.
            ["java", "-Xmx128m", "-Dzookeeper.admin.enableServer=false", "-Dzookeeper.jmx.log4j.disable=true", "-cp", jars,
             SERVER, str(self.port), self.folder],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        for _ in range(600):
            with socket.socket() as one:
                if one.connect_ex(("127.0.0.1", self.port)) == 0:
                    break
            time.sleep(0.1)

    def nodes(self) -> list[dict[str, Any]]:
        """All nodes, once the sessions of dead clusters have ended."""
        from kazoo.client import KazooClient

        client = KazooClient(f"127.0.0.1:{self.port}")
        client.start()
        found = []
        waiting = ["/"]
        while waiting:
            path = waiting.pop()
            data, stat = client.get(path)
            if path != "/":
                found.append(
                    {"path": path, "data": base64.b64encode(data).decode() if data else None, "version": stat.version,
                     "ctime": stat.ctime, "mtime": stat.mtime, "ephemeral": stat.ephemeralOwner != 0}
                )  # fmt: skip
            waiting += [f"{path.rstrip('/')}/{name}" for name in client.get_children(path) if name != "zookeeper"]
        client.stop()
        return sorted(found, key=lambda node: node["path"])

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def kubernetes_jar(version: str) -> list[str]:
    """The jar with Flink's class for entries of ConfigMaps."""
    if version not in KUBERNETES:
        return []
    jar = JOBS / "target" / f"flink-kubernetes-{version}.jar"
    if not jar.exists():
        run(
            ["mvn", "-q", "-B", "dependency:copy", f"-Dartifact=org.apache.flink:flink-kubernetes:{version}",
             f"-DoutputDirectory={jar.parent}"]
        )  # fmt: skip
    return [str(jar)]


def repair(jars: str, classes: Path) -> list[str]:
    """A class path whose class the ZooKeeper client of Flink 1.13 needs on Java 14 or later."""
    target = classes.with_name("zookeeper-client")
    run(["javac", "-nowarn", "-cp", jars, "-d", str(target), str(HERE / "StaticHostProvider.java")])
    return [str(target)]


def make(made: HaCase, work: Path) -> None:
    """Makes one case."""
    version = VERSIONS[made.version]
    jars = class_path(version, "backends")
    classes = compile_jobs(version, jars, Batch(made.version, "backends", "new"))
    repaired = repair(jars, classes) if made.version == "f113" else []
    server = Server(jars, work)
    case = made.case(server.port, work)
    shutil.rmtree(work / case.name, ignore_errors=True)

    def java(*arguments: str, given: str = "", more: list[str] | None = None) -> str:
        opened = [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in OPENED]
        path = os.pathsep.join([*repaired, str(classes), str(JOBS / "src" / "resources"), *(more or []), jars])
        command = ["java", "-Xmx512m", "-XX:+UseSerialGC", "-Duser.timezone=UTC", *opened, "-cp", path]
        done = subprocess.run(
            [*command, "golden.HighAvailability", *arguments], input=given, text=True, stdout=subprocess.PIPE, check=True
        )
        return done.stdout

    try:
        (job,) = [line.split()[1] for line in java("run", case.line(), str(work)).splitlines() if line.startswith("job ")]
        nodes = server.nodes()
        entries = {
            node["path"].rpartition("/")[2]: node["data"]
            for node in nodes
            if f"/{job}" in node["path"] and "checkpoints/" in node["path"] and len(node["path"].rpartition("/")[2]) == 19
        }
        described = java("describe", given="\n".join(entries.values()), more=kubernetes_jar(version)).splitlines()
        checkpoints = [
            {"name": name, **json.loads(line)}
            for name, line in zip(entries, (line for line in described if line.startswith("{")), strict=True)
        ]
        target = EXAMPLE if made.name == "example" else DATA / case.name
        shutil.rmtree(target, ignore_errors=True)
        keep(work / case.name, target, [one["external_pointer"] for one in checkpoints])
        restored = [line for line in java("restart", case.line(), str(work)).splitlines() if line.startswith("restored ")]
    finally:
        server.close()
    for node in nodes:
        if node["data"] not in entries.values():  # Addresses of the machine, and nothing of checkpoints.
            node["data"] = None
    write(target / "znodes.json", "[\n" + ",\n".join(f" {json.dumps(node)}" for node in nodes) + "\n]\n")
    if version in KUBERNETES:
        write_config_maps(target, job, checkpoints)
    expected = {
        "flink_version": version, "cluster_id": made.cluster, "job_id": job, "work": str(work / case.name),
        "restored": int(restored[0].split()[1]), "checkpoints": checkpoints,
    }  # fmt: skip
    write(target / "expected.json", json.dumps(expected, indent=1) + "\n")
    print(case.name)


def write_config_maps(target: Path, job: str, checkpoints: list[dict[str, Any]]) -> None:
    """The entries in a ConfigMap of the job."""
    values = {f"checkpointID-{one['name']}": one.pop("config_map") for one in checkpoints}
    removed = [one.pop("deleting") for one in checkpoints]
    values[f"checkpointID-{int(checkpoints[-1]['name']) + 1:019d}"] = removed[-1]
    config_map = {
        "apiVersion": "v1",
        "data": {**values, "counter": str(int(checkpoints[-1]["name"]) + 1)},
        "kind": "ConfigMap",
        "metadata": {
            "labels": {"app": "my-flink", "type": "flink-native-kubernetes"},
            "name": f"my-flink-{job}-config-map",
            "namespace": "default",
        },
    }
    write(target / "configmap.json", json.dumps(config_map, indent=4) + "\n")
    write(target / "configmap.yaml", yaml_of(config_map))


def keep(made: Path, target: Path, pointers: list[str]) -> None:
    """Copies the files of the checkpoints that the store names, and of the store's folder those that say which they are."""
    for path in made.rglob("*"):
        name, relative = path.name, path.relative_to(made)
        of_checkpoint = any(f"/{relative.parent}" == pointer[-len(str(relative.parent)) - 1 :] for pointer in pointers)
        if path.is_file() and (name.startswith("completedCheckpoint") or of_checkpoint or "shared" in relative.parts):
            (target / relative).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, target / relative)


def write(path: Path, text: str) -> None:
    path.write_text(text, encoding="utf-8")


def yaml_of(value: dict[str, Any], indent: int = 0) -> str:
    """A ConfigMap as ``kubectl get configmap -o yaml`` prints it."""
    lines = ""
    for key, inner in sorted(value.items()):
        lines += " " * indent + f"{key}:"
        if isinstance(inner, dict):
            lines += "\n" + yaml_of(inner, indent + 2)
        else:
            lines += f' "{inner}"\n' if inner.isdigit() else f" {inner}\n"
    return lines


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--work", type=Path, default=Path("/flink"), help="where Flink writes (default: %(default)s)")
    parser.add_argument("--only", default="", help="only the cases with this text in their name")
    arguments = parser.parse_args()
    arguments.work.mkdir(parents=True, exist_ok=True)
    for one in CASES:
        if arguments.only in one.case_name:
            make(one, arguments.work)
    return 0


if __name__ == "__main__":
    sys.exit(main())
