"""Writes the job file with every option: ``python scripts/job_file.py > conf/extract.toml``."""

from __future__ import annotations

import dataclasses
import json
import textwrap
from collections.abc import Iterator
from typing import Any

from stateextract.options import described, fields, outside, show_size

_WIDTH = 118
_START = """# Job file of `spark-submit extract.py --config FILE`: every option with its default.
#
# Take the `#` away from what you change. Each option can also be given on the command line (`--mode overwrite`,
# `--no-subtask-column`, `--operator one --operator two`), which wins over this file. Unknown options and wrong values
# are errors. Sizes are a number of bytes or text such as "128 MB" (10^6) and "128 MiB" (2^20).
#
# This file is made from the code that reads the options (python scripts/job_file.py > conf/extract.toml).

"""
_END = """# Rules that `stateextract audit PATH --config FILE` checks; docs/audit.md describes all. Other commands ignore
# them. They have no defaults; these are examples.
#
# [audit]
# ttl = ["voucher=12h"]
#
# [[rules]]
# name = "orders stay small"
# operator = "orders-*"
# max-rows = 1_000_000
# max-value-bytes = "64 kB"
"""
_EXAMPLES = {"types": '"orders/total/value.amount" = "decimal(38,10)"', "policies": '"orders/total/maps" = "list"'}


def page() -> str:
    """The file as TOML, in which every option is a comment."""
    return _START + "".join(f"{line}\n" for line in _lines()) + _END


def _lines() -> Iterator[str]:
    section = None
    for field in fields():
        if field.metadata["section"] != section:
            section = field.metadata["section"]
            yield from (f"[{section}]", "")
        choices = field.metadata["choices"]
        yield from _comment(described(field).replace("; repeat for several", ""))
        if choices:
            yield from _comment(f"One of: {', '.join(choices)}.")
        yield from (f"# {_EXAMPLES.get(section) or f'{_name(field)} = {_default(field)}'}", "")


def _comment(text: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent="# ", subsequent_indent="# ", break_on_hyphens=False)


def _name(field: dataclasses.Field[Any]) -> str:
    return field.metadata["name"] or outside(field.name)


def _default(field: dataclasses.Field[Any]) -> str:
    if field.metadata["kind"] == "bytes":
        return f'"{show_size(field.default)}"'  # type: ignore[arg-type]
    return json.dumps(field.default)


if __name__ == "__main__":
    print(page(), end="")
