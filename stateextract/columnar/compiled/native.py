"""Machine code of compiled kernels, kept in files and loaded without Numba.

Loading Numba takes longer than most reads. A kernel takes numbers and gives a number, so what Numba makes of it is a small
object file without undefined symbols, which llvmlite loads within milliseconds. A file begins with the SHA-256 of the rest;
its folder is named for everything that decides what the code is and where it runs: the kernels' sources, the versions of
Numba and llvmlite, the processor and its features.

Files are looked for in the package itself, where those who delivered the code may have put them (the zip for Spark's workers
has them), then in a folder of this user. There a file is used only if it, its folder and all folders above belong to this user
or to root and are not writable by others. Machine code from anywhere else is never run.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import importlib.metadata
import json
import operator
import os
import pkgutil
import stat
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

PACKAGE = "stateextract"
SHIPPED = "kernels"
"""The folder of delivered machine code in the package."""
SOURCES = (
    "audit/measure/kernel.py",
    "audit/measure/layout.py",
    "columnar/compiled/compile.py",
    "columnar/compiled/mixing.py",
    "columnar/compiled/native.py",
    "columnar/compiled/pipeline.py",
    "columnar/convert/pickle_kernel.py",
    "columnar/kernel/__init__.py",
    "columnar/kernel/assemble.py",
    "columnar/kernel/characters.py",
    "columnar/kernel/choices.py",
    "columnar/kernel/json.py",
    "columnar/kernel/kryo.py",
    "columnar/kernel/lists.py",
    "columnar/kernel/loop.py",
    "columnar/kernel/machine.py",
    "columnar/kernel/numbers.py",
    "columnar/kernel/pairs.py",
    "columnar/kernel/sections.py",
    "columnar/kernel/skips.py",
    "columnar/kernel/texts.py",
    "columnar/kernel/variable.py",
    "columnar/program/operations.py",
    "columnar/search/find_kernel.py",
    "diff/kernel.py",
    "rocksdb/block_kernel.py",
    "rocksdb/kernel.py",
)
"""The modules that the kernels are made of, inside of the package."""
RESULTS: dict[str, Any] = {
    "int64": ctypes.c_int64,
    "uint64": ctypes.c_uint64,
    "bool": ctypes.c_bool,
    "none": ctypes.c_void_p,
}
"""What kernels may return, by Numba's name."""

_DIGEST = 32
_OTHERS_WRITE = 0o022


@dataclass(frozen=True)
class Code:
    """A kernel's machine code.

    :param symbol: its function, of Numba's calling convention: the address of the result, that of an exception, then the
        arguments; what the function itself returns is 0 if there was no exception.
    :param arguments: how many there are, all of them ``int64``.
    :param result: its type, one of ``RESULTS``.
    :param content: an object file.
    """

    symbol: str
    arguments: int
    result: str
    content: bytes

    def to_bytes(self) -> bytes:
        """The file's content."""
        head = json.dumps([self.symbol, self.arguments, self.result]).encode()
        rest = head + b"\n" + self.content
        return hashlib.sha256(rest).digest() + rest

    @classmethod
    def from_bytes(cls, data: bytes) -> Code | None:
        """What a file holds; ``None`` where it is not whole."""
        if hashlib.sha256(data[_DIGEST:]).digest() != data[:_DIGEST]:
            return None
        head, _, content = data[_DIGEST:].partition(b"\n")
        symbol, arguments, result = json.loads(head)
        return cls(symbol, arguments, result, content)


@cache
def key() -> str | None:
    """The name of the folder for machine code of these sources, these libraries and this processor.

    ``None`` where it cannot be known; then nothing is kept.
    """
    import llvmlite
    import llvmlite.binding as llvm

    parts: list[bytes] = []
    try:
        parts += [pkgutil.get_data(PACKAGE, source) or b"" for source in SOURCES]
        parts += [importlib.metadata.version("numba").encode()]
    except (OSError, importlib.metadata.PackageNotFoundError):
        return None
    parts += [llvmlite.__version__.encode(), llvm.get_process_triple().encode()]
    parts += [llvm.get_host_cpu_name().encode(), _features().encode()]
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "big") + part)
    return "kernels-" + digest.hexdigest()[:16]


@cache
def _features() -> str:
    import llvmlite.binding as llvm

    return str(llvm.get_host_cpu_features().flatten())


@cache
def folder() -> Path | None:
    """Where machine code is kept: in the user's cache, else beside the package, else in a temporary folder."""
    name = key()
    if name is None:
        return None
    cached = os.environ.get("XDG_CACHE_HOME") or str(Path("~/.cache").expanduser())
    user = os.getuid() if hasattr(os, "getuid") else 0
    private = Path(tempfile.gettempdir()) / f"stateextract-{user}"
    for parent in (Path(cached) / "stateextract", Path(__file__).parent / "__pycache__", private):
        found = parent / name
        try:
            parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            found.mkdir(exist_ok=True, mode=0o700)
            safe = _is_safe(found)
        except OSError:
            continue
        if safe and os.access(found, os.W_OK):
            return found
    return None


def _is_safe(folder: Path, links: int = 8) -> bool:
    """Whether nobody but this user and root can put something into a folder, or another folder in its place.

    :param links: how many links may lead to one another.
    """
    if not hasattr(os, "getuid"):
        return True
    folder = folder.absolute()
    for place in (*reversed(folder.parents), folder):
        status = place.lstat()
        if status.st_uid not in _ours():
            return False
        if stat.S_ISLNK(status.st_mode):
            if not links or not _is_safe(place.parent / os.readlink(place), links - 1):
                return False
        # Where others may write, as in /tmp, they must not be able to rename what is not theirs.
        elif status.st_mode & _OTHERS_WRITE and (place == folder or not status.st_mode & stat.S_ISVTX):
            return False
    return True


def _ours() -> tuple[int, ...]:
    return (0, os.getuid())


def find(name: str) -> Code | None:
    """The machine code of a kernel, where it is kept."""
    for read in (_shipped, _kept):
        with contextlib.suppress(OSError, ValueError):
            code = Code.from_bytes(read(name))
            if code is not None:
                return code
    return None


def _shipped(name: str) -> bytes:
    return pkgutil.get_data(PACKAGE, f"{SHIPPED}/{key()}/{name}") or b""


def _kept(name: str) -> bytes:
    where = folder()
    if where is None:
        return b""
    with open(os.open(where / name, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0)), "rb") as file:
        status = os.fstat(file.fileno())
        safe = not hasattr(os, "getuid") or (status.st_uid in _ours() and not status.st_mode & _OTHERS_WRITE)
        return file.read() if safe and stat.S_ISREG(status.st_mode) else b""


def delivery(names: Iterable[str]) -> dict[str, bytes]:
    """The machine code of kernels as files to deliver, by their places in the package; without those that are not kept."""
    found = {f"{SHIPPED}/{key()}/{name}": find(name) for name in names}
    return {place: code.to_bytes() for place, code in found.items() if code is not None}


def keep(name: str, code: Code) -> None:
    """Keep machine code for the next process, if there is a folder for it."""
    where = folder()
    if where is None:
        return
    with contextlib.suppress(OSError):
        handle, made = tempfile.mkstemp(dir=where)
        try:
            with open(handle, "wb") as file:
                file.write(code.to_bytes())
            os.replace(made, where / name)
        except BaseException:
            os.unlink(made)
            raise


def emit(text: str) -> bytes | None:
    """An object file for this processor out of LLVM's assembly; ``None`` where it would not stand alone.

    :param text: the whole module, already optimised.
    """
    import llvmlite.binding as llvm

    _initialize()
    module = llvm.parse_assembly(text)
    if any(f.is_declaration and not f.name.startswith("llvm.") for f in module.functions):
        return None
    if any(variable.is_declaration for variable in module.global_variables):
        return None
    return bytes(_machine().emit_object(module))


def load(code: Code) -> Callable[..., Any]:
    """The function. It takes whole numbers, and runs without the lock of Python.

    :raises RuntimeError: LLVM does not take the object file.
    """
    import llvmlite.binding as llvm

    _initialize()
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _machine())
    engine.add_object_file(llvm.ObjectFileRef.from_data(code.content))
    engine.finalize_object()
    address = engine.get_function_address(code.symbol)
    if not address:
        raise RuntimeError(f"no function {code.symbol}")
    result = RESULTS[code.result]
    pointer = ctypes.c_void_p
    signature = ctypes.CFUNCTYPE(ctypes.c_int32, pointer, pointer, *[ctypes.c_int64] * code.arguments)
    function = signature(address)
    index, byref = operator.index, ctypes.byref

    def call(*arguments: Any, engine: Any = engine) -> Any:  # the function lives as long as its engine
        value, exception = result(), pointer()
        if function(byref(value), byref(exception), *map(index, arguments)) != 0:
            raise RuntimeError("a kernel failed")
        return value.value

    return call


@cache
def _initialize() -> None:
    import llvmlite.binding as llvm

    with contextlib.suppress(RuntimeError):
        llvm.initialize()  # newer versions do it by themselves, and refuse
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()


def _machine() -> Any:
    import llvmlite.binding as llvm

    target = llvm.Target.from_triple(llvm.get_process_triple())
    return target.create_target_machine(cpu=llvm.get_host_cpu_name(), features=_features(), opt=3, jit=True)
