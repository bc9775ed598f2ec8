"""Damages golden files in memory and reads them: ``python -m tests.state.mutations CASE SEED COUNT ENGINE``.

Runs in a process of its own, under a limit of memory that is set here, because what it looks for are crashes, endless
loops and huge allocations. Prints a JSON summary. Every mutation is made from the seed and its number alone.
"""

from __future__ import annotations

import json
import random
import sys
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

from stateextract.errors import StateExtractError
from stateextract.files.filesystem import Store
from stateextract.metadata.locate import Locator, find_snapshot
from stateextract.metadata.model import KeyGroupsHandle
from stateextract.metadata.parser import parse_metadata
from stateextract.snapshot.headers import HeaderReader
from stateextract.state.bodies.body import BodyKind, body_kind
from stateextract.state.bodies.heap import key_group_ranges
from stateextract.state.counters import Counters
from stateextract.state.engine import read_key_groups
from stateextract.state.header import parse_header
from stateextract.state.state_columns import ReadOptions
from stateextract.state.target import FileRead
from tests.conformance.handles import KeyedFile, keyed_files
from tests.mutation_runs import limited

DATA = Path(__file__).resolve().parents[1] / "golden" / "data"
LENGTHS = (b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff", b"\x80\x00\x00\x00", b"\x00\x0f\xff\xff", b"\x00\x00\x00\x00")


def mutated(data: bytes, random_: random.Random, start: int, end: int) -> tuple[bytes, int]:
    """The bytes with one piece of damage between ``start`` and ``end``, and where it is."""
    at = random_.randrange(start, max(end, start + 1))
    kind = random_.randrange(6)
    if kind <= 1:
        return data[:at] + bytes([data[at] ^ (1 << random_.randrange(8))]) + data[at + 1 :], at
    if kind == 2:
        return data[:at] + random_.randbytes(1) + data[at + 1 :], at
    if kind == 3:
        return data[:at] + random_.choice(LENGTHS) + data[at + 4 :], at
    if kind == 4:
        return data[:at], at
    n = random_.randrange(1, 9)
    return (data[:at] + data[at + n :] if random_.randrange(2) else data[:at] + random_.randbytes(n) + data[at:]), at


def read_metadata(data: bytes, folder: Path) -> None:
    """A damaged ``_metadata``: all of it, and the heads it leads to."""
    store = Store()
    found = find_snapshot(str(folder), store)
    metadata = parse_metadata(data)
    for file in HeaderReader(metadata, data, Locator(found, store)).read(1):
        if file.problem is not None:
            assert isinstance(file.problem, StateExtractError)


def read_file(file: KeyedFile, data: bytes, at: int, options: ReadOptions) -> None:
    """A damaged state file: its head, and the key groups around the damage."""
    handle = file.handle
    assert isinstance(handle, KeyGroupsHandle)
    head = parse_header(data, 0, min(file.header_end, len(data)))

    def read_at(offset: int, n: int) -> bytes:
        return data[offset : offset + n]

    form = body_kind(handle.code, handle.offsets, handle.first, head.compressed, read_at, states=len(head.states))
    if form is not BodyKind.HEAP:
        return
    ranges = key_group_ranges(handle.first, handle.offsets, max(len(data), handle.offsets[-1] + 1))
    near = [r for r in ranges if r.end > at][:3] if at >= file.header_end else ranges[:3]
    wanted = {meta.name for meta in head.states}
    for piece in read_key_groups(read_at, head, near, FileRead(wanted, options, Counters(), file.subtask)):
        piece.batch.validate(full=True)


def run(case: str, seed: int, count: int, engine: str) -> dict[str, Any]:
    document = json.loads((DATA / case / "expected.json").read_text())
    folder = DATA / case / document["snapshot"]
    metadata = (folder / "_metadata").read_bytes()
    files = [f for f in keyed_files(folder) if isinstance(f.handle, KeyGroupsHandle)]
    outcomes: Counter[str] = Counter()
    unexpected: list[str] = []
    slowest = 0.0
    if engine == "kernel":
        read_file(files[0], files[0].data, 0, ReadOptions(engine=engine, on_undecodable="skip"))
    grown = limited()
    for number in range(count):
        random_ = random.Random(f"{case} {seed} {number}")
        began = time.process_time()
        region = ("metadata", "head", "body", "body")[number % 4]
        try:
            if region == "metadata":
                read_metadata(mutated(metadata, random_, 0, len(metadata))[0], folder)
            else:
                file = random_.choice(files)
                area = (0, file.header_end) if region == "head" else (file.header_end, len(file.data))
                data, at = mutated(file.data, random_, *area)
                options = ReadOptions(
                    on_undecodable=random_.choice(["fail", "skip", "raw"]),  # type: ignore[arg-type]
                    verify_checksums=random_.random() < 0.5,
                    engine=engine,
                )
                read_file(file, data, at, options)
            outcomes[f"{region}: read"] += 1
        except StateExtractError as error:
            outcomes[f"{region}: {type(error).__name__}"] += 1
        except BaseException:
            unexpected.append(f"{case} {seed} {number} {region}: {traceback.format_exc()[-1500:]}")
        slowest = max(slowest, time.process_time() - began)
    return {"outcomes": dict(outcomes), "unexpected": unexpected, "slowest": slowest, "grown": grown()}


if __name__ == "__main__":
    print(json.dumps(run(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4])))
