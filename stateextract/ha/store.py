"""What Flink's completed checkpoint store has of each job: its entries in the order of their names, and those it skips.

Turns values into values. Which entries count follows ``DefaultCompletedCheckpointStoreUtils``: those that are being removed
and those that are not state handles are left out without an error, and the others are restored from by the last name.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from stateextract.errors import FormatError, StateExtractError
from stateextract.ha.objects import EntryHandle, parse_entry

JOB_ID = re.compile(r"[0-9a-f]{32}")
_NAME = re.compile(r"[0-9]{1,19}")


@dataclass(frozen=True)
class StoreEntry:
    """One entry.

    :param name: in the store: a znode's name, or a key of a ConfigMap.
    :param checkpoint_id: the id in the name; ``None`` where it has none.
    :param handle: ``None`` where Flink skips the entry, and ``skipped`` says why.
    :param problem: why Flink cannot even skip it, so that the job does not start.
    """

    name: str
    checkpoint_id: int | None
    handle: EntryHandle | None = None
    skipped: str | None = None
    problem: StateExtractError | None = None


@dataclass
class JobStore:
    """The store of one job.

    :param job_id: ``None`` where the data does not say it; each ``completedCheckpoint`` file does.
    :param location: the node or the ConfigMap.
    :param entries: in the order of their names.
    :param notes: what a report should say.
    """

    job_id: str | None
    location: str
    entries: list[StoreEntry] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def entry_of(name: str, digits: str, data: bytes | None, removed: str | None = None) -> StoreEntry:
    """An entry.

    :param digits: the part of the name that is the checkpoint's id.
    :param data: the serialized handle.
    :param removed: why the entry is known to be on its way out.
    """
    # Flink takes another name for the id -1. It says nothing of a checkpoint.
    if _NAME.fullmatch(digits) is None:
        return StoreEntry(name, None, skipped="the name is not the id of a checkpoint")
    id_ = int(digits)
    if removed is not None:
        return StoreEntry(name, id_, skipped=removed)
    try:
        handle = parse_entry(data or b"")
    except StateExtractError as error:
        return StoreEntry(name, id_, skipped=f"entry is no handle: {error.message}")
    if handle.marked:
        return StoreEntry(name, id_, skipped="marked for deletion")
    return StoreEntry(name, id_, handle)


def decode_base64(text: str, what: str) -> bytes:
    """The bytes, as ``java.util.Base64`` decodes them: the padding may be missing, and nothing else may be in it.

    :raises FormatError: for another text.
    """
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4 if "=" not in text else 0), validate=True)
    except (binascii.Error, ValueError) as error:
        raise FormatError(f"the value of {what!r} is not Base64: {error}") from None


def in_order(stores: Iterable[JobStore]) -> list[JobStore]:
    """The stores by job, their entries by name."""
    found = sorted(stores, key=lambda store: (store.job_id or "", store.location))
    for store in found:
        store.entries.sort(key=lambda entry: entry.name)
    return found
