"""``docs/types.md`` says of every registered serializer what its column is, and is not stale."""

from __future__ import annotations

from pathlib import Path

import pytest

from serializers.registry import all_serializers
from serializers.type_table import sample_layout
from stateextract.columnar.layout import Undecodable

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "types.md").read_text(encoding="utf-8")
FLINK = sorted(name for name in all_serializers() if name.startswith("org.apache.flink."))


@pytest.mark.parametrize("name", FLINK)
def test_every_serializer_has_a_column(name: str) -> None:
    layout = sample_layout(name)
    assert f"| `{name.removeprefix('org.apache.flink.')}` |" in TEXT
    if isinstance(layout, Undecodable):
        # What a Writable writes only its own class knows.
        assert name.endswith(".WritableSerializer$WritableSerializerSnapshot")
    else:
        assert layout.arrow_type is not None
