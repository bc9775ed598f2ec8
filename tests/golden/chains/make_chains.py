#!/usr/bin/env python3
"""Makes the chains of incremental checkpoints anew: one archive each, with all checkpoints of a job and of its next runs.

Needs what ``tests/golden/generate.py`` needs, and takes a minute. Usage::

    tests/golden/chains/make_chains.py [--work FOLDER] [--only SUBSTRING]
"""

from __future__ import annotations

import argparse
import lzma
import os
import sys
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[2]))

from tests.golden.backends import CLAIM, INCREMENTAL  # noqa: E402
from tests.golden.case import Case  # noqa: E402
from tests.golden.generate import JOBS, OPENED, VERSIONS, Batch, class_path, compile_jobs, run  # noqa: E402

SMALL = {
    "block.blocksize": "256 b",
    "compaction.level.max-size-level-base": "16 kb",
    "compaction.level.target-file-size-base": "4 kb",
    "writebuffer.size": "64 kb",
    "memory.managed": "false",
}
"""Options of both databases, below ``state.backend.rocksdb`` and ``state.backend.forst``: several files in several levels."""


@dataclass(frozen=True)
class Chain:
    """Runs of one job, each restored from the last checkpoint of the one before.

    :param library: profile in ``jobs/pom.xml``.
    """

    name: str
    library: str
    runs: Sequence[Case]


def chains() -> list[Chain]:
    """All of them."""
    made = [_chain(f"{version}-rocksdb", version, "rocksdb", "backends") for version in ("f120", "f23")]
    forst = _chain("f23-forst", "f23", "forst", "forst")
    return [*made, forst, replace(forst, name="f23-forst-async", runs=[replace(run, job="asyncchain") for run in forst.runs])]


def _chain(name: str, version: str, backend: str, library: str, more: Mapping[str, str] | None = None) -> Chain:
    """Eight checkpoints of a job, one of it as it was restored, and three of it at another parallelism."""
    options = (
        {f"state.backend.{backend}.{key}": value for key, value in SMALL.items()} | INCREMENTAL | CLAIM | (more or {})
    )
    first = Case(version, "chain", parallelism=2, max_parallelism=12, backend=backend, phases=(1, 8),
                 suffix=f"{name}-first", flink_options=options)  # fmt: skip
    again = replace(first, phases=(9, 10), suffix=f"{name}-again")
    rescaled = replace(first, phases=(11, 13), suffix=f"{name}-rescaled", parallelism=3)
    return Chain(name, library, (first, again, rescaled))


def make(chain: Chain, work: Path) -> None:
    """Run a chain's jobs, and keep what they wrote."""
    version = chain.runs[0].version
    jars = class_path(VERSIONS[version], chain.library)
    classes = compile_jobs(VERSIONS[version], jars, Batch(version, chain.library, "new"))
    listing = JOBS / "target" / "chain.txt"
    listing.write_text("".join(case.line() + "\n" for case in chain.runs))
    folder = work / chain.name
    made = JOBS / "target" / chain.name
    temporary = work / "tmp"
    temporary.mkdir(exist_ok=True, parents=True)
    opened = [f"--add-opens=java.base/{package}=ALL-UNNAMED" for package in OPENED]
    path = os.pathsep.join([str(classes), str(JOBS / "src" / "resources"), jars])
    java = ["java", "-Xmx512m", "-XX:+UseSerialGC", "-Duser.timezone=UTC", f"-Djava.io.tmpdir={temporary}", *opened]
    run([*java, "-cp", path, "golden.Chain", str(listing), str(folder), str(made)])
    pack(made, HERE / f"{chain.name}.tar.xz")


def pack(folder: Path, archive: Path) -> None:
    """All files of a folder, in an order that is always the same, without times and owners."""
    buffer = BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            entry = tarfile.TarInfo(str(path.relative_to(folder)))
            data = path.read_bytes()
            entry.size = len(data)
            tar.addfile(entry, BytesIO(data))
    archive.write_bytes(lzma.compress(buffer.getvalue(), preset=9 | lzma.PRESET_EXTREME))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--work", type=Path, default=Path("/flink"), help="where Flink writes (default: %(default)s)")
    parser.add_argument("--only", default="", help="only the chains with this text in their name")
    arguments = parser.parse_args()
    for chain in chains():
        if arguments.only in chain.name:
            make(chain, arguments.work)
    return 0


if __name__ == "__main__":
    sys.exit(main())
