"""What the classes of the new job prove of a state: how it is declared, with which types, under which key and operator.

Each question gives what the new job can have, and a text where that is not proven. An answer "restores" needs all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final, Generic, TypeVar

from serializers.javatypes import parse_type
from serializers.registry import SerializerSnapshot
from serializers.scalars import BASE
from serializers.ttl import TTL_SNAPSHOTS, is_ttl, unwrapped
from stateextract.metadata.model import OperatorState
from stateextract.restore.bytecode import Value
from stateextract.restore.declarations import Declaration, Declarations
from stateextract.restore.derive import Derivation
from stateextract.restore.type_extractor import Extractor, simple
from stateextract.restore.typeinfo import TypeReader
from stateextract.state.flink_states import purpose_of
from stateextract.state.header import NAMESPACE, VALUE, StateMeta
from stateextract.state.state_columns import timer_service

_VOID: Final = "org.apache.flink.runtime.state.VoidNamespaceSerializer"
_BYTES: Final = BASE + "array.BytePrimitiveArraySerializer$"
_KEYED_FUNCTIONS: Final = tuple(
    f"org.apache.flink.streaming.api.functions.{name}"
    for name in ("KeyedProcessFunction", "co.KeyedCoProcessFunction", "co.KeyedBroadcastProcessFunction")
)
_KEYS_OF_FLINK: Final = (BASE + "ByteSerializer", "org.apache.flink.table.")
"""Of ``windowAll`` and patterns without ``keyBy`` (``NullByteKeySelector``), and of SQL."""
_OTHER_TYPES: Final = "the new job sets how Flink finds the types of classes"


T = TypeVar("T")


@dataclass(frozen=True)
class Candidates(Generic[T]):
    """What the new job can have in a place.

    :param found: each of them; none: it has nothing there.
    :param problem: why it is not proven that the new job has one of them; empty: it is.
    """

    found: tuple[T, ...]
    problem: str = ""


class ByClasses:
    """Answers by the declarations of the new job.

    :param declarations: ``None``: they are taken to be those of the old job.
    :param derivation: makes new snapshots of old ones, for what is not known of the declarations.
    """

    def __init__(self, declarations: Declarations | None, extractor: Extractor, derivation: Derivation) -> None:
        self._declarations = declarations
        self._extractor = extractor
        self._derivation = derivation
        self._types = TypeReader(extractor, self._resolved)

    def _resolved(self, value: Value) -> Value:
        return value if self._declarations is None else self._declarations.resolved(value)

    # ---- the operator

    def operator_problems(self, state: OperatorState, owned: bool, max_parallelism: bool) -> tuple[str, ...]:
        """Why it is not proven that the new job has the operator, with a maximum parallelism that fits.

        :param owned: another input shows that it has the operator; :param max_parallelism: that it fits.
        """
        declarations, found = self._declarations, []
        if declarations is None:
            return ()
        if not owned and state.id not in declarations.ids:
            found.append(f"no class of the new job calls uid(…) with what leads to the operator {state.id}")
        if not max_parallelism and declarations.max_parallelisms - {state.max_parallelism}:
            numbers = sorted(n for n in declarations.max_parallelisms if n is not None)
            text = ", ".join(map(str, numbers)) if None not in declarations.max_parallelisms else "a computed number"
            found.append(
                f"the new job sets a maximum parallelism ({text}), and the operator had {state.max_parallelism}"
            )
        return tuple(found)

    # ---- keys

    def keys(self, old: SerializerSnapshot, states: Iterable[str]) -> Candidates[SerializerSnapshot]:
        """The serializers that the operator's keys can have.

        :param states: the names of its states: the functions that declare them may say the type of their keys.
        """
        as_before = (self._derivation.of(old),)
        if self._declarations is None:
            return Candidates(as_before)
        values = self._declarations.keys
        if not values:
            return Candidates(as_before, "no class of the new job calls keyBy")
        found = [self._types.of_key(value) for value in values]
        known = [snapshot for snapshot in found if snapshot is not None]
        if len(known) < len(found):
            return Candidates(as_before, "a key of the new job does not follow from its classes")
        if self._declarations.other_types:
            return Candidates(as_before, _OTHER_TYPES)
        if old.class_name.startswith(_KEYS_OF_FLINK) and old.class_name not in {key.class_name for key in known}:
            return Candidates(as_before, "Flink itself can have made the operator's keys, of all elements or of a query")
        of_functions = [key for key in map(self._key_of_function, self._makers(states)) if key is not None]
        if len(of_functions) == 1 and of_functions[0] in known:
            known = of_functions
        return Candidates(tuple(self._derivation.merged(old, key) for key in _each_once(known)))

    def _makers(self, states: Iterable[str]) -> list[str]:
        declared = {} if self._declarations is None else self._declarations.states
        return sorted({declaration.made_in for name in states for declaration in declared.get(name, ())})

    def _key_of_function(self, name: str) -> SerializerSnapshot | None:
        """The serializer of the keys of ``class X extends KeyedProcessFunction<Key, …>``."""
        model = self._extractor.classes.model(name)
        type_ = None if model is None or model.superclass is None else parse_type(model.superclass)
        if type_ is None or type_.name not in _KEYED_FUNCTIONS or not type_.arguments:
            return None
        return self._extractor.of_type(type_.arguments[0])

    # ---- states

    def states(
        self, old: StateMeta, scope: str, operators: int, keys: Sequence[SerializerSnapshot]
    ) -> Candidates[StateMeta]:
        """What the new job can have of a state.

        :param operators: how many operators of the snapshot have a state of this name.
        :param keys: what the new job's keys can be.
        """
        as_before = self._as_before(old)
        if self._declarations is None:
            return Candidates((as_before,))
        declarations = self._declarations
        if old.kind == "TIMER":
            return self._timers(old, keys)
        of_flink = purpose_of(old.name) is not None and old.name not in declarations.states
        if of_flink or old.backend_type == "PRIORITY_QUEUE":
            opaque = scope == "operator" and old.serializers[VALUE].class_name.startswith(_BYTES)
            problem = "an operator of Flink declares it, with types that do not follow from the job's classes"
            return Candidates((as_before,), "" if opaque else problem)
        everywhere = declarations.states.get(old.name, ())
        wanted = [d for d in everywhere if not d.uses or d.uses & _uses_of(old, scope)]
        if not wanted and declarations.unknown:
            return Candidates((as_before,), _unnamed(declarations))
        if not wanted:
            has = f", but a state {old.name!r} of another scope" if everywhere else ""
            text = f"no class of the new job declares this state{has}, so it may have been renamed"
            return Candidates((), text)
        problem = _unnamed(declarations) if declarations.unknown else ""
        if not problem and len(wanted) < operators:
            problem = (
                f"{operators} operators have a state of this name, and the classes of the new job declare {len(wanted)}"
            )
        found: list[StateMeta] = []
        for declaration in wanted:
            candidate = self._declared(old, scope, declaration, declarations.other_types)
            found += candidate.found
            problem = problem or candidate.problem
        return Candidates(tuple(found), problem)

    def _as_before(self, old: StateMeta) -> StateMeta:
        return replace(old, serializers={part: self._derivation.of(s) for part, s in old.serializers.items()})

    def _timers(self, old: StateMeta, keys: Sequence[SerializerSnapshot]) -> Candidates[StateMeta]:
        timer = old.serializers[VALUE]
        known = (
            len(timer.nested) == 2
            and timer.nested[1].class_name.startswith(_VOID)
            and timer_service(old.name) is not None
        )
        if not known or not keys:
            return Candidates((self._as_before(old),), "the windows of the new job do not follow from its classes")
        timers = [replace(timer, nested=(key, timer.nested[1])) for key in keys]
        return Candidates(tuple(replace(old, serializers={**old.serializers, VALUE: timer}) for timer in timers))

    def _declared(
        self, old: StateMeta, scope: str, declaration: Declaration, other_types: bool
    ) -> Candidates[StateMeta]:
        """A state by what a class declares under its name."""
        as_before = self._as_before(old)
        made_in = declaration.made_in
        uses = declaration.uses & _uses_of(old, scope)
        if len(declaration.uses) != 1 or len(uses) != 1:
            return Candidates((as_before,), f"as what {made_in} uses this state does not follow from its code")
        kind = declaration.kind if scope == "keyed" else next(iter(uses))
        if kind != old.kind:
            return Candidates((replace(as_before, kind=kind),))
        fresh = [self._types.of(value) for value in declaration.types]
        types = [snapshot for snapshot in fresh if snapshot is not None]
        if not types or len(types) < len(fresh):
            problem = f"the type that {made_in} gives to this state does not follow from its code"
            return Candidates((as_before,), problem)
        if other_types:
            return Candidates((as_before,), _OTHER_TYPES)
        void = NAMESPACE not in old.serializers or old.serializers[NAMESPACE].class_name.startswith(_VOID)
        if not void or "window" in uses:
            return Candidates((as_before,), "the windows of the new job do not follow from its classes")
        if scope != "keyed":
            return Candidates((self._operator_state(old, types),))
        if declaration.ttl is None:
            problem = f"whether {made_in} sets a TTL for this state does not follow from its code"
            return Candidates((as_before,), problem)
        return Candidates((self._keyed_state(old, types, declaration.ttl),))

    def _operator_state(self, old: StateMeta, types: list[SerializerSnapshot]) -> StateMeta:
        parts = dict(zip((VALUE,) if len(types) == 1 else ("KEY_SERIALIZER", VALUE), types, strict=True))
        before = old.serializers
        made = {part: self._derivation.merged(before[part], s) for part, s in parts.items() if part in before}
        return replace(old, serializers={**before, **made})

    def _keyed_state(self, old: StateMeta, types: list[SerializerSnapshot], ttl: bool) -> StateMeta:
        value = unwrapped(old.serializers[VALUE])
        if old.kind in ("LIST", "MAP") and len(value.nested) == len(types):
            inner = [*value.nested[:-1], self._with_ttl(value.nested[-1], types[-1], ttl)]
            if old.kind == "MAP":
                inner[0] = self._derivation.merged(value.nested[0], types[0])
            made = replace(value, nested=tuple(inner))
        else:
            made = self._with_ttl(value, types[-1], ttl)
        return replace(old, serializers={**old.serializers, VALUE: made})

    def _with_ttl(self, old: SerializerSnapshot, new: SerializerSnapshot, ttl: bool) -> SerializerSnapshot:
        old = unwrapped(old)
        had = is_ttl(old)
        merged = self._derivation.merged(old.nested[1] if had else old, new)
        if not ttl:
            return merged
        if had:
            return replace(old, nested=(old.nested[0], merged))
        return SerializerSnapshot(TTL_SNAPSHOTS[0], 3, 2, nested=(simple("Long"), merged))


def _unnamed(declarations: Declarations) -> str:
    return f"the names of the states that {declarations.unknown[0]} declares do not follow from its code"


def _uses_of(old: StateMeta, scope: str) -> frozenset[str]:
    """The uses of a descriptor that give a state where an old one is."""
    if scope == "keyed":
        return frozenset({"keyed", "window"})
    if old.backend_type == "BROADCAST":
        return frozenset({"BROADCAST"})
    return frozenset({"SPLIT_DISTRIBUTE", "UNION"})


def _each_once(snapshots: list[SerializerSnapshot]) -> list[SerializerSnapshot]:
    found: list[SerializerSnapshot] = []
    for snapshot in snapshots:
        if snapshot not in found:
            found.append(snapshot)
    return found
