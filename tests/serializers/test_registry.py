"""The registry: lengths, plug-ins, hostile snapshots."""

from __future__ import annotations

import os
import re
import struct
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import pyarrow as pa
import pytest

from serializers import SerializerSnapshot, describe, is_fixed_length, load_plugins, read_snapshot
from serializers import registry as registry_module
from serializers.registry import REGISTRY, all_serializers
from serializers.scalars import BASE
from serializers.snapshots import flink_string
from serializers.tuples import RUNTIME
from stateextract.columnar.layout import Number, Undecodable
from stateextract.errors import FormatError, UndecodableError, UnsupportedVersionError, UsageError
from stateextract.files.reader import Reader

DOCS = Path(__file__).resolve().parents[2] / "docs" / "serializers.md"


def utf(text: str) -> bytes:
    return struct.pack(">H", len(text)) + text.encode()


def simple(name: str) -> SerializerSnapshot:
    last = name.rsplit(".", 1)[-1]
    return SerializerSnapshot(f"{BASE}{name}Serializer${last}SerializerSnapshot", 3)


@pytest.fixture
def registry() -> Iterator[dict[str, object]]:
    """The registry, put back afterwards."""
    saved = dict(all_serializers())
    yield REGISTRY
    REGISTRY.clear()
    REGISTRY.update(saved)


FIXED = "Boolean Byte Short Int Long Float Double Char Date SqlDate SqlTime SqlTimestamp Instant LocalDate LocalTime"
FIXED += " LocalDateTime Void NullValue BooleanValue IntValue LongValue"
VARIABLE = "String StringValue BigInt BigDec Variant Bitmap array.IntPrimitiveArray array.StringArray"


@pytest.mark.parametrize("name", FIXED.split())
def test_fixed_length(name: str) -> None:
    assert is_fixed_length(simple(name))


@pytest.mark.parametrize("name", VARIABLE.split())
def test_variable_length(name: str) -> None:
    assert simple(name).class_name in REGISTRY
    assert not is_fixed_length(simple(name))


def test_length_of_what_is_nested() -> None:
    def tuple_of(*names: str) -> SerializerSnapshot:
        return SerializerSnapshot(RUNTIME + "TupleSerializerSnapshot", 3, 2, {}, tuple(map(simple, names)))

    def nullable(padding: int) -> SerializerSnapshot:
        name = RUNTIME + "NullableSerializer$NullableSerializerSnapshot"
        return SerializerSnapshot(name, 3, 2, {"padding": padding}, (simple("Int"),))

    assert is_fixed_length(tuple_of("Int", "Long"))
    assert not is_fixed_length(tuple_of("Int", "String"))
    assert is_fixed_length(nullable(4))
    assert not is_fixed_length(nullable(0))
    assert not is_fixed_length(SerializerSnapshot("com.acme.X", 3))


def test_map_keys_that_may_be_null_make_a_list() -> None:
    def map_of(key: SerializerSnapshot) -> str:
        snapshot = SerializerSnapshot(BASE + "MapSerializerSnapshot", 3, 1, {}, (key, simple("Int")))
        return str(describe(snapshot).arrow_type)

    name = RUNTIME + "NullableSerializer$NullableSerializerSnapshot"
    assert map_of(simple("String")) == "map<string, int32>"
    nullable = SerializerSnapshot(name, 3, 2, {"padding": 0}, (simple("String"),))
    assert map_of(nullable) == "list<item: struct<key: string, value: int32>>"


FAMILIES_ALONE = """
import importlib, sys
from serializers.registry import FAMILIES, REGISTRY, find_serializer, register
others = {begin: [name for name in REGISTRY if name.startswith(begin)] for begin in FAMILIES}
assert not any(others.values()), others
assert not {*FAMILIES.values()} & {*sys.modules}
own = "org.apache.flink.cep.nfa.NFAStateSerializerSnapshot"
register(own, find_serializer("org.apache.flink.runtime.state.VoidNamespaceSerializer$VoidNamespaceSerializerSnapshot").layout)
mine = REGISTRY[own]
for begin, module in FAMILIES.items():
    before = {*REGISTRY}
    find_serializer(begin + "Anything")
    assert module in sys.modules
    assert all(name.startswith(tuple(FAMILIES)) for name in {*REGISTRY} - before), module
    assert any(name.startswith(begin) for name in REGISTRY), module
from serializers import beam, cep
assert find_serializer(own) is mine
"""


def test_a_family_is_imported_for_its_own_classes_only() -> None:
    """And does not replace what a plug-in registers, which is imported by then."""
    subprocess.run([sys.executable, "-c", FAMILIES_ALONE], check=True, timeout=60)


def test_unknown_class() -> None:
    with pytest.raises(UndecodableError, match=r"com\.acme\.XSnapshot is not known"):
        read_snapshot(Reader(utf("com.acme.XSnapshot") + b"\0\0\0\x03"))
    assert describe(SerializerSnapshot("com.acme.XSnapshot", 3)) == Undecodable(
        "com.acme.XSnapshot", "the serializer's snapshot class is not known"
    )


def test_unknown_version() -> None:
    with pytest.raises(UnsupportedVersionError, match="version 9"):
        read_snapshot(Reader(utf(simple("Int").class_name) + b"\0\0\0\x09"))


def test_the_older_simple_snapshot_names_its_serializer() -> None:
    reader = Reader(utf(simple("Int").class_name) + b"\0\0\0\x02" + utf(BASE + "IntSerializer"))
    assert describe(read_snapshot(reader)) == Number(pa.int32())
    assert reader.remaining == 0


def test_hostile_nesting_ends_in_an_error() -> None:
    one = utf(BASE + "ListSerializerSnapshot") + struct.pack(">iiiiii", 3, 911108, 1, 1333245, 1, 1)
    with pytest.raises(FormatError, match="nested more than 60 deep"):
        read_snapshot(Reader(one * 5000))


def test_hostile_counts_end_in_an_error() -> None:
    many = utf(RUNTIME + "TupleSerializerSnapshot") + struct.pack(">iii", 3, 911108, 2) + utf("T")
    with pytest.raises(FormatError, match="invalid number 2147483647 of nested snapshots"):
        read_snapshot(Reader(many + struct.pack(">iii", 1333245, 1, 2**31 - 1)))


def test_wrong_number_of_nested_snapshots() -> None:
    data = utf(BASE + "ListSerializerSnapshot") + struct.pack(">iiiiii", 3, 911108, 1, 1333245, 1, 0)
    with pytest.raises(FormatError, match="holds 0 nested snapshots; expected 1"):
        read_snapshot(Reader(data))


def test_flink_string() -> None:
    assert flink_string(Reader(b"\x00")) is None
    assert flink_string(Reader(bytes.fromhex("03bdb00380bc03"))) == "\U0001f600"
    with pytest.raises(FormatError, match="a string of 268435454 characters cannot follow"):
        flink_string(Reader(b"\xff\xff\xff\x7f"))


# ---- plug-ins


def example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The worked example of the documentation, as an importable module."""
    code = re.search(r"```python\n(\"\"\"acme_serializers.*?)```", DOCS.read_text(), re.S)
    assert code is not None
    (tmp_path / "acme_serializers.py").write_text(code[1])
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "acme_serializers", raising=False)
    return "acme_serializers"


MONEY = utf("com.acme.MoneySerializer$MoneySerializerSnapshot") + struct.pack(">i", 3)
RANGE = utf("com.acme.RangeSerializerSnapshot") + struct.pack(">ii", 1, 1) + b"\x01" + MONEY


def check_example() -> None:
    reader = Reader(RANGE)
    snapshot = read_snapshot(reader)
    assert reader.remaining == 0
    money = pa.struct([("cents", pa.int64()), ("currency", pa.string())])
    assert describe(snapshot).arrow_type == pa.struct([("low", money), ("high", money)])
    assert is_fixed_length(snapshot) is False


def test_plugin_named_as_a_module(registry: dict[str, object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UndecodableError):
        read_snapshot(Reader(RANGE))
    name = example(tmp_path, monkeypatch)
    assert name in load_plugins([name])
    check_example()


def test_plugin_as_an_entry_point(registry: dict[str, object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    point = EntryPoint("acme", example(tmp_path, monkeypatch), registry_module.ENTRY_POINT_GROUP)
    assert load_plugins() == ()
    with monkeypatch.context() as patch:
        patch.setattr("importlib.metadata.entry_points", lambda group: [point] if group == point.group else [])
        patch.setattr(registry_module, "_may_have_plugins", lambda folder: True)
        assert load_plugins() == (), "all packages are looked through once"
        patch.syspath_prepend(tmp_path / "more")
        assert load_plugins() == ("acme_serializers",)
        check_example()
    assert load_plugins() == ()


def test_a_plugin_that_is_installed_later(
    registry: dict[str, object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Into a folder where other packages were found before."""
    site = tmp_path / "site"
    site.mkdir()
    os.utime(site, (0, 0))
    monkeypatch.syspath_prepend(site)
    assert load_plugins() == ()
    example(tmp_path, monkeypatch)
    information = site / "acme-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: acme\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text(f"[{registry_module.ENTRY_POINT_GROUP}]\nacme = acme_serializers\n")
    assert load_plugins() == ("acme_serializers",)
    check_example()


def test_plugin_overrides(registry: dict[str, object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "acme_override.py").write_text(
        "import pyarrow as pa\n"
        "from serializers import register\n"
        "from stateextract.columnar.layout import Number\n"
        f"register({simple('Int').class_name!r}, Number(pa.uint32()))\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    load_plugins(["acme_override"])
    assert describe(simple("Int")) == Number(pa.uint32())


def test_plugin_that_cannot_be_imported() -> None:
    with pytest.raises(UsageError, match="'no_such_module_here' cannot be imported"):
        load_plugins(["no_such_module_here"])
