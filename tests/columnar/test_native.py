"""Machine code is kept, loaded without Numba and LLVM, and only trusted where nobody else can have put it."""

from __future__ import annotations

import ast
import contextlib
import os
import pkgutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from stateextract.columnar.compiled import compile as compiling
from stateextract.columnar.compiled import engines, native
from stateextract.columnar.compiled.compile import Kernel, at, compile_kernel, load_u8, put
from stateextract.columnar.compiled.processors import PROCESSORS
from stateextract.errors import EnvironmentProblem
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


def _zero(a: int) -> int:
    return 0


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
    calls += [(_calls, (-(1 << 40), 1), 2 - (1 << 41)), (_stores, (address,), None), (_zero, (1,), 0)]
    assert [Kernel(function)(*arguments) for function, arguments, _ in calls] == [value for _, _, value in calls]
    assert Kernel(_calls).is_kept
    names = [f"{__name__}.{name}" for name in ("_calls", "_less", "_loads", "_stores", "_zero")]
    kept = [f"{name}.{processor.name}" for name in names for processor in PROCESSORS]
    assert sorted(path.name for path in folder.iterdir()) == sorted(kept)
    assert words[8] == 5
    words[8] = 35
    request.getfixturevalue("no_numba")
    assert [Kernel(function)(*arguments) for function, arguments, _ in calls] == [value for _, _, value in calls]


@pytest.fixture
def one_processor(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of ``_calls`` for the one processor that there is."""
    monkeypatch.setattr(native, "usable", lambda: (PROCESSORS[0],))
    monkeypatch.setattr(compiling, "usable", lambda: (PROCESSORS[0],))
    return folder / f"{__name__}._calls.{PROCESSORS[0].name}"


def test_a_damaged_file_is_compiled_anew(one_processor: Path) -> None:
    assert Kernel(_calls)(1, 2) == 6
    whole = one_processor.read_bytes()
    for damaged in (b"", whole[:-1], whole[:40] + bytes([whole[40] ^ 1]) + whole[41:], whole[:-1] + b"\xff"):
        one_processor.write_bytes(damaged)
        assert native.find(f"{__name__}._calls") is None
        assert Kernel(_calls)(1, 2) == 6
        assert native.find(f"{__name__}._calls") is not None


def test_a_file_whose_function_is_outside_of_it_is_not_used(one_processor: Path) -> None:
    assert Kernel(_calls)(1, 2) == 6
    code = native.find(f"{__name__}._calls")
    assert code is not None
    for wrong in (replace(code, entry=len(code.content)), replace(code, entry=-1), replace(code, result="float64")):
        one_processor.write_bytes(wrong.to_bytes())
        assert native.find(f"{__name__}._calls") is None
    one_processor.write_bytes(replace(code, entry=len(code.content) - 1).to_bytes())
    assert native.find(f"{__name__}._calls") is not None


@pytest.mark.parametrize("is_compiled_before", [False, True])
def test_what_does_not_run_by_itself_stays_with_numba(folder: Path, is_compiled_before: bool) -> None:
    """Of a function that Numba compiled before, it takes parts that are optimised for this processor."""
    if is_compiled_before:
        import numba

        assert numba.njit(_sums)(10) == 90
    assert Kernel(_sums)(10) == 90
    assert Kernel(_gives_two)(10) == (10, 20)
    assert not list(folder.iterdir())


def test_nothing_raises(folder: Path) -> None:
    assert (Kernel(_divides)(7, -2), Kernel(_divides)(7, 0)) == (-4, 0)
    assert Kernel(_divides).is_kept


def test_numba_optimises_other_functions_as_before(folder: Path) -> None:
    import numba
    from numba.core import config

    level = config.OPT
    Kernel(_calls).prepare()
    assert config.OPT is level
    other = numba.njit(_less)
    assert other(1, 2)
    (assembly,) = other.inspect_llvm().values()
    assert "alloca" not in assembly.partition("define ")[2].partition("\n}")[0]


def test_without_numba_and_machine_code(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    from stateextract.columnar import kernel

    monkeypatch.setattr(native, "find", lambda name: None)
    monkeypatch.setattr(compiling, "can_compile", lambda: False)
    lost = Kernel(_calls)
    assert (lost.is_kept, lost.is_usable) == (False, False)
    with pytest.raises(EnvironmentProblem, match=r"no machine code for this machine .*install 'stateextract\[compile\]'"):
        lost(1, 2)
    monkeypatch.setattr(kernel, "run", lost)
    engines._note_slow_reading.cache_clear()
    assert [engines.engine_for(size) for size in (engines.SMALL, engines.SMALL + 1, 1 << 40)] == ["interpreter"] * 3
    assert capsys.readouterr().err == (
        "stateextract has no machine code for this machine: Python decodes the values, which is about 100 times slower. "
        "To have it fast, run pip install 'stateextract[compile]', which compiles it once on this machine.\n"
    )


def test_where_code_may_not_be_loaded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str) -> int:
        raise PermissionError(name)

    assert Kernel(_calls)(1, 2) == 6
    monkeypatch.setattr(os, "memfd_create", refuse)
    denied = Kernel(_calls)
    assert not denied.is_kept
    assert denied(1, 2) == 6, "by Numba"
    monkeypatch.setattr(sys, "platform", "darwin")
    assert Kernel(_calls).is_kept, "memory that is made executable"
    assert Kernel(_calls)(1, 2) == 6


def test_arguments_are_whole_numbers(folder: Path) -> None:
    with pytest.raises(TypeError):
        Kernel(_calls)(1.5, 2)


def test_delivered_code_comes_first(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Kernel(_calls)(1, 2)
    name = f"{__name__}._calls"
    file = f"{name}.{native.usable()[0].name}"
    delivered = (folder / file).read_bytes()
    (folder / file).unlink()
    asked = []

    def get_data(package: str, resource: str) -> bytes:
        asked.append((package, resource))
        return delivered

    monkeypatch.setattr(pkgutil, "get_data", get_data)
    native.key()
    asked.clear()
    assert native.find(name) == native.Code.from_bytes(delivered)
    assert asked == [("stateextract", f"kernels/{native.key()}/{file}")]


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
def test_a_file_that_others_can_write_to_is_not_used(one_processor: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Kernel(_calls)(1, 2)
    name, file, other = f"{__name__}._calls", one_processor, one_processor.parent / "other"
    code = native.find(name)
    assert code is not None
    for mode, used in ((0o600, True), (0o644, True), (0o664, False), (0o646, False)):
        file.chmod(mode)
        assert native.find(name) == (code if used else None)
    file.chmod(0o600)
    file.rename(other)
    file.symlink_to("other")
    assert native.find(name) is None
    file.unlink()
    other.rename(file)
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


def test_all_that_python_calls_is_delivered() -> None:
    """Outside of the kernels' own modules, nothing but what is delivered is called."""
    modules = {source[:-3].replace("/", ".").removesuffix(".__init__") for source in native.SOURCES if "kernel" in source}
    kernels = {f"stateextract.{module}" for module in modules}
    called = set()
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text()
        if "kernel" not in text or path.relative_to(PACKAGE).as_posix() in native.SOURCES:
            continue
        names = {"kernel": "stateextract.audit.measure.measure_kernel"} if "audit" in path.parts else {}
        nodes = list(ast.walk(ast.parse(text)))
        found = []
        for node in nodes:
            if isinstance(node, ast.ImportFrom) and node.module:
                names |= {a.asname or a.name: m for a in node.names if (m := f"{node.module}.{a.name}") in kernels}
                found += [(node.module, alias.name) for alias in node.names if node.module in kernels]
        for node in nodes:
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in names:
                found.append((names[node.value.id], node.attr))
        objects = (getattr(import_module(module), name) for module, name in found)
        called |= {thing.name for thing in objects if isinstance(thing, Kernel)}
    assert called == set(native.KERNELS)


def test_the_code_of_all_kernels_is_for_all_processors() -> None:
    """Compiles what is not kept. What needs something of Numba, or of C's library, would not be delivered."""
    for name in native.KERNELS:
        module = import_module(name.rpartition(".")[0])
        (kernel,) = (k for k in vars(module).values() if isinstance(k, Kernel) and k.name == name)
        kernel.prepare()
    files = {f"kernels/{native.key()}/{name}.{processor.name}" for name in native.KERNELS for processor in PROCESSORS}
    assert set(native.delivery()) == files
