"""Class models: out of class files and jars, written by hand, and both the same."""

from __future__ import annotations

import pickle
import zipfile
from pathlib import Path
from typing import Any

import pytest

from serializers import DescribeContext
from serializers.classes import ClassModel, ClassModels, FieldModel, class_model
from serializers.classfile import read_class
from serializers.javatypes import JavaType, parse_type
from stateextract.errors import FormatError, MissingFileError, UsageError
from stateextract.files.filesystem import Store
from stateextract.options import parse_arguments, parse_file
from stateextract.snapshot.describe_contexts import decode_context, describe_context, encode_context, read_classes
from tests.kryo.zoo import JAR, Vector, models, vectors

BY_HAND: list[dict[str, Any]] = [
    {"name": "zoo.Zoo$Base", "fields": {"id": "long", "name": "java.lang.String"}},
    {
        "name": "zoo.Zoo$Middle",
        "superclass": "zoo.Zoo$Base",
        "fields": {
            "tags": "java.util.List<java.lang.String>",
            "counts": "java.util.Map<java.lang.String, java.lang.Long>",
            "letter": "char",
        },
    },
    {
        "name": "zoo.Zoo$Leaf",
        "superclass": "zoo.Zoo$Middle",
        "fields": {
            "price": "java.math.BigDecimal", "uid": "java.util.UUID", "color": "zoo.Zoo$Color", "op": "zoo.Zoo$Op",
            "at": "java.time.Instant", "day": "java.time.LocalDate", "when": "java.util.Date", "ints": "int[]",
            "raw": "byte[]", "items": "zoo.Zoo$Item[]", "any": "java.lang.Object", "boxed": "java.lang.Integer",
            "ratio": "double", "ok": "boolean",
        },
    },
    {"name": "zoo.Zoo$Color", "constants": ["RED", "GREEN", "BLUE"]},
    {"name": "zoo.Zoo$Op", "constants": ["ADD", "NEG"], "final": False},
    {"name": "zoo.Zoo$Item", "fields": {"n": "int", "s": "java.lang.String"}, "final": True},
]  # fmt: skip


def test_class_files() -> None:
    found = models()
    assert len(found) == 26
    leaf, by_hand = found.get("zoo.Zoo$Leaf"), class_model(BY_HAND[2])
    assert leaf == by_hand
    base = found.get("zoo.Zoo$Base")
    assert base is not None
    assert base.fields == (FieldModel("id", "long"), FieldModel("name", "java.lang.String"))
    assert found.get("zoo.Zoo$Color") == ClassModel(
        "zoo.Zoo$Color", "enum", "java.lang.Enum<zoo.Zoo$Color>", (), (), (), ("RED", "GREEN", "BLUE"), True
    )
    op = found.get("zoo.Zoo$Op")
    assert op is not None
    assert (op.constants, op.final) == (("ADD", "NEG"), False)
    assert found.get("zoo.Zoo$Op$1") is None
    point = found.get("zoo.Zoo$Point")
    assert point is not None
    assert (point.kind, point.final) == ("record", True)
    assert [f.type for f in point.fields][2:5] == [
        "java.lang.String", "java.lang.Object", "java.util.List<java.lang.String>",
    ]  # fmt: skip
    inner = found.get("zoo.Zoo$Inner")
    assert inner is not None
    assert inner.fields == (FieldModel("z", "int"), FieldModel("this$0", "zoo.Zoo", synthetic=True))
    shape, square = found.get("zoo.Zoo$Shape"), found.get("zoo.Zoo$Square")
    assert shape is not None
    assert square is not None
    assert (shape.kind, square.interfaces) == ("interface", ("zoo.Zoo$Shape",))


def test_generics_of_class_files() -> None:
    holder, deep, strings = (models().get(f"zoo.Zoo${name}") for name in ("Holder", "DeepBox", "StringBox"))
    assert holder is not None
    assert deep is not None
    assert strings is not None
    types = {f.name: f.type for f in holder.fields}
    assert types["lists"] == "zoo.Zoo$Box<java.util.List<java.lang.String>>"
    assert types["some"] == "java.util.List<? extends zoo.Zoo$Item>"
    assert types["unknown"] == "java.util.List<?>"
    assert types["array"] == "java.util.List<java.lang.String>[]"
    assert types["grid"] == "java.lang.String[][]"
    assert types["raw"] == "zoo.Zoo$Box"
    assert (deep.parameters, deep.superclass) == (("A",), "zoo.Zoo$Box<A>")
    assert (strings.parameters, strings.superclass) == ((), "zoo.Zoo$Box<java.lang.String>")


@pytest.mark.parametrize("vector", [v for v in vectors("kryo") if v.name in ("Leaf", "empty Leaf", "Item")], ids=str)
def test_by_hand_and_from_the_jar(vector: Vector) -> None:
    by_hand = vector.kryo(ClassModels.of(map(class_model, BY_HAND)))
    from_jar = vector.kryo(models())
    one, two = (k.read(vector.data, 0, len(vector.data)) for k in (by_hand, from_jar))
    assert repr(one[0].value.keys()) == repr(two[0].value.keys())
    assert one[1] == two[1] == len(vector.data)


def test_a_folder_of_classes(tmp_path: Path) -> None:
    with zipfile.ZipFile(JAR) as jar:
        jar.extractall(tmp_path)
    (tmp_path / "notes.txt").write_text("no class")
    assert {m.name: m for m in read_classes(str(tmp_path), Store())} == models().by_name


def jar_of(path: Path, method: int) -> str:
    """The classes of the jar, compressed by another method."""
    with zipfile.ZipFile(JAR) as jar, zipfile.ZipFile(path, "w") as made:
        for name in jar.namelist():
            made.writestr(name, jar.read(name), method)
    return str(path)


def test_classes_that_are_not_compressed(tmp_path: Path) -> None:
    stored = jar_of(tmp_path / "stored.jar", zipfile.ZIP_STORED)
    assert {m.name: m for m in read_classes(stored, Store())} == models().by_name
    data = bytearray(Path(stored).read_bytes())
    data[2000] ^= 1
    Path(stored).write_bytes(data)
    with pytest.raises(FormatError, match="the class cannot be read: the checksum of the entry is wrong") as caught:
        list(read_classes(stored, Store()))
    assert caught.value.file is not None
    assert caught.value.file.startswith(f"{stored}!/zoo/")


def test_classes_that_are_compressed_by_another_method(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="the class cannot be read: compression method 12"):
        list(read_classes(jar_of(tmp_path / "bzip2.jar", zipfile.ZIP_BZIP2), Store()))


def test_what_is_no_jar(tmp_path: Path) -> None:
    broken = tmp_path / "broken.jar"
    broken.write_bytes(b"PK\x03\x04 and no more")
    with pytest.raises(FormatError, match="the jar cannot be read") as caught:
        list(read_classes(str(broken), Store()))
    assert caught.value.file == str(broken)
    with pytest.raises(MissingFileError):
        list(read_classes(str(tmp_path / "none.jar"), Store()))
    with pytest.raises(FormatError, match="not a Java class file"):
        read_class(b"PK\x03\x04" + bytes(20))


def test_the_earlier_place_wins_and_the_job_file_over_both(tmp_path: Path) -> None:
    own = {"name": "zoo.Zoo$Item", "fields": {"other": "int"}}
    context = describe_context("auto", 4, [str(JAR), str(JAR)], [own])
    assert context.kryo == 2
    assert context.class_models.get("zoo.Zoo$Item") == class_model(own)
    assert len(context.class_models) == len(models())
    assert describe_context("auto", 5).kryo == describe_context("5", 3).kryo == 5
    assert describe_context("2", 6).kryo == 2
    with pytest.raises(UsageError, match="'3'"):
        describe_context("3", 6)


def test_the_context_travels() -> None:
    context = describe_context("auto", 6, [str(JAR)], [{"name": "M", "written": {"a": "varint", "b": "string"}}])
    again = decode_context(encode_context(context))
    assert isinstance(again, DescribeContext)
    assert (again.kryo, again.class_models.by_name) == (5, context.class_models.by_name)
    assert pickle.loads(pickle.dumps(context)).class_models.by_name == context.class_models.by_name


def test_the_job_file() -> None:
    text = """
[decoding]
kryo = "5"
classpath = ["app.jar"]
[[kryo.class]]
name = "com.acme.Order"
superclass = "com.acme.Base<java.lang.String>"
[kryo.class.fields]
id = "long"
lines = "java.util.List<com.acme.Line>"
[[kryo.class]]
name = "com.acme.Color"
constants = ["RED"]
"""
    values = parse_file(text)
    assert (values["kryo"], values["classpath"]) == ("5", ("app.jar",))
    assert len(values["kryo_class"]) == 2
    options = parse_arguments(
        ["--snapshot", "s", "--output", "o", "--classpath", "a", "--classpath", "b", "--kryo", "2"]
    )
    assert (options.kryo, options.classpath, options.kryo_class) == ("2", ("a", "b"), ())
    with pytest.raises(UsageError, match="tables"):
        parse_file("[kryo]\nclass = ['x']\n")


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({}, "no name"),
        ({"name": "A", "feilds": {}}, "'feilds'"),
        ({"name": "A", "fields": ["x"]}, "fields is"),
        ({"name": "A", "fields": {"x": "List<"}}, "'List<'"),
        ({"name": "A", "kind": "trait"}, "'trait'"),
        ({"name": "A", "constants": "RED"}, "constants is"),
        ({"name": "A", "final": "yes"}, "final is"),
        ({"name": "A", "superclass": 3}, "superclass is"),
        ({"name": "A", "written": {"x": "utf8"}}, "'utf8'"),
    ],
)
def test_mistakes_in_an_entry(entry: dict[str, object], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        class_model(entry)


def test_types_as_text() -> None:
    type_ = parse_type("java.util.Map<java.lang.String, ? super a.B$C[]>[]")
    assert type_ == JavaType(
        "java.util.Map",
        (JavaType("java.lang.String"), JavaType("?", (JavaType("a.B$C", dimensions=1),), lower=True)),
        dimensions=1,
    )
    assert type_.class_name == "[Ljava.util.Map;"
    assert parse_type(str(type_)) == type_
    assert parse_type("int[][]").class_name == "[[I"
    for text in ("", "List<", "List<>", "a b", "<x>", "List<a>>", "x<" * 40 + "y" + ">" * 40):
        with pytest.raises(UsageError, match="is not a Java type"):
            parse_type(text)
