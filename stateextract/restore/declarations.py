"""What a job declares, by the code of its classes: states with their types and TTL, keys, uids, maximum parallelism.

Follows each method that makes or uses a state descriptor, or that calls ``keyBy``, ``uid`` or ``setMaxParallelism``. What
does not follow from the code is reported as not known: a descriptor whose name is computed could be that of any state.

Flink's classes: ``StateDescriptor`` and its subclasses, ``KeyedStateStore``, ``OperatorStateStore``, ``DataStream``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from serializers.classcode import ClassCode, Member, parameter_types
from stateextract.errors import StateExtractError
from stateextract.metadata.uid import operator_id
from stateextract.restore.bytecode import MAX_STEPS, Array, Call, Constant, FieldValue, Interpreter, New, Value
from stateextract.restore.job_classes import JobClasses, is_library

_STATE: Final = "org.apache.flink.api.common.state."
_DESCRIPTORS: Final = {
    f"{_STATE}{kind.capitalize()}StateDescriptor": kind for kind in ("VALUE", "LIST", "MAP", "REDUCING", "AGGREGATING")
}  # fmt: skip
_TTL_CONFIG: Final = _STATE + "StateTtlConfig"
_KEPT_UPDATES: Final = frozenset({"OnCreateAndWrite", "OnReadAndWrite"})
_KEYED: Final = "keyed"
_GETTERS: Final = {
    "getState": _KEYED, "getListState": _KEYED, "getMapState": _KEYED, "getReducingState": _KEYED,
    "getAggregatingState": _KEYED, "getUnionListState": "UNION", "getBroadcastState": "BROADCAST", "broadcast": "BROADCAST",
}  # fmt: skip
_OPERATOR_STORE: Final = _STATE + "OperatorStateStore"
_ONLY_KEYED: Final = frozenset({"VALUE", "REDUCING", "AGGREGATING"})
_KEY_SELECTOR: Final = "Lorg/apache/flink/api/java/functions/KeySelector;"
_TYPE: Final = "Lorg/apache/flink/api/common/typeinfo/TypeInformation;"
_OTHER_TYPES: Final = frozenset({
    "enableForceKryo", "enableForceAvro", "setForceKryo", "setForceAvro", "setForceKryoAvro", "registerFactory",
})  # fmt: skip
_OTHER_TYPE_OPTIONS: Final = (
    (b"pipeline.force-",), (b"pipeline.serialization-config",), (b"PipelineOptions", b"FORCE_KRYO"),
    (b"PipelineOptions", b"FORCE_AVRO"), (b"PipelineOptions", b"SERIALIZATION_CONFIG"),
)  # fmt: skip
"""Texts of a class that sets how Flink finds types by an option."""
_MAX_PARALLELISM: Final = ((b"pipeline.max-parallelism",), (b"PipelineOptions", b"MAX_PARALLELISM"))
"""Texts of a class that sets it by its option."""

_WANTED: Final = frozenset({"keyBy", "uid", "setMaxParallelism", *_OTHER_TYPES})

_MAX_TOTAL: Final = 1 << 24
"""Instructions and values of all methods that are looked at; a class beyond it counts as one that cannot be read."""

_JOB_MARKS: Final = (b"StreamExecutionEnvironment", b"TableEnvironment")
"""Texts of the class that makes a job."""

_MARK: Final = b"org/apache/flink/"
_MARKS: Final = (
    b"org/apache/flink/api/common/state/", b"org/apache/flink/api/java/functions/KeySelector", b"\x00\x05keyBy",
    b"\x00\x03uid", b"axParallelism", b"max-parallelism", b"MAX_PARALLELISM", *(name.encode() for name in _OTHER_TYPES),
    *(texts[-1] for texts in _OTHER_TYPE_OPTIONS), *_JOB_MARKS,
)  # fmt: skip
"""One of them is in each class that declares something."""


@dataclass(frozen=True)
class Declaration:
    """A state that a class declares.

    :param kind: ``VALUE``, ``LIST``, ``MAP``, ``REDUCING``, ``AGGREGATING``.
    :param types: what its constructor got for the types: of a map the key's and the value's.
    :param ttl: whether it is on; ``None``: not known.
    :param uses: as what it is declared: ``keyed``, ``SPLIT_DISTRIBUTE``, ``UNION``, ``BROADCAST``; empty: not known.
    """

    made_in: str
    name: str
    kind: str
    types: tuple[Value, ...]
    ttl: bool | None
    uses: frozenset[str]


@dataclass(frozen=True)
class Declarations:
    """What the classes of a job declare.

    :param states: by name.
    :param unknown: classes that declare states whose names do not follow from their code.
    :param keys: a selector or type information for each call of ``keyBy``; ``None``: not known.
    :param ids: the operator ids of all uids that are set.
    :param max_parallelisms: that are set; ``None``: one that does not follow from the code.
    :param fields: what is stored in fields that only classes set that were read, where it is one value.
    :param other_types: the job sets how Flink finds types, so classes do not show them.
    :param of_job: there is code of a job, and not of its data alone. One with windows alone declares no state.
    """

    states: Mapping[str, tuple[Declaration, ...]]
    unknown: tuple[str, ...]
    keys: tuple[Value, ...]
    ids: frozenset[str]
    max_parallelisms: frozenset[int | None]
    fields: Mapping[FieldValue, Value]
    other_types: bool
    of_job: bool

    def resolved(self, value: Value) -> Value:
        """The value of a field that has only one, of others the value itself."""
        return _resolved(value, self.fields)


def read_declarations(classes: JobClasses) -> Declarations:
    """What the classes that are not Flink's declare."""
    collector = _Collector()
    for name, data in classes.with_marks(_MARK, _MARKS):
        collector.read(name, data)
    return collector.result()


@dataclass
class _Site:
    """A descriptor that a method makes."""

    made_in: str
    made: New
    ttl: list[bool | None] = field(default_factory=list)
    uses: set[str] = field(default_factory=set)


class _Collector:
    """Watches all methods."""

    def __init__(self) -> None:
        self._sites: dict[int, _Site] = {}
        self._unknown: dict[str, None] = {}
        self._stores: dict[FieldValue, list[Value]] = {}
        self._closed: set[FieldValue] = set()
        self._ttl_calls: list[Value] = []  # on descriptors that are not made in the same place
        self._configs: list[tuple[_Site, Value]] = []
        self._uses: list[tuple[Value, str]] = []
        self._keys: list[Value] = []
        self._ids: set[str] = set()
        self._max: set[int | None] = set()
        self._no_ttl_possible = False
        self._other_types = False
        self._of_job = False
        self._class = ""
        self._left = _MAX_TOTAL

    def read(self, name: str, data: bytes) -> None:
        """Follow the methods of a class."""
        self._class = name
        if any(all(text in data for text in texts) for texts in _MAX_PARALLELISM):
            self._max.add(None)
        self._of_job |= any(mark in data for mark in _JOB_MARKS)
        self._other_types |= any(all(text in data for text in texts) for texts in _OTHER_TYPE_OPTIONS)
        try:
            code = ClassCode(data)
            self._closed.update(FieldValue(code.name, field) for field in code.closed_fields)
            for method in code.methods:
                follower = Interpreter(code, method, self, min(MAX_STEPS, self._left))
                try:
                    follower.run()
                finally:
                    self._left -= follower.steps
        except StateExtractError:
            self._unknown.setdefault(name)

    # ---- what a method does

    def wants(self, member: Member) -> bool:
        """Whether a method with this call or field may declare something."""
        name = member.name
        return (
            member.owner.startswith(_STATE)
            or name in _WANTED
            or _KEY_SELECTOR in member.descriptor
            or "StateDescriptor;" in member.descriptor
        )

    def stored(self, target: FieldValue, value: Value) -> None:
        self._stores.setdefault(target, []).append(value)

    def called(self, member: Member, arguments: Sequence[Value], block: int) -> bool:
        if member.name == "<init>":
            return self._made(member, arguments)
        if not is_library(member.owner):
            return False
        if member.owner.startswith(_STATE) and member.name == "enableTimeToLive" and len(arguments) == 2:
            self._ttl(arguments[0], arguments[1], block)
            return True
        if member.owner.startswith(_TTL_CONFIG) and member.name == "setUpdateType":
            kept = [isinstance(a, FieldValue) and a.name in _KEPT_UPDATES for a in arguments[1:]]
            self._no_ttl_possible |= not all(kept)
        parameters = parameter_types(member.descriptor)
        if member.name in _GETTERS and any("StateDescriptor;" in type_ for type_ in parameters):
            self._used(member, arguments)
            return True
        self._job(member, parameters, arguments)
        return False

    def _made(self, member: Member, arguments: Sequence[Value]) -> bool:
        kind = _DESCRIPTORS.get(member.owner)
        if kind is None:
            if member.owner.startswith(_STATE) and member.owner.endswith("StateDescriptor"):
                self._unknown.setdefault(self._class)
            return False
        made = arguments[0]
        if isinstance(made, New) and made.class_name == member.owner:
            self._sites[id(made)] = _Site(self._class, made)
        else:
            self._unknown.setdefault(self._class)
        return True

    def _ttl(self, descriptor: Value, config: Value, block: int) -> None:
        site = self._site(descriptor)
        if site is None:
            self._ttl_calls.append(descriptor)
        elif site.made.block == block:
            self._configs.append((site, config))
        else:
            site.ttl.append(None)

    def _used(self, member: Member, arguments: Sequence[Value]) -> None:
        use = _GETTERS[member.name]
        if member.owner == _OPERATOR_STORE and member.name == "getListState":
            use = "SPLIT_DISTRIBUTE"
        elif use is _KEYED and not member.owner.endswith("RuntimeContext") and not _of_all_windows(arguments[:1]):
            use = "window"
        for argument in arguments[1:]:
            for descriptor in argument.elements.values() if isinstance(argument, Array) else [argument]:
                self._uses.append((descriptor, use))
            if isinstance(argument, Array) and argument.size < 0:
                self._uses.append((None, use))

    def _job(self, member: Member, parameters: list[str], arguments: Sequence[Value]) -> None:
        values = arguments[len(arguments) - len(parameters) :]
        self._of_job |= member.name in _WANTED or _KEY_SELECTOR in parameters
        if member.name == "uid" and isinstance(values[-1] if values else None, Constant):
            text = values[-1]
            self._ids.update(
                {operator_id(text.value)} if isinstance(text, Constant) and isinstance(text.value, str) else ()
            )
        elif member.name == "setMaxParallelism" and parameters == ["I"]:
            number = values[0].value if isinstance(values[0], Constant) else None
            self._max.add(number if isinstance(number, int) else None)
        elif member.name in _OTHER_TYPES:
            self._other_types = True
        elif member.name == "keyBy" or _KEY_SELECTOR in parameters:
            types = [value for type_, value in zip(parameters, values, strict=True) if type_ == _TYPE]
            selectors = [value for type_, value in zip(parameters, values, strict=True) if type_ == _KEY_SELECTOR]
            self._keys += (types if types and selectors else selectors) or [None]

    def _site(self, value: Value) -> _Site | None:
        return self._sites.get(id(value)) if isinstance(value, New) else None

    # ---- the result

    def result(self) -> Declarations:
        """What all of it declares."""
        stores = self._stores
        fields = {target: values[0] for target, values in stores.items() if len(values) == 1 and target in self._closed}
        for site, config in self._configs:
            site.ttl.append(self._is_on(_resolved(config, fields)))
        loose_ttl = False
        for descriptor in self._ttl_calls:
            known = self._site(_resolved(descriptor, fields))
            if known is None:
                loose_ttl = True
            else:
                known.ttl.append(None)
        loose: set[str] = set()
        for descriptor, use in self._uses:
            known = self._site(_resolved(descriptor, fields))
            (loose if known is None else known.uses).add(use)
        states: dict[str, list[Declaration]] = {}
        for site in self._sites.values():
            declaration = self._declaration(site, loose_ttl, loose, fields)
            if declaration is None:
                self._unknown.setdefault(site.made_in)
            else:
                states.setdefault(declaration.name, []).append(declaration)
        return Declarations(
            {name: tuple(found) for name, found in states.items()}, tuple(self._unknown), tuple(self._keys),
            frozenset(self._ids), frozenset(self._max), fields, self._other_types,
            self._of_job or bool(states or self._unknown or self._max or self._other_types),
        )  # fmt: skip

    def _is_on(self, config: Value) -> bool | None:
        """Whether a configuration has TTL on."""
        if config == FieldValue(_TTL_CONFIG, "DISABLED"):
            return False
        built = (
            isinstance(config, Call)
            and config.member.owner == f"{_TTL_CONFIG}$Builder"
            and config.member.name == "build"
        )
        return True if built and not self._no_ttl_possible else None

    def _declaration(
        self, site: _Site, loose_ttl: bool, loose: set[str], fields: Mapping[FieldValue, Value]
    ) -> Declaration | None:
        made = site.made
        kind = _DESCRIPTORS[made.class_name]
        name = _resolved(made.arguments[0], fields) if made.arguments else None
        if made.constructor is None or not isinstance(name, Constant) or not isinstance(name.value, str):
            return None
        ttl = (site.ttl or [False])[0]
        if len(site.ttl) > 1 or (loose_ttl and made.escaped):
            ttl = None
        uses = frozenset(site.uses or (loose if made.escaped else ()))
        if kind in _ONLY_KEYED:
            uses = frozenset({"window"} if "window" in uses else {_KEYED})
        parameters = parameter_types(made.constructor.descriptor)
        first = 2 if kind in ("REDUCING", "AGGREGATING") else 1
        number = 2 if kind == "MAP" else 1
        types = made.arguments[first : first + number]
        return Declaration(
            site.made_in, name.value, kind, types if len(parameters) >= first + number else (), ttl, uses
        )


def _resolved(value: Value, fields: Mapping[FieldValue, Value]) -> Value:
    """The value of a field that has only one."""
    for _ in range(8):
        if not isinstance(value, FieldValue) or value not in fields:
            return value
        value = fields[value]
    return None


def _of_all_windows(store: Sequence[Value]) -> bool:
    """Whether a store of keyed state is not that of one window."""
    (value,) = store or (None,)
    return isinstance(value, Call) and value.member.name in ("getKeyedStateStore", "globalState", "getRuntimeContext")
