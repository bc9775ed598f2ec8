"""Runs the examples of a page, in order, and holds what they show against what the page shows.

A fenced block's language says what is done with it: ``python`` is executed, with the names of the blocks above it; ``sql`` is a
query of the session called ``spark``, whose rows are shown; ``text`` is what the block above it showed. Others are left alone
unless the caller says what to do with them.

With ``UPDATE_PAGES`` in the environment the pages are changed to what comes out.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
UPDATE = "UPDATE_PAGES" in os.environ
_FENCE = re.compile(r"^```([\w-]+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, what it holds, where that is in the page, and the line that it begins at."""

    language: str
    text: str
    span: tuple[int, int]
    line: int


def blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page that name a language."""
    content = page.read_text(encoding="utf-8")
    found = _FENCE.finditer(content)
    return [Block(m[1], m[2], m.span(2), content.count("\n", 0, m.start()) + 1) for m in found]


def lines(text: str) -> list[str]:
    """Lines without what cannot be seen at their ends."""
    return [line.rstrip() for line in text.strip().splitlines()]


@dataclass
class Examples:
    """Runs blocks one after the other.

    :param names: what python blocks see.
    :param others: what to do with blocks of other languages; gives what is shown. ``console`` blocks hold what they show.
    :param places: folders of a page, and those that are meant by them.
    """

    names: dict[str, Any]
    others: Mapping[str, Callable[[str], str]] = field(default_factory=dict)
    places: Mapping[str, str] = field(default_factory=dict)
    compared: int = 0

    def run(self, page: Path) -> None:
        """Run a page.

        :raises AssertionError: where a block fails or shows something else, with the page's line.
        """
        content = page.read_text(encoding="utf-8")
        shown = ""
        changes = []
        for block in blocks(page):
            try:
                if block.language == "text":
                    self.compared += 1
                elif block.language == "console" and "console" in self.others:
                    command = block.text.partition("\n")[0]
                    shown = f"{command}\n{self._shown(self.others['console'](self._meant(command.removeprefix('$ '))))}"
                    self.compared += 1
                else:
                    shown = self._shown(self.one(replace(block, text=self._meant(block.text))))
                    continue
            except Exception as error:
                raise AssertionError(f"{page.name}, line {block.line}: {type(error).__name__}: {error}") from error
            if UPDATE:
                changes.append((block.span, "".join(f"{line}\n" for line in lines(shown))))
            else:
                assert lines(shown) == lines(block.text), f"{page.name}, line {block.line}:\n{shown}"
        for (start, end), text in reversed(changes):
            content = content[:start] + text + content[end:]
        if changes:
            page.write_text(content, encoding="utf-8")

    def _meant(self, text: str) -> str:
        for there, here in self.places.items():
            text = text.replace(there, here)
        return text

    def _shown(self, text: str) -> str:
        for there, here in self.places.items():
            text = text.replace(here, there)
        return text

    def one(self, block: Block) -> str:
        """Run a block; what it shows."""
        if block.language == "python":
            with contextlib.redirect_stdout(io.StringIO()) as screen:
                exec(compile(block.text, "<example>", "exec"), self.names)
            return screen.getvalue()
        if block.language == "sql":
            return self._query(block.text)
        return self.others[block.language](block.text) if block.language in self.others else ""

    def _query(self, text: str) -> str:
        frame = self.names["spark"].sql(text)
        if text.startswith(("CREATE", "MERGE", "INSERT")):
            return ""
        with contextlib.redirect_stdout(io.StringIO()) as screen:
            frame.show()
        return screen.getvalue()


def stateextract(command: str) -> str:
    """What the command line ``stateextract`` prints, run in this process; an error only where the page shows one."""
    from stateextract.cli import run

    program, *arguments = shlex.split(command)
    assert program == "stateextract", command
    with contextlib.redirect_stdout(io.StringIO()) as screen, contextlib.redirect_stderr(screen):
        code = run(arguments)
    printed = screen.getvalue()
    assert (code in (0, 3, 6)) != printed.startswith("Error: "), f"{command}: exit code {code}: {printed}"
    return printed.replace(f"{ROOT}/", "…/")
