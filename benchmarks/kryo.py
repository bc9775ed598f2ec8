"""How fast Kryo values are decoded: values per second of the kernel and of the interpreter, by kind of value.

Each vector of ``tests/kryo`` named below stands for a kind of value; it is decoded into Arrow batches over and over, as
the entries of a state are. Usage: ``python -m benchmarks.kryo [SECONDS]``.
"""

from __future__ import annotations

import sys
import time

from serializers import DescribeContext, describe
from stateextract.columnar.convert.policy import Policy
from stateextract.columnar.decode.decoder import Stop, make_decoder
from stateextract.files.block import Block
from tests.kryo.zoo import Vector, models, vectors

KINDS = ("String 33", "UUID", "Instant", "Item", "Leaf", "Drawing", "mixed list", "map of ints", "Holder")
COPIES = {"auto": 50_000, "interpreter": 2000}


def speed(vector: Vector, seconds: float, engine: str) -> float:
    """Values per second, Arrow arrays included."""
    layout = describe(vector.snapshot, DescribeContext(vector.flavour, models()))  # type: ignore[arg-type]
    decoder, copies = make_decoder(layout, Policy(), engine=engine), COPIES[engine]
    block, size = Block.of(vector.data * copies), len(vector.data) * copies
    decoder.decode(block, 0, size, copies)
    decoder.flush()
    start = time.perf_counter()
    values = 0
    while time.perf_counter() - start < seconds:
        position = 0
        while position < size:
            progress = decoder.decode(block, position, size, copies)
            values, position = values + progress.entries, progress.pos
            if progress.stop is Stop.FULL:
                decoder.flush()
        decoder.flush()
    return values / (time.perf_counter() - start)


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    print(f"{'value':14}{'Kryo':>5}{'bytes':>7}{'values/s':>12}{'interpreter':>13}{'times':>7}")
    for vector in vectors("kryo"):
        if vector.name in KINDS:
            values, slowly = (speed(vector, seconds, engine) for engine in ("auto", "interpreter"))
            print(f"{vector.name:14}{vector.flavour:5}{len(vector.data):7}{values:12,.0f}{slowly:13,.0f}{values / slowly:7.1f}")


if __name__ == "__main__":
    main()
