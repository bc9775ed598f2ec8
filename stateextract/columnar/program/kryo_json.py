"""What the compiler emits for Kryo's values of no fixed structure: columns of their class and of their content as JSON.

Values of such places can hold each other in any order, so the code of each class is a routine, which is called. The texts
are those of ``serializers/kryo/json_texts.py``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from stateextract.columnar.layout.kryo_plan import (
    Absent,
    AnyOf,
    Between,
    ByClass,
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
    ObjectOrNull,
    Optional,
    PairEntries,
    Required,
    StringOr,
    Texts,
    Wrapped,
)
from stateextract.columnar.program.kryo_places import (
    Counted,
    counted,
    emit_by_class,
    emit_choices,
    emit_class,
    emit_known,
    emit_passed,
)
from stateextract.columnar.program.operations import ColumnNode, Label, Op

if TYPE_CHECKING:
    from stateextract.columnar.program import Compiler

_LABELLED: Final = Fields | Wrapped | Between | JsonScalar
"""What has its class where it is inside of another value."""
_STRING: Final = 1
"""The number that every Kryo knows strings by."""


def emit_any(c: Compiler, place: JsonAny, node: ColumnNode | None, null: Callable[[], None]) -> None:
    """A value for the columns ``class`` and ``json``; :param null: what follows for null."""
    choices = place.table.places[place.number]
    emit_choices(c, choices, null, lambda body: emit_outermost(c, body, node), ("outermost", id(node)))


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
    name = ref.name if nested and isinstance(body, _LABELLED) else None

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
            _content(c, body, None)


def _scalar(c: Compiler, scalar: JsonScalar, nested: bool) -> None:
    quote = '"' if scalar.quoted else ""
    before, after = quote, quote
    if nested and scalar.wrapped:
        before, after = f'{{"$class":{_quoted(scalar.name)},"$value":{quote}', f"{quote}}}"
    if before:
        _piece(c, before)
    if scalar.kind == "enum":
        c.op(Op.JSON_ONE_OF, len(scalar.names), scalar.form)
        for name in scalar.names:
            data = _quoted(name).encode()
            c.operands(c.constant(data), len(data))
    elif scalar.kind == "string":
        c.op(Op.JSON_STRING, 0, -1, -1)
    elif scalar.kind == "constant":
        _piece(c, *scalar.names)
    elif scalar.kind == "boolean":
        c.op(Op.JSON_BOOLEAN)
    else:
        c.op(_OPERATIONS[scalar.kind], scalar.form)
    if after:
        _piece(c, after)


_OPERATIONS: Final = {
    "number": Op.JSON_NUMBER, "real": Op.JSON_REAL, "char": Op.JSON_CHAR, "uuid": Op.JSON_UUID, "time": Op.JSON_TIME,
    "big": Op.JSON_BIG, "clock": Op.JSON_CLOCK, "offset": Op.JSON_OFFSET, "zone": Op.JSON_ZONE,
}  # fmt: skip


def _null(c: Compiler) -> None:
    _piece(c, "null")


def _place(c: Compiler, place: KryoPlan, null: Callable[[Compiler], None] = _null) -> None:
    """:param null: what follows for null."""
    match place:
        case JsonAny():
            c.op(Op.CALL, _any(c, place))
        case Known():
            emit_known(c, place, lambda: _nested(c, place.choice.body), lambda: null(c), ("nested",))
        case AnyOf():
            emit_choices(c, place.choices, lambda: null(c), lambda body: _nested(c, body), ("nested",))
        case Required():
            _place(c, place.place, lambda c: c.op(Op.SLOW))
        case _:
            _nested(c, place)


# ---- what has parts


def _content(c: Compiler, body: KryoPlan, name: str | None) -> None:
    """:param name: of the class, where it is written."""
    match body:
        case ObjectOrNull():
            _place(c, body)
        case JsonScalar():
            _scalar(c, body, nested=name is not None)
        case Optional():
            _optional(c, body)
        case StringOr():
            _string_or(c, body)
        case Texts():
            _piece(c, '"')
            emit_texts(c, body)
            _piece(c, '"')
        case Fields():
            _fields(c, body, name)
        case Absent():
            _null(c)
        case Wrapped():
            _wrapped(c, body, name)
        case Between():
            _between(c, body, name)
        case ByClass():
            emit_by_class(c, body, lambda found: _nested(c, found))
        case Numbers():
            _list(c, Elements(body.number, "null"), body.width)
        case Elements():
            _list(c, body)
        case FlaggedElements():
            _flagged(c, body)
        case MapEntries():
            _map(c, body)
        case PairEntries():
            _pairs(c, body)
        case _:
            raise TypeError(f"no JSON of {type(body).__name__}")


def _wrapped(c: Compiler, body: Wrapped, name: str | None) -> None:
    if name is not None:
        _piece(c, f'{{"$class":{_quoted(name)},"$value":')
    _place(c, body.content)
    if name is not None:
        _piece(c, "}")


def emit_texts(c: Compiler, body: Texts) -> None:
    """The parts of a text, without quotes."""
    for part in body.parts:
        refuse = partial(c.op, Op.SLOW)
        match part:
            case Required(Known() as place):
                emit_known(c, place, partial(_text_of, c, place.choice.body), refuse, ("text",))
            case Required(AnyOf() as place):
                emit_choices(c, place.choices, refuse, partial(_text_of, c), ("text",))
            case _:
                _text_of(c, part)


def _text_of(c: Compiler, body: KryoPlan | None) -> None:
    if isinstance(body, Texts):
        emit_texts(c, body)
    else:
        assert isinstance(body, JsonScalar)
        _scalar(c, body, nested=False)


def _string_or(c: Compiler, body: StringOr) -> None:
    empty, end = Label(), Label()
    c.op(Op.EMPTY, empty)
    c.op(Op.JSON_STRING, 0, -1, -1)

    def emit_empty() -> None:
        _piece(c, "null" if body.otherwise is None else _quoted(body.otherwise))
        c.op(Op.JUMP, end)

    c.aside(empty, emit_empty)
    c.here(end)


def _optional(c: Compiler, body: Optional) -> None:
    absent, end = Label(), Label()
    c.op(Op.NULLABLE, 0, 0, absent)
    _place(c, body.number)

    def emit_absent() -> None:
        if body.always:
            emit_passed(c, body.number)
        _null(c)
        c.op(Op.JUMP, end)

    c.aside(absent, emit_absent)
    c.here(end)


def _between(c: Compiler, body: Between, name: str | None) -> None:
    for part in body.before:
        emit_passed(c, part)
    if isinstance(body.content, JsonScalar):
        _scalar(c, body.content, nested=name is not None)
    else:
        _place(c, body.content)
    for part in body.after:
        emit_passed(c, part)


def _fields(c: Compiler, body: Fields, name: str | None) -> None:
    text = "{" if name is None else f'{{"$class":{_quoted(name)}'
    separator = "," if name is not None else ""
    for key, part in body.parts:
        if key is None:
            emit_passed(c, part)
            continue
        _piece(c, f"{text}{separator}{_quoted(key)}:")
        _place(c, part)
        text, separator = "", ","
    _piece(c, text + "}")


class _Loop:
    """Opens elements, and ends with the texts of lists without them.

    :param brackets: of a list without elements; :param width: bytes of an element, at least.
    :param flagged: where the elements go on whose number has a flag.
    """

    def __init__(self, c: Compiler, plan: Counted, brackets: str, width: int = 1, flagged: Label | None = None) -> None:
        self.c = c
        self.plan = plan
        self.brackets = brackets
        self.null, self.empty, self.end = Label(), Label(), Label()
        if isinstance(plan, Elements | MapEntries):
            emit_passed(c, plan.before)
        c.op(Op.ELEMENTS, *counted(plan, width), self.null, flagged or self.null, -1, 0, self.empty)
        emit_passed(c, plan.after)

    def elements(self, before: str, element: Callable[[], None], after: str) -> None:
        c = self.c
        _piece(c, before)
        c.op(Op.BODY)
        element()
        c.op(Op.JSON_NEXT)
        _piece(c, after)
        c.op(Op.JUMP, self.end)

    def close(self) -> None:
        self._text(self.empty, self.brackets, self.plan.after)
        self._text(self.null, "null", None)
        self.c.here(self.end)

    def _text(self, label: Label, text: str, after: KryoPlan | None) -> None:
        def emit() -> None:
            emit_passed(self.c, after)
            _piece(self.c, text)
            self.c.op(Op.JUMP, self.end)

        self.c.aside(label, emit)


def _list(c: Compiler, body: Elements, width: int = 1) -> None:
    loop = _Loop(c, body, "[]", width)
    loop.elements("[", lambda: _place(c, body.element), "]")
    loop.close()


def _flagged(c: Compiler, body: FlaggedElements) -> None:
    flagged = Label()
    loop = _Loop(c, body, "[]", flagged=flagged)
    exact = body.exact
    if exact is not None:
        loop.elements("[", lambda: _place(c, Known(exact, nullable=False)), "]")
    else:
        loop.elements("[", lambda: _place(c, body.element), "]")
    c.here(flagged)
    emit_passed(c, body.after)
    if exact is None:
        slow = Label()
        choices = body.element.table.places[body.element.number] if isinstance(body.element, JsonAny) else ()
        emit_same(c, choices, body.nulls, slow, loop.end, lambda place: loop.elements("[", lambda: _place(c, place), "]"))
        c.here(slow)
        c.op(Op.SLOW)
    elif body.nulls:
        loop.elements("[", lambda: _place(c, Known(exact)), "]")
    else:
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
    emit_class(c, slow, unmarked, lambda choice: (labels[id(choice.body)], slow))
    for body in {id(choice.body): choice.body for choice in unmarked}.values():
        c.here(labels[id(body)])
        emit(body)
        c.op(Op.JUMP, end)


def _map(c: Compiler, body: MapEntries) -> None:
    loop = _Loop(c, body, "{}")
    reference = _string_reference(body.key)
    if reference is not None:
        others = Label()
        c.op(Op.JSON_KEY, -1, *reference, others)
        loop.elements("{", lambda: _member(c, reference, body.value), "}")
        c.here(others)

    def pair() -> None:
        _piece(c, '{"key":')
        _place(c, body.key)
        _piece(c, ',"value":')
        _place(c, body.value)
        _piece(c, "}")

    loop.elements("[", pair, "]")
    loop.close()


def _member(c: Compiler, reference: tuple[int, int], value: KryoPlan) -> None:
    c.op(Op.JSON_STRING, 1, *reference)
    _place(c, value)


def _pairs(c: Compiler, body: PairEntries) -> None:
    loop = _Loop(c, body, "{}")
    for choice in body.pair.choices:
        assert isinstance(choice.body, Fields)
        (_, key), (_, value) = choice.body.parts
        reference = _string_reference(key)
        if reference is not None and choice.number is not None:
            others = Label()
            c.op(Op.JSON_KEY, choice.number + 2, *reference, others)

            def member(choice: Choice = choice, reference: tuple[int, int] = reference, value: KryoPlan = value) -> None:
                def emit(_: KryoPlan | None) -> None:
                    _member(c, reference, value)

                emit_choices(c, (choice,), lambda: c.op(Op.SLOW), emit, ("member",))

            loop.elements("{", member, "}")
            c.here(others)
    loop.elements("[", lambda: _place(c, Required(body.pair)), "]")
    loop.close()


def _string_reference(key: KryoPlan) -> tuple[int, int] | None:
    """The class in front of a string that is a key, -1 if none is there, and what its bytes are; ``None`` where no key is a
    string."""
    if isinstance(key, Required):
        return _string_reference(key.place)
    if isinstance(key, Known):
        return (-1, key.choice.wire) if _is_string(key.choice) else None
    choices = key.table.places[key.number] if isinstance(key, JsonAny) else ()
    return next(((_STRING + 2, choice.wire) for choice in choices if _is_string(choice)), None)


def _is_string(choice: Choice) -> bool:
    return isinstance(choice.body, JsonScalar) and choice.body.name == "java.lang.String"
