"""Runs the examples of a page in this process: ``python -m tests.sinks.run_page PAGE SERVER_PROGRAMS PORT``.

In the session that they leave it runs the README's MERGE too, into tables of Iceberg and of Delta, and the page's MERGE of only
what changed into a table of Delta.
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
        merge_changes_into_delta(examples.names["spark"], page)
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


def merge_changes_into_delta(spark: Any, page: Path) -> None:
    """What the page does with the table ``lake.shop.sums``, whose views are there, with one of Delta."""
    mine = [block.text for block in blocks(page) if block.language == "sql" and "lake.shop.sums" in block.text]
    create, fill, merge, compare = (text.replace("lake.shop.sums", "sums").replace("iceberg", "delta") for text in mine)
    assert create.rstrip().endswith("USING delta")
    assert merge.startswith("MERGE INTO sums ")
    spark.sql(create)
    spark.sql(fill)
    assert tuple(spark.sql(compare).first()) == (17, 14), "16 rows, of which 2 are gone and 11 changed, and one is new"
    spark.sql(merge)
    assert tuple(spark.sql(compare).first()) == (15, 0)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Server(Path(sys.argv[2]), int(sys.argv[3])))
