"""What the compiler emits for the places of Kryo's objects: class references, marks, null, and what is passed over."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from stateextract.columnar.layout.kryo_plan import (
    AnyOf,
    ByClass,
    Choice,
    Elements,
    Fields,
    FixedNumber,
    FlaggedElements,
    Form,
    JsonScalar,
    Known,
    KryoPlan,
    MapEntries,
    PairEntries,
    Required,
    String,
    StringOr,
    Varying,
    View,
)
from stateextract.columnar.program.operations import CLASS_MIX, Label, Op

if TYPE_CHECKING:
    from stateextract.columnar.program import Compiler

FORMS: Final[dict[Form, int]] = {
    "int": 0, "zigzag int": 1, "long": 2, "zigzag long": 3, "byte": 4, "short": 5, "little short": 6,
}  # fmt: skip
Counted = Elements | FlaggedElements | MapEntries | PairEntries
"""What begins with a number of elements."""
_NEVER: Final = 1 << 30


def emit_class(c: Compiler, null: Label, choices: Sequence[Choice], labels: Callable[[Choice], tuple[Label, Label]]) -> None:
    """The operation ``CLASS``.

    :param null: where null goes on; :param labels: where a new and an earlier object of a class go on.
    """
    if not choices:
        c.op(Op.NO_CLASS)
        c.op(Op.JUMP, null)
        return
    numbers = [c.classes.setdefault(choice.name, len(c.classes)) for choice in choices]
    bits, table = class_table(list(zip(choices, numbers, strict=True)))
    c.op(Op.CLASS, null, len(choices), bits)
    for choice, number in zip(choices, numbers, strict=True):
        registered = -1 if choice.number is None else choice.number
        name = c.constant(choice.name), len(choice.name) or _NEVER
        c.operands(number, *name, registered, choice.wire, *labels(choice))
    c.operands(*table)


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
    emit_class(c, none, choices, lambda choice: labels[id(choice.body)])
    for body in {id(choice.body): choice.body for choice in choices}.values():
        new, earlier = labels[id(body)]
        c.here(new)
        if isinstance(body, View):
            _emit_view(c, body, [choice for choice in choices if not isinstance(choice.body, View)], labels, earlier)
            continue
        emit(body)
        leave()
        emit_earlier(c, earlier, leave, lambda body=body: emit(body), (*key, id(body)))  # type: ignore[misc]
    c.aside(none, emit_null)
    c.here(end)


def _emit_view(
    c: Compiler, view: View, choices: Sequence[Choice], labels: dict[int, tuple[Label, Label]], earlier: Label
) -> None:
    """On at the code of another class of the place; views themselves that are referred to are rare."""
    for part in view.before:
        emit_passed(c, part)
    none = Label()
    emit_class(c, none, choices, lambda choice: labels[id(choice.body)])
    c.here(none)
    c.here(earlier)
    c.op(Op.SLOW)


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


def counted(plan: Counted, width: int) -> tuple[int, int]:
    """The first operands of ``ELEMENTS``: how elements of at least ``width`` bytes are counted."""
    if isinstance(plan, FlaggedElements):
        return 2, width
    if isinstance(plan.count, int):
        return 3, plan.count
    return ("plain", "null").index(plan.count), width


def emit_by_class(c: Compiler, plan: ByClass, emit: Callable[[KryoPlan | None], None]) -> None:
    """A class reference alone, and what follows it for each class."""
    emit_choices(c, plan.choices, lambda: c.op(Op.SLOW), emit, ())


def emit_passed(c: Compiler, plan: KryoPlan | None, null: Callable[[], None] = lambda: None) -> None:
    """What is passed over, if there is anything; :param null: what follows for null."""

    def emit(body: KryoPlan | None) -> None:
        emit_passed(c, body)

    match plan:
        case None:
            return
        case Varying():
            c.op(Op.VARYING, -1, FORMS[plan.form], plan.low, plan.high)
        case JsonScalar(kind="number"):
            c.op(Op.VARYING, -1, plan.form, 1, 0)
        case JsonScalar(kind="real"):
            c.op(Op.SKIP, 8)
        case FixedNumber():
            c.op(Op.SKIP, plan.width)
        case String():
            c.op(Op.KRYO_TEXT, -1, 0)
        case StringOr():
            empty = Label()
            c.op(Op.EMPTY, empty)
            c.op(Op.SLOW)
            c.here(empty)
        case Fields():
            for _, part in plan.parts:
                emit_passed(c, part)
        case ByClass():
            emit_by_class(c, plan, emit)
        case Required():
            emit_passed(c, plan.place, lambda: c.op(Op.SLOW))
        case AnyOf():
            emit_choices(c, plan.choices, null, emit, ("passed",))
        case Known():
            emit_known(c, plan, lambda: emit(plan.choice.body), null, ("passed",))
        case _:
            raise TypeError(f"nothing passes over {type(plan).__name__}")

