"""The kernel's flat function as it is assembled of operations: here of operations that plain Python can run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from stateextract.columnar.kernel.assemble import assemble, inlined, operate
from stateextract.columnar.kernel.loop import KRYO_OPERATIONS, OPERATIONS
from stateextract.columnar.kernel.machine import BAD_TEXT, DONE, NEED_INPUT, Machine
from stateextract.columnar.program.operations import Op

ARGUMENT, POSITION, NEEDED = 2, 3, 4


def put(out: list[int], slot: int, value: int) -> None:
    out[slot] = value


def around(program: list[int], end: int, out: list[int]) -> tuple[int, int]:
    status = DONE
    pos = 0
    pc = 0
    while True:
        op = program[pc]  # noqa: F841
        operate()
    return status, pos


def end(m: Machine) -> None:
    m.end_entry()


def take_two(m: Machine) -> None:
    """Shared by operations: two bytes, or one."""
    if m.op == Op.FIXED1:
        m.pos += 1
        return
    m.require(2)
    m.pos += 2


def take_squares(m: Machine) -> None:
    for k in range(3):
        j = 0
        while j < k:
            m.require(1)
            m.pos += 1
            if m.pos == 99:
                m.bad(BAD_TEXT, m.pos)
            j += 1


@inlined
def twice(m: Machine, n: int) -> int:
    """Moves on as well, so that a register given as the operand must have been read before."""
    j = n
    m.pos += n
    return j + n


def take_twice(m: Machine) -> None:
    j = 5
    m.pos = twice(m, m.pos)
    m.pos += j


RUN: Callable[..., Any] = assemble(
    around,
    [((Op.END,), end), ((Op.FIXED1, Op.FIXED2), take_two), ((Op.SKIP,), take_squares), ((Op.JUMP,), take_twice)],
)


@pytest.fixture(autouse=True)
def plain_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """``out`` is a list here, and not an address."""
    monkeypatch.setitem(RUN.__globals__, "put", put)


@pytest.mark.parametrize(
    ("program", "size", "result", "out"),
    [
        ([Op.FIXED1, Op.FIXED2, Op.END], 3, (DONE, 3), {}),
        ([Op.FIXED1, Op.FIXED2, Op.END], 2, (NEED_INPUT, 1), {NEEDED: 3}),
        ([Op.SKIP, Op.END], 3, (DONE, 3), {}),
        ([Op.SKIP, Op.FIXED1, Op.END], 2, (NEED_INPUT, 2), {NEEDED: 3}),
        ([Op.FIXED2, Op.JUMP, Op.END], 2, (DONE, 9), {}),
        ([Op.FIXED2, Op.FAIL, Op.FIXED2], 4, (6, 2), {POSITION: 2}),
    ],
    ids=["in turn", "a stop", "loops", "a stop inside of loops", "inlined", "an unknown operation"],
)
def test_operations_run_in_their_place(
    program: list[Op], size: int, result: tuple[int, int], out: dict[int, int]
) -> None:
    given = [-1] * 13
    assert RUN([int(op) for op in program], size, given) == result
    assert {slot: value for slot, value in enumerate(given) if value != -1} == out


def test_a_stop_says_what_is_wrong_and_where() -> None:
    given = [-1] * 13
    assert RUN([int(Op.FIXED2)] * 48 + [int(Op.SKIP), int(Op.END)], 200, given) == (BAD_TEXT, 99)
    assert given[POSITION] == 99


def test_every_operation_has_one_row() -> None:
    assert Counter(op for ops, _ in (*OPERATIONS, *KRYO_OPERATIONS) for op in ops) == Counter(Op)


def returns_early(m: Machine) -> None:
    while m.pos < m.end:
        return


def knows_no_register(m: Machine) -> None:
    m.position = 1


def takes_a_register(m: Machine) -> None:
    depth = 1
    m.pos += depth


def knows_no_name(m: Machine) -> None:
    m.pos = unknown  # noqa: F821


def stops_somehow(m: Machine) -> None:
    m.perhaps()


def inlines_in_between(m: Machine) -> None:
    m.pos = 1 + twice(m, 1)


@pytest.mark.parametrize(
    ("operation", "message"),
    [
        (returns_early, "return from inside of a loop"),
        (knows_no_register, r"m\.position: there is no such register"),
        (takes_a_register, r"\['depth'\] are registers"),
        (knows_no_name, r"\['unknown'\] are not defined"),
        (stops_somehow, r"m\.perhaps\(\): there is no such way to stop"),
        (inlines_in_between, r"twice\(m, 1\): an inlined function has to be called by a statement of its own"),
    ],
)
def test_what_cannot_be_expanded_is_refused(operation: Callable[..., None], message: str) -> None:
    with pytest.raises(TypeError, match=rf"test_assemble\.{operation.__name__}: .*{message}|{message}"):
        assemble(around, [((Op.END,), operation)])
