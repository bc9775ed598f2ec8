"""One snapshot of the golden data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

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
    changelog: str | None = None
    phases: tuple[int, int] | None = None
    checkpoints_from: int = 1
    pause_ms: int = 0
    flink_options: Mapping[str, str] = field(default_factory=dict, hash=False)

    @property
    def name(self) -> str:
        words = [self.version, self.job, self.kind.removesuffix("-savepoint")]
        words += [self.backend] if self.backend != "hashmap" else []
        words += ["snappy"] if self.compression else []
        words += [self.suffix] if self.suffix else []
        return "-".join(words)

    def line(self) -> str:
        options: dict[str, object] = {
            "name": self.name,
            "job": self.job,
            "kind": self.kind,
            "compression": str(self.compression).lower(),
            "parallelism": self.parallelism,
            "max_parallelism": self.max_parallelism,
            "storage": self.storage,
            "backend": self.backend,
            "pause": self.pause_ms,
            "checkpoints_from": self.checkpoints_from,
        }
        first, last = self.phases or ((2, 2) if self.restored else (1, 1))
        options |= {"first_phase": first, "last_phase": last}
        options |= {f"flink.{key}": value for key, value in self.flink_options.items()}
        options |= {"from": self.restored} if self.restored else {}
        options |= {"changelog": self.changelog} if self.changelog else {}
        return "\t".join(f"{key}={value}" for key, value in options.items())
