"""What damaged and hostile bytes can do: an error of ours, in bounded time and memory."""

from __future__ import annotations

import random
import zipfile
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pytest

from serializers import DescribeContext, describe
from serializers.classes import ClassModels, class_model
from serializers.classfile import read_class
from serializers.kryo.json_texts import json_text
from serializers.kryo.kryo_reader import Kryo
from stateextract.columnar.interpreter import interpret
from stateextract.columnar.layout import Layout
from stateextract.errors import FormatError, StateExtractError, TruncatedError, UndecodableError, ValueRefusedError
from stateextract.files.filesystem import Store
from stateextract.snapshot.describe_contexts import read_classes
from tests.kryo.zoo import BY_HAND, JAR, SCALA_JAR, Vector, models, snapshot_of, vectors

SEEDS = 25


def mutated(data: bytes, random_: random.Random) -> bytes:
    out = bytearray(data)
    for _ in range(random_.randint(1, 4)):
        kind = random_.randrange(4)
        at = random_.randrange(len(out)) if out else 0
        if kind == 0 and out:
            out[at] = random_.randrange(256)
        elif kind == 1:
            out[at:at] = random_.randbytes(random_.randint(1, 4))
        elif kind == 2 and out:
            del out[at : at + random_.randint(1, 4)]
        elif out:
            out[at] ^= 1 << random_.randrange(8)
    return bytes(out)


def outcomes(layout: Layout, damaged: Iterable[bytes]) -> tuple[int, int]:
    """How many values are read all the same, as values of their column, and how many are refused by an error of ours."""
    read = refused = 0
    for data in damaged:
        try:
            value, end = interpret(layout, data, 0, len(data))
        except StateExtractError:
            refused += 1
            continue
        assert end <= len(data)
        pa.array([value], layout.wire_type)
        read += 1
    return read, refused


FAMILIES = [("spec", BY_HAND), ("kryo", models()), ("scala", models(SCALA_JAR)), ("libraries", BY_HAND)]


@pytest.mark.parametrize(("stem", "classes"), FAMILIES, ids=[stem for stem, _ in FAMILIES])
def test_mutated_values(stem: str, classes: ClassModels) -> None:
    random_ = random.Random(stem)
    read = refused = 0
    for vector in vectors(stem):
        context = DescribeContext(vector.flavour, classes, chill=vector.chill)  # type: ignore[arg-type]
        layout = describe(vector.snapshot, context)
        found = outcomes(layout, (mutated(vector.data, random_) for _ in range(SEEDS)))
        read, refused = read + found[0], refused + found[1]
    assert min(read, refused) > 100


def test_mutated_class_files() -> None:
    random_ = random.Random(7)
    with zipfile.ZipFile(JAR) as jar:
        # Of classes of enum constants nothing but the beginning is read.
        files = [jar.read(name) for name in jar.namelist() if "$Op$" not in name]
    read = 0
    for data in files:
        for end in range(0, len(data), 7):
            with pytest.raises(StateExtractError):
                read_class(data[:end])
        for _ in range(4 * SEEDS):
            try:
                read_class(mutated(data, random_))
                read += 1
            except StateExtractError:
                pass
    assert read > 0


def test_mutated_jars(tmp_path: Path) -> None:
    random_ = random.Random(8)
    data = JAR.read_bytes()
    whole, places = 0, []
    for i in range(3 * SEEDS):
        place = tmp_path / f"{i}.jar"
        place.write_bytes(mutated(data, random_))
        try:
            whole += len(list(read_classes(str(place), Store())))
        except StateExtractError as error:
            places.append((str(place), error.file or ""))
    assert whole > 0
    assert places
    assert all(file.startswith(place) for place, file in places)


def kryo(flavour: int, declared: str = "java.lang.Object", classes: ClassModels | None = None) -> Kryo:
    vector = Vector(flavour, "", declared, "", b"", snapshot_of(declared))
    return vector.kryo(classes or ClassModels())


@pytest.mark.parametrize("flavour", [2, 5])
def test_depth(flavour: int) -> None:
    one = {2: "570101", 5: "570102"}[flavour]
    with pytest.raises(FormatError, match="nested more than 150 deep"):
        kryo(flavour, "java.util.ArrayList").read(bytes.fromhex(one * 1000), 0, 1000 * 3)


@pytest.mark.parametrize(
    ("flavour", "data", "error"),
    [
        (2, "5701ffffffff07", TruncatedError),  # two thousand million elements
        (5, "5701ffffffff0f03", TruncatedError),
        (5, "5701ffffffff0f00", FormatError),  # as many nulls, which take no bytes
        (5, "5701ffffffffff", FormatError),
        (2, "01020061e2", FormatError),  # a class name's number that skips one
        (2, "0301ffffffff0f", TruncatedError),  # a string's length
        (2, "0305", FormatError),  # a reference to what is not there
        (2, "5702", FormatError),
        (2, "28", UndecodableError),  # a class number of Scala's, which a cluster without flink-scala does not know
        (2, "4c01ffffffff0f", TruncatedError),  # words of a bit set
    ],
)
def test_impossible_numbers(flavour: int, data: str, error: type[StateExtractError]) -> None:
    raw = bytes.fromhex(data)
    with pytest.raises(error) as caught:
        kryo(flavour, "java.util.ArrayList").read(raw, 0, len(raw))
    assert caught.value.offset is not None


def test_elements_without_bytes_are_bounded_in_all_of_a_value() -> None:
    """Lists of a million nulls each, and parts of one list many times."""
    nulls = bytes.fromhex("5701c080800100")
    for count, bounded in ((4, False), (5, True)):
        data = bytes([0x57, 1, count + 1]) + nulls * count
        if bounded:
            with pytest.raises(FormatError, match="more than 4194304 elements without bytes"):
                kryo(5, "java.util.ArrayList").read(data, 0, len(data))
        else:
            value, end = kryo(5, "java.util.ArrayList").read(data, 0, len(data))
            assert (end, [len(item.value) for item in value.value]) == (len(data), [1_048_575] * 4)
    vector = next(v for v in vectors("libraries") if (v.name, v.flavour) == ("part of an array list", 2))
    names = [b"java.util.ArrayList" + end for end in (b"", b"$SubList")]
    names = [name[:-1] + bytes([name[-1] | 0x80]) for name in names]
    part = b"\1\1\1\1\0\3\0\x80\x20"  # of the list, object 1, the elements 0 to 4,096
    data = b"\1\0" + names[0] + b"\1\x82\x10" + b"\1\0\1\x80\x20" + b"\2\2" * 4096
    data += b"\1\1" + names[1] + part[2:] + part * 2048
    with pytest.raises(FormatError, match="more than 4194304 elements without bytes"):
        vector.kryo(BY_HAND).read(data, 0, len(data))


def test_many_references_to_few_objects() -> None:
    """Thirty lists, each of which holds the next one twice, are a thousand million elements when written out."""
    levels = 30
    data = bytes.fromhex("570102") * levels + bytes.fromhex("570100")
    # On the way back each list's second element refers to its first, which got the number below its own.
    for number in reversed(range(1, levels + 1)):
        data += bytes([0x57, number + 2])
    value, end = kryo(2, "java.util.ArrayList").read(data, 0, len(data))
    assert end == len(data)
    with pytest.raises(ValueRefusedError, match="characters"):
        json_text(value)


def test_an_unknown_class_says_what_to_do() -> None:
    context = DescribeContext(5, ClassModels())
    layout = describe(snapshot_of("com.acme.Order"), context)
    with pytest.raises(UndecodableError, match=r"com\.acme\.Order.*--classpath"):
        interpret(layout, bytes.fromhex("570101"), 0, 3)
    anything = describe(snapshot_of("java.lang.Object"), context)
    data = bytes.fromhex("0100") + b"com.acme.Orde\xf2\x01\x02"
    with pytest.raises(UndecodableError, match=r"com\.acme\.Order") as caught:
        interpret(anything, data, 0, len(data))
    assert "--classpath" in (caught.value.advice or "")


def test_without_a_flavour_nothing_is_guessed() -> None:
    with pytest.raises(UndecodableError, match="Kryo 2 or Kryo 5"):
        interpret(describe(snapshot_of("java.util.UUID")), bytes(20), 0, 20)


def test_a_class_model_that_does_not_fit_is_damage_with_advice() -> None:
    wrong = ClassModels.of([class_model({"name": "zoo.Zoo$Item", "fields": {"a": "java.util.Date"}})])
    vector = next(v for v in vectors("kryo") if v.name == "Item as Object")
    layout = describe(snapshot_of("zoo.Zoo$Item"), DescribeContext(2, wrong))
    data = bytes.fromhex("5701") + bytes.fromhex("020a")
    with pytest.raises(FormatError, match=r"a value of java\.lang\.Integer where a date is declared") as caught:
        interpret(layout, data, 0, len(data))
    assert "class model" in (caught.value.advice or "")
    assert vector.data


def test_classes_that_all_refer_to_each_other() -> None:
    """Written out they would have columns without end: the column is JSON, and found so at once."""
    names = [f"a.C{i}" for i in range(30)]
    classes = ClassModels.of(
        class_model({"name": name, "fields": {f"f{i}": other for i, other in enumerate(names)}}) for name in names
    )
    layout = describe(snapshot_of("a.C0"), DescribeContext(5, classes))
    assert layout.arrow_type == pa.struct([("class", pa.string()), ("json", pa.string())])
    data = bytes.fromhex("5701") + bytes(30)
    value, end = interpret(layout, data, 0, len(data))
    assert (value["class"], end) == ("a.C0", 32)
