"""The job ``kryo``: its classes from the jar and described by hand give the same columns and rows; without them it says so.

That the rows are right is tested in ``test_rows.py``.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from stateextract.errors import UndecodableError
from tests.golden.test_rows import load, opened

CASES = ("f120-kryo-checkpoint-snappy", "f23-kryo-native")
_FLEET = "golden.Fleet$"
_STRINGS, _LONGS = "java.util.List<java.lang.String>", "java.util.Map<java.lang.String, java.lang.Long>"

BY_HAND: list[dict[str, Any]] = [
    {"name": _FLEET + "Fuel", "constants": ["DIESEL", "ELECTRIC", "HYDROGEN"]},
    {"name": _FLEET + "Vehicle", "fields": {"id": "long", "plate": "java.lang.String"}},
    {
        "name": _FLEET + "Car",
        "superclass": _FLEET + "Vehicle",
        "fields": {"fuel": _FLEET + "Fuel", "owners": _STRINGS, "services": _LONGS},
    },
    {
        "name": _FLEET + "Truck",
        "superclass": _FLEET + "Car",
        "final": True,
        "fields": {
            "price": "java.math.BigDecimal", "serial": "java.util.UUID", "sold": "java.time.Instant", "axles": "int[]",
            "load": _FLEET + "Load<java.lang.Double>", "tried": f"java.util.List<{_FLEET}Fuel>", "tows": _FLEET + "Truck",
        },
    },
    {
        "name": _FLEET + "Load",
        "parameters": ["T"],
        "final": True,
        "fields": {"weight": "T", "parts": "java.util.List<T>"},
    },
]  # fmt: skip

THREE_LEVELS = pa.struct([
    ("class", pa.string()), ("id", pa.int64()), ("plate", pa.string()), ("fuel", pa.string()),
    ("owners", pa.list_(pa.string())), ("services", pa.map_(pa.string(), pa.int64())), ("price", pa.string()),
    ("serial", pa.string()), ("sold", pa.timestamp("us", "UTC")), ("axles", pa.list_(pa.int32())),
    ("load", pa.struct([("weight", pa.float64()), ("parts", pa.list_(pa.float64()))])),
    ("tried", pa.list_(pa.string())), ("tows", pa.struct([("class", pa.string()), ("json", pa.string())])),
])  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_from_the_jar_and_by_hand(case: str) -> None:
    jar = {s.name: s for s in opened(case).states if s.scope == "keyed"}
    hand = {s.name: s for s in opened(case, classpath=[], kryo_classes=BY_HAND).states if s.scope == "keyed"}
    assert set(jar) == set(hand)
    types = [s["name"] for o in load(case)["operators"] for s in o["states"] if o["name"].startswith("kryo")]
    assert len(types) > 50
    for name in types:
        assert hand[name].schema == jar[name].schema
        assert repr(hand[name].to_table().to_pylist()) == repr(jar[name].to_table().to_pylist()), name
    assert jar["Vehicle"].schema.field("value").type == THREE_LEVELS


@pytest.mark.parametrize("case", CASES)
def test_without_the_classes(case: str) -> None:
    states = {s.name: s for s in opened(case, classpath=[]).states}
    assert states["Truck"].coverage.status == "unsupported"
    with pytest.raises(UndecodableError, match=r"golden\.Fleet\$Truck.* with classpath"):
        states["Truck"].to_table()
    with pytest.raises(UndecodableError, match=r"golden\.Fleet\$") as caught:
        states["Object"].to_table()
    assert "with classpath" in (caught.value.advice or "")
    # Beside others: compressed states have a stream each; native files hold them one behind the other.
    assert states["UUID"].to_table().num_rows == 2
