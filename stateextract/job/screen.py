"""The console that reports are shown on."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.text import Text

from stateextract.printable import printable, short_words


class Screen(Console):
    """A console of rich's that shows all text as :func:`printable` does, and no endless words."""

    def render_str(self, text: str, **options: Any) -> Text:
        return super().render_str(short_words(printable(text)), **options)


__all__ = ["Screen"]
