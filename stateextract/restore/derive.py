"""The serializer snapshots of the new job, where only its class files are known: the old ones with the new classes.

Takes the job's declarations to be as before: the same states, with the same types. What classes decide (fields of POJOs and
records, constants of enums, Avro schemas, which classes are POJOs) comes from the class files. What they do not show is marked
in the snapshot, and comparing answers that it is not known.
"""

from __future__ import annotations

from dataclasses import replace

from serializers.avro import AVRO_SNAPSHOTS
from serializers.pojo import POJO_SNAPSHOT
from serializers.registry import KRYO_SNAPSHOT, SerializerSnapshot
from serializers.ttl import unwrapped
from serializers.tuples import ENUM_SNAPSHOT
from stateextract.restore.job_classes import JobClasses
from stateextract.restore.pojo_rules import pojo_fields, subclass_snapshots
from stateextract.restore.type_extractor import COLLECTIONS, Extractor, in_flink_2, not_derived


class Derivation:
    """Makes new snapshots of old ones.

    :param extractor: of the new job's classes; :param old: of the old job's, where they were given.
    """

    def __init__(self, extractor: Extractor, old: JobClasses | None) -> None:
        self._extractor = extractor
        self._old = None if old is None else Extractor(old, extractor.release)

    def of(self, old: SerializerSnapshot) -> SerializerSnapshot:
        """The snapshot that the new job would write in place of an old one."""
        if old.is_unknown:
            return old
        name = old.details.get("class")
        if old.class_name == POJO_SNAPSHOT:
            return self._pojo(old, old.details["class"])
        if old.class_name == ENUM_SNAPSHOT:
            shape = self._extractor.classes.shape(old.details["class"])
            return not_derived(old.details["class"]) if shape is None else self._extractor.of_class(shape.model.name) or old
        if old.class_name in AVRO_SNAPSHOTS:
            found = self._extractor.avro(name) if isinstance(name, str) else None
            return found or not_derived("an Avro schema in the job's code")
        if old.class_name == KRYO_SNAPSHOT:
            return self._generic(old, old.details["class"])
        return replace(old, nested=tuple(self.of(nested) for nested in old.nested))

    def merged(self, old: SerializerSnapshot, new: SerializerSnapshot) -> SerializerSnapshot:
        """A new snapshot that the code of the job shows, with what only the old one has: registrations of classes."""
        old = unwrapped(old)
        if old.class_name != new.class_name:
            return new
        if new.class_name == KRYO_SNAPSHOT:
            return old if old.details["class"] == new.details["class"] else new
        if new.class_name == POJO_SNAPSHOT:
            return self._merged(old, new) if old.details["class"] == new.details["class"] else new
        if len(old.nested) != len(new.nested):
            return new
        nested = tuple(self.merged(*pair) for pair in zip(old.nested, new.nested, strict=True))
        return replace(new, details={**old.details, **new.details}, nested=nested)

    def _pojo(self, old: SerializerSnapshot, name: str) -> SerializerSnapshot:
        new = self._extractor.of_class(name)
        if new is None:
            return not_derived(name)
        return self._merged(old, new) if new.class_name == POJO_SNAPSHOT else new

    def _merged(self, old: SerializerSnapshot, new: SerializerSnapshot) -> SerializerSnapshot:
        """The new POJO with the old one's registered subclasses, and fields whose type did not change as they were."""
        before = {field: serializer for field, _, serializer in pojo_fields(old)}
        nested = []
        for field, declaring, serializer in pojo_fields(new):
            known = before.get(field)
            if known is not None:
                if serializer.is_unknown and self._same_type(declaring, field):
                    serializer = self.of(known)
                elif known.class_name == serializer.class_name == POJO_SNAPSHOT:
                    serializer = self._merged(known, serializer)
            nested.append(serializer)
        registered = []
        for subclass in old.details["registered"]:
            found = self._extractor.of_class(subclass)
            known = subclass_snapshots(old)[subclass]
            if found is not None and found.class_name == known.class_name == POJO_SNAPSHOT:
                found = self._merged(known, found)
            registered.append(found or not_derived(subclass))
        details = {**new.details, "registered": old.details["registered"]}
        return replace(new, details=details, nested=(*nested, *registered))

    def _same_type(self, declaring: str, field: str) -> bool:
        models = (
            None if self._old is None else self._old.classes.model(declaring),
            self._extractor.classes.model(declaring),
        )
        types = [{f.name: f.type for f in model.fields}.get(field) for model in models if model is not None]
        return len(types) == 2 and types[0] is not None and types[0] == types[1]

    def _generic(self, old: SerializerSnapshot, name: str) -> SerializerSnapshot:
        """A generic type stays one if the job declared it so; else what its class is now decides."""
        now = self._extractor.of_class(name)
        if now is None or now.class_name == KRYO_SNAPSHOT:
            return old
        before = None if self._old is None else self._old.of_class(name)
        # If the class could have been a POJO before, the job asked for a generic type.
        return old if before is not None and before.class_name != KRYO_SNAPSHOT else not_derived(name)


def upgraded(old: SerializerSnapshot) -> SerializerSnapshot:
    """The snapshot that the same job writes on Flink 2, of one that it wrote on Flink 1: lists and maps in POJOs have
    serializers of their own there."""
    if old.class_name == POJO_SNAPSHOT and not old.is_unknown:
        number = len(old.details["fields"])
        nested = (*map(_built_in, old.nested[:number]), *map(upgraded, old.nested[number:]))
        return replace(old, nested=nested)
    return replace(old, nested=tuple(map(upgraded, old.nested)))


def _built_in(field: SerializerSnapshot) -> SerializerSnapshot:
    if field.class_name == KRYO_SNAPSHOT and field.details["class"] in COLLECTIONS:
        return in_flink_2(field.details["class"])
    return upgraded(field)
