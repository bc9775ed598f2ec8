"""Store: URIs, exact reads, listings and errors, on local files and on pyarrow's and fsspec's in-memory filesystems."""

from __future__ import annotations

import os
import pickle
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from stateextract.errors import MissingFileError, TruncatedError, UnreadableFileError
from stateextract.files.filesystem import Store, join, name_of, normalize, parent
from tests.stores import put_stores_into_memory


@pytest.mark.parametrize(
    ("uri", "expected"),
    [
        ("/a/b/", "/a/b"),
        ("/a//b/../c", "/a/c"),
        ("file:/data/x", "/data/x"),
        ("file:///data/x y%20", "/data/x y%20"),
        ("file://localhost/data/x", "/data/x"),
        ("s3a://bucket/k//x", "s3://bucket/k/x"),
        ("s3p://bucket/k", "s3://bucket/k"),
        ("s3n://bucket/", "s3://bucket/"),
        ("S3://bucket/K", "s3://bucket/K"),
        ("hdfs://nn:8020/flink/x#?", "hdfs://nn:8020/flink/x#?"),
        ("abfs://box@account.dfs.core.windows.net/k", "abfs://box@account.dfs.core.windows.net/k"),
    ],
)
def test_one_way_to_write_a_uri(uri: str, expected: str) -> None:
    assert normalize(uri) == expected
    assert normalize(expected) == expected


def test_parts_of_uris() -> None:
    assert normalize("x") == os.path.join(os.getcwd(), "x")
    assert (parent("s3a://b/k/x"), parent("s3://b/k"), parent("s3://b/")) == ("s3://b/k", "s3://b/", "s3://b/")
    assert (parent("/a/b"), parent("/a"), parent("/")) == ("/a", "/", "/")
    assert (name_of("s3://b/k/x"), name_of("/a/b/"), name_of("s3://b")) == ("x", "b", "")
    assert join("s3a://b/k/", "/x/", "y") == "s3://b/k/x/y"
    assert join("/", "x") == "/x"


def make_local(tmp_path: Path) -> tuple[Store, str]:
    return Store(), str(tmp_path)


def make_mock(tmp_path: Path) -> tuple[Store, str]:
    """pyarrow's in-memory filesystem, kept by the store as a real one would be."""
    store = Store()
    store._call(_address("hdfs:///"), lambda filesystem, _: filesystem.create_dir("base"))
    return store, "hdfs:///base"


def make_fsspec(tmp_path: Path) -> tuple[Store, str]:
    pytest.importorskip("fsspec").filesystem("memory").mkdir(f"/bucket/{tmp_path.name}")
    return Store(), f"oss://bucket/{tmp_path.name}"


def _address(uri: str):  # type: ignore[no-untyped-def]
    from stateextract.files.filesystem import split_uri

    return split_uri(uri)


def put(store: Store, uri: str, data: bytes) -> None:
    address = _address(uri)
    if address.scheme == "file":
        os.makedirs(os.path.dirname(address.path), exist_ok=True)
        Path(address.path).write_bytes(data)
        return

    def write(filesystem: Any, path: str) -> None:
        filesystem.create_dir(path.rpartition("/")[0])
        with filesystem.open_output_stream(path) as out:
            out.write(data)

    store._call(address, write)


@pytest.fixture(params=[make_local, make_mock, make_fsspec], ids=["local", "mock", "fsspec"])
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Store, str]:
    put_stores_into_memory(monkeypatch)
    result: tuple[Store, str] = request.param(tmp_path)
    return result


def test_reads_are_exact(place: tuple[Store, str], monkeypatch: pytest.MonkeyPatch) -> None:
    store, base = place
    uri = join(base, "sub", "f")
    put(store, uri, b"0123456789")
    assert store.read(uri) == b"0123456789"
    with store.open(uri) as file:
        assert file.size() == 10
        monkeypatch.setattr(type(file), "size", lambda _: 12)
        with pytest.raises(TruncatedError, match="ends 2 bytes too early") as caught:
            store.read(uri)
        assert (caught.value.file, caught.value.offset) == (uri, 10)
        assert (file.read_at(8, 100), file.read_at(10, 1), file.read_at(99, 1)) == (b"89", b"", b"")
        assert file.read_at(2, 2) == b"23"
        room = memoryview(bytearray(b"----"))
        assert (file.read_into(2, room), bytes(room)) == (4, b"2345")
        assert (file.read_into(8, room), bytes(room)) == (2, b"8945")
        assert (file.read_into(99, room), file.read_into(0, room[:0]), bytes(room)) == (0, 0, b"8945")


def test_listing_and_info(place: tuple[Store, str]) -> None:
    store, base = place
    put(store, join(base, "b"), b"xy")
    put(store, join(base, "a", "c"), b"")
    entries = [(entry.name, entry.uri, entry.is_dir) for entry in store.list(base)]
    assert entries == [("a", join(base, "a"), True), ("b", join(base, "b"), False)]
    assert store.list(join(base, "a"))[0].size == 0
    found = store.info(join(base, "b"))
    assert found is not None
    assert (found.name, found.uri, found.is_dir, found.size) == ("b", join(base, "b"), False, 2)
    assert store.size(join(base, "b")) == 2
    assert store.exists(join(base, "a"))
    assert store.info(join(base, "none")) is None
    assert not store.exists(join(base, "none", "x"))


def test_what_is_missing(place: tuple[Store, str]) -> None:
    store, base = place
    put(store, join(base, "f"), b"x")
    for attempt in (store.read, store.open, store.size, store.list):
        with pytest.raises(MissingFileError) as caught:
            attempt(join(base, "none"))
        assert caught.value.file == join(base, "none")


def test_what_cannot_be_read(tmp_path: Path) -> None:
    store = Store()
    with pytest.raises(UnreadableFileError, match="directory"):
        store.read(str(tmp_path))
    with pytest.raises(UnreadableFileError, match="nonsense:// is not the scheme of a supported store"):
        store.read("nonsense://host/x")
    for path in ("/x\0y", "/\ud800", "/" + "x" * 5000):
        with pytest.raises(MissingFileError):
            store.read(path)
    if os.getuid() != 0:
        secret = tmp_path / "secret"
        secret.write_bytes(b"x")
        secret.chmod(0)
        with pytest.raises(UnreadableFileError, match="permission denied"):
            store.read(str(secret))


def test_a_store_travels() -> None:
    store = Store({"s3": {"region": "eu-central-1"}}, allow=["s3a://other/x"], timeout=7)
    copy = pickle.loads(pickle.dumps(store.confined("s3://bucket/job/_metadata", "/copy")))
    assert (copy.options, copy.timeout, copy._connections) == ({"s3": {"region": "eu-central-1"}}, 7, {})
    for uri in ("s3://bucket/y", "s3://other/x/y", "/copy/y"):
        copy.check(uri)
    for uri in ("s3://other/y", "/y"):
        with pytest.raises(UnreadableFileError):
            copy.check(uri)


def test_filesystems_are_opened_once() -> None:
    store = Store({"s3": {"region": "eu-central-1", "endpoint_override": "localhost:1"}})
    first, path = store._call(_address("s3a://bucket/a/b"), lambda *found: found)
    second, _ = store.confined("s3://bucket")._call(_address("s3://bucket/c"), lambda *found: found)
    assert first is second
    assert path == "bucket/a/b"
    assert first.region == "eu-central-1"


def test_many_threads_read_one_file(tmp_path: Path) -> None:
    data = os.urandom(100_000)
    (tmp_path / "f").write_bytes(data)
    with Store().open(str(tmp_path / "f")) as file, ThreadPoolExecutor(8) as pool:
        parts = list(pool.map(lambda at: file.read_at(at, 100), range(0, 100_000, 100)))
    assert b"".join(parts) == data


def test_an_empty_path_is_not_the_working_directory() -> None:
    """A shell makes it of a variable that is not set."""
    with pytest.raises(UnreadableFileError, match=r"^the path is empty\.$"):
        Store().info("")
