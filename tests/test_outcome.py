"""The words for what becomes of a state, and the exit code that follows."""

from __future__ import annotations

import json
import pickle

import pytest

from stateextract import errors
from stateextract.outcome import ExitCode, Status, Verdict, exit_code, exit_code_of_check


def test_the_words_are_a_closed_list() -> None:
    words = [
        "decoded", "uncertain", "partial", "raw", "skipped", "unsupported", "missing", "unreadable", "no state",
        "not selected", "sound", "damaged", "not checked",
    ]  # fmt: skip
    assert [str(status) for status in Status] == words
    assert json.dumps(list(Status)) == json.dumps(words)
    assert pickle.loads(pickle.dumps(Status.EMPTY)) is Status.EMPTY
    assert [int(code) for code in ExitCode] == [0, 1, 2, 3, 4, 5, 6, 129, 130, 141, 143]
    assert all(member.meaning.endswith(".") for member in (*Status, *Verdict, *ExitCode))


@pytest.mark.parametrize(
    ("statuses", "code"),
    [
        ([], 0),
        (["no state", "not selected"], 0),
        (["decoded", "uncertain", "no state"], 0),
        (["decoded", "not selected", "missing"], 3),
        (["not selected", "missing"], 1),
        (["missing", "unreadable", "unsupported"], 1),
        (["uncertain", "unreadable"], 3),
        (["unsupported", "skipped"], 3),
        (["raw"], 3),
        (["partial"], 3),
        (["decoded", "unsupported"], 3),
    ],
)
def test_the_exit_code_follows_from_the_words(statuses: list[str], code: int) -> None:
    assert exit_code(statuses) == code
    assert exit_code(reversed(statuses)) == code


@pytest.mark.parametrize(
    ("statuses", "code"),
    [
        (["sound", "no state"], 0),
        (["sound", "not checked"], 3),
        (["sound", "damaged", "not checked"], 1),
        (["sound", "missing"], 1),
        (["sound", "unreadable"], 1),
    ],
)
def test_a_check_fails_at_anything_corrupt_or_missing(statuses: list[str], code: int) -> None:
    assert exit_code(statuses, check=True) == code


def test_a_forecast_may_answer_that_a_state_is_unsupported() -> None:
    assert exit_code(["unsupported", "uncertain", "decoded"], forecast=True) == 0
    assert exit_code(["unsupported", "missing"], forecast=True) == 1
    assert exit_code(["decoded", "unreadable"], forecast=True) == 3


def test_an_unknown_word_is_an_error() -> None:
    with pytest.raises(ValueError, match="decodd"):
        exit_code(["decodd"])


def test_errors_know_what_a_state_becomes_because_of_them() -> None:
    assert errors.MissingFileError.status is Status.MISSING
    assert errors.SnapshotDeletedError.status is Status.MISSING
    assert errors.UndecodableError.status is Status.UNSUPPORTED
    assert errors.TruncatedError.status is Status.UNREADABLE
    assert errors.UnreadableFileError.status is Status.UNREADABLE
    assert errors.ValueRefusedError.status is Status.SKIPPED
    assert (errors.UsageError.exit_code, errors.FormatError.exit_code) == (2, 1)


@pytest.mark.parametrize(
    ("verdicts", "code"),
    [
        ([], 0),
        ([Verdict.AS_IS, Verdict.MIGRATED], 0),
        ([Verdict.AS_IS, Verdict.UNKNOWN], 3),
        ([Verdict.LOSES, Verdict.UNKNOWN], 6),
        ([Verdict.REFUSED, Verdict.MIGRATED], 6),
    ],
)
def test_what_is_known_to_be_wrong_weighs_more(verdicts: list[Verdict], code: int) -> None:
    assert exit_code_of_check(verdicts) == code
