"""The keys of Beam's states: bytes that the key's coder wrote, which the key's own serializer does not tell.

Another state of the same file does: an operator with keys keeps elements that it could not take yet, and their coder is that of
its input, which has the key's coder in it. Beam's classes: ``FlinkKeyUtils``, ``adapter.FlinkKey`` (since 2.66 at the latest a
``Value`` of Flink that writes the same bytes), ``DoFnOperator``, ``WindowDoFnOperator``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from serializers.beam.coder_layouts import coder_layout
from serializers.beam.coder_snapshot import UNVERSIONED, coder_of
from serializers.beam.coders import Coder
from serializers.beam.varints import BYTES
from serializers.registry import SerializerSnapshot
from serializers.writables import VALUES
from stateextract.columnar.layout import undecodable_parts

_PUSHED_BACK = "pushed-back-elements"
_BYTES = "FlinkKeyUtils$ByteBufferCoder"
_FLINK_KEY = "org.apache.beam.runners.flink.adapter.FlinkKey"

VALUES[_FLINK_KEY] = BYTES


def key_coder(key: SerializerSnapshot, states: Iterable[tuple[str, SerializerSnapshot]]) -> Coder | None:
    """The coder of the keys; ``None`` where the keys are not Beam's, or no state tells it.

    :param key: the snapshot of the key's serializer.
    :param states: names and value serializers of the file's states.
    """
    if not _is_key(key):
        return None
    for name, value in states:
        if name == _PUSHED_BACK and value.nested:
            found = _key_of(coder_of(value.nested[0]))
            if found is not None and not undecodable_parts(coder_layout(found)):
                return found
    return None


def with_key_coder(snapshot: SerializerSnapshot, coder: Coder) -> SerializerSnapshot:
    """A snapshot in which keys have that coder: that of the keys, or of timers, whose first part are keys."""
    if _is_key(snapshot):
        return SerializerSnapshot(UNVERSIONED[0], 1, details={"coder": Coder(_BYTES), "key": coder})
    return replace(snapshot, nested=(with_key_coder(snapshot.nested[0], coder), *snapshot.nested[1:]))


def _is_key(snapshot: SerializerSnapshot) -> bool:
    coder = coder_of(snapshot)
    return snapshot.details.get("class") == _FLINK_KEY or (coder is not None and coder.name == _BYTES)


def _key_of(element: Coder | None) -> Coder | None:
    """The key's coder in that of a windowed element."""
    if element is None or not element.name.endswith("FullWindowedValueCoder"):
        return None
    value = element.parts[0]
    return value.parts[0] if value.name in ("KvCoder", "KeyedWorkItemCoder", "SingletonKeyedWorkItemCoder") else None
