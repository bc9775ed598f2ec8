"""What the compiler emits for Kryo's values of no fixed structure: columns of their class and of their content as JSON.

Values of such places can hold each other in any order, so the code of each class is a routine, which is called. The texts
are those of ``serializers/kryo/json.py``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from stateextract.columnar.layout.kryo import (
    AnyOf,
    Choice,
    Elements,
    Fields,
    FlaggedElements,
    JsonAny,
    JsonRef,
    JsonScalar,
    Known,
    KryoPlan,
    MapEntries,
    Numbers,
)
from stateextract.columnar.program.operations import CLASS_MIX, ColumnNode, Label, Op

if TYPE_CHECKING:
    from stateextract.columnar.program import Compiler

_STRING: Final = 1
"""The number that every Kryo knows strings by."""
_NEVER: Final = 1 << 30


def emit_any(c: Compiler, place: JsonAny, node: ColumnNode | None) -> None:
    """A value for the columns ``class`` and ``json``."""
    key = ("outermost", id(node))
    choices = place.table.places[place.number]
    null = [] if node is None else node.same_level()
    emit_choices(c, choices, lambda: c.fill(null), lambda body: emit_outermost(c, body, node), key)


def emit_outermost(c: Compiler, body: KryoPlan | None, node: ColumnNode | None) -> None:
    """An object of a class, whose name goes into the column ``class``, behind its mark."""
    assert isinstance(body, JsonScalar | JsonRef)
    if node is not None:
        data = body.name.encode()
        c.op(Op.CONSTANT, node.children["class"].index, c.constant(data), len(data))
    c.op(Op.JSON, -1 if node is None else node.children["json"].index)
    if isinstance(body, JsonRef):
        c.op(Op.CALL, _body(c, body, nested=False))
    else:
        _scalar(c, body, nested=False)
    c.op(Op.END_JSON)


def _class(c: Compiler, null: Label, choices: Sequence[Choice], labels: Callable[[Choice], tuple[Label, Label]]) -> None:
    """The operation ``CLASS``.

    :param null: where null goes on; :param labels: where a new and an earlier object of a class go on.
    """
    if not choices:
        c.op(Op.NO_COMPARATOR)
        c.op(Op.JUMP, null)
        return
    numbers = [c.classes.setdefault(choice.name, len(c.classes)) for choice in choices]
    bits, table = class_table(list(zip(choices, numbers, strict=True)))
    c.op(Op.CLASS, null, len(choices), bits)
    for choice, number in zip(choices, numbers, strict=True):
        registered = -1 if choice.number is None else choice.number
        c.operand(number)
        c.operand(c.constant(choice.name))
        c.operand(len(choice.name) or _NEVER)
        for operand in (registered, choice.wire, *labels(choice)):
            c.operand(operand)
    for place in table:
        c.operand(place)


def class_table(choices: Sequence[tuple[Choice, int]]) -> tuple[int, list[int]]:
    """The bits of a place, and at each place of a hash table the index of a class plus one, or 0.

    A class is there under the number that it is registered with, under minus one minus its number in the program, and under its
    name: its last eight bytes, of which the first is the lowest, plus its length.
    """
    keys: list[tuple[int, int]] = []
    for index, (choice, number) in enumerate(choices):
        if choice.number is not None:
            keys.append((choice.number, index))
        if choice.name:
            last = int.from_bytes(choice.name[-8:], "little")
            keys += [(-1 - number, index), (last + len(choice.name), index)]
    bits = max(1, (2 * len(keys)).bit_length())
    table = [0] * (1 << bits)
    for key, index in keys:
        place = (key * CLASS_MIX & (1 << 64) - 1) >> (64 - bits)
        while table[place]:
            place = (place + 1) % len(table)
        table[place] = index + 1
    return bits, table


def emit_choices(
    c: Compiler,
    choices: Sequence[Choice],
    null: Callable[[], None],
    emit: Callable[[KryoPlan | None], None],
    key: tuple[Any, ...],
    returns: bool = False,
) -> None:
    """A class reference and a mark, and what follows for each class; classes that have a body in common share its code.

    :param null: what follows for null; :param emit: for a body.
    :param key: distinguishes routines for bodies of this place from those of others.
    :param returns: the place is all of a routine.
    """
    none, end = Label(), Label()

    def leave() -> None:
        c.op(Op.RETURN) if returns else c.op(Op.JUMP, end)

    def emit_null() -> None:
        null()
        leave()

    labels = {id(choice.body): (Label(), Label()) for choice in choices}
    _class(c, none, choices, lambda choice: labels[id(choice.body)])
    for body in {id(choice.body): choice.body for choice in choices}.values():
        new, earlier = labels[id(body)]
        c.here(new)
        emit(body)
        leave()
        emit_earlier(c, earlier, leave, lambda body=body: emit(body), (*key, id(body)))  # type: ignore[misc]
    c.aside(none, emit_null)
    c.here(end)


def emit_earlier(
    c: Compiler, earlier: Label, leave: Callable[[], None], emit: Callable[[], None], key: tuple[Any, ...]
) -> None:
    """Where a mark refers to an earlier object: its body, by a routine."""

    def routine() -> None:
        emit()
        c.op(Op.RETURN)

    def emit_call() -> None:
        c.op(Op.CALL, c.routine(("earlier", *key), routine))
        c.op(Op.LATER)
        leave()

    c.aside(earlier, emit_call)


def _piece(c: Compiler, text: str) -> None:
    data = text.encode()
    c.op(Op.PIECE, c.constant(data), len(data))


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


# ---- values


def _any(c: Compiler, place: JsonAny) -> Label:
    """The routine of a place for any class."""

    def emit() -> None:
        choices = place.table.places[place.number]
        emit_choices(c, choices, lambda: _piece(c, "null"), lambda body: _nested(c, body), ("nested",), returns=True)

    return c.routine((place, "any"), emit)


def _body(c: Compiler, ref: JsonRef, nested: bool) -> Label:
    """The routine of a class; ``nested``: with its class' name, where it is an object."""

    body = ref.table.bodies[ref.number]
    name = ref.name if nested and isinstance(body, Fields) else None

    def emit() -> None:
        if body is None:
            c.op(Op.SLOW)
        else:
            _content(c, body, name)
        c.op(Op.RETURN)

    # Most collections are written alike.
    return c.routine((body, name), emit)


def _nested(c: Compiler, body: KryoPlan | None) -> None:
    """A value inside of another one."""
    match body:
        case None:
            c.op(Op.SLOW)
        case JsonRef():
            c.op(Op.CALL, _body(c, body, nested=True))
        case JsonScalar():
            _scalar(c, body, nested=True)
        case _:
            raise TypeError(f"no JSON of {type(body).__name__}")


def _scalar(c: Compiler, scalar: JsonScalar, nested: bool) -> None:
    quote = '"' if scalar.quoted else ""
    before, after = quote, quote
    if nested and scalar.wrapped:
        before, after = f'{{"$class":{_quoted(scalar.name)},"$value":{quote}', f"{quote}}}"
    if before:
        _piece(c, before)
    if scalar.kind == "enum":
        c.op(Op.JSON_ONE_OF, len(scalar.names))
        for name in scalar.names:
            data = _quoted(name).encode()
            c.operand(c.constant(data))
            c.operand(len(data))
    elif scalar.kind == "string":
        c.op(Op.JSON_STRING, 0, -1, -1)
    elif scalar.kind == "boolean":
        c.op(Op.JSON_BOOLEAN)
    else:
        c.op(_OPERATIONS[scalar.kind], scalar.form)
    if after:
        _piece(c, after)


_OPERATIONS: Final = {
    "number": Op.JSON_NUMBER, "real": Op.JSON_REAL, "char": Op.JSON_CHAR, "uuid": Op.JSON_UUID, "time": Op.JSON_TIME,
    "big": Op.JSON_BIG,
}  # fmt: skip


def _place(c: Compiler, place: KryoPlan) -> None:
    match place:
        case JsonAny():
            c.op(Op.CALL, _any(c, place))
        case JsonScalar():
            _scalar(c, place, nested=True)
        case Known():
            emit_known(c, place, lambda: _nested(c, place.choice.body), lambda: _piece(c, "null"), ("nested",))
        case AnyOf(choices=()):
            null = Label()
            _class(c, null, (), lambda choice: (null, null))
            c.here(null)
            _piece(c, "null")
        case _:
            raise TypeError(f"no JSON of {type(place).__name__}")


def emit_known(
    c: Compiler, place: Known, emit: Callable[[], None], null: Callable[[], None], key: tuple[Any, ...]
) -> None:
    """An object whose class is known, or null; parameters as for :func:`emit_choices`."""
    choice = place.choice
    if not (choice.has_marks or place.nullable):
        emit()
        return
    none, earlier, end = Label(), Label(), Label()

    def leave() -> None:
        c.op(Op.JUMP, end)

    def emit_null() -> None:
        null()
        leave()

    c.op(Op.REFERENCE, choice.wire, none, earlier)
    emit()
    c.aside(none, emit_null)
    if choice.has_marks:
        emit_earlier(c, earlier, leave, emit, (*key, id(choice.body)))
    else:
        c.here(earlier)
    c.here(end)


# ---- what has parts


def _content(c: Compiler, body: KryoPlan, name: str | None) -> None:
    """:param name: of the class, where it is written."""
    match body:
        case Fields():
            _fields(c, body, name)
        case Numbers():
            _list(c, ("null", body.width), None, lambda: _place(c, body.number))
        case Elements():
            _list(c, (body.count, 1), "before" if body.comparator else None, lambda: _place(c, body.element))
        case FlaggedElements():
            _flagged(c, body)
        case MapEntries():
            _map(c, body)
        case _:
            raise TypeError(f"no JSON of {type(body).__name__}")


def _fields(c: Compiler, body: Fields, name: str | None) -> None:
    text = "{" if name is None else f'{{"$class":{_quoted(name)}'
    for i, (key, part) in enumerate(body.parts):
        _piece(c, f"{text}{',' if i or name is not None else ''}{_quoted(key)}:")
        _place(c, part)
        text = ""
    _piece(c, text + "}")


def counted(how: str | int, width: int) -> tuple[int, int]:
    """The first operands of ``ELEMENTS``: how elements of at least ``width`` bytes are counted."""
    return (3, how) if isinstance(how, int) else ({"plain": 0, "null": 1, "flagged": 2}[how], width)


class _Loop:
    """Opens elements, and ends with the texts of lists without them.

    :param brackets: of a list without elements.
    """

    def __init__(self, c: Compiler, brackets: str) -> None:
        self.c = c
        self.brackets = brackets
        self.null, self.empty, self.end = Label(), Label(), Label()

    def count(self, how: str | int, width: int, comparator: str | None, flagged: Label | None = None) -> None:
        """:param flagged: where the elements go on whose number has a flag."""
        c = self.c
        if comparator == "before":
            c.op(Op.NO_COMPARATOR)
        form = counted(how, width)
        c.op(Op.ELEMENTS, *form, int(comparator == "after"), self.null, flagged or self.null, -1, 0, self.empty)

    def elements(self, before: str, element: Callable[[], None], after: str) -> None:
        c = self.c
        _piece(c, before)
        c.op(Op.BODY)
        element()
        c.op(Op.JSON_NEXT)
        _piece(c, after)
        c.op(Op.JUMP, self.end)

    def close(self) -> None:
        self._text(self.empty, self.brackets)
        self._text(self.null, "null")
        self.c.here(self.end)

    def _text(self, label: Label, text: str) -> None:
        def emit() -> None:
            _piece(self.c, text)
            self.c.op(Op.JUMP, self.end)

        self.c.aside(label, emit)


def _list(c: Compiler, counted: tuple[str | int, int], comparator: str | None, element: Callable[[], None]) -> None:
    loop = _Loop(c, "[]")
    loop.count(*counted, comparator)
    loop.elements("[", element, "]")
    loop.close()


def _flagged(c: Compiler, body: FlaggedElements) -> None:
    loop, flagged = _Loop(c, "[]"), Label()
    loop.count("flagged", 1, "after" if body.comparator else None, flagged)
    if body.exact is not None:
        exact = body.exact
        loop.elements("[", lambda: _place(c, Known(exact, nullable=False)), "]")
        c.here(flagged)
        if body.nulls:
            loop.elements("[", lambda: _place(c, Known(exact)), "]")
        else:
            c.op(Op.SLOW)
    else:
        loop.elements("[", lambda: _place(c, body.element), "]")
        c.here(flagged)
        slow = Label()
        choices = body.element.table.places[body.element.number] if isinstance(body.element, JsonAny) else ()
        emit_same(c, choices, body.nulls, slow, loop.end, lambda place: loop.elements("[", lambda: _place(c, place), "]"))
        c.here(slow)
        c.op(Op.SLOW)
    loop.close()


def emit_same(
    c: Compiler, choices: Sequence[Choice], nulls: bool, slow: Label, end: Label, elements: Callable[[Known], None]
) -> None:
    """Elements that have one class, which comes before them, and after it whether there are nulls."""
    shared = {(id(e.body), e.wire): Known(e, nullable=False) for e in choices}
    unmarked = [Choice(e.name, e.number, -1, shared[id(e.body), e.wire]) for e in choices]

    def emit(body: KryoPlan | None) -> None:
        assert isinstance(body, Known)
        if nulls:
            some = Label()
            c.op(Op.NULLABLE, 0, 0, some)
            if not body.choice.has_marks:
                c.op(Op.SLOW)  # objects with marks have nulls anyway
            c.here(some)
        elements(body)

    labels = {id(choice.body): Label() for choice in unmarked}
    _class(c, slow, unmarked, lambda choice: (labels[id(choice.body)], slow))
    for body in {id(choice.body): choice.body for choice in unmarked}.values():
        c.here(labels[id(body)])
        emit(body)
        c.op(Op.JUMP, end)


def _map(c: Compiler, body: MapEntries) -> None:
    loop, others = _Loop(c, "{}"), Label()
    loop.count(body.count, 1, body.comparator)
    reference = _string_reference(body.key)
    if reference is not None:
        c.op(Op.JSON_KEY, *reference, others)

        def member() -> None:
            c.op(Op.JSON_STRING, 1, *reference)
            _place(c, body.value)

        loop.elements("{", member, "}")
        c.here(others)

    def pair() -> None:
        _piece(c, '{"key":')
        _place(c, body.key)
        _piece(c, ',"value":')
        _place(c, body.value)
        _piece(c, "}")

    loop.elements("[", pair, "]")
    loop.close()


def _string_reference(key: KryoPlan) -> tuple[int, int] | None:
    """The class in front of a string that is a key, -1 if none is there, and what its bytes are; ``None`` where no key is a
    string."""
    if isinstance(key, Known):
        return (-1, key.choice.wire) if _is_string(key.choice) else None
    choices = key.table.places[key.number] if isinstance(key, JsonAny) else ()
    return next(((_STRING + 2, choice.wire) for choice in choices if _is_string(choice)), None)


def _is_string(choice: Choice) -> bool:
    return isinstance(choice.body, JsonScalar) and choice.body.name == "java.lang.String"


__all__ = ["counted", "emit_any", "emit_choices", "emit_known", "emit_outermost", "emit_same"]
