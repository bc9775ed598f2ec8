"""Options that several commands have, each written once.

Imports click only, so that the command line starts quickly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


@dataclass
class Settings:
    """What the one place that prints errors must know of the command line."""

    debug: bool = False


def _set_debug(context: click.Context, _: click.Parameter, value: bool) -> None:
    context.ensure_object(Settings).debug = value


def output_options(command: F) -> F:
    """``--output`` and ``--debug``."""
    command = click.option(
        "--debug", is_flag=True, expose_value=False, callback=_set_debug, help="Show where an error came from."
    )(command)
    return click.option(
        "--output",
        type=click.Choice(["text", "json"]),
        default="text",
        show_default=True,
        help="Text for people, JSON for scripts.",
    )(command)


def _pairs(_: click.Context, __: click.Parameter, values: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    pairs = []
    for text in values:
        old, sign, new = text.partition("=")
        if not sign or not old or not new:
            raise click.BadParameter(f"{text!r} is not of the form OLD=NEW.")
        pairs.append((old, new))
    return tuple(pairs)


def snapshot_options(command: F) -> F:
    """``PATH``, ``--path-map`` and ``--plugins``, as :func:`stateextract.open_snapshot` takes them."""
    for decorate in (
        click.option(
            "--plugins",
            metavar="MODULE",
            multiple=True,
            help="A Python module that registers serializers of your own. Repeat for several.",
        ),
        click.option(
            "--path-map",
            metavar="OLD=NEW",
            multiple=True,
            callback=_pairs,
            help="Look for files whose path begins with OLD under NEW. Repeat for several.",
        ),
        click.argument("path"),
    ):
        command = decorate(command)
    return command


__all__ = ["Settings", "output_options", "snapshot_options"]
