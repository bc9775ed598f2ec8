"""Runs the examples of a page in this process: ``python -m tests.sinks.run_page PAGE SERVER_PROGRAMS PORT``."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.docs.pages import Examples
from tests.sinks.postgres import Server


def main(page: Path, server: Server) -> None:
    examples = Examples({}, {"postgresql": server.psql})
    try:
        examples.run(page)
    finally:
        if "spark" in examples.names:
            examples.names["spark"].stop()
    print(f"{examples.compared} shown as on the page")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Server(Path(sys.argv[2]), int(sys.argv[3])))
