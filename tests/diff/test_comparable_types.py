"""Where the order of elements means nothing, by the layouts of serializers."""

from __future__ import annotations

from dataclasses import replace

import pytest

from stateextract.columnar.layout import Field, Layout, List, Map, Nullable, Struct, Text
from stateextract.diff.comparable_types import PLAIN, Shape, hidden_at, layout_shape, merged
from stateextract.diff.diff_plan import DiffOptions, make_diff_plan
from stateextract.options import JobOptions
from tests.diff.pairs import golden

SET = List(Text(), unordered=True)
PAIRS = Map(Text(), SET, as_list=True)


@pytest.mark.parametrize(
    ("layout", "shape"),
    [
        (Text(), PLAIN),
        (List(Text()), PLAIN),
        (Nullable(SET), Shape(unordered=True)),
        (Struct((Field("a", Text()), Field("b", SET))), Shape(children={"b": Shape(unordered=True)})),
        (
            List(PAIRS),
            Shape(
                children={
                    "element": Shape(
                        unordered=True, children={"element": Shape(children={"value": Shape(unordered=True)})}
                    )
                }
            ),
        ),
    ],
)
def test_layouts(layout: Layout, shape: Shape) -> None:
    assert layout_shape(layout) == shape


def test_what_one_file_knows_holds_for_all() -> None:
    one, other = Shape(children={"a": Shape(unordered=True)}), Shape(children={"b": Shape(ignored=True)})
    assert merged([PLAIN, one, other]) == Shape(children={"a": Shape(unordered=True), "b": Shape(ignored=True)})
    hidden = hidden_at(one, ("a", "element", "x"))
    assert hidden.of("a") == replace(one.of("a"), children={"element": Shape(children={"x": Shape(ignored=True)})})


def _unordered(case: str, **options: object) -> set[str]:
    """Keyed states whose values are not in an order, by the plan of a comparison with themselves."""
    job = JobOptions(snapshot=golden(case), out_of_range="null", maps="list", **options)  # type: ignore[arg-type]
    states = make_diff_plan(job, job, DiffOptions()).states
    return {s.name for s in states if s.how is not None and s.how.shape.of("value").unordered}


def test_sets_and_maps_of_flink_and_of_scala() -> None:
    assert _unordered("f20-types-checkpoint-snappy") == {
        "set-of-longs", "set-of-strings", "persons-by-name", "map-null-key", "map-to-longs", "tuple-to-list", "int-to-void",
        "map-to-lists", "map-of-maps", "enum-to-bytes",
    }  # fmt: skip
    assert _unordered("f120-scala-checkpoint") == {"set", "sizes", "map", "map-nested"}
