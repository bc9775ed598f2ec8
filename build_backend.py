"""Builds with hatchling. A wheel also gets the machine code of the kernels, for all processors that there is code for.

Numba compiles them, which takes about a minute, unless this user's cache has them already. Editable installations get no code:
there a kernel is compiled when it is first needed, and anew after it was changed.
"""

from __future__ import annotations

import importlib
import shutil
import sys
import tomllib
from pathlib import Path
from typing import Any

import hatchling.build
from hatchling.build import (
    build_editable,
    build_sdist,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
)

ROOT = Path(__file__).resolve().parent


def get_requires_for_build_wheel(config_settings: dict[str, Any] | None = None) -> list[str]:
    """What hatchling needs, and what the modules of the kernels import."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needed = [*project["dependencies"], *project["optional-dependencies"]["compile"]]
    return [*hatchling.build.get_requires_for_build_wheel(config_settings), *needed]


def build_wheel(
    wheel_directory: str, config_settings: dict[str, Any] | None = None, metadata_directory: str | None = None
) -> str:
    """As hatchling does it, with machine code."""
    write_machine_code()
    return hatchling.build.build_wheel(wheel_directory, config_settings, metadata_directory)


def write_machine_code() -> None:
    """Compile what is not kept, and put all of it into the package."""
    sys.path.insert(0, str(ROOT))
    native = importlib.import_module("stateextract.columnar.compiled.native")
    compiling = importlib.import_module("stateextract.columnar.compiled.compile")
    processors = importlib.import_module("stateextract.columnar.compiled.processors")
    print("Compiling the kernels: about a minute, unless they are kept already", flush=True)
    for name in native.KERNELS:
        module = importlib.import_module(name.rpartition(".")[0])
        (kernel,) = (k for k in vars(module).values() if isinstance(k, compiling.Kernel) and k.name == name)
        kernel.prepare()
    files = native.delivery()
    expected = len(native.KERNELS) * len(processors.PROCESSORS)
    if len(files) != expected:
        raise RuntimeError(f"{len(files)} of {expected} kernels were compiled and kept: see stateextract/columnar/compiled")
    package = ROOT / "stateextract"
    shutil.rmtree(package / native.SHIPPED, ignore_errors=True)
    for path, data in files.items():
        (package / path).parent.mkdir(parents=True, exist_ok=True)
        (package / path).write_bytes(data)


__all__ = [
    "build_editable", "build_sdist", "build_wheel", "get_requires_for_build_editable", "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
]  # fmt: skip
