"""Text out of files as it may be shown to people: without what a terminal would obey.

Names and values are whatever somebody wrote into a snapshot. Control characters (but tabs and line ends), marks that turn
the direction of what follows, and halves of surrogate pairs, which no encoding takes, are shown as Python writes them.
"""

from __future__ import annotations

import re

_OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def printable(text: str) -> str:
    """The text, with ``\\x1b`` for what would begin a command to the terminal."""
    return _OBEYED.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


__all__ = ["printable"]
