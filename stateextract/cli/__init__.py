"""The command line ``stateextract``: one module per command, and here the one place where errors become messages.

Starts quickly: a command's module is imported when the command is asked for, and loads what it needs when it runs. The
exit codes are those of ``stateextract/outcome.py``.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import sys
from collections.abc import Sequence

import click

from stateextract.cli.common_options import Settings, complain, door_of
from stateextract.doors import read_at
from stateextract.ending import exit_code_of, silence_stdout
from stateextract.errors import StateExtractError
from stateextract.outcome import ExitCode
from stateextract.printable import encode_any_text, nearest
from stateextract.version import VERSION

_EPILOG = """Exit codes: 0 every selected row is there; 1 nothing was done, or validate found corruption; 2 the request is
invalid; 3 something is skipped, raw, partial, unsupported, missing or unreadable, the rest was done; 4 diff --exit-code found
a difference; 5 a rule of audit or watch fails; 6 check: a state does not restore, or loses data. Errors go to standard error,
--debug adds the trace."""

_COMMANDS = (
    "checkpoints", "inspect", "states", "schema", "files", "kafka-offsets", "head", "get", "count", "validate", "stats",
    "audit", "check", "history", "watch", "report", "extract", "diff", "types", "uid-hash", "completion",
)  # fmt: skip
"""The commands in the order of the help. A module of the same name, with ``_`` for ``-``, holds each."""

_OWN_END = frozenset({"multiprocessing", "pyspark"})
"""Modules that have to end what they began. Without them nothing is left to do at the end, and Python's taking everything apart
is a quarter of a short command's time."""


def command_of(name: str) -> click.Command:
    """Import a command."""
    module = name.replace("-", "_")
    command: click.Command = getattr(importlib.import_module(f"stateextract.cli.{module}"), module)
    return command


class _Commands(click.Group):
    """A group that imports a command when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return command_of(cmd_name) if cmd_name in _COMMANDS else None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The first paragraph of each command's help, whole: click cuts it."""
        rows = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl(
                [(name, " ".join((command.help or "").split("\n\n")[0].split())) for name, command in rows if command]
            )

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args[0] not in _COMMANDS and not ctx.resilient_parsing and not args[0].startswith("-"):
            near = nearest(args[0], _COMMANDS)
            ctx.fail(f"No such command {args[0]!r}." + (f" Did you mean {near[0]!r}?" if near else ""))
        name, command, rest = super().resolve_command(ctx, args)
        if command is not None:
            settings = ctx.ensure_object(Settings)
            settings.door = door_of(command)
            ctx.with_resource(read_at(settings.door))
        return name, command, rest


@click.group(
    cls=_Commands,
    epilog=_EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
@click.version_option(VERSION, prog_name="stateextract", message="%(prog)s %(version)s")
def cli() -> None:
    """Look into the checkpoints and savepoints of Apache Flink, without Flink."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit."""
    # What imports make stays to the end: looking through it again and again takes a third of a short command's time.
    gc.set_threshold(200_000, 20, 100)
    encode_any_text()
    code = run(arguments)
    if _OWN_END.isdisjoint(sys.modules):
        with contextlib.suppress(OSError):  # what cannot be written, which Python reports when it ends
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    sys.exit(code)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    :returns: the exit code.
    """
    settings = Settings()
    try:
        code = cli.main(args=arguments, prog_name="stateextract", standalone_mode=False, obj=settings)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except (BrokenPipeError, SystemExit):  # click makes this of that, and of nothing else
        silence_stdout()
        return ExitCode.READER_GONE
    except click.exceptions.Exit as exit_:
        return exit_.exit_code
    except (click.Abort, KeyboardInterrupt) as error:
        complain("Interrupted.")
        return exit_code_of(error if isinstance(error, KeyboardInterrupt) else error.__cause__)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return error.exit_code
    except click.ClickException as error:
        complain(_usage(error))
        return error.exit_code
    except StateExtractError as error:
        if settings.debug:
            _trace()
        complain(f"Error: {error.worded(settings.door)}")
        return error.exit_code
    except OSError as error:
        if settings.debug:
            _trace()
        complain(f"Error: the system refuses to go on: {error}")
        return ExitCode.FAILED
    except Exception as error:
        if settings.debug:
            _trace()
        complain(
            f"Error: an error in stateextract itself: {type(error).__name__}: {error}. Please report it with the trace "
            "that --debug shows."
        )
        return ExitCode.FAILED


def _usage(error: click.ClickException) -> str:
    text = f"Error: {error.format_message()}"
    context = getattr(error, "ctx", None)
    return text if context is None else f"{text} Try '{context.command_path} --help'."


def _trace() -> None:
    import traceback

    traceback.print_exc()
