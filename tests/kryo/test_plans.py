"""Kryo's values by the kernel: the same columns as by the interpreter."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any, Literal

import pyarrow as pa
import pytest

from serializers import DescribeContext, describe
from serializers.classes import ClassModels, class_model
from serializers.kryo.plans import written_name
from stateextract.columnar.convert.policy import Policy
from stateextract.columnar.decode.decoder import KernelDecoder, Stop, make_decoder
from stateextract.columnar.decode.pair_decoder import make_pair_decoder
from stateextract.columnar.layout import Field, Layout, List, Map, Nullable, Number, Python, Skip
from stateextract.columnar.program.pair_programs import PairLayout
from stateextract.errors import StateExtractError
from stateextract.files.block import Block
from tests.columnar.test_pair_decoder import framed
from tests.depth import examples
from tests.kryo.test_limits import mutated
from tests.kryo.test_vectors import ALL
from tests.kryo.writer import MODELS, SERIALIZERS, TUPLE, Thing, Writer, written
from tests.kryo.zoo import FLAVOURS, Vector, snapshot_of

BENT = Policy(strings="binary", timestamps="nanoseconds", maps="list")


def layout_of(vector: Vector, classes: ClassModels) -> Layout:
    return describe(vector.snapshot, DescribeContext(vector.flavour, classes, chill=vector.chill))  # type: ignore[arg-type]


def decoded(
    layout: Layout, values: Iterable[bytes], engine: str, policy: Policy = Policy(), rows: int = 1 << 16
) -> pa.Array:
    """All values, in batches of at most so many rows, through windows that end inside of a value."""
    decoder = make_decoder(layout, policy, engine=engine, batch_rows=rows)
    assert decoder.engine == ("interpreter" if engine == "interpreter" else "kernel")
    data = b"".join(values)
    block = Block.of(data)
    batches, pos, end = [], 0, min(len(data), 7)
    while pos < len(data):
        progress = decoder.decode(block, pos, end, 1 << 20)
        pos = progress.pos
        if progress.stop is Stop.FULL:
            batches.append(decoder.flush())
        else:
            assert end < len(data) or pos == len(data)
            end = min(len(data), end + 301)
    batches.append(decoder.flush())
    return pa.concat_arrays(batches)


def has_plan(vector: Vector, classes: ClassModels) -> bool:
    layout = layout_of(vector, classes)
    return isinstance(layout, Python) and layout.plan is not None


PLANNED = [(v, c) for v, c in ALL if has_plan(v, c)]


def test_most_types_have_plans() -> None:
    assert (len(PLANNED), len(ALL)) == (585, 616)


def alike() -> list[Any]:
    """The vectors of each layout."""
    groups: dict[int, tuple[Layout, list[Vector]]] = {}
    for vector, classes in PLANNED:
        layout = layout_of(vector, classes)
        groups.setdefault(id(layout), (layout, []))[1].append(vector)
    return [pytest.param(layout, vectors, id=str(vectors[0])) for layout, vectors in groups.values()]


@pytest.mark.parametrize(("layout", "vectors"), alike())
def test_vectors(layout: Layout, vectors: list[Vector]) -> None:
    """Every value twice, among those that are declared alike."""
    values = [vector.data for vector in (*vectors, *vectors[::-1])]
    values.insert(1, b"\0")
    for policy in (Policy(), BENT):
        expected = decoded(layout, values, "interpreter", policy)
        assert expected[0].is_valid or vectors[0].expected == "null"
        for rows in (1 << 16, 7):
            found = decoded(layout, values, "kernel", policy, rows)
            assert found.type == expected.type
            assert found.equals(expected) or str(found) == str(expected)  # NaN is not equal to itself
            found.validate(full=True)


# ---- random graphs of objects


DECLARED = ("w.Holder", "w.More", "w.Base", "w.Final", "java.lang.Object")
GRAPHS = [(declared, flavour) for declared in DECLARED for flavour in FLAVOURS]


def graphs(declared: str, flavour: int, shared: float, seed: int, count: int = 15) -> tuple[Layout, list[bytes]]:
    layout = describe(snapshot_of(declared, SERIALIZERS), DescribeContext(flavour, MODELS))  # type: ignore[arg-type]
    assert isinstance(layout, Python)
    assert layout.plan is not None
    random_ = random.Random(f"{declared} {flavour} {seed}")
    return layout, [written(flavour, declared, random_, shared) for _ in range(count)]


@pytest.mark.parametrize("shared", [0.02, 0.4])
@pytest.mark.parametrize(("declared", "flavour"), GRAPHS)
def test_graphs_of_heap(declared: str, flavour: int, shared: float) -> None:
    layout, values = graphs(declared, flavour, shared, 0)
    for policy in (Policy(), BENT):
        expected = decoded(layout, values, "interpreter", policy)
        for rows in (1 << 16, 3):
            assert decoded(layout, values, "kernel", policy, rows).equals(expected)
    data = b"".join(values)
    passed = make_decoder(layout, Policy(), keep=False).decode(Block.of(data), 0, len(data), 1 << 20)
    assert (passed.entries, passed.pos) == (len(values), len(data))


def pairs_of(shape: str, layout: Layout, values: list[bytes]) -> tuple[PairLayout, bytes]:
    """The values as those of a state, three each of a key: Canonical savepoints and RocksDB frame them alike."""
    made = Nullable(layout)
    value = {"value": layout, "list": List(layout), "map": Map(Number(pa.int32()), made)}[shape]
    fields = (Field("key", Number(pa.int32())), Field("namespace", Skip(1)), Field("value", value))
    data = b""
    for i in range(0, len(values), 3):
        head = b"\x05" + i.to_bytes(4, "big") + b"\0"
        if shape == "value":
            data += framed(head, values[i])
        elif shape == "list":
            data += framed(head, b",".join(values[i : i + 3]))
        else:
            data += b"".join(
                framed(head + j.to_bytes(4, "big"), b"\0" + value) for j, value in enumerate(values[i : i + 3])
            )
    return PairLayout(shape, fields, 1, False), data


def decoded_pairs(layout: PairLayout, data: bytes, engine: str, rows: int = 1 << 16, flat: bool = False) -> pa.Array:
    decoder = make_pair_decoder(layout, Policy(), engine, batch_rows=rows, flat=flat)
    assert decoder.engine == engine
    decoder.begin(5)
    block = Block.of(data)
    batches, pos, end = [], 0, min(len(data), 7)
    while pos < len(data):
        progress = decoder.decode(block, pos, end, 1 << 20)
        pos = progress.pos
        if progress.stop is Stop.FULL:
            batches.append(decoder.flush(last=False))
        elif progress.stop is Stop.UNDECODABLE:
            assert progress.error is not None
            raise progress.error
        else:
            assert end < len(data) or pos == len(data)
            end = min(len(data), end + 301)
    batches.append(decoder.flush(last=True))
    return pa.concat_arrays(batches)


@pytest.mark.parametrize("shape", ["value", "list", "map"])
@pytest.mark.parametrize(("declared", "flavour"), GRAPHS)
def test_graphs_of_pairs(declared: str, flavour: int, shape: str) -> None:
    kryo, values = graphs(declared, flavour, 0.1, 1)
    layout, data = pairs_of(shape, kryo, values)
    for flat in (False, True):
        expected = decoded_pairs(layout, data, "interpreter", flat=flat)
        for rows in (1 << 16, 3):
            assert decoded_pairs(layout, data, "kernel", rows, flat).equals(expected)


def test_what_the_kernel_reads_without_python() -> None:
    """Of the vectors, those whose plans are right; the others have what plans leave out."""
    named = (
        "String mixed", "UUID", "Instant", "mixed list", "map of ints", "Item", "Leaf", "Leaf as Base", "Drawing",
        "shared list",
    )  # fmt: skip
    by_name = {(vector.flavour, vector.name): (vector, classes) for vector, classes in reversed(PLANNED)}
    for flavour in (2, 5):
        assert [name for name in named if not is_read(*by_name[flavour, name])] == []
        assert [name for name in ("list in itself", "BitSet") if is_read(*by_name[flavour, name])] == []
    some = PLANNED[::7]
    assert (sum(is_read(*each) for each in some), len(some)) == (74, 84)


def is_read(vector: Vector, classes: ClassModels) -> bool:
    """Whether the kernel reads a vector."""
    decoder = make_decoder(layout_of(vector, classes), Policy())
    assert isinstance(decoder, KernelDecoder)
    decoder.decode(Block.of(vector.data), 0, len(vector.data), 1)
    assert decoder.look_ahead is not None
    return decoder.look_ahead.passed == 1


@pytest.mark.parametrize("declared", ["java.util.ArrayList", TUPLE])
@pytest.mark.parametrize("flavour", FLAVOURS)
def test_tuples_in_what_may_be_anything(flavour: Literal[2, 5], declared: str) -> None:
    writer = Writer(flavour, declared, random.Random(1))
    pair = Thing(TUPLE, {"f0": Thing("java.lang.String", "a"), "f1": Thing("java.lang.Long", 7)})
    things = Thing("java.util.ArrayList", [pair, Thing(TUPLE, {"f0": None, "f1": pair})])
    writer.value(Thing(TUPLE, {"f0": things, "f1": None}) if declared == TUPLE else things)
    layout = describe(snapshot_of(declared), DescribeContext(flavour, MODELS))
    decoder = make_decoder(layout, Policy(), engine="kernel")
    assert decoder.decode(Block.of(bytes(writer.out)), 0, len(writer.out), 1).stop is Stop.DONE
    assert isinstance(decoder, KernelDecoder)
    assert decoder.look_ahead is not None
    assert decoder.look_ahead.passed == 1
    pair_json = f'{{"$class":"{TUPLE}","f0":"a","f1":7}}'
    found = {"class": "java.util.ArrayList", "json": f'[{pair_json},{{"$class":"{TUPLE}","f0":null,"f1":{pair_json}}}]'}
    assert decoder.flush().to_pylist() == [{"f0": found, "f1": None} if declared == TUPLE else found]


def test_objects_that_are_referred_to_again_and_again() -> None:
    """Lists of twice the same list, of twice the same list, and so on, which would have 2^60 elements."""
    writer = Writer(5, "java.util.ArrayList", random.Random(1))
    inner = Thing("java.util.ArrayList", [Thing("java.lang.Integer", 1)])
    for _ in range(60):
        inner = Thing("java.util.ArrayList", [inner, inner])
    writer.value(inner)
    layout = describe(snapshot_of("java.util.ArrayList"), DescribeContext(5, MODELS))
    expected, found = (outcome(layout, bytes(writer.out), engine) for engine in ("interpreter", "kernel"))
    assert found == expected
    assert "more than 2097152 parts" in found[0]


def outcome(layout: Layout, data: bytes, engine: str) -> tuple[str, int, str]:
    """How far it comes, what it says, and what was read before."""
    decoder = make_decoder(layout, Policy(), engine=engine)
    said, pos = "", 0
    try:
        progress = decoder.decode(Block.of(data), 0, len(data), 1 << 20)
        said, pos = progress.stop.name, progress.pos
    except StateExtractError as error:
        said = f"{type(error).__name__} {error}"
    read = decoder.flush()
    try:
        return said, pos, str(read.to_pylist())
    except OverflowError:  # dates that Python does not have
        return said, pos, str(len(read))


@pytest.mark.parametrize(("declared", "flavour"), GRAPHS)
def test_damage(declared: str, flavour: int) -> None:
    """The same error, in the same words, and the same values before it."""
    refused, cases = 0, examples(15)
    for seed in range(cases):
        layout, values = graphs(declared, flavour, 0.05, seed, 3)
        data = b"".join([values[0], mutated(values[1], random.Random(seed)), values[2]])
        expected, found = (outcome(layout, data, engine) for engine in ("interpreter", "kernel"))
        assert found == expected
        refused += "Error" in found[0]
    assert refused > cases // 6


def test_the_length_of_a_class_name_in_one_byte() -> None:
    """The class of an array's elements, which is not looked at: seven characters, of which the first looks like more length."""
    layout = describe(snapshot_of("java.util.Arrays$ArrayList"), DescribeContext(2, MODELS))
    data = b"\1\0" + (written_name("java.util.Arrays$ArrayList", 2) or b"") + b"\1\0\1\1\x88\6abcdef"
    expected, found = (outcome(layout, data, engine) for engine in ("interpreter", "kernel"))
    assert found == expected
    assert found[1] == len(data)


@pytest.mark.parametrize("flavour", FLAVOURS)
def test_classes_whose_names_end_alike(flavour: Literal[2, 5]) -> None:
    """In the table by which classes are found they have one place: names are compared as a whole, of any length."""
    names = [f"com.{part}{letter}.OrderEvent" for part in ("", "long." * 13) for letter in "abcdefgh"]
    classes = ClassModels.of(class_model({"name": name, "fields": {"x": "int"}}) for name in names)
    layout = describe(snapshot_of("java.lang.Object"), DescribeContext(flavour, classes))
    written = [written_name(name, flavour) for name in names]
    values = [b"\1\0" + name + b"\1" + bytes([2 * i]) for i, name in enumerate(written) if name is not None]
    assert len(values) == 16
    found = decoded(layout, values, "kernel")
    assert found.to_pylist() == [{"class": name, "json": f'{{"x":{i}}}'} for i, name in enumerate(names)]
    assert found.equals(decoded(layout, values, "interpreter"))
