"""Machine code is kept, loaded without Numba, and only trusted where nobody else can have put it."""

from __future__ import annotations

import ast
import contextlib
import os
import pkgutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from stateextract.columnar.compiled import native
from stateextract.columnar.compiled.compile import Kernel, at, compile_kernel, load_u8, put
from stateextract.errors import __file__ as package_file

PACKAGE = Path(package_file).parent


def _twice(a: int) -> int:
    return 2 * a


twice = compile_kernel(_twice)


def _calls(a: int, b: int) -> int:
    return twice(a) + twice(b)  # type: ignore[no-any-return]


def _less(a: int, b: int) -> bool:
    return a < b


def _stores(address: int) -> None:
    put(address, 1, 5)


def _divides(a: int, b: int) -> int:
    return a // b


def _sums(n: int) -> int:
    total = 0
    for value in [2 * k for k in range(n)]:
        total += value
    return total


def _gives_two(a: int) -> tuple[int, int]:
    return a, 2 * a


def _loads(address: int) -> int:
    return at(address, 1) + load_u8(address)  # type: ignore[no-any-return]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setattr(native, "folder", lambda: tmp_path)
    return tmp_path


@pytest.fixture
def no_numba(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    def refuse(self: Kernel) -> Any:
        raise AssertionError(f"{self.name} is compiled")

    with monkeypatch.context() as patched:
        patched.setattr(Kernel, "_compiled", refuse)
        yield


def test_a_kernel_is_compiled_once(folder: Path, request: pytest.FixtureRequest) -> None:
    words = memoryview(bytearray((7).to_bytes(8, "little") + (35).to_bytes(8, "little")))
    import numpy as np

    address = int(np.frombuffer(words, np.int64).ctypes.data)
    calls = [(_calls, (20, 1), 42), (_less, (1, 2), True), (_less, (2, 1), False), (_loads, (np.int64(address),), 42)]
    calls += [(_calls, (-(1 << 40), 1), 2 - (1 << 41)), (_stores, (address,), None)]
    assert [Kernel(function)(*arguments) for function, arguments, _ in calls] == [value for _, _, value in calls]
    assert Kernel(_calls).is_kept
    assert not Kernel(_divides).is_kept
    kept = [f"{__name__}.{name}" for name in ("_calls", "_less", "_loads", "_stores")]
    assert sorted(path.name for path in folder.iterdir()) == kept
    assert words[8] == 5
    words[8] = 35
    request.getfixturevalue("no_numba")
    assert [Kernel(function)(*arguments) for function, arguments, _ in calls] == [value for _, _, value in calls]


def test_a_damaged_file_is_compiled_anew(folder: Path) -> None:
    assert Kernel(_calls)(1, 2) == 6
    file = folder / f"{__name__}._calls"
    whole = file.read_bytes()
    for damaged in (b"", whole[:-1], whole[:40] + bytes([whole[40] ^ 1]) + whole[41:], whole[:-1] + b"\xff"):
        file.write_bytes(damaged)
        assert native.find(file.name) is None
        assert Kernel(_calls)(1, 2) == 6
        assert native.find(file.name) is not None


def test_code_without_its_function_is_compiled_anew(folder: Path) -> None:
    Kernel(_less)(1, 2)
    other = native.find(f"{__name__}._less")
    assert other is not None
    code = replace(other, symbol="another")
    native.keep(f"{__name__}._calls", code)
    assert native.find(f"{__name__}._calls") == code
    assert Kernel(_calls)(1, 2) == 6


def test_what_does_not_stand_alone_stays_with_numba(folder: Path) -> None:
    assert Kernel(_sums)(10) == 90
    assert Kernel(_gives_two)(10) == (10, 20)
    assert not list(folder.iterdir())


def test_a_kernel_that_fails(folder: Path) -> None:
    kernel = Kernel(_divides)
    assert kernel(7, -2) == -4
    with pytest.raises(RuntimeError, match="a kernel failed"):
        kernel(7, 0)


def test_arguments_are_whole_numbers(folder: Path) -> None:
    with pytest.raises(TypeError):
        Kernel(_calls)(1.5, 2)


def test_delivered_code_comes_first(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Kernel(_calls)(1, 2)
    name = f"{__name__}._calls"
    delivered = (folder / name).read_bytes()
    (folder / name).unlink()
    asked = []

    def get_data(package: str, resource: str) -> bytes:
        asked.append((package, resource))
        return delivered

    monkeypatch.setattr(pkgutil, "get_data", get_data)
    native.key()
    asked.clear()
    assert native.find(name) == native.Code.from_bytes(delivered)
    assert asked == [("stateextract", f"kernels/{native.key()}/{name}")]


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="POSIX's permissions")
@pytest.mark.parametrize("mode", [0o700, 0o755, 0o775, 0o777])
def test_a_folder_that_others_can_write_to_is_not_used(tmp_path: Path, mode: int) -> None:
    """In a process of its own, where the package lies in a zip, so that the user's folder is the first."""
    cache = tmp_path / "cache" / "stateextract"
    cache.mkdir(parents=True)
    cache.chmod(mode)
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    script = (
        "from stateextract.columnar.compiled import native\n"
        "from pathlib import Path\n"
        f"native.__file__ = {str(tmp_path / 'file')!r} + '/native.py'\n"
        "print(native.folder().parent)"
    )
    (tmp_path / "file").touch()
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache.parent), "TMPDIR": str(temporary)}
    found = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    private = temporary / f"stateextract-{os.getuid()}"
    assert found.stdout.strip() == str(private if mode & 0o022 else cache)


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="POSIX's permissions")
def test_folders_above(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "a" / "b" / "c"
    folder.mkdir(parents=True)
    assert native._is_safe(folder)
    for place in (folder, folder.parent, folder.parent.parent):
        for mode in (0o775, 0o777, 0o722):
            place.chmod(mode)
            assert not native._is_safe(folder)
        # As /tmp: others may write there, and cannot rename what is not theirs.
        place.chmod(0o1777)
        assert native._is_safe(folder) is (place != folder)
        place.chmod(0o755)
    assert native._is_safe(folder)
    link = tmp_path / "link"
    link.symlink_to("a/b")
    assert native._is_safe(link / "c")
    (tmp_path / "a").chmod(0o777)
    assert not native._is_safe(link / "c")
    (tmp_path / "a").chmod(0o755)
    (tmp_path / "loop").symlink_to("loop")
    with contextlib.suppress(OSError):
        assert not native._is_safe(tmp_path / "loop")
    monkeypatch.setattr(native, "_ours", lambda: (os.getuid() + 1,))
    assert not native._is_safe(folder)


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="POSIX's permissions")
def test_a_file_that_others_can_write_to_is_not_used(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Kernel(_calls)(1, 2)
    name = f"{__name__}._calls"
    code = native.find(name)
    assert code is not None
    for mode, used in ((0o600, True), (0o644, True), (0o664, False), (0o646, False)):
        (folder / name).chmod(mode)
        assert native.find(name) == (code if used else None)
    (folder / name).chmod(0o600)
    (folder / name).rename(folder / "other")
    (folder / name).symlink_to("other")
    assert native.find(name) is None
    (folder / name).unlink()
    (folder / "other").rename(folder / name)
    assert native.find(name) == code
    monkeypatch.setattr(native, "_ours", lambda: (os.getuid() + 1,))
    assert native.find(name) is None


def test_everything_that_kernels_are_made_of_decides_their_name() -> None:
    """The modules that kernels' modules import, to the end, are among the sources."""
    kernels = {path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*kernel.py")}
    kernels |= {path.relative_to(PACKAGE).as_posix() for path in PACKAGE.glob("columnar/kernel/*.py")}
    assert kernels == {source for source in native.SOURCES if "kernel" in source}
    for source in kernels:
        for node in ast.walk(ast.parse((PACKAGE / source).read_text())):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("stateextract"):
                module = node.module.removeprefix("stateextract.").replace(".", "/")
                names = [f"{module}/{alias.name}.py" for alias in node.names]
                found = [name for name in names if (PACKAGE / name).is_file()] or [f"{module}.py"]
                assert set(found) <= set(native.SOURCES), source
