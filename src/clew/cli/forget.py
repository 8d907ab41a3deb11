"""`clew forget`: delete a conversation, so that nothing of its words is left in the store."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence

import click

from clew.cli.endings import Failed, told
from clew.cli.exchange_lines import at_time
from clew.cli.json_output import say_json
from clew.cli.kept import opened, place, principal_option, thread_named
from clew.cli.pages import Line, printable, show
from clew.store.values import Thread

__all__ = ["forget"]

WAIT = 60.0
"""Seconds for one thread: far more than a long one takes, unless the file is locked."""


@click.command(short_help="Delete a conversation, with nothing of it left behind.")
@click.argument("thread")
@click.option("--agents", is_flag=True, help="Its sub-agents' threads too: they were told parts of it.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@principal_option
@click.option("--json", "json_", is_flag=True, help="Print JSON; needs --yes.")
def forget(thread: str, agents: bool, yes: bool, principal: str, json_: bool) -> None:
    """Delete the conversation THREAD: the beginning of its id, or `last`. It cannot be brought back.

    Questions, answers, thinking, titles, whole requests and the index of words: when the command ends, none of its words is
    in any file of the store. An answer that is under way goes on, and is not kept. What was spent stays, without words. A
    client's own copy is not touched: if it goes on, what it says is recorded anew.

    \b
    Examples:
      clew forget 0199a3
      clew forget last --agents --yes

    Exit status: 0 deleted, 1 not deleted, 2 wrong usage or unknown name, 5 the config cannot be used.
    """
    if json_ and not yes:
        raise click.UsageError("--json asks nothing, so it needs --yes.")
    with told(), opened(place()) as store:
        found = thread_named(store, principal, thread)
        assert store is not None, "a thread was found in it"
        going = [found, *(store.beside(principal, found.id) if agents else ())]
        if not yes:
            _ask(going)
        gone = [each.id for each in going if store.forget(principal, each.id, at=time.time(), agents=agents).result(WAIT)]
    _say(gone, json_)


def _ask(going: Sequence[Thread]) -> None:
    for each in going:
        turns = f"{each.turns} {'turn' if each.turns == 1 else 'turns'}"
        agent = f", agent {each.agent}" if each.agent else ""
        click.echo(printable(f"{each.id}: {turns}, last used {at_time(each.used)}{agent}: {each.title}"), err=True)
    if not _is_asked():
        raise Failed("nothing was deleted, because nobody can be asked: add --yes")
    what = "this conversation" if len(going) == 1 else f"these {len(going)} conversations"
    if not click.confirm(f"Delete {what} for good?", err=True):
        raise Failed("nothing was deleted")


def _is_asked() -> bool:
    """Whether somebody sits there."""
    return sys.stdin.isatty()


def _say(gone: Sequence[str], json_: bool) -> None:
    if json_:
        say_json({"forgotten": gone})
    else:
        show([Line(f"{id} is deleted.") for id in gone])
