"""``python -m stateextract``."""

from __future__ import annotations

from stateextract.cli import main

if __name__ == "__main__":
    main()
