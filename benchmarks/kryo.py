"""How fast Kryo values are decoded: values per second of the slow way, by kind of value.

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
COPIES = 2000


def speed(vector: Vector, seconds: float) -> tuple[float, float]:
    """Values and megabytes per second, Arrow arrays included."""
    layout = describe(vector.snapshot, DescribeContext(vector.flavour, models()))  # type: ignore[arg-type]
    decoder = make_decoder(layout, Policy())
    block, size = Block.of(vector.data * COPIES), len(vector.data) * COPIES
    decoder.decode(block, 0, size, COPIES)
    decoder.flush()
    start = time.perf_counter()
    values = 0
    while time.perf_counter() - start < seconds:
        position = 0
        while position < size:
            progress = decoder.decode(block, position, size, COPIES)
            values, position = values + progress.entries, progress.pos
            if progress.stop is Stop.FULL:
                decoder.flush()
        decoder.flush()
    took = time.perf_counter() - start
    return values / took, values * len(vector.data) / took / 1e6


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 1.0
    print(f"{'value':14}{'Kryo':>5}{'bytes':>7}{'values/s':>11}{'MB/s':>7}")
    for vector in vectors("kryo"):
        if vector.name in KINDS:
            values, megabytes = speed(vector, seconds)
            print(f"{vector.name:14}{vector.flavour:5}{len(vector.data):7}{values:11,.0f}{megabytes:7.2f}")


if __name__ == "__main__":
    main()
