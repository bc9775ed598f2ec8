"""The machine code for AArch64 runs, in an emulator of that processor, on the memory of this process."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from stateextract.columnar.compiled import native
from stateextract.columnar.compiled.compile import Kernel
from stateextract.columnar.compiled.processors import ARM
from stateextract.job.execute import in_this_process
from stateextract.job.run import run_job
from stateextract.options import JobOptions

GOLDEN = Path(__file__).parents[1] / "golden" / "data"
PAGE = 4096
ROOM = 1 << 20
BEGIN, END = 1 << 44, (1 << 44) + (1 << 25)
"""What the emulator has for itself. A process has its memory lower (the heap of a program at a fixed address) or higher."""
CODE, STACK, RETURN = BEGIN, BEGIN + (1 << 22), BEGIN + (1 << 24)


@pytest.fixture
def emulated(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Kernels run as code for AArch64; gives the names of those that ran."""
    unicorn = pytest.importorskip("unicorn")
    from unicorn import arm64_const as registers

    ran: list[str] = []

    def map_page(machine: Any, access: int, address: int, size: int, value: int, data: Any) -> bool:
        for page in range(address // PAGE * PAGE, address + size, PAGE):
            if page >= 1 << 16 and not BEGIN <= page < END:
                machine.mem_map_ptr(page, PAGE, unicorn.UC_PROT_READ | unicorn.UC_PROT_WRITE, ctypes.c_void_p(page))
        return True

    def load(kernel: Kernel) -> Callable[..., Any]:
        code = native.Code.from_bytes(native._read(f"{kernel.name}.{ARM.name}"))
        assert code is not None

        def call(*arguments: Any) -> Any:
            ran.append(kernel.name)
            machine = unicorn.Uc(unicorn.UC_ARCH_ARM64, unicorn.UC_MODE_ARM)
            for address in (CODE, STACK):
                machine.mem_map(address, ROOM)
            machine.mem_map(RETURN, PAGE)
            machine.mem_write(CODE, code.content)
            machine.hook_add(unicorn.UC_HOOK_MEM_UNMAPPED, map_page)
            result, exception = native.RESULTS[code.result](), ctypes.c_void_p()
            top = STACK + ROOM - PAGE
            passed = [ctypes.addressof(result), ctypes.addressof(exception), *map(int, arguments)]
            for i, value in enumerate(passed):
                if i < 8:
                    machine.reg_write(getattr(registers, f"UC_ARM64_REG_X{i}"), value % (1 << 64))
                else:
                    machine.mem_write(top + 8 * (i - 8), (value % (1 << 64)).to_bytes(8, "little"))
            machine.reg_write(registers.UC_ARM64_REG_SP, top)
            machine.reg_write(registers.UC_ARM64_REG_X18, 18)
            machine.reg_write(registers.UC_ARM64_REG_LR, RETURN)
            # Vector registers, which the system turns on.
            machine.reg_write(registers.UC_ARM64_REG_CPACR_EL1, 3 << 20)
            machine.emu_start(CODE + code.entry, RETURN)
            assert machine.reg_read(registers.UC_ARM64_REG_X18) == 18, "which belongs to the system on macOS"
            return result.value

        return call

    monkeypatch.setattr(Kernel, "is_kept", property(lambda _: True))
    monkeypatch.setattr(Kernel, "prepare", load)
    monkeypatch.setattr(Kernel, "__call__", lambda kernel, *arguments: load(kernel)(*arguments))
    return ran


def extract(snapshot: Path, output: Path) -> dict[str, str]:
    """The rows of each dataset, as text: NaN is equal to NaN then."""
    run_job(JobOptions(snapshot=str(snapshot), output=str(output)), in_this_process)
    folders = sorted({file.parent for file in output.rglob("*.parquet")})
    return {folder.relative_to(output).as_posix(): str(pq.read_table(folder).to_pylist()) for folder in folders}


@pytest.mark.parametrize(
    ("name", "datasets", "kernels"),
    [
        (
            "f120-kryo-checkpoint-snappy", 50,
            {"columnar.convert.decimal_kernel.decimal_texts", "columnar.kernel.loop._run", "columnar.kernel.loop.run_kryo"},
        ),
        (
            "f120-sqlcore-native-rocksdb", 29,
            {
                "columnar.kernel.loop._run", "rocksdb.block_kernel._expand", "rocksdb.block_kernel._index",
                "rocksdb.block_kernel._plan", "rocksdb.kernel._merge",
            },
        ),
    ],
)  # fmt: skip
def test_the_code_for_arm_decodes_the_same(
    name: str, datasets: int, kernels: set[str], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    rows = extract(GOLDEN / name, tmp_path / "native")
    ran = request.getfixturevalue("emulated")
    assert extract(GOLDEN / name, tmp_path / "emulated") == rows
    assert len(rows) == datasets
    assert {name.removeprefix("stateextract.") for name in ran} == kernels
