"""PyFlink's state: which states Python wrote, and the types that show their values.

A Python process writes bytes and nothing in the snapshot records their type, except that pickles begin and end as such. So the
first rows of a state that has bytes are read: where all bytes are pickles, they become JSON text. The wrapping around values
(a key in a Row of one field, a value in a list of what was added at one time) is taken off, unless the user keeps it.
What a state becomes is a list of type overrides like the user's own (``job_type_overrides.py``), which travels with the plan.

May import the reader of parts; must not know of Spark, Parquet or the Python API.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa

from stateextract.columnar.convert.elements import split_pickles
from stateextract.columnar.convert.type_overrides import (
    UNWRAP_ALL,
    UNWRAP_ONE,
    UNWRAP_ROW,
    UNWRAP_TTL,
    overridden_schema,
    parse_override,
)
from stateextract.errors import StateExtractError
from stateextract.files.pickles import looks_pickled
from stateextract.metadata.operator_lookup import operator_label
from stateextract.snapshot.headers import StateFile
from stateextract.snapshot.inventory import NamedState, OperatorInventory, has_row_key
from stateextract.snapshot.job_type_overrides import JobTypeOverrides, OverrideTexts
from stateextract.snapshot.part_reader import PartReader
from stateextract.snapshot.parts import OperatorTargets, Part, StateTarget
from stateextract.snapshot.source import SnapshotSource
from stateextract.state.bodies.body import BodyKind
from stateextract.state.counters import Counters
from stateextract.state.flink_states import PYTHON_STATE
from stateextract.state.state_columns import ReadOptions, merged_schema

SESSIONS = PYTHON_STATE + "merging-window-set"
"""Which session is kept under which window: a map of windows."""

_ROWS = 200
_FILES = 4
_UNITS = 16
_BATCHES = 64


@dataclass
class PickleSample:
    """Bytes of a state's first rows, by path: ``key``, ``value``, of a map ``value.key`` and ``value.value``.

    :param counts: of each row, how many bytes objects there are: lists have a number of them.
    """

    bytes: dict[str, list[bytes]] = field(default_factory=dict)
    counts: list[int] = field(default_factory=list)


class StateTypes:
    """The type overrides of states: the user's, and those that show what Python wrote.

    :param overrides: the user's.
    :param wrapping: leave state of Python as it is stored.
    """

    def __init__(self, source: SnapshotSource, overrides: JobTypeOverrides, wrapping: bool) -> None:
        self._source = source
        self._overrides = overrides
        self._wrapping = wrapping
        self._samples: dict[str, dict[str, PickleSample]] = {}

    def of(
        self, inventory: OperatorInventory, state: NamedState, merged: pa.Schema, options: ReadOptions
    ) -> OverrideTexts:
        """The overrides of a state, in the order in which they apply.

        :param merged: its columns over all files, before any.
        :param options: with which it is read.
        :raises UsageError: where one of the user's does not fit the state.
        """
        operator = inventory.operator
        fine = options.policy.timestamps == "nanoseconds"
        try:
            texts = self._overrides.fitting(operator, state.name, merged, fine)
        except StateExtractError as error:
            raise error.at(operator=operator_label(operator), state=state.name) from None
        if self._wrapping or not is_python(inventory, state):
            return texts
        return (*texts, *self._shown(inventory, state, merged, options, texts, fine))

    def schema(self, schema: pa.Schema, texts: OverrideTexts, options: ReadOptions) -> pa.Schema:
        """A state's schema with its overrides."""
        fine = options.policy.timestamps == "nanoseconds"
        return overridden_schema(schema, [parse_override(path, type_, fine) for path, type_ in texts])

    def is_untyped(self, state: NamedState, schema: pa.Schema, texts: OverrideTexts) -> bool:
        """Whether a state of a Python process is shown as bytes that have no type.

        :param schema: its columns with their overrides.
        """
        if self._wrapping or not is_process(state) or any(type_.startswith("element(binary") for _, type_ in texts):
            return False
        return any(not path.startswith("key.") for path, _ in bytes_of(schema, True))

    def sample(self, inventory: OperatorInventory, state: NamedState, options: ReadOptions) -> PickleSample:
        """Bytes of a state's first rows."""
        key = f"{inventory.operator.id}/{state.scope}"
        if key not in self._samples:
            self._samples[key] = _sampled(self._source, inventory, state.scope, options)
        return self._samples[key].get(state.name, PickleSample())

    def _shown(
        self,
        inventory: OperatorInventory,
        state: NamedState,
        merged: pa.Schema,
        options: ReadOptions,
        texts: OverrideTexts,
        fine: bool,
    ) -> Iterator[tuple[str, str]]:
        """The overrides that show what Python wrote, as far as the user has none."""
        process = is_process(state)
        schema = overridden_schema(merged, [parse_override(path, type_, fine) for path, type_ in texts])
        sample: PickleSample | None = None
        added: list[tuple[str, str]] = []
        for path, type_ in bytes_of(schema, process):
            sample = sample or self.sample(inventory, state, options)
            selected = recognised(state.name, path, sample, process, type_)
            if selected is not None:
                added.append((path, selected))
        yield from added
        schema = overridden_schema(schema, [parse_override(path, type_, fine) for path, type_ in added])
        if "key" in schema.names and _is_row_of_one(schema.field("key").type):
            yield "key", UNWRAP_ROW
        if process and "value" in merged.names and pa.types.is_list(merged.field("value").type):
            chosen = [type_ for path, type_ in (*texts, *added) if path.split(".")[0] == "value"]
            one = any(type_.strip().startswith("element(") for type_ in chosen)
            if one:
                yield "value", UNWRAP_ONE
                if _is_ttl_struct(schema.field("value").type.value_type):
                    yield "value", UNWRAP_TTL
            elif any(type_.strip().startswith("elements(") for type_ in chosen):
                yield "value", UNWRAP_ALL


@dataclass(frozen=True)
class Suggestion:
    """A type for bytes of a state of PyFlink.

    :param path: of the bytes. :param type: ``None`` where none can be guessed.
    :param certain: the bytes themselves are such, and the type need not be set.
    :param others: types that fit the same bytes. :param sizes: the least and the greatest number of bytes; ``None``: no rows.
    """

    operator: str
    state: str
    path: str
    type: str | None
    certain: bool = False
    others: tuple[str, ...] = ()
    sizes: tuple[int, int] | None = None


def suggestions(
    types: StateTypes, inventory: OperatorInventory, state: NamedState, merged: pa.Schema, options: ReadOptions
) -> Iterator[Suggestion]:
    """Types for the bytes of a state, in the order of its columns; none of a state that PyFlink did not write."""
    if not is_python(inventory, state):
        return
    from stateextract.snapshot.python_guess import guess

    operator, process = operator_label(inventory.operator), is_process(state)
    for path, type_ in bytes_of(merged, process):
        sample = types.sample(inventory, state, options)
        found = sample.bytes.get(path, [])
        known = recognised(state.name, path, sample, process, type_)
        if known is not None and path.startswith("key."):
            continue
        if known is not None:
            yield Suggestion(operator, state.name, path, known, certain=True)
        elif not found and not path.startswith("key."):
            yield Suggestion(operator, state.name, path, None)
        elif process and not path.startswith("key."):
            made = guess(found, sample.counts, pa.types.is_list(type_))
            yield Suggestion(operator, state.name, path, made.type, False, made.others, made.sizes)


_BY_LENGTH = re.compile(r"elements?\((bool|u?int\d+|float\d+|date|time|timestamp\[ms\])\)")


def checked_by_length(texts: OverrideTexts) -> bool:
    """Whether a type of a state is one that other types have the length of, so that a wrong one is not noticed."""
    return any(_BY_LENGTH.fullmatch(type_.strip()) for _, type_ in texts)


def is_process(state: NamedState) -> bool:
    """Whether a Python process wrote the state, by its name."""
    return state.name.startswith(PYTHON_STATE)


def is_python(inventory: OperatorInventory, state: NamedState) -> bool:
    """Whether PyFlink wrote the state: a Python process, or a thread of the JVM, where keys are Rows of one field too."""
    if any(name.startswith(PYTHON_STATE) for name in (*inventory.keyed, *inventory.lists)):
        return True
    return any(has_row_key(file) for file in state.files)


def _is_row_of_one(type_: pa.DataType) -> bool:
    return bool(pa.types.is_struct(type_)) and type_.num_fields == 2 and type_.field(1).name == "row_kind"


def _is_ttl_struct(type_: pa.DataType) -> bool:
    return bool(pa.types.is_struct(type_)) and [f.name for f in type_] == ["last_access", "value"]


def bytes_of(schema: pa.Schema, process: bool) -> Iterator[tuple[str, pa.DataType]]:
    """Paths of the bytes in a state's columns, each with its column's type: the key's, and the value's or a map's."""
    for name in ("key", "map_key", "value"):
        if name not in schema.names:
            continue
        type_ = schema.field(name).type
        if name == "key" and _is_row_of_one(type_):
            name, type_ = f"key.{type_.field(0).name}", type_.field(0).type
        if pa.types.is_map(type_):
            for part, inner in (("key", type_.key_type), ("value", type_.item_type)):
                if _is_bytes(inner):
                    yield f"{name}.{part}", type_
        elif _is_bytes(type_.value_type if pa.types.is_list(type_) else type_):
            yield name, type_


def _is_bytes(type_: pa.DataType) -> bool:
    return bool(pa.types.is_binary(type_.field(1).type if _is_ttl_struct(type_) else type_))


def recognised(state: str, path: str, sample: PickleSample, process: bool, type_: pa.DataType) -> str | None:
    """The type of bytes that is certain from the bytes themselves; ``None`` where none is.

    :param path: as of :func:`bytes_of`.
    """
    found = sample.bytes.get({"map_key": "value.key"}.get(path, path), [])
    if path == "value" and not found:
        found = sample.bytes.get("value.value", [])  # the entries of a map are rows
    if not found:
        return None
    coded = process and not path.startswith("key.")
    if state == SESSIONS and all(len(data) == 16 for data in found):
        return "element(window)"
    if not coded:
        return "pickle" if all(map(looks_pickled, found)) else None
    pickles = []
    for data in found:
        try:
            pickles.append(split_pickles(data))
        except ValueError:
            return None
    if not all(parts and all(map(looks_pickled, parts)) for parts in pickles):
        return None
    several = pa.types.is_list(type_) and any(count != 1 for count in sample.counts)
    return "elements(pickle)" if several or any(len(parts) != 1 for parts in pickles) else "element(pickle)"


# -- the first rows


def _sampled(
    source: SnapshotSource, inventory: OperatorInventory, scope: str, options: ReadOptions
) -> dict[str, PickleSample]:
    """The first rows of all states of a scope that have bytes. What cannot be read gives none."""
    reading = replace(options, flatten=False, columns=None, key=None, on_undecodable="skip", sessions=False, choices={},
                      batch_rows=_ROWS, context=options.context.of_operator(inventory.operator.id))  # fmt: skip
    reader = source.reader(reading)
    found: dict[str, PickleSample] = {}
    targets: dict[str, StateTarget] = {}
    states = inventory.lists if scope == "operator" else inventory.keyed
    for state in states.values():
        try:
            schema = merged_schema(state.rows(reading.context), reading)
        except (StateExtractError, ValueError):
            continue
        if any(True for _ in bytes_of(schema, True)):
            targets[state.name] = StateTarget("", "", schema)
            found[state.name] = PickleSample()
    files = list({id(f): f for name in targets for f in states[name].files if f.header and f.content}.values())[:_FILES]
    operator = OperatorTargets(operator_label(inventory.operator), targets, inventory.operator.id)
    for file in files:
        _read_first(reader, operator, file, found)
    for name in targets:
        if not found[name].counts:  # others fill the beginnings of the files
            for file in files:
                _read_first(reader, replace(operator, states={name: targets[name]}), file, found)
    return found


def _read_first(reader: PartReader, operator: OperatorTargets, file: StateFile, found: dict[str, PickleSample]) -> None:
    """Take the first rows of a file."""
    assert file.content is not None
    if all(len(found[name].counts) >= _ROWS for name in operator.states):
        return
    content = file.content.only(set(operator.states))
    whole = content.form is BodyKind.SST_FILES or content.changes is not None
    units = [content] if whole else [content.cut(i, i + 1) for i in range(min(len(content.sizes), _UNITS))]
    selected = [{name} for name in operator.states] if whole else [set(operator.states)]
    for unit in units:
        for names in selected:
            part = Part(0, 0, file.subtask, file.uri, file.start, unit)
            targets = replace(operator, states={name: t for name, t in operator.states.items() if name in names})
            try:
                for number, piece in enumerate(reader.pieces(part, targets, Counters())):
                    if not piece.raw:
                        _take(found[piece.state], piece.batch)
                    if number >= _BATCHES or all(len(found[name].counts) >= _ROWS for name in names):
                        break
            except StateExtractError:
                continue  # which is reported when the state is read
        if all(len(found[name].counts) >= _ROWS for name in operator.states):
            return


def _take(sample: PickleSample, batch: pa.RecordBatch) -> None:
    """Add the bytes of some rows."""
    left = _ROWS - len(sample.counts)
    if left <= 0:
        return
    batch = batch.slice(0, left)
    for name in ("key", "value"):
        if name not in batch.schema.names:
            continue
        column, type_ = batch.column(name), batch.schema.field(name).type
        if name == "key" and _is_row_of_one(type_):
            name, column = f"key.{type_.field(0).name}", column.field(0)
        values = column.to_pylist()
        if pa.types.is_map(type_):
            for at, part in enumerate(("key", "value")):
                _put(sample, f"{name}.{part}", [entry[at] for value in values for entry in value or ()])
        elif pa.types.is_list(type_):
            _put(sample, name, [element for value in values for element in value or ()])
            sample.counts += [len(value or ()) for value in values]
            continue
        else:
            _put(sample, name, values)
        if name == "value":
            sample.counts += [1] * len(values)


def _put(sample: PickleSample, path: str, values: Sequence[object]) -> None:
    inner = [v["value"] if isinstance(v, dict) and v.keys() == {"last_access", "value"} else v for v in values]
    sample.bytes.setdefault(path, []).extend(v for v in inner if isinstance(v, bytes))
