"""Runs the examples of a page in this process: ``python -m tests.sinks.run_page PAGE SERVER_PROGRAMS PORT``.

In the session that they leave it runs the README's MERGE too, into tables of Iceberg and of Delta.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from tests.docs.pages import ROOT, Examples, blocks
from tests.sinks.postgres import Server


def main(page: Path, server: Server) -> None:
    examples = Examples({}, {"postgresql": server.psql})
    try:
        examples.run(page)
        merge_as_the_readme(examples.names["spark"])
    finally:
        if "spark" in examples.names:
            examples.names["spark"].stop()
    print(f"{examples.compared} shown as on the page")


def merge_as_the_readme(spark: Any) -> None:
    """The README's MERGE, of the README's view with one key, into tables with an old row of it and one of another."""
    readme = ROOT / "README.md"
    (view,) = (block.text for block in blocks(readme) if "TEMPORARY VIEW vouchers" in block.text)
    (merge,) = re.findall(r"^    MERGE INTO .*\n(?:    .*\n)*", readme.read_text(encoding="utf-8"), re.MULTILINE)
    spark.sql(view)
    for table, kind in (("lake.shop.vouchers", "iceberg"), ("vouchers_by_key", "delta")):
        spark.sql(f"CREATE TABLE {table} (customer STRING, voucher STRING) USING {kind}")
        spark.sql(f"INSERT INTO {table} VALUES ('elif', 'OLD'), ('nobody', 'KEPT')")
        spark.sql(merge.replace("lake.shop.vouchers", table))
        rows = sorted(tuple(row) for row in spark.table(table).collect())
        assert rows == [("elif", "WELCOME-179"), ("nobody", "KEPT")], (table, rows)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Server(Path(sys.argv[2]), int(sys.argv[3])))
