"""High-availability data in a real ZooKeeper server."""

from __future__ import annotations

import base64
import json
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stateextract.api import list_snapshots, open_snapshot
from stateextract.errors import EnvironmentProblem, MissingFileError, NoAnswerError, SnapshotNotFoundError, UsageError
from tests.ha.servers import zookeeper
from tests.ha.test_parsing import EXPECTED, FOLDERS, OLDEST

kazoo_client = pytest.importorskip("kazoo.client")

NEW = "f117-changes-checkpoint-ha"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A server with the nodes of all cases, each below a root of its own, as ``high-availability.zookeeper.path.root`` sets."""
    with zookeeper(tmp_path_factory.mktemp("zookeeper")) as address:
        client = kazoo_client.KazooClient(address)
        client.start(timeout=60)
        for case in FOLDERS:
            for node in json.loads((FOLDERS[case] / "znodes.json").read_text()):
                data = base64.b64decode(node["data"] or "")
                client.create(f"/{case}{node['path']}", data, makepath=True)
        client.stop()
        client.close()
        yield address


@pytest.mark.parametrize("case", FOLDERS)
def test_clusters(server: str, case: str) -> None:
    """What Flink restored, and the same snapshots as by the dump; the files are where the user says."""
    expected = EXPECTED[case]
    mapped = {expected["work"]: str(FOLDERS[case])}
    listing = list_snapshots(f"zk://{server}/{case}/flink", mapped)
    (job,) = listing.jobs
    assert (job.job_id, job.outcome, job.is_guess) == (expected["job_id"], "restores", False)
    assert [row.checkpoint_id for row in listing.snapshots] == [one["id"] for one in expected["checkpoints"]]
    assert {str(row.status) for row in listing.snapshots} == {"complete"}
    snapshot = open_snapshot(f"zk://{server}/{case}/flink", mapped)
    assert snapshot.checkpoint_id == expected["restored"]
    by_dump = list_snapshots(str(FOLDERS[case] / "znodes.json"))
    assert [row.metadata_path for row in listing.snapshots] == [row.metadata_path for row in by_dump.snapshots]


@pytest.mark.parametrize(
    "path", ["/flink/team/a", "/flink/team/a/jobs/{job}", "/flink/team/a/jobs/{job}/checkpoints", "", "/flink/"]
)
def test_paths(server: str, path: str) -> None:
    expected = EXPECTED[NEW]
    address = f"zk://{server}/{NEW}{path.format(job=expected['job_id'])}"
    listing = list_snapshots(address, {expected["work"]: str(FOLDERS[NEW])})
    assert [row.checkpoint_id for row in listing.snapshots] == [one["id"] for one in expected["checkpoints"]]


def test_several_jobs(server: str) -> None:
    """Of all that a server has one is chosen by the beginning of its id."""
    with pytest.raises(SnapshotNotFoundError, match=f"has {len(FOLDERS)} jobs") as caught:
        open_snapshot(f"zk://{server}/")
    assert caught.value.advice == "choose one with job"
    expected = EXPECTED[OLDEST]
    snapshot = open_snapshot(f"zk://{server}/", {expected["work"]: str(FOLDERS[OLDEST])}, job=expected["job_id"][:8])
    assert snapshot.checkpoint_id == expected["restored"]


def test_nothing_of_the_nodes_is_opened_as_it_is(server: str, tmp_path: Path) -> None:
    """Without a place that the user names nothing is looked for."""
    (job,) = list_snapshots(f"zk://{server}/{NEW}/flink").jobs
    assert job.outcome == "fails"
    assert {type(one.problem).__name__ for one in job.checkpoints} == {"UnreadableFileError"}
    # Trusted, the URIs are opened as they are.
    copy = tmp_path / "copy"
    shutil.copytree(FOLDERS[NEW], copy)
    (again,) = list_snapshots(f"zk://{server}/{NEW}/flink", {EXPECTED[NEW]["work"]: str(copy)}).jobs
    assert again.latest is not None
    assert str(again.latest.file).startswith(str(copy))


def test_a_node_that_is_not_there(server: str) -> None:
    with pytest.raises(MissingFileError, match="ZooKeeper has no such node"):
        list_snapshots(f"zk://{server}/{NEW}/flink/other")


def test_no_server() -> None:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
        with pytest.raises(NoAnswerError, match="did not answer within 1 s"):
            list_snapshots(f"zk://127.0.0.1:{port}/flink", store_timeout=1)


@pytest.mark.parametrize("address", ["zk://", "zk:///flink", "zk://user@host/flink", "zk://a b/c"])
def test_wrong_addresses(address: str) -> None:
    with pytest.raises(UsageError, match="is not the address of a ZooKeeper"):
        list_snapshots(address)


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    import builtins

    original = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name.startswith("kazoo"):
            raise ImportError(name)
        return original(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(EnvironmentProblem, match="zk:// needs the package kazoo"):
        list_snapshots("zk://127.0.0.1:1/flink")
