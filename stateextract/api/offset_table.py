"""Where a job reads on in Kafka: the offsets that the sources of a snapshot keep, one row for each partition.

Depends on the states of a snapshot as rows, and on the forms of Kafka's payloads (``serializers/connectors/kafka.py``). The
state of FlinkKafkaConsumer is a union list of pairs (``FlinkKafkaConsumerBase``), and its offset is that of the last record
read; KafkaSource keeps the offset of the next record.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from serializers.connectors import evidence_of, shapes_of, untyped_reason
from serializers.connectors.kafka import COMMITTED, EARLIEST, LATEST
from stateextract.doors import api_door
from stateextract.errors import StateExtractError
from stateextract.outcome import Status
from stateextract.printable import pluralize, replaced

if TYPE_CHECKING:
    from stateextract.api.snapshot import Operator, Snapshot
    from stateextract.api.state import State

_I32, _I64, _TEXT = pa.int32(), pa.int64(), pa.string()

SCHEMA = pa.schema({
    "checkpoint_id": _I64, "operator_name": _TEXT, "operator_uid": _TEXT, "operator_id": _TEXT, "source": _TEXT,
    "source_index": _I32, "cluster_id": _TEXT, "topic": _TEXT, "partition": _I32, "subtask": _I32, "assigned": pa.bool_(),
    "next_offset": _I64, "start_offset": _I64, "start_offset_name": _TEXT, "stop_offset": _I64, "stop_offset_name": _TEXT,
    "status": _TEXT, "reason": _TEXT,
})  # fmt: skip
"""The columns of the table."""

_READERS, _CONSUMERS = "SourceReaderState", "topic-partition-offset-states"
"""The states that may have offsets: of the new sources, and of FlinkKafkaConsumer."""
_ENUMERATORS = {"kafka_enumerator": "KafkaSource", "dynamic_kafka_enumerator": "DynamicKafkaSource"}
_SPLITS = {"kafka_split": "KafkaSource", "dynamic_kafka_split": "DynamicKafkaSource"}
_WRAPPERS = ("hybrid_split", "hybrid_enumerator")

_NAMES = {LATEST: "LATEST", EARLIEST: "EARLIEST", COMMITTED: "COMMITTED"}
_NOT_SET = "NOT_SET"
_SENTINELS = {
    -915623761776: _NOT_SET, -915623761775: "EARLIEST", -915623761774: "LATEST", -915623761773: "COMMITTED",
}  # fmt: skip
"""``KafkaTopicPartitionStateSentinel``."""
_FINISHED = "no subtask has the split of the partition, so it was read to its end"


def kafka_offsets(snapshot: Snapshot, operators: tuple[Operator, ...]) -> Iterator[dict[str, Any]]:
    """The rows of these operators, in the order of their labels."""
    for operator in sorted(operators, key=lambda o: (o.label, o.id)):
        empty = dict.fromkeys(SCHEMA.names) | {
            "checkpoint_id": snapshot.checkpoint_id, "operator_name": _arrow_text(operator.name),
            "operator_uid": _arrow_text(operator.uid), "operator_id": operator.id,
        }  # fmt: skip
        for row in _Source(operator).rows():
            yield empty | row


@dataclass
class _Source:
    """One operator, which may be a source.

    :param found: the partitions that have a row, with their cluster.
    :param others: whether there are splits of other connectors.
    :param unread: whether splits may be missing, because something could not be read.
    """

    operator: Operator
    found: set[tuple[str | None, str, int]] = field(default_factory=set)
    others: bool = False
    unread: bool = False

    def rows(self) -> Iterator[dict[str, Any]]:
        """The rows of the operator: partitions first, then problems."""
        rows = [row for state in self._states() for row in self._rows_of(state)]
        rows += self._of_coordinator()
        yield from sorted(rows, key=lambda r: (r["status"] != Status.DECODED, *(_sortable(r[c]) for c in _ORDER)))

    def _states(self) -> list[State]:
        # A state without a name may be any of the operator's.
        found = [s for s in self.operator.states if s.scope == "operator" and s.name in (_READERS, _CONSUMERS, "")]
        return [state._as_stored() for state in found]

    def _rows_of(self, state: State) -> Iterator[dict[str, Any]]:
        try:
            yield from self._consumer(state) if state.name == _CONSUMERS else self._splits(state)
        except StateExtractError as error:
            yield self._problem(error.status, str(error.worded(api_door())))
            return
        coverage = state.coverage
        if coverage.status != Status.DECODED:
            yield self._problem(coverage.status, coverage.reason)

    def _problem(self, status: Status, reason: str | None) -> dict[str, Any]:
        self.unread = True
        return _row(status=status, reason=_arrow_text(reason))

    def _splits(self, state: State) -> Iterator[dict[str, Any]]:
        """A row for each split of Kafka that the readers have, and one for all payloads of a version that may be Kafka's."""
        unknown: Counter[int | None] = Counter()
        for value, subtask in _values(state):
            forms = [name for name, part in value.items() if part is not None and name not in ("bytes", "version", *_WRAPPERS)]
            if not forms:
                unknown[value["version"]] += 1
            for name in forms:
                if name in _SPLITS:
                    hybrid = value["hybrid_split"] or {}
                    yield self._split(_SPLITS[name], value[name], subtask, hybrid.get("source_index"))
                else:
                    self.others = True
        coordinator = self.operator.coordinator
        enumerator = None if coordinator is None else evidence_of(coordinator["bytes"]).enumerator
        if enumerator is not None and enumerator not in _ENUMERATORS:
            self.others = True
            return
        for version, count in unknown.items():
            reason = f"{pluralize(count, 'split')} of version {version}: the form is not known, and it may be of any connector"
            yield self._problem(Status.RAW, reason)

    def _split(self, source: str, split: dict[str, Any], subtask: int | None, index: int | None) -> dict[str, Any]:
        self.found.add((split.get("cluster_id"), split["topic"], split["partition"]))
        return _row(source=source, source_index=index, subtask=subtask, assigned=True) | _place(split) | _offsets(split)

    def _consumer(self, state: State) -> Iterator[dict[str, Any]]:
        for value, subtask in _values(state):
            partition, last = value["f0"], value["f1"]
            name = _SENTINELS.get(last)
            yield _row(
                source="FlinkKafkaConsumer", topic=partition["topic"], partition=partition["partition"], subtask=subtask,
                assigned=True, start_offset=last, start_offset_name=name, next_offset=last + 1 if name is None else None,
            )  # fmt: skip

    def _of_coordinator(self) -> Iterator[dict[str, Any]]:
        """Partitions that no subtask has: those that are not assigned yet, and those that were read to their end."""
        value = self.operator.coordinator
        if value is None:
            return
        if value["version"] is None:
            # Operators that are not sources have coordinators, too, but no splits.
            if any(state.name == _READERS for state in self.operator.states) and not self.others:
                reason = "the coordinator's bytes cannot be read; partitions that are not assigned may be in them"
                yield self._problem(Status.RAW, reason)
            return
        if untyped_reason(value) is not None:
            # Kafka's own that are not named list no partition, or (version 1) only those that are assigned.
            known = self.others or (self.unread and not self.found) or shapes_of(value["bytes"]) & _ENUMERATORS.keys()
            if not known:
                yield self._problem(Status.RAW, f"{untyped_reason(value)}; partitions that are not assigned may be in them")
            # The splits show that it is Kafka's.
            listed = evidence_of(value["bytes"]).partitions if self.found else ()
            yield from self._listed("KafkaSource", {"partitions": [_assigned(*pair) for pair in listed]}, None)
            return
        index = (value["hybrid_enumerator"] or {}).get("source_index")
        for name, source in _ENUMERATORS.items():
            if value[name] is not None:
                for cluster in value[name].get("clusters", [value[name]]):
                    yield from self._listed(source, cluster, index)

    def _listed(self, source: str, enumerator: dict[str, Any], index: int | None) -> Iterator[dict[str, Any]]:
        cluster = enumerator.get("cluster_id")
        for partition in enumerator["partitions"]:
            if (cluster, partition["topic"], partition["partition"]) in self.found:
                continue
            row = _row(source=source, source_index=index, assigned=partition["assigned"]) | _place(partition)
            row["cluster_id"] = cluster
            if not partition["assigned"]:
                yield row | _offsets(partition)
            elif not self.unread:
                yield row | {"reason": _FINISHED}


def _arrow_text(text: str | None) -> str | None:
    """Text without lone surrogates, which names of operators can have and Arrow does not take."""
    return None if text is None else replaced(text)


def _assigned(topic: str, partition: int) -> dict[str, Any]:
    return {"topic": topic, "partition": partition, "assigned": True}


_ORDER = ("source", "source_index", "cluster_id", "topic", "partition", "subtask")


def _sortable(value: Any) -> tuple[bool, Any]:
    return value is None, "" if value is None else value


def _values(state: State) -> Iterator[tuple[dict[str, Any], int | None]]:
    """The values of a state with their subtasks, without the bytes of payloads."""
    for batch in state.to_batches():
        subtasks = batch.column("subtask").to_pylist() if "subtask" in batch.schema.names else [None] * batch.num_rows
        yield from zip(batch.column("value").to_pylist(), subtasks, strict=True)


def _row(**values: Any) -> dict[str, Any]:
    return dict.fromkeys(SCHEMA.names[4:]) | {"status": Status.DECODED} | values


def _place(split: dict[str, Any]) -> dict[str, Any]:
    return {"cluster_id": split.get("cluster_id"), "topic": split["topic"], "partition": split["partition"]}


def _offsets(split: dict[str, Any]) -> dict[str, Any]:
    start, stop = split["starting_offset"], split["stopping_offset"]
    return {
        "start_offset": start, "start_offset_name": _NOT_SET if start is None else _NAMES.get(start),
        "next_offset": start if start is not None and start >= 0 else None, "stop_offset": stop,
        "stop_offset_name": None if stop is None else _NAMES.get(stop),
    }  # fmt: skip
