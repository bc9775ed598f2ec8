"""State of Flink Agents (``frameworks/make_frameworks.py``): what an agent remembers, by the classes that the user describes.

The job (``frameworks/agents``) gives the numbers 0 to 19 to an agent, the number n for the key ``n % 4``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import stateextract
from stateextract.errors import UndecodableError

DATA = Path(__file__).parent / "frameworks" / "data" / "agents-0.2.0-hashmap"
MEMORY = "org.apache.flink.agents.runtime.memory.MemoryObjectImpl$"
ITEM: list[dict[str, Any]] = [
    {
        "name": MEMORY + "MemoryItem", "final": True,
        "fields": {"type": MEMORY + "ItemType", "value": "java.lang.Object", "subKeys": "java.util.Set<java.lang.String>"},
    },
    {"name": MEMORY + "ItemType", "constants": ["OBJECT", "VALUE"]},
]  # fmt: skip


def agent(**options: Any) -> stateextract.Operator:
    """The operator of the agent."""
    (checkpoint,) = DATA.glob("chk-*")
    operators = stateextract.open_snapshot(str(checkpoint), **options).operators
    return next(o for o in operators if any(s.name == "shortTermMemory" for s in o.states))


def test_the_memory_of_an_agent() -> None:
    rows = agent(kryo_classes=ITEM).state("shortTermMemory").to_table().to_pylist()
    found = {row["key"]: dict(row["value"]) for row in rows}
    assert sorted(found) == [0, 1, 2, 3]
    for key, memory in found.items():
        numbers = range(key, 20, 4)
        n = numbers[-1]
        names = {"count", "last", "long", "half", "even", "tags", "counts", "home"}
        assert memory.keys() == {"", "home.city", *names}
        assert (memory[""]["type"], set(memory[""]["subKeys"]), memory[""]["value"]) == ("OBJECT", names, None)
        assert (memory["home"]["type"], memory["home"]["subKeys"]) == ("OBJECT", ["city"])
        values = {name: item["value"] for name, item in memory.items() if item["type"] == "VALUE"}
        assert {name: json.loads(value["json"]) for name, value in values.items()} == {
            "count": sum(numbers), "last": f"n{n}ü", "long": n << 33, "half": n / 2, "even": n % 2 == 0,
            "tags": [f"t{n}", "u"], "counts": {"b": n}, "home.city": f"c{n}",
        }  # fmt: skip
        assert values["long"]["class"] == "java.lang.Long"


def test_other_states_of_an_agent() -> None:
    operator = agent(kryo_classes=ITEM)
    numbers = operator.state("messageSequenceNumber").to_table().to_pylist()
    assert {row["key"]: row["value"] for row in numbers} == dict.fromkeys(range(4), 4)
    for name in ("actionTasks", "pendingInputEvents", "sensoryMemory", "currentProcessingKeys"):
        assert operator.state(name).to_table().num_rows == 0, name


def test_without_the_classes_the_reason_names_them() -> None:
    with pytest.raises(UndecodableError, match="MemoryItem cannot be decoded: Kryo writes neither names nor lengths"):
        agent().state("shortTermMemory").to_table()
