"""Which body objects of a class have: by the job's serializers, by Kryo's and the libraries' own, by class models."""

from __future__ import annotations

from typing import Any, Final

from serializers.classes import NOT_DESCRIBED, ClassModels
from serializers.context import Flavour
from serializers.javatypes import of_class_name
from serializers.kryo import bodies, chill, collection_bodies, fields, javakaffee, jdk
from serializers.kryo.hierarchy import advice_for
from serializers.kryo.kryo_reader import Body, Form, Generics, Kryo, Registrations, Type
from serializers.kryo.wire import Input
from serializers.protobuf import NO_TYPES, ProtobufTypes
from stateextract.errors import UndecodableError

_MESSAGES: Final = tuple(
    f"com.google.protobuf.{name}"
    for name in (
        "GeneratedMessage", "GeneratedMessageV3", "AbstractMessage", "Message", "AbstractMessageLite", "MessageLite",
        "MessageOrBuilder", "MessageLiteOrBuilder",
    )
)  # fmt: skip
"""What the class of every message of Protobuf is below."""
_WRITTEN: Final = (
    "list what is written in a `written` table of a [[kryo.class]] in the job file (page Kryo of the documentation)"
)


def resolve(k: Kryo, name: str) -> Type:
    body = _body(k, name)
    if body is None:
        reason, advice = why_not(k, name)

        def unknown(_: Kryo, s: Input, slot: int, generics: Generics) -> Any:
            raise UndecodableError(f"a value of {name} cannot be decoded: {reason}", advice=advice, offset=s.pos)

        return Type(k, name, False, unknown)
    if name in bodies.WITHOUT_REFERENCES or (k.flavour == 5 and _is_enum(k, name)):
        return Type(k, name, False, body)
    return Type(k, name, True, body)


def _is_enum(k: Kryo, name: str) -> bool:
    model = k.classes.get(name)
    return model is not None and model.kind == "enum"


def _body(k: Kryo, name: str) -> Body | Form | None:
    model = k.classes.models.get(name)
    if model is not None and model.written:
        return fields.written(model)
    serializer = registered(k, name)
    if serializer is not None:
        return _of_serializer(k, serializer, name)
    if name.startswith("["):
        return collection_bodies.array(of_class_name(name))
    known = bodies.well_known(k.flavour, name)
    if known is None and k.chill:
        known = chill.body(name)
    if known is not None:
        return known
    found = k.classes.get(name)
    if found is None:
        return None
    if found.kind == "object" and k.chill:
        return chill.singleton(name)
    for above in k.classes.supertypes(name):
        inherited = bodies.inherited(k.flavour, above, name)
        if inherited is not None:
            return inherited
        if above in bodies.WRITES_ITSELF:
            return None
    if found.kind == "enum":
        return fields.enum(found)
    if found.kind == "record" and k.flavour == 5:
        return fields.record(found)
    return fields.object_body(found)


def registered(k: Kryo, name: str) -> str | None:
    """The Kryo serializer that the job chose for a class, if it did."""
    known = k.registrations
    exact = known.serializers.get(name)
    if exact is not None or not known.defaults or name in known.earlier:
        return exact
    types = k.classes.assignable(name).union(_MESSAGES if k.protobuf.message(name) is not None else ())
    if "java.lang.Throwable" in types:
        return None  # Flink's own default is the first one
    return next((serializer for above, serializer in known.defaults.items() if above in types), None)


def why_not(k: Kryo, name: str) -> tuple[str, str]:
    """The reason, and what the user can do."""
    serializer = registered(k, name)
    if serializer is not None:
        return f"the job gave it the Kryo serializer {serializer}, and only that knows which bytes it writes", _WRITTEN
    if k.classes.get(name) is not None:
        return "it writes itself (KryoSerializable), and only it knows which bytes", _WRITTEN
    if jdk.is_jdk(name):
        reason = "Kryo writes neither names nor lengths of fields, and those of this class of the JDK are not known here"
        return reason, advice_for(name, k.classes.models)
    return NOT_DESCRIBED, advice_for(name, k.classes.models)


def _of_serializer(k: Kryo, serializer: str, name: str) -> Body | Form | None:
    library = None if serializer in bodies.PLUGINS else javakaffee.factory(serializer)
    return bodies.of_serializer(k, serializer, name) if library is None else library(name)


def kryo_of(
    flavour: Flavour,
    registrations: Registrations,
    models: ClassModels,
    chill: bool = True,
    protobuf: ProtobufTypes = NO_TYPES,
) -> Kryo:
    """A reader that finds its classes here; the parameters are those of :class:`Kryo`."""
    return Kryo(flavour, registrations, models, chill, protobuf, resolve=resolve)


def undecodable_reason(kryo: Kryo, name: str) -> tuple[str, str] | None:
    """Why no object of a class can be read, and what the user can do; ``None`` if some can."""
    return why_not(kryo, name) if _body(kryo, name) is None else None
