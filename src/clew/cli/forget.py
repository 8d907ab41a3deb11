"""`clew forget`: delete a conversation, so that nothing of its words is left in the store."""

from __future__ import annotations

import sys
import time

import click

from clew.cli.command import Failed, operator, principal_option, report_errors
from clew.cli.installation import find_installation, find_thread, store_for_reading
from clew.cli.output import TextLine, plural, print_result, printable
from clew.store.text import format_time

WAIT = 60.0
"""Seconds for one thread: far more than a long one takes, unless the file is locked."""


@click.command(short_help="Delete a conversation completely.")
@click.argument("thread")
@click.option("--agents", is_flag=True, help="Delete its sub-agents' threads too: they contain parts of it.")
@click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
@principal_option
@click.option("--json", "json_", is_flag=True, help="Print JSON; needs --yes.")
def forget(thread: str, agents: bool, yes: bool, principal: str, json_: bool) -> None:
    """Delete the conversation THREAD: the beginning of its id, or `last`. This cannot be undone.

    It deletes questions, answers, thinking, titles, complete requests and search entries: when the command ends, no file of
    the store contains the words of the conversation. A running answer continues, but is not recorded. Token counts and costs
    are kept. The client's own copy is not deleted. If the client continues the conversation, it is recorded again.

    \b
    Examples:
      clew forget 0199a3
      clew forget last --agents --yes

    Exit status: 0 deleted, 1 not deleted, 2 wrong usage or unknown name, 5 the config cannot be used.
    """
    if json_ and not yes:
        raise click.UsageError("--json asks nothing, so it needs --yes.")
    with report_errors(), store_for_reading(find_installation().checked()) as store:
        found = find_thread(store, principal, thread)
        assert store is not None, "a thread was found in it"
        threads = [found, *(store.sibling_threads(principal, found.id) if agents else ())]
        if not yes:
            for each in threads:
                agent = f", agent {each.agent}" if each.agent else ""
                about = f"{plural(each.turns, 'turn')}, last used {format_time(each.used)}{agent}"
                click.echo(printable(f"{each.id}: {about}: {each.title}"), err=True)
            if not _has_person():
                raise Failed("nothing was deleted: there is no terminal to ask for confirmation; add --yes")
            what = "this conversation" if len(threads) == 1 else f"these {len(threads)} conversations"
            if not click.confirm(f"Delete {what} for good?", err=True):
                raise Failed("nothing was deleted")
        now = time.time()
        gone = [each.id for each in threads if store.forget(principal, each.id, at=now, agents=agents).result(WAIT)]
        for id in gone:
            store.audit.note(operator(), "thread deleted", f"thread:{id}", f"principal {principal}").result(WAIT)
    print_result({"forgotten": gone}, [TextLine(f"{id} is deleted.") for id in gone], as_json=json_)


def _has_person() -> bool:
    """Whether a person can answer a question. Tests replace this function."""
    return sys.stdin.isatty()
