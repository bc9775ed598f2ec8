from __future__ import annotations

import io
import json

import pytest

from stateextract.columnar.convert.policy import ChangeCounts
from stateextract.screen import Screen
from stateextract.snapshot.coverage import CoverageEntry, CoverageReport
from stateextract.state.counters import StateCounters


def _entry(state: str | None, status: str, **more: object) -> CoverageEntry:
    return CoverageEntry("ab" * 16, "my-uid", "name", state, "value", "heap", status, **more)  # type: ignore[arg-type]


def _coverage(*entries: CoverageEntry) -> CoverageReport:
    return CoverageReport("0.1.0", "/snap/_metadata", 7, 6, "checkpoint", list(entries), [("/old/a", "/new/a")], ["a note"])


def test_status_follows_from_what_was_read() -> None:
    cases = [
        (StateCounters(rows=3), "decoded"),
        (StateCounters(), "decoded"),
        (StateCounters(rows=3, raw_rows=1), "partial"),
        (StateCounters(raw_rows=1), "raw"),
        (StateCounters(rows=3, lost_key_groups=1, problems=["class X"]), "partial"),
        (StateCounters(lost_key_groups=2, problems=["class X"]), "skipped"),
    ]
    for read, status in cases:
        entry = _entry("s", "decoded", read=read)
        entry.finalize()
        assert entry.status == status, read
    assert entry.reason == "class X"
    untouched = _entry("s", "unsupported", read=StateCounters(rows=1))
    untouched.finalize()
    assert untouched.status == "unsupported"


@pytest.mark.parametrize(
    ("statuses", "code"),
    [
        (("decoded", "not selected", "no state"), 0),
        (("decoded", "skipped"), 3),
        (("decoded", "raw"), 3),
        (("decoded", "partial"), 3),
        (("decoded", "unsupported"), 3),
        (("decoded", "missing"), 3),
        (("skipped",), 3),
        (("unreadable", "missing"), 1),
    ],
)
def test_the_exit_code_follows_from_all_statuses(statuses: tuple[str, ...], code: int) -> None:
    assert _coverage(*(_entry("s", status) for status in statuses)).exit_code() == code


def test_the_summary_counts_states_and_rows() -> None:
    coverage = _coverage(
        _entry("a", "decoded", read=StateCounters(rows=1200)),
        _entry("b", "partial", read=StateCounters(rows=3, lost_key_groups=2)),
        _entry("c", "raw", read=StateCounters(raw_rows=4, lost_entries=4)),
        _entry("d", "missing"),
        _entry("e", "not selected"),
    )
    assert coverage.summary() == (
        "4 states: 1 whole, 2 partial, 1 missing, 1,203 rows read, 4 rows kept as raw bytes, 4 entries lost, "
        "2 key groups of a state lost in part or whole."
    )


def test_a_failure_says_what_a_state_without_rows_is() -> None:
    for failure, rows, status in (("missing", 0, "missing"), ("unreadable", 0, "unreadable"), ("missing", 2, "partial")):
        entry = _entry("s", "decoded", read=StateCounters(rows=rows, failure=failure, problems=["the file is not there"]))
        entry.finalize()
        assert (entry.status, entry.reason) == (status, "the file is not there")


def test_the_json_names_every_entry() -> None:
    document = json.loads(
        _coverage(_entry("a", "decoded", read=StateCounters(rows=5)), _entry(None, "unsupported", reason="why")).to_json()
    )
    assert [(e["state_name"], e["status"], e["reason"], e["read"]["rows"]) for e in document["entries"]] == [
        ("a", "decoded", None, 5),
        (None, "unsupported", "why", 0),
    ]
    assert document["summary"]["decoded"] == 1
    assert document["relocations"] == [{"stored": "/old/a", "found": "/new/a"}]


def test_the_table_shows_rows_outcomes_and_remarks() -> None:
    text = io.StringIO()
    read = StateCounters(rows=1234, bytes=99, counts=ChangeCounts(2, 1, malformed_utf8=3), engine="interpreter")
    _coverage(
        _entry("[red]counts", "decoded", read=read, decoded_in_python=True),
        _entry("b", "unsupported", reason="not yet supported", size=7),
        _entry("little", "decoded", read=StateCounters(rows=1, engine="interpreter")),
    ).show(Screen(file=text, width=200))
    shown = text.getvalue()
    for words in (
        "my-uid", "[red]counts", "1,234", "unsupported [1]", "\n[1] not yet supported\n",
        "my-uid / [red]counts: 2 lone surrogates replaced by U+FFFD.",
        "3 sequences of malformed UTF-8 replaced by U+FFFD",
        "1 timestamp floored to microseconds", "decoded in Python", "Note: a note.",
        "Found at another location than the snapshot records: /old/a at /new/a.",
    ):  # fmt: skip
        assert words in shown
    assert "little: " not in shown, "that little is interpreted costs no time"
