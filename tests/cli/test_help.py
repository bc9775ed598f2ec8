"""Help texts: they refer to nothing that an installation lacks, and use the words of the field."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import click
import pytest

from stateextract.cli import _COMMANDS, command_of
from stateextract.options import _parser, fields, option_help
from stateextract.spark import submit
from stateextract.spark.source_options import DIFF_OPTIONS, METADATA_OPTIONS, STATE_OPTIONS, STREAM_OPTIONS

ROOT = Path(__file__).parents[2]
FILES = re.compile(r"(?<![\w/])(?:docs|conf|tests|scripts|benchmarks)/\w")
"""Files of the repository, which are not in the wheel."""
WORDS = re.compile(
    r"\b(stands?|stood|nobody|whoever|beside|bent|wish(es)?|at hand|meant|said|is told|parted by|serializers of your own)\b"
)
"""Words that the style guide replaces."""


def command_help(name: str) -> str:
    command = command_of(name)
    return command.get_help(click.Context(command, info_name=name, max_content_width=110, help_option_names=["-h", "--help"]))


TEXTS = {
    **{f"stateextract {name}": command_help(name) for name in _COMMANDS},
    "extract.py": _parser().format_help(),
    "stateextract-submit": submit._USAGE,
    "job file": "\n".join(option_help(f) for f in fields()),
    "Spark": "\n".join(option.doc for option in (*STATE_OPTIONS, *METADATA_OPTIONS, *DIFF_OPTIONS, *STREAM_OPTIONS)),
}


@pytest.mark.parametrize("where", TEXTS)
def test_help_refers_to_no_file_of_the_repository(where: str) -> None:
    assert FILES.findall(TEXTS[where]) == []


@pytest.mark.parametrize("where", TEXTS)
def test_help_is_in_the_words_of_the_field(where: str) -> None:
    assert [found[0] for found in WORDS.finditer(TEXTS[where])] == []


def test_messages_refer_to_no_file_of_the_repository() -> None:
    """What is no docstring is shown."""
    found = set()
    for file in (*(ROOT / "stateextract").rglob("*.py"), *(ROOT / "serializers").rglob("*.py")):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        texts = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}  # docstrings
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in texts:
                found |= {f"{file.name}: {node.value}" for _ in FILES.findall(node.value)}
    assert found == set()


def test_messages_of_the_command_line_and_of_spark_are_in_the_words_of_the_field() -> None:
    found = set()
    for folder in ("cli", "spark"):
        for file in (ROOT / "stateextract" / folder).rglob("*.py"):
            tree = ast.parse(file.read_text(encoding="utf-8"))
            texts = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
            for node in ast.walk(tree):
                if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in texts:
                    found |= {f"{file.name}: {node.value}" for _ in WORDS.findall(node.value)}
    assert found == set()
