"""Rows: which layout an entry of a state has, from the head of its file.

The layout is that of the *heap* body's entries, because it holds the whole of a state in one value: namespace, key,
value; for timers timestamp, key, namespace. Other bodies hold the same parts in other orders and take them out of here,
so that the same state gives the same columns whichever way the snapshot was taken.

A namespace without meaning (``VoidNamespace``, a global window) is skipped and makes no column.
May import heads, ``serializers`` and layouts; knows no bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import pyarrow as pa

from serializers import DescribeContext, SerializerSnapshot, describe
from serializers.field_names import named_row
from serializers.ttl import is_ttl, unwrapped
from serializers.windows import TIMESTAMP
from stateextract.columnar.layout import Field, Layout, Null, Skip, Struct, Undecodable
from stateextract.columnar.layout.binary import BinaryRow
from stateextract.derived import derived
from stateextract.errors import FormatError
from stateextract.state.header import KEY, NAMESPACE, VALUE, KeyedHeader, OperatorHeader, StateMeta
from stateextract.state.window_columns import mapping_state, readable_value, window_columns


@dataclass(frozen=True)
class RowLayout:
    """The layout of a state's entries.

    :param name: the state's name.
    :param kind: as in :class:`StateMeta`.
    :param layout: the struct in wire order of a heap entry: ``namespace``, ``key``, ``value``; for timers
        ``timestamp``, ``key``, ``namespace``; for operator state ``value``, or ``key``, ``value``.
    :param ttl: the state has a time to live: its value, or the elements or values inside, are
        ``struct<last_access, value>``.
    :param undecodable: the parts that no decoder can decode, each once.
    :param key_serializer: snapshot of the keys; absent for lists of operator state.
    :param namespace_serializer: snapshot of the namespaces; absent for queues that hold no timers.
    :param value_serializer: snapshot of the whole value (for timers: of the timer).
    :param sessions: the mapping state that has the sessions, where the namespaces are state windows of those.
    """

    name: str
    kind: str
    layout: Struct
    ttl: bool
    undecodable: tuple[Undecodable, ...]
    key_serializer: SerializerSnapshot | None
    namespace_serializer: SerializerSnapshot | None
    value_serializer: SerializerSnapshot
    sessions: str | None = None

    @property
    def splits_ttl(self) -> bool:
        """The value itself is ``struct<last_access, value>``, to be shown as two columns."""
        return self.ttl and is_ttl(self.value_serializer)

    @property
    def window_columns(self) -> tuple[str, ...]:
        """Names of the columns that say the window, where the namespace is one."""
        return window_columns(self.name, self.key_serializer, self.namespace_serializer)

    @property
    def schema(self) -> pa.Schema:
        """The Arrow schema of the entries, before any splitting."""
        return pa.schema(
            [pa.field(f.name, f.layout.arrow_type) for f in self.layout.fields if f.layout.arrow_type is not None]
        )


def row_layout(header: KeyedHeader | OperatorHeader, meta: StateMeta, context: DescribeContext | None = None) -> RowLayout:
    """The layout of the entries of one state of a file.

    :param context: what the serializers' snapshots do not say.
    """
    context = context or DescribeContext()
    if isinstance(header, OperatorHeader):
        return operator_row_layout(meta, context)
    return derived(meta, "row", (header, context), lambda: _keyed_row_layout(header, meta, context))


def _keyed_row_layout(header: KeyedHeader, meta: StateMeta, context: DescribeContext) -> RowLayout:
    value = unwrapped(meta.serializers[VALUE])
    namespace: SerializerSnapshot | None
    fields: tuple[Field, ...]
    if meta.backend_type == "PRIORITY_QUEUE":
        if meta.kind == "TIMER":
            key, namespace = _pair(value)
            fields = (
                Field("timestamp", TIMESTAMP),
                Field("key", _key(key, context)),
                Field("namespace", _namespace(namespace, context)),
            )
        else:
            key, namespace = header.key_serializer, None
            fields = (Field("value", describe(value, context)),)
        return _row(meta, fields, False, key, namespace, value, context)
    key, namespace = header.key_serializer, meta.serializers.get(NAMESPACE)
    if namespace is None:
        # Operator state has none, and may be only in heads of operator state.
        raise FormatError(f"the state {meta.name!r} has no namespace serializer", expected=NAMESPACE, state=meta.name)
    fields = (
        Field("namespace", _namespace(namespace, context)),
        Field("key", _key(key, context)),
        Field("value", readable_value(meta.name, value, describe(value, context))),
    )
    row = _row(meta, fields, _has_ttl(meta.kind, value), key, namespace, value, context)
    others = {other.name: other.serializers[VALUE] for other in header.states}
    return replace(row, sessions=mapping_state(meta.name, namespace, others))


def operator_row_layout(meta: StateMeta, context: DescribeContext | None = None) -> RowLayout:
    """The layout of what an operator state holds: an element of a list, an entry of a broadcast map."""
    context = context or DescribeContext()
    value = meta.serializers[VALUE]
    key = meta.serializers.get(KEY) if meta.backend_type == "BROADCAST" else None
    payload = None
    if meta.backend_type == "OPERATOR":
        from serializers.connectors import payload_layout  # keyed states have no payloads

        payload = payload_layout(meta.name, value, context.evidence)
    fields: tuple[Field, ...] = (Field("value", payload or describe(value, context)),)
    if meta.backend_type == "BROADCAST":
        if key is None:
            raise FormatError(f"the broadcast state {meta.name!r} has no key serializer", expected=KEY)
        fields = (Field("key", describe(key, context)), *fields)
    return _row(meta, fields, False, key, None, value, context)


def _row(
    meta: StateMeta,
    fields: tuple[Field, ...],
    ttl: bool,
    key: SerializerSnapshot | None,
    namespace: SerializerSnapshot | None,
    value: SerializerSnapshot,
    context: DescribeContext,
) -> RowLayout:
    layout = named_row(Struct(fields), meta.name, context.rules)
    parts = tuple(dict.fromkeys(undecodable_parts(layout)))
    return RowLayout(meta.name, meta.kind, layout, ttl, parts, key, namespace, value)


def _pair(timer: SerializerSnapshot) -> tuple[SerializerSnapshot, SerializerSnapshot]:
    if len(timer.nested) != 2:
        raise FormatError(f"the timer snapshot has {len(timer.nested)} nested snapshots", expected="2")
    return timer.nested[0], timer.nested[1]


def _namespace(snapshot: SerializerSnapshot, context: DescribeContext) -> Layout:
    layout = describe(snapshot, context)
    return Skip(layout.size) if isinstance(layout, Null) else layout


def _key(snapshot: SerializerSnapshot, context: DescribeContext) -> Layout:
    """A key is always an insertion: it has no column for the kind of SQL's rows."""
    layout = describe(snapshot, context)
    return replace(layout, kind=False) if isinstance(layout, BinaryRow) else layout


def _has_ttl(kind: str, value: SerializerSnapshot) -> bool:
    if kind in ("LIST", "MAP") and value.nested:
        return is_ttl(value.nested[-1])
    return is_ttl(value)


def undecodable_parts(layout: Layout) -> Iterator[Undecodable]:
    """Every part of a layout that cannot be decoded, in wire order."""
    if isinstance(layout, Undecodable):
        yield layout
    for child in layout.children:
        yield from undecodable_parts(child)
