"""Flink's serializer upgrade tests: a snapshot and a value, as each release wrote them.

Every snapshot must be read to its last byte, and every value must equal what Flink's test expects. Nothing waits: the only
families without a column of their own accord are those of classes that write themselves, whose bytes are kept, and which
decode as soon as somebody says what their method ``write`` does.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from serializers import DescribeContext, describe, read_snapshot_proxy
from serializers.classes import ClassModels, class_model
from stateextract.columnar.convert.policy import Policy
from stateextract.columnar.decode.decoder import make_decoder
from stateextract.columnar.interpreter import interpret
from stateextract.files.block import Block
from stateextract.files.reader import Reader
from stateextract.state.row_layout import undecodable_parts
from tests.conformance.conftest import flink_files
from tests.conformance.notation import comparable, from_expected

KRYO = {
    "kryo-custom-type-serializer-changed-registration-order",
    "kryo-type-serializer-changed-registration-order",
    "kryo-type-serializer-empty-config",
    "kryo-type-serializer-unrelated-config-after-restore",
}
"""Their flavour is not in these files, and their classes come from the user: ``test_kryo.py``."""

_RUNTIME = "org.apache.flink.api.java.typeutils.runtime."
THEMSELVES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "copyable-value-serializer": (
        {"name": _RUNTIME + "CopyableSerializerUpgradeTest$SimpleCopyable", "written": {"value": "long"}},
        {"value": 123456},
    ),
    "value-serializer": (
        {"name": _RUNTIME + "ValueSerializerUpgradeTest$NameValue", "written": {"name": "utf"}},
        {"name": "klion26"},
    ),
    "writeable-serializer": (
        {"name": _RUNTIME + "WritableSerializerUpgradeTest$WritableName", "written": {"name": "utf"}},
        {"name": "flink"},
    ),
}
"""Classes that write themselves: what a user would say of them, and the value."""

FOLDERS = sorted(p.parent for p in flink_files().glob("*/*/serializer-snapshot"))


def family(folder: Path) -> str:
    return re.sub(r"-[0-9.]+$", "", folder.name)


def read(folder: Path):  # type: ignore[no-untyped-def]
    reader = Reader((folder / "serializer-snapshot").read_bytes())
    snapshot = read_snapshot_proxy(reader)
    assert reader.remaining == 0
    return snapshot


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda p: p.name)
def test_snapshot_is_read_to_its_last_byte(folder: Path) -> None:
    expected = json.loads((flink_files() / "expected" / f"{folder.relative_to(flink_files())}.json").read_text())
    snapshot = read(folder)
    assert snapshot.class_name == expected["serializer"]["snapshot"]
    assert snapshot.version == expected["serializer"]["version"]
    assert not snapshot.is_unknown


def test_nothing_waits() -> None:
    """Without help from the user exactly the families above have no column."""
    assert {family(f) for f in FOLDERS if list(undecodable_parts(describe(read(f))))} == KRYO | set(THEMSELVES)
    context = DescribeContext(5, ClassModels.of(class_model(entry) for entry, _ in THEMSELVES.values()))
    assert not [
        f.name for f in FOLDERS if family(f) in THEMSELVES and list(undecodable_parts(describe(read(f), context)))
    ]


@pytest.mark.parametrize("folder", [f for f in FOLDERS if family(f) in THEMSELVES], ids=lambda p: p.name)
def test_classes_that_write_themselves(folder: Path) -> None:
    expected = json.loads((flink_files() / "expected" / f"{folder.relative_to(flink_files())}.json").read_text())
    (part,) = undecodable_parts(describe(read(folder)))
    assert part.class_name == expected["value"]["class"]
    data = (folder / "test-data").read_bytes()
    assert data.hex() == expected["value"]["opaque"]
    entry, value = THEMSELVES[family(folder)]
    layout = describe(read(folder), DescribeContext(5, ClassModels.of([class_model(entry)])))
    assert interpret(layout, data, 0, len(data)) == (value, len(data))


@pytest.mark.parametrize("engine", ["interpreter", "auto"])
@pytest.mark.parametrize(
    "folder", [f for f in FOLDERS if family(f) not in KRYO | set(THEMSELVES)], ids=lambda p: p.name
)
def test_value(folder: Path, engine: str) -> None:
    expected = json.loads((flink_files() / "expected" / f"{folder.relative_to(flink_files())}.json").read_text())
    layout = describe(read(folder))
    data = (folder / "test-data").read_bytes()
    decoder = make_decoder(layout, Policy(), engine=engine)
    # These have parts that the kernel cannot run.
    slow = engine == "interpreter" or family(folder) in ("variant-serializer", "java-serializer")
    assert decoder.engine == ("interpreter" if slow else "kernel")
    progress = decoder.decode(Block.of(data), 0, len(data), 1)
    assert (progress.entries, progress.pos) == (1, len(data))
    array = decoder.flush()
    assert array.type == layout.arrow_type
    found = array.to_pylist()[0]
    if family(folder) == "java-serializer":
        assert found == {"class": "java.lang.Integer", "json": str(expected["value"])}
        return
    assert comparable(found, array.type) == from_expected(expected["value"], array.type)
