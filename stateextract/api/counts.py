"""Numbers of rows that stand in the files, so that no entry has to be walked.

They stand there for elements of operator state's lists, each of which has an offset in ``_metadata``, and for the state that
comes first in the key groups of an uncompressed heap file, whose count stands in front of its entries. Where another state
comes first, or a map may be empty and its key no row, only walking tells.

Flink's classes: ``OperatorStateHandle.StateMetaInfo``, ``HeapSnapshotStrategy``.
"""

from __future__ import annotations

from stateextract.api.access import FileAccess
from stateextract.errors import StateExtractError
from stateextract.job.heads import StateFile
from stateextract.job.inventory import NamedState
from stateextract.state.body import BodyKind
from stateextract.state.head import KeyedHead

_HEAD = 10
"""Bytes in front of the first entry of a key group: its id, the id of the first state, the number of entries."""


def counts_in_files(access: FileAccess, state: NamedState) -> int | None:
    """The rows of a state as its files count them; ``None`` where they do not.

    :raises StateExtractError: where a file cannot be read.
    """
    total = 0
    for file in state.files:
        count = _elements(file, state) if state.scope == "operator" else _entries(access, file, state)
        if count is None:
            return None
        total += count
    return total


def _elements(file: StateFile, state: NamedState) -> int | None:
    if state.kind == "BROADCAST" or file.content is None:
        return None
    return sum(len(part.offsets) for part in file.content.partitions if part.name == state.name)


def _entries(access: FileAccess, file: StateFile, state: NamedState) -> int | None:
    head, content = file.head, file.content
    if not isinstance(head, KeyedHead) or content is None or head.compressed or content.changes is not None:
        return None
    if content.form is not BodyKind.HEAP or state.kind == "MAP":
        return None
    total = 0
    try:
        with access.opened(file) as read_at:
            for r in content.ranges:
                start = read_at(r.start, _HEAD)
                count = int.from_bytes(start[6:], "big", signed=True)
                if int.from_bytes(start[:4], "big", signed=True) != r.key_group or len(start) < _HEAD or count < 0:
                    return None  # damage, which a walk tells of
                state_id = int.from_bytes(start[4:6], "big")
                if state_id >= len(head.states) or head.states[state_id].name != state.name:
                    return None
                total += count
    except StateExtractError as error:
        raise access.placed(error, file) from None
    return total


__all__ = ["counts_in_files"]
