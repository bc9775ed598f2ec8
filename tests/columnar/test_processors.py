"""Which processor's code a machine takes, and object files made into runs of bytes."""

from __future__ import annotations

import struct
import sys
from collections import namedtuple
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from stateextract.columnar.compiled import processors
from stateextract.columnar.compiled.emit import emit
from stateextract.columnar.compiled.linking import NotAlone, link
from stateextract.columnar.compiled.processors import ARM, AVX2, BASELINE

MODERN = "fpu sse2 ssse3 sse4_1 fma movbe xsave avx f16c abm bmi1 avx2 bmi2 erms"
System = namedtuple("System", "machine")


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    def be(platform: str, name: str, flags: str | None = None) -> tuple[processors.Processor, ...]:
        file = tmp_path / "cpuinfo"
        file.unlink(missing_ok=True)
        if flags is not None:
            file.write_text(f"processor\t: 0\nmodel name\t: X\nflags\t\t: {flags}\nbugs\t\t:\n\nflags\t\t: {MODERN}\n")
        monkeypatch.setattr(sys, "platform", platform)
        monkeypatch.setattr(processors.os, "uname", lambda: System(name))
        monkeypatch.setattr(processors._flags, "__defaults__", (file,))
        processors.usable.cache_clear()
        return processors.usable()

    yield be
    monkeypatch.undo()
    processors.usable.cache_clear()


def test_the_levels_of_machines(machine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    assert machine("linux", "x86_64", MODERN) == (AVX2, BASELINE)
    for feature in ("avx2", "bmi2", "movbe", "abm", "xsave"):
        assert machine("linux", "x86_64", MODERN.replace(f" {feature}", "")) == (BASELINE,), feature
    assert machine("linux", "x86_64", None) == (BASELINE,), "a sandbox without /proc"
    assert machine("linux", "aarch64", None) == machine("darwin", "arm64") == (ARM,)
    for platform, name in (("darwin", "x86_64"), ("linux", "ppc64le"), ("linux", "i686"), ("freebsd14", "amd64")):
        assert machine(platform, name, MODERN) == ()
    monkeypatch.setattr(sys, "maxsize", 2**31 - 1)
    assert machine("linux", "x86_64", MODERN) == ()


# A table of constants, which the compiler puts behind the code, and a function that it does not inline.
TABLE = """
@numbers = internal constant [4 x i64] [i64 7, i64 11, i64 13, i64 17]
define i32 @inner(ptr %result, i64 %i) noinline {
  %at = getelementptr [4 x i64], ptr @numbers, i64 0, i64 %i
  %number = load i64, ptr %at
  store i64 %number, ptr %result
  ret i32 0
}
define i32 @outer(ptr %result, ptr %exception, i64 %i) {
  %status = call i32 @inner(ptr %result, i64 %i)
  ret i32 %status
}
"""


def test_constants_are_behind_the_code() -> None:
    for processor in (BASELINE, AVX2, ARM):
        content, entry = emit(TABLE, "outer", processor)
        assert content.endswith(struct.pack("<4q", 7, 11, 13, 17))
        assert 0 <= entry < len(content) - 32


HEADER = "define i32 @f(ptr %result, ptr %exception, i64 %i)"
OUTSIDE = """
declare i64 @other(i64)
HEADER {
  %value = call i64 @other(i64 %i)
  store i64 %value, ptr %result
  ret i32 0
}
"""
WRITTEN = """
@number = internal global i64 5
HEADER {
  %value = load i64, ptr @number
  store i64 %i, ptr @number
  store i64 %value, ptr %result
  ret i32 0
}
"""
ABSOLUTE = """
@number = internal constant i64 5
@pointers = internal constant [2 x ptr] [ptr @number, ptr @f]
HEADER {
  %at = getelementptr [2 x ptr], ptr @pointers, i64 0, i64 %i
  %value = load ptr, ptr %at
  store ptr %value, ptr %result
  ret i32 0
}
"""


@pytest.mark.parametrize(
    ("assembly", "problem"),
    [
        (OUTSIDE, "it refers to other"),
        (WRITTEN, "it refers to |data that is written"),
        (ABSOLUTE, "it refers to |data that is written"),
        (TABLE, "no function f"),
    ],
    ids=["a function of elsewhere", "data that is written", "absolute addresses", "no such function"],
)
def test_what_does_not_run_by_itself(assembly: str, problem: str) -> None:
    for processor in (BASELINE, ARM):
        with pytest.raises(NotAlone, match=problem):
            emit(assembly.replace("HEADER", HEADER), "f", processor)


def test_loops_do_not_become_calls() -> None:
    """LLVM would make C's ``memset`` of this one."""
    assembly = """
define i32 @f(ptr %r, ptr %e, i64 %n) {
start:
  br label %loop
loop:
  %i = phi i64 [0, %start], [%next, %loop]
  %at = getelementptr i8, ptr %r, i64 %i
  store i8 0, ptr %at
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %end
end:
  ret i32 0
}
"""
    for processor in (BASELINE, AVX2, ARM):
        emit(assembly, "f", processor)


def test_an_unknown_relocation_is_refused() -> None:
    import llvmlite.binding as llvm

    emit(TABLE, "outer", BASELINE)  # LLVM is ready then
    machine = llvm.Target.from_triple(BASELINE.triple).create_target_machine(cpu="x86-64", reloc="static", codemodel="large")
    with pytest.raises(NotAlone, match="relocation of type"):
        link(bytes(machine.emit_object(llvm.parse_assembly(TABLE))), "outer")
