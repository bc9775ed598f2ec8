"""Options that all commands have, each written once. Those of commands that open a snapshot are in ``selection.py``.

Imports click and ``doors`` only, so that the command line starts quickly.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import click

from stateextract.doors import Door

F = TypeVar("F", bound=Callable[..., Any])


@dataclass
class Settings:
    """What places that print must know of the command line."""

    debug: bool = False
    wide: bool = False
    door: Door = Door.COMMAND_LINE


def door_of(command: click.Command) -> Door:
    """Where the messages of a command are read: advice names no option that the command does not have."""
    return Door.COMMAND_LINE.having(option for parameter in command.params for option in parameter.opts)


def complain(text: str) -> None:
    """Print a message on standard error; in a terminal in lines that end between words."""
    if sys.stderr.isatty():
        from stateextract.screen import Screen

        Screen(stderr=True, highlight=False, emoji=False).say(text)
    else:
        click.echo(text, err=True)


def _flag(name: str, text: str) -> Callable[[F], F]:
    """An option that becomes a field of the settings."""

    def keep(context: click.Context, _: click.Parameter, value: bool) -> None:
        setattr(context.ensure_object(Settings), name, value)

    return click.option(f"--{name}", is_flag=True, expose_value=False, callback=keep, help=text)


wide_option = _flag("wide", "Show names and texts whole, also where lines become longer than the terminal.")
debug_option = _flag("debug", "Show where an error came from.")
workers_option = click.option(
    "--workers", metavar="N", type=click.IntRange(min=1), help="Processes. Default: one per core if there is much to read."
)


def output_format(choices: list[str], text: str) -> Callable[[F], F]:
    """``--format``, ``--wide`` and ``--debug``."""

    def decorate(command: F) -> F:
        return click.option(
            "--format", "format_", type=click.Choice(choices), default="text", show_default=True, help=text
        )(wide_option(debug_option(command)))

    return decorate


format_option = output_format(["text", "json"], "How to print: text for people, JSON for scripts.")
rows_format_option = output_format(
    ["text", "json", "csv", "lines"],
    "How to print: text for people; a JSON document, CSV, or lines of JSON, one for each row, for scripts.",
)
"""For a command that prints rows."""
