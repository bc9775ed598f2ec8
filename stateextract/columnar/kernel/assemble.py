"""Makes the kernel's one flat function of its operations.

Numba compiles a call several times slower than the same code in place, and an interpreter of programs has to keep its
registers in local variables. So the source of every operation goes into one chain of ``if``, in the place of
``operate()`` in the function around it:

- ``m.pos`` becomes the local variable ``pos``; ``m.require(n)`` and the other ways to stop become statements that leave
  the chain, from inside of loops too; ``return`` goes on with the next operation;
- operands are loaded from the program, and the position in it is moved, before the operation;
- calls of functions marked with :func:`inlined` become their bodies, with local variables of their own;
- ``Op.X`` becomes its number.

What cannot be expanded is an error of the programmer, a ``TypeError``. Reads sources; compiles nothing itself.
"""

from __future__ import annotations

import ast
import builtins
import copy
import inspect
import linecache
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from types import FunctionType
from typing import Any, NoReturn, TypeVar

from stateextract.columnar.compiled.compile import at, put
from stateextract.columnar.kernel import machine
from stateextract.columnar.program.operations import Op

F = TypeVar("F", bound=Callable[..., Any])
Operations = Sequence[tuple[tuple[Op, ...], Callable[..., None]]]

_REGISTERS = frozenset(inspect.get_annotations(machine.Machine)) | {"status", "entry"}
_FILE = "<the kernel, assembled>"


def inlined(function: F) -> F:
    """Marks a function of a machine whose body goes to where it is called. It returns at its end, if anywhere."""
    function.__dict__["inlined"] = True
    return function


def operate() -> None:
    """Where the operations go."""


def assemble(around: Callable[..., Any], operations: Operations) -> FunctionType:
    """The function around, with the operations in the place of ``operate()``, the commonest first."""
    names: dict[str, Any] = {name: value for name, value in vars(machine).items() if isinstance(value, int)}
    names.update(at=at, put=put)
    own = _locals(_definition(around)) | _REGISTERS
    for _, function in operations:
        taken = _locals(_definition(function)) & own
        if taken:
            raise TypeError(f"{function.__module__}.{function.__name__}: {sorted(taken)} are registers")
    chain: list[ast.stmt] = _parse("status = BAD_TAG", "put(out, POSITION, pos)", "break")
    for codes, function in reversed(operations):
        test = " or ".join(f"op == {int(code)}" for code in codes)
        chain = [ast.If(ast.parse(test, mode="eval").body, _operation(function, names), chain)]
    outer = _definition(around)
    names.update(_globals(outer, around))
    outer = _Place(chain).visit(outer)
    outer.decorator_list = []
    source = ast.unparse(ast.fix_missing_locations(ast.Module([outer], [])))
    linecache.cache[_FILE] = (len(source), None, source.splitlines(keepends=True), _FILE)
    exec(compile(source, _FILE, "exec"), names)
    made = names[around.__name__]
    assert isinstance(made, FunctionType)
    made.__module__ = around.__module__
    return made


class _Place(ast.NodeTransformer):
    def __init__(self, chain: list[ast.stmt]) -> None:
        self.chain = chain

    def visit_Expr(self, node: ast.Expr) -> Any:
        return self.chain if ast.unparse(node) == "operate()" else node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        return _number(node) or node


def _operation(function: Callable[..., Any], names: dict[str, Any]) -> list[ast.stmt]:
    definition = _definition(function)
    operands = [a.arg for a in definition.args.args[1:]]
    loads = [f"{operand} = at(code, pc + {k})" for k, operand in enumerate(operands, 1)]
    body, _ = _Expansion(function, {}, names).statements(definition.body)
    return _parse(*loads, f"pc += {1 + len(operands)}") + body


class _Expansion(ast.NodeTransformer):
    """Expands the body of one function.

    :param renamed: what replaces its parameters and local variables, if it is inlined.
    :param names: globals of all functions, to which those of this one are added.
    """

    def __init__(self, function: Callable[..., Any], renamed: Mapping[str, ast.expr], names: dict[str, Any]) -> None:
        self.function = function
        self.renamed = renamed
        self.names = names
        self.definition = _definition(function)
        for name, value in _globals(self.definition, function).items():
            if names.setdefault(name, value) is not value and names[name] != value:
                self._refuse(self.definition, f"the name {name} means something else in another operation")

    def statements(self, body: Sequence[ast.stmt], loops: int = 0) -> tuple[list[ast.stmt], bool]:
        """The statements, expanded, and whether they may stop.

        :param loops: how many loops of the operation are around them.
        """
        made: list[ast.stmt] = []
        stops = False
        for statement in body:
            new, may_stop = self._statement(statement, loops)
            made += new
            stops |= may_stop
        return made, stops

    def _statement(self, node: ast.stmt, loops: int) -> tuple[list[ast.stmt], bool]:
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            return [], False  # a docstring
        if isinstance(node, ast.If):
            then, first = self.statements(node.body, loops)
            other, second = self.statements(node.orelse, loops)
            return [ast.If(self.visit(node.test), then or [ast.Pass()], other)], first or second
        if isinstance(node, ast.While | ast.For):
            inner, stops = self.statements(node.body, loops + 1)
            loop: ast.stmt
            if isinstance(node, ast.While):
                loop = ast.While(self.visit(node.test), inner, [])
            else:
                loop = ast.For(self.visit(node.target), self.visit(node.iter), inner, [], lineno=0)
            return [loop, *(_parse("if status != DONE: break") if stops else [])], stops
        if isinstance(node, ast.Return):
            if loops or node.value is not None:
                self._refuse(node, "return from inside of a loop, or of a value")
            return [ast.Continue()], False
        call = getattr(node, "value", None)
        if isinstance(call, ast.Call):
            if isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) == "m":
                return self._stop(call, call.func.attr, node), True
            callee = self.function.__globals__.get(ast.unparse(call.func))
            if callee is not None and getattr(callee, "inlined", False):
                return self._inline(callee, call, node, loops)
        if isinstance(node, ast.AnnAssign) and node.value is not None:
            node = ast.Assign([node.target], node.value, lineno=0)
        return [self.visit(node)], False

    def _stop(self, call: ast.Call, way: str, node: ast.stmt) -> list[ast.stmt]:
        arguments = [ast.unparse(self.visit(argument)) for argument in call.args]
        given = {str(keyword.arg): ast.unparse(self.visit(keyword.value)) for keyword in call.keywords}

        def leave(status: str, **slots: str) -> list[ast.stmt]:
            return _parse(f"status = {status}", *(f"put(out, {k.upper()}, {v})" for k, v in slots.items()), "break")

        match way, arguments:
            case "require", [n]:
                test = f"end - pos < {n}"
                return [ast.If(ast.parse(test, mode="eval").body, leave("NEED_INPUT", needed=f"pos + {n}"), [])]
            case "need_input", [position]:
                return leave("NEED_INPUT", needed=position)
            case "bad", [status, position]:
                return leave(status, position=position)
            case "full", [c]:
                return leave("FULL", argument=c)
            case "full_level", [level, slots]:
                return leave("FULL", argument=f"-1 - {level}", needed=slots)
            case "stop", [status]:
                return leave(status, **given)
            case "check", [status]:
                return _parse(f"status = {status}", "if status != DONE: break")
            case "end_entry", []:
                return _parse("break")
        self._refuse(node, "there is no such way to stop")

    def _inline(
        self, callee: Callable[..., Any], call: ast.Call, node: ast.stmt, loops: int
    ) -> tuple[list[ast.stmt], bool]:
        definition = _definition(callee)
        before: list[ast.stmt] = []
        renamed: dict[str, ast.expr] = {"m": ast.Name("m")}
        prefix = callee.__name__ + "_"
        for parameter, argument in zip(definition.args.args[1:], call.args[1:], strict=True):
            value = self.visit(argument)
            # What is a register may change while the body runs.
            if not isinstance(argument, ast.Constant | ast.Name) or parameter.arg in _stored(definition):
                before.append(ast.Assign([ast.Name(prefix + parameter.arg)], value, lineno=0))
                value = ast.Name(prefix + parameter.arg)
            renamed[parameter.arg] = value
        renamed.update({name: ast.Name(prefix + name) for name in _locals(definition) - set(renamed)})
        body = definition.body
        after: list[ast.stmt] = []
        inner = _Expansion(callee, renamed, self.names)
        if isinstance(body[-1], ast.Return):
            result = body[-1].value
            assert result is not None
            body = body[:-1]
            if isinstance(node, ast.Assign):
                targets = [self.visit(target) for target in node.targets]
                after = [ast.Assign(targets, inner.visit(result), lineno=0)]
        elif not isinstance(node, ast.Expr):
            self._refuse(node, f"{callee.__name__} returns nothing")
        expanded, stops = inner.statements(body, loops)
        return [*before, *expanded, *after], stops

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.renamed.get(node.id, node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        number = _number(node)
        if number is None and (ast.unparse(node.value) != "m" or node.attr not in _REGISTERS):
            self._refuse(node, "there is no such register")
        return number or ast.Name(node.attr)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        callee = self.function.__globals__.get(ast.unparse(node.func))
        if getattr(callee, "inlined", False):
            self._refuse(node, "an inlined function has to be called by a statement of its own")
        return ast.Call(node.func, [self.visit(argument) for argument in node.args], [])

    def _refuse(self, node: ast.AST, why: str) -> NoReturn:
        raise TypeError(f"{self.function.__module__}.{self.function.__name__}: {ast.unparse(node)}: {why}")


def _number(node: ast.Attribute) -> ast.Constant | None:
    return ast.Constant(int(Op[node.attr])) if ast.unparse(node.value) == "Op" else None


@cache
def _module(name: str) -> dict[str, ast.FunctionDef]:
    tree = ast.parse(inspect.getsource(sys.modules[name]))
    return {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}


def _definition(function: Callable[..., Any]) -> ast.FunctionDef:
    # A copy, since expanding changes it.
    return copy.deepcopy(_module(function.__module__)[function.__name__])


def _parse(*lines: str) -> list[ast.stmt]:
    return ast.parse("\n".join(lines)).body


def _locals(definition: ast.FunctionDef) -> set[str]:
    return _stored(definition) | {a.arg for a in definition.args.args}


def _stored(definition: ast.FunctionDef) -> set[str]:
    return {n.id for n in ast.walk(definition) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


def _globals(definition: ast.FunctionDef, function: Callable[..., Any]) -> dict[str, Any]:
    own = _locals(definition) | {"m", "Op", "operate"}
    body = [node for statement in definition.body for node in ast.walk(statement)]
    used = {node.id for node in body if isinstance(node, ast.Name)} - own
    found = {name: function.__globals__[name] for name in used if name in function.__globals__}
    missing = {name for name in used - found.keys() if not hasattr(builtins, name)}
    if missing:
        raise TypeError(f"{function.__module__}.{function.__name__}: {sorted(missing)} are not defined")
    return {name: value for name, value in found.items() if not getattr(value, "inlined", False)}
