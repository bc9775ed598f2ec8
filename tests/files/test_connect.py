"""Clients are made from typed arguments: what of a URI, of the options and of the environment each one is given."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, ClassVar

import pytest

from stateextract.errors import EnvironmentProblem, UsageError
from stateextract.files import connect as module
from stateextract.files.connect import STORES, connect, problem_of, within


class HelperClient:
    """In the place of a client in a helper process."""

    made: ClassVar[list[tuple[str, dict[str, Any]]]]

    def __init__(self, kind: str, arguments: dict[str, Any], timeout: int, *_: Any) -> None:
        assert timeout == 7
        self.made.append((kind, arguments))

    def make(self) -> None: ...

    def get_file_info(self, path: str) -> None: ...


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, dict[str, Any]]]:
    """The clients that were made, with their arguments."""
    found: list[tuple[str, dict[str, Any]]] = []
    monkeypatch.setattr("pyarrow.fs.S3FileSystem", lambda **arguments: found.append(("S3FileSystem", arguments)))
    monkeypatch.setattr("pyarrow.fs.resolve_s3_region", lambda bucket: f"region of {bucket}")
    HelperClient.made = found
    monkeypatch.setattr(module, "ClientProcess", HelperClient)
    for name in ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_REGION", "AWS_DEFAULT_REGION"):
        monkeypatch.delenv(name, raising=False)
    return found


TIMES = {"connect_timeout": 7, "request_timeout": 7}


@pytest.mark.parametrize(
    ("scheme", "authority", "options", "expected", "base"),
    [
        ("s3", "b", {}, ("S3FileSystem", {"region": "region of b", **TIMES}), "b"),
        ("s3", "b", {"region": "r", "connect_timeout": "2.5"},
         ("S3FileSystem", {"region": "r", "connect_timeout": 2.5, "request_timeout": 7}), "b"),
        ("s3", "b", {"endpoint_override": "https://h:9000/", "allow_bucket_creation": "true"},
         ("S3FileSystem", {"endpoint_override": "h:9000", "scheme": "https", "allow_bucket_creation": True, **TIMES}), "b"),
        ("s3", "b", {"endpoint_override": "h:9000", "scheme": "http"},
         ("S3FileSystem", {"endpoint_override": "h:9000", "scheme": "http", **TIMES}), "b"),
        ("gs", "b", {}, ("GcsFileSystem", {"retry_time_limit": timedelta(seconds=7)}), "b"),
        ("gs", "b", {"retry_limit_seconds": "1.5", "location": "EU", "anonymous": True},
         ("GcsFileSystem", {"retry_time_limit": timedelta(seconds=1.5), "default_bucket_location": "EU", "anonymous": True}),
         "b"),
        ("abfs", "box@acc.dfs.core.windows.net", {"account_key": "k"},
         ("AzureFileSystem", {"account_name": "acc", "account_key": "k", "dfs_storage_authority": ".dfs.core.windows.net",
                              "blob_storage_authority": ".blob.core.windows.net"}), "box"),
        ("abfss", "$root@acc.blob.core.chinacloudapi.cn", {},
         ("AzureFileSystem", {"account_name": "acc", "dfs_storage_authority": ".dfs.core.chinacloudapi.cn",
                              "blob_storage_authority": ".blob.core.chinacloudapi.cn"}), "$root"),
        ("hdfs", "nn:8020", {"client": "libhdfs", "user": "flink", "replication": "2"},
         ("HadoopFileSystem", {"host": "hdfs://nn", "port": 8020, "user": "flink", "replication": 2}), "/"),
        ("hdfs", "cluster", {"client": "libhdfs"}, ("HadoopFileSystem", {"host": "hdfs://cluster", "port": 0}), "/"),
        ("hdfs", "", {"client": "libhdfs"}, ("HadoopFileSystem", {"host": "default", "port": 0}), "/"),
        ("viewfs", "c", {"client": "libhdfs"}, ("HadoopFileSystem", {"host": "viewfs://c", "port": 0}), "/"),
    ],
)  # fmt: skip
def test_arguments(
    scheme: str, authority: str, options: dict[str, Any], expected: Any, base: str, made: list[tuple[str, dict[str, Any]]]
) -> None:
    assert connect(scheme, authority, options, 7)[1] == base
    assert made == [expected]


def test_the_environment_of_s3(made: list[tuple[str, dict[str, Any]]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://one:1")
    connect("s3", "b", {}, 7)
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "http://two:2")
    connect("s3", "b", {}, 7)
    connect("s3", "b", {"endpoint_override": "three:3"}, 7)
    hosts = [(arguments["endpoint_override"], arguments.get("scheme")) for _, arguments in made]
    assert hosts == [("one:1", "http"), ("two:2", "http"), ("three:3", None)]


def test_a_region_that_cannot_be_asked_for(made: list[tuple[str, dict[str, Any]]], monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(bucket: str) -> str:
        raise OSError("no network")

    monkeypatch.setattr("pyarrow.fs.resolve_s3_region", fail)
    with pytest.raises(OSError, match="no network"):
        connect("s3", "b", {}, 7)
    monkeypatch.setenv("AWS_REGION", "eu-west-3")
    connect("s3", "b", {}, 7)
    assert made == [("S3FileSystem", {"region": "eu-west-3", **TIMES})]


@pytest.mark.parametrize("scheme", ["s3", "gs", "hdfs"])
def test_options_that_are_none(scheme: str) -> None:
    with pytest.raises(UsageError, match=r"a storage option is not valid: .*nonsense"):
        connect(scheme, "b", {"nonsense": 1, "region": "r"} if scheme == "s3" else {"nonsense": 1}, 7)


def test_a_number_that_is_none() -> None:
    with pytest.raises(UsageError, match="the storage option connect_timeout is 'soon'; expected a number"):
        connect("s3", "b", {"region": "r", "connect_timeout": "soon"}, 7)


def test_fsspec_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "fsspec", None)
    with pytest.raises(EnvironmentProblem, match=r"oss:// needs the package fsspec. Pip install 'stateextract\[stores\]'"):
        connect("oss", "b", {}, 7)


@pytest.mark.parametrize("authority", ["a" * 30_000, "b?" + "x" * 30_000])
def test_long_names_are_cut(authority: str) -> None:
    problem = problem_of("s3", authority)
    assert problem is not None
    assert len(str(problem)) < 250
    other = problem_of(authority.strip("?"), "b")
    assert other is not None
    assert len(str(other)) < 300


@pytest.mark.parametrize("scheme", STORES)
@pytest.mark.parametrize(
    "wrong", ["b?x=y", "b#x", "u:p@b", "b%41", "b\\c", "b c", "b\n", "\nb", "b\0", "bü", "b/c", "-b", ".b", "b@"]
)
def test_what_no_store_has(scheme: str, wrong: str) -> None:
    assert problem_of(scheme, wrong) is not None
    example = STORES[scheme].example.removeprefix(f"{scheme}://").removesuffix("/path")
    assert problem_of(scheme, example) is None
    assert problem_of(scheme, f"{example}?{wrong}") is not None


def test_within_gives_what_is_given_and_raised() -> None:
    assert within(5, lambda: 7, "s3://b") == 7

    def fail() -> None:
        raise TimeoutError("of the client itself")

    with pytest.raises(TimeoutError, match="of the client itself"):
        within(5, fail, "s3://b")
