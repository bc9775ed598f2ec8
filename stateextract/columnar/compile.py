"""What every compiled kernel here is made of: Numba with a cache, and loads and stores at addresses.

A kernel takes the addresses of arrays instead of the arrays: no bounds, no sign of the index and no strides to look up,
twice as fast, and therefore every kernel checks its bounds itself before it loads or stores. Numbers are ``int64``,
whose overflow is undefined: Numba tells LLVM that it never happens. Where numbers are to wrap, use ``uint64``.

Import this module only where a kernel is used: it imports Numba. Knows nothing of what the kernels decode.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numba
from llvmlite import ir
from numba import types
from numba.extending import intrinsic


def _load(bits: int, swap: bool, signed: bool = True) -> Any:
    @intrinsic  # type: ignore[untyped-decorator]
    def load(typingctx: Any, address: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            number = ir.IntType(bits)
            value = builder.load(builder.inttoptr(args[0], number.as_pointer()), align=1)
            if swap:
                value = builder.bswap(value)
            if bits == 64:
                return value
            return builder.sext(value, ir.IntType(64)) if signed else builder.zext(value, ir.IntType(64))

        return types.int64(types.int64), codegen

    return load


def _store(bits: int) -> Any:
    @intrinsic  # type: ignore[untyped-decorator]
    def store(typingctx: Any, address: Any, value: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            number = ir.IntType(bits)
            value = args[1] if bits == 64 else builder.trunc(args[1], number)
            builder.store(value, builder.inttoptr(args[0], number.as_pointer()), align=1)
            return context.get_dummy_value()

        return types.void(types.int64, types.int64), codegen

    return store


load_u8 = _load(8, False, signed=False)
load_u16 = _load(16, True, signed=False)
load_i16 = _load(16, True)
load_i32 = _load(32, True)
load_i64 = _load(64, True)
load_i16_le = _load(16, False)
load_i32_le = _load(32, False)
load_i64_le = _load(64, False)
store_8 = _store(8)
store_16 = _store(16)
store_32 = _store(32)
store_64 = _store(64)


@cache
def _cache_folder() -> str | None:
    """Where compiled kernels are kept: beside the package, else in the user's cache, else in a temporary folder.

    Numba looks only at the kernel's own file to see whether a cached kernel is current. The folder's name therefore holds
    a hash of all modules that a kernel is made of, or another version would run the kernels of this one.
    """
    here = Path(__file__).parent
    sources = sorted(here.glob("*.py")) + sorted(here.parent.glob("*/kernel.py"))
    name = "kernels-" + hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()[:16]
    cached = os.environ.get("XDG_CACHE_HOME") or str(Path("~/.cache").expanduser())
    user = os.getuid() if hasattr(os, "getuid") else 0
    private = Path(tempfile.gettempdir()) / f"stateextract-{user}"
    for parent in (here / "__pycache__", Path(cached) / "stateextract", private):
        folder = parent / name
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError:
            continue
        # What others can write to must not be run.
        own = not hasattr(os, "getuid") or parent.stat().st_uid == user
        if own and os.access(folder, os.W_OK) and not parent.stat().st_mode & 0o022:
            return str(folder)
    return None


def compile_kernel(function: Any, **options: Any) -> Any:
    """``numba.njit`` with its cache where a folder for it can be written, without where none can."""
    folder = os.environ.get("NUMBA_CACHE_DIR") or _cache_folder()
    before = numba.config.CACHE_DIR
    try:
        numba.config.CACHE_DIR = folder or ""
        return numba.njit(cache=folder is not None, nogil=True, **options)(function)
    except RuntimeError:
        return numba.njit(nogil=True, **options)(function)
    finally:
        numba.config.CACHE_DIR = before


@intrinsic  # type: ignore[untyped-decorator]
def at(typingctx: Any, array: Any, index: Any) -> Any:
    """An element of an int64 array given by its address. An intrinsic, because calls make compiling slow."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load(_element(builder, args[0], args[1]), align=8)

    return types.int64(types.int64, types.int64), codegen


@intrinsic  # type: ignore[untyped-decorator]
def put(typingctx: Any, array: Any, index: Any, value: Any) -> Any:
    """Set an element of an int64 array given by its address."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.store(args[2], _element(builder, args[0], args[1]), align=8)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), codegen


def _element(builder: Any, array: Any, index: Any) -> Any:
    number = ir.IntType(64)
    address = builder.add(array, builder.shl(index, ir.Constant(number, 3)))
    return builder.inttoptr(address, number.as_pointer())


@intrinsic  # type: ignore[untyped-decorator]
def at_row(typingctx: Any, array: Any, row: Any, index: Any) -> Any:
    """An element of a row of eight in an int64 array given by its address."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        number = ir.IntType(64)
        place = builder.add(builder.shl(args[1], ir.Constant(number, 3)), args[2])
        return builder.load(_element(builder, args[0], place), align=8)

    return types.int64(types.int64, types.int64, types.int64), codegen
