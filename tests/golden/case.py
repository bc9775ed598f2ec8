"""One snapshot of the golden data."""

from __future__ import annotations

from dataclasses import dataclass

NATIVE = "native-savepoint"
CANONICAL = "canonical-savepoint"


@dataclass(frozen=True)
class Case:
    """One snapshot; the fields are those of ``Case.java``."""

    version: str
    job: str
    kind: str = "checkpoint"
    compression: bool = False
    parallelism: int = 1
    max_parallelism: int = 128
    storage: str = "file"
    backend: str = "hashmap"
    restored: str | None = None
    suffix: str = ""

    @property
    def name(self) -> str:
        words = [self.version, self.job, self.kind.removesuffix("-savepoint")]
        words += [self.backend] if self.backend != "hashmap" else []
        words += ["snappy"] if self.compression else []
        words += [self.suffix] if self.suffix else []
        return "-".join(words)

    def line(self) -> str:
        options = {
            "name": self.name,
            "job": self.job,
            "kind": self.kind,
            "compression": str(self.compression).lower(),
            "parallelism": self.parallelism,
            "max_parallelism": self.max_parallelism,
            "storage": self.storage,
            "backend": self.backend,
        } | ({"from": self.restored} if self.restored else {})
        return "\t".join(f"{key}={value}" for key, value in options.items())
