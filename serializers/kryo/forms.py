"""Forms: bodies of which two readers follow, one that makes values and one that writes JSON while it reads.

A form says once what the bytes are. ``values`` closes over what a class needs and gives a reader of :class:`Obj`, ``texts``
one of JSON as ``json.py`` would write it. A text is that of an object inside of others, so it has its class where that
is not known; null is ``None``. :class:`Direct` reads whole values this way.

A text does not say where it will be, so an object that contains itself has none. It, and a body that is not a form, makes
``Direct`` give up: the value is then read as a value first. The same holds for whatever is wrong with the bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NoReturn

from serializers.kryo import jackson
from serializers.kryo.json import MAX_PARTS, PLAIN, SCALARS, WITHOUT_CLASS, quoted, string_text
from serializers.kryo.reader import Body, Form, Generics, Kryo, NotDirectError, Read, Scalar, Type, marked
from serializers.kryo.values import CLASSES, Obj
from serializers.kryo.wire import Input
from stateextract.errors import StateExtractError

Fill = Callable[[Kryo, Input, Generics, list[Any]], bool]
"""Reads the elements, or the pairs of a map, into a list; false for null."""

Plan = Callable[[Kryo, Generics, Any], tuple[Any, list[tuple[str, Callable[[Input], Any]]]]]
"""The scope inside of an object, and its fields with their readers, by type arguments and the scope around it."""

_MOST_BYTES: Final = 1 << 20
"""Larger values are not written directly: so little memory is needed to find out that a text would be too large."""
_MOST_CHARACTERS: Final = 4 * MAX_PARTS
"""Of all texts with parts, so those inside of others count again."""
_FEW: Final = 16
_LONGEST_NAME: Final = 256
_NOTHING: Final = memoryview(b"")


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
        read, write = self.read(k), PLAIN[self.type]
        if self.type is str:

            def text(s: Input, generics: Generics = None) -> str | None:
                value = read(s)
                if value is None:
                    return None
                return quoted(value) if value.isascii() else string_text(value)

            return Scalar(text)
        return Scalar(lambda s, generics=None: write(read(s)))


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
            return _not_direct
        read, nullable, write = self._reader(k), self.nullable, self.write
        before, after = ("", "") if whole or self.kind in WITHOUT_CLASS else (_valued(self.class_name), "}")

        def text(s: Input, generics: Generics = None) -> str | None:
            found = read(s)
            return None if found is None and nullable else before + write(found) + after

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

        def body(k: Kryo, s: Input, slot: int, generics: Generics) -> str | None:
            items: list[Any] = []
            if not fill(k, s, generics, items):
                return None
            return _joined(s, "[", ",", [item or "null" for item in items] if None in items else items, "]")

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

        def body(k: Kryo, s: Input, slot: int, generics: Generics) -> str | None:
            pairs: list[Any] = []
            if not fill(k, s, generics, pairs):
                return None
            for key, _ in pairs:
                # The text of a string, which does not begin with $.
                if type(key) is not str or key[0] != '"' or key[1] == "$":
                    entries = [f'{{"key":{key or "null"},"value":{value or "null"}}}' for key, value in pairs]
                    return _joined(s, "[", ",", entries, "]")
            return _joined(s, "{", ",", [f"{key}:{value or 'null'}" for key, value in pairs], "}")

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
            return _not_direct
        start, first = ("{", "{") if whole else (_class(self.class_name), f"{_class(self.class_name)},")
        planned = _planned(k, self.plan, lambda i, name: f"{',' if i else first}{string_text(name)}:")

        def body(k: Kryo, s: Input, slot: int, generics: Generics) -> str:
            parts: list[str] = []
            before = s.scope
            s.scope, plan = planned(generics, before)
            for name, read in plan:
                parts.append(name)
                parts.append(read(s) or "null")
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
            return _joined(s, before, "", [read(k, s, generics) or "null"], after)

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
    text = f"{before}{between.join(parts)}{after}"
    s.written = written = s.written + len(text)
    if written > _MOST_CHARACTERS:
        raise NotDirectError
    return text


def _not_direct(k: Kryo, s: Input, slot: int, generics: Generics) -> NoReturn:
    raise NotDirectError


# ---- whole values


class _Writing(Kryo):
    writes = True

    def body_of(self, body: Body | Form) -> Body | Scalar:
        return _not_direct if callable(body) else body.texts(self)


class Direct:
    """Reads values as class and JSON."""

    def __init__(self, kryo: Kryo) -> None:
        self.kryo = _Writing(
            kryo.flavour, kryo.registrations, kryo.classes.models, kryo.chill, kryo.protobuf, resolve=kryo.resolve
        )
        self.whole: dict[Type | int, tuple[str, Read]] = {}
        """What reads objects that are in no other ones, by their type, and by the byte that represents it."""
        self.spare: list[Input] = []
        self.pause = self.wait = 0

    def read(self, data: memoryview, pos: int, end: int) -> tuple[str, str, int] | None:
        """The class, its JSON and the position after a value; ``None``: read it as a value."""
        if self.wait:
            # Values of a state are alike, so the next ones will not succeed either.
            self.wait -= 1
            return None
        s = self.spare.pop() if self.spare else Input(_NOTHING, 0, 0)
        s.data, s.pos, s.end = data, pos, end if end - pos < _MOST_BYTES else pos + _MOST_BYTES
        try:
            known = self.whole.get(data[pos]) if pos < end else None
            if known is None:
                known = self._whole(s)
            else:
                s.pos = pos + 1
            name, read = known
            text = read(s)
        except (StateExtractError, NotDirectError, RecursionError):
            text = None
        if text is None or len(text) > MAX_PARTS:
            self.pause = min(2 * self.pause + 1, 63)
            self.wait = self.pause
            return None
        behind = s.pos
        self.pause = s.written = s.free = 0
        if s.refs:
            s.refs.clear()
        if s.names:
            s.names.clear()
        s.data = _NOTHING
        self.spare.append(s)
        return name, text, behind

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
