"""File systems of stores, made from a scheme and an authority.

The list of schemes is closed: object stores and HDFS. An authority has the form that its store has (a bucket, a container and
an account, a host and a port), and each client is made from typed arguments, never from a URI's text, so that no path can
choose an endpoint or an option. The modules of clients are imported when a client is made: most snapshots are local. May
import: errors, client_process, google_storage, hadoop, store_files. Knows nothing of snapshots.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, wait
from datetime import timedelta
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from stateextract.errors import EnvironmentProblem, StateExtractError, UnreadableFileError, UsageError
from stateextract.files.store_files import no_answer

if TYPE_CHECKING:
    from stateextract.files.client_process import ClientProcess
    from stateextract.files.hadoop import Limit

T = TypeVar("T")

TIMEOUT = 60
"""Seconds that a store has for one answer."""

_SHOWN = 100  # letters of a wrong name

_BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,254}")
_BUCKET_AT_NAMESPACE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,254}(@[A-Za-z0-9_-]{1,255})?")
_AZURE = re.compile(
    r"(?P<container>\$?[a-z0-9][a-z0-9-]{0,62})@(?P<account>[a-z0-9]{3,24})\.(dfs|blob)\.(?P<domain>[a-z0-9.-]{1,200})"
)
_AZURE_DOMAINS = ("core.windows.net", "core.usgovcloudapi.net", "core.chinacloudapi.cn", "fabric.microsoft.com")
"""Whose hosts are Azure's own: the public cloud, those of the United States' government and of China, OneLake."""
_AZURE_CREDENTIALS = frozenset({"account_key", "sas_token", "tenant_id", "client_id", "client_secret"})
"""Arguments of pyarrow's client."""
_HOST = re.compile(r"((?P<host>[A-Za-z0-9][A-Za-z0-9._-]{0,254})(:(?P<port>[0-9]{1,5}))?)?")
_HOST_AND_PORT = re.compile(r"(?P<host>[A-Za-z0-9][A-Za-z0-9._-]{0,254}):(?P<port>[0-9]{1,5})")
_NUMBERS: Mapping[str, type] = {
    "connect_timeout": float, "request_timeout": float, "replication": int, "buffer_size": int, "default_block_size": int,
}  # fmt: skip
"""Options of clients that are numbers."""


def connect(scheme: str, authority: str, options: Mapping[str, Any], timeout: int = TIMEOUT) -> tuple[Any, str]:
    """The file system of a store, and the path of its root there.

    :param options: further arguments of the client, by the names of pyarrow's or fsspec's arguments.
    :param timeout: seconds that the store has for one answer.
    :raises UnreadableFileError: for a scheme or an authority that is not of the closed list, or a client that cannot be made.
    """
    problem = problem_of(scheme, authority)
    if problem is not None:
        raise problem
    return STORES[scheme].make(scheme, authority, dict(options), timeout)


def problem_of(scheme: str, authority: str) -> UnreadableFileError | None:
    """Why there is no such store; ``None`` where there may be one."""
    store = STORES.get(scheme)
    if store is None:
        shown = scheme if len(scheme) <= _SHOWN else scheme[:_SHOWN] + "…"
        return UnreadableFileError(
            f"{shown}:// is not the scheme of a supported store", expected=f"a local path or one of {', '.join(STORES)}"
        )
    if store.form.fullmatch(authority) is None:
        shown = authority if len(authority) <= _SHOWN else authority[:_SHOWN] + "…"
        return UnreadableFileError(f"{shown!r} is not a valid authority for {scheme}://", expected=store.example)
    return None


def within(seconds: int, work: Callable[[], T], uri: str | None = None) -> T:
    """What ``work`` gives, if that takes no longer.

    A client may wait for ever in a call that cannot be interrupted. The call is then left to a thread that does not keep the
    process from ending.

    :param uri: of the file that the error names; ``None``: the caller adds it.
    :raises UnreadableFileError: where it takes longer.
    """
    answer: Future[T] = Future()

    def run() -> None:
        try:
            answer.set_result(work())
        except BaseException as error:
            answer.set_exception(error)

    try:
        threading.Thread(target=run, name="store", daemon=True).start()
    except RuntimeError:  # no more threads, or Python is about to end
        return work()
    if not wait([answer], seconds).done:
        raise no_answer(seconds).at(file=uri)
    return answer.result()


# -- clients


def _s3(scheme: str, bucket: str, options: dict[str, Any], timeout: int) -> tuple[Any, str]:
    from pyarrow import fs

    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    if not _set_endpoint(options, endpoint) and "region" not in options:
        options["region"] = _region(bucket)
    if _is_set("AWS_SKIP_SIGNATURE") and not options.keys() & {"access_key", "role_arn"}:
        options.setdefault("anonymous", True)
    if _is_set("AWS_VIRTUAL_HOSTED_STYLE_REQUEST"):
        options.setdefault("force_virtual_addressing", True)
    options = {"connect_timeout": timeout, "request_timeout": timeout} | options
    return _made(fs.S3FileSystem, options), bucket


def _is_set(variable: str) -> bool:
    return os.environ.get(variable, "").lower() in ("1", "true")


def _set_endpoint(options: dict[str, Any], default: str | None) -> bool:
    """Take the endpoint of the options, or else the default, apart into host and protocol; whether there is one."""
    endpoint = options.pop("endpoint_override", None) or default
    if not endpoint:
        return False
    protocol, sign, host = str(endpoint).rpartition("://")
    options["endpoint_override"] = host.rstrip("/")
    if sign:
        options.setdefault("scheme", protocol)
    return True


def _region(bucket: str) -> str:
    from pyarrow import fs

    try:
        return str(fs.resolve_s3_region(bucket))
    except OSError:
        # Behind a private endpoint the bucket's region cannot be asked for.
        region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
        if region:
            return region
        raise


def _gs(scheme: str, bucket: str, options: dict[str, Any], timeout: int) -> tuple[Any, str]:
    emulator = os.environ.get("STORAGE_EMULATOR_HOST")
    if emulator and not options.get("endpoint_override"):
        options = {"anonymous": True} | options  # Google's own clients send an emulator no credentials, too
        emulator = emulator if "://" in emulator else f"http://{emulator}"
    _set_endpoint(options, emulator)
    if _is_set("GOOGLE_SKIP_SIGNATURE") and "access_token" not in options:
        options.setdefault("anonymous", True)
    options = {"retry_limit_seconds": timeout} | options
    options["retry_time_limit"] = timedelta(seconds=float(options.pop("retry_limit_seconds")))
    if "location" in options:
        options["default_bucket_location"] = options.pop("location")
    from stateextract.files.google_storage import GoogleStorage

    client = _client_process("GcsFileSystem", options, timeout, "gcs", _google_ended)
    with _valid_options():
        client.make()
    return GoogleStorage(client), bucket


def _google_ended(reason: str) -> StateExtractError:
    return UnreadableFileError(f"Google's client ended: {without_queries(reason)}", advice=_GOOGLE_ADVICE)


def _azure(scheme: str, authority: str, options: dict[str, Any], timeout: int) -> tuple[Any, str]:
    match = _AZURE.fullmatch(authority)
    assert match is not None
    arguments = _azure_place(match["account"], match["domain"], options)
    client = _client_process("AzureFileSystem", arguments, timeout, "abfs", _azure_ended)
    # Makes the client, which asks for its credentials. They need not give access to the properties of the container.
    with _valid_options(), contextlib.suppress(OSError):
        client.get_file_info(match["container"])
    return client, match["container"]


def _azure_place(account: str, domain: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of the client: where it sends its requests, and which credentials.

    Those of the environment belong to one account of one domain. Without any, the client sends a token of the user's identity,
    which is good for every account that the identity may use. So both go only to Azure and to the endpoint of the environment.
    """
    has_credentials = bool(options.keys() & _AZURE_CREDENTIALS)
    endpoint = _azure_endpoint(account) if os.environ.get("AZURE_STORAGE_ACCOUNT") == account else {}
    known = domain in _AZURE_DOMAINS or endpoint.get("blob_storage_authority", "").partition(":")[0] == f".blob.{domain}"
    places = {"blob_storage_authority": f".blob.{domain}", "dfs_storage_authority": f".dfs.{domain}"}
    if known:
        places |= endpoint
    if not (known or has_credentials or places.keys() <= options.keys()):
        raise UnreadableFileError(
            f"{domain} is not a domain of Azure, so the credentials of the environment are not sent to it",
            expected=f"one of {', '.join(_AZURE_DOMAINS)}",
            advice=f"if {account} is your account there, set AZURE_STORAGE_ACCOUNT={account} and "
            f"AZURE_STORAGE_SERVICE_ENDPOINT=https://{account}.blob.{domain}",
        )
    secret = {} if has_credentials or not known else _azure_secret(account)
    return {"account_name": account, **places, **secret, **options}


def _azure_endpoint(account: str) -> dict[str, Any]:
    """Arguments by ``AZURE_STORAGE_SERVICE_ENDPOINT``: an account's host, or a server with the account in its paths."""
    protocol, sign, place = os.environ.get("AZURE_STORAGE_SERVICE_ENDPOINT", "").rpartition("://")
    if not sign:
        return {}
    blob = dfs = place.partition("/")[0]
    host = re.fullmatch(rf"{account}\.(?:blob|dfs)(\..+)", blob)
    if host is not None:
        blob, dfs = f".blob{host[1]}", f".dfs{host[1]}"  # pyarrow puts the account before a name that begins with a dot
    return {
        "blob_storage_scheme": protocol, "dfs_storage_scheme": protocol,
        "blob_storage_authority": blob, "dfs_storage_authority": dfs,
    }  # fmt: skip


def _azure_secret(account: str) -> dict[str, Any]:
    """The key or the signature of the environment, if it is this account's."""
    if os.environ.get("AZURE_STORAGE_ACCOUNT") != account:
        return {}
    key, token = os.environ.get("AZURE_STORAGE_KEY"), os.environ.get("AZURE_STORAGE_SAS_TOKEN")
    if key:
        return {"account_key": key}
    return {"sas_token": token} if token else {}


def _azure_ended(reason: str) -> StateExtractError:
    return UnreadableFileError(
        f"Azure's client ended, which it does without valid credentials: {without_queries(reason)}", advice=_AZURE_ADVICE
    )


def _hadoop(scheme: str, authority: str, options: dict[str, Any], timeout: int) -> tuple[Any, str]:
    """hdfs-native, or Hadoop's own client where only that is there."""
    client = options.pop("client", None)
    if client not in (None, "hdfs-native", "libhdfs"):
        raise UsageError(f"the storage option client is {client!r}", expected="hdfs-native or libhdfs")
    if client == "libhdfs" or (client is None and importlib.util.find_spec("hdfs_native") is None):
        return _libhdfs(scheme, authority, options, timeout)
    try:
        from hdfs_native import Client
    except ImportError:
        raise EnvironmentProblem(
            f"{scheme}:// needs the package hdfs-native", advice="pip install 'stateextract[hdfs]'"
        ) from None
    uri = f"{scheme}://{authority}" if authority else None
    config = {name: str(options.pop(name)) for name in list(options) if "." in name}
    from stateextract.files.hadoop import NativeFileSystem

    return NativeFileSystem(lambda: Client(uri, config, **options), _limit(timeout)), "/"


def _limit(timeout: int) -> Limit:
    # Without a file: only the caller knows which one the client reads or writes.
    return lambda work: within(timeout, work)


def _libhdfs(scheme: str, authority: str, options: dict[str, Any], timeout: int) -> tuple[Any, str]:
    match = _HOST.fullmatch(authority)
    assert match is not None
    host = f"{scheme}://{match['host']}" if match["host"] else "default"
    arguments = {"host": host, "port": int(match["port"] or 0)} | options
    client = _client_process("HadoopFileSystem", arguments, timeout, "hdfs", _hadoop_ended)
    try:
        with _valid_options():
            client.make()
    except OSError as error:
        raise _hadoop_ended(str(error).splitlines()[0]) from None
    return client, "/"


def _hadoop_ended(reason: str) -> StateExtractError:
    return UnreadableFileError(
        f"Hadoop's client cannot be used: {reason}",
        advice="pip install 'stateextract[hdfs]', or set JAVA_HOME, HADOOP_HOME and CLASSPATH=$(hadoop classpath --glob)",
    )


def _webhdfs(scheme: str, authority: str, options: dict[str, Any], timeout: int) -> tuple[Any, str]:
    try:
        from fsspec.implementations.webhdfs import WebHDFS
    except ImportError:
        raise EnvironmentProblem(
            f"{scheme}:// needs the packages fsspec and requests", advice="pip install 'stateextract[hdfs]'"
        ) from None
    match = _HOST_AND_PORT.fullmatch(authority)
    assert match is not None
    arguments = {"use_https": scheme == "swebhdfs", "skip_instance_cache": True} | _values(options)
    if not any(name in arguments for name in ("user", "token", "kerberos")):
        import getpass

        arguments["user"] = os.environ.get("HADOOP_USER_NAME") or getpass.getuser()
    client = WebHDFS(match["host"], int(match["port"]), **arguments)
    from stateextract.files.hadoop import WebFileSystem

    return WebFileSystem(client, _limit(timeout)), "/"


def _fsspec(scheme: str, authority: str, options: dict[str, Any], timeout: int) -> tuple[Any, str]:
    try:
        import fsspec
    except ImportError:
        raise EnvironmentProblem(
            f"{scheme}:// needs the package fsspec", advice="pip install 'stateextract[stores]'"
        ) from None
    from pyarrow import fs

    # Otherwise, the packages read megabytes ahead of each range.
    filesystem = fsspec.filesystem(scheme, **{"default_cache_type": "none", **options})
    base = str(filesystem._strip_protocol(f"{scheme}://{authority}/"))
    return fs.PyFileSystem(fs.FSSpecHandler(filesystem)), base


def _client_process(
    kind: str, arguments: Mapping[str, Any], timeout: int, scheme: str, ended: Callable[[str], StateExtractError]
) -> ClientProcess:
    from stateextract.files.client_process import ClientProcess

    return ClientProcess(kind, _values(arguments), timeout, scheme, ended)


def _made(make: Callable[..., Any], arguments: Mapping[str, Any]) -> Any:
    with _valid_options():
        return make(**_values(arguments))


def _values(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Options may be text, as in the query of a URI."""
    return {name: _typed(name, value) if isinstance(value, str) else value for name, value in arguments.items()}


@contextlib.contextmanager
def _valid_options() -> Iterator[None]:
    try:
        yield
    except TypeError as error:
        raise UsageError(f"a storage option is not valid: {error}") from None


def _typed(name: str, text: str) -> Any:
    if text in ("true", "false"):
        return text == "true"
    try:
        return _NUMBERS[name](text) if name in _NUMBERS else text
    except ValueError:
        raise UsageError(f"the storage option {name} is {text!r}", expected="a number") from None


class _Kind(NamedTuple):
    """:param form: of the authority; :param example: of a URI; :param advice: what to do if the store refuses access."""

    form: re.Pattern[str]
    example: str
    make: Callable[[str, str, dict[str, Any], int], tuple[Any, str]]
    advice: str


_AWS_ADVICE = (
    "set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, AWS_PROFILE, or a role of the machine, with rights to list and read the "
    "bucket, and to write and delete in the output's"
)
_GOOGLE_ADVICE = (
    "set GOOGLE_APPLICATION_CREDENTIALS to the file of an account with rights to list and read the bucket, and to write and "
    "delete in the output's"
)
_AZURE_ADVICE = (
    "set AZURE_TENANT_ID, AZURE_CLIENT_ID and AZURE_CLIENT_SECRET, log in with `az login`, use a managed identity, or set "
    "AZURE_STORAGE_ACCOUNT and one of AZURE_STORAGE_KEY and AZURE_STORAGE_SAS_TOKEN"
)
_HADOOP_ADVICE = "set HADOOP_USER_NAME to a user with the right to read the file, or log in with `kinit`"
_FSSPEC_ADVICE = "set the credentials as the fsspec package of the store documents"
_AZURE_EXAMPLE = "container@account.dfs.core.windows.net/path"
_BLOB_EXAMPLE = "container@account.blob.core.windows.net/path"

STORES: dict[str, _Kind] = {
    "s3": _Kind(_BUCKET, "s3://bucket/path", _s3, _AWS_ADVICE),
    "gs": _Kind(_BUCKET, "gs://bucket/path", _gs, _GOOGLE_ADVICE),
    "abfs": _Kind(_AZURE, f"abfs://{_AZURE_EXAMPLE}", _azure, _AZURE_ADVICE),
    "abfss": _Kind(_AZURE, f"abfss://{_AZURE_EXAMPLE}", _azure, _AZURE_ADVICE),
    "wasb": _Kind(_AZURE, f"wasb://{_BLOB_EXAMPLE}", _azure, _AZURE_ADVICE),
    "wasbs": _Kind(_AZURE, f"wasbs://{_BLOB_EXAMPLE}", _azure, _AZURE_ADVICE),
    "hdfs": _Kind(_HOST, "hdfs://namenode:8020/path", _hadoop, _HADOOP_ADVICE),
    "viewfs": _Kind(_HOST, "viewfs://cluster/path", _hadoop, _HADOOP_ADVICE),
    "webhdfs": _Kind(_HOST_AND_PORT, "webhdfs://namenode:9870/path", _webhdfs, _HADOOP_ADVICE),
    "swebhdfs": _Kind(_HOST_AND_PORT, "swebhdfs://namenode:9871/path", _webhdfs, _HADOOP_ADVICE),
    "oss": _Kind(_BUCKET, "oss://bucket/path", _fsspec, _FSSPEC_ADVICE),
    "cos": _Kind(_BUCKET, "cos://bucket/path", _fsspec, _FSSPEC_ADVICE),
    "cosn": _Kind(_BUCKET, "cosn://bucket/path", _fsspec, _FSSPEC_ADVICE),
    "obs": _Kind(_BUCKET, "obs://bucket/path", _fsspec, _FSSPEC_ADVICE),
    "oci": _Kind(_BUCKET_AT_NAMESPACE, "oci://bucket@namespace/path", _fsspec, _FSSPEC_ADVICE),
    "tos": _Kind(_BUCKET, "tos://bucket/path", _fsspec, _FSSPEC_ADVICE),
}
"""All schemes of stores; the last ones need fsspec and its package for the store."""


# -- what clients say


_DENIED = re.compile(
    "ACCESS_DENIED|AccessDenied|INVALID_ACCESS_KEY_ID|InvalidAccessKeyId|SIGNATURE_DOES_NOT_MATCH|SignatureDoesNotMatch|"
    "INVALID_CLIENT_TOKEN_ID|EXPIRED_TOKEN|ExpiredToken|PERMISSION_DENIED|UNAUTHENTICATED|AccessControlException|"
    "Authorization[A-Za-z]*(Failure|Mismatch)|AuthenticationFailed|NoAuthenticationInformation|"
    r"(?i:http_status_code[=: ]*|http status |status code |http response code: )40[13]\b|\] 40[13] "
)
_QUERY = re.compile(r"(\b[a-z][a-z0-9+.-]*://[^\s'\"?]*)\?[^\s'\"]*", re.IGNORECASE)


def without_queries(text: str) -> str:
    """The text without the queries of its URLs: Azure's client shows its token there."""
    return _QUERY.sub(r"\1", text)


def access_error(error: BaseException, scheme: str) -> tuple[str, str] | None:
    """What to say and to advise if a store has refused access; ``None`` for other errors."""
    reason = " ".join(without_queries(str(error)).split())
    if scheme not in STORES or not (isinstance(error, PermissionError) or _DENIED.search(reason)):
        return None
    return f"the store refused access: {reason}", STORES[scheme].advice
