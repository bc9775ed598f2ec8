"""Names as they leave the program: without lone surrogates, told apart, no longer than people read."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from serializers.names import Names
from stateextract.errors import FormatError
from stateextract.printable import (
    LONGEST_TEXT,
    agreeing,
    distinct,
    find_named,
    json_document,
    json_escapes,
    lone_surrogates,
    plain_names,
    pluralize,
    printable,
    replaced,
    sentence,
    shortened,
)
from stateextract.state.counters import StateCounters


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", "plain"),
        ("ä 😀", "ä 😀"),
        ("a\ud800b\udfff", "a\ufffdb\ufffd"),
        ("\udc00\ud800", "\ufffd\ufffd"),  # the wrong way round they are no pair
    ],
)
def test_replaced(text: str, expected: str) -> None:
    assert replaced(text) == expected
    assert lone_surrogates(text) == expected.count("\ufffd")


def test_names_stay_distinct() -> None:
    assert distinct(["a\ud800", "b", "a\ud801", "a\ufffd", "a\ufffd_2"]) == [
        "a\ufffd_3", "b", "a\ufffd_4", "a\ufffd", "a\ufffd_2",
    ]  # fmt: skip
    names = Names()
    assert [names.take(n) for n in ("x\ud800", "x\ud801", "X\udc00", "x")] == ["x\ufffd", "x\ufffd_2", "X\ufffd_3", "x"]


def test_documents() -> None:
    values = [["b\ud801", 1, None, {"c": ("d\udfff",)}], 2.5]
    document = dict(zip(("a\ud800", "a\ud801"), values, strict=True))
    assert json.loads(json_document(document)) == {
        "a\ufffd": ["b\ufffd", 1, None, {"c": ["d\ufffd"]}], "a\ufffd_2": 2.5,
    }  # fmt: skip
    assert json_document("\ud800", ensure_ascii=False) == '"\ufffd"'
    assert plain_names({1: "\ud800"}) == {1: "\ufffd"}
    assert json_escapes('{"a\ud800":"😀"}') == '{"a\\ud800":"😀"}'


def test_a_name_is_found_as_it_is_shown() -> None:
    known = ["s\ud800", "s", "t\ufffd", "t\ud800"]
    for wanted, found in (("s", ["s"]), ("s\ufffd", ["s\ud800"]), ("t\ufffd", ["t\ufffd"]), ("u", [])):
        assert find_named(wanted, known, lambda name: (name, None)) == found


def test_what_is_shown_has_an_end() -> None:
    assert printable("a\x1b[31m\ud800\u202e\n") == "a\\x1b[31m\ufffd\\u202e\n"
    long = "x" * 30_000
    assert (len(shortened(long)), shortened("abcdefghij", 8), shortened("abc", 3)) == (200, "abcde…ij", "abc")
    error = FormatError(f"state {long}", expected=long, state=long, operator=long, advice=long, file="/" + "d/" * 500)
    assert len(str(error)) < 3 * LONGEST_TEXT + 2 * 200 + 1100
    assert ("/" + "d/" * 500) in str(error)
    assert error.state == long
    counters = StateCounters()
    counters.problem(long)
    assert [len(text) for text in counters.problems] == [LONGEST_TEXT]


def test_singular_and_plural() -> None:
    assert [pluralize(n, "entry", "is") for n in (0, 1, 2000)] == ["0 entries are", "1 entry is", "2,000 entries are"]
    assert [agreeing(n, verb) for verb in ("is", "has", "holds") for n in (1, 2)] == [
        "is", "are", "has", "have", "holds", "hold",
    ]  # fmt: skip
    assert sentence("a") == sentence("a.") == "a."


MORE_THAN_ONE = {
    "{len(matching)} operators are called",
    "the names of {len(matching)} states",
    "and their growth over {len(snapshots)} snapshots",
    "the options match {len(states)} states",
    "the operator has {len(states)} states",
    "{len(found)} operators have",
    "before {len(missing)} of its states",
    "a changelog of {len(states)} states",
}
"""Texts that are only shown of several things."""


def test_numbers_of_things_agree_with_their_nouns() -> None:
    """``pluralize`` writes them: a number in front of a plural in a text of ours would also be shown for one thing."""
    root = Path(__file__).parents[1]
    nouns = "files|states|rows|operators|tasks|splits|snapshots|changes|nodes|datasets|folders|rules|times|columns"
    found = set()
    for file in (*(root / "stateextract").rglob("*.py"), *(root / "serializers").rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.JoinedStr):
                text = ast.unparse(node)
                numbers = r"\{[^{}]*(?:len\(|count|rows|number|:,)[^{}]*\} (?:more |other )?"
                if re.search(rf"{numbers}(?:{nouns})\b", text) and not any(t in text for t in MORE_THAN_ONE):
                    found.add(f"{file.name}: {text}")
    assert found == set()


def test_closed_standard_streams(tmp_path: Path) -> None:
    """No file gets the number of standard error, to which libraries in C write, and children have all three."""
    script = (
        "import os, subprocess, sys; from stateextract.printable import encode_any_text; encode_any_text();"
        "child = subprocess.run([sys.executable, '-S', '-c', 'import os; [os.fstat(n) for n in range(3)]']).returncode;"
        "open(sys.argv[1], 'w').write(f'{os.open(os.devnull, os.O_RDONLY) > 2} {child}')"
    )
    command = ["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", sys.executable, "-c", script, str(tmp_path / "found")]
    subprocess.run(command, check=True)
    assert (tmp_path / "found").read_text() == "True 0"
