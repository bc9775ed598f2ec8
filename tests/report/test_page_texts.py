"""Values as the report's texts."""

from __future__ import annotations

from typing import Any

import pytest

from stateextract.report.page_texts import LONGEST, value_text, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain – 普通 ünïcode 🙂", "plain – 普通 ünïcode 🙂"),
        ("a\nb\t\x00", "a\\u000ab\\u0009\\u0000"),
        ("\u202egnp.exe", "\\u202egnp.exe"),
        ("lone \ud800", "lone \\ud800"),
        ("tag \U000e0041", "tag \\u{e0041}"),
        ("soft\u00adhyphen\u2028", "soft\\u00adhyphen\\u2028"),
        ("a\u00a0b", "a\u00a0b"),
        ("x" * LONGEST, "x" * LONGEST),
        ("x" * 5000, "x" * LONGEST + "… (5,000 characters)"),
    ],
)
def test_what_is_seen(text: str, shown: str) -> None:
    assert visible(text) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, None),
        ("", '""'),
        (" padded ", '" padded "'),
        (2**63 - 1, "9223372036854775807"),
        (0.1, "0.1"),
        (True, "true"),
        ({"id": 1, "name": "é"}, '{"id": 1, "name": "é"}'),
        ([None, "a\nb"], '[null, "a\\nb"]'),
    ],
)
def test_values(value: Any, shown: str | None) -> None:
    assert value_text(value) == shown
