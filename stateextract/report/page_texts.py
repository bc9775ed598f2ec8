"""Values of a statistics document as texts that a page can show: exact, of bounded length, with nothing invisible in them.

A browser's numbers are doubles, so what is a value of the job (a minimum, a key) becomes text here. That it is shown as text
and never as markup is the page's part.
"""

from __future__ import annotations

import json
import unicodedata
from typing import Any

LONGEST = 300
"""Characters of a value that are shown."""
_UNSEEN = frozenset(("Cc", "Cf", "Co", "Cs", "Cn", "Zl", "Zp"))
"""Unicode's categories of controls, marks of direction, lone surrogates and the like, which would hide or turn text around."""


def visible(text: str, longest: int = LONGEST) -> str:
    """The text with escapes as in JSON for what cannot be seen, cut to ``longest`` characters and then with its length."""
    cut = text[:longest]
    if not cut.isprintable():
        cut = "".join(_escaped(c) if unicodedata.category(c) in _UNSEEN else c for c in cut)
    return cut if len(text) <= longest else f"{cut}… ({len(text):,} characters)"


def value_text(value: Any, longest: int = LONGEST) -> str | None:
    """A value as :mod:`json` gives it; ``None`` for null. A string has no quotes if it is clearly a string."""
    if value is None:
        return None
    if isinstance(value, str):
        plain = value.strip() == value != ""
        return visible(value if plain else json.dumps(value, ensure_ascii=False), longest)
    return visible(json.dumps(value, ensure_ascii=False), longest)


def _escaped(character: str) -> str:
    code = ord(character)
    return f"\\u{code:04x}" if code < 0x10000 else f"\\u{{{code:x}}}"
