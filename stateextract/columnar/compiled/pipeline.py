"""How Numba compiles a kernel that is one long function of whole numbers.

Numba's own pipeline also rewrites the function for features that such a kernel does not use, gives every assignment of a
variable a variable of its own, and finds their types. In a function of thousands of branches this takes most of the time.
Here every local variable is an ``int64``, and LLVM finds out which assignments belong together. Imports Numba.
"""

from __future__ import annotations

from types import FunctionType
from typing import Any

from numba import njit, types
from numba.core.compiler import CompilerBase
from numba.core.compiler_machinery import PassManager
from numba.core.typed_passes import NativeLowering, NoPythonBackend, NopythonTypeInference
from numba.core.untyped_passes import FixupArgs, TranslateByteCode

_PASSES = (TranslateByteCode, FixupArgs, NopythonTypeInference, NativeLowering, NoPythonBackend)


class Pipeline(CompilerBase):  # type: ignore[misc]  # Numba has no types
    """Only the passes without which there is no machine code."""

    def define_pipelines(self) -> list[Any]:
        """:returns: the only pipeline."""
        self.state.flags.enable_ssa = False
        passes = PassManager("whole_numbers")
        for step in _PASSES:
            passes.add_pass(step, step.__name__)
        passes.finalize()
        return [passes]


def whole_numbers(function: FunctionType) -> Any:
    """Numba's object for a function whose local variables are all whole numbers."""
    code = function.__code__
    variables = dict.fromkeys(code.co_varnames[code.co_argcount :], types.int64)
    options = {"nogil": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    return njit(locals=variables, pipeline_class=Pipeline, **options)(function)
