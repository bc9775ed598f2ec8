"""What the compiler emits for Kryo's values: their plans (``layout/kryo_plan.py``), and what Python has decoded in their place.

A value is in the program twice. The kernel runs its plan; where it cannot, it stops, and when it comes to the value
again Python has decoded it and has put what came out, as ``Python.plain`` has it, in its place (``decode/by_python.py``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from stateextract.columnar.layout import Python
from stateextract.columnar.layout.kryo_plan import (
    Absent,
    AnyOf,
    Between,
    BigNumber,
    Blob,
    ByClass,
    Character,
    Clock,
    Constants,
    Elements,
    Fields,
    FixedNumber,
    FlaggedElements,
    Joda,
    JsonAny,
    JsonRef,
    JsonScalar,
    Known,
    KryoPlan,
    MapEntries,
    Moment,
    Numbers,
    ObjectOrNull,
    Optional,
    PairEntries,
    Required,
    String,
    StringOr,
    Texts,
    Uuid,
    Varying,
    View,
    Wrapped,
)
from stateextract.columnar.program import kryo_json
from stateextract.columnar.program.kryo_places import (
    FORMS,
    Counted,
    counted,
    emit_by_class,
    emit_choices,
    emit_known,
    emit_passed,
)
from stateextract.columnar.program.operations import ColumnNode, Label, Op

if TYPE_CHECKING:
    from stateextract.columnar.program import Compiler

_DATE: Final = ("year", "month", "day")
_TIME: Final = ("hour", "minute", "second", "nanos")
_MOMENTS: Final = {"alone": 0, "nanos": 1, "seconds": 2}


def emit_value(c: Compiler, layout: Python, node: ColumnNode | None) -> None:
    """A value whose layout has a plan."""
    assert layout.plan is not None
    decoded, end = Label(), Label()
    c.depth += 1
    c.deepest = max(c.deepest, c.depth)
    c.op(Op.KRYO, int(node is not None), decoded)
    _emit(c, layout.plan, node)

    def emit_decoded() -> None:
        c.emit(layout.plain, node)
        c.op(Op.LEAVE, 1)
        c.op(Op.JUMP, end)

    c.aside(decoded, emit_decoded)
    c.here(end)
    c.depth -= 1


def _emit(c: Compiler, plan: KryoPlan, node: ColumnNode | None) -> None:
    column = -1 if node is None else node.index
    binary = int(node is not None and pa.types.is_binary(node.type))
    match plan:
        case ObjectOrNull():
            _emit_place(c, plan, node)
        case Varying():
            c.op(Op.VARYING, column, FORMS[plan.form], plan.low, plan.high)
        case FixedNumber():
            _emit_fixed(c, plan, node)
        case String():
            c.op(Op.KRYO_TEXT, column, binary)
        case Character():
            c.op(Op.KRYO_CHAR, column, binary, int(plan.little))
        case Constants():
            c.op(Op.ONE_OF, column, len(plan.names), int(plan.exact))
            for name in plan.names:
                _text(c, name)
        case Uuid():
            c.op(Op.UUID, column, ("little", "zigzag", "big").index(plan.form))
        case Moment():
            c.op(Op.MOMENT, *_children(node, "ms", "nanos"), _MOMENTS[plan.form])
        case Clock():
            c.op(Op.CLOCK, *_some(node, *_TIME))
        case Joda():
            c.op(Op.JODA, ("date", "time", "both").index(plan.form), *_some(node, *_DATE, *_TIME))
        case StringOr():
            _emit_string_or(c, plan, node)
        case Texts():
            c.op(Op.JSON, column)
            kryo_json.emit_texts(c, plan)
            c.op(Op.END_JSON)
        case BigNumber():
            c.op(Op.BIG, column, int(plan.scaled))
        case Blob():
            c.op(Op.BLOB, column, int(plan.nullable))
        case Optional():
            _emit_optional(c, plan, node)
        case Absent():
            _null(c, node)
        case Fields():
            _emit_fields(c, plan, node)
        case Wrapped():
            _emit(c, plan.content, node)
        case Between():
            _emit_between(c, plan, node)
        case ByClass():
            emit_by_class(c, plan, lambda body: _emit_body(c, body, node))
        case JsonScalar():
            kryo_json.emit_outermost(c, plan, node)
        case Numbers():
            _emit_list(c, node, Elements(plan.number, "null"), lambda item: _emit(c, plan.number, item), plan.width)
        case Elements():
            _emit_list(c, node, plan, lambda item: _emit(c, plan.element, item))
        case FlaggedElements():
            _emit_flagged(c, plan, node)
        case MapEntries():
            _emit_list(c, node, plan, lambda entry: _emit_entry(c, plan, entry, node))
        case PairEntries():
            _emit_list(c, node, plan, lambda entry: _emit_place(c, Required(plan.pair), entry))
        case _:
            raise TypeError(f"no operations for {type(plan).__name__}")


def _text(c: Compiler, text: str) -> None:
    data = text.encode("utf-8")
    c.operands(c.constant(data), len(data))


def _children(node: ColumnNode | None, *names: str) -> list[int]:
    return [-1 if node is None else node.children[name].index for name in names]


def _some(node: ColumnNode | None, *names: str) -> list[int]:
    """As ``_children``, of which some may not be there."""
    return [-1 if node is None or name not in node.children else node.children[name].index for name in names]


def _null(c: Compiler, node: ColumnNode | None) -> None:
    if node is not None:
        c.fill(node.same_level())


def _emit_fixed(c: Compiler, plan: FixedNumber, node: ColumnNode | None) -> None:
    if node is None:
        c.op(Op.SKIP, plan.width)
    elif plan.little and plan.width > 1:
        c.op(Op.FIXED, node.index, plan.width, 1, 0)
    else:
        c.op({1: Op.FIXED1, 2: Op.FIXED2, 4: Op.FIXED4, 8: Op.FIXED8}[plan.width], node.index)


def _emit_string_or(c: Compiler, plan: StringOr, node: ColumnNode | None) -> None:
    empty, end = Label(), Label()
    c.op(Op.EMPTY, empty)
    _emit(c, String(), node)

    def emit_empty() -> None:
        if plan.otherwise is None:
            _null(c, node)
        elif node is not None:
            c.op(Op.CONSTANT, node.index)
            _text(c, plan.otherwise)
        c.op(Op.JUMP, end)

    c.aside(empty, emit_empty)
    c.here(end)


def _emit_optional(c: Compiler, plan: Optional, node: ColumnNode | None) -> None:
    absent, end = Label(), Label()
    c.op(Op.NULLABLE, 0, 0, absent)
    _emit(c, plan.number, node)

    def emit_absent() -> None:
        if plan.always:
            _emit(c, plan.number, None)
        _null(c, node)
        c.op(Op.JUMP, end)

    c.aside(absent, emit_absent)
    c.here(end)


def _emit_fields(c: Compiler, plan: Fields, node: ColumnNode | None) -> None:
    if node is not None and plan.label is not None:
        c.op(Op.CONSTANT, node.children["class"].index)
        _text(c, plan.label)
    for name, part in plan.parts:
        if name is None:
            emit_passed(c, part)
        else:
            _emit(c, part, node if node is None or not name else node.children[name])
    if node is None or not plan.whole:
        return
    known = {name for name, _ in plan.parts} | ({"class"} if plan.label is not None else set())
    c.fill([column for name, child in node.children.items() if name not in known for column in child.same_level()])
    if not node.children:
        c.op(Op.PRESENT, node.index)


def _emit_between(c: Compiler, plan: Between, node: ColumnNode | None) -> None:
    for part in plan.before:
        emit_passed(c, part)
    _emit(c, plan.content, node)
    for part in plan.after:
        emit_passed(c, part)


# ---- places


def _emit_place(c: Compiler, place: ObjectOrNull, node: ColumnNode | None, refuse_null: bool = False) -> None:
    def null() -> None:
        c.op(Op.SLOW) if refuse_null else _null(c, node)

    key = ("column", id(node))
    match place:
        case Required():
            _emit_place(c, place.place, node, refuse_null=True)
        case JsonAny():
            kryo_json.emit_any(c, place, node, null)
        case Known():
            emit_known(c, place, lambda: _emit_body(c, place.choice.body, node), null, key)
        case AnyOf():
            emit_choices(c, place.choices, null, lambda body: _emit_body(c, body, node), key)
        case _:
            raise TypeError(f"no operations for {type(place).__name__}")


def _emit_body(c: Compiler, body: KryoPlan | None, node: ColumnNode | None) -> None:
    match body:
        case None | View():
            c.op(Op.SLOW)
        case JsonRef() | JsonScalar():
            kryo_json.emit_outermost(c, body, node)
        case _:
            _emit(c, body, node)


# ---- lists and maps


def _emit_list(
    c: Compiler, node: ColumnNode | None, plan: Counted, element: Callable[[ColumnNode | None], None], width: int = 1
) -> None:
    """:param width: bytes of an element, at least."""
    null, end = Label(), Label()
    if isinstance(plan, Elements | MapEntries):
        emit_passed(c, plan.before)
    _open(c, node, plan, null, null, end, width)
    element(None if node is None else next(iter(node.children.values())))
    c.op(Op.NEXT)
    c.depth -= 1
    c.emit_null_at(null, node, end)


def _open(
    c: Compiler, node: ColumnNode | None, plan: Counted, null: Label, flagged: Label, end: Label, width: int = 1
) -> None:
    c.depth += 1
    c.deepest = max(c.deepest, c.depth)
    column = (-1, 0) if node is None else (node.index, node.child_level)
    empty = end if plan.after is None else Label()
    c.op(Op.ELEMENTS, *counted(plan, width), null, flagged, *column, empty)
    c.here(Label())
    if plan.after is None:
        return
    emit_passed(c, plan.after)
    c.op(Op.BODY)

    def emit_empty() -> None:
        emit_passed(c, plan.after)
        c.op(Op.JUMP, end)

    c.aside(empty, emit_empty)


def _emit_entry(c: Compiler, plan: MapEntries, entry: ColumnNode | None, node: ColumnNode | None) -> None:
    key, value = (None, None) if entry is None else (entry.children["key"], entry.children["value"])
    place = plan.key
    if isinstance(place, ObjectOrNull):
        # Python knows whether a null key is refused where nothing is kept.
        _emit_place(c, place, key, refuse_null=node is None or pa.types.is_map(node.type))
    else:
        _emit(c, place, key)
    _emit(c, plan.value, value)


def _emit_flagged(c: Compiler, plan: FlaggedElements, node: ColumnNode | None) -> None:
    null, end, flagged = Label(), Label(), Label()
    item = None if node is None else node.children["item"]
    _open(c, node, plan, null, flagged, end)
    exact = plan.exact
    _emit_loop(c, plan.element if exact is None else Known(exact, nullable=False), item, end)
    c.here(flagged)
    if plan.after is not None:
        emit_passed(c, plan.after)
        c.op(Op.BODY)
    if exact is None:
        _emit_same(c, plan, item, end)
    elif plan.nulls:
        _emit_loop(c, Known(exact), item, end)
    else:
        c.op(Op.SLOW)
    c.emit_null_at(null, node, end)
    c.depth -= 1


def _emit_loop(c: Compiler, place: ObjectOrNull, item: ColumnNode | None, end: Label) -> None:
    """The code of one element, and what leads to the next one."""
    _emit_place(c, place, item)
    c.op(Op.NEXT)
    c.op(Op.JUMP, end)


def _emit_same(c: Compiler, plan: FlaggedElements, item: ColumnNode | None, end: Label) -> None:
    """All elements have one class, which comes before them."""
    slow = Label()
    element = plan.element
    choices = element.choices if isinstance(element, AnyOf) else element.table.places[element.number]

    def elements(place: Known) -> None:
        c.op(Op.BODY)
        _emit_loop(c, place, item, end)

    c.aside(slow, lambda: c.op(Op.SLOW))
    kryo_json.emit_same(c, choices, plan.nulls, slow, end, elements)
