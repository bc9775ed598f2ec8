"""The job ``changes``, taken in every kind of snapshot that a version of Flink can take."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import chain
from types import MappingProxyType

from tests.golden.case import CANONICAL, NATIVE, Case

PHASES = (1, 6)
"""With checkpoints between them, RocksDB flushes behind each, and compacts the first four files of a level."""

LATER_PHASES = (7, 8)
"""Of jobs that are restored."""

NOTHING: Mapping[str, str] = MappingProxyType({})
INCREMENTAL = {"state.backend.incremental": "true", "execution.checkpointing.incremental": "true"}
# Without it, a restored job's first checkpoint refers to nothing of what it was restored from (since Flink 1.15).
CLAIM = {"execution.savepoint-restore-mode": "CLAIM", "execution.state-recovery.claim-mode": "CLAIM"}
HEAP_TIMERS = {"state.backend.rocksdb.timer-service.factory": "HEAP"}
BLOOM_FILTERS = {"state.backend.rocksdb.use-bloom-filter": "true"}
SMALL_BLOCKS = {"state.backend.rocksdb.block.blocksize": "256 b"}
LEVEL_COMPRESSION = {"state.backend.rocksdb.compression.per.level": "LZ4_COMPRESSION;ZSTD_COMPRESSION;NO_COMPRESSION"}
PARTITIONED_INDEX = {
    "state.backend.rocksdb.memory.managed": "true",
    "state.backend.rocksdb.memory.partitioned-index-filters": "true",
}
# Options moved from the second to the first between versions, but for dstl's, which had no prefix.
CHANGELOG_PREFIXES = ("state.changelog.", "state.backend.changelog.")
# Without limits to its memory RocksDB flushes when there is a checkpoint, and not when it feels like it.
UNMANAGED = {"state.backend.rocksdb.memory.managed": "false", "state.backend.rocksdb.writebuffer.size": "256 kb"}


def _changelog(case: Case, storage: str, materialized: bool = False, compression: bool = False) -> Case:
    """The case with a changelog whose backend is never materialized, or is before the last phase.

    :param compression: of the changelog's files, which is not that of the state.
    """
    options = {
        "storage": storage,
        "periodic-materialize.interval": "2 s" if materialized else "1 h",
        "dstl.dfs.base-path": "{checkpoints}",
        "dstl.dfs.compression.enabled": str(compression).lower(),
        "enabled": "true",
    }
    named = {prefix + key: value for key, value in options.items() for prefix in CHANGELOG_PREFIXES}
    named |= {key: value for key, value in options.items() if key.startswith("dstl.")}
    pause = 5000 if materialized else 0
    return replace(case, changelog=storage, pause_ms=pause, flink_options={**case.flink_options, **named})


def backend_cases() -> list[Case]:
    """The cases of all versions."""
    return list(chain(*map(_of_version, ("f113", "f117", "f120", "f23"))))


def _of_version(version: str) -> Iterator[Case]:
    heap = Case(version, "changes", max_parallelism=16, phases=PHASES, checkpoints_from=5)
    rocksdb = replace(heap, backend="rocksdb", flink_options=UNMANAGED)

    def of(case: Case, kind: str = "checkpoint", suffix: str = "", options: Mapping[str, str] = NOTHING) -> Case:
        return replace(case, kind=kind, suffix=suffix, flink_options={**case.flink_options, **options})

    wide = {"max_parallelism": 200}
    double = replace(heap, parallelism=2)
    yield double
    yield replace(of(double, CANONICAL), compression=version == "f117", **wide)
    yield replace(of(rocksdb, CANONICAL), compression=version == "f120", **wide)
    if version != "f120":
        heap_timers = of(rocksdb, suffix="heap-timers", options=HEAP_TIMERS | BLOOM_FILTERS)
        yield replace(heap_timers, compression=version == "f23")
    incremental = of(rocksdb, suffix="incremental", options=INCREMENTAL | SMALL_BLOCKS)
    if version == "f23":
        incremental = of(incremental, suffix="incremental", options=LEVEL_COMPRESSION)
    yield replace(incremental, checkpoints_from=1, **wide)
    yield from _restored(version, replace(incremental, **wide))
    if version == "f113":
        return
    yield replace(of(double, NATIVE), compression=version == "f120")
    native = of(rocksdb, NATIVE, "incremental", INCREMENTAL | PARTITIONED_INDEX)
    yield native
    if version == "f23":
        claiming = of(rocksdb, suffix="incremental-claimed-savepoint", options=INCREMENTAL | CLAIM)
        yield replace(claiming, restored=native.name, phases=LATER_PHASES)
    storage = "memory" if version == "f117" else "filesystem"
    for base in (heap, rocksdb):
        if base is heap or version == "f120":
            yield _changelog(of(base, suffix="changelog"), storage)
        materialized = of(base, suffix="changelog-materialized", options=INCREMENTAL)
        yield _changelog(materialized, storage, materialized=True)
        if version == "f23":
            # A changelog takes no full snapshot, so it has to claim what it is restored from.
            later = of(materialized, suffix="changelog-rescaled", options=CLAIM)
            later = replace(later, parallelism=2, restored=materialized.name, phases=LATER_PHASES)
            yield _changelog(later, storage)
    if version == "f117":
        return
    yield _changelog(of(heap, suffix="changelog-in-memory"), "memory")
    yield _changelog(of(double, suffix="changelog-compressed"), storage, compression=True)
    yield replace(double, storage="merged", suffix="merged")
    yield replace(of(rocksdb, suffix="incremental-merged", options=INCREMENTAL), storage="merged")


def _restored(version: str, incremental: Case) -> Iterator[Case]:
    """Incremental checkpoints of jobs that were restored from one, and saw two more phases."""
    later = replace(incremental, restored=incremental.name, phases=LATER_PHASES, checkpoints_from=LATER_PHASES[0])
    if version != "f117":
        yield replace(later, suffix="incremental-rescaled", parallelism=2)
    if version == "f113":
        return
    yield replace(later, suffix="incremental-claimed", flink_options={**incremental.flink_options, **CLAIM})
    if version == "f23":
        yield replace(later, suffix="incremental-restored")


__all__ = ["backend_cases"]
