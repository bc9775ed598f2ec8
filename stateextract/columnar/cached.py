"""Where compiled kernels are kept from one process to the next. Imports the standard library only."""

from __future__ import annotations

import hashlib
import os
import tempfile
from functools import cache
from pathlib import Path


@cache
def sources_hash() -> str:
    """Of all modules that a kernel is made of: another version must not run the kernels of this one."""
    here = Path(__file__).parent
    sources = sorted(here.glob("*.py")) + sorted(here.parent.glob("*/kernel.py"))
    return hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()[:16]


@cache
def cache_folder() -> str | None:
    """Where compiled kernels are kept: beside the package, else in the user's cache, else in a temporary folder.

    Numba looks only at the kernel's own file to see whether a cached kernel is current. The folder's name therefore holds
    the hash of all modules. ``NUMBA_CACHE_DIR`` wins.
    """
    if os.environ.get("NUMBA_CACHE_DIR"):
        return os.environ["NUMBA_CACHE_DIR"]
    name = f"kernels-{sources_hash()}"
    cached = os.environ.get("XDG_CACHE_HOME") or str(Path("~/.cache").expanduser())
    user = os.getuid() if hasattr(os, "getuid") else 0
    private = Path(tempfile.gettempdir()) / f"stateextract-{user}"
    for parent in (Path(__file__).parent / "__pycache__", Path(cached) / "stateextract", private):
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


__all__ = ["cache_folder", "sources_hash"]
