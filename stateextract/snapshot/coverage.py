"""The coverage report: every operator and state of a snapshot, and what became of it. Nothing is left out of it.

An :class:`CoverageEntry` is made by the plan for everything that ``_metadata`` lists, whatever its kind, and filled in from
the reports of the tasks. The report is ``_coverage.json`` next to the data and a table on the screen.

Plain values, their JSON and their table; takes the engine's tallies. Must not know of Spark or of Flink's formats.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from stateextract.errors import StateExtractError
from stateextract.outcome import ExitCode, Status, exit_code
from stateextract.printable import json_document, named, pluralize, sentence
from stateextract.state.causes import Cause, causes_of, causes_once, is_caused
from stateextract.state.counters import StateCounters
from stateextract.state.kinds import BROADCAST

if TYPE_CHECKING:
    from stateextract.screen import Cell, Screen

DECODED, PARTIAL, RAW, SKIPPED = Status.DECODED, Status.PARTIAL, Status.RAW, Status.SKIPPED
UNSUPPORTED, MISSING, UNREADABLE = Status.UNSUPPORTED, Status.MISSING, Status.UNREADABLE
NOT_SELECTED, EMPTY = Status.NOT_SELECTED, Status.EMPTY

_NAMES = {
    "uid": "operator_uid", "state": "state_name", "kind": "state_kind", "size": "size_in_bytes", "handles": "handle_count",
    "role": "state_role",
}  # fmt: skip
CANNOT_BE_READ = (UNSUPPORTED, MISSING, UNREADABLE)
"""Of a state of one of these nothing is read."""
UNTYPED = "PyFlink wrote these bytes, and a snapshot does not have their type; stateextract types --suggest PATH guesses it"
"""Noted of a state of a Python process that is shown as bytes."""
_COUNTED = (DECODED, PARTIAL, RAW, SKIPPED, *CANNOT_BE_READ, NOT_SELECTED)
_NAME_COLUMNS = ("operator", "state", "directory")


@dataclass
class CoverageEntry:
    """One state, or one thing of an operator that holds state without a name.

    :param state: name; ``None`` where it has none (coordinator, channels) or none could be learned.
    :param kind: one of ``state/kinds.py``; or a word for what has no name.
    :param form: how its bytes are kept: heap, full snapshot, SST files, changelog, operator state, ...
    :param size: bytes of state where the snapshot itself says so.
    :param role: what Flink's own operators keep in a state of that name.
    :param decoded_in_python: some of its values can be decoded by the interpreter only.
    :param replaced: lone surrogates in its name and those of its columns, which are shown as U+FFFD.
    """

    operator_id: str | None
    uid: str | None
    operator_name: str | None
    state: str | None
    kind: str
    form: str
    status: Status
    reason: str | None = None
    size: int | None = None
    handles: int = 0
    folder: str | None = None
    raw_folder: str | None = None
    role: str | None = None
    decoded_in_python: bool = False
    replaced: int = 0
    read: StateCounters = field(default_factory=StateCounters)

    @property
    def label(self) -> str:
        """How a person calls the operator."""
        return self.uid or self.operator_name or self.operator_id or "(job)"

    def document(self) -> dict[str, Any]:
        """For JSON, under the names that all documents use."""
        return {_NAMES.get(name, name): value for name, value in asdict(self).items()}

    def finalize(self) -> None:
        """The status that follows from what was read."""
        if self.status not in (Status.DECODED, Status.UNCERTAIN):
            return
        read = self.read
        if self.kind == BROADCAST and read.differing:
            differing = ", ".join(map(str, read.differing[:10]))
            more = f" and {len(read.differing) - 10} more" if len(read.differing) > 10 else ""
            which = "subtask" if len(read.differing) == 1 else "the subtasks"
            read.problem(
                f"the broadcast state of {which} {differing}{more} is not that of the first subtask; to read the copy of every "
                "subtask, set --all-copies"
            )
        self.status = Status.DECODED
        if read.raw_rows:
            self.status = Status.PARTIAL if read.rows else Status.RAW
        elif read.incomplete:
            self.status = Status.PARTIAL if read.rows else Status(read.failure or Status.SKIPPED)
        self.reason = None
        if self.status != Status.DECODED:
            self.reason = next((problem for problem in read.problems if problem != UNTYPED), None)

    def refuse(self, error: StateExtractError) -> None:
        """The state was left out while it was read."""
        self.status, self.reason = error.status, error.message
        self.read = StateCounters(problems=[str(error)])


@dataclass
class CoverageReport:
    """The whole report."""

    tool_version: str
    snapshot: str
    checkpoint_id: int
    metadata_version: int
    kind: str | None
    entries: list[CoverageEntry]
    relocations: list[tuple[str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def exit_code(self) -> ExitCode:
        return exit_code(entry.status for entry in self.entries)

    def summary(self) -> str:
        """How much of what was selected is there, in a sentence."""
        states = [entry for entry in self.entries if entry.status not in (Status.EMPTY, Status.NOT_SELECTED)]
        whole = sum(entry.status == Status.DECODED for entry in states)
        partly = sum(entry.status in (Status.PARTIAL, Status.RAW) for entry in states)
        counted = [f"{whole} whole", f"{partly} partial", f"{len(states) - whole - partly} missing"]
        read = [entry.read for entry in states]
        lost = (
            (sum(r.rows for r in read), "row", " read", True),
            (sum(r.raw_rows for r in read), "row", " kept as raw bytes", False),
            (sum(r.lost_entries for r in read), "entry", " lost", False),
            (sum(r.lost_key_groups for r in read), "key group", " of a state lost in part or whole", False),
        )  # fmt: skip
        counted += [pluralize(number, what) + became for number, what, became, always in lost if number or always]
        return f"{pluralize(len(states), 'state')}: {', '.join(counted)}."

    def causes(self) -> list[Cause[int]]:
        """Why values cannot be decoded, each cause once; states are positions in :attr:`entries`."""
        return causes_of((number, (e.reason, *e.read.problems)) for number, e in enumerate(self.entries))

    def to_json(self) -> bytes:
        """Content of ``_coverage.json``."""
        document = asdict(self) | {"entries": [entry.document() for entry in self.entries]}
        document["snapshot_kind"] = document.pop("kind")
        document["relocations"] = [{"stored": stored, "found": found} for stored, found in self.relocations]
        document["summary"] = {
            status: sum(entry.status == status for entry in self.entries)
            for status in _COUNTED
        }
        document["causes"] = [
            {
                "cause": cause.sentence,
                "class_name": cause.class_name,
                "message": cause.message,
                "states": [self._name(number) for number in cause.own],
                "states_after": [self._name(number) for number in cause.after],
            }
            for cause in self.causes()
        ]
        document["exit_code"] = self.exit_code()
        return json_document(document, indent=1, ensure_ascii=True).encode()

    def _name(self, number: int) -> dict[str, str | None]:
        entry = self.entries[number]
        return {"operator_id": entry.operator_id, "operator_label": entry.label, "state_name": entry.state}

    def show(self, screen: Screen) -> None:
        """Print the table, and below it what a person should know."""
        from stateextract.screen import TextTable  # only where something is shown: rich takes its time to load

        screen.say(f"Coverage of {self.snapshot}")
        columns = ["operator", "state", "kind", "rows", "bytes", "status", "directory"]
        causes = causes_once((id(entry), (entry.reason, *entry.read.problems)) for entry in self.entries)
        rows = [_cells(entry, causes.get(id(entry))) for entry in self._shown()]
        screen.show(TextTable(columns, rows, ["rows", "bytes"], names=_NAME_COLUMNS))
        for line in self._lines():
            screen.say(line)

    def _shown(self) -> list[CoverageEntry]:
        """The entries that have a line of their own."""
        return [entry for entry in self.entries if entry.status != NOT_SELECTED]

    def _lines(self) -> list[str]:
        left = len(self.entries) - len(self._shown())
        lines = [f"Not selected: {pluralize(left, 'other state')}."] if left else []
        lines += [sentence(f"Note: {note}") for note in self.notes]
        if self.relocations:
            stored, found = self.relocations[0]
            more = f" and {len(self.relocations) - 1} more" if len(self.relocations) > 1 else ""
            lines.append(f"Found at another location than the snapshot records: {stored} at {found}{more}.")
        for entry in self.entries:
            for remark in _remarks(entry):
                lines.append(sentence(f"{named(entry.label)} / {named(entry.state or entry.kind)}: {remark}"))
        return lines


def _cells(entry: CoverageEntry, cause: str | None) -> list[str | Cell]:
    from stateextract.screen import Cell

    read = entry.status in (DECODED, PARTIAL, RAW, SKIPPED)
    size = entry.read.bytes if read else entry.size
    folders = [folder for folder in (entry.folder, entry.raw_folder) if folder]
    plain = f"{entry.label}/{entry.state or entry.kind}"
    return [
        Cell(entry.label, of=entry.operator_id or entry.label),
        entry.state or "-",
        entry.kind,
        f"{entry.read.rows:,}" if read else "-",
        "-" if size is None else f"{size:,}",
        Cell(entry.status, cause if cause and entry.reason and is_caused(entry.reason) else entry.reason),
        ", ".join(folders) if folders != [plain] else "",
    ]


def _remarks(entry: CoverageEntry) -> list[str]:
    """Sentences about values that are not exactly what Flink had, or were read in an unusual way."""
    read = entry.read
    counted: Sequence[tuple[int, str, str]] = (
        (entry.replaced, "lone surrogate", " in names replaced by U+FFFD"),
        (read.counts.lone_surrogates, "lone surrogate", " replaced by U+FFFD"),
        (read.counts.malformed_utf8, "sequence", " of malformed UTF-8 replaced by U+FFFD"),
        (read.counts.sub_microsecond, "timestamp", " floored to microseconds"),
        (read.counts.out_of_range, "time", " out of range written as null"),
        (read.counts.python_objects, "object", " of an unknown class in pickles shown as class and fields"),
        (read.counts.unread_pickles, "pickle", " not read and kept as bytes"),
        (read.changes, "change", " applied to what was materialized"),
        (read.empty_maps, "key", " left out because of an empty map"),
        (read.lost_key_groups, "key group", " not read to the end"),
        (read.lost_entries, "entry", " not decoded"),
        (read.raw_rows, "row", " kept as raw bytes"),
    )
    remarks = [pluralize(number, what) + became for number, what, became in counted if number]
    if entry.decoded_in_python and "interpreter" in read.engine:
        remarks.append("decoded in Python")
    return [*remarks, *(problem for problem in read.problems if not is_caused(problem))]
