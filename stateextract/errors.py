"""Every error that stateextract raises on purpose.

One hierarchy with one root, so that a caller can catch ``StateExtractError`` and print it. Each error carries what a
person needs to act: which file, operator, state, key group and byte offset it is about, what was expected there, and
what to do. Layers that know more than the one that raised add it with :meth:`StateExtractError.at`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from stateextract.doors import Door, api_door
from stateextract.outcome import ExitCode, Status
from stateextract.printable import LONGEST_TEXT, printable, shortened

_CONTEXT = ("file", "operator", "state", "key_group", "offset", "plain_offset")
_TEXTS = ("expected", "advice")
_LABELS = {
    "file": "file",
    "operator": "operator",
    "state": "state",
    "key_group": "key group",
    "offset": "byte offset",
    "plain_offset": "where compressed bytes begin, byte",
}

E = TypeVar("E", bound="StateExtractError")


class StateExtractError(Exception):
    """Root of the hierarchy.

    :param message: what is wrong, one sentence without a final full stop.
    :param expected: the value that should be there.
    :param advice: what the user can do.
    :param file: URI of the file the error is about.
    :param operator: UID, name or operator ID of the operator.
    :param state: name of the state.
    :param key_group: number of the key group.
    :param offset: position in ``file`` in bytes, counted from the file's first byte.
    :param plain_offset: in compressed data: the position in what the bytes from ``offset`` on hold, counted in
        uncompressed bytes.
    """

    exit_code: int = ExitCode.FAILED
    status: Status = Status.UNREADABLE
    """What a state becomes that cannot be read because of this error."""

    def __init__(
        self,
        message: str,
        *,
        expected: str | None = None,
        advice: str | None = None,
        file: str | None = None,
        operator: str | None = None,
        state: str | None = None,
        key_group: int | None = None,
        offset: int | None = None,
        plain_offset: int | None = None,
    ) -> None:
        super().__init__(message)
        self._message = message
        self._expected = expected
        self._advice = advice
        self.door = Door.COMMAND_LINE
        self.file = file
        self.operator = operator
        self.state = state
        self.key_group = key_group
        self.offset = offset
        self.plain_offset = plain_offset

    @property
    def message(self) -> str:
        """What is wrong, in the words of the door by which the error left."""
        return self.door.words(self._message)

    @message.setter
    def message(self, message: str) -> None:
        self._message = message

    @property
    def expected(self) -> str | None:
        """What should have been there, in the same words."""
        return None if self._expected is None else self.door.words(self._expected)

    @expected.setter
    def expected(self, expected: str | None) -> None:
        self._expected = expected

    @property
    def advice(self) -> str | None:
        """What the user can do there, in the same words."""
        return None if self._advice is None else self.door.advice(self._advice)

    @advice.setter
    def advice(self, advice: str | None) -> None:
        self._advice = advice

    def worded(self: E, door: Door) -> E:
        """Call options as they are called at that door, and return the error itself."""
        self.door = door
        return self

    def at(self: E, **context: Any) -> E:
        """Fill in context that is not known yet (what is already set wins), and return the error itself."""
        for name, value in context.items():
            if name not in (*_CONTEXT, *_TEXTS):
                raise TypeError(f"unknown error context {name!r}")
            if getattr(self, f"_{name}" if name in _TEXTS else name) is None:
                setattr(self, name, value)
        return self

    def detached(self: E) -> E:
        """Forget the frames that it came from, whose data would stay in memory, and return the error itself."""
        self.__traceback__ = self.__context__ = self.__cause__ = None
        return self

    def moved(self: E, by: int) -> E:
        """Count the offset from ``by`` bytes further in front, unless a file is known, in which it counts then; the error."""
        if self.file is None and self.offset is not None:
            self.offset += by
        return self

    @property
    def context(self) -> dict[str, Any]:
        """All that :meth:`at` can fill in, by name."""
        return {name: getattr(self, name) for name in (*_CONTEXT, *_TEXTS)}

    def __str__(self) -> str:
        parts = [shortened(self.message, LONGEST_TEXT)]
        if self.expected is not None:
            parts.append(f"expected {shortened(self.expected, LONGEST_TEXT)}")
        values = {name: getattr(self, name) for name in _CONTEXT}
        for name in ("operator", "state"):
            values[name] = values[name] and shortened(values[name])
        where = [f"{_LABELS[name]} {value}" for name, value in values.items() if value is not None]
        if where:
            parts.append("in " + ", ".join(where) + " of what they hold" * (self.plain_offset is not None))
        text = "; ".join(parts) + "."
        if self.advice is not None:
            advice = shortened(self.advice, LONGEST_TEXT)
            text += f" {advice[:1].upper()}{advice[1:].rstrip('.')}."
        return printable(text)

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {"class": type(self).__name__, "message": self.message, **self.context}

    @staticmethod
    def from_dict(document: dict[str, Any]) -> StateExtractError:
        """The inverse of :meth:`as_dict`; of a class that this version does not know, the root."""
        context = dict(document)
        kind = globals().get(str(context.pop("class", "")))
        if not (isinstance(kind, type) and issubclass(kind, StateExtractError)):
            kind = StateExtractError
        return kind(context.pop("message"), **context)

    def __reduce__(self) -> tuple[Any, ...]:
        # Errors cross from Spark's Python workers to the driver.
        texts = {"expected": self._expected, "advice": self._advice}
        return (_rebuild, (type(self), self._message, self.context | texts, self.door))


def _rebuild(kind: type[E], message: str, context: dict[str, Any], door: Door) -> E:
    return kind(message, **context).worded(door)


@contextmanager
def leaving(door: Door | None = None) -> Iterator[None]:
    """Around, or as the decorator of, what raises errors that are read at that door.

    :param door: ``None``: that of the Python API.
    """
    try:
        yield
    except StateExtractError as error:
        raise error.worded(door or api_door()) from error.__cause__


def expected_error(error: Exception) -> StateExtractError:
    """The error itself, or one of ours in place of one that nothing here raises on purpose."""
    if isinstance(error, StateExtractError):
        return error
    if isinstance(error, MemoryError):
        return MemoryLimitError(
            "there is not enough memory to read it",
            advice="run it with more memory, or set --max-value-bytes to a smaller size",
        )
    return FormatError(
        f"reading failed with {type(error).__name__}: {error}",
        advice="report it together with the file: no bytes of a file should cause this error",
    )


class UsageError(StateExtractError):
    """An option, argument or job file that cannot be right."""

    exit_code = ExitCode.USAGE


class EnvironmentProblem(StateExtractError):
    """Java, a Python package or a Spark setting that the job needs is missing or too old."""


class SnapshotNotFoundError(StateExtractError):
    """Nothing at the given path is a completed checkpoint or savepoint, or several are and the choice is not ours."""


class MissingFileError(StateExtractError):
    """A file that the snapshot refers to does not exist."""

    status = Status.MISSING


class UnreadableFileError(StateExtractError):
    """A file exists but cannot be opened or read (permissions, a broken store)."""


class NoAnswerError(UnreadableFileError):
    """A store did not answer in time."""


class SnapshotDeletedError(MissingFileError):
    """The snapshot vanished while it was read: Flink subsumed the checkpoint and deletes its files."""


class FormatError(StateExtractError):
    """Bytes that are not what Flink writes: damage, or a file that is not a snapshot."""


class TruncatedError(FormatError):
    """The bytes end before the structure does."""


class ChecksumError(FormatError):
    """A CRC-32C of a Snappy chunk does not match its data."""


class UnsupportedError(StateExtractError):
    """Something known to exist that this version does not read."""

    status = Status.UNSUPPORTED


class UnsupportedVersionError(UnsupportedError):
    """A ``_metadata`` or state-file version that this version does not read."""


class UndecodableError(UnsupportedError):
    """A state whose serializer is not known, so its bytes have no meaning and, in heap bodies, no length."""


class ValueRefusedError(StateExtractError):
    """A value that its column's type cannot hold exactly, under an option that forbids to bend it."""

    status = Status.SKIPPED


class MemoryLimitError(StateExtractError):
    """The process has not enough memory to read a state."""


class OutputError(StateExtractError):
    """The output cannot be written (exists already, is not ours, the disk is full)."""
