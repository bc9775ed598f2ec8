"""Machine code for any processor out of the LLVM assembly that Numba makes of a kernel.

The assembly is the same for all processors, as long as Numba has not optimised it for the one that it runs on. Each processor's
code is optimised here. Needs llvmlite, which comes with Numba; knows nothing of Numba, kernels and files.
"""

from __future__ import annotations

import contextlib
import re
from functools import cache
from typing import Any

from stateextract.columnar.compiled.linking import NotAlone, link
from stateextract.columnar.compiled.processors import Processor

# Loops are not to become calls of C's library, and each function is to keep a record of its frame, as macOS demands.
_ATTRIBUTES = '"no-builtins" "frame-pointer"="non-leaf"'
# Only what Numba optimised for this processor has operations of one kind of processor; LLVM ends the process if it is to make
# code of them for another one.
_OF_ONE_PROCESSOR = ("llvm.x86.", "llvm.aarch64.")
_DEFINITION = re.compile(r"^(define .*)\{$", re.MULTILINE)


def emit(assembly: str, symbol: str, processor: Processor) -> tuple[bytes, int]:
    """Machine code that runs wherever it is mapped, and where the function begins in it.

    :param assembly: the whole module, not optimised.
    :raises NotAlone: it would need something outside of it.
    :raises RuntimeError: this LLVM makes no code for that processor.
    """
    import llvmlite.binding as llvm

    _initialize()
    machine = llvm.Target.from_triple(processor.triple).create_target_machine(
        cpu=processor.cpu, features=processor.features, opt=3, reloc="pic", codemodel="small"
    )
    module = llvm.parse_assembly(_DEFINITION.sub(rf"\1 {_ATTRIBUTES} {{", assembly))
    module.triple, module.data_layout = processor.triple, str(machine.target_data)
    for function in module.functions:
        if function.is_declaration:
            if not function.name.startswith("llvm.") or function.name.startswith(_OF_ONE_PROCESSOR):
                raise NotAlone(f"it refers to {function.name}")
        else:
            function.linkage = "external" if function.name == symbol else "internal"
    _optimise(module, machine)
    return link(bytes(machine.emit_object(module)), symbol)


def _optimise(module: Any, machine: Any) -> None:
    import llvmlite.binding as llvm

    options = llvm.create_pipeline_tuning_options(speed_level=3)
    options.loop_vectorization, options.slp_vectorization = True, False
    passes = llvm.create_pass_builder(machine, options)
    passes.getModulePassManager().run(module, passes)


@cache
def _initialize() -> None:
    import llvmlite.binding as llvm

    with contextlib.suppress(RuntimeError):
        llvm.initialize()  # newer versions do it by themselves, and refuse
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()


__all__ = ["emit"]
