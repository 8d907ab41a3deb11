"""Completion of commands, options and files in a shell."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

_VARIABLE = "_CLEW_COMPLETE"


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print a completion script for SHELL: it completes clew's commands and options.

    \b
    Examples:
      eval "$(clew completion bash)"            # in ~/.bashrc
      eval "$(clew completion zsh)"             # in ~/.zshrc, behind compinit
      clew completion fish > ~/.config/fish/completions/clew.fish
    """
    kind = get_completion_class(shell)
    assert kind is not None, "these three are click's own"
    click.echo(kind(context.find_root().command, {}, "clew", _VARIABLE).source())
