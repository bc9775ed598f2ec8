"""Values of no fixed structure, as class and JSON: most are written while they are read.

A value that :class:`Direct` cannot write (``forms.py`` says which), or whose bytes are wrong, is left to what reads it as a
value first. That also says what is wrong.
"""

from __future__ import annotations

from typing import Any, Final

from serializers.kryo.forms import NULL, not_direct
from serializers.kryo.json_texts import MAX_PARTS
from serializers.kryo.kryo_reader import Body, Form, Kryo, NotDirectError, Read, Scalar, Type, marked
from serializers.kryo.shapes import CLASS, JSON, class_and_json_of, is_plain
from serializers.kryo.wire import Input
from stateextract.columnar.convert.policy import ChangeCounts
from stateextract.columnar.interpreter import Decode
from stateextract.columnar.layout import Python
from stateextract.columnar.value_reader import ValueReader
from stateextract.errors import StateExtractError

_MOST_BYTES: Final = 1 << 20
"""Larger values are not written directly: so little memory is needed to find out that a text would be too large."""


class _Writing(Kryo):
    writes = True
    null = NULL

    def body_of(self, body: Body | Form) -> Body | Scalar:
        return not_direct if callable(body) else body.texts(self)


class Direct:
    """Writes values while it reads them; threads share it."""

    def __init__(self, kryo: Kryo) -> None:
        self.kryo = _Writing(
            kryo.flavour, kryo.registrations, kryo.classes.models, kryo.chill, kryo.protobuf, resolve=kryo.resolve
        )
        self.whole: dict[Type | int, tuple[str, Read]] = {}
        """What reads objects that are in no other ones, by their type, and by the byte that represents it."""
        self.spare: list[Input] = []
        self.pause = self.wait = 0

    def decoder(self, node: Python, otherwise: Decode) -> Decode:
        """What decodes values of a layout (``Python.faster``)."""
        assert node.inner is not None
        class_and_json, plain, has_plan = class_and_json_of(node.inner), is_plain(node.inner), node.plan is not None
        whole, spare = self.whole, self.spare

        def decode(r: ValueReader, counts: ChangeCounts) -> Any:
            if self.wait:
                # Values of a state are alike, so the next ones will not succeed either.
                self.wait -= 1
                return otherwise(r, counts)
            data, begin, end = r.data, r.pos, r.end
            try:
                s = spare.pop()
            except IndexError:
                s = Input(data, 0, 0)
            s.data, s.pos, s.end = data, begin, end if end - begin < _MOST_BYTES else begin + _MOST_BYTES
            try:
                known = whole.get(data[begin]) if begin < end else None
                if known is None:
                    known = self._whole(s)
                else:
                    s.pos = begin + 1
                name, read = known
                text = read(s)
            except (StateExtractError, NotDirectError, RecursionError):
                text = NULL
            if text == NULL or len(text) > MAX_PARTS:
                self.pause = min(2 * self.pause + 1, 63)
                self.wait = self.pause
                return otherwise(r, counts)
            self.pause = 0
            before, empty = counts.lone_surrogates, r.empty
            if plain and text.isascii() and name.isascii():
                value = {CLASS: name, JSON: text}
            else:
                value = class_and_json(name, text, counts)
            empty.room = room = empty.room + 24 + len(name) + len(text)
            if room > empty.most:
                empty.take(0, r.base + begin)
            r.pos = s.pos
            if has_plan and empty.leaves is not None:
                empty.leaves.append((node, begin, r.pos, value, counts.lone_surrogates - before))
            s.clear()
            spare.append(s)
            return value

        return decode

    def _whole(self, s: Input) -> tuple[str, Read]:
        """The class that comes next, and what reads an object of it that is in no other one."""
        pos = s.pos
        type_ = self.kryo.class_reference(s)
        if type_ is None or type_.form is None:
            raise NotDirectError
        if type_ in self.whole:
            return self.whole[type_]
        body = type_.form.texts(self.kryo, whole=True)
        if not isinstance(body, Scalar):
            read = marked(body, self.kryo) if type_.references else lambda s: body(self.kryo, s, -1, None)
        else:
            read = _marked_whole(body.read) if type_.references else body.read
        found = self.whole[type_] = type_.form.class_name, read
        if s.pos == pos + 1:
            self.whole[s.data[pos]] = found
        return found


def _marked_whole(scalar: Read) -> Read:
    """What reads a value without parts that no other one refers to."""

    def read(s: Input) -> Any:
        pos = s.pos
        if pos >= s.end or s.data[pos] != 1:
            raise NotDirectError
        s.pos = pos + 1
        return scalar(s)

    return read
