"""What describing may need next to the snapshot: facts of the whole checkpoint, and what the user adds.

A :class:`DescribeContext` is made once per snapshot and travels with the read options to every task. Plain, picklable
values; knows no bytes and no files.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from serializers.classes import ClassModels
from serializers.protobuf import NO_TYPES, ProtobufTypes
from serializers.sql_type import NameRule

Flavour = Literal[2, 5]

Partitions = frozenset[tuple[str, int]]
"""Topics with the numbers of their partitions, as an operator's coordinator lists them."""

NO_MODELS = ClassModels()
NO_PARTITIONS: Partitions = frozenset()

_FLINK_2 = 5  # the version of _metadata that Flink 2.0 began


@dataclass(frozen=True)
class DescribeContext:
    """Facts that no serializer snapshot holds.

    :param kryo: major version of the Kryo library that wrote the values; ``None``: not known.
    :param chill: Kryo 2 wrote with flink-scala on its class path, where it lies by default.
    :param class_models: the user's classes.
    :param kryo_first_id: number of the first class that the job registered with Kryo, for files that were written
        without Flink's own registrations; no cluster writes such.
    :param protobuf: the user's Protobuf messages.
    :param names: of fields, for all operators.
    :param rules: those of the current operator.
    :param coordinators: the partitions that operators' coordinators list, by the operator's id; the evidence for splits.
    :param listed: those of the current operator.
    """

    kryo: Flavour | None = None
    class_models: ClassModels = NO_MODELS
    kryo_first_id: int | None = None
    names: tuple[NameRule, ...] = ()
    rules: tuple[NameRule, ...] = ()
    chill: bool = True
    protobuf: ProtobufTypes = NO_TYPES
    coordinators: tuple[tuple[str, Partitions], ...] = ()
    listed: Partitions = NO_PARTITIONS

    def of_operator(self, operator_id: str) -> DescribeContext:
        """The context with the names for one operator, and the partitions that its coordinator lists."""
        if not (self.names or self.coordinators):
            return self
        rules = tuple(r for r in self.names if r.operator == operator_id)
        return replace(self, rules=rules, listed=dict(self.coordinators).get(operator_id, NO_PARTITIONS))


def flavour_of(metadata_version: int) -> Flavour:
    """Kryo's major version by the version of ``_metadata``: Flink 1 has Kryo 2, Flink 2 has Kryo 5."""
    return 5 if metadata_version >= _FLINK_2 else 2
