"""JSON and YAML that is refused, and how long long texts take."""

from __future__ import annotations

import contextlib
import time

import pytest

from stateextract.errors import FormatError
from stateextract.ha.documents import parse_documents


def test_documents() -> None:
    assert parse_documents("# nothing\n---\n...\n") == []
    assert parse_documents("a: '{\"n\": 1}'\nb: 1\n---\nc: {}\nd: [e]\n") == [
        {"a": '{"n": 1}', "b": "1"},
        {"c": {}, "d": ["e"]},
    ]
    assert parse_documents(' {"a": [1, null]}') == [{"a": [1, None]}]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: &x b\nc: *x\n", "line 2 of the YAML has an alias"),
        ("a: &x\n  b: *x\n", "line 2 of the YAML has an alias"),
        ("- " * 51 + "a\n", "line 1 of the YAML has more than 50 levels"),
        ("a: 'b\n", "the file is not YAML"),
        ("a: b\n  c: d\n", "the file is not YAML: mapping values are not allowed here in line 2, column 4"),
        (
            "a: " + "b" * 16_000_000,
            "the YAML has 16000003 characters; expected at most 16000000. Use the output of kubectl -o json",
        ),
        ("[" * 500_000, "the JSON is nested too deeply"),
        ("{a: b}", "the file is not JSON"),
    ],
    ids=range(8),
)
def test_what_is_refused(text: str, message: str) -> None:
    with pytest.raises(FormatError) as caught:
        parse_documents(text)
    assert message in str(caught.value)


def test_tags_make_nothing() -> None:
    assert parse_documents("a: !!python/object/apply:os.system ['x']\n") == [{"a": ["x"]}]


@pytest.mark.parametrize(
    "text",
    [
        "a:" + " " * 1_000_000 + "b\n",
        "a: '" + "x\n" * 100_000,
        "- " * 500_000,
        "a: " + "[" * 500_000,
        "a:\n" * 20_000,
        "".join(f"{' ' * i}a:\n" for i in range(1000)),
    ],
    ids=range(6),
)
def test_long_texts_end(text: str) -> None:
    begun = time.monotonic()
    with contextlib.suppress(FormatError):
        parse_documents(text)
    assert time.monotonic() - begun < 10
