"""Runs ``docs/catalogs.md`` in this process: ``python -m tests.world.clusters.run_catalogs PAGE``."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.docs.pages import Examples

if __name__ == "__main__":
    examples = Examples({})
    try:
        examples.run(Path(sys.argv[1]))
    finally:
        if "spark" in examples.names:
            examples.names["spark"].stop()
    print(f"{examples.compared} shown as on the page")
