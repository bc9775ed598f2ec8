"""The console that reports are shown on, and its tables, which are never wider than the terminal.

Depends on rich for the console; the layout of tables is ours: rich breaks words in the middle, and pads to the longest cell.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from rich.cells import cell_len, chop_cells
from rich.console import Console, ConsoleOptions, RenderResult
from rich.segment import Segment
from rich.style import Style
from rich.text import Text

from stateextract.printable import one_line, printable, shortened

UNLIMITED = 100_000
"""The width of a console that is none: what is cut into lines of its own cannot be looked for by grep, or copied."""
_GAP = 2
_PADDED = 60
"""Without a width, cells that are longer than this do not move the columns after them."""
_NAME, _WORD = 18, 24
"""Below these widths names and words say nothing; columns that do not fit go into a second table below."""
_BETWEEN = re.compile("( |(?<=,)(?=[^ ]))")
_BOLD = Style(bold=True)


class Screen(Console):
    """A console of rich's that shows all text as :func:`printable` does."""

    def on_broken_pipe(self) -> NoReturn:
        """The caller decides what a closed pipe means; rich would end the process on its own."""
        raise BrokenPipeError(errno.EPIPE, os.strerror(errno.EPIPE))

    def render_str(self, text: str, **options: Any) -> Text:
        return super().render_str(printable(text), **options)

    def show(self, table: TextTable) -> None:
        """Print a table. Its lines are as wide as they may be, but for a long path in a note, which stays whole."""
        self.print(table, crop=False)

    def say(self, text: str, markup: bool = False) -> None:
        """Print a sentence, in lines that end between words; a path that is longer than a line stays whole."""
        text = printable(text)
        for line in (Text.from_markup(text) if markup else Text(text)).split("\n", allow_blank=True):
            for part in line.divide(_breaks(line.plain, self.width)):
                part.rstrip()
                self.print(part, soft_wrap=True)


@dataclass(frozen=True)
class Cell:
    """A cell of a table.

    :param note: what explains it, below the table; one note for all cells with the same.
    :param of: in the first column: what it is of, where two things may be called alike.
    """

    text: str
    note: str | None = None
    of: object = None


class TextTable:
    """A plain table for people.

    Columns without any text are left out. In a terminal, what the first column repeats is left out too, names are shortened
    and other text is folded between words, so that a line is never longer than the terminal is wide. In a pipe every line
    has all its names, so that grep finds them.

    :param right: columns of numbers; :param names: columns of names, which are not folded.
    :param keys: how many columns say what a row is; they begin every table, if there have to be several.
    :param indent: spaces before every line.
    """

    def __init__(
        self,
        columns: Sequence[str],
        rows: Sequence[Sequence[str | Cell]],
        right: Iterable[str] = (),
        names: Iterable[str] = ("operator", "state"),
        keys: int = 2,
        indent: int = 0,
        group: bool = True,
    ) -> None:
        self.right, self.names, self.keys, self.indent = frozenset(right), frozenset(names), keys, indent
        self.notes: list[str] = []
        cells = [[self._text(cell, name in self.names) for cell, name in zip(row, columns, strict=True)] for row in rows]
        there = [i for i in range(len(columns)) if not rows or any(row[i] for row in cells)]
        self.columns = [columns[i] for i in there]
        self.rows = [[row[i] for i in there] for row in cells]
        firsts = [(cell.of or cell.text) if isinstance(cell, Cell) else cell for cell in (row[0] for row in rows)]
        self._repeats = frozenset(n for n in range(1, len(rows)) if group and 0 in there and firsts[n] == firsts[n - 1])

    def _text(self, cell: str | Cell, is_name: bool) -> str:
        text = cell.text if isinstance(cell, Cell) else cell
        text = one_line(text)
        if isinstance(cell, Cell) and cell.note:
            if cell.note not in self.notes:
                self.notes.append(cell.note)
            text = f"{text} [{self.notes.index(cell.note) + 1}]"
        return shortened(text) if is_name else text

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width = None if options.max_width >= UNLIMITED else options.max_width
        for line, is_header in self.lines(width, options.is_terminal):
            yield Segment(line, _BOLD if is_header else None)
            yield Segment.line()

    def lines(self, width: int | None, groups: bool) -> Iterator[tuple[str, bool]]:
        """The lines, and which of them are heads.

        :param width: that no line exceeds, in cells; ``None``: lines are as long as their cells.
        :param groups: leave out what the first column repeats.
        """
        margin = " " * self.indent
        width = None if width is None else max(width - self.indent, 20)
        for number, (columns, widths) in enumerate(self._parts(width)):
            if number:
                yield "", False
            headers = [self.columns[i] for i in columns]
            yield from ((margin + line, True) for line in self._row(columns, headers, widths, width is not None))
            for at, row in enumerate(self.rows):
                cells = [row[i] for i in columns]
                if groups and at in self._repeats:
                    cells[0] = ""
                yield from ((margin + line, False) for line in self._row(columns, cells, widths, width is not None))
        for number, note in enumerate(self.notes, 1):
            mark = f"[{number}] "
            text = one_line(note)
            ends = [] if width is None else _breaks(text, width - len(mark))
            for begin, end in zip([0, *ends], [*ends, len(text)], strict=True):
                yield f"{margin}{' ' * len(mark) if begin else mark}{text[begin:end].rstrip()}", False

    def _parts(self, width: int | None) -> Iterator[tuple[list[int], list[int]]]:
        """The columns that fit next to each other, and their widths."""
        all_ = range(len(self.columns))
        sizes = [[cell_len(row[i]) for row in self.rows] for i in all_]
        natural = [max(cell_len(self.columns[i]), *sizes[i], 0) for i in all_]
        if width is None:
            headers = [cell_len(name) for name in self.columns]
            yield list(all_), [max([headers[i], *(n for n in sizes[i] if n <= _PADDED)]) for i in all_]
            return
        least = [self._least(i, natural[i]) for i in all_]
        keys = list(all_)[: self.keys]
        begun = list(keys)
        for i in all_[len(keys) :]:
            if len(begun) > len(keys) and sum(least[j] + _GAP for j in (*begun, i)) - _GAP > width:
                yield begun, _shared([natural[j] for j in begun], [least[j] for j in begun], width)
                begun = list(keys)
            begun.append(i)
        yield begun, _shared([natural[j] for j in begun], [least[j] for j in begun], width)

    def _least(self, column: int, natural: int) -> int:
        """How narrow a column may become: numbers and kinds not at all, text to its longest word, names to a few letters."""
        name = self.columns[column]
        if name in self.right or name == "kind":
            return natural
        if name in self.names:
            return min(natural, _NAME)
        longest = max((cell_len(word) for row in self.rows for word, _ in _words(row[column])), default=0)
        return min(natural, max(cell_len(name), min(longest, _WORD)))

    def _row(self, columns: Sequence[int], cells: Sequence[str], widths: Sequence[int], folds: bool) -> Iterator[str]:
        """The lines of a row; several where a cell is folded."""
        parts = []
        for i, cell, width in zip(columns, cells, widths, strict=True):
            if not folds:
                parts.append([cell])
            elif self.columns[i] in self.names:
                parts.append([_short(cell, width)])
            else:
                parts.append(list(_folded(cell, width)))
        for n in range(max(len(part) for part in parts)):
            line = ""
            for i, part, width in zip(columns, parts, widths, strict=True):
                cell = part[n] if n < len(part) else ""
                space = " " * max(width - cell_len(cell), 0)
                line += (space + cell if self.columns[i] in self.right else cell + space) + " " * _GAP
            yield line.rstrip()


def _shared(natural: Sequence[int], least: Sequence[int], width: int) -> list[int]:
    """Widths of columns that are together no wider than ``width``; the widest give first."""
    widths = list(natural)
    over = sum(widths) + _GAP * (len(widths) - 1) - width
    for floor in (least, [min(8, n) for n in least], [1] * len(widths)):
        while over > 0:
            able = [i for i in range(len(widths)) if widths[i] > floor[i]]
            if not able:
                break
            widths[max(able, key=lambda i: widths[i])] -= 1
            over -= 1
    return widths


def _words(text: str) -> Iterator[tuple[str, str]]:
    """The words, each with what comes before it: a space, or nothing where a comma ends the word before."""
    parts = _BETWEEN.split(text)
    return zip(parts[::2], ("", *parts[1::2]), strict=True)


def _breaks(text: str, width: int) -> list[int]:
    """Where lines begin, so that they end between words and are no wider than ``width``, unless one word is."""
    starts: list[int] = []
    begin = at = 0
    for word, space in _words(text):
        start = at + len(space)
        at = start + len(word)
        if start > begin and cell_len(text[begin:at]) > width:
            starts.append(start)
            begin = start
    return starts


def _folded(text: str, width: int | None) -> Iterator[str]:
    """The text in lines that end between words; a word that is longer than a line is shortened."""
    if width is None or cell_len(text) <= width:
        yield text
        return
    line = ""
    for word, space in _words(text):
        if line and cell_len(line + space + word) > width:
            yield line
            line = ""
        line += (space if line else "") + _short(word, width)
    yield line


def _short(text: str, width: int) -> str:
    """The beginning and the end of a text that is wider than ``width`` cells."""
    if cell_len(text) <= width:
        return text
    if width < 3:
        return "…"[:width]
    end = width // 5
    tail = chop_cells(text[::-1], end)[0][::-1]
    return f"{chop_cells(text, width - 1 - cell_len(tail))[0]}…{tail}"
