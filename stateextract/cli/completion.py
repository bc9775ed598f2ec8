"""``stateextract completion``: the script that teaches a shell to complete the command line."""

from __future__ import annotations

import click

from stateextract.cli.common_options import debug_option

SHELLS = ("bash", "zsh", "fish")


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
@debug_option
def completion(shell: str) -> None:
    """Print the script that completes stateextract's commands in a shell.

    The shell then completes options and, after a PATH, the names of its operators and states.
    """
    from click.shell_completion import get_completion_class

    root = click.get_current_context().find_root()
    made = get_completion_class(shell)
    assert made is not None
    # click's own, but for a look at the version of bash that is installed, which need not be the one that runs.
    script = made(root.command, {}, "stateextract", "_STATEEXTRACT_COMPLETE")
    click.echo(script.source_template % script.source_vars(), nl=False)
