"""Class models for values that Kryo wrote, by the POJO serializers of the same classes elsewhere in the snapshot.

A POJO's snapshot leaves open how some fields are declared (``serializers/kryo/pojo_fields.py``), and Kryo's bytes depend on
it. So the first values are read by every declaration that is possible: the true one reads them all, and another one does
not get far. A class has a model if exactly one is left. A field whose values say nothing (an ``int`` that is always 0 is as
good as an ``Integer`` that is always null) is one byte 0 by each of its types, so what is after it is read alike by all: such
a field is null if none of its types is primitive, else it has no column. A value there that is not 0 is an error. If something
else leaves several declarations, the class is not known, as without this.

Looking for a model reads values; it happens before the plan, and only for classes that nothing else describes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from serializers import DescribeContext
from serializers.classes import ClassModel, ClassModels, FieldModel
from serializers.javatypes import OBJECT_CLASS, PRIMITIVES
from serializers.kryo.pojo_fields import UNDECIDED, WITH_CLASS, ZERO, PojoFields, pojo_classes
from stateextract.columnar.convert.policy import Policy
from stateextract.errors import FormatError, UndecodableError
from stateextract.metadata.model import SnapshotMetadata
from stateextract.metadata.operator_lookup import operator_label
from stateextract.snapshot.describe_contexts import kryo_classes, lacking, snapshots_of
from stateextract.snapshot.headers import StateFile
from stateextract.snapshot.part_reader import PartReader
from stateextract.snapshot.parts import OperatorTargets, Part, StateTarget
from stateextract.state.counters import Counters
from stateextract.state.row_layout import row_layout
from stateextract.state.state_columns import ReadOptions, merged_schema

_MAX_TRIALS: Final = 400
_ROWS: Final = 5000
"""Of one file that are read to distinguish declarations."""
_FILES: Final = 20
_BYTES: Final = 1 << 24
"""Of a file, in whole key groups."""

_ANYTHING: Final = WITH_CLASS + OBJECT_CLASS
_LONGER: Final = frozenset({"short", "char", "float", "double"})
"""Types whose value is not over after one byte 0. Of all others that is 0, false or null."""
_MET: Final = re.compile(re.escape(UNDECIDED) + r"(\d+)")
_OTHER_CLASS: Final = re.compile(r"a value of (\[*[\w$.]+;?) cannot be decoded|whether ([\w$.]+) is final")
"""What may end the reading by a declaration that is right: a class that is not known."""


OpenReader = Callable[[ReadOptions], PartReader]


class _OutOfReach(Exception):
    """The declaration of a class cannot be found: something else cannot be read."""


@dataclass(frozen=True)
class _Guess:
    """What of the declarations is assumed: types of fields by their numbers, and classes that are final."""

    types: Mapping[int, str] = field(default_factory=dict)
    final: frozenset[str] = frozenset()


def with_pojos(
    context: DescribeContext,
    snapshot: SnapshotMetadata,
    files: Sequence[StateFile],
    open_reader: OpenReader,
    codec: str,
) -> DescribeContext:
    """The context with models of what Kryo wrote and POJO serializers describe.

    :param files: of all operators of the snapshot.
    :param codec: of compressed changelog files.
    """
    pojos = {
        name: fields for name, fields in pojo_classes(snapshots_of(files)).items() if context.class_models.get(name) is None
    }
    models: dict[str, ClassModel] = {}
    for name in lacking(context, files):
        if name not in pojos or context.kryo is None:
            continue
        search = _PojoSearch(name, pojos, context, snapshot, files, open_reader, codec)
        for model in search.models():
            if models.setdefault(model.name, model) != model:
                return context  # two states contradict each other
    if not models:
        return context
    return replace(context, class_models=ClassModels({**models, **context.class_models.by_name}))


class _PojoSearch:
    """Looks for the declarations of one class and of those in its fields."""

    def __init__(
        self,
        root: str,
        pojos: Mapping[str, PojoFields],
        context: DescribeContext,
        snapshot: SnapshotMetadata,
        files: Sequence[StateFile],
        open_reader: OpenReader,
        codec: str,
    ) -> None:
        self._root = root
        self._context = context
        self._snapshot = snapshot
        self._open_reader, self._codec = open_reader, codec
        self._classes = {root: pojos[root]}
        ahead = [root]
        while ahead:
            for part in self._classes[ahead.pop()]:
                inner = part.types[0]
                if part.pojo and inner in pojos and inner not in self._classes:
                    self._classes[inner] = pojos[inner]
                    ahead.append(inner)
        self._fields = [(name, part) for name, parts in sorted(self._classes.items()) for part in parts]
        self._trials = 0
        self._where = [(file, states) for file in files if (states := self._states(file))][:_FILES]

    def _states(self, file: StateFile) -> list[str]:
        """The states of a file that hold values of the class; none of a file with key groups that take long to read."""
        if file.header is None or file.content is None or max(file.content.sizes, default=0) > _BYTES:
            return []
        return [
            meta.name
            for meta in file.header.states
            if any(name == self._root for name, _ in kryo_classes(meta.serializers.values()))
        ]

    def models(self) -> list[ClassModel]:
        """The models; none where they are not certain."""
        declared = kryo_classes(snapshots_of([file for file, _ in self._where]))
        snapshots = [snapshot for name, snapshot in declared if name == self._root]
        if any(s.details.get("default_serializers") or s.details.get("default_serializer_classes") for s in snapshots):
            return []  # these may hold for a superclass, which is not known
        try:
            alive = self._alive()
        except _OutOfReach:
            return []
        if len(alive) != 1:
            return []
        guess = alive[0]
        needed = self._met(guess)
        if any(
            len(part.types) > 1 and number not in guess.types and name in needed
            for number, (name, part) in enumerate(self._fields)
        ):
            return []
        # A value of another class does not show that the reading is wrong, but the POJO has no columns for it.
        typed = self._models(guess)
        found = typed if self._reads(typed) is None else self._models(guess, plain=True)
        return [model for model in found if model.name in needed]

    def _met(self, guess: _Guess) -> set[str]:
        """The classes of which there are values: not those of fields that are always null."""
        met, ahead = {self._root}, [self._root]
        while ahead:
            above = ahead.pop()
            for number, (name, part) in enumerate(self._fields):
                inner = part.types[0]
                has_values = name == above and part.pojo and guess.types.get(number) != ZERO
                if has_values and inner in self._classes and inner not in met:
                    met.add(inner)
                    ahead.append(inner)
        return met

    def _alive(self) -> list[_Guess]:
        """The guesses by which all values that were looked at can be read, alike ones as one."""
        base = _Guess()
        while len(alive := self._search(base)) > 1:
            one, other = alive
            unclear = [n for n, type_ in one.types.items() if other.types.get(n, type_) != type_]
            zero = {number: self._zero(number) for number in unclear}
            read = self._reads(self._models(_Guess({**one.types, **zero}, one.final), plain=True))
            if not unclear or any(guess.types[n] in _LONGER for guess in alive for n in unclear) or read is not None:
                raise _OutOfReach
            # One byte 0 in all values: all types that end after it read the rest alike.
            base = _Guess({**base.types, **zero}, base.final)
        for number in base.types:
            for type_ in set(self._fields[number][1].types) & _LONGER:
                if self._search(_Guess({**base.types, number: type_}, base.final)):
                    raise _OutOfReach
        return alive

    def _zero(self, number: int) -> str:
        """The type of a field that is one byte 0: certainly null, if it cannot be a primitive type."""
        _, part = self._fields[number]
        return ZERO if part.pojo or any(type_ in PRIMITIVES for type_ in part.types) else f"{ZERO}<{part.types[0]}>"

    def _search(self, base: _Guess) -> list[_Guess]:
        """The guesses that are alive, two of them at most, of those that contain a guess."""
        ahead, alive = [base], list[_Guess]()
        while ahead and len(alive) < 2:
            guess = ahead.pop()
            self._trials += 1
            if self._trials > _MAX_TRIALS:
                raise _OutOfReach
            met = self._reads(self._models(guess, plain=True))
            if met is None:
                alive.append(guess)
            elif met >= 0:
                ahead += self._next(guess, met)
        return alive

    def _next(self, guess: _Guess, number: int) -> Iterator[_Guess]:
        """The guesses for one more field."""
        _, part = self._fields[number]
        for type_ in part.types:
            final = guess.final | {type_} if part.pojo and not type_.startswith(WITH_CLASS) else guess.final
            yield _Guess({**guess.types, number: type_}, final)

    def _models(self, guess: _Guess, plain: bool = False) -> list[ClassModel]:
        """The models by a guess.

        :param plain: what is written with its class may be anything.
        """
        fields: dict[str, list[FieldModel]] = {name: [] for name in self._classes}
        for number, (name, part) in enumerate(self._fields):
            only = part.types[0] if len(part.types) == 1 else f"{UNDECIDED}{number}"
            type_ = guess.types.get(number, only)
            fields[name].append(FieldModel(part.name, _ANYTHING if plain and type_.startswith(WITH_CLASS) else type_))
        return [ClassModel(name, fields=tuple(parts), final=name in guess.final or None) for name, parts in fields.items()]

    def _reads(self, models: list[ClassModel]) -> int | None:
        """Read the values by models.

        :returns: ``None`` if all went well; the number of a field that has no type yet and that is in a value; -1 if the
            models are wrong.
        :raises _OutOfReach: where something else cannot be read.
        """
        known = {**self._context.class_models.by_name, **{model.name: model for model in models}}
        context = replace(self._context, class_models=ClassModels(known))
        # It fails at what it cannot decode, and at nothing that a column cannot hold.
        policy = Policy(strings="replace", timestamps="floor", out_of_range="null", maps="list")
        options = ReadOptions(policy, codec=self._codec, context=context, engine="interpreter", sessions=False, batch_rows=1000)
        reader = self._open_reader(options)
        for file, states in self._where:
            try:
                self._read(reader, options, file, states)
            except (UndecodableError, FormatError) as error:
                met = _MET.search(error.message)
                if met is not None:
                    return int(met[1])
                other = _OTHER_CLASS.search(error.message)
                # By a wrong one any text may be taken for a class; a class in a package refers to no class without one.
                if other is not None and ("." in other[0] or "." not in self._root):
                    raise _OutOfReach from None
                return -1
            except Exception:
                raise _OutOfReach from None  # whatever it is, it is reported where the state is read
        return None

    def _read(self, reader: PartReader, options: ReadOptions, file: StateFile, states: list[str]) -> None:
        operator = self._snapshot.operators[file.operator]
        of_operator = replace(options, context=options.context.of_operator(operator.id))
        header, content = file.header, file.content
        assert header is not None
        assert content is not None
        rows = {name: [row_layout(header, m, of_operator.context) for m in header.states if m.name == name] for name in states}
        targets = {name: StateTarget("", "", merged_schema(rows[name], of_operator)) for name in states}
        end, size = 0, 0
        for one in (content := content.only(set(states))).sizes:
            if end and size + one > _BYTES:
                break
            end, size = end + 1, size + one
        part = Part(0, 0, file.subtask, file.uri, file.start, content.cut(0, end))
        pieces = reader.pieces(part, OperatorTargets(operator_label(operator), targets, operator.id), Counters())
        count = 0
        for piece in pieces:
            count += piece.batch.num_rows
            if count >= _ROWS:
                break
