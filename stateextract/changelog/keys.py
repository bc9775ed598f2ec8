"""The key's type, where a snapshot does not say it.

Declarations have serializers of namespace and value only. Unless something was materialized or the operator has timers, the
key's is nowhere, and all that is left is trial: a serializer is right if every change is consumed to its last byte by it,
and every key hashes to the key group that its change is filed under. Only types that many jobs have as keys are tried. Some
of them cannot be distinguished, having the same bytes and hashes as a rarer type (``Long`` as ``Double`` or ``Date``, a type as
a ``Tuple1`` of it): the commoner one is taken, and the report says that it was found by trial.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa

from serializers import DescribeContext
from serializers.scalars import BASE
from stateextract.changelog.changed_states import LIST, MAP, MERGED, QUEUE, ChangedState, changed_state
from stateextract.changelog.declared import header_of, parse_changes_header, parse_declaration
from stateextract.changelog.records import METADATA_GROUP, Change, Operation
from stateextract.columnar.interpreter import interpret
from stateextract.errors import StateExtractError, UndecodableError
from stateextract.state.keys.key_groups import key_groups

SAMPLE = 20_000
"""Most changes that are looked at."""

_KEYS = 2_000
_LEAST_EVIDENCE = 100  # one in so many wrong types may pass by chance
_ENOUGH = _LEAST_EVIDENCE.bit_length()  # keys that are evidence enough in any operator of two key groups or more
_HEAD = 3

_ROW = "org.apache.flink.table.runtime.typeutils.BinaryRowDataSerializer$BinaryRowDataSerializerSnapshot"


def _simple(name: str) -> bytes:
    return _snapshot(f"{BASE}{name}Serializer${name}SerializerSnapshot")


def _snapshot(class_name: str, payload: bytes = b"") -> bytes:
    text = class_name.encode()
    return struct.pack(">iH", 2, len(text)) + text + struct.pack(">i", 3) + payload


_CANDIDATES = {
    **{name: _simple(name) for name in ("String", "Long", "Int", "Short", "Byte", "Boolean")},
    "BinaryRowData": _snapshot(_ROW, bytes(4)),
}


@dataclass(frozen=True)
class FoundKey:
    """A key's serializer that was found by trial.

    :param snapshot: in its proxy; :param name: of the serializer.
    :param keys: different keys that bear it out; :param changes: changes that do.
    """

    snapshot: bytes
    name: str
    keys: int
    changes: int


def find_key(logs: Iterable[Iterable[Change]], max_parallelism: int) -> FoundKey | None:
    """The serializer of an operator's keys, by trial.

    :param logs: the changes of its subtasks.
    :returns: ``None`` where none of the candidates is right, several are, or too few keys bear it out.
    """
    tried = [list(_sample(log)) for log in logs]
    found = [f for name in _CANDIDATES if (f := _try(name, tried, max_parallelism)) is not None]
    if len(found) != 1 or max_parallelism ** min(found[0].keys, _ENOUGH) < _LEAST_EVIDENCE:
        return None
    return found[0]


def _sample(log: Iterable[Change]) -> Iterable[Change]:
    for number, change in enumerate(log):
        if number == SAMPLE:
            return
        yield change


def _try(name: str, logs: list[list[Change]], max_parallelism: int) -> FoundKey | None:
    key = _CANDIDATES[name]
    seen: dict[bytes, int] = {}
    changes = 0
    try:
        for log in logs:
            bound: dict[int, ChangedState] = {}
            for change in log:
                if change.key_group == METADATA_GROUP:
                    declaration = parse_declaration(change.data)
                    header = parse_changes_header(header_of(key, [declaration.data]))
                    bound[declaration.state_id] = changed_state(header, header.states[0], DescribeContext())
                    continue
                state = bound[struct.unpack_from(">h", change.data, 1)[0]]
                if state.shape == QUEUE:
                    continue
                key_end = state.key(change.data, _HEAD, len(change.data))
                if not _fits(state, change.data, key_end):
                    return None
                keyed = state
                changes += 1
                key_bytes = change.data[_HEAD:key_end]
                if seen.setdefault(key_bytes, change.key_group) != change.key_group:
                    return None
        evidence = 0
        for key_bytes, group in list(seen.items())[:_KEYS]:
            groups = _groups_of(keyed, key_bytes, max_parallelism)
            if groups is not None and group not in groups:
                return None
            evidence += groups is not None
    except (StateExtractError, KeyError, struct.error):
        return None
    return FoundKey(key, name, evidence, changes) if evidence else None


def _fits(state: ChangedState, record: bytes, key_end: int) -> bool:
    """Whether the record ends where its parts do. What no serializer is known for takes what is left."""
    end = len(record)
    pos = state.namespace(record, key_end, end)
    operation = record[0]
    try:
        if operation == Operation.CLEAR:
            return pos == end
        if operation in (Operation.SET, Operation.SET_INTERNAL) or (
            operation == Operation.ADD and state.shape in (LIST, MAP)
        ):
            return state.value(record, pos, end) == end
        if operation == Operation.ADD_ELEMENT and state.shape == LIST:
            return state.element(record, pos, end) == end
        if operation == Operation.ADD_OR_UPDATE_ELEMENT and state.shape == MAP:
            return state.user_value(record, state.user_key(record, pos, end), end) == end
        if operation == Operation.REMOVE_ELEMENT and state.shape == MAP:
            return state.user_key(record, pos, end) == end
        if operation == Operation.MERGE_NS and state.shape in (LIST, MERGED):
            pos = state.namespace(record, pos, end)
            count = int.from_bytes(record[pos : pos + 4], "big")
            pos += 4
            while pos < end and count:
                pos, count = state.namespace(record, pos, end), count - 1
            return pos == end and not count
    except UndecodableError:
        return True
    return False


def _groups_of(state: ChangedState, key: bytes, max_parallelism: int) -> frozenset[int] | None:
    """The key groups that a key may be in; ``None`` of a text with U+FFFD, in the place of which may be a lone surrogate."""
    serializer = state.row.key_serializer
    layout = next(f.layout for f in state.row.layout.fields if f.name == "key")
    value, _ = interpret(layout, key, 0, len(key))
    assert serializer is not None
    return key_groups(pa.scalar(value, layout.arrow_type), serializer, max_parallelism)
