"""The kernel without Numba: its machine code, kept beside Numba's cache and loaded by LLVM alone.

Importing Numba and having it read its cache takes more than half a second, which is long for a command that looks up one
key; LLVM's loader alone takes a tenth. So whoever has the kernel compiled or loaded by Numba leaves its object code, and
who comes later loads that. Where anything about it is unusual, the kernel is loaded by Numba as always.

A file is one line of JSON (the kernel's constants, the name of its function, a checksum) and the object code. It is valid
for the sources, the processor and the LLVM that its name has the hash of. What LLVM cannot load ends the process: so
before a file is given its name, another process has loaded it and decoded something with it.

How Numba calls: ``int32 f(int64* result, void** exception, int64...)``, 0 where nothing was raised.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from stateextract.columnar.cached import cache_folder, sources_hash

_KERNEL = "stateextract.columnar.kernel"
# What Numba's wrappers around the function refer to; these wrappers are never called here.
_UNUSED = (
    "numba_runtime_build_excinfo_struct", "NRT_Free", "numba_unpickle", "numba_do_raise", "numba_gil_ensure",
    "numba_gil_release",
)  # fmt: skip
_TRIAL = "import sys; from stateextract.columnar import native; native.trial(sys.argv[1])"

_loaded: list[Any] = []


def load_kernel() -> Any:
    """The module ``kernel``, or what stands for it: its constants and ``run``.

    The first time on a machine it is compiled, which takes about half a minute.
    """
    if _loaded:
        return _loaded[0]
    kernel = sys.modules.get(_KERNEL)
    path = _path() if kernel is None else None
    if path is not None and path.is_file():
        kernel = _read(path)
    if kernel is None:
        from stateextract.columnar import kernel

        if path is not None:
            _keep(kernel, path)
    _loaded.append(kernel)
    return kernel


def kernel_is_loaded() -> bool:
    """Whether decoding with it costs no loading any more."""
    return bool(_loaded) or _KERNEL in sys.modules


def _path() -> Path | None:
    """The file for this processor; ``None`` where none can be kept."""
    folder = cache_folder()
    if folder is None or sys.platform != "linux":
        return None
    import llvmlite
    from llvmlite import binding

    processor = (
        binding.get_process_triple(), binding.get_host_cpu_name(), binding.get_host_cpu_features().flatten(),
        os.environ.get("NUMBA_CPU_NAME", ""), os.environ.get("NUMBA_CPU_FEATURES", ""),
    )  # fmt: skip
    valid_for = "\n".join((sources_hash(), sys.version, llvmlite.__version__, *processor))
    return Path(folder) / f"kernel-{hashlib.sha256(valid_for.encode()).hexdigest()[:16]}.o"


def _read(path: Path) -> Any:
    """What a file holds; ``None`` where it cannot be used."""
    from llvmlite import binding

    try:
        head, _, code = path.read_bytes().partition(b"\n")
        known = json.loads(head)
        if hashlib.sha256(code).hexdigest() != known["sha256"]:
            return None
        binding.initialize_native_target()
        binding.initialize_native_asmprinter()
        unused = ctypes.cast(_NEVER, ctypes.c_void_p).value
        for name in _UNUSED:
            binding.add_symbol(name, unused)
        machine = binding.Target.from_default_triple().create_target_machine()
        engine = binding.create_mcjit_compiler(binding.parse_assembly(""), machine)
        engine.add_object_file(binding.ObjectFileRef.from_data(code))
        engine.finalize_object()
        address = engine.get_function_address(known["function"])
    except (OSError, ValueError, KeyError, RuntimeError):
        return None
    return SimpleNamespace(**known["constants"], run=_Run(address, known["arguments"], engine)) if address else None


class _Run:
    """The kernel's function at an address; keeps the engine that owns its code."""

    def __init__(self, address: int, arguments: int, engine: Any) -> None:
        kind = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, *[ctypes.c_int64] * arguments)
        self._function = kind(address)
        self._engine = engine

    def __call__(self, *arguments: int) -> int:
        result, exception = ctypes.c_int64(), ctypes.c_void_p()
        if self._function(ctypes.addressof(result), ctypes.addressof(exception), *arguments):
            raise SystemError("the kernel raised")
        return result.value


def _never() -> None:
    raise SystemError("a part of the kernel that is never called was called")


_NEVER = ctypes.CFUNCTYPE(None)(_never)


def _keep(kernel: Any, path: Path) -> None:
    """Leave the kernel's code for later processes, if it can be had and works."""
    try:
        content = _content(kernel)
        handle, name = tempfile.mkstemp(dir=path.parent, suffix=".o")
    except Exception:  # whatever another Numba is like, the kernel itself is there
        return
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        command = [sys.executable, "-c", _TRIAL]
        places = [str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, places))}
        done = subprocess.run([*command, name], env=environment, capture_output=True, timeout=60, check=False)
        if done.returncode == 0:
            os.replace(name, path)
    except (OSError, subprocess.SubprocessError):
        pass
    finally:
        Path(name).unlink(missing_ok=True)


def _content(kernel: Any) -> bytes:
    """The file's content, out of what Numba keeps in its cache."""
    import numba

    arguments = kernel.run.py_func.__code__.co_argcount
    kernel.run.compile((numba.int64,) * arguments)
    (signature,) = kernel.run.signatures
    compiled = kernel.run.overloads[signature]
    cache = kernel.run._cache
    (_, kind, (code, _)), *_ = cache._cache_file.load(cache._index_key(signature, compiled.library.codegen))
    if kind != "object":
        raise ValueError("Numba's cache holds no object code")
    constants = {name: value for name, value in vars(kernel).items() if name.isupper() and isinstance(value, int)}
    name, digest = compiled.fndesc.mangled_name, hashlib.sha256(code).hexdigest()
    head = {"function": name, "arguments": arguments, "sha256": digest, "constants": constants}
    return json.dumps(head).encode() + b"\n" + bytes(code)


def trial(path: str) -> None:
    """Decode something with the code in a file, in a process that may end by it."""
    from stateextract.columnar.decoder import make_decoder
    from stateextract.columnar.layout import Bool, Text, struct
    from stateextract.columnar.policy import Policy
    from stateextract.files.block import Block

    _loaded[:] = [_read(Path(path))]
    decoder = make_decoder(struct(flag=Bool(), text=Text()), Policy())
    data = b"\x01\x03\x68\x69\x00\x00"
    decoder.decode(Block.of(data), 0, len(data), 2)
    if decoder.flush().to_pylist() != [{"flag": True, "text": "hi"}, {"flag": False, "text": None}]:
        raise SystemError("the kernel is not what it was")


__all__ = ["kernel_is_loaded", "load_kernel", "trial"]
