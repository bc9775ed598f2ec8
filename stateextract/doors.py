"""What options are called at the doors of the project: the command line, Spark's sources, and Python.

Messages name options as the command line does (``--path-map``); :meth:`StateExtractError.worded` puts the words of another
door in their place where an error leaves by it. Imports nothing of the project.
"""

from __future__ import annotations

import re
from enum import Enum


class Door(Enum):
    """Where a message is read. The value is its column in :data:`OPTIONS`, counted from one; 0 is the command line."""

    COMMAND_LINE = 0
    SPARK = 1
    PYTHON = 2


OPTIONS: dict[str, tuple[str, str]] = {
    "--all-copies": ("allCopies", "all_copies"),
    "--allow-store": ("allowStores", "allow_stores"),
    "--classpath": ("classpath", "classpath"),
    "--codec": ("codec", "codec"),
    "--flatten": ("flattenCollectionTypes", "flatten"),
    "--header-threads": ("headerThreads", "header_threads"),
    "--keep-empty-maps": ("keepEmptyMaps", "keep_empty_maps"),
    "--kryo": ("kryo", "kryo"),
    "--maps": ("maps", "maps"),
    "--max-value-bytes": ("maxValueBytes", "max_value_bytes"),
    "--memory-bytes": ("memoryBytes", "memory_bytes"),
    "--names": ("names", "names"),
    "--on-undecodable": ("onUndecodable", "on_undecodable"),
    "--operator": ("operatorUid", "operator"),
    "--out-of-range": ("outOfRange", "out_of_range"),
    "--path-map": ("pathMap", "path_map"),
    "--plan": ("plan", "plan"),
    "--plugins": ("plugins", "plugins"),
    "--protobuf": ("protobuf", "protobuf"),
    "--split-bytes": ("splitBytes", "split_bytes"),
    "--state": ("stateName", "state"),
    "--store-timeout": ("storeTimeout", "store_timeout"),
    "--strings": ("strings", "strings"),
    "--timestamps": ("timestamps", "timestamps"),
    "--verify-checksums": ("verifyChecksums", "verify_checksums"),
    # Spark's sources keep nothing raw.
    "--on-undecodable to skip or raw": ("onUndecodable to skip", "on_undecodable to skip or raw"),
    # What only a job file can hold.
    "a [[kryo.class]] in the job file": ("an entry of kryoClasses", "an entry of kryo_classes"),
}
"""The option, or a phrase with one: on the command line, in Spark's sources and as a keyword argument in Python."""

_NAMED = re.compile("|".join(rf"(?<![\w-]){re.escape(o)}(?![\w-])" for o in sorted(OPTIONS, key=len, reverse=True)))


def in_words_of(door: Door, text: str) -> str:
    """A text in which the command line's options are called as they are at the door."""
    if door is Door.COMMAND_LINE:
        return text
    return _NAMED.sub(lambda match: OPTIONS[match[0]][door.value - 1], text)


__all__ = ["OPTIONS", "Door", "in_words_of"]
