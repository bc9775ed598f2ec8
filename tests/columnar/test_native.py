"""The kernel's machine code without Numba: the same kernel, and never worse than none."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from stateextract.columnar import kernel, native
from stateextract.columnar.decoder import KernelDecoder, make_decoder
from stateextract.columnar.layout import List, Map, Nullable, Number, Text, struct
from stateextract.columnar.policy import Policy
from stateextract.errors import FormatError
from stateextract.files.block import Block

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="elsewhere Numba loads the kernel")

LONG = Number(pa.int64())
LAYOUT = struct(id=LONG, name=Text(), tags=List(Text()), counts=Map(Text(), Nullable(LONG)))
ENTRY = bytes.fromhex("000000000000002a" "03 61 cd 02" "00000002 02 62 00" "00000001 02 63 00 0000000000000007")  # fmt: skip
ROW = {"id": 42, "name": "a\u014d", "tags": ["b", None], "counts": [("c", 7)]}


@pytest.fixture
def stored() -> Any:
    """The kernel out of its file, which is made if this machine has none."""
    path = native._path()
    assert path is not None
    if not path.is_file():
        native._keep(kernel, path)
    found = native._read(path)
    assert found is not None
    return found


def with_kernel(which: Any) -> KernelDecoder:
    decoder = make_decoder(LAYOUT, Policy())
    assert isinstance(decoder, KernelDecoder)
    decoder.kernel = which
    return decoder


def test_it_is_the_same_kernel(stored: Any) -> None:
    names = {name for name in vars(kernel) if name.isupper() and not name.startswith("_")}
    assert {name: getattr(stored, name) for name in names} == {name: getattr(kernel, name) for name in names}
    data = ENTRY * 3000
    decoder = with_kernel(stored)
    progress = decoder.decode(Block.of(data), 0, len(data), 10_000)
    # As many rows as the first arena has room for.
    other = with_kernel(kernel)
    assert progress == other.decode(Block.of(data), 0, len(data), 10_000)
    array = decoder.flush()
    assert array.equals(other.flush())
    assert array[-1].as_py() == ROW


def test_it_finds_the_same_errors(stored: Any) -> None:
    data = ENTRY[:12] + b"\xff\xff\xff\xff" + ENTRY[16:]
    messages = set()
    for which in (stored, kernel):
        with pytest.raises(FormatError) as caught:
            with_kernel(which).decode(Block.of(data), 0, len(data), 1)
        messages.add(str(caught.value))
    assert len(messages) == 1


def test_numba_is_not_imported(stored: Any) -> None:
    code = "import sys; from stateextract.job.task import compile_once; compile_once(); print('numba' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "False\n"


def test_a_damaged_file_is_not_used(stored: Any, tmp_path: Path) -> None:
    path = native._path()
    assert path is not None
    head, _, code = path.read_bytes().partition(b"\n")
    for content in (b"", head, head + b"\n" + code[:-1], head[:100] + b"\n" + code, b"{}\n" + code):
        broken = tmp_path / "kernel.o"
        broken.write_bytes(content)
        assert native._read(broken) is None


def test_code_that_does_not_work_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process tries it first, and may end by it."""
    content = native._content(kernel)
    head, _, code = content.partition(b"\n")
    nameless = json.dumps({**json.loads(head), "function": "nothing"}).encode()
    for bad in (content[:-1], nameless + b"\n" + code):
        monkeypatch.setattr(native, "_content", lambda _, bad=bad: bad)
        native._keep(kernel, tmp_path / "kernel.o")
        assert list(tmp_path.iterdir()) == []
    monkeypatch.setattr(native, "_content", lambda _: content)
    native._keep(kernel, tmp_path / "kernel.o")
    assert (tmp_path / "kernel.o").read_bytes() == content


def test_where_nothing_can_be_kept_numba_loads_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "_loaded", [])
    monkeypatch.setattr(native, "cache_folder", lambda: None)
    monkeypatch.delitem(sys.modules, "stateextract.columnar.kernel")
    assert native.load_kernel() is kernel
