"""``docs/types.md`` says of every registered serializer what its column is, and is not stale."""

from __future__ import annotations

from pathlib import Path

import pytest

from serializers.registry import all_serializers
from serializers.type_table import page, sample_layout
from stateextract.columnar.layout import Undecodable

PAGE = Path(__file__).resolve().parents[2] / "docs" / "types.md"
FLINK = sorted(name for name in all_serializers() if name.startswith("org.apache.flink."))


def test_the_page_is_current() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "python -m serializers.type_table > docs/types.md"


@pytest.mark.parametrize("name", FLINK)
def test_every_serializer_has_a_column(name: str) -> None:
    layout = sample_layout(name)
    assert f"| `{name.removeprefix('org.apache.flink.')}` |" in page()
    if isinstance(layout, Undecodable):
        # What a Writable writes only its own class knows.
        assert name.endswith(".WritableSerializer$WritableSerializerSnapshot")
    else:
        assert layout.arrow_type is not None
