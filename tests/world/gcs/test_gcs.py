"""Google Cloud Storage: pyarrow's client against fake-gcs-server, which checks no credentials."""

from __future__ import annotations

import json
import urllib.parse
import urllib.request
from collections.abc import Iterator

import pytest

from tests.world.components import component, free_port, running
from tests.world.relay import Relay
from tests.world.store_tests import MANY, StoreTests, WorldStore


class GcsStore(WorldStore):
    root = "gs://flink"
    other = "gs://elsewhere"
    opens_whole = True

    def __init__(self, relay: Relay, port: int) -> None:
        super().__init__(relay)
        self._url = f"http://127.0.0.1:{port}"
        self._ask("POST", "/storage/v1/b", json.dumps({"name": "elsewhere"}).encode())

    def _ask(self, method: str, path: str, data: bytes | None = None) -> bytes:
        kind = {"Content-Type": "application/json" if path == "/storage/v1/b" else "application/octet-stream"}
        request = urllib.request.Request(f"{self._url}{path}", data, kind, method=method)
        with urllib.request.urlopen(request) as answer:
            found: bytes = answer.read()
        return found

    def put(self, path: str, data: bytes) -> None:
        self._ask("POST", f"/upload/storage/v1/b/flink/o?uploadType=media&name={urllib.parse.quote(path, '')}", data)

    def put_many(self, path: str, number: int) -> None:
        """The server has read them when it started: it looks through all objects at each upload."""
        assert (path, number) == ("many/job/shared", MANY)

    def get(self, path: str) -> bytes:
        return self._ask("GET", f"/storage/v1/b/flink/o/{urllib.parse.quote(path, '')}?alt=media")

    def delete(self, path: str) -> None:
        self._ask("DELETE", f"/storage/v1/b/flink/o/{urllib.parse.quote(path, '')}")

    def names(self, path: str) -> list[str]:
        found = json.loads(self._ask("GET", f"/storage/v1/b/flink/o?prefix={path}/"))
        return sorted(item["name"].removeprefix(f"{path}/") for item in found.get("items", ()))

    def deny(self, patch: pytest.MonkeyPatch) -> list[str]:
        self.relay.refuse(403)
        return []


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorldStore]:
    objects = tmp_path_factory.mktemp("objects")
    many = objects / "flink/many/job/shared"
    many.mkdir(parents=True)
    for number in range(MANY):
        (many / f"{number:08d}").write_bytes(b"x")
    server = component("gcs") / "fake-gcs-server"
    port = free_port()
    relay = Relay(port)
    command = [
        str(server), "-backend", "memory", "-scheme", "http", "-host", "127.0.0.1", "-port", str(port),
        "-data", str(objects), "-external-url", f"http://127.0.0.1:{relay.port}",
    ]  # fmt: skip
    with pytest.MonkeyPatch.context() as patch, running(command, "server started"):
        patch.setenv("STORAGE_EMULATOR_HOST", f"127.0.0.1:{relay.port}")
        yield GcsStore(relay, port)
        relay.close()


@pytest.mark.world
class TestGcs(StoreTests):
    """Each test of the stores."""
