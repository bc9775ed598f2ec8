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


@dataclass(frozen=True)
class Evidence:
    """What is known around a payload of a connector, and may say which connector wrote it.

    :param enumerator: name of the form that the coordinator of the same operator certainly has, such as ``kafka_enumerator``.
    :param partitions: that the coordinator of the same operator lists, if it has the shape of a Kafka enumerator's.
    :param split_id: of a split inside of HybridSource's, the id that is recorded next to it.
    :param subtask: of a committable, the subtask that the committer records next to it.
    """

    enumerator: str | None = None
    partitions: Partitions = NO_PARTITIONS
    split_id: str | None = None
    subtask: int | None = None


NO_EVIDENCE = Evidence()

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
    :param coordinators: what operators' coordinators say of their splits, by the operator's id.
    :param evidence: that of the current operator.
    """

    kryo: Flavour | None = None
    class_models: ClassModels = NO_MODELS
    kryo_first_id: int | None = None
    names: tuple[NameRule, ...] = ()
    rules: tuple[NameRule, ...] = ()
    chill: bool = True
    protobuf: ProtobufTypes = NO_TYPES
    coordinators: tuple[tuple[str, Evidence], ...] = ()
    evidence: Evidence = NO_EVIDENCE

    def of_operator(self, operator_id: str) -> DescribeContext:
        """The context with the names for one operator, and what its coordinator says of its splits."""
        if not (self.names or self.coordinators):
            return self
        rules = tuple(r for r in self.names if r.operator == operator_id)
        return replace(self, rules=rules, evidence=dict(self.coordinators).get(operator_id, NO_EVIDENCE))


def flavour_of(metadata_version: int) -> Flavour:
    """Kryo's major version by the version of ``_metadata``: Flink 1 has Kryo 2, Flink 2 has Kryo 5."""
    return 5 if metadata_version >= _FLINK_2 else 2
