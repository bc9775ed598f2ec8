"""Protobuf: message types out of descriptor sets, by the Java classes that protoc makes of them.

A descriptor set is what ``protoc --include_imports --descriptor_set_out=FILE`` writes; the user gives it. The Java class of a
message follows from its file's options (``java_package``, ``java_outer_classname``, ``java_multiple_files``), as in
protoc's ``ClassNameResolver``. Messages are parsed by the library ``protobuf``, an optional extra, which is loaded only where
a descriptor set is given; nothing of them is executed.

Knows no Kryo and no columns.
"""

from __future__ import annotations

import base64
import graphlib
import importlib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

from serializers.time_texts import duration_text, instant_text, shortest_single
from stateextract.errors import FormatError, UsageError, ValueRefusedError

WELL_KNOWN: Final = "google.protobuf."
_WRAPPERS: Final = frozenset(
    WELL_KNOWN + name + "Value"
    for name in ("Double", "Float", "Int64", "UInt64", "Int32", "UInt32", "Bool", "String", "Bytes")
)
FREE_FORM: Final = frozenset(WELL_KNOWN + name for name in ("Struct", "Value", "ListValue"))
_BUNDLED: Final = frozenset(
    f"google/protobuf/{name}.proto"
    for name in ("any", "api", "descriptor", "duration", "empty", "field_mask", "source_context", "struct", "timestamp",
                 "type", "wrappers")
)  # fmt: skip
"""Google's own files. Those that the library brings are used in place of the ones of a descriptor set."""
_REPEATED: Final = 3
_FLOAT: Final = 2
_STRING: Final = 9
_NANOS: Final = 1_000_000_000
_EDITION_2024: Final = 1001


@dataclass(frozen=True, eq=False)
class ProtobufTypes:
    """Message types. Two of them are equal only if they are the same, so that comparing them costs nothing.

    :param descriptor_sets: serialized ``FileDescriptorSet`` messages.
    """

    descriptor_sets: tuple[bytes, ...] = field(default=(), repr=False)

    def message(self, java_class: str) -> Any | None:
        """The message class (of the library) for a Java class; ``None`` where no descriptor set has it."""
        return _classes(self.descriptor_sets).get(java_class) if self.descriptor_sets else None

    @property
    def java_classes(self) -> Sequence[str]:
        """The Java classes of all messages."""
        return tuple(_classes(self.descriptor_sets)) if self.descriptor_sets else ()


NO_TYPES: Final = ProtobufTypes()


@lru_cache(maxsize=8)
def _classes(descriptor_sets: tuple[bytes, ...]) -> dict[str, Any]:
    try:
        from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
        from google.protobuf.message import DecodeError
    except ModuleNotFoundError:
        raise UsageError(
            "a descriptor set of Protobuf is given, and the library protobuf is not there",
            advice="pip install 'stateextract[protobuf]', also where the workers run",
        ) from None
    files: dict[str, Any] = {}
    for data in descriptor_sets:
        try:
            found = descriptor_pb2.FileDescriptorSet.FromString(data)
        except DecodeError:
            raise _no_set("it cannot be parsed") from None
        if not found.file:
            raise _no_set("it contains no file")
        for file in found.file:
            file.ClearField("source_code_info")
            if file.name not in _BUNDLED and files.setdefault(file.name, file) != file:
                raise UsageError(
                    f"two descriptor sets of Protobuf have different files called {file.name}",
                    advice="create one set of all files under their own paths",
                )
            if file.name in _BUNDLED:
                files[file.name] = _bundled(file.name)
    pool = descriptor_pool.DescriptorPool()
    for file in _imported_first(files):
        try:
            pool.AddSerializedFile(file.SerializeToString())
        except (TypeError, ValueError) as error:
            raise _no_set(f"{file.name}: {error}") from None
    classes: dict[str, Any] = {}
    for file in files.values():
        for java, proto in java_names(file):
            if java in classes:
                raise _no_set(f"the messages {classes[java].DESCRIPTOR.full_name} and {proto} are both {java} in Java")
            classes[java] = message_factory.GetMessageClass(pool.FindMessageTypeByName(proto))
    return classes


def _no_set(reason: str) -> UsageError:
    return UsageError(
        f"this is not a descriptor set of Protobuf: {reason}",
        advice="give what protoc --include_imports --descriptor_set_out=FILE writes",
    )


def _bundled(name: str) -> Any:
    from google.protobuf import descriptor_pb2

    module = importlib.import_module(name.removesuffix(".proto").replace("/", ".") + "_pb2")
    return descriptor_pb2.FileDescriptorProto.FromString(module.DESCRIPTOR.serialized_pb)


def _imported_first(files: dict[str, Any]) -> list[Any]:
    """The files and what they import, each after those that it imports; what is bundled is filled in."""
    known = dict(files)
    waiting = list(files.values())
    while waiting:
        for name in waiting.pop().dependency:
            if name not in known:
                if name not in _BUNDLED:
                    raise _no_set(f"{name} is imported and not there")
                known[name] = _bundled(name)
                waiting.append(known[name])
    try:
        order = list(graphlib.TopologicalSorter({n: list(f.dependency) for n, f in known.items()}).static_order())
    except graphlib.CycleError:
        raise _no_set("its files import each other") from None
    return [known[name] for name in order]


# ---- Java's names


def java_names(file: Any) -> Iterator[tuple[str, str]]:
    """Java classes of the messages in a ``FileDescriptorProto``, with the full names of the messages."""
    package = file.options.java_package if file.options.HasField("java_package") else file.package
    prefix = f"{package}." if package else ""
    modern = file.edition >= _EDITION_2024
    if not (file.options.java_multiple_files or modern):
        prefix += f"{_outer_class(file)}$"
    proto = f"{file.package}." if file.package else ""
    for message in file.message_type:
        yield from _nested(message, prefix, proto)


def _nested(message: Any, java: str, proto: str) -> Iterator[tuple[str, str]]:
    if message.options.map_entry:
        return
    yield java + message.name, proto + message.name
    for inner in message.nested_type:
        yield from _nested(inner, f"{java}{message.name}$", f"{proto}{message.name}.")


def _outer_class(file: Any) -> str:
    if file.options.HasField("java_outer_classname"):
        name: str = file.options.java_outer_classname
        return name
    words = re.findall(r"[A-Za-z]+|\d+", file.name.rsplit("/", 1)[-1].removesuffix(".proto"))
    derived = "".join(word[:1].upper() + word[1:] for word in words)
    taken = {thing.name for group in (file.enum_type, file.service) for thing in group}
    taken |= {name for message in file.message_type for name in _names_in(message)}
    return derived + "OuterClass" if derived in taken else derived


def _names_in(message: Any) -> Iterator[str]:
    yield message.name
    yield from (enum.name for enum in message.enum_type)
    for inner in message.nested_type:
        yield from _names_in(inner)


# ---- messages


def parse_message(message_class: Any, raw: bytes) -> Any:
    """The message that these bytes hold.

    :raises FormatError: where they hold none of that type.
    """
    from google.protobuf.message import DecodeError

    try:
        return message_class.FromString(raw)
    except (DecodeError, UnicodeDecodeError):
        name = message_class.DESCRIPTOR.full_name
        raise FormatError(
            f"{len(raw)} bytes are not a message of the type {name}",
            advice="give the descriptor set of the job that wrote them",
        ) from None


def is_repeated(field: Any) -> bool:
    """Whether a field is repeated; maps are."""
    found = getattr(field, "is_repeated", None)
    return bool(field.label == _REPEATED if found is None else found)


def is_map(field: Any) -> bool:
    """Whether a field is a map."""
    return bool(field.message_type is not None and field.message_type.GetOptions().map_entry)


def is_wrapper(descriptor: Any) -> bool:
    """One of the messages that hold one value and may be missing: ``Int64Value``."""
    return google_name(descriptor) in _WRAPPERS


def enum_text(field: Any, number: int) -> str:
    """Name of an enum's value; the number where the descriptor has no name for it."""
    known = field.enum_type.values_by_number.get(number)
    return str(number) if known is None else str(known.name)


def google_name(descriptor: Any) -> str | None:
    """Full name of a message type of Google's own; of one that only calls itself so ``None``."""
    name: str = descriptor.full_name
    return name if name.startswith(WELL_KNOWN) and descriptor.file.name in _BUNDLED else None


# Fields may be called like the methods of messages, so these are taken from the class.


def descriptor_of(message: Any) -> Any:
    """The descriptor of a message's type."""
    return type(message).DESCRIPTOR


def is_set(message: Any, name: str) -> bool:
    """Whether a field with presence is set."""
    return bool(type(message).HasField(message, name))


def map_items(values: Any) -> list[tuple[Any, Any]]:
    """Keys and values of a map field.

    :raises FormatError: for a key that is not UTF-8, which proto2 allows and the library cannot give.
    """
    try:
        return [(key, values[key]) for key in values]
    except UnicodeDecodeError:
        raise FormatError("a key of a map in a Protobuf message is not UTF-8") from None


def beyond_columns(message: Any, path: str = "", extensions: bool = True) -> Iterator[dict[str, Any]]:
    """What a message holds next to the fields of its type, in all depths: unknown fields, and extensions.

    :param extensions: whether known extensions count.
    """
    from google.protobuf.unknown_fields import UnknownFieldSet

    for item in UnknownFieldSet(message):
        yield {"path": path, "field": item.field_number, "wire_type": item.wire_type, "value": _raw(item.data)}
    for known, value in type(message).ListFields(message):
        name = _json_name(known)
        if known.is_extension and extensions:
            yield {"path": path, "field": known.number, "extension": known.full_name, "value": _value(message, known, value)}
        if known.message_type is None:
            continue
        if is_map(known):
            if known.message_type.fields_by_name["value"].message_type is not None:
                for key, inner in map_items(value):
                    yield from beyond_columns(inner, f"{path}{name}[{key}].", extensions)
        elif is_repeated(known):
            for index, inner in enumerate(value):
                yield from beyond_columns(inner, f"{path}{name}[{index}].", extensions)
        else:
            yield from beyond_columns(value, f"{path}{name}.", extensions)


def _raw(data: Any) -> Any:
    """A number, base64 of bytes, or of a group the list of its fields: number, wire type, value."""
    if isinstance(data, int):
        return data
    if isinstance(data, bytes):
        return base64.b64encode(data).decode()
    return [[item.field_number, item.wire_type, _raw(item.data)] for item in data]


# ---- JSON


def message_json(message: Any) -> str:
    """A message as JSON: its fields by their names in the ``.proto`` file, those that are not set left out.

    Numbers have all their digits, bytes are base64, enums names, times ISO 8601; NaN and the infinities are strings.
    """
    return _compact(_plain(message))


def whole_json(message: Any) -> str:
    """:func:`message_json`, and what the message's type does not know as ``$unknown``."""
    plain, beyond = _plain(message), list(beyond_columns(message, extensions=False))
    if not beyond:
        return _compact(plain)
    members = plain if isinstance(plain, dict) else {"$value": plain}
    return _compact({**members, "$unknown": beyond})


def beyond_json(message: Any) -> str | None:
    """:func:`beyond_columns` as JSON; ``None`` if there is nothing."""
    found = list(beyond_columns(message))
    return _compact(found) if found else None


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _plain(message: Any) -> Any:
    descriptor = descriptor_of(message)
    name = google_name(descriptor)
    if name in FREE_FORM:
        return free_form(message)
    if name == WELL_KNOWN + "Timestamp":
        check_timestamp(message)
        return instant_text(message.seconds, message.nanos)
    if name == WELL_KNOWN + "Duration":
        check_duration(message)
        return duration_text(message.seconds, message.nanos)
    if name == WELL_KNOWN + "FieldMask":
        return list(message.paths)
    if is_wrapper(descriptor):
        return _scalar(message, descriptor.fields_by_name["value"], message.value)
    return {_json_name(known): _value(message, known, value) for known, value in type(message).ListFields(message)}


def _json_name(field: Any) -> str:
    """An extension may be called like a field."""
    return f"[{field.full_name}]" if field.is_extension else str(field.name)


def _value(message: Any, field: Any, value: Any) -> Any:
    if is_map(field):
        inner = field.message_type.fields_by_name["value"]
        return {_key(key): _one(message, inner, item) for key, item in map_items(value)}
    if is_repeated(field):
        return [_one(message, field, item) for item in value]
    return _one(message, field, value)


def _key(key: Any) -> str:
    return ("true" if key else "false") if isinstance(key, bool) else str(key)


def _one(message: Any, field: Any, value: Any) -> Any:
    return _scalar(message, field, value) if field.message_type is None else _plain(value)


def _scalar(message: Any, field: Any, value: Any) -> Any:
    if field.enum_type is not None:
        return enum_text(field, value)
    if field.type == _STRING:
        return string(message, value)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    return _real(value, field.type == _FLOAT) if isinstance(value, float) else value


def string(message: Any, value: Any) -> str:
    """A string; of proto2, whose strings may be no UTF-8, the library gives such as bytes.

    :raises FormatError: there.
    """
    if not isinstance(value, str):
        raise FormatError(f"a string in a message of the type {descriptor_of(message).full_name} is not UTF-8")
    return value


def check_timestamp(message: Any) -> None:
    """A ``Timestamp`` whose fraction is one.

    :raises ValueRefusedError: elsewhere.
    """
    if not 0 <= message.nanos < _NANOS:
        raise ValueRefusedError(f"a Timestamp with {message.nanos} nanoseconds")


def check_duration(message: Any) -> None:
    """A ``Duration`` whose fraction is one and goes the way of its seconds.

    :raises ValueRefusedError: elsewhere.
    """
    if not -_NANOS < message.nanos < _NANOS or message.seconds * message.nanos < 0:
        raise ValueRefusedError(f"a Duration of {message.seconds} seconds and {message.nanos} nanoseconds")


def _real(value: float, single: bool = False) -> Any:
    """A number that JSON knows, or its name."""
    if value != value:
        return "NaN"
    if abs(value) == float("inf"):
        return "Infinity" if value > 0 else "-Infinity"
    return float(shortest_single(value)) if single else value


def free_form(message: Any) -> Any:
    """What ``Struct``, ``Value`` and ``ListValue`` hold: JSON."""
    kind = descriptor_of(message).name
    if kind == "Struct":
        return {key: free_form(message.fields[key]) for key in message.fields}
    if kind == "ListValue":
        return [free_form(value) for value in message.values]
    which = message.WhichOneof("kind")
    if which in (None, "null_value"):
        return None
    value = getattr(message, which)
    if which in ("struct_value", "list_value"):
        return free_form(value)
    return _real(value) if which == "number_value" else value
