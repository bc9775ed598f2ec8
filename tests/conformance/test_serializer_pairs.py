"""Flink's serializer upgrade tests: a snapshot and a value, as each release wrote them.

Every snapshot must be read to its last byte. The values of the families that are decoded must equal what Flink's test
expects; the others are listed by family, so that none moves in silence.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from serializers import describe, read_snapshot_proxy
from stateextract.columnar.decoder import make_decoder
from stateextract.columnar.policy import Policy
from stateextract.files.block import Block
from stateextract.files.reader import Reader
from stateextract.state.rows import undecodable_parts
from tests.conformance.conftest import flink_files
from tests.conformance.notation import comparable, from_expected

WAITING = {
    "Kryo, whose flavour is not in these files: see test_kryo.py": {
        "kryo-custom-type-serializer-changed-registration-order",
        "kryo-type-serializer-changed-registration-order",
        "kryo-type-serializer-empty-config",
        "kryo-type-serializer-unrelated-config-after-restore",
    },
    "classes that write themselves": {"copyable-value-serializer", "value-serializer", "writeable-serializer"},
}

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


def test_what_waits() -> None:
    """Exactly the families listed above cannot be decoded yet."""
    waiting = {family(f) for f in FOLDERS if list(undecodable_parts(describe(read(f))))}
    assert waiting == set.union(*WAITING.values())


@pytest.mark.parametrize("engine", ["interpreter", "auto"])
@pytest.mark.parametrize(
    "folder", [f for f in FOLDERS if family(f) not in set.union(*WAITING.values())], ids=lambda p: p.name
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
