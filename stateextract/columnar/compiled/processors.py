"""The processors that machine code is made for, and those of them that this machine has.

Knows nothing of kernels, files or LLVM's library.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path


@dataclass(frozen=True)
class Processor:
    """A level of instructions.

    :param name: names the files of its machine code.
    :param triple: LLVM's name of the machine.
    :param cpu: LLVM's name of the processor.
    :param features: LLVM's features of it.
    """

    name: str
    triple: str
    cpu: str
    features: str = ""


BASELINE = Processor("x86-64", "x86_64-unknown-linux-gnu", "x86-64")
AVX2 = Processor("x86-64-v3", "x86_64-unknown-linux-gnu", "x86-64-v3")
# The register x18 belongs to the system on macOS, where this code runs as well: nothing else in it depends on the system.
ARM = Processor("aarch64", "aarch64-unknown-linux-gnu", "generic", "+reserve-x18")
PROCESSORS = (BASELINE, AVX2, ARM)

_AVX2_FLAGS = frozenset(("avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe", "xsave"))
"""What Linux calls the features of ``x86-64-v3`` that it found and enabled."""


@cache
def usable() -> tuple[Processor, ...]:
    """The levels whose code runs on this machine, the best one first; none on a machine that no code is made for."""
    if sys.maxsize < 1 << 32 or not hasattr(os, "uname"):
        return ()
    machine = os.uname().machine
    if sys.platform == "linux" and machine == "x86_64":
        return (AVX2, BASELINE) if _flags() >= _AVX2_FLAGS else (BASELINE,)
    if (sys.platform, machine) in (("linux", "aarch64"), ("darwin", "arm64")):
        return (ARM,)
    return ()


def _flags(path: Path = Path("/proc/cpuinfo")) -> frozenset[str]:
    """The features of the first processor, as Linux lists them; none where it does not."""
    try:
        lines = path.read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return frozenset()
    return frozenset(next((line.partition(":")[2] for line in lines if line.startswith("flags")), "").split())


__all__ = ["ARM", "AVX2", "BASELINE", "PROCESSORS", "Processor", "usable"]
