"""`clew show`: a thread as it was said, or as a backend would get it next, with each change and its reason."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click
import msgspec
from msgspec import Struct, structs

from clew.cli.command import BadConfig, Failed, principal_option, report_errors, unknown_backend
from clew.cli.installation import Installation, find_installation, find_thread, store_for_reading
from clew.cli.output import TextLine, TextTable, plural, print_json, print_page, print_result, printable
from clew.cli.threads import (
    Shows,
    branch_lines,
    branch_numbers,
    changed_lines,
    hits_page,
    message_lines,
    threads_page,
)
from clew.errors import SettingsInvalid
from clew.model.json import JsonObject
from clew.settings.load import load
from clew.settings.own_keys import load_keyring
from clew.store import Store
from clew.store.text import ending_word, failure_of, format_time, unfinished_word
from clew.store.thread_clients import ThreadWithClients, with_clients
from clew.store.values import Branch, Passage, Thread

if TYPE_CHECKING:
    from clew.admin.threads import Projected, ThreadTurn


MOST_THREADS = 50


class ThreadJson(Struct, frozen=True, kw_only=True):
    """A thread as `--json` prints it."""

    thread: ThreadWithClients
    turns: Sequence[ThreadTurn]
    tree: Sequence[Branch]


@click.command("show", short_help="Show a conversation as it was said, or as a backend would get it.")
@click.argument("thread", required=False)
@click.option("--search", "words", metavar="WORDS", help="List the conversations that contain all these words.")
@click.option(
    "--as", "as_", metavar="BACKEND", help="Show it as this backend would get it next, with each change and its reason."
)
@click.option("--thinking", is_flag=True, help="Show the text of the thinking too.")
@click.option("--asides", is_flag=True, help="Show reminders and system messages too (hidden text, for the model only).")
@principal_option
@click.option("--json", "json_", is_flag=True, help="Print JSON, with every block as it is kept.")
def show_thread(
    thread: str | None,
    words: str | None,
    as_: str | None,
    thinking: bool,
    asides: bool,
    principal: str,
    json_: bool,
) -> None:
    """Show the conversation THREAD: the beginning of its id, or `last`. Without THREAD: list the conversations.

    Thinking, tools and hidden text (reminders, system messages) are folded. A conversation with rewinds or sub-agents begins
    with a list of its branches. --search looks in questions, answers and titles: a word matches words that begin with it,
    "words in quotes" match as a phrase.

    With --as you see the conversation as a backend would get it, without calling it: each block that would be left out,
    restored or handed over is marked, with the reason.

    \b
    Examples:
      clew show
      clew show last
      clew show 0199a3 --thinking
      clew show last --as glm
      clew show --search 'lighthouse "fresnel lens"'

    Exit status: 0 ok, 1 there is nothing to show, 2 wrong usage or unknown name, 5 the config cannot be used.
    """
    if thread is not None and words is not None:
        raise click.UsageError("--search looks in all conversations: leave THREAD out.")
    with report_errors():
        installation = find_installation()
        with store_for_reading(installation) as store:
            if words is not None:
                hits = store.search(principal, words, limit=MOST_THREADS) if store else []
                print_result(hits, hits_page(hits), as_json=json_)
            elif thread is None:
                threads = with_clients(store, principal, store.threads(principal, limit=MOST_THREADS)) if store else []
                print_result(threads, threads_page(threads), as_json=json_)
            else:
                found = find_thread(store, principal, thread)
                assert store is not None, "a thread was found in it"
                (named,) = with_clients(store, principal, [found])
                _show(installation, store, named, as_, shows=Shows(thinking, asides), json_=json_)


def _show(
    installation: Installation, store: Store, thread: ThreadWithClients, as_: str | None, *, shows: Shows, json_: bool
) -> None:
    passages = store.passages(thread.principal, thread.id)
    pin = f", stays with {thread.pin}" if thread.pin else ""
    agent = f", agent {thread.agent}" if thread.agent else ""
    client = f", client {' and '.join(thread.clients)}" if thread.clients else ""
    used = f"{plural(thread.turns, 'turn')}, {format_time(thread.created)} to {format_time(thread.used)}"
    head = [TextLine(printable(f"thread {thread.id}: {used}{agent}{client}{pin}")), TextLine("")]
    if as_ is not None:
        projected = projected_for(installation, store, passages, as_, thread.principal)
        changes = plural(len(projected.changes), "change") if projected.changes else "nothing changes"
        title = f"as {projected.backend} ({projected.model}) would get it: {changes}"
        lines = changed_lines(projected.asked, projected.changes, shows)
        page = [*head, TextLine(printable(title), "head"), TextLine(""), *lines]
        print_result(projected, page, as_json=json_)
    elif json_:
        from clew.admin.threads import spoken

        print_json(ThreadJson(thread=thread, turns=spoken(passages), tree=store.tree(thread.principal, thread.id)))
    else:
        print_page([*head, *_thread_lines(store, thread, passages, shows)])


# As it was said


def _thread_lines(store: Store, thread: Thread, passages: Sequence[Passage], shows: Shows) -> Iterator[TextLine | TextTable]:
    branches = store.tree(thread.principal, thread.id)
    numbers = branch_numbers(branches) if len(branches) > 1 else {}
    yield from branch_lines(branches, thread.id, passages)
    for passage in passages:
        branch = f", branch {numbers[passage.exchange]}" if passage.exchange in numbers else ""
        for raw in passage.asked:
            message = msgspec.json.decode(raw, type=JsonObject)
            role = str(message.get("role"))
            yield TextLine(f"{printable(role)}, {format_time(passage.at)}{branch}", "head")
            yield from message_lines(message.get("content"), shows, role)
        recording, exchange = passage.recording, store.exchange(thread.principal, passage.exchange)
        if recording is not None and recording.blocks:
            ending = "" if recording.whole else f", {unfinished_word(exchange)}"
            yield TextLine(printable(f"{recording.origin.backend}, {recording.origin.model}{ending}"), "head")
            yield from message_lines([msgspec.json.decode(raw) for raw in recording.blocks], shows)
            continue
        how = "forgotten"
        if exchange is not None:
            why = failure_of(exchange)
            how = f"{ending_word(exchange)}, {exchange.status}{f': {why}' if why else ''}"
        yield TextLine(printable(f"no answer is recorded ({how})"), "bad")


# As a backend would get it


def projected_for(
    installation: Installation, store: Store, passages: Sequence[Passage], name: str, principal: str
) -> Projected:
    """The thread as this backend would get it. Ends the command for an unknown backend, and where nothing is recorded."""
    from clew.admin.requests import AdminProblem  # late: the engine takes longer to load than a list takes to print
    from clew.admin.threads import projected
    from clew.engine.snapshot import snapshot_of

    loaded = installation.usable
    settings = loaded.settings
    try:  # with keys: a block can be bound to an account, and the key says which that is
        keyed = load(loaded.file, os.environ).settings
        settings = structs.replace(keyed, backends={**settings.backends, **keyed.backends}, disabled=settings.disabled)
    except SettingsInvalid:
        pass
    if name in settings.disabled:
        raise BadConfig(f"{settings.disabled[name].says}. Set it, and run this again.")
    if name not in settings.backends:
        raise unknown_backend(name, {*settings.backends, *settings.disabled})
    sealer = load_keyring(installation.home.secret, os.environ).sealer()
    try:
        return projected(passages, name, snapshot_of(settings, sealer), store, principal)
    except AdminProblem as problem:
        raise Failed(f"{problem.said.what}: {problem.said.why}") from problem
