"""How fast pickles become JSON: small tuples, as PyFlink jobs keep them, on one core.

python -m benchmarks.pickle_values [--values 200000] [--times 3]
"""

from __future__ import annotations

import argparse
import pickle
from collections.abc import Iterator

import orjson

from benchmarks.decode import best
from benchmarks.measuring import Measurement, Size, in_turn, one_core, show
from stateextract.columnar.convert.pickles_to_json import pickle_texts
from stateextract.files.pickles import PickleNotes

GOAL = 0.6
"""Million values a second."""


def measure(count: int, times: int) -> Iterator[Measurement]:
    """Tuples of a number, a text and a floating point number; also by C's unpickler and orjson, which execute pickles."""
    rows = [(number, f"user-{number}", number / 8) for number in range(count)]
    data = [pickle.dumps(row) for row in rows]
    assert [tuple(orjson.loads(text)) for text in pickle_texts(data[:100], PickleNotes()).to_pylist()] == rows[:100]
    ours, theirs = in_turn(
        times,
        lambda: best(lambda: pickle_texts(data, PickleNotes()), 1),
        lambda: best(lambda: [orjson.dumps(pickle.loads(one)) for one in data], 1),
    )
    yield Measurement("tuples of three", "pickle to JSON", count / ours / 1e6, "M values/s", GOAL, at_least=True)
    yield Measurement("tuples of three", "pickle.loads and orjson", count / theirs / 1e6, "M values/s")


def benchmark(size: Size) -> Iterator[Measurement]:
    """200,000 tuples."""
    one_core()
    return measure(int(200_000 * size.factor), size.times)


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--values", type=int, default=200_000)
    parser.add_argument("--times", type=int, default=3)
    options = parser.parse_args()
    one_core()
    show(measure(options.values, options.times))


if __name__ == "__main__":
    main()
