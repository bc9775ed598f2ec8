"""The second plug-in of ``docs/serializers.md``: the split of a connector."""

from __future__ import annotations

import re
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import stateextract
from serializers.connectors import FORMS
from tests.api.test_kafka_offsets import readers
from tests.serializers.kafka_bytes import operator_of, snapshot_of
from tests.serializers.test_connectors import kafka, utf, versioned

DOCS = Path(__file__).resolve().parents[2] / "docs" / "serializers.md"
QUEUE = utf("acme://orders") + struct.pack(">q", 7)


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The example as an importable module; the forms are put back afterwards."""
    code = re.search(r"```python\n(\"\"\"acme_queues.*?)```", DOCS.read_text(encoding="utf-8"), re.S)
    assert code is not None
    (tmp_path / "acme_queues.py").write_text(code[1])
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "acme_queues", raising=False)
    saved = {place: dict(forms) for place, forms in FORMS.items()}
    yield "acme_queues"
    FORMS.clear()
    FORMS.update(saved)


def values(path: str, plugins: tuple[str, ...]) -> list[dict[str, Any]]:
    (state,) = stateextract.open_snapshot(path, plugins=plugins).states
    found: list[dict[str, Any]] = state.to_table()["value"].to_pylist()
    return found


def test_the_split_of_a_connector(plugin: str, tmp_path: Path) -> None:
    hybrid = struct.pack(">i", 0) + utf("q") + versioned(1, QUEUE)
    payloads = [
        versioned(1, QUEUE), versioned(2, QUEUE + b"\1"), versioned(0, kafka(4711, -(1 << 63))), versioned(2, QUEUE),
        versioned(1, utf("orders") + struct.pack(">q", 7)), versioned(0, hybrid),
    ]  # fmt: skip
    path = snapshot_of(tmp_path, operator_of(1, readers(*payloads)))
    assert "acme_split" not in values(path, ())[0]
    found = values(path, (plugin,))
    first = {"queue": "acme://orders", "position": 7, "replay": None}
    assert [value["acme_split"] for value in found] == [first, first | {"replay": True}, None, None, None, first]
    assert [value["version"] for value in found] == [1, 2, 0, 2, 1, 0]
    assert [value["bytes"] for value in found] == payloads
    assert found[2]["kafka_split"]["topic"] == "orders"
    # The table of Kafka's offsets knows that it is another connector's, and what is of no form may be Kafka's.
    offsets = stateextract.open_snapshot(path, plugins=(plugin,)).kafka_offsets()
    assert offsets["topic"].to_pylist() == ["orders", None, None]
    assert sorted(r[:20] for r in offsets["reason"].to_pylist() if r) == ["1 split of version 1", "1 split of version 2"]
