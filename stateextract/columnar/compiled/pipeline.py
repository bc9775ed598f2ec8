"""How Numba compiles a kernel that is one long function of whole numbers.

Numba's own pipeline also rewrites the function for features that such a kernel does not use, gives every assignment of a
variable a variable of its own, and finds their types. In a function of thousands of branches this takes most of the time.
Here every local variable is an ``int64``, and LLVM finds out which assignments belong together. Imports Numba.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping
from types import FunctionType
from typing import Any, NamedTuple

from numba import njit, types
from numba.core import ir
from numba.core.compiler import CompilerBase
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.lowering import Lower
from numba.core.typed_passes import BaseNativeLowering, NoPythonBackend, NopythonTypeInference
from numba.core.untyped_passes import FixupArgs, TranslateByteCode

_FEWEST_CASES = 4
_COMMON, _RARE, _NEVER = 1000, 10, 1
"""How often cases occur, relative to each other: common ones, others, and numbers that no case has."""


class _Test(NamedTuple):
    """A block that only compares a variable with a number, and where it goes on."""

    variable: str
    number: int
    equal: int
    other: int


def _test(block: Any) -> _Test | None:
    *before, branch = block.body
    if not isinstance(branch, ir.Branch):
        return None
    made: dict[str, Any] = {}
    compared: tuple[str, Any] | None = None
    for step in before:
        if not isinstance(step, ir.Assign):
            return None
        value = step.value
        if isinstance(value, ir.Expr) and value.op == "binop" and value.fn is operator.eq:
            compared = (value.lhs.name, made.get(value.rhs.name))
        elif isinstance(value, ir.Const | ir.Global):
            made[step.target.name] = value.value
        elif not (isinstance(value, ir.Expr) and value.op == "call" and made.get(value.func.name) is bool):
            return None
    if compared is None or not isinstance(compared[1], int):
        return None
    return _Test(compared[0], compared[1], branch.truebr, branch.falsebr)


class _Lower(Lower):  # type: ignore[misc]  # Numba has no types
    """Makes one switch of a chain of comparisons of one variable with numbers.

    LLVM does so as well, but not for a chain as long as that of the operations: it makes several tables, which are tried one
    after the other. It also learns which cases are common, and keeps the variables of these in the processor's registers.
    Otherwise every loop in a rare case takes registers from them.
    """

    def lower_inst(self, inst: Any) -> None:
        """:param inst: a statement."""
        cases, default = self._cases(inst) if isinstance(inst, ir.Branch) else ({}, 0)
        if len(cases) < _FEWEST_CASES:
            super().lower_inst(inst)
            return
        variable = self._tests[self._label(inst)].variable
        switch = self.builder.switch(self.loadvar(variable), self.blkmap[default])
        for number, label in cases.items():
            switch.add_case(self.context.get_constant(types.int64, number), self.blkmap[label])
        common = self.metadata["common"]
        if len(cases) > common > 0:
            switch.set_weights([_NEVER, *(_COMMON if k < common else _RARE for k in range(len(cases)))])

    def pre_lower(self) -> None:
        """Find the comparisons."""
        super().pre_lower()
        found = {label: _test(block) for label, block in self.blocks.items()}
        self._tests = {label: test for label, test in found.items() if test is not None}
        self._labels: dict[int, int] = {id(block.body[-1]): label for label, block in self.blocks.items()}

    def _label(self, branch: Any) -> int:
        return self._labels[id(branch)]

    def _cases(self, branch: Any) -> tuple[dict[int, int], int]:
        """Where to go on for each number, and for all others."""
        label = self._label(branch)
        cases: dict[int, int] = {}
        first = self._tests.get(label)
        test = first
        while first is not None and test is not None and test.variable == first.variable:
            cases.setdefault(test.number, test.equal)
            label = test.other
            test = self._tests.get(label)
        return cases, label


@register_pass(mutates_CFG=True, analysis_only=False)
class _Lowering(BaseNativeLowering):  # type: ignore[misc]
    _name = "whole_numbers_lowering"

    @property
    def lowering_class(self) -> Any:
        """:returns: what makes LLVM's statements."""
        return _Lower


_PASSES = (TranslateByteCode, FixupArgs, NopythonTypeInference, _Lowering, NoPythonBackend)


class Pipeline(CompilerBase):  # type: ignore[misc]  # Numba has no types
    """Only the passes without which there is no machine code."""

    common = 0

    def define_pipelines(self) -> list[Any]:
        """:returns: the only pipeline."""
        self.state.flags.enable_ssa = False
        self.state.metadata["common"] = self.common
        passes = PassManager("whole_numbers")
        for step in _PASSES:
            passes.add_pass(step, step.__name__)
        passes.finalize()
        return [passes]


def whole_numbers(function: FunctionType, options: Mapping[str, Any], common: int) -> Any:
    """Numba's object for a function whose local variables are all whole numbers.

    :param options: Numba's.
    :param common: how many cases of the longest chain of comparisons are common, from its first one on; 0: not known.
    """
    code = function.__code__
    variables = dict.fromkeys(code.co_varnames[code.co_argcount :], types.int64)
    pipeline = type("Pipeline", (Pipeline,), {"common": common})
    return njit(locals=variables, pipeline_class=pipeline, **options)(function)
