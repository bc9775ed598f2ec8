"""Folder names of operators and states: readable, safe on every store, and never the same for two.

Flink's names hold anything (``_timer_state/event_user-timers``); folders may not: a slash makes a level of its own,
a leading ``_`` or ``.`` hides a folder from Spark, ``=`` makes a partition column, ``*?[{`` are patterns to readers.
Such characters become ``-``, so a folder's name is for people; the manifest says which operator and state it holds.
Where two names would give the same folder (also on disks that ignore case), and where a name was cut, each carries the
first digits of a hash of the name itself, so that no order and no selection changes what a folder is called.

Knows nothing but strings.
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence

RAW_SUFFIX = "__raw"
LONGEST = 120  # bytes; 255 is what file systems take, and suffixes and whole paths need room
_KEPT = frozenset("-_.")
_ID_DIGITS = 8


def operator_folders(operators: Iterable[tuple[str, str | None, str | None]]) -> dict[str, str]:
    """Folder of each operator.

    :param operators: operator ID, UID and name of every operator of the snapshot, wanted or not.
    :return: directory by operator ID.
    """
    overrides = []
    for operator_id, uid, name in operators:
        if uid:
            overrides.append((operator_id, uid, ""))
        elif name:
            overrides.append((operator_id, name, "-" + operator_id[:_ID_DIGITS]))
        else:
            overrides.append((operator_id, operator_id, ""))
    return _distinct(overrides)


def state_folders(states: Sequence[str]) -> dict[str, str]:
    """Folder of each state of one operator; its raw tail lies in the folder of the same name and ``__raw``."""
    folders = _distinct([(state, state, "") for state in dict.fromkeys(states)])
    for state, folder in folders.items():
        if folder.casefold().endswith(RAW_SUFFIX):
            folders[state] = folder + "-" + _digest(state)
    return _forced_apart(folders)


def escaped(name: str) -> str:
    """The name with all characters replaced that a folder may not have; at most ``LONGEST`` bytes are kept."""
    text = unicodedata.normalize("NFC", name)
    kept = "".join(c if c in _KEPT or c.isalnum() else "-" for c in text)
    kept = kept.lstrip("_.-").rstrip(".-") or "unnamed"
    return kept.encode("utf-8")[:LONGEST].decode("utf-8", "ignore")


def _distinct(overrides: Sequence[tuple[str, str, str]]) -> dict[str, str]:
    """Folders for ``(id, name, suffix)``, all different even where case is ignored."""
    folders = {}
    cut = set()
    for identity, name, suffix in overrides:
        short = escaped(name)
        folders[identity] = short + suffix
        if len(unicodedata.normalize("NFC", name).encode("utf-8", "replace")) > LONGEST:
            cut.add(identity)
    taken = Counter(_same(folder) for folder in folders.values())
    for identity, folder in folders.items():
        if identity in cut or taken[_same(folder)] > 1:
            folders[identity] = f"{folder}-{_digest(identity)}"
    return _forced_apart(folders)


def _forced_apart(folders: dict[str, str]) -> dict[str, str]:
    """A last resort: a name that looks like another's name with its hash."""
    seen: set[str] = set()
    for identity in sorted(folders):
        folder, more = folders[identity], 0
        while _same(folder) in seen:
            more += 1
            folder = f"{folders[identity]}-{_digest(identity + chr(0) * more)}"
        folders[identity] = folder
        seen.add(_same(folder))
    return folders


def _same(folder: str) -> str:
    return unicodedata.normalize("NFC", folder.casefold())


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_ID_DIGITS]
