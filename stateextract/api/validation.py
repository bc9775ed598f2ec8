"""Walking every byte of a snapshot's state, to say of each state that it is sound or where it is not.

Each file is decoded once, with all its states, as if all rows were wanted. Where that fails it is walked again key group by
key group and state by state, so that damage is laid to the state that has it and everything else is still checked. In heap
files it is laid to the states after it in the key group too, which cannot be reached; in compressed ones, which are
decompressed ahead, also to those in front.

May import heads, engine and files; must not know of Spark or Parquet.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa

from stateextract.api.state import suited
from stateextract.columnar.arrow.json_values import json_value
from stateextract.columnar.convert.policy import Policy
from stateextract.doors import api_door
from stateextract.errors import MemoryLimitError, StateExtractError, UnsupportedError, ValueRefusedError
from stateextract.outcome import Status
from stateextract.printable import agreeing, pluralize
from stateextract.snapshot.content import Content
from stateextract.snapshot.coverage import CANNOT_BE_READ, UNSUPPORTED
from stateextract.snapshot.headers import StateFile, StateScope
from stateextract.snapshot.inventory import has_row_key, master_entries
from stateextract.state.bodies.body import BodyKind
from stateextract.state.counters import Counters, StateCounters
from stateextract.state.header import KeyedHeader
from stateextract.state.keys.java_hash import is_certain
from stateextract.state.keys.key_groups import key_groups
from stateextract.state.kinds import COORDINATOR, kind_word
from stateextract.state.state_columns import ReadOptions
from stateextract.state.target import Piece

if TYPE_CHECKING:
    from stateextract.api.snapshot import OpenedSnapshot, Operator

_NOT_DAMAGE = (UnsupportedError, ValueRefusedError, MemoryLimitError)
"""What is not decoded because of it may be sound."""

SOUND, DAMAGED, UNCHECKED = Status.SOUND, Status.DAMAGED, Status.NOT_CHECKED

Misplaced: TypeAlias = "tuple[pa.Scalar, int, list[int]]"
"""A key, its key group, and the key groups that its hash leads to."""

OnProgress = Callable[[int, int], None]
"""Receives bytes of files and rows, as they were read since its last call."""


@dataclass
class Finding:
    """What was found of one state, or of something of an operator that has no name.

    :param operator: how a person calls it; ``operator_id`` is its operator ID. ``(job)`` and ``None`` of master state.
    :param state: ``None`` where there is no name, or where no header that can be read has it.
    :param status: ``sound``, ``damaged``, ``missing``, ``unreadable`` or ``not checked``.
    :param rows: rows decoded; :param size: bytes of state that they took.
    :param problems: the damage, at most one for each key group of a file: with file, key group and offset.
    :param reason: why it was not checked.
    :param misplaced: rows whose key's hash leads to another key group, of the rows that were looked at.
    :param notes: what is not corruption and a person should know, such as where these are.
    """

    operator: str
    operator_id: str | None
    state: str | None
    scope: StateScope | None
    kind: str
    status: Status = SOUND
    rows: int = 0
    size: int = 0
    problems: list[StateExtractError] = field(default_factory=list)
    reason: str | None = None
    misplaced: int = 0
    notes: list[str] = field(default_factory=list)

    def worded(self) -> Finding:
        """The finding with its texts in the words of the door at which they are read."""
        door = api_door()
        problems = [problem.worded(door) for problem in self.problems]
        return replace(self, problems=problems, reason=door.reason(self.reason))

    def finalize(self, counters: StateCounters) -> None:
        """Take in what was read, and say what that means."""
        self.rows, self.size = counters.rows, counters.bytes
        if self.status is not SOUND:
            return
        damage = [problem for problem in self.problems if not isinstance(problem, _NOT_DAMAGE)]
        if damage:
            self.status, self.problems = DAMAGED, damage
        elif self.problems:
            self.status, self.reason, self.problems = UNCHECKED, str(self.problems[0]), []
        elif counters.lost_entries or counters.lost_key_groups:
            self.status, self.reason = UNCHECKED, counters.problems[0] if counters.problems else None


def _cannot_be_read(finding: Finding, problems: Sequence[StateExtractError]) -> None:
    """Files of the state are missing, have an unreadable header, or are of a kind that this version does not read."""
    finding.status = min((problem.status for problem in problems), key=_WORST.index)
    if finding.status is UNSUPPORTED:
        finding.status, finding.reason = UNCHECKED, str(problems[0])
    else:
        finding.problems += problems


_LOOKED_AT = 100
"""Rows of each batch whose keys are compared with their key groups."""
_WORST = (Status.UNREADABLE, Status.MISSING, Status.UNSUPPORTED)


class Validation:
    """Validates the operators of one snapshot.

    :param on_progress: receives what is read.
    """

    def __init__(self, opened: OpenedSnapshot, on_progress: OnProgress = lambda size, rows: None) -> None:
        # What a column cannot hold is sound all the same: times out of its range, maps with a null key.
        most = opened.options.policy.max_value_bytes
        policy = Policy(strings="replace", timestamps="floor", out_of_range="null", maps="list", max_value_bytes=most)
        self._options = replace(
            opened.options, policy=policy, on_undecodable="skip", verify_checksums=True, all_copies=True, flatten=False,
            sessions=False,
        )
        self._files = opened.source.files()
        self._masters = opened.source.metadata.master_states
        self._on_progress = on_progress
        self._misplaced: dict[tuple[StateScope, str], list[Misplaced]] = {}

    def of(self, operator: Operator) -> list[Finding]:
        """All findings of an operator: its states by name, then what has no name."""
        inventory = operator._inventory
        findings: dict[tuple[StateScope, str], Finding] = {}
        files: dict[int, StateFile] = {}
        for state in (*inventory.named, *inventory.nameless):
            finding = Finding(operator.label, operator.id, state.name or None, state.scope, kind_word(state.kind))
            findings[state.scope, state.name] = finding
            files |= {id(file): file for file in state.files if file.problem is None}
            if state.problems:
                _cannot_be_read(finding, state.problems)
        tallies: dict[StateScope, Counters] = {"keyed": Counters(), "operator": Counters()}
        options = replace(self._options, context=self._options.context.of_operator(operator.id))
        work = ((file, file.content) for file in files.values() if file.content is not None)
        for file, content in self._files.in_order(work):
            for name, problem in self._walk(file, content, options, tallies[file.scope]):
                if name not in file.lost:
                    findings[file.scope, name].problems.append(problem.at(operator=operator.label))
        for (scope, name), finding in findings.items():
            finding.finalize(tallies[scope].of(name))
            misplaced = self._misplaced.pop((scope, name), [])
            finding.misplaced = len(misplaced)
            if misplaced:
                key, group, expected = misplaced[0]
                shown = json.dumps(json_value(key), ensure_ascii=False)
                finding.notes.append(
                    f"{pluralize(len(misplaced), 'key')} of those looked at {agreeing(len(misplaced), 'is')} not in the "
                    f"key group that the hash leads to: {shown} is in key group {group}, and its hash leads to "
                    f"{' or '.join(map(str, expected))}; Flink finds no value by such a key"
                )
        for state in inventory.named:
            forecast, finding = operator._forecasts.of(state), findings[state.scope, state.name]
            if finding.status is SOUND and finding.rows and forecast.status is UNSUPPORTED:
                # Each file is sound; together they do not make a dataset.
                finding.status, finding.reason = UNCHECKED, forecast.reason
        named = sorted(findings.values(), key=lambda f: (f.scope or "", f.state or ""))
        return [*named, *self._nameless(operator)]

    def _nameless(self, operator: Operator) -> Iterator[Finding]:
        inventory = operator._inventory
        nameless = [state.entry for state in inventory.nameless]
        for entry in inventory.entries:
            if entry.state is None and entry.status in CANNOT_BE_READ and entry not in nameless:
                status = UNCHECKED if entry.status == UNSUPPORTED else entry.status
                finding = Finding(operator.label, operator.id, None, None, entry.kind, status, size=entry.size or 0)
                finding.reason = entry.reason
                yield finding
            elif entry.kind == COORDINATOR:
                # Its bytes are in _metadata and were read with it; what fits none of the known forms stays bytes.
                yield Finding(operator.label, operator.id, None, None, COORDINATOR, rows=1, size=entry.size or 0)

    def of_job(self) -> Iterator[Finding]:
        """Master state, whose form only the hooks of the job know."""
        for entry in master_entries(self._masters):
            yield Finding(
                entry.label, None, entry.state, None, entry.kind, UNCHECKED, size=entry.size or 0, reason=entry.reason
            )

    # -- files

    def _walk(
        self, file: StateFile, content: Content, options: ReadOptions, counters: Counters
    ) -> Iterator[tuple[str, StateExtractError]]:
        """Decode a file; the damage of each state."""
        if file.header is None:
            return
        names = list(dict.fromkeys(meta.name for meta in file.header.states))
        sizes = content.sizes
        options = suited(options, sum(sizes))
        whole = Counters()
        if sizes and self._decoded(file, content, names, options, whole) is None:
            counters.add(whole)
            return
        # A database is opened as a whole, state by state; elsewhere each key group can be walked by itself.
        one = content.form is BodyKind.SST_FILES
        parts = [content] if one else [content.cut(i, i + 1) for i in range(len(sizes))]
        for part in parts:
            yield from self._isolated(file, part, names, options, counters)

    def _isolated(
        self, file: StateFile, part: Content, names: Sequence[str], options: ReadOptions, counters: Counters
    ) -> Iterator[tuple[str, StateExtractError]]:
        together = Counters()
        if part.form is not BodyKind.SST_FILES and self._decoded(file, part, names, options, together) is None:
            counters.add(together)
            return
        for name in names:
            alone = Counters()
            error = self._decoded(file, part, [name], options, alone)
            read = alone.of(name)
            # The damage of another state after it does not touch it, if it was read to its end.
            if error is not None and (error.state in (None, name) or not read.key_groups):
                yield name, error.at(state=name)
            else:
                if error is not None:
                    read.rows = read.entries  # rows are counted when a batch is given out, which was not reached
                counters.of(name).add(read)

    def _decoded(
        self, file: StateFile, part: Content, names: Sequence[str], options: ReadOptions, counters: Counters
    ) -> StateExtractError | None:
        """Decode some states of a part; what went wrong."""
        misplaced: list[tuple[str, Misplaced]] = []
        try:
            with self._files.opened(file, self._read) as read_at:
                pieces = self._files.pieces(read_at, file, part, set(names), options, counters, on_read=self._read)
                for piece in pieces:
                    self._on_progress(0, piece.batch.num_rows)
                    if not piece.raw and file.header is not None:
                        misplaced += self._compare_key_groups(file, part, piece)
        except StateExtractError as error:
            return self._files.with_location(error, file).detached()
        for name, one in misplaced:
            self._misplaced.setdefault((file.scope, name), []).append(one)
        return None

    def _compare_key_groups(self, file: StateFile, part: Content, piece: Piece) -> Iterator[tuple[str, Misplaced]]:
        """Keys of the first rows of a batch that are in other key groups than their hashes lead to, with the state's name."""
        serializer = file.header.key_serializer if isinstance(file.header, KeyedHeader) else None
        if serializer is None or not {"key", "key_group"} <= set(piece.batch.schema.names):
            return
        if not is_certain(serializer) and not has_row_key(file):
            return
        keys, groups = piece.batch.column("key"), piece.batch.column("key_group")
        for row in range(min(len(keys), _LOOKED_AT)):
            expected = key_groups(keys[row], serializer, part.max_parallelism, self._options.policy)
            if expected is None:
                return
            if groups[row].as_py() not in expected:
                yield piece.state, (keys[row], groups[row].as_py(), sorted(expected))

    def _read(self, size: int) -> None:
        self._on_progress(size, 0)
