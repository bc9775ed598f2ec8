"""S3: pyarrow's client against versitygw, which keeps objects as files and verifies signatures."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyarrow import fs

from tests.world.components import component, free_port, running
from tests.world.relay import Relay
from tests.world.store_tests import StoreTests, WorldStore

USER, SECRET = "the-tests-user", "the-tests-secret-9Zk"


class S3Store(WorldStore):
    root = "s3://flink"
    other = "s3://elsewhere"

    def __init__(self, relay: Relay, port: int, directory: Path) -> None:
        super().__init__(relay)
        self._directory = directory
        self._files = fs.S3FileSystem(
            access_key=USER, secret_key=SECRET, endpoint_override=f"127.0.0.1:{port}", scheme="http",
            allow_bucket_creation=True,
        )  # fmt: skip
        for name in ("flink", "elsewhere"):
            self._files.create_dir(name)

    def put(self, path: str, data: bytes) -> None:
        with self._files.open_output_stream(f"flink/{path}") as stream:
            stream.write(data)

    def put_many(self, path: str, number: int) -> None:
        """The server's objects are files."""
        directory = self._directory / "flink" / path
        directory.mkdir(parents=True)
        for n in range(number):
            (directory / f"{n:08d}").write_bytes(b"x")

    def get(self, path: str) -> bytes:
        with self._files.open_input_stream(f"flink/{path}") as stream:
            data: bytes = stream.read()
        return data

    def delete(self, path: str) -> None:
        (self._directory / "flink" / path).unlink()

    def names(self, path: str) -> list[str]:
        found = self._files.get_file_info(fs.FileSelector(f"flink/{path}", recursive=True, allow_not_found=True))
        return sorted(one.path.removeprefix(f"flink/{path}/") for one in found if one.type == fs.FileType.File)

    def deny(self, patch: pytest.MonkeyPatch) -> list[str]:
        patch.setenv("AWS_SECRET_ACCESS_KEY", "another-secret-7Qw")
        return ["another-secret-7Qw", SECRET]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorldStore]:
    server = component("s3") / "versitygw"
    directory = tmp_path_factory.mktemp("versitygw")
    port = free_port()
    relay = Relay(port)
    command = [
        str(server), "--access", USER, "--secret", SECRET, "--port", f"127.0.0.1:{port}", "--region", "us-east-1",
        "posix", "--sidecar", str(tmp_path_factory.mktemp("sidecar")), str(directory),
    ]  # fmt: skip
    environment = {
        "AWS_ACCESS_KEY_ID": USER, "AWS_SECRET_ACCESS_KEY": SECRET, "AWS_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true", "AWS_ENDPOINT_URL": f"http://127.0.0.1:{relay.port}",
    }  # fmt: skip
    with pytest.MonkeyPatch.context() as patch, running(command, "listening on|S3 service"):
        for name, value in environment.items():
            patch.setenv(name, value)
        yield S3Store(relay, port, directory)
        relay.close()
    shutil.rmtree(directory)


@pytest.mark.world
class TestS3(StoreTests):
    """Each test of the stores."""
