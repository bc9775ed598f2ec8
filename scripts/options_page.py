"""Writes the reference of the job's options: ``python scripts/options_page.py > docs/options.md``."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

from stateextract.options import UsedBy, described, fields, outside, python_name, show_size

_HEAD = """# Options

This page is made from the code that reads the options (`python scripts/options_page.py > docs/options.md`).

## The extract job

On the command line of `extract.py`, `stateextract-submit` and `stateextract extract` as `--mode overwrite`,
`--no-subtask-column`, `--operator one --operator two`; in a job file (`--config FILE`, TOML) as `mode = "overwrite"`
in the section that is named. The command line wins over the file. Unknown options and wrong values are errors. Sizes
are a number of bytes or text such as `128 MB` (10^6) and `128 MiB` (2^20).
"""


def page() -> str:
    """The page as Markdown."""
    return "".join(f"{line}\n" for line in _lines())


def _lines() -> Iterator[str]:
    yield _HEAD
    sections = dict.fromkeys(f.metadata["section"] for f in fields())
    for section in sections:
        yield f"### [{section}]"
        yield ""
        yield "| option | default | meaning |"
        yield "|---|---|---|"
        for field in fields():
            if field.metadata["section"] == section:
                yield f"| {_name(field)} | {_default(field)} | {_meaning(field)} |"
        yield ""
    yield "### [audit], [[rules]]"
    yield ""
    yield "No options: rules that `stateextract audit` holds states against ([audit.md](audit.md#rules))."
    yield "All else leaves them alone."
    yield ""
    yield "## `open_snapshot`"
    yield ""
    yield "Keyword arguments of [Python's `open_snapshot`](python-api.md), which has some more of its own."
    yield ""
    yield "| keyword | default | meaning |"
    yield "|---|---|---|"
    for field in fields():
        if field.metadata["used_by"] & UsedBy.PYTHON and field.name != "path_map":
            yield f"| `{python_name(field)}` | `{field.default!r}` | {_meaning(field, 'a list, or one text')} |"
    yield ""
    yield "## The Spark data sources"
    yield ""
    yield "For the options of [flink-state](spark-sql.md#options-of-flink-state) and of"
    yield "[flink-state-metadata](spark-sql.md#metadata-tables-of-a-snapshot), see their pages."


def _name(field: dataclasses.Field[Any]) -> str:
    kind = field.metadata["kind"]
    if kind == "tables":
        return f"`[[{field.metadata['section']}.{field.metadata['name']}]]`, in the job file only"
    if kind == "mapping":
        return f'`"PATH" = "TYPE"` in `[{field.metadata["section"]}]`, in the job file only'
    name = outside(field.name)
    in_file = field.metadata["name"]
    also = f", `--no-{name}`" if kind == "flag" else f", in the job file `{in_file}`" if in_file else ""
    return f"`--{name}`{also}"


def _default(field: dataclasses.Field[Any]) -> str:
    kind, default = field.metadata["kind"], field.default
    if kind == "flag":
        return "yes" if default else "no"
    if kind == "bytes":
        return f"`{show_size(default)}`"  # type: ignore[arg-type]
    return f"`{default}`" if default not in ("", ()) else ""


def _meaning(field: dataclasses.Field[Any], several: str = "repeat for several") -> str:
    text = described(field, several).replace("|", r"\|").replace("<", "&lt;")
    choices = ", ".join(f"`{choice}`" for choice in field.metadata["choices"])
    return f"{text} One of {choices}." if choices else text


if __name__ == "__main__":
    print(page(), end="")
