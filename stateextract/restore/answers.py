"""What comparing two serializer snapshots gives: an answer, and remarks on what Flink would do beyond it.

Flink's class: ``TypeSerializerSchemaCompatibility``. Plain values; imports nothing but the words.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import Final, Literal

from stateextract.outcome import Verdict


class Answer(IntEnum):
    """Flink's answers, and ``UNKNOWN`` where the inputs do not decide. A composite has the largest of its parts'."""

    AS_IS = 0
    RECONFIGURED = 1
    MIGRATION = 2
    UNKNOWN = 3
    INCOMPATIBLE = 4


class Phase(StrEnum):
    """When the user of the new job would see it."""

    SUBMIT = "submit"
    RESTORE = "restore"
    FIRST_READ = "first read"
    NEXT_CHECKPOINT = "next checkpoint"


Backend = Literal["hashmap", "rocksdb"]
BACKENDS: Final[tuple[Backend, ...]] = ("hashmap", "rocksdb")

_WEIGHT: Final = {
    Verdict.AS_IS: 0, Verdict.MIGRATED: 1, Verdict.LOSES: 2, Verdict.UNKNOWN: 3, Verdict.REFUSED: 4,
}  # fmt: skip


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """The verdict of a whole: a refusal is certain whatever else is not known, and nothing else is."""
    return max(verdicts, key=_WEIGHT.__getitem__, default=Verdict.AS_IS)


@dataclass(frozen=True)
class Remark:
    """One thing that was found.

    :param verdict: of what it is about, if nothing else were found.
    :param phase: when it shows; ``None``: never by itself.
    :param reason: in Flink's terms.
    :param advice: what to do.
    """

    verdict: Verdict
    phase: Phase | None
    reason: str
    advice: str = ""


@dataclass(frozen=True)
class Release:
    """A release of Flink, as far as it is known. ``minor`` is ``None`` where only the major version is known."""

    major: int
    minor: int | None = None

    @property
    def ttl_migrates(self) -> bool | None:
        """Whether TTL can be switched on or off; ``None``: not known of this release."""
        if self.major < 2:
            return False
        return True if self.minor is not None and self.minor >= 3 else None

    def __str__(self) -> str:
        return f"Flink {self.major}" + ("" if self.minor is None else f".{self.minor}")


@dataclass
class Findings:
    """Collects remarks while snapshots are compared.

    :param doubts: Kryo classes whose fields the class files do not show to be equal, with the reason. Values can.
    :param subclasses: POJO classes that values may have subclasses of which no snapshot lists.
    """

    remarks: list[Remark] = field(default_factory=list)
    doubts: dict[str, str] = field(default_factory=dict)
    subclasses: set[str] = field(default_factory=set)

    def add(self, verdict: Verdict, phase: Phase | None, reason: str, advice: str = "") -> None:
        """A remark, each once."""
        remark = Remark(verdict, phase, reason, advice)
        if remark not in self.remarks:
            self.remarks.append(remark)

    def incompatible(self, at: str, reason: str, advice: str = "") -> Answer:
        """The part at ``at`` is incompatible."""
        self.add(Verdict.REFUSED, Phase.RESTORE, f"{at}: {reason}", advice)
        return Answer.INCOMPATIBLE

    def unknown(self, at: str, reason: str, advice: str = "") -> Answer:
        """It is not known whether the part at ``at`` is compatible."""
        self.add(Verdict.UNKNOWN, None, f"{at}: {reason}", advice)
        return Answer.UNKNOWN

    def loses(self, at: str, reason: str, advice: str = "", phase: Phase | None = None) -> None:
        """Flink accepts the part at ``at``, and data is lost or changed."""
        self.add(Verdict.LOSES, phase, f"{at}: {reason}", advice)

    def include(self, other: Findings) -> None:
        """Add what others found."""
        self.remarks += [remark for remark in other.remarks if remark not in self.remarks]
        self.doubts |= other.doubts
        self.subclasses |= other.subclasses

    @property
    def verdict(self) -> Verdict:
        """The verdict of all remarks."""
        return worst(remark.verdict for remark in self.remarks)
