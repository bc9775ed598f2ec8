"""One state: its kind, its key and namespace, its value, by backend.

What Flink's backends check when a state is registered (``RegisteredKeyValueStateBackendMetaInfo``,
``DefaultOperatorStateBackend``), in that order. Takes what heads say of a state, and gives findings.
"""

from __future__ import annotations

from dataclasses import replace

from serializers.registry import SerializerSnapshot
from stateextract.outcome import Verdict
from stateextract.restore.answers import Answer, Phase
from stateextract.restore.compare_serializers import Comparer, label
from stateextract.state.header import KEY, NAMESPACE, VALUE, StateMeta

KEY_RULE = "the new key serializer must be compatible with the previous one"
_KEEP = "keep the state's name and kind, or copy its values in the job first"


def check_state(
    comparer: Comparer,
    old: StateMeta,
    new: StateMeta,
    keys: tuple[SerializerSnapshot, SerializerSnapshot] | None,
) -> None:
    """Compare a state with the new job's of the same name; what is found goes to the comparer's findings.

    :param keys: the serializers of the operator's keys, old and new, of keyed state.
    """
    if keys is not None:
        strict(comparer, keys[1], keys[0], "key", KEY_RULE)
    if old.kind != new.kind:
        if keys is None:
            text = f"IllegalStateException: Incompatible state assignment modes. Was [{old.kind}], registered with [{new.kind}]"
        else:
            text = f"IllegalStateException: Incompatible key/value state types. Was [{old.kind}], registered with [{new.kind}]"
        comparer.findings.add(Verdict.REFUSED, Phase.RESTORE, text, _KEEP)
        return
    if old.backend_type != new.backend_type:
        comparer.findings.unknown("state", f"{old.backend_type} became {new.backend_type}", "test the restore")
        return
    before, after = old.serializers, new.serializers
    if old.backend_type == "PRIORITY_QUEUE":
        strict(
            comparer, after[VALUE], before[VALUE], "timer", "the new priority queue serializer must not be incompatible"
        )
        return
    if keys is not None:
        what = "the new namespace serializer must be compatible with the old one"
        strict(comparer, after[NAMESPACE], before[NAMESPACE], "namespace", what)
    elif KEY in before and KEY in after:
        _compare(comparer, after[KEY], before[KEY], "key")
    if (
        old.kind == "MAP"
        and comparer.backend == "rocksdb"
        and len(before[VALUE].nested) == len(after[VALUE].nested) == 2
    ):
        what = "The new serializer for a MapState requires state migration, which currently only allows value schema evolutions"
        strict(comparer, after[VALUE].nested[0], before[VALUE].nested[0], "map key", what)
    _compare(comparer, after[VALUE], before[VALUE], "value")


def strict(comparer: Comparer, new: SerializerSnapshot, old: SerializerSnapshot, at: str, otherwise: str) -> None:
    """A part that admits no migration."""
    number = len(comparer.findings.remarks)
    answer = comparer.compare(new, old, at)
    if answer is Answer.INCOMPATIBLE:
        _named(comparer, number, otherwise)
    if answer is Answer.MIGRATION:
        why = "; ".join(r.reason for r in comparer.findings.remarks[number:]) or f"{label(old)} became {label(new)}"
        comparer.findings.remarks[number:] = []
        comparer.findings.add(
            Verdict.REFUSED, Phase.RESTORE, f"StateMigrationException: {otherwise}: {why}",
            "leave this type as it was",
        )  # fmt: skip


def _compare(comparer: Comparer, new: SerializerSnapshot, old: SerializerSnapshot, at: str) -> None:
    """A part that may be migrated."""
    number = len(comparer.findings.remarks)
    answer = comparer.compare(new, old, at)
    if answer is Answer.INCOMPATIBLE:
        _named(comparer, number, "the new state serializer must not be incompatible with the old one")
    if answer is Answer.MIGRATION:
        comparer.findings.add(Verdict.MIGRATED, Phase.RESTORE, "the serializers are compatible after migration")


def _named(comparer: Comparer, number: int, what: str) -> None:
    """Put Flink's exception before the refusals from that number on, which have none of their own."""
    remarks = comparer.findings.remarks
    for i, remark in enumerate(remarks[number:], number):
        if remark.verdict is Verdict.REFUSED and "Exception: " not in remark.reason:
            remarks[i] = replace(remark, reason=f"StateMigrationException: {what}: {remark.reason}")
