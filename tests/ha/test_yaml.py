"""The YAML that ``kubectl`` prints, against what PyYAML reads; and what is beyond it."""

from __future__ import annotations

import contextlib
import time
from typing import Any

import pytest

from stateextract.errors import FormatError
from stateextract.ha.yaml import parse_document, parse_yaml

TEXTS: dict[str, Any] = {
    "": [],
    "# nothing\n---\n...\n": [],
    "a: b\n": [{"a": "b"}],
    "---\na: b\n---\nc: d\n": [{"a": "b"}, {"c": "d"}],
    "a:\n- b\n- c: d\n  e: f\n-\n  - g\n": [{"a": ["b", {"c": "d", "e": "f"}, ["g"]]}],
    "a:\n  - b\n": [{"a": ["b"]}],
    "a: {}\nb: []\nc:\nd: ~\n": [{"a": {}, "b": [], "c": None, "d": None}],
    "a: 'it''s'\nb: \"x\\ty\\u00e9\\\\\"\n": [{"a": "it's", "b": "x\ty\u00e9\\"}],
    "a: '{\"x\": \"y # z\", \"n\": 1}' # a comment\n": [{"a": '{"x": "y # z", "n": 1}'}],
    "a: 'one\n  two\n\n  three'\n": [{"a": "one two\nthree"}],
    'a: "one\\\n  two"\n': [{"a": "onetwo"}],
    "a: one\n  two\nb: c\n": [{"a": "one two", "b": "c"}],
    "a: |\n  x\n   y\n\n  z\nb: |-\n  q\n": [{"a": "x\n y\n\nz\n", "b": "q"}],
    "a: >\n  x\n  y\n": [{"a": "x y\n"}],
    "a: |+\n  x\n\nb: c\n": [{"a": "x\n\n", "b": "c"}],
    "'a b': c\n\"d\": e\n": [{"a b": "c", "d": "e"}],
    "a: b:c\nurl: file:/x/y\n": [{"a": "b:c", "url": "file:/x/y"}],
    "a: x#y\nb: x #y\n": [{"a": "x#y", "b": "x"}],
    "a: -b\nc: rO0AB/+w==\n": [{"a": "-b", "c": "rO0AB/+w=="}],
    "- - a\n  - b\n- c\n": [[["a", "b"], "c"]],
    "a: b\r\nc: d\r\n": [{"a": "b", "c": "d"}],
}


@pytest.mark.parametrize("text", TEXTS)
def test_texts(text: str) -> None:
    assert parse_yaml(text) == TEXTS[text]


@pytest.mark.parametrize("text", [text for text in TEXTS if TEXTS[text]])
def test_pyyaml_reads_the_same(text: str) -> None:
    yaml = pytest.importorskip("yaml")
    assert [one for one in yaml.load_all(text, yaml.BaseLoader) if one is not None] == [
        _without_null(one) for one in TEXTS[text]
    ]


def _without_null(value: Any) -> Any:
    """PyYAML's base loader knows text only."""
    if isinstance(value, dict):
        return {key: inner if inner is not None else "~" if key == "d" else "" for key, inner in value.items()}
    return value


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a: &x b\n", "line 1 of the YAML has '&x b'"),
        ("a: *x\n", "line 1"),
        ("a: !!python/object:os.system x\n", "line 1"),
        ("a: {b: c}\n", "a flow collection"),
        ("a: [b]\n", "a flow collection"),
        ("a: b\n  c: d\n", "line 2 of the YAML has a map inside of a scalar"),
        ("a: b\na: c\n", "line 2 of the YAML has the key 'a' twice"),
        ("a: 'b\n", "a quotation that does not end"),
        ("a: 'b' c\n", "text after a quotation"),
        ("a:\n   b: c\n  d: e\n", "line 3 of the YAML has text that belongs to nothing"),
        ("a: b\nc\n", "line 2 of the YAML has text that belongs to nothing"),
        ("\ta: b\n", "line 1 of the YAML has a tab before the text"),
        ('a: "\\q"\n', "an unknown escape"),
        ("- " * 60 + "a\n", "more than 50 levels"),
        ("--- a\n", "line 1 of the YAML has text after ---"),
    ],
)
def test_what_is_beyond_the_subset(text: str, message: str) -> None:
    with pytest.raises(FormatError) as caught:
        parse_yaml(text)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        "a:" + " " * 1_000_000 + "b\n",
        "a: '" + "x\n" * 100_000,
        "a: " + "b\n " * 100_000,
        "- " * 500_000,
        "a: |\n" + "  x\n" * 100_000,
        '"' * 500_000,
        "'" * 500_001,
        "a:\n" * 100_000,
        "".join(f"{' ' * i}a:\n" for i in range(1000)),
        "[" * 500_000,
        '{"a":' * 200_000,
    ],
    ids=range(11),
)
def test_long_texts_take_no_long_time(text: str) -> None:
    begun = time.monotonic()
    with contextlib.suppress(FormatError):
        parse_document(text)
    assert time.monotonic() - begun < 10
