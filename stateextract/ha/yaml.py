"""The YAML that ``kubectl`` prints, which is a small part of YAML.

Reads block maps, block lists, plain and quoted scalars (also over several lines), ``|`` and ``>`` texts, ``{}`` and ``[]``.
All scalars but the words for null are text, since nothing here needs a number. Refuses anchors, aliases, tags and other flow
collections, so nothing can refer to itself or grow. Depth is bounded.
"""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

from stateextract.errors import FormatError

_DEEPEST = 50
_COLON = re.compile(r":(?=\s|$)")
_BLOCK = re.compile(r"([|>])([+-]?)([1-9]?)([+-]?)(\s+#.*)?")
_ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)", re.DOTALL)
_ESCAPED = {
    "0": "\0", "a": "\a", "b": "\b", "t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r", "e": "\x1b", " ": " ", '"': '"',
    "/": "/", "\\": "\\", "N": "\x85", "_": "\xa0", "L": "\u2028", "P": "\u2029",
}  # fmt: skip
_NULL = frozenset({"", "~", "null", "Null", "NULL"})


def parse_yaml(text: str) -> list[Any]:
    """The documents of a text.

    :raises FormatError: for what is beyond the subset, with the number of the line.
    """
    documents: list[Any] = []
    lines: list[tuple[int, str]] = []
    for number, line in enumerate([*text.split("\n"), "---"], 1):
        line = line.rstrip("\r")
        if re.fullmatch(r"(---|\.\.\.)(\s.*)?", line):
            if any(one.strip() and not one.lstrip().startswith("#") for _, one in lines):
                documents.append(_Document(lines).read())
            rest = line[3:].strip()
            if rest and not rest.startswith("#"):
                raise FormatError(f"line {number} of the YAML has text after {line[:3]}")
            lines = []
        elif not line.startswith("%"):
            lines.append((number, line))
    return documents


class _Document:
    """A cursor over the lines of one document."""

    def __init__(self, lines: list[tuple[int, str]]) -> None:
        self.lines = lines
        self.at = 0
        self.number = 0
        """Of the line that was looked at last."""

    def read(self) -> Any:
        value = self.node(0, 0)
        if self.peek() is not None:
            self.refuse("text that belongs to nothing")
        return value

    def refuse(self, what: str) -> NoReturn:
        raise FormatError(
            f"line {self.number} of the YAML has {what}", expected="what kubectl prints", advice="print it with -o json instead"
        )

    def peek(self) -> tuple[int, str] | None:
        """Indentation and text of the next line with something in it."""
        while self.at < len(self.lines):
            number, line = self.lines[self.at]
            text = line.lstrip(" ")
            if text and not text.startswith("#") and text.strip():
                self.number = number
                if text.startswith("\t"):
                    self.refuse("a tab before the text")
                return len(line) - len(text), text.rstrip()
            self.at += 1
        return None

    def replace(self, line: str) -> None:
        self.lines[self.at] = (self.lines[self.at][0], line)

    def node(self, least: int, depth: int) -> Any:
        """What begins on the next line, if that is indented by ``least`` or more; else null."""
        found = self.peek()
        if found is None or found[0] < least:
            return None
        if depth > _DEEPEST:
            self.refuse(f"more than {_DEEPEST} levels")
        indent, text = found
        if text == "-" or text.startswith("- "):
            return self.sequence(indent, depth)
        if _key_end(text):
            return self.mapping(indent, depth)
        self.at += 1
        return self.scalar(text, least - 1)

    def sequence(self, indent: int, depth: int) -> list[Any]:
        items: list[Any] = []
        while (found := self.peek()) is not None and found[0] == indent:
            text = found[1]
            if text != "-" and not text.startswith("- "):
                break
            rest = text[1:].lstrip(" ")
            if not rest or rest.startswith("#"):
                self.at += 1
                items.append(self.node(indent + 1, depth + 1))
                continue
            if _BLOCK.fullmatch(rest):
                self.at += 1
                items.append(self.block(rest, indent))
                continue
            # A list item may begin a map whose other keys stand below its first.
            self.replace(" " * (indent + len(text) - len(rest)) + rest)
            items.append(self.node(indent + 1, depth + 1))
        return items

    def mapping(self, indent: int, depth: int) -> dict[str, Any]:
        values: dict[str, Any] = {}
        while (found := self.peek()) is not None and found[0] == indent:
            text = found[1]
            end = _key_end(text)
            if not end:
                break
            key = text[:end].rstrip()
            key = self.quoted(key) if key[0] in "\"'" else key
            if key in values:
                self.refuse(f"the key {key!r} twice")
            rest = text[end + 1 :].lstrip()
            self.at += 1
            if not rest or rest.startswith("#"):
                below = self.peek()
                is_list = below is not None and below[0] == indent and (below[1] == "-" or below[1].startswith("- "))
                values[key] = self.sequence(indent, depth + 1) if is_list else self.node(indent + 1, depth + 1)
            elif _BLOCK.fullmatch(rest):
                values[key] = self.block(rest, indent)
            else:
                values[key] = self.scalar(rest, indent)
        return values

    # -- scalars

    def scalar(self, text: str, indent: int) -> Any:
        """A scalar that begins with ``text`` and may go on in the lines that are indented by more than ``indent``."""
        if text[0] in "\"'":
            return self.quoted_over_lines(text)
        if text[0] in "&*!%@`|>":
            self.refuse(f"{text[:20]!r}")
        if text[0] in "{[":
            plain = _without_comment(text)
            if plain not in ("{}", "[]"):
                self.refuse("a flow collection")
            return {} if plain == "{}" else []
        parts = [_without_comment(text)]
        while (found := self.peek()) is not None and found[0] > indent:
            if _key_end(found[1]):
                self.refuse("a map inside of a scalar")
            parts.append(_without_comment(found[1]))
            self.at += 1
        whole = " ".join(parts)
        return None if whole in _NULL else whole

    def quoted_over_lines(self, text: str) -> str:
        lines, more = [text], 1
        while not _closed("\n".join(lines), text[0]):
            if self.at >= len(self.lines):
                self.refuse("a quotation that does not end")
            # Twice as many each time, so that looking for the end takes no longer than the text is long.
            taken = self.lines[self.at : self.at + more]
            lines += [line.strip() for _, line in taken]
            self.at += len(taken)
            more *= 2
        end = _closed("\n".join(lines), text[0])
        ends = "\n".join(lines)[:end].count("\n") + 1
        self.at -= len(lines) - ends
        return self.quoted(_folded(lines[:ends]))

    def quoted(self, text: str) -> str:
        quote = text[0]
        end = _closed(text, quote)
        rest = text[end:].strip()
        if not end or (rest and not rest.startswith("#")):
            self.refuse("text after a quotation")
        inner = text[1 : end - 1]
        if quote == "'":
            return inner.replace("''", "'")
        return _ESCAPE.sub(self.unescaped, inner)

    def unescaped(self, match: re.Match[str]) -> str:
        code = match[1]
        if len(code) > 1:
            number = int(code[1:], 16)
            return chr(number) if number < 0x110000 else self.refuse("an unknown escape")
        if code == "\n":
            return ""
        return _ESCAPED[code] if code in _ESCAPED else self.refuse("an unknown escape")

    def block(self, head: str, indent: int) -> str:
        match = _BLOCK.fullmatch(head)
        assert match is not None
        chomp, own = match[2] or match[4], match[3]
        lines: list[str] = []
        width = indent + int(own) if own else None
        while self.at < len(self.lines):
            line = self.lines[self.at][1]
            here = len(line) - len(line.lstrip(" "))
            if line.strip():
                if here <= indent or (width is not None and here < width):
                    break
                width = here if width is None else width
            lines.append(line[width or 0 :] if line.strip() else "")
            self.at += 1
        while lines and not lines[-1] and chomp != "+":
            lines.pop()
        text = "\n".join(lines) if match[1] == "|" else _folded(lines)
        return text if chomp == "-" or not lines else text + "\n"


def _key_end(text: str) -> int:
    """The position of the colon after the key that a line begins with, or 0."""
    start = 0
    if text[0] in "\"'":
        start = _closed(text, text[0])
        if not start:
            return 0
    elif text[0] in "[]{}&*!|>%@`#," or (text[0] in "?-" and text[1:2] in ("", " ")):
        return 0
    match = _COLON.search(text, start)
    if match is None or (start and text[start : match.start()].strip()):
        return 0
    comment = text.find(" #", start)
    return 0 if 0 <= comment < match.start() else match.start()


def _without_comment(text: str) -> str:
    return re.sub(r"\s#.*", "", text).rstrip()


def _closed(text: str, quote: str) -> int:
    """The position after the quotation mark that ends the text, or 0."""
    pattern = r"'(?:[^']|'')*'(?!')" if quote == "'" else r'"(?:[^"\\]|\\.)*"'
    match = re.match(pattern, text, re.DOTALL)
    return 0 if match is None else match.end()


def _folded(lines: list[str]) -> str:
    """Lines as one: an end of a line is a space, and an empty line an end of a line."""
    text = lines[0] if lines else ""
    empty = 0
    for line in lines[1:]:
        if not line:
            empty += 1
            continue
        if empty:
            text += "\n" * empty
        elif not text.endswith("\\"):
            text += " "
        else:
            text += "\n"  # an escaped end of a line, which leaves nothing
        text += line
        empty = 0
    return text


def parse_document(text: str) -> list[Any]:
    """The documents of a text that is JSON or YAML.

    :raises FormatError: for another text, or one that is nested too deeply.
    """
    if text.lstrip()[:1] in ("{", "["):
        try:
            return [json.loads(text)]
        except RecursionError:
            raise FormatError("the JSON is nested too deeply") from None
        except ValueError as error:
            raise FormatError(f"the file is not JSON: {error}") from None
    return parse_yaml(text)


__all__ = ["parse_document", "parse_yaml"]
