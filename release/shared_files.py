"""Writes what a package brings for a shell: the man page and the completions, made from the commands themselves.

`python docs/generate.py` writes them. `make test` fails where a file is not what it would write.
"""

from __future__ import annotations

import inspect
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click
from click.shell_completion import get_completion_class

from clew.cli import COMMANDS, main

ROOT = Path(__file__).parents[1]
SHARE = ROOT / "release" / "share"
COMPLETIONS = {
    "bash": "bash-completion/completions/clew",
    "zsh": "zsh/site-functions/_clew",
    "fish": "fish/vendor_completions.d/clew.fish",
}


def files() -> dict[Path, str]:
    """Each file with its text."""
    made = {SHARE / "man" / "man1" / "clew.1": man_page()}
    for shell, path in COMPLETIONS.items():
        kind = get_completion_class(shell)
        assert kind is not None
        made[SHARE / path] = kind(main, {}, "clew", "_CLEW_COMPLETE").source().strip() + "\n"
    return made


def man_page() -> str:
    """All commands on one page."""
    context = click.Context(main, info_name="clew", **main.context_settings)
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    lines = [
        f'.TH CLEW 1 "" "clew {version}" "User Commands"',
        ".SH NAME",
        "clew \\- keep a conversation's reasoning intact while models and backends change",
        ".SH SYNOPSIS",
        ".B clew",
        "[\\fICOMMAND\\fR] [\\fIOPTIONS\\fR] [\\fIARGUMENTS\\fR]",
        ".SH DESCRIPTION",
        *_paragraphs(main.help or ""),
        "Without a command it runs the gateway, as \\fBclew serve\\fR does.",
        ".SH COMMANDS",
    ]
    for name in COMMANDS:
        command = main.get_command(context, name)
        assert command is not None
        lines += _command_lines(command, click.Context(command, parent=context, info_name=name))
    lines += [
        ".SH FILES",
        ".TP",
        ".I clew.toml",
        "The settings. \\fBclew config path\\fR says where they are.",
        ".SH ENVIRONMENT",
    ]
    for variable, what in (("CLEW_HOME", "The folder of the store and of keys."), ("CLEW_CONFIG", "The settings file.")):
        lines += [".TP", f".B {variable}", what]
    return "\n".join(lines) + "\n"


def _command_lines(command: click.Command, context: click.Context) -> Iterator[str]:
    usage = " ".join(command.collect_usage_pieces(context))
    yield f'.SS "{_escaped(context.command_path)} {_escaped(usage)}"'
    yield from _paragraphs(command.help or command.short_help or "")
    for parameter in command.get_params(context):
        row = parameter.get_help_record(context)
        if row is not None and not row[0].endswith("--help"):
            yield from (".TP", f".B {_escaped(row[0])}", _escaped(" ".join(row[1].split())))
    yield from _paragraphs(command.epilog or "")
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            child = command.get_command(context, name)
            if child is not None:
                yield from _command_lines(child, click.Context(child, parent=context, info_name=name))


def _paragraphs(text: str) -> Iterator[str]:
    """Blocks that begin with a `\\b` keep their lines, as click shows them."""
    for block in re.split(r"\n\s*\n", inspect.cleandoc(text)):
        if not block.strip():
            continue
        yield ".PP"
        if block.lstrip().startswith("\b"):
            yield from (
                ".nf",
                *(_escaped(line) for line in block.lstrip().removeprefix("\b").strip("\n").splitlines()),
                ".fi",
            )
        else:
            yield _escaped(" ".join(block.split()))


def _escaped(text: str) -> str:
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{escaped}" if escaped.startswith((".", "'")) else escaped
