"""What becomes of a state, in one word, and the exit code that follows: the only place that defines either.

Every command, the coverage report, the Python API and the Spark tables use these words. ``docs/exit-codes.md`` is made
from this module (``python scripts/exit_codes_page.py > docs/exit-codes.md``). Depends on nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum, StrEnum
from typing import Self


class _Word(StrEnum):
    """A word, which ``meaning`` explains in a sentence."""

    meaning: str

    def __new__(cls, word: str, meaning: str = "") -> Self:
        """Make a member of its word and its meaning."""
        made = str.__new__(cls, word)
        made._value_ = word
        made.meaning = meaning
        return made


class Status(_Word):
    """What became of a state, or what a forecast says will become of it."""

    DECODED = "decoded", "Every row is read, or can be read, in typed columns."
    UNCERTAIN = (
        "uncertain",
        (
            "Only a read shows whether all rows can be decoded, for example because a class is not described. "
            "`states` and `inspect` name what is missing."
        ),
    )
    PARTIAL = "partial", "Some rows are read. Others are unreadable, or are kept as raw bytes."
    RAW = (
        "raw",
        "All rows are kept as raw bytes (`--on-undecodable raw`), or the form of a coordinator's bytes is not known.",
    )
    SKIPPED = (
        "skipped",
        "No row is read, because a value cannot be decoded (`--on-undecodable skip`) or an option refuses it.",
    )
    UNSUPPORTED = "unsupported", "This version does not read it."
    MISSING = "missing", "A file that contains it does not exist."
    UNREADABLE = "unreadable", "A file that contains it, or the header of one, is corrupt or cannot be opened."
    EMPTY = "no state", "The operator has no state in this snapshot."
    NOT_SELECTED = "not selected", "The options select other states."
    SOUND = "sound", "`validate` decoded every byte."
    DAMAGED = "damaged", "`validate` found corrupt bytes after the header of a file."
    NOT_CHECKED = "not checked", "`validate` cannot decode it, so it did not check all of its bytes."


class Verdict(_Word):
    """Whether Flink would restore a state into another job: what ``check`` says."""

    AS_IS = "restores as is", "Flink accepts the state, and the job reads what was written."
    MIGRATED = "restores after migration", "Flink accepts the state and writes it anew with the new serializer."
    LOSES = (
        "restores, but loses or changes data",
        "Flink accepts the snapshot, but the job finds values missing, or reads other values than were written.",
    )
    REFUSED = "does not restore", "The job does not start, or it fails when it reads a value."
    UNKNOWN = "cannot be known offline", "The given inputs do not decide it. The reason names the missing input."


class SnapshotStatus(StrEnum):
    """What ``checkpoints`` says of a snapshot as a whole. ``meaning`` explains it in a sentence."""

    meaning: str
    counts_as: Status
    """For the exit code."""

    def __new__(cls, word: str, meaning: str = "", counts_as: Status = Status.SOUND) -> SnapshotStatus:
        """Make a member of its word, its meaning, and what it is for the exit code."""
        made = str.__new__(cls, word)
        made._value_ = word
        made.meaning, made.counts_as = meaning, counts_as
        return made

    COMPLETE = "complete", "`_metadata` is readable, and all its files are there with the right size.", Status.SOUND
    NOT_COMPLETE = (
        "not complete",
        "It has no `_metadata`: the checkpoint is in progress, was aborted, or is being deleted.",
        Status.EMPTY,
    )
    FILES_MISSING = (
        "files missing", "A file that it needs is not there, or has another size. The reason names one.", Status.MISSING,
    )  # fmt: skip
    PARTIAL = (
        "partial",
        "`_metadata` contradicts itself about an operator, which the reason names. Commands read the others.",
        Status.PARTIAL,
    )
    UNREADABLE = (
        "unreadable",
        (
            "Its `_metadata` or its `completedCheckpoint` file cannot be read, or `_metadata` contradicts itself about all "
            "operators."
        ),
        Status.UNREADABLE,
    )
    SKIPPED = "skipped", "Flink skips this entry of the high-availability store.", Status.SKIPPED


class ExitCode(IntEnum):
    """The exit code of a command. ``meaning`` explains it in a sentence."""

    meaning: str

    def __new__(cls, code: int, meaning: str = "") -> ExitCode:
        """Make a member of its number and its meaning."""
        made = int.__new__(cls, code)
        made._value_ = code
        made.meaning = meaning
        return made

    COMPLETE = (
        0,
        "Every row that you selected is there, in typed columns. Of a forecast: nothing is known to be unreadable.",
    )
    FAILED = (
        1,
        "Nothing was done: no selected state is readable, or the command failed. `validate`: corruption or a missing file.",
    )
    USAGE = 2, "The request is invalid: an option, a job file, or the name of an operator or state."
    INCOMPLETE = (
        3,
        "Something is skipped, raw, partial, unsupported, missing, unreadable or not checked. The rest was done.",
    )
    DIFFERENT = 4, "`diff --exit-code` found a difference."
    RULE_FAILED = 5, "A rule of `audit` or `watch` fails."
    NOT_RESTORED = 6, "`check`: a state does not restore, or restores and loses or changes data."
    HUNG_UP = 129, "The terminal session ended (SIGHUP). A job has removed what it wrote."
    INTERRUPTED = 130, "The command was interrupted (SIGINT). A job has removed what it wrote."
    READER_GONE = 141, "The program that reads the output ended before the command did."
    TERMINATED = 143, "The system ended the command (SIGTERM). A job has removed what it wrote."


_WHOLE = frozenset({Status.DECODED, Status.UNCERTAIN, Status.SOUND})
_NOTHING = frozenset({Status.UNSUPPORTED, Status.MISSING, Status.UNREADABLE})
_FORESEEN = frozenset({Status.UNSUPPORTED, Status.RAW, Status.SKIPPED})
_NOT_ASKED = frozenset({Status.EMPTY, Status.NOT_SELECTED})
_CORRUPT = frozenset({Status.DAMAGED, Status.MISSING, Status.UNREADABLE})


def exit_code(statuses: Iterable[str], *, check: bool = False, forecast: bool = False) -> ExitCode:
    """Return the exit code that follows from what became of all states that a command is about.

    :param statuses: their status words, in any order; words that occur more than once count once.
    :param check: of a command that checks and does not read (``validate``): anything corrupt or missing is a failure.
    :param forecast: of a command that describes states and reads no rows (``states``): what cannot be decoded, or is not to be,
        is an answer too.
    :raises ValueError: for a word that is not a status.
    """
    found = {Status(word) for word in statuses} - _NOT_ASKED
    if found <= (_WHOLE | _FORESEEN if forecast else _WHOLE):
        return ExitCode.COMPLETE
    if found <= _NOTHING or (check and found & _CORRUPT):
        return ExitCode.FAILED
    return ExitCode.INCOMPLETE


def exit_code_of_check(verdicts: Iterable[Verdict]) -> ExitCode:
    """Return the exit code of ``check``: what is known to be wrong weighs more than what is not known."""
    found = set(verdicts)
    if found & {Verdict.REFUSED, Verdict.LOSES}:
        return ExitCode.NOT_RESTORED
    return ExitCode.INCOMPLETE if Verdict.UNKNOWN in found else ExitCode.COMPLETE
