"""The help of every command."""

import click
import pytest

from clew.cli import COMMANDS, main
from tests.test_words import helps


def test_no_line_of_a_list_of_commands_is_cut() -> None:
    cut = [
        (path, line)
        for path, text in helps(main)
        for line in text.splitlines()
        if line.startswith("  ") and line.endswith("...")
    ]
    assert cut == []


@pytest.mark.parametrize("name", ["backends", "keys", "limits"])
def test_each_list_has_a_command_called_list(name: str) -> None:
    group = main.get_command(click.Context(main), name)
    assert isinstance(group, click.Group) and name in COMMANDS
    assert "list" in group.commands
