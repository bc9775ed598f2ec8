"""Clients are made from typed arguments: what of a URI, of the options and of the environment each one is given."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, ClassVar

import pytest

from stateextract.errors import EnvironmentProblem, UnreadableFileError, UsageError
from stateextract.files.connect import STORES, access_error, connect, problem_of, within, without_queries

VARIABLES = (
    "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_SKIP_SIGNATURE",
    "AWS_VIRTUAL_HOSTED_STYLE_REQUEST", "STORAGE_EMULATOR_HOST", "GOOGLE_SKIP_SIGNATURE", "AZURE_STORAGE_ACCOUNT",
    "AZURE_STORAGE_KEY", "AZURE_STORAGE_SAS_TOKEN", "AZURE_STORAGE_SERVICE_ENDPOINT",
)  # fmt: skip


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
    monkeypatch.setattr("stateextract.files.client_process.ClientProcess", HelperClient)
    for name in VARIABLES:
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
        ("wasbs", "box@acc.blob.core.windows.net", {},
         ("AzureFileSystem", {"account_name": "acc", "dfs_storage_authority": ".dfs.core.windows.net",
                              "blob_storage_authority": ".blob.core.windows.net"}), "box"),
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


def test_anonymous_and_virtual_hosts(made: list[tuple[str, dict[str, Any]]], monkeypatch: pytest.MonkeyPatch) -> None:
    """By the variables that Rust's object_store has; not where Python names credentials."""
    for name in ("AWS_SKIP_SIGNATURE", "AWS_VIRTUAL_HOSTED_STYLE_REQUEST", "GOOGLE_SKIP_SIGNATURE"):
        monkeypatch.setenv(name, "true")
    connect("s3", "b", {"region": "r"}, 7)
    connect("s3", "b", {"region": "r", "access_key": "a", "secret_key": "s"}, 7)
    connect("gs", "b", {}, 7)
    connect("gs", "b", {"access_token": "t"}, 7)
    assert [arguments.get("anonymous") for _, arguments in made] == [True, None, True, None]
    assert [arguments.get("force_virtual_addressing") for _, arguments in made] == [True, True, None, None]


def test_the_emulator_of_google(made: list[tuple[str, dict[str, Any]]], monkeypatch: pytest.MonkeyPatch) -> None:
    time_limit = {"retry_time_limit": timedelta(seconds=7)}
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", "localhost:4443")
    connect("gs", "b", {}, 7)
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", "https://h:1/")
    connect("gs", "b", {}, 7)
    connect("gs", "b", {"endpoint_override": "other:2"}, 7)
    assert [arguments for _, arguments in made] == [
        {"endpoint_override": "localhost:4443", "scheme": "http", "anonymous": True, **time_limit},
        {"endpoint_override": "h:1", "scheme": "https", "anonymous": True, **time_limit},
        {"endpoint_override": "other:2", **time_limit},
    ]


def test_keys_of_azure_are_for_one_account(made: list[tuple[str, dict[str, Any]]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT", "mine")
    monkeypatch.setenv("AZURE_STORAGE_SAS_TOKEN", "sig=x")
    connect("abfss", "box@mine.dfs.core.windows.net", {}, 7)
    monkeypatch.setenv("AZURE_STORAGE_KEY", "k")
    connect("wasb", "box@mine.blob.core.windows.net", {}, 7)
    connect("abfs", "box@mine.dfs.core.windows.net", {"sas_token": "other"}, 7)
    connect("abfs", "box@yours.dfs.core.windows.net", {}, 7)
    monkeypatch.setenv("AZURE_STORAGE_SERVICE_ENDPOINT", "http://127.0.0.1:10000/mine")
    connect("abfs", "box@mine.dfs.core.windows.net", {}, 7)
    connect("abfs", "box@yours.dfs.core.windows.net", {}, 7)
    secrets = [(one.get("account_key"), one.get("sas_token")) for _, one in made]
    assert secrets == [(None, "sig=x"), ("k", None), (None, "other"), (None, None), ("k", None), (None, None)]
    places = [(one.get("blob_storage_scheme"), one["blob_storage_authority"]) for _, one in made[4:]]
    assert places == [("http", "127.0.0.1:10000"), (None, ".blob.core.windows.net")]
    assert [one["dfs_storage_authority"] for _, one in made[4:]] == ["127.0.0.1:10000", ".dfs.core.windows.net"]


@pytest.mark.parametrize("variables", [
    {"AZURE_STORAGE_KEY": "k"}, {"AZURE_STORAGE_SAS_TOKEN": "sig=x"}, {"AZURE_CLIENT_SECRET": "s"}, {},
    {"AZURE_STORAGE_SERVICE_ENDPOINT": "http://127.0.0.1:10000/mine"},
    {"AZURE_STORAGE_SERVICE_ENDPOINT": "https://mine.blob.a.example"},
    {"AZURE_STORAGE_SERVICE_ENDPOINT": "https://mine.blob.core.windows.net.b.example"},
])  # fmt: skip
@pytest.mark.parametrize("domain", ["b.example", "core.windows.net.example", "xcore.windows.net", "a.core.windows.net"])
def test_credentials_of_the_environment_go_to_no_other_domain(
    variables: dict[str, str], domain: str, made: list[tuple[str, dict[str, Any]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even the identity's token, which every host gets that the client calls without other credentials."""
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT", "mine")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(UnreadableFileError) as caught:
        connect("abfss", f"box@mine.dfs.{domain}", {}, 7)
    text = str(caught.value)
    assert f"{domain} is not a domain of Azure, so the credentials of the environment are not sent to it" in text
    assert f"AZURE_STORAGE_SERVICE_ENDPOINT=https://mine.blob.{domain}" in text
    assert made == []


def test_a_domain_of_azure_that_the_user_names(
    made: list[tuple[str, dict[str, Any]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the endpoint of the environment, or with credentials of its own."""
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT", "mine")
    monkeypatch.setenv("AZURE_STORAGE_KEY", "k")
    connect("abfss", "box@mine.dfs.a.example", {"sas_token": "sig=y"}, 7)
    connect("abfss", "box@mine.dfs.a.example", {"blob_storage_authority": "b:1", "dfs_storage_authority": "d:2"}, 7)
    monkeypatch.setenv("AZURE_STORAGE_SERVICE_ENDPOINT", "https://mine.blob.a.example:8443/")
    connect("abfss", "box@mine.dfs.a.example", {}, 7)
    monkeypatch.setenv("AZURE_STORAGE_SERVICE_ENDPOINT", "https://mine.blob.core.windows.net/")
    connect("abfss", "box@mine.dfs.core.windows.net", {}, 7)
    names = ("blob_storage_authority", "dfs_storage_authority", "account_key", "sas_token", "blob_storage_scheme")
    assert [tuple(one.get(name) for name in names) for _, one in made] == [
        (".blob.a.example", ".dfs.a.example", None, "sig=y", None),
        ("b:1", "d:2", None, None, None),
        (".blob.a.example:8443", ".dfs.a.example:8443", "k", None, "https"),
        (".blob.core.windows.net", ".dfs.core.windows.net", "k", None, "https"),
    ]


# What the clients said to wrong credentials.
DENIED = [
    ("s3", OSError("When reading information for key 'x' in bucket 'b': AWS Error ACCESS_DENIED during HeadObject operation: "
                   "No response body."), "AWS_PROFILE"),
    ("gs", OSError("google::cloud::Status(PERMISSION_DENIED: Permanent error error_info={metadata={http_status_code=403}})"),
     "GOOGLE_APPLICATION_CREDENTIALS"),
    ("abfss", OSError("GetProperties failed for 'https://a.blob.core.windows.net/c/x?sig=SECRET&sv=2022'. Azure Error: "
                      "[AuthorizationFailure] 403 Server failed to authenticate the request."), "AZURE_STORAGE_SAS_TOKEN"),
    ("hdfs", PermissionError("Permission denied: user=nobody"), "HADOOP_USER_NAME"),
]  # fmt: skip


@pytest.mark.parametrize(("scheme", "error", "advice"), DENIED, ids=lambda value: value if isinstance(value, str) else "")
def test_access_that_is_refused(scheme: str, error: OSError, advice: str) -> None:
    found = access_error(error, scheme)
    assert found is not None
    assert found[0].startswith("the store refused access: ")
    assert "SECRET" not in found[0]
    assert advice in found[1]
    assert access_error(OSError("HTTP status 404"), scheme) is None
    assert access_error(error, "file") is None


def test_queries_are_not_shown() -> None:
    text = "a 'https://h/p?sig=S&x=1' and http://h?t=2 b? c"
    assert without_queries(text) == "a 'https://h/p' and http://h b? c"


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
