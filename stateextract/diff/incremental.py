"""What of a comparison can be done incrementally: by the files that two snapshots of RocksDB or ForSt do not share.

The plan decides it for each state, by the handles in ``_metadata`` alone (:class:`Sharing`) and by how rows are read
(:func:`reason_for_full`). Tasks then read the keys in the files that are not shared, look these rows up on both sides
(``state/bodies/differing.py``) and compare them as any others. The proof that no other row can differ is on the page Diff of
the documentation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from stateextract.diff.snapshot_states import SnapshotStates
from stateextract.errors import StateExtractError
from stateextract.job.plan import PlannedState
from stateextract.metadata.locate import Locator
from stateextract.metadata.model import IncrementalHandle
from stateextract.metadata.opener import identity_of
from stateextract.options import JobOptions
from stateextract.snapshot.parts import Part
from stateextract.state.bodies.body import BodyKind

LOOKUP = 4
"""How much more is read than the files that are not shared have: for each of their rows a block of other files."""
MOST_UNSHARED = 0.3
"""If a larger part of the bytes is in files that only one of the snapshots has, reading everything takes less: compactions
rewrite rows that did not change, whose keys are looked up all the same."""


@dataclass(frozen=True)
class Sharing:
    """How much of an operator's databases two snapshots share.

    :param reason: why its states are compared in full; ``None``: they need not be.
    :param reported: the summary contains the reason, because users could expect an incremental comparison.
    :param unshared: bytes of files that only one of the snapshots has, by key group, about.
    """

    reason: str | None = None
    reported: bool = False
    unshared: Mapping[int, float] = field(default_factory=dict)


def sharing_of(
    sides: tuple[SnapshotStates, SnapshotStates],
    operator: str,
    parts: Sequence[Sequence[Part]],
    few_bytes: int,
) -> Sharing:
    """How much of an operator's databases two snapshots share.

    :param operator: its id; :param parts: of its keyed state in each snapshot.
    :param few_bytes: of both databases; up to so many are compared in full, which counts all rows.
    """
    forms = [{part.content.form for part in of_side} for of_side in parts]
    if not all(BodyKind.SST_FILES in of_side for of_side in forms):
        return Sharing("at least one of the snapshots has its state in files of another kind than RocksDB's and ForSt's")
    contents = [part.content for of_side in parts for part in of_side]
    reason = None
    if any(content.changes is not None for content in contents):
        reason = "a changelog has more changes than the files"
    elif not set().union(*forms) <= {BodyKind.SST_FILES, BodyKind.RAW}:
        reason = "some subtasks have their state in files of another kind"
    elif len({content.max_parallelism for content in contents}) > 1:
        reason = "the number of key groups changed"
    elif _reading(sides[0].job) != _reading(sides[1].job):
        reason = "the snapshots are read with different options"
    if reason is not None:
        return Sharing(reason, reported=True)
    try:
        files = [_files(side, operator) for side in sides]
    except StateExtractError as error:
        return Sharing(f"not all of its files can be found: {error.message}")
    shared = files[0].keys() & files[1].keys()
    total = alone = 0
    unshared: dict[int, float] = {}
    for of_side in files:
        for identity, (size, key_groups) in of_side.items():
            total += size
            if identity not in shared:
                alone += size
                for key_group in key_groups:
                    unshared[key_group] = unshared.get(key_group, 0.0) + size / len(key_groups)
    if total <= few_bytes:
        return Sharing("its files are small")
    if not shared:
        return Sharing("the snapshots share no file", reported=True)
    if alone > MOST_UNSHARED * total:
        percent = 100 * alone // total
        return Sharing(f"{percent} % of the bytes are in files that only one of the snapshots has", reported=True)
    return Sharing(unshared=unshared)


def _reading(job: JobOptions) -> JobOptions:
    """The options that say how values are read."""
    return replace(job, snapshot="", checkpoint=0, job="", path_map=(), allow_store=())


def _files(side: SnapshotStates, operator: str) -> dict[object, tuple[int, range]]:
    """The SST files of an operator: their sizes, and the key groups of the subtask that they belong to."""
    locator = Locator(side.plan.found, side.plan.store, side.job.path_pairs())
    found: dict[object, tuple[int, range]] = {}
    for one in side.plan.metadata.operators:
        for subtask in one.subtasks if one.id == operator else ():
            handle = subtask.managed_keyed
            if isinstance(handle, IncrementalHandle):
                for name, stream in (*handle.shared, *handle.private):
                    if name.endswith(".sst"):
                        found[identity_of(locator.locate(stream))] = stream.size, handle.key_groups
    return found


def reason_for_full(sides: tuple[SnapshotStates, SnapshotStates], states: tuple[PlannedState, PlannedState]) -> str | None:
    """Why the rows of a state of both snapshots have to be compared in full; ``None``: they need not.

    Equal bytes must be equal values, which takes the same layout of the same serializers in all files; and a row must depend
    on its own bytes alone.
    """
    if any(file.form is not BodyKind.SST_FILES for state in states for file in state.named.files):
        return "not all of it is in RocksDB's or ForSt's files"
    rows = [
        row
        for side, state in zip(sides, states, strict=True)
        for row in state.named.rows(side.plan.describe.of_operator(str(state.entry.operator_id)))
    ]
    if any(row.undecodable for row in rows):
        return "some of its values cannot be decoded"
    if any(row != rows[0] for row in rows) or states[0].target.choice != states[1].target.choice:
        return "its serializers are not the same in both snapshots"
    if rows[0].sessions is not None:
        return "the bounds of its sessions are in another state"
    return None


def segments(parts: tuple[Sequence[Part], Sequence[Part]]) -> list[tuple[Part | None, Part | None]]:
    """The parts of both sides, cut so that each pair has the same key groups; ``None``: the side has nothing there."""
    bounds = sorted(
        {bound for side in parts for part in side for first, last in (part.content.key_groups,) for bound in (first, last + 1)}
    )
    found: list[tuple[Part | None, Part | None]] = []
    for first, stop in pairwise(bounds):
        one, other = (_within(side, range(first, stop)) for side in parts)
        if one is not None or other is not None:
            found.append((one, other))
    return found


def _within(parts: Sequence[Part], key_groups: range) -> Part | None:
    for part in parts:
        for content in part.content.of_key_groups(key_groups):
            return replace(part, content=content)
    return None
