"""The job's classes: class models out of jars and folders, and of the job file, together with what the snapshot says.

``describe_context`` makes the context that describing serializers needs; it is made once in the driver, and tasks get it
ready. A class in a later entry of the class path does not replace one of an earlier entry, as in Java; entries of the job
file replace both.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from serializers import DescribeContext, SerializerSnapshot
from serializers.classes import ClassModel, ClassModels, class_model
from serializers.context import NO_EVIDENCE, Evidence, Flavour, flavour_of
from serializers.protobuf import NO_TYPES, ProtobufTypes
from serializers.registry import KRYO_SNAPSHOT, parts_of
from serializers.sql_type import NameRule, decode_rules, encode_rules
from stateextract.errors import FormatError, StateExtractError, UsageError
from stateextract.files.filesystem import Store
from stateextract.metadata.model import SnapshotMetadata
from stateextract.snapshot.headers import StateFile

MAX_CLASSES = 200_000
_MAX_SET = 1 << 26
_WITHOUT_SCALA = "2-without-scala"


def describe_context(
    kryo: str,
    metadata_version: int,
    classpath: Sequence[str] = (),
    entries: Iterable[Mapping[str, Any]] = (),
    store: Store | None = None,
    protobuf: Sequence[str] = (),
) -> DescribeContext:
    """The context of a snapshot.

    :param kryo: ``auto``, ``2``, ``2-without-scala`` or ``5``.
    :param metadata_version: version of ``_metadata``, which distinguishes Flink 1 and Flink 2.
    :param classpath: jars and folders of class files.
    :param entries: classes as the job file describes them.
    :param protobuf: files with descriptor sets.
    """
    flavours: dict[str, Flavour] = {"auto": flavour_of(metadata_version), "2": 2, _WITHOUT_SCALA: 2, "5": 5}
    if kryo not in flavours:
        raise UsageError(f"the option kryo cannot be {kryo!r}", expected=f"auto, 2, {_WITHOUT_SCALA} or 5")
    models: dict[str, ClassModel] = {}
    for path in classpath:
        for model in read_classes(path, store or Store()):
            models.setdefault(model.name, model)
    models |= {model.name: model for model in map(class_model, entries)}
    types = _messages(protobuf, store or Store()) if protobuf else NO_TYPES
    return DescribeContext(flavours[kryo], ClassModels(models), chill=kryo != _WITHOUT_SCALA, protobuf=types)


def _messages(paths: Sequence[str], store: Store) -> ProtobufTypes:
    sets = []
    for path in paths:
        if (size := store.size(path)) > _MAX_SET:
            raise FormatError(f"a descriptor set of {size} bytes", expected=f"at most {_MAX_SET}", file=path)
        sets.append(store.read(path))
        try:
            # Each by itself, so that an error has its file.
            _ = ProtobufTypes((sets[-1],)).java_classes
        except StateExtractError as error:
            raise error.at(file=path) from None
    return ProtobufTypes(tuple(sets))


def with_coordinators(context: DescribeContext, metadata: SnapshotMetadata) -> DescribeContext:
    """The context with what coordinators contain about the splits of their operators, which show the connector."""
    states = [(operator.id, operator.coordinator.data) for operator in metadata.operators if operator.coordinator is not None]
    if not states:
        return context
    from serializers.connectors import evidence_of  # most snapshots have no coordinators' state

    coordinators = ((id_, evidence_of(data)) for id_, data in states)
    return replace(context, coordinators=tuple((id_, found) for id_, found in coordinators if found != NO_EVIDENCE))


def with_names(
    context: DescribeContext, metadata: SnapshotMetadata, plan: str, names: str, store: Store
) -> tuple[DescribeContext, list[str]]:
    """The context with the names of fields that a compiled plan and a names file give, and notes on how the plan fits.

    :param plan: its place; empty: none.
    :param names: likewise; what it says wins.
    """
    if not (plan or names):
        return context, []
    from stateextract.state.plan_names import names_of_file, names_of_plan, note_on_plan

    operators = metadata.operators
    rules: tuple[NameRule, ...] = ()
    notes: list[str] = []
    if names:
        rules += names_of_file(_text(names, store), operators, names.endswith(".json"))
    if plan:
        text = _text(plan, store)
        rules += names_of_plan(text, operators)
        notes = note_on_plan(text, operators)
    return replace(context, names=rules) if rules else context, notes


def _text(path: str, store: Store) -> str:
    try:
        return store.read(path).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not text: {error.reason}", expected="UTF-8") from None


def lacking(context: DescribeContext, files: Sequence[StateFile]) -> list[str]:
    """The job's classes of values that Kryo wrote and that the context does not describe."""
    found = dict.fromkeys(name for name, _ in kryo_classes(snapshots_of(files)))
    unknown = [name for name in found if context.class_models.get(name) is None]
    if not unknown:
        return []
    from serializers.kryo.jdk import is_jdk  # most snapshots have no values of Kryo

    return [name for name in unknown if not (name.startswith("[") or is_jdk(name))]


def kryo_classes(snapshots: Iterable[SerializerSnapshot]) -> Iterator[tuple[str, SerializerSnapshot]]:
    """The classes that values are declared to have which Kryo wrote, and the snapshots of their serializers."""
    for snapshot in parts_of(snapshots):
        if snapshot.class_name == KRYO_SNAPSHOT and not snapshot.is_unknown:
            yield snapshot.details["class"], snapshot


def snapshots_of(files: Sequence[StateFile]) -> Iterator[SerializerSnapshot]:
    """The snapshots of all keys and states of files."""
    headers = {file.header_key: file.header for file in files if file.header is not None}
    for header in headers.values():
        key = getattr(header, "key_serializer", None)
        if key is not None:
            yield key
        for meta in header.states:
            yield from meta.serializers.values()


def read_classes(path: str, store: Store) -> Iterator[ClassModel]:
    """The classes of a jar, or of a folder of class files.

    :param path: a path, or a URI that the store opens (jars only).
    :raises StateExtractError: with the file.
    """
    from serializers.classfile import MAX_BYTES, read_class
    from stateextract.snapshot.class_path import class_files

    for count, file in enumerate(class_files(path, store)):
        if count >= MAX_CLASSES:
            raise FormatError(f"more than {MAX_CLASSES} classes", file=path)
        try:
            data = file.read()
            model = read_class(data) if len(data) <= MAX_BYTES else None
        except StateExtractError as error:
            raise error.at(file=f"{path}!/{file.path}") from None
        if model is not None:
            yield model


def encode_context(context: DescribeContext) -> list[Any]:
    """For the plan file; the inverse of :func:`decode_context`."""
    models = [model.as_list() for model in context.class_models.by_name.values()]
    sets = [base64.b64encode(data).decode() for data in context.protobuf.descriptor_sets]
    coordinators = [[id_, found.enumerator, sorted(found.partitions)] for id_, found in context.coordinators]
    return [context.kryo, context.chill, models, encode_rules(context.names), sets, coordinators]


def decode_context(values: Sequence[Any]) -> DescribeContext:
    """The inverse of :func:`encode_context`."""
    kryo, chill, models, names, sets, coordinators = values
    known = ClassModels.of(ClassModel.from_list(m) for m in models)
    types = ProtobufTypes(tuple(map(base64.b64decode, sets))) if sets else NO_TYPES
    evidence = tuple(
        (id_, Evidence(enumerator, frozenset((topic, number) for topic, number in pairs)))
        for id_, enumerator, pairs in coordinators
    )
    return DescribeContext(
        kryo, known, names=decode_rules(names), chill=chill, protobuf=types, coordinators=evidence
    )  # fmt: skip


def entries_of(texts: Sequence[str]) -> list[Mapping[str, Any]]:
    """``[[kryo.class]]`` tables as options carry them: JSON."""
    return [json.loads(text) for text in texts]
