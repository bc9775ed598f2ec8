"""What every compiled kernel here is made of: Numba when something is compiled, and loads and stores at addresses.

A kernel takes the addresses of arrays instead of the arrays: no bounds, no sign of the index and no strides to look up,
twice as fast, and therefore every kernel checks its bounds itself before it loads or stores. Numbers are ``int64``,
whose overflow is undefined: Numba's code for LLVM says that it never happens. Where numbers are to wrap, use ``uint64``.

A kernel is compiled when it is called and its machine code is not kept already (``native.py``). Numba and LLVM's builder
are imported then and not before, since that takes longer than most reads. Knows nothing of what the kernels decode.
"""

from __future__ import annotations

import contextlib
import importlib.util
import sys
import threading
from collections.abc import Callable, Iterator
from functools import cache, cached_property
from types import FunctionType
from typing import Any

from stateextract.columnar.compiled import native
from stateextract.columnar.compiled.emit import emit
from stateextract.columnar.compiled.linking import NotAlone
from stateextract.columnar.compiled.processors import PROCESSORS, usable
from stateextract.errors import EnvironmentProblem

OPTIONS = {"nogil": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True, "error_model": "numpy"}
"""Numba's options. Nothing raises: dividing by zero gives 0, and an exception would have to be one of Python's."""
COMPILE_ADVICE = "run pip install 'stateextract[compile]', which compiles it once on this machine"

class Intrinsic:
    """An operation in LLVM's terms, which takes the place of Numba's intrinsic until a kernel that uses it is compiled.

    :param define: as for ``numba.extending.intrinsic``.
    """

    def __init__(self, define: Callable[..., Any]) -> None:
        self.define = define

    @cached_property
    def numba(self) -> Any:
        """Numba's object."""
        from numba.extending import intrinsic

        return intrinsic(self.define)


class Kernel:
    """A function that is compiled, or whose machine code is loaded, when it is first called.

    It takes whole numbers, as ``int64``. Kernels that others call may take and give more.

    :param complete: makes the function that is compiled of the one that is given, when it is compiled. All local variables of
        this function are whole numbers.
    :param name: another name for its machine code than the function's.
    :param common: with ``complete``: how many cases of its longest chain of comparisons are much more frequent than the others,
        from the first one on; 0: none.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        complete: Callable[..., FunctionType] | None = None,
        name: str | None = None,
        common: int = 0,
    ) -> None:
        self.function = function
        self.name = f"{function.__module__}.{name or function.__name__}"
        self._complete = complete
        self._common = common
        self._lock = threading.Lock()
        self._ready: Callable[..., Any] | None = None

    @property
    def is_kept(self) -> bool:
        """Whether it can be called without being compiled before."""
        return self._ready is not None or self._loaded is not None

    @property
    def is_usable(self) -> bool:
        """Whether it can be called."""
        return self.is_kept or can_compile()

    @cached_property
    def _loaded(self) -> Callable[..., Any] | None:
        code = native.find(self.name)
        if code is not None:
            with contextlib.suppress(OSError):
                return native.load(code)
        return None

    def __call__(self, *arguments: Any) -> Any:
        ready = self._ready
        if ready is None:
            ready = self.prepare()
        return ready(*arguments)

    def prepare(self) -> Callable[..., Any]:
        """Load the machine code, compiling it if it is nowhere kept, which takes about a minute.

        :raises EnvironmentProblem: it is nowhere kept and cannot be compiled.
        """
        with self._lock:
            if self._ready is None:
                self._ready = self._loaded or self._compiled()
            return self._ready

    def _compiled(self) -> Callable[..., Any]:
        if not can_compile():
            import platform

            raise EnvironmentProblem(
                f"stateextract has no machine code for this machine ({platform.machine()}, {sys.platform})",
                advice=COMPILE_ADVICE,
            )
        codes = self.compile()
        native.keep(self.name, codes)
        for processor in usable():
            if processor.name in codes:
                with contextlib.suppress(OSError):
                    return native.load(codes[processor.name])
        import numba

        return numba.njit(nogil=True)(self._resolved())  # type: ignore[no-any-return]

    def compile(self) -> dict[str, native.Code]:
        """The machine code for each processor that LLVM has, by the processor's name.

        None of it if the code needs something of Numba when it runs.
        """
        import numba

        signature = (numba.types.int64,) * self.function.__code__.co_argcount
        with _compiling, _unoptimised():
            self.numba.compile(signature)
            made = self.numba.overloads[signature]
            assembly = made.library.get_llvm_str()
        result = str(numba.types.unliteral(made.signature.return_type))
        codes: dict[str, native.Code] = {}
        for processor in PROCESSORS if result in native.RESULTS else ():
            with contextlib.suppress(NotAlone, RuntimeError):
                content, entry = emit(assembly, made.fndesc.llvm_func_name, processor)
                codes[processor.name] = native.Code(len(signature), result, content, entry)
        return codes

    @cached_property
    def numba(self) -> Any:
        """Numba's object, for kernels that call this one. It has nothing by which Python could call it."""
        if self._complete is not None:
            from stateextract.columnar.compiled.pipeline import whole_numbers

            return whole_numbers(self._resolved(), OPTIONS, self._common)
        import numba

        return numba.njit(**OPTIONS)(self._resolved())

    def _resolved(self) -> FunctionType:
        """The function with Numba's objects in place of those that stand for them."""
        function = self.function if self._complete is None else self._complete(self.function)
        stands_for = {
            name: value.numba
            for name in function.__code__.co_names
            if isinstance(value := function.__globals__.get(name), Kernel | Intrinsic)
        }
        made = FunctionType(function.__code__, {**function.__globals__, **stands_for})
        made.__module__, made.__qualname__ = self.function.__module__, self.function.__qualname__
        return made


_compiling = threading.RLock()


@contextlib.contextmanager
def _unoptimised() -> Iterator[None]:
    """Numba gives what is the same for all processors: ``emit.py`` optimises it."""
    from numba.core import config
    from numba.core.registry import cpu_target

    cpu_target.target_context.codegen()  # it reads the setting once, for all that Numba compiles later
    level, config.OPT = config.OPT, type(config.OPT)(0)
    try:
        yield
    finally:
        config.OPT = level


@cache
def can_compile() -> bool:
    """Whether kernels can be compiled."""
    return importlib.util.find_spec("numba") is not None


def intrinsic(define: Callable[..., Any]) -> Any:
    """As ``numba.extending.intrinsic``, without Numba."""
    return Intrinsic(define)


def compile_kernel(
    function: Callable[..., Any],
    complete: Callable[..., FunctionType] | None = None,
    name: str | None = None,
    common: int = 0,
) -> Any:
    """As ``numba.njit``, without Numba where the machine code is kept; the other parameters are those of :class:`Kernel`."""
    return Kernel(function, complete, name, common)


def _load(bits: int, swap: bool, signed: bool = True) -> Any:
    @intrinsic
    def load(typingctx: Any, address: Any) -> Any:
        from llvmlite import ir
        from numba import types

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            number = ir.IntType(bits)
            value = builder.load(builder.inttoptr(args[0], number.as_pointer()), align=1)
            if swap:
                value = builder.bswap(value)
            if bits == 64:
                return value
            return builder.sext(value, ir.IntType(64)) if signed else builder.zext(value, ir.IntType(64))

        return types.int64(types.int64), codegen

    return load


def _store(bits: int) -> Any:
    @intrinsic
    def store(typingctx: Any, address: Any, value: Any) -> Any:
        from llvmlite import ir
        from numba import types

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            number = ir.IntType(bits)
            value = args[1] if bits == 64 else builder.trunc(args[1], number)
            builder.store(value, builder.inttoptr(args[0], number.as_pointer()), align=1)
            return context.get_dummy_value()

        return types.void(types.int64, types.int64), codegen

    return store


load_u8 = _load(8, False, signed=False)
load_u16 = _load(16, True, signed=False)
load_i16 = _load(16, True)
load_i32 = _load(32, True)
load_i64 = _load(64, True)
load_i16_le = _load(16, False)
load_i32_le = _load(32, False)
load_i64_le = _load(64, False)
store_8 = _store(8)
store_16 = _store(16)
store_32 = _store(32)
store_64 = _store(64)


@intrinsic
def at(typingctx: Any, array: Any, index: Any) -> Any:
    """An element of an int64 array given by its address. An intrinsic, because calls make compiling slow."""
    from numba import types

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load(_element(builder, args[0], args[1]), align=8)

    return types.int64(types.int64, types.int64), codegen


@intrinsic
def put(typingctx: Any, array: Any, index: Any, value: Any) -> Any:
    """Set an element of an int64 array given by its address."""
    from numba import types

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.store(args[2], _element(builder, args[0], args[1]), align=8)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), codegen


def _element(builder: Any, array: Any, index: Any) -> Any:
    from llvmlite import ir

    number = ir.IntType(64)
    address = builder.add(array, builder.shl(index, ir.Constant(number, 3)))
    return builder.inttoptr(address, number.as_pointer())


@intrinsic
def stay_apart(typingctx: Any) -> Any:
    """The calling function is not put into its callers, where its loops would take registers from theirs."""
    from numba import types

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.function.attributes.add("noinline")
        return context.get_dummy_value()

    return types.void(), codegen


@intrinsic
def copy_16(typingctx: Any, source: Any, target: Any) -> Any:
    """Copy sixteen bytes, all of which are read before the first one is written."""
    from llvmlite import ir
    from numba import types

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        sixteen = ir.VectorType(ir.IntType(64), 2).as_pointer()
        value = builder.load(builder.inttoptr(args[0], sixteen), align=1)
        builder.store(value, builder.inttoptr(args[1], sixteen), align=1)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64), codegen


@intrinsic
def as_float(typingctx: Any, bits: Any) -> Any:
    """The double of 64 bits."""
    from llvmlite import ir
    from numba import types

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], ir.DoubleType())

    return types.float64(types.int64), codegen


def _item(bits: int) -> Any:
    @intrinsic
    def item(typingctx: Any, array: Any, index: Any) -> Any:
        """An element of an array of signed integers given by its address.

        As ``at``, but LLVM sees that addresses follow one another: it makes vector instructions of loops over them.
        """
        from llvmlite import ir
        from numba import types

        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            value = builder.load(_pointed(builder, bits, args), align=1)
            return value if bits == 64 else builder.sext(value, ir.IntType(64))

        return types.int64(types.int64, types.int64), codegen

    return item


def _pointed(builder: Any, bits: int, args: Any) -> Any:
    from llvmlite import ir

    return builder.gep(builder.inttoptr(args[0], ir.IntType(bits).as_pointer()), [args[1]])


item_32 = _item(32)
item_64 = _item(64)


@intrinsic
def set_item_64(typingctx: Any, array: Any, index: Any, value: Any) -> Any:
    """Set an element that ``item_64`` gives."""
    from numba import types

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.store(args[2], _pointed(builder, 64, args), align=1)
        return context.get_dummy_value()

    return types.void(types.int64, types.int64, types.int64), codegen


@intrinsic
def lowest_bit(typingctx: Any, bits: Any) -> Any:
    """Which is the lowest bit of a number that is set; 64 of 0."""
    from llvmlite import ir
    from numba import types

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.uint64), codegen


@intrinsic
def at_row(typingctx: Any, array: Any, row: Any, index: Any) -> Any:
    """An element of a row of eight in an int64 array given by its address."""
    from llvmlite import ir
    from numba import types

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        number = ir.IntType(64)
        place = builder.add(builder.shl(args[1], ir.Constant(number, 3)), args[2])
        return builder.load(_element(builder, args[0], place), align=8)

    return types.int64(types.int64, types.int64, types.int64), codegen
