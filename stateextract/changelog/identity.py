"""Ids of rows: the bytes that identify materialized entries, as the current body has them.

An overlay calls its rows by the same bytes as the entries that they replace, so that these can be looked up as they are
read. Where a row is written anew, both forms give the key of a pair: ``u16 key group`` and what comes after it there.
"""

from __future__ import annotations

from dataclasses import dataclass

from serializers import is_fixed_length
from stateextract.changelog.changed_states import ChangedState
from stateextract.errors import FormatError

GROUP_BYTES = 2
"""Bytes of the key group in pairs that are written anew."""


@dataclass(frozen=True)
class HeapIdentity:
    """``namespace · key``, as entries of heap bodies begin."""

    state: ChangedState
    lengths = False

    def of(self, group: int, key: bytes, namespace: bytes) -> bytes:
        """The id of a row."""
        return namespace + key

    def pair_key(self, group: int, row_id: bytes) -> bytes:
        end = self.state.namespace(row_id, 0, len(row_id))
        return group.to_bytes(GROUP_BYTES, "big") + row_id[end:] + row_id[:end]


@dataclass(frozen=True)
class PairIdentity:
    """``key group · key · [length] · namespace · [length]``, as keys of pairs begin.

    :param prefix: bytes of the key group; :param lengths: whether there are lengths.
    """

    prefix: int
    lengths: bool

    def of(self, group: int, key: bytes, namespace: bytes) -> bytes:
        """The id of a row.

        :raises FormatError: where the key group is larger than the operator's max parallelism allows.
        """
        if group >> 8 * self.prefix:
            raise FormatError(f"a change of key group {group}", expected=f"a number of {self.prefix} bytes")
        if self.lengths:
            key, namespace = key + _length(key), namespace + _length(namespace)
        return group.to_bytes(self.prefix, "big") + key + namespace

    def pair_key(self, group: int, row_id: bytes) -> bytes:
        return group.to_bytes(GROUP_BYTES, "big") + row_id[self.prefix :]


def _length(part: bytes) -> bytes:
    """As Flink appends it: the least significant byte first, until nothing is left."""
    size = len(part)
    return size.to_bytes(max((size.bit_length() + 7) // 8, 1), "little")


def pair_identity(state: ChangedState, prefix: int) -> PairIdentity:
    """The identity of a state's rows in pairs; see ``CompositeKeySerializationUtils``."""
    key, namespace = state.row.key_serializer, state.row.namespace_serializer
    lengths = key is not None and namespace is not None and not is_fixed_length(key) and not is_fixed_length(namespace)
    return PairIdentity(prefix, lengths)
