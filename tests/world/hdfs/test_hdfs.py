"""HDFS by hdfs-native and by WebHDFS, against Hadoop's MiniDFSCluster."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyarrow import fs

from stateextract.files.connect import connect
from tests.world.hdfs.mini_cluster import MiniCluster, mini_cluster

pytestmark = pytest.mark.world

BLOCK = 1 << 20


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MiniCluster]:
    with mini_cluster(tmp_path_factory.mktemp("cluster")) as found:
        yield found


@pytest.fixture(params=["hdfs", "webhdfs"])
def files(request: pytest.FixtureRequest, cluster: MiniCluster) -> fs.FileSystem:
    authority = cluster.address if request.param == "hdfs" else cluster.web
    return connect(request.param, authority, {}, 30)[0]


@pytest.mark.smoke
def test_the_file_system(files: fs.FileSystem) -> None:
    """What pyarrow's file systems do, with names as they are."""
    root = "/root é%20#?&=x"
    files.create_dir(f"{root}/a/b")
    data = bytes(range(256)) * (3 * BLOCK // 256) + b"end"
    with files.open_output_stream(f"{root}/a/f") as stream:
        for at in range(0, len(data), 777_777):
            stream.write(data[at : at + 777_777])
        assert stream.tell() == len(data)
    files.open_output_stream(f"{root}/a/empty").close()
    with files.open_input_file(f"{root}/a/f") as file:
        assert file.size() == len(data)
        assert file.read_at(10, BLOCK - 5) == data[BLOCK - 5 : BLOCK + 5]
        assert file.read_at(100, len(data) - 3) == b"end"
        assert file.read_at(5, len(data)) == b""
        assert file.read() == data
    info = files.get_file_info(f"{root}/a/f")
    assert (info.type, info.size, info.base_name) == (fs.FileType.File, len(data), "f")
    assert files.get_file_info(f"{root}/none").type == fs.FileType.NotFound
    found = files.get_file_info(fs.FileSelector(root, recursive=True))
    assert {(one.path, one.type.name, one.size) for one in found} == {
        (f"{root}/a", "Directory", None), (f"{root}/a/b", "Directory", None), (f"{root}/a/f", "File", len(data)),
        (f"{root}/a/empty", "File", 0),
    }  # fmt: skip
    assert files.get_file_info(fs.FileSelector(f"{root}/none", allow_not_found=True)) == []
    files.move(f"{root}/a", f"{root}/c")
    files.delete_file(f"{root}/c/f")
    for fail, error in (
        (lambda: files.delete_file(f"{root}/c/f"), FileNotFoundError),
        (lambda: files.open_input_file(f"{root}/c/f"), FileNotFoundError),
        (lambda: files.open_input_file(f"{root}/c"), IsADirectoryError),
        (lambda: files.get_file_info(fs.FileSelector(f"{root}/none")), FileNotFoundError),
        (lambda: files.get_file_info(fs.FileSelector(f"{root}/c/empty")), NotADirectoryError),
        (lambda: files.move(f"{root}/none", f"{root}/x"), OSError),
        (lambda: files.delete_file(f"{root}/c"), OSError),
    ):
        with pytest.raises(error):
            fail()
    files.delete_dir(root)
    assert files.get_file_info(root).type == fs.FileType.NotFound
