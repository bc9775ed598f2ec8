"""Google Cloud Storage: pyarrow's client against fake-gcs-server, which checks no credentials."""

from __future__ import annotations

import json
import os
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.world.components import component, free_port, running
from tests.world.relay import Relay
from tests.world.store_tests import StoreTests, WorldStore


class GcsStore(WorldStore):
    root = "gs://flink"
    other = "gs://elsewhere"
    opens_whole = True

    def __init__(self, relay: Relay, port: int, directory: Path) -> None:
        super().__init__(relay)
        self._directory = directory
        self._url = f"http://127.0.0.1:{port}"
        for name in ("flink", "elsewhere"):
            self._ask("POST", "/storage/v1/b", json.dumps({"name": name}).encode())

    def _ask(self, method: str, path: str, data: bytes | None = None) -> bytes:
        kind = {"Content-Type": "application/json" if path == "/storage/v1/b" else "application/octet-stream"}
        request = urllib.request.Request(f"{self._url}{path}", data, kind, method=method)
        with urllib.request.urlopen(request) as answer:
            found: bytes = answer.read()
        return found

    def put(self, path: str, data: bytes) -> None:
        self._ask("POST", f"/upload/storage/v1/b/flink/o?uploadType=media&name={urllib.parse.quote(path, '')}", data)

    def put_many(self, path: str, number: int) -> None:
        """Copies of one object: the server's objects are files with extended attributes."""
        self.put(f"{path}/{0:08d}", b"x")
        first = self._directory / "flink" / path / f"{0:08d}"
        attributes = [(name, os.getxattr(first, name)) for name in os.listxattr(first)]
        for n in range(1, number):
            copy = first.with_name(f"{n:08d}")
            copy.write_bytes(b"x")
            for name, value in attributes:
                os.setxattr(copy, name, value)

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
    server = component("gcs") / "fake-gcs-server"
    port = free_port()
    relay = Relay(port)
    command = [
        str(server), "-backend", "filesystem", "-filesystem-root", str(objects),
        "-scheme", "http", "-host", "127.0.0.1", "-port", str(port),
        "-external-url", f"http://127.0.0.1:{relay.port}",
    ]  # fmt: skip
    with pytest.MonkeyPatch.context() as patch, running(command, "server started"):
        patch.setenv("STORAGE_EMULATOR_HOST", f"127.0.0.1:{relay.port}")
        yield GcsStore(relay, port, objects)
        relay.close()


@pytest.mark.world
class TestGcs(StoreTests):
    """Each test of the stores."""
