"""Machine code of compiled kernels, kept in files and loaded without Numba and LLVM.

A kernel takes numbers and gives a number. What Numba and LLVM make of it is a small run of bytes (``linking.py``), which is
mapped into memory and called. A file begins with the SHA-256 of the rest. Its name says the kernel and the processor; its
folder is named for the kernels' sources, so that a kernel that was changed is compiled anew.

Files are looked for in the package itself: a wheel has them, and so has the zip for Spark's workers. Then they are looked for
in a folder of this user. There a file is used only if it, its folder and all folders above belong to this user or to root and
are not writable by others. Machine code from anywhere else is never run.
"""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import json
import mmap
import operator
import os
import pkgutil
import stat
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from stateextract.columnar.compiled.processors import PROCESSORS, usable

PACKAGE = "stateextract"
SHIPPED = "kernels"
"""The folder of delivered machine code in the package."""
SOURCES = (
    "audit/measure/measure_kernel.py",
    "audit/measure/layout.py",
    "columnar/compiled/compile.py",
    "columnar/compiled/emit.py",
    "columnar/compiled/linking.py",
    "columnar/compiled/mixing.py",
    "columnar/compiled/pipeline.py",
    "columnar/compiled/processors.py",
    "columnar/convert/decimal_kernel.py",
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
    "columnar/kernel/plain.py",
    "columnar/kernel/sections.py",
    "columnar/kernel/skips.py",
    "columnar/kernel/texts.py",
    "columnar/kernel/variable.py",
    "columnar/program/operations.py",
    "columnar/search/find_kernel.py",
    "diff/diff_kernel.py",
    "rocksdb/block_kernel.py",
    "rocksdb/kernel.py",
)
"""The modules that the kernels are made of, inside of the package."""
KERNELS = (
    "stateextract.audit.measure.measure_kernel._columns",
    "stateextract.audit.measure.measure_kernel._insert",
    "stateextract.audit.measure.measure_kernel._larger",
    "stateextract.audit.measure.measure_kernel._own",
    "stateextract.audit.measure.measure_kernel._seat",
    "stateextract.audit.measure.measure_kernel._sift",
    "stateextract.audit.measure.measure_kernel._spans",
    "stateextract.columnar.convert.decimal_kernel.decimal_texts",
    "stateextract.columnar.convert.pickle_kernel.check",
    "stateextract.columnar.kernel.loop._run",
    "stateextract.columnar.kernel.loop.run_kryo",
    "stateextract.columnar.search.find_kernel.find",
    "stateextract.diff.diff_kernel._combine",
    "stateextract.diff.diff_kernel._equal_bytes",
    "stateextract.diff.diff_kernel._fold_bag",
    "stateextract.diff.diff_kernel._fold_list",
    "stateextract.diff.diff_kernel._hash_bytes",
    "stateextract.diff.diff_kernel._hash_numbers",
    "stateextract.diff.diff_kernel._pair",
    "stateextract.rocksdb.block_kernel._expand",
    "stateextract.rocksdb.block_kernel._index",
    "stateextract.rocksdb.block_kernel._plan",
    "stateextract.rocksdb.kernel._merge",
)
"""The kernels that Python calls, by their modules and functions: these are delivered."""
RESULTS: dict[str, Any] = {
    "int64": ctypes.c_int64,
    "uint64": ctypes.c_uint64,
    "bool": ctypes.c_bool,
    "none": ctypes.c_void_p,
}
"""What kernels may return, by Numba's name."""

_FORMAT = b"run of bytes, 1"
"""What files hold; changes with what is written here."""
_DIGEST = 32
_OTHERS_WRITE = 0o022


@dataclass(frozen=True)
class Code:
    """A kernel's machine code.

    Its function is of Numba's calling convention: the address of the result, that of an exception, then the arguments, all of
    them ``int64``. Kernels raise none.

    :param arguments: how many there are.
    :param result: its type, one of ``RESULTS``.
    :param content: runs wherever it is mapped, at the beginning of a page.
    :param entry: where the function begins in it.
    """

    arguments: int
    result: str
    content: bytes
    entry: int

    def to_bytes(self) -> bytes:
        """The file's content."""
        head = json.dumps([self.arguments, self.result, self.entry]).encode()
        rest = head + b"\n" + self.content
        return hashlib.sha256(rest).digest() + rest

    @classmethod
    def from_bytes(cls, data: bytes) -> Code | None:
        """What a file holds; ``None`` where it is not whole."""
        if hashlib.sha256(data[_DIGEST:]).digest() != data[:_DIGEST]:
            return None
        head, _, content = data[_DIGEST:].partition(b"\n")
        arguments, result, entry = json.loads(head)
        return cls(arguments, result, content, entry) if 0 <= entry < len(content) and result in RESULTS else None


@cache
def key() -> str | None:
    """The name of the folder for machine code of these sources.

    ``None`` where the sources are not there; then nothing is kept.
    """
    digest = hashlib.sha256(_FORMAT)
    for source in SOURCES:
        try:
            part = pkgutil.get_data(PACKAGE, source) or b""
        except OSError:
            return None
        digest.update(len(part).to_bytes(8, "big") + part)
    return "kernels-" + digest.hexdigest()[:16]


@cache
def folder() -> Path | None:
    """Where machine code is kept: in the user's cache, else next to the package, else in a temporary folder."""
    name = key()
    if name is None:
        return None
    for parent in _parents():
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


def _parents() -> Iterator[Path]:
    yield Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()) / "stateextract"
    yield Path(__file__).parent / "__pycache__"
    import tempfile  # takes 3 ms, and nearly all users have a cache

    user = os.getuid() if hasattr(os, "getuid") else 0
    yield Path(tempfile.gettempdir()) / f"stateextract-{user}"


def _is_safe(folder: Path, links: int = 8) -> bool:
    """Whether only this user and root can put something into a folder, or another folder in its place.

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
    """The machine code of a kernel for this processor, where it is kept."""
    for processor in usable():
        code = Code.from_bytes(_read(f"{name}.{processor.name}"))
        if code is not None:
            return code
    return None


def _read(file: str) -> bytes:
    """A file's content; nothing where it is nowhere."""
    for read in (_shipped, _kept):
        with contextlib.suppress(OSError, ValueError):
            data = read(file)
            if Code.from_bytes(data) is not None:
                return data
    return b""


def _shipped(file: str) -> bytes:
    return pkgutil.get_data(PACKAGE, f"{SHIPPED}/{key()}/{file}") or b""


def _kept(file: str) -> bytes:
    where = folder()
    if where is None:
        return b""
    with open(os.open(where / file, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0)), "rb") as opened:
        status = os.fstat(opened.fileno())
        safe = not hasattr(os, "getuid") or (status.st_uid in _ours() and not status.st_mode & _OTHERS_WRITE)
        return opened.read() if safe and stat.S_ISREG(status.st_mode) else b""


def delivery() -> dict[str, bytes]:
    """The machine code of ``KERNELS`` for all processors as files to deliver, by their paths in the package.

    Without those that are not kept.
    """
    files = (f"{name}.{processor.name}" for name in KERNELS for processor in PROCESSORS)
    return {f"{SHIPPED}/{key()}/{file}": data for file in files if (data := _read(file))}


def keep(name: str, codes: Mapping[str, Code]) -> None:
    """Keep a kernel's machine code for the next process, if there is a folder for it.

    :param codes: by the name of the processor.
    """
    import tempfile

    where = folder()
    if where is None:
        return
    for processor, code in codes.items():
        with contextlib.suppress(OSError):
            handle, made = tempfile.mkstemp(dir=where)
            try:
                with open(handle, "wb") as file:
                    file.write(code.to_bytes())
                os.replace(made, where / f"{name}.{processor}")
            except BaseException:
                os.unlink(made)
                raise


def load(code: Code) -> Callable[..., Any]:
    """The function. It takes whole numbers, and runs without the lock of Python.

    :raises OSError: this system does not let this process run code that it loads.
    """
    result = RESULTS[code.result]
    pointer = ctypes.c_void_p
    signature = ctypes.CFUNCTYPE(ctypes.c_int32, pointer, pointer, *[ctypes.c_int64] * code.arguments)
    function = signature(_map(code.content) + code.entry)
    index, byref = operator.index, ctypes.byref

    def call(*arguments: Any) -> Any:
        value, exception = result(), pointer()
        function(byref(value), byref(exception), *map(index, arguments))
        return value.value

    return call


def _map(content: bytes) -> int:
    """Where in memory these bytes are executable, for the rest of the process, and never writable at the same time."""
    return _map_privately(content) if sys.platform == "darwin" else _map_file(content)


def _map_file(content: bytes) -> int:
    """As the dynamic linker does it. The file is one in memory, which no other process can reach.

    Linux keeps the caches of instructions right for what is mapped from files.
    """
    file = os.memfd_create("stateextract")
    try:
        with open(file, "wb", closefd=False) as opened:
            opened.write(content)
        return _mmap(len(content), mmap.PROT_READ | mmap.PROT_EXEC, mmap.MAP_PRIVATE, file)
    finally:
        os.close(file)


def _map_privately(content: bytes) -> int:
    """As compilers at run time do it. Where executable files have to be signed, they cannot be mapped."""
    address = _mmap(len(content), mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_PRIVATE | mmap.MAP_ANON, -1)
    ctypes.memmove(address, content, len(content))
    size = ctypes.c_size_t(len(content))
    if _library().mprotect(ctypes.c_void_p(address), size, mmap.PROT_READ | mmap.PROT_EXEC) != 0:
        raise OSError(ctypes.get_errno(), "memory cannot be made executable")
    flush = getattr(_library(), "sys_icache_invalidate", None)
    if flush is not None:
        flush(ctypes.c_void_p(address), size)
    return address


def _mmap(size: int, protection: int, flags: int, file: int) -> int:
    address = _library().mmap(None, ctypes.c_size_t(size), protection, flags, file, ctypes.c_long(0))
    if address in (None, ctypes.c_void_p(-1).value):
        raise OSError(ctypes.get_errno(), "memory cannot be mapped")
    return int(address)


@cache
def _library() -> Any:
    library = ctypes.CDLL(None, use_errno=True)
    library.mmap.restype = ctypes.c_void_p
    return library
