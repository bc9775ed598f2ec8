"""Times and durations of options."""

from __future__ import annotations

import pytest

from stateextract.audit.durations import milliseconds, moment, text_duration
from stateextract.errors import UsageError


def test_what_people_write() -> None:
    assert [milliseconds(text, "--ttl") for text in ("200ms", "1.5s", "30 min", "12h", "7d", "0s")] == [
        200, 1500, 1_800_000, 43_200_000, 604_800_000, 0,
    ]  # fmt: skip
    times = ("1970-01-01T00:00:01Z", "1970-01-01", "1970-01-01T01:00:00+01:00", "1700000000000", "-1700000000000")
    assert [moment(text, "--as-of") for text in times] == [1000, 0, 0, 1_700_000_000_000, -1_700_000_000_000]
    assert [text_duration(ms) for ms in (999, 1000, 90_000, 7_200_000, 172_800_000)] == [
        "999 ms", "1 s", "1 min", "2 h", "2 d",
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["", "7", "7 weeks", "-1d", "1e3s", "999999999999999d", "9" * 400 + "d"])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(UsageError, match=r"--ttl '.*' is (not a duration|too long)"):
        milliseconds(text, "--ttl")


@pytest.mark.parametrize("text", ["", "yesterday", "9" * 20, "-99999999999999999999", "253402300800000", "9" * 5000])
def test_what_is_no_time(text: str) -> None:
    with pytest.raises(UsageError, match=r"--as-of '.*' is not a time"):
        moment(text, "--as-of")
