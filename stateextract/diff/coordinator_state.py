"""Coordinators' state of both snapshots: bytes without a type, so only whether they are equal is reported."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from stateextract.job.plan import Plan


@dataclass(frozen=True)
class CoordinatorPair:
    """What the coordinator of one operator keeps.

    :param before: how many bytes in the earlier snapshot, ``None`` where it has none; :param after: in the later one.
    :param equal: whether they are there in both, byte for byte.
    """

    operator: str
    operator_id: str
    before: int | None
    after: int | None
    equal: bool

    @property
    def outcome(self) -> str:
        """In a few words."""
        if self.before is None or self.after is None:
            return f"only the {'later' if self.before is None else 'earlier'} snapshot has it"
        if self.equal:
            return f"its {self.before:,} bytes are the same"
        return f"its bytes are not the same ({self.before:,} and {self.after:,})"

    def as_dict(self) -> dict[str, Any]:
        return {
            "operator_label": self.operator, "operator_id": self.operator_id, "bytes_before": self.before,
            "bytes_after": self.after, "equal": self.equal,
        }  # fmt: skip


def coordinator_pairs(before: Plan, after: Plan) -> Iterator[CoordinatorPair]:
    """Of each operator that has coordinator state in either snapshot, in the order of the later one."""
    one, other = ({str(c.entry.operator_id): c for c in plan.coordinators} for plan in (before, after))
    for operator in {**other, **one}:
        was, is_ = one.get(operator), other.get(operator)
        label = next(c.entry.label for c in (is_, was) if c is not None)
        yield CoordinatorPair(
            label, operator, None if was is None else len(was.data), None if is_ is None else len(is_.data),
            was is not None and is_ is not None and was.data == is_.data,
        )  # fmt: skip
