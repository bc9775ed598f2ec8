"""Protobuf: message types out of descriptor sets, by the Java classes that protoc makes of them.

A descriptor set is what ``protoc --include_imports --descriptor_set_out=FILE`` writes; the user gives it. The Java class of a
message follows from its file's options (``java_package``, ``java_outer_classname``, ``java_multiple_files``), as in
protoc's ``ClassNameResolver``. Messages are parsed by the library ``protobuf``, an optional extra, which is loaded only where
a descriptor set is given; nothing of them is executed.

Knows no Kryo and no columns.
"""

from __future__ import annotations

import base64
import importlib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

from serializers.texts import duration_text, instant_text, shortest_single
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
"""Files that the library brings, should a descriptor set import them and leave them out."""
_REPEATED: Final = 3
_FLOAT: Final = 2
_STRING: Final = 9
_NANOS: Final = 1_000_000_000
_EDITION_2024: Final = 1001
_MAX_DEPTH: Final = 100


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
            raise _no_set("it holds no file")
        for file in found.file:
            files.setdefault(file.name, file)
    pool = descriptor_pool.DescriptorPool()
    added: set[str] = set()
    for name in files:
        _add(name, files, pool, added, 0)
    return {
        java: message_factory.GetMessageClass(pool.FindMessageTypeByName(proto))
        for file in files.values()
        for java, proto in java_names(file)
    }


def _no_set(why: str) -> UsageError:
    return UsageError(
        f"this is no descriptor set of Protobuf: {why}",
        advice="give what protoc --include_imports --descriptor_set_out=FILE writes",
    )


def _add(name: str, files: dict[str, Any], pool: Any, added: set[str], depth: int) -> None:
    """A file into the pool, behind those that it imports."""
    if name in added:
        return
    if depth > _MAX_DEPTH:
        raise _no_set("its files import each other")
    added.add(name)
    file = files.get(name)
    if file is None:
        if name not in _BUNDLED:
            raise _no_set(f"{name} is imported and not there")
        module = importlib.import_module(name.removesuffix(".proto").replace("/", ".") + "_pb2")
        for imported in module.DESCRIPTOR.dependencies:
            _add(imported.name, files, pool, added, depth + 1)
        pool.AddSerializedFile(module.DESCRIPTOR.serialized_pb)
        return
    for imported in file.dependency:
        _add(imported, files, pool, added, depth + 1)
    try:
        pool.AddSerializedFile(file.SerializeToString())
    except (TypeError, ValueError) as error:
        raise _no_set(f"{name}: {error}") from None


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
            f"{len(raw)} bytes are no message of the type {name}",
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
    return descriptor.full_name in _WRAPPERS


def enum_text(field: Any, number: int) -> str:
    """Name of an enum's value; the number where the descriptor has no name for it."""
    known = field.enum_type.values_by_number.get(number)
    return str(number) if known is None else str(known.name)


def unknown_fields(message: Any, path: str = "") -> Iterator[dict[str, Any]]:
    """What a message holds that its type does not know, in all depths."""
    from google.protobuf.unknown_fields import UnknownFieldSet

    for item in UnknownFieldSet(message):
        value = item.data if isinstance(item.data, int) else _raw(item.data)
        yield {"path": path, "field": item.field_number, "wire_type": item.wire_type, "value": value}
    for known, value in message.ListFields():
        if known.message_type is None:
            continue
        if is_map(known):
            if known.message_type.fields_by_name["value"].message_type is not None:
                for key in value:
                    yield from unknown_fields(value[key], f"{path}{known.name}[{key}].")
        elif is_repeated(known):
            for index, inner in enumerate(value):
                yield from unknown_fields(inner, f"{path}{known.name}[{index}].")
        else:
            yield from unknown_fields(value, f"{path}{known.name}.")


def _raw(data: Any) -> str:
    if isinstance(data, bytes):
        return base64.b64encode(data).decode()
    return json.dumps(
        [[f.field_number, f.wire_type, f.data if isinstance(f.data, int) else _raw(f.data)] for f in data]
    )


# ---- JSON


def message_json(message: Any) -> str:
    """A message as JSON: its fields by their names in the ``.proto`` file, those that are not set left out.

    Numbers have all their digits, bytes are base64, enums names, times ISO 8601; NaN and the infinities are strings.
    """
    return _compact(_plain(message))


def whole_json(message: Any) -> str:
    """:func:`message_json`, and what the message's type does not know as ``$unknown``."""
    plain, beyond = _plain(message), list(unknown_fields(message))
    if not beyond:
        return _compact(plain)
    members = plain if isinstance(plain, dict) else {"$value": plain}
    return _compact({**members, "$unknown": beyond})


def unknown_json(message: Any) -> str | None:
    """What a message holds that its type does not know; ``None`` if there is nothing."""
    found = list(unknown_fields(message))
    return _compact(found) if found else None


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _plain(message: Any) -> Any:
    name = message.DESCRIPTOR.full_name
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
    if is_wrapper(message.DESCRIPTOR):
        return _scalar(message, message.DESCRIPTOR.fields_by_name["value"], message.value)
    found: dict[str, Any] = {}
    for known, value in message.ListFields():
        if is_map(known):
            inner = known.message_type.fields_by_name["value"]
            found[known.name] = {_key(k): _one(message, inner, value[k]) for k in value}
        elif is_repeated(known):
            found[known.name] = [_one(message, known, item) for item in value]
        else:
            found[known.name] = _one(message, known, value)
    return found


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
        raise FormatError(f"a string in a message of the type {message.DESCRIPTOR.full_name} is not UTF-8")
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
    kind = message.DESCRIPTOR.name
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
