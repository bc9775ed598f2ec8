"""Writes a snapshot of very many small files, to measure planning: every file's head has to be read.

    python tests/writers/plan_files.py --output /data/plan

makes 5,000 files of 128 key groups each: 50 operators with 100 subtasks and a max parallelism of 12,800. A third of the
key groups is empty.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

if __package__ in (None, ""):
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.writers.generate import PlannedOperator, PlannedState, Written, write_snapshot

SHAPES = ("pojo", "map", "list", "nested")


def write_plan_files(
    directory: Path,
    operators: int = 50,
    files: int = 100,
    key_groups: int = 128,
    entries: int | None = None,
    seed: int = 1,
    compression: str = "none",
) -> Written:
    """A snapshot of ``operators * files`` files.

    :param key_groups: in each file.
    :param entries: of each operator; as many as it has key groups if not given.
    """
    total = files * key_groups
    plans = [
        PlannedOperator(f"step-{n:03}", [PlannedState(SHAPES[n % len(SHAPES)], entries or total)], files, total)
        for n in range(operators)
    ]
    return write_snapshot(directory, plans, seed, compression)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description="Write a snapshot of many small state files, to measure how long planning takes."
    )
    parser.add_argument("--output", type=Path, required=True, metavar="DIR", help="the checkpoint directory to make")
    parser.add_argument("--operators", type=int, default=50)
    parser.add_argument("--files", type=int, default=100, help="parallelism: files per operator (default 100)")
    parser.add_argument("--key-groups", type=int, default=128, help="key groups in each file (default 128)")
    parser.add_argument("--entries", type=int, help="entries per operator (default: one per key group)")
    parser.add_argument("--compression", choices=["none", "snappy"], default="none")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args(arguments)
    try:
        written = write_plan_files(
            args.output, args.operators, args.files, args.key_groups, args.entries, args.seed, args.compression
        )
    except (ValueError, FileExistsError) as error:
        parser.error(str(error))
    print(json.dumps({**asdict(written), "entries": sum(written.entries.values())}))


if __name__ == "__main__":
    main()
