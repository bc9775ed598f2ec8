"""SQL's types as a compiled plan writes them: text such as ``ROW<`a` INT NOT NULL>``, or JSON where text is not enough.

Flink's classes: ``LogicalType.asSerializableString``, ``LogicalTypeParser``, ``LogicalTypeJsonSerializer``. What is not
understood becomes a type without root, with which any column agrees: a plan only gives names. Pure functions of text.
"""

from __future__ import annotations

import re
from typing import Any

from serializers.sql_type import LogicalType

_TOKEN = re.compile(r"\s*(?:`((?:[^`]|``)*)`|'((?:[^']|'')*)'|(\d+)|([A-Za-z_][\w]*)|(\S))")
_MAX_DEPTH = 60

_ROOTS = {
    "CHAR": "CHAR", "VARCHAR": "VARCHAR", "STRING": "VARCHAR", "BOOLEAN": "BOOLEAN", "BINARY": "BINARY",
    "VARBINARY": "VARBINARY", "BYTES": "VARBINARY", "DECIMAL": "DECIMAL", "TINYINT": "TINYINT", "SMALLINT": "SMALLINT",
    "INT": "INTEGER", "INTEGER": "INTEGER", "BIGINT": "BIGINT", "FLOAT": "FLOAT", "DOUBLE": "DOUBLE", "DATE": "DATE",
    "TIME": "TIME_WITHOUT_TIME_ZONE", "TIMESTAMP": "TIMESTAMP_WITHOUT_TIME_ZONE",
    "TIMESTAMP_LTZ": "TIMESTAMP_WITH_LOCAL_TIME_ZONE", "ARRAY": "ARRAY", "MULTISET": "MULTISET", "MAP": "MAP",
    "ROW": "ROW", "RAW": "RAW", "NULL": "NULL", "VARIANT": "VARIANT", "BITMAP": "BITMAP",
}  # fmt: skip
_JSON_ROOTS = {*_ROOTS.values(), "TIMESTAMP_WITH_TIME_ZONE", "STRUCTURED_TYPE", "DISTINCT_TYPE", "INTERVAL_YEAR_MONTH",
               "INTERVAL_DAY_TIME"}  # fmt: skip
_DEFAULT_PRECISION = {"DECIMAL": 10, "TIMESTAMP_WITHOUT_TIME_ZONE": 6, "TIMESTAMP_WITH_LOCAL_TIME_ZONE": 6}


def plan_type(value: Any, depth: int = 0) -> LogicalType:
    """A type out of a plan: a string, or an object with ``type``."""
    if isinstance(value, str):
        return _TypeParser(value).whole()
    if not isinstance(value, dict) or depth > _MAX_DEPTH:
        return _unknown(str(value))
    root = value.get("type")
    if not isinstance(root, str):
        return _unknown(str(value))
    if root not in _JSON_ROOTS:
        # Some objects hold the text of the type and what the text does not contain.
        return _TypeParser(root).whole()
    children: list[LogicalType] = []
    names: list[str] = []
    for part in ("elementType", "sourceType", "keyType", "valueType"):
        if part in value:
            children.append(plan_type(value[part], depth + 1))
    for part in value.get("fields") or value.get("attributes") or ():
        if not isinstance(part, dict):
            return _unknown(str(value))
        names.append(str(part.get("name")))
        children.append(plan_type(part.get("fieldType", part.get("attributeType")), depth + 1))
    precision = value.get("precision", _DEFAULT_PRECISION.get(root, 0))
    scale = value.get("scale", 0)
    if not isinstance(precision, int) or not isinstance(scale, int):
        return _unknown(str(value))
    return LogicalType(root, "", True, precision, scale, tuple(children), tuple(names))


def _unknown(text: str) -> LogicalType:
    return LogicalType("", text)


class _Unclear(Exception):
    """The text is not a type that is understood."""


class _TypeParser:
    """Recursive descent over the tokens of one text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[tuple[str, str]] = []
        for quoted, string, number, word, sign in _TOKEN.findall(text):
            if quoted or (not string and not number and not word and not sign):
                self.tokens.append(("name", quoted.replace("``", "`")))
            elif number:
                self.tokens.append(("number", number))
            elif word:
                self.tokens.append(("word", word.upper()))
            elif sign:
                self.tokens.append(("sign", sign))
            else:
                self.tokens.append(("string", string))
        self.at = 0

    def whole(self) -> LogicalType:
        try:
            found = self.type(0)
        except _Unclear:
            return _unknown(self.text)
        return found if self.at == len(self.tokens) else _unknown(self.text)

    def peek(self) -> tuple[str, str]:
        return self.tokens[self.at] if self.at < len(self.tokens) else ("end", "")

    def take(self) -> tuple[str, str]:
        token = self.peek()
        self.at += 1
        return token

    def accept(self, *words: str) -> bool:
        upto = self.at + len(words)
        if [text for _, text in self.tokens[self.at : upto]] != list(words):
            return False
        self.at = upto
        return True

    def expect(self, word: str) -> None:
        if not self.accept(word):
            raise _Unclear

    def type(self, depth: int) -> LogicalType:
        kind, word = self.take()
        if depth > _MAX_DEPTH or kind != "word":
            raise _Unclear
        found = self.interval() if word == "INTERVAL" else self.named(word, depth)
        if self.accept("NOT", "NULL"):
            return found
        self.accept("NULL")
        return found

    def named(self, word: str, depth: int) -> LogicalType:
        root = _ROOTS.get(word)
        if root is None:
            raise _Unclear
        if root == "RAW":
            self.expect("(")
            while not self.accept(")"):
                if self.take()[0] == "end":
                    raise _Unclear
            return LogicalType("RAW", "")
        if root == "ROW":
            return self.row(depth)
        if root in ("ARRAY", "MULTISET", "MAP"):
            self.expect("<")
            children = [self.type(depth + 1)]
            if root == "MAP":
                self.expect(",")
                children.append(self.type(depth + 1))
            self.expect(">")
            return LogicalType(root, "", children=tuple(children))
        precision, scale = self.digits(_DEFAULT_PRECISION.get(root, 0))
        if word in ("TIME", "TIMESTAMP"):
            if self.accept("WITH", "LOCAL", "TIME", "ZONE"):
                root = "TIMESTAMP_WITH_LOCAL_TIME_ZONE"
            elif self.accept("WITH", "TIME", "ZONE"):
                raise _Unclear
            else:
                self.accept("WITHOUT", "TIME", "ZONE")
        return LogicalType(root, "", True, precision, scale)

    def digits(self, default: int) -> tuple[int, int]:
        if not self.accept("("):
            return default, 0
        numbers = [self.number()]
        if self.accept(","):
            numbers.append(self.number())
        self.expect(")")
        return numbers[0], numbers[1] if len(numbers) > 1 else 0

    def number(self) -> int:
        kind, text = self.take()
        if kind != "number":
            raise _Unclear
        return int(text)

    def row(self, depth: int) -> LogicalType:
        self.expect("<")
        names: list[str] = []
        children: list[LogicalType] = []
        while not self.accept(">"):
            if names:
                self.expect(",")
            kind, name = self.take()
            if kind != "name":
                raise _Unclear
            names.append(name)
            children.append(self.type(depth + 1))
            if self.peek()[0] == "string":
                self.take()
        return LogicalType("ROW", "", children=tuple(children), names=tuple(names))

    def interval(self) -> LogicalType:
        units = []
        while self.peek()[1] in ("YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND", "TO"):
            units.append(self.take()[1])
            self.digits(0)
        if not units:
            raise _Unclear
        months = units[0] in ("YEAR", "MONTH")
        return LogicalType("INTERVAL_YEAR_MONTH" if months else "INTERVAL_DAY_TIME", "")
