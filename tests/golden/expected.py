"""What a case of the golden data must hold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

DATA = Path(__file__).resolve().parent / "data"


def load(folder: Path) -> dict[str, Any]:
    """The case's ``expected.json``, with the rows that it shares with other cases put into its states."""
    document: dict[str, Any] = json.loads((folder / "expected.json").read_text(encoding="ascii"))
    document.setdefault("changelog", None)
    document.setdefault("backend", "hashmap")
    if "rows" in document:
        shared = json.loads((folder.parent / document["rows"]).read_text(encoding="ascii"))
        for operator in document["operators"]:
            for state in operator["states"]:
                state["rows"] = shared[operator["uid"]][state["name"]]
    return document
