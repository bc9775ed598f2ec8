"""Snapshots of ``KryoSerializer``: the declared class, and which classes were registered in which order.

Flink's classes: ``org.apache.flink.api.java.typeutils.runtime.kryo.{KryoSerializer,KryoSerializerSnapshot}``. Kryo 2 and
Kryo 5 have the same snapshots. The numbers that represent classes in the bytes follow from the registrations.
"""

from __future__ import annotations

from typing import Any, Final

from serializers.context import Flavour
from serializers.kryo.kryo_reader import Registrations
from serializers.kryo.scala_names import REGISTERED
from serializers.registry import SerializerSnapshot
from serializers.snapshots import check_version, linked_optional_map
from stateextract.errors import FormatError, StateExtractError
from stateextract.files.javastream import JavaObject, parse_java_stream
from stateextract.files.reader import Reader

FIRST_ID: Final = 85
"""The first number that registrations of the job get, behind Kryo's and Flink's own."""

_PRIMITIVES: Final = ("Integer", "String", "Float", "Boolean", "Byte", "Character", "Short", "Long", "Double")
_FLINKS: Final = (
    "java.util.Arrays$ArrayList", "java.util.BitSet", "java.util.PriorityQueue", "java.util.regex.Pattern",
    "java.sql.Date", "java.sql.Time", "java.sql.Timestamp", "java.net.URI", "java.net.InetSocketAddress",
    "java.util.UUID", "java.util.Locale", "java.text.SimpleDateFormat",
)  # fmt: skip
_FIRST_OF_SCALAS: Final = 10
_FIRST_OF_FLINKS: Final = 73


def payload(reader: Reader, name: str, version: int) -> SerializerSnapshot:
    """The snapshot's payload; registrations and serializers stay bytes until values are described."""
    check_version(version, (2,), name, reader)
    details: dict[str, Any] = {"class": reader.utf("Kryo's type class")}
    for key in ("registrations", "default_serializers", "default_serializer_classes"):
        entries = linked_optional_map(reader, f"Kryo's {key.replace('_', ' ')}")
        details[key] = tuple(
            (e.name, b"" if e.value is None else bytes(e.value.bytes(e.value.remaining))) for e in entries
        )
    return SerializerSnapshot(name, version, details=details)


def registrations(
    snapshot: SerializerSnapshot, flavour: Flavour, first_id: int = FIRST_ID, chill: bool = True
) -> Registrations:
    """What the snapshot says of classes.

    :param first_id: number of the first registration that takes a new one.
    :param chill: Kryo 2 had Scala's classes.
    """
    ids = {number: f"java.lang.{name}" for number, name in enumerate(_PRIMITIVES)}
    if flavour == 2:
        ids[len(ids)] = "java.lang.Void"
    if first_id == FIRST_ID:
        ids |= dict(enumerate(_FLINKS, _FIRST_OF_FLINKS))
        if flavour == 2 and chill:
            ids |= dict(enumerate(REGISTERED, _FIRST_OF_SCALAS))
    known = {name: number for number, name in ids.items()}
    earlier = frozenset(known)
    serializers: dict[str, str] = {}
    next_id = first_id
    for name, data in snapshot.details.get("registrations", ()):
        class_name, kind, serializer = _registration(name, data)
        if kind == 0 and class_name in known:
            continue
        ids[next_id] = class_name
        known[class_name] = next_id
        next_id += 1
        if serializer is not None:
            serializers[class_name] = serializer
    # Flink adds instances first, and Kryo takes the first one that fits.
    defaults = {
        name: Reader(data).utf("a Kryo serializer's class")
        for name, data in snapshot.details.get("default_serializer_classes", ())
        if data
    }
    instances = {name: _serializer_of(data) for name, data in snapshot.details.get("default_serializers", ()) if data}
    return Registrations(ids, serializers, instances | {n: s for n, s in defaults.items() if n not in instances}, earlier)


def _registration(name: str, data: bytes) -> tuple[str, int, str | None]:
    if not data:
        return name, 0, None
    reader = Reader(data)
    class_name = reader.utf("a registered class")
    kind = reader.i32("a kind of Kryo registration")
    if kind == 0:
        return class_name, kind, None
    if kind == 1:
        return class_name, kind, reader.utf("a Kryo serializer's class")
    if kind == 2:
        return class_name, kind, _serializer_of(data[reader.pos :])
    raise FormatError(f"unknown kind {kind} of a Kryo registration", expected="0, 1 or 2")


def _serializer_of(data: bytes) -> str:
    """The class of the serializer in a Java-serialized ``SerializableSerializer``."""
    try:
        holder = parse_java_stream(Reader(data))
    except StateExtractError:
        return "(a serializer that cannot be read)"
    inner = holder.get("serializer") if isinstance(holder, JavaObject) else None
    return inner.class_name if isinstance(inner, JavaObject) else "(a serializer that cannot be read)"
