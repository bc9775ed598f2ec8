"""Forms: bodies of which two readers follow, one that makes values and one that writes JSON while it reads.

A form says once what the bytes are. ``values`` closes over what a class needs and gives a reader of :class:`Obj`, ``texts``
one of JSON as ``json_texts.py`` would write it. A text is that of an object inside of others, so it has its class where that
is not known. Null is :data:`NULL`. ``direct.py`` reads whole values this way.

A text does not say where it will be, so an object that contains itself has none. For it, and for a body that is not a form,
the value has to be read as a value first (:class:`NotDirectError`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NoReturn

from serializers.kryo import jackson
from serializers.kryo.json_texts import MAX_PARTS, PLAIN, SCALARS, WITHOUT_CLASS, quoted, string_text
from serializers.kryo.kryo_reader import Body, Form, Generics, Kryo, NotDirectError, Read, Scalar
from serializers.kryo.kryo_values import CLASSES, Obj
from serializers.kryo.wire import Input, zigzag_int, zigzag_long

Fill = Callable[[Kryo, Input, Generics, list[Any]], bool]
"""Reads the elements, or the pairs of a map, into a list; false for null."""

Plan = Callable[[Kryo, Generics, Any], tuple[Any, list[tuple[str, Callable[[Input], Any]]]]]
"""The scope inside of an object, and its fields with their readers, by type arguments and the scope around it."""

_MOST_CHARACTERS: Final = 4 * MAX_PARTS
"""Of all texts with parts, so those inside of others count again."""
_FEW: Final = 16
_LONGEST_NAME: Final = 256
NULL: Final = "null"
_SMALL: Final = tuple(str((n >> 1) ^ -(n & 1)) for n in range(128))
"""The JSON of numbers in zigzag of one byte."""


class Plain(Form):
    """A number, a string or a boolean.

    :param read: gives a reader.
    :param made: what makes the type of what was read, if it is not that.
    """

    def __init__(
        self, type_: type, read: Callable[[Kryo], Callable[[Input], Any]], made: Callable[[Any], Any] | None = None
    ) -> None:
        self.class_name = CLASSES[type_]
        self.type = type_
        self.read = read
        self.made = made

    def values(self, k: Kryo) -> Scalar:
        read, made = self.read(k), self.made
        if made is None:
            return Scalar(lambda s, generics=None: read(s))
        return Scalar(lambda s, generics=None: made(read(s)))

    def texts(self, k: Kryo, whole: bool = False) -> Scalar:
        read = self.read(k)
        if self.type is str:

            def text(s: Input, generics: Generics = None) -> str:
                value = read(s)
                if value is None:
                    return NULL
                return quoted(value) if value.isascii() else string_text(value)

            return Scalar(text)
        return Scalar(text_reader(read, self.type))


def text_reader(read: Callable[[Input], Any], type_: type) -> Read:
    """What reads the JSON of what a function reads; ``type_`` is one of :data:`PLAIN`."""
    write = PLAIN[type_]
    if read is not zigzag_int and read is not zigzag_long:
        return lambda s, generics=None: write(read(s))

    def number(s: Input, generics: Generics = None) -> str:
        pos = s.pos
        if pos < s.end and (byte := s.data[pos]) < 0x80:
            s.pos = pos + 1
            return _SMALL[byte]
        return write(read(s))

    return number


class Single(Form):
    """A value without parts that is an :class:`Obj`.

    :param read: gives a reader; :param made: makes the content of what was read, if it is not that.
    :param nullable: ``None`` is null and not the content.
    :param is_plain: the content is a text that is in JSON as it is.
    """

    def __init__(
        self,
        class_name: str,
        kind: str,
        read: Callable[[Kryo], Callable[[Input], Any]],
        made: Callable[[Any], Any] | None = None,
        nullable: bool = True,
        is_plain: bool = False,
    ) -> None:
        self.class_name = class_name
        self.kind = kind
        self.read = read
        self.made = made
        self.nullable = nullable
        self.write: Callable[[Any], str] = (lambda text: f'"{text}"') if is_plain else SCALARS[kind]

    def _reader(self, k: Kryo) -> Callable[[Input], Any]:
        read, made = self.read(k), self.made
        return read if made is None else lambda s: made(read(s))

    def values(self, k: Kryo) -> Scalar:
        read, class_name, kind, nullable = self._reader(k), self.class_name, self.kind, self.nullable

        def value(s: Input, generics: Generics = None) -> Obj | None:
            found = read(s)
            return None if found is None and nullable else Obj(class_name, kind, found)

        return Scalar(value)

    def texts(self, k: Kryo, whole: bool = False) -> Scalar | Body:
        if len(self.class_name) > _LONGEST_NAME:
            return not_direct
        read, nullable, write = self._reader(k), self.nullable, self.write
        before, after = ("", "") if whole or self.kind in WITHOUT_CLASS else (_valued(self.class_name), "}")

        def text(s: Input, generics: Generics = None) -> str:
            found = read(s)
            return NULL if found is None and nullable else before + write(found) + after

        return Scalar(text)


class Items(Form):
    """A list or set; :param early: elements can refer to it."""

    def __init__(self, class_name: str, kind: str, fill: Fill, early: bool = True) -> None:
        self.class_name = class_name
        self.kind = kind
        self.fill = fill
        self.early = early

    def values(self, k: Kryo) -> Body:
        class_name, kind, fill, early = self.class_name, self.kind, self.fill, self.early

        def body(k: Kryo, s: Input, slot: int, generics: Generics) -> Obj | None:
            items: list[Any] = []
            obj = Obj(class_name, kind, items)
            if early and slot >= 0:
                s.refs[slot] = obj
            return obj if fill(k, s, generics, items) else None

        return body

    def texts(self, k: Kryo, whole: bool = False) -> Body:
        fill = self.fill

        def body(k: Kryo, s: Input, slot: int, generics: Generics) -> str:
            items: list[str] = []
            return _joined(s, "[", ",", items, "]") if fill(k, s, generics, items) else NULL

        return body


class Entries(Form):
    """A map; :param early: keys and values can refer to it."""

    def __init__(self, class_name: str, fill: Fill, early: bool = True) -> None:
        self.class_name = class_name
        self.fill = fill
        self.early = early

    def values(self, k: Kryo) -> Body:
        class_name, fill, early = self.class_name, self.fill, self.early

        def body(k: Kryo, s: Input, slot: int, generics: Generics) -> Obj | None:
            pairs: list[Any] = []
            obj = Obj(class_name, "map", pairs)
            if early and slot >= 0:
                s.refs[slot] = obj
            return obj if fill(k, s, generics, pairs) else None

        return body

    def texts(self, k: Kryo, whole: bool = False) -> Body:
        fill = self.fill

        def body(k: Kryo, s: Input, slot: int, generics: Generics) -> str:
            pairs: list[tuple[str, str]] = []
            if not fill(k, s, generics, pairs):
                return NULL
            for key, _ in pairs:
                # The text of a string, which does not begin with $.
                if type(key) is not str or key[0] != '"' or key[1] == "$":
                    entries = [f'{{"key":{key},"value":{value}}}' for key, value in pairs]
                    return _joined(s, "[", ",", entries, "]")
            return _joined(s, "{", ",", [f"{key}:{value}" for key, value in pairs], "}")

        return body


class Parts(Form):
    """An object with fields; :param early: they can refer to it."""

    def __init__(self, class_name: str, plan: Plan, early: bool = True) -> None:
        self.class_name = class_name
        self.plan = plan
        self.early = early

    def values(self, k: Kryo) -> Body:
        class_name, early, planned = self.class_name, self.early, _planned(k, self.plan)

        def body(k: Kryo, s: Input, slot: int, generics: Generics) -> Obj:
            values: dict[str, Any] = {}
            obj = Obj(class_name, "fields", values)
            if early and slot >= 0:
                s.refs[slot] = obj
            before = s.scope
            s.scope, plan = planned(generics, before)
            for name, read in plan:
                values[name] = read(s)
            s.scope = before
            return obj

        return body

    def texts(self, k: Kryo, whole: bool = False) -> Body:
        if len(self.class_name) > _LONGEST_NAME or jackson.is_class(self.class_name):
            return not_direct
        start, first = ("{", "{") if whole else (_class(self.class_name), f"{_class(self.class_name)},")
        planned = _planned(k, self.plan, lambda i, name: f"{',' if i else first}{string_text(name)}:")

        def body(k: Kryo, s: Input, slot: int, generics: Generics) -> str:
            parts: list[str] = []
            before = s.scope
            s.scope, plan = planned(generics, before)
            for name, read in plan:
                parts.append(name)
                parts.append(read(s))
            s.scope = before
            return _joined(s, "" if parts else start, "", parts, "}")

        return body


def _planned(k: Kryo, plan: Plan, label: Callable[[int, str], str] = lambda i, name: name) -> Callable[[Generics, Any], Any]:
    """The same plan, each once; :param label: what is to become of the fields' numbers and names."""
    known: dict[Any, Any] = {}

    def planned(generics: Generics, scope: Any) -> Any:
        key = (generics, scope)
        found = known.get(key)
        if found is None:
            inside, fields = plan(k, generics, scope)
            if k.writes and len({name for name, _ in fields}) < len(fields):
                raise NotDirectError
            found = known[key] = inside, [(label(i, name), read) for i, (name, read) in enumerate(fields)]
        return found

    return planned


class Holder(Form):
    """What holds one value; :param read: gives it."""

    def __init__(self, class_name: str, read: Callable[[Kryo, Input, Generics], Any]) -> None:
        self.class_name = class_name
        self.read = read

    def values(self, k: Kryo) -> Body:
        class_name, read = self.class_name, self.read

        def body(k: Kryo, s: Input, slot: int, generics: Generics) -> Obj:
            obj = Obj(class_name, "wrapped", None)
            s.refs[slot] = obj
            obj.value = read(k, s, generics)
            return obj

        return body

    def texts(self, k: Kryo, whole: bool = False) -> Body:
        read, (before, after) = self.read, ("", "") if whole else (_valued(self.class_name), "}")

        def body(k: Kryo, s: Input, slot: int, generics: Generics) -> str:
            return _joined(s, before, "", [read(k, s, generics)], after)

        return body


def _class(name: str) -> str:
    return f'{{"$class":{string_text(name)}'


def _valued(name: str) -> str:
    """What comes before a value with its class; a bracket closes it."""
    return f'{_class(name)},"$value":'


def _joined(s: Input, before: str, between: str, parts: list[str], after: str) -> str:
    """A text of several, whose characters are counted: an object that others refer to may be in it many times."""
    if len(parts) > _FEW and sum(map(len, parts)) > _MOST_CHARACTERS:
        raise NotDirectError
    text = before + between.join(parts) + after
    s.written = written = s.written + len(text)
    if written > _MOST_CHARACTERS:
        raise NotDirectError
    return text


def not_direct(k: Kryo, s: Input, slot: int, generics: Generics) -> NoReturn:
    raise NotDirectError
