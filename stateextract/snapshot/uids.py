"""The uids of a job's operators, from a file of the user: they name the operators of Flink 1, which has their hashes only."""

from __future__ import annotations

import json
from dataclasses import replace

from stateextract.errors import StateExtractError, UsageError
from stateextract.files.filesystem import Store
from stateextract.metadata.model import SnapshotMetadata
from stateextract.metadata.uid import operator_id


def read_uids(path: str, store: Store) -> list[str]:
    """The uids in a file: one a line (a line that begins with ``#`` does not count), or a JSON array.

    :raises UsageError: if it cannot be read, or is something else.
    """
    try:
        text = store.read(path).decode("utf-8-sig")
    except StateExtractError as error:
        raise UsageError(f"--uids {path} cannot be read: {error.message}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"--uids {path} is not text: {error.reason}", expected="UTF-8") from None
    return parse_uids(text)


def parse_uids(text: str) -> list[str]:
    """The uids in the text of such a file."""
    if text.lstrip().startswith("["):
        try:
            found = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise UsageError(f"the list of uids is not JSON: {error}") from error
        if not all(isinstance(uid, str) for uid in found):
            raise UsageError("the list of uids has something that is not text")
        return list(found)
    lines = (line.strip() for line in text.splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def with_uids(metadata: SnapshotMetadata, uids: list[str]) -> SnapshotMetadata:
    """The metadata, in which operators without a uid have the one that their id is the hash of."""
    by_id = {operator_id(uid): uid for uid in uids}
    operators = (o if o.uid is not None else replace(o, uid=by_id.get(o.id)) for o in metadata.operators)
    return replace(metadata, operators=tuple(operators))
