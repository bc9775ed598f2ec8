"""Shows a few rows of every dataset below an output folder of the extract job."""

import json
import sys
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pyarrow.dataset as ds

_WIDTH = 130
_ROWS = 2


def text(value: Any) -> str:
    """A value as one line."""
    if isinstance(value, datetime | date):
        return value.isoformat().replace("+00:00", "Z")
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name}: {text(part)}" for name, part in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(text, value)) + "]"
    return "null" if value is None else str(value)


def main(output: Path) -> None:
    """Print the first rows of each dataset of the manifest."""
    manifest = json.loads((output / "_manifest.json").read_text())
    for dataset in manifest["datasets"]:
        table = ds.dataset(output / dataset["folder"], format="parquet").head(_ROWS)
        if table.num_rows:
            print(f"\n{dataset['folder']}")
            for row in table.to_pylist():
                line = "  ".join(f"{name}={text(value)}" for name, value in row.items())
                print(f"  {line if len(line) <= _WIDTH else line[: _WIDTH - 1] + '…'}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
