"""Azure: pyarrow's client, in its helper process, against Azurite."""

from __future__ import annotations

import base64
import hashlib
import hmac
import http.client
import re
import urllib.parse
from collections.abc import Iterator
from contextlib import closing
from email.utils import formatdate

import pytest

from tests.world.components import component, free_port, running
from tests.world.relay import Relay
from tests.world.store_tests import StoreTests, WorldStore

ACCOUNT = "worldaccount"
KEY = base64.b64encode(b"the key of the tests").decode()


class AzureStore(WorldStore):
    root = f"abfss://flink@{ACCOUNT}.dfs.core.windows.net"
    other = f"abfss://elsewhere@{ACCOUNT}.dfs.core.windows.net"
    many = 500  # Azurite searches all files once for each file that a hierarchical listing passes: 6,000 take minutes
    page = 5000

    def __init__(self, relay: Relay, port: int) -> None:
        super().__init__(relay)
        self._port = port
        for name in ("flink", "elsewhere"):
            self._ask("PUT", f"/{name}", {"restype": "container"})

    def _ask(self, method: str, path: str, query: dict[str, str], data: bytes = b"") -> bytes:
        """A request signed with the account's key, as ``Authorize with Shared Key`` of Azure's documentation describes."""
        headers = {"x-ms-blob-type": "BlockBlob", "x-ms-date": formatdate(usegmt=True), "x-ms-version": "2021-08-06"}
        fields = [method, "", "", str(len(data) or ""), "", "", "", "", "", "", "", ""]
        canonical = [f"{name}:{value}" for name, value in headers.items()]
        resource = [f"/{ACCOUNT}/{ACCOUNT}{path}", *(f"{name}:{value}" for name, value in sorted(query.items()))]
        signed = hmac.new(base64.b64decode(KEY), "\n".join([*fields, *canonical, *resource]).encode(), hashlib.sha256)
        headers["Authorization"] = f"SharedKey {ACCOUNT}:{base64.b64encode(signed.digest()).decode()}"
        headers["Content-Length"] = str(len(data))
        target = f"/{ACCOUNT}{path}?{urllib.parse.urlencode(query)}".rstrip("?")
        with closing(http.client.HTTPConnection("127.0.0.1", self._port, timeout=20)) as connection:
            connection.request(method, target, data, headers)
            answer = connection.getresponse()
            body: bytes = answer.read()
        assert answer.status < 300, body
        return body

    def put(self, path: str, data: bytes) -> None:
        self._ask("PUT", f"/flink/{path}", {}, data)

    def get(self, path: str) -> bytes:
        return self._ask("GET", f"/flink/{urllib.parse.quote(path)}", {})

    def delete(self, path: str) -> None:
        self._ask("DELETE", f"/flink/{path}", {})

    def names(self, path: str) -> list[str]:
        found = self._ask("GET", "/flink", {"restype": "container", "comp": "list", "prefix": f"{path}/"}).decode()
        names = re.findall("<Name>(.*?)</Name>", found)  # the markers of directories end with a slash
        return sorted(name.removeprefix(f"{path}/") for name in names if not name.endswith("/"))

    def deny(self, patch: pytest.MonkeyPatch) -> list[str]:
        wrong = base64.b64encode(b"another key of the tests").decode()
        patch.setenv("AZURE_STORAGE_KEY", wrong)
        return [wrong, KEY]


@pytest.fixture(scope="module")
def store() -> Iterator[WorldStore]:
    server = component("azure") / "node_modules/.bin/azurite-blob"
    port = free_port()
    relay = Relay(port)
    command = [str(server), "--blobPort", str(port), "--inMemoryPersistence", "--skipApiVersionCheck"]
    accounts = {"AZURITE_ACCOUNTS": f"{ACCOUNT}:{KEY}"}
    with pytest.MonkeyPatch.context() as patch, running(command, "successfully listen", env=accounts):
        patch.setenv("AZURE_STORAGE_ACCOUNT", ACCOUNT)
        patch.setenv("AZURE_STORAGE_KEY", KEY)
        patch.setenv("AZURE_STORAGE_SERVICE_ENDPOINT", f"http://127.0.0.1:{relay.port}/{ACCOUNT}")
        yield AzureStore(relay, port)
        relay.close()


@pytest.mark.world
class TestAzure(StoreTests):
    """Each test of the stores."""
