"""The registry: what is known of each serializer snapshot class of Flink and of plug-ins.

``REGISTRY`` maps the full name of a snapshot class to a :class:`Serializer`: how the snapshot's payload is read, which
layout its values have, and whether they have a fixed length. The families (``scalars``, ``containers``, ``pojo``, …)
and plug-ins fill it with :func:`register` when they are imported; the last registration wins, so a plug-in can override.
``FAMILIES`` are imported when :func:`find_serializer` is first asked for a class of theirs: most snapshots name none.

Dispatch is on full names, since several formats share a simple name. May import layouts and the byte cursor; must never
know where a snapshot is in a file.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.machinery import PathFinder
from typing import TYPE_CHECKING, Any, Final

from serializers.context import DescribeContext
from stateextract.columnar.layout import Field, Layout, Struct, Undecodable
from stateextract.errors import FormatError, UsageError
from stateextract.files.reader import Reader

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

ENTRY_POINT_GROUP = "stateextract.serializers"


@dataclass(frozen=True)
class SerializerSnapshot:
    """A parsed serializer snapshot: what Flink recorded of a serializer, and nothing computed from it.

    :param class_name: full Java name of the snapshot class.
    :param version: the snapshot version after the name.
    :param outer_version: the subclass' own version, where the snapshot is a composite one.
    :param details: the content of the payload, by names that the reader of that payload chose. A snapshot of an unknown
        class that could be skipped has ``unknown`` here.
    :param nested: the snapshots inside, in the serializer's own order.
    """

    class_name: str
    version: int
    outer_version: int | None = None
    details: Mapping[str, Any] = field(default_factory=dict, hash=False)
    nested: tuple[SerializerSnapshot, ...] = ()

    @property
    def is_unknown(self) -> bool:
        """Its class is not known; only its extent could be found."""
        return "unknown" in self.details


def parts_of(snapshots: Iterable[SerializerSnapshot]) -> Iterator[SerializerSnapshot]:
    """Snapshots, each before all that is in it."""
    for snapshot in snapshots:
        yield snapshot
        yield from parts_of(snapshot.nested)


PayloadReader = Callable[[Reader, str, int], SerializerSnapshot]
Describer = Callable[[SerializerSnapshot], Layout]
FixedLength = bool | Callable[[SerializerSnapshot], bool]


@dataclass(frozen=True)
class Serializer:
    """What the registry holds of one snapshot class.

    :param payload: reads what comes after the snapshot version: ``payload(reader, class_name, version)``; ``None``: that of
        ``SimpleTypeSerializerSnapshot``.
    :param layout: the layout of the values, or a function that derives it from the snapshot.
    :param fixed_length: Flink's ``TypeSerializer.getLength() >= 0``, which decides on the lengths in canonical keys.
    """

    payload: PayloadReader | None
    layout: Layout | Describer
    fixed_length: FixedLength = False


REGISTRY: dict[str, Serializer] = {}

BEAM: Final = "org.apache.beam."
KRYO_SNAPSHOT: Final = "org.apache.flink.api.java.typeutils.runtime.kryo.KryoSerializerSnapshot"

FAMILIES: Final = {
    BEAM: "serializers.beam",
    KRYO_SNAPSHOT: "serializers.kryo",
    "org.apache.flink.cep.": "serializers.cep",
    "org.apache.flink.formats.avro.": "serializers.avro",
    "org.apache.flink.runtime.state.JavaSerializer": "serializers.javaobjects",
    "org.apache.flink.statefun.": "serializers.statefun",
    "org.apache.flink.table.runtime.typeutils.serializers.python.": "serializers.pyflink",
    "org.apache.flinkx.": "serializers.flinkx",
}
"""The modules that are imported when a class is named whose name begins so. All such classes are theirs."""


def load_family(class_name: str) -> None:
    """Import the family of a class, if it is one of :data:`FAMILIES`."""
    for begin, module in FAMILIES.items():
        if class_name.startswith(begin):
            importlib.import_module(module)


def register(
    class_names: str | Sequence[str],
    layout: Layout | Describer | None = None,
    *,
    payload: PayloadReader | None = None,
    fixed_length: FixedLength = False,
) -> Callable[[Describer], Describer]:
    """Say what a snapshot class means: with ``layout`` a statement, without it a decorator of what describes.

    :param class_names: full name of the snapshot class, or several that mean the same.
    :param layout: the layout of the values; left out, the decorated function makes it from the snapshot.
    :param payload: reads the snapshot's payload; ``SimpleTypeSerializerSnapshot`` if not given.
    :param fixed_length: Flink's ``TypeSerializer.getLength() >= 0``.
    """
    names = (class_names,) if isinstance(class_names, str) else tuple(class_names)

    def put(describer: Layout | Describer) -> None:
        for name in names:
            load_family(name)  # so that what a plug-in registers is the last
            REGISTRY[name] = Serializer(payload, describer, fixed_length)

    def decorate(describer: Describer) -> Describer:
        put(describer)
        return describer

    if layout is not None:
        put(layout)
    return decorate


def find_serializer(class_name: str) -> Serializer | None:
    """What the registry holds of a snapshot class; ``None``: the class is not known."""
    if class_name not in REGISTRY:
        load_family(class_name)
    return REGISTRY.get(class_name)


def all_serializers() -> dict[str, Serializer]:
    """The registry, with all families."""
    for begin in FAMILIES:
        load_family(begin)
    return REGISTRY


_context: ContextVar[DescribeContext] = ContextVar("describe_context")


def current_context() -> DescribeContext:
    """The context of the call of :func:`describe` that is running: for describers that need one."""
    return _context.get(DescribeContext())


def describe(snapshot: SerializerSnapshot, context: DescribeContext | None = None) -> Layout:
    """The layout of the values that a serializer with this snapshot wrote; for unknown ones :class:`Undecodable`.

    :param context: facts that the snapshot does not hold. Describers that describe what is nested in a snapshot leave
        it out, and it is that of the whole.
    """
    if context is None:
        return _describe(snapshot)
    token = _context.set(context)
    try:
        return _describe(snapshot)
    finally:
        _context.reset(token)


def _describe(snapshot: SerializerSnapshot) -> Layout:
    if snapshot.is_unknown:
        return Undecodable(snapshot.class_name, "the serializer's snapshot class is not known")
    known = find_serializer(snapshot.class_name)
    if known is None:
        return Undecodable(snapshot.class_name, "the serializer's snapshot class is not known")
    if isinstance(known.layout, Layout):
        return known.layout
    try:
        return known.layout(snapshot)
    except IndexError:
        raise FormatError(f"the snapshot {snapshot.class_name} has too few nested snapshots") from None


def inner(snapshot: SerializerSnapshot) -> Layout:
    """That of the nested serializer, of one that writes nothing else."""
    return describe(snapshot.nested[0])


def nested_struct(*names: str) -> Describer:
    """A struct of what the nested serializers write one after the other, with these names."""
    return lambda snapshot: Struct(
        tuple(Field(name, describe(nested)) for name, nested in zip(names, snapshot.nested, strict=True))
    )


def is_fixed_length(snapshot: SerializerSnapshot) -> bool:
    """Flink's ``TypeSerializer.getLength() >= 0``; false for what is not known."""
    known = find_serializer(snapshot.class_name)
    if known is None or snapshot.is_unknown:
        return False
    return known.fixed_length if isinstance(known.fixed_length, bool) else known.fixed_length(snapshot)


def all_fixed_length(snapshot: SerializerSnapshot) -> bool:
    """Whether all nested serializers have a fixed length."""
    return all(map(is_fixed_length, snapshot.nested))


@lru_cache(maxsize=1)
def _installed(folders: tuple[object, ...]) -> tuple[EntryPoint, ...]:
    """The entry points of plug-ins. Looking through all packages takes milliseconds, which every read of a state would pay.

    :param folders: those on ``sys.path`` with when they changed last, as they do when a package is installed.
    """
    finders = [finder for finder in sys.meta_path if hasattr(finder, "find_distributions")]
    if finders == [PathFinder] and not any(_may_have_plugins(folder or ".") for folder in sys.path):
        return ()
    from importlib.metadata import entry_points  # takes longer to load than all folders to look through

    return tuple(sorted(entry_points(group=ENTRY_POINT_GROUP), key=lambda p: p.name))


def _may_have_plugins(folder: str) -> bool:
    """Whether a package in a folder has an entry point of the group; also true of what is not a folder but a zip."""
    try:
        names = os.listdir(folder)
    except OSError:
        return os.path.isfile(folder)
    for name in names:
        if name.lower().endswith((".dist-info", "egg-info")):
            with contextlib.suppress(OSError), open(os.path.join(folder, name, "entry_points.txt"), "rb") as file:
                if ENTRY_POINT_GROUP.encode() in file.read():
                    return True
    return False


def _changed(folder: str) -> tuple[str, int]:
    try:
        return folder, os.stat(folder or ".").st_mtime_ns
    except OSError:
        return folder, 0


def load_plugins(modules: Sequence[str] = ()) -> tuple[str, ...]:
    """Import the plug-ins: every entry point of the group ``stateextract.serializers``, then the modules named.

    A plug-in is a module that calls :func:`register` when it is imported. An entry point may also name a function; it
    is called without arguments.

    :returns: the names of what was loaded.
    """
    loaded = []
    for point in _installed(tuple(map(_changed, sys.path))):
        try:
            plugin = point.load()
            if callable(plugin):
                plugin()
        except Exception as error:
            raise UsageError(
                f"the serializer plug-in {point.name!r} ({point.value}) cannot be loaded: {error}",
                advice="fix or uninstall the package that contains it",
            ) from error
        loaded.append(point.value)
    for name in modules:
        try:
            importlib.import_module(name)
        except Exception as error:
            raise UsageError(
                f"the serializer module {name!r} cannot be imported: {error}",
                advice="the module must be importable in the driver and in every worker",
            ) from error
        loaded.append(name)
    return tuple(loaded)
