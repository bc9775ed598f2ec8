"""How fast the interpreter reads Kryo values of unknown structure (``Object``) beside that of another commit.

    python -m benchmarks.unknown_values COMMIT [--times 25] [--kind UUID]...

The values are those of ``tests/kryo`` that :mod:`benchmarks.kryo` names, as the entries of a state that declares ``Object``:
the class and JSON come out, in Arrow batches. Two processes, one of each version, read the same bytes in turn on the same
core. The least processor times are compared. The other version's files come out of git.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from benchmarks.against import PACKAGES, ROOT, Version, unpack
from benchmarks.kryo import KINDS
from benchmarks.measuring import Measurement, in_turn, one_core, show

GOAL = 3.0
"""How many times as fast the interpreter has to be as that of 0fa6a2f, at least."""
COPIES = 2000
WORKER = """
import json, sys, time
from dataclasses import replace
from functools import cache
try:
    from stateextract.columnar.convert.policy import Policy
    from stateextract.columnar.decode.decoder import make_decoder
except ImportError:
    from stateextract.columnar.decoder import make_decoder
    from stateextract.columnar.policy import Policy
from serializers import DescribeContext, describe
from stateextract.files.block import Block
from tests.kryo.zoo import models, vectors

@cache
def made(flavour, name, copies):
    (vector,) = (v for v in vectors("kryo") if (v.flavour, v.name) == (flavour, name))
    snapshot = replace(vector.snapshot, details={**vector.snapshot.details, "class": "java.lang.Object"})
    layout = describe(snapshot, DescribeContext(flavour, models()))
    return make_decoder(layout, Policy(), engine="interpreter"), Block.of(vector.data * copies), len(vector.data) * copies

def read(flavour, name, copies):
    decoder, block, size = made(flavour, name, copies)
    start = time.process_time()
    progress = decoder.decode(block, 0, size, copies)
    rows = decoder.flush()
    spent = time.process_time() - start
    assert (progress.entries, len(rows)) == (copies, copies)
    return spent, str(rows[copies - 1].as_py())

for line in sys.stdin:
    print(json.dumps(read(*json.loads(line))), flush=True)
"""
"""Uses only names that both versions have, or had."""


def compare(versions: Sequence[Version], flavour: int, name: str, times: int) -> Iterator[Measurement]:
    """Measure one kind of value."""
    request = flavour, name, COPIES
    results = [version.run(*request)[1] for version in versions]  # also looks up the classes
    assert results[0] == results[1], results
    before, now = in_turn(times, *(partial(version.seconds, *request) for version in versions))
    subject = f"{name}, Kryo {flavour}"
    yield Measurement(subject, "this tree", now / COPIES * 1e6, "µs a value")
    yield Measurement(subject, "this tree ÷ the commit, speed", before / now, "", GOAL, at_least=True)


def main() -> None:
    """Compare with the commit that is named."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("commit")
    parser.add_argument("--times", type=int, default=25)
    parser.add_argument("--kind", action="append", choices=KINDS)
    given = parser.parse_args()
    one_core()
    with ExitStack() as stack:
        other = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        unpack(given.commit, other, (*PACKAGES, "tests"))
        versions = [stack.enter_context(Version(root, WORKER)) for root in (other, ROOT)]
        for flavour in (2, 5):
            for name in given.kind or KINDS:
                show(compare(versions, flavour, name, given.times))


if __name__ == "__main__":
    main()
