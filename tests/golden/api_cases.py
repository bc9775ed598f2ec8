"""Cases of what is built on Flink's streaming API: SQL, CEP, Avro, Scala."""

from __future__ import annotations

from dataclasses import replace

from tests.golden.case import CANONICAL, NATIVE, Case


def api_cases() -> list[Case]:
    """All of them: every version has a checkpoint and, of SQL, a canonical savepoint; RocksDB's own files are one."""
    return [*sql_cases(), *cep_cases(), *avro_cases(), *scala_cases()]


def sql_cases() -> list[Case]:
    """The job ``sqlcore`` has some of the queries of ``sql``."""
    core = Case("f120", "sqlcore", CANONICAL, max_parallelism=8)
    return [
        Case("f117", "sql", max_parallelism=8),
        replace(core, version="f117", compression=True),
        Case("f120", "sql", max_parallelism=8),
        core,
        replace(core, kind=NATIVE, backend="rocksdb"),
        Case("f23", "sql", compression=True, max_parallelism=8),
        replace(core, version="f23", max_parallelism=128),
    ]


def cep_cases() -> list[Case]:
    """Each version has a checkpoint and a canonical savepoint."""
    return [
        Case("f117", "cep", max_parallelism=8),
        Case("f117", "cep", CANONICAL, compression=True, max_parallelism=8),
        Case("f120", "cep", compression=True, max_parallelism=8),
        Case("f120", "cep", CANONICAL, max_parallelism=8),
        Case("f23", "cep", max_parallelism=8),
        Case("f23", "cep", CANONICAL, compression=True, max_parallelism=8),
    ]


def avro_cases() -> list[Case]:
    """Kept as they are and in the savepoint's own format, compressed and not."""
    return [
        Case("f117", "avro", compression=True, max_parallelism=8),
        Case("f117", "avro", CANONICAL, max_parallelism=8),
        Case("f120", "avro", max_parallelism=8),
        Case("f120", "avro", CANONICAL, compression=True, max_parallelism=8),
        Case("f23", "avro", compression=True, max_parallelism=8),
        Case("f23", "avro", CANONICAL, max_parallelism=8),
    ]


def scala_cases() -> list[Case]:
    """Flink 2 has no Scala API."""
    return [
        Case("f113", "scala", max_parallelism=8),
        Case("f117", "scala", compression=True, max_parallelism=8),
        Case("f117", "scala", CANONICAL, max_parallelism=8),
        Case("f120", "scala", max_parallelism=8),
        Case("f120", "scala", CANONICAL, compression=True, max_parallelism=8),
        Case("f120", "scalakryo", max_parallelism=8),
    ]


__all__ = ["api_cases"]
