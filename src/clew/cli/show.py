"""`clew show`: a thread as it was said, or as a backend would get it next, with each change and its reason."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click
import msgspec
from msgspec import Struct, structs

from clew.cli.endings import BadConfig, Failed, told
from clew.cli.exchange_lines import at_time
from clew.cli.json_output import say_json
from clew.cli.kept import Place, opened, place, principal_option, thread_named
from clew.cli.pages import Line, Table, printable, show
from clew.cli.thread_lines import Shows, changed_lines, message_lines
from clew.cli.thread_lists import branch_lines, found_page, numbered, threads_page
from clew.errors import SettingsInvalid
from clew.model.json import JsonObject
from clew.settings.load import Loaded, load
from clew.settings.secret import load_keyring
from clew.settings.values import Settings
from clew.store import Store
from clew.store.endings import ending_word, failure_of, unfinished_word
from clew.store.values import Branch, Exchange, Passage, Thread

if TYPE_CHECKING:
    from clew.admin.thread_view import Projected, Spoken

__all__ = ["projected_for", "show_thread"]

MOST_THREADS = 50


class Told(Struct, frozen=True, kw_only=True):
    """A thread as `--json` prints it."""

    thread: Thread
    turns: Sequence[Spoken]
    tree: Sequence[Branch]


@click.command("show", short_help="Show a conversation as it was said, or as a backend would get it.")
@click.argument("thread", required=False)
@click.option("--search", "words", metavar="WORDS", help="List the conversations in which all these words were said.")
@click.option("--as", "as_", metavar="BACKEND", help="As this backend would get it next, with what changes, and why.")
@click.option("--thinking", is_flag=True, help="Show the text of the thinking too.")
@click.option("--asides", is_flag=True, help="Show reminders and system messages too, which are for the model alone.")
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

    Thinking, tools and asides are folded. A conversation that was rewound, or that sent agents, begins with a list of its
    branches. --search looks in questions, answers and titles: a word is found by its beginning, "several in quotes" as they
    stand.

    With --as, the conversation is projected for a backend, offline: each block that would be
    left out, restored or handed over is marked, with the reason.

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
    with told():
        at = place()
        with opened(at) as store:
            if thread is None:
                _list(store, principal, words, json_)
                return
            found = thread_named(store, principal, thread)
            assert store is not None, "a thread was found in it"
            _show(at, store, found, as_, shows=Shows(thinking, asides), json_=json_)


def _list(store: Store | None, principal: str, words: str | None, json_: bool) -> None:
    if words is not None:
        hits = store.search(principal, words, limit=MOST_THREADS) if store else []
        listed, page = hits, found_page(hits)
    else:
        threads = store.threads(principal, limit=MOST_THREADS) if store else []
        listed, page = threads, threads_page(threads)
    if json_:
        say_json(listed)
    else:
        show(page)


def _show(at: Place, store: Store, thread: Thread, as_: str | None, *, shows: Shows, json_: bool) -> None:
    passages = store.passages(thread.principal, thread.id)
    if as_ is not None:
        projected = projected_for(at, store, passages, as_, thread.principal)
        if json_:
            say_json(projected)
        else:
            show([*_head(thread), *_projection_lines(projected, shows)])
    elif json_:
        from clew.admin.thread_view import spoken

        tree = store.tree(thread.principal, thread.id)
        say_json(Told(thread=thread, turns=spoken(passages), tree=tree))
    else:
        show([*_head(thread), *_said(store, thread, passages, shows)])


def _head(thread: Thread) -> Iterator[Line]:
    pin = f", stays with {thread.pin}" if thread.pin else ""
    agent = f", agent {thread.agent}" if thread.agent else ""
    turns = f"{thread.turns} {'turn' if thread.turns == 1 else 'turns'}"
    yield Line(printable(f"thread {thread.id}: {turns}, {at_time(thread.created)} to {at_time(thread.used)}{agent}{pin}"))
    yield Line("")


# As it was said


def _said(store: Store, thread: Thread, passages: Sequence[Passage], shows: Shows) -> Iterator[Line | Table]:
    branches = store.tree(thread.principal, thread.id)
    numbers = numbered(branches) if len(branches) > 1 else {}
    yield from branch_lines(branches, thread.id, passages)
    for passage in passages:
        branch = f", branch {numbers[passage.exchange]}" if passage.exchange in numbers else ""
        for raw in passage.asked:
            message = msgspec.json.decode(raw, type=JsonObject)
            role = str(message.get("role"))
            yield Line(f"{printable(role)}, {at_time(passage.at)}{branch}", "head")
            yield from message_lines(message.get("content"), shows, role)
        yield from _answer(store, thread, passage, shows)


def _how(exchange: Exchange | None) -> str:
    """How a turn without an answer ended, and why."""
    if exchange is None:
        return "forgotten"
    why = failure_of(exchange)
    return f"{ending_word(exchange)}, {exchange.status}{f': {why}' if why else ''}"


def _answer(store: Store, thread: Thread, passage: Passage, shows: Shows) -> Iterator[Line]:
    recording, exchange = passage.recording, store.exchange(thread.principal, passage.exchange)
    if recording is None or not recording.blocks:
        yield Line(printable(f"no answer is recorded ({_how(exchange)})"), "bad")
        return
    ending = "" if recording.whole else f", {unfinished_word(exchange)}"
    yield Line(printable(f"{recording.origin.backend}, {recording.origin.model}{ending}"), "head")
    yield from message_lines([msgspec.json.decode(raw) for raw in recording.blocks], shows)


# As a backend would get it


def projected_for(at: Place, store: Store, passages: Sequence[Passage], name: str, principal: str) -> Projected:
    """Ends the command for a backend that there is not, and where nothing is recorded."""
    from clew.admin.problem import Problem  # late: the engine takes longer to load than a list takes to print
    from clew.admin.thread_view import projected
    from clew.engine.snapshot import snapshot_of

    settings = _with_keys(at.usable)
    if name in settings.disabled:
        raise BadConfig(f"{settings.disabled[name].says}. Set it, and run this again.")
    if name not in settings.backends:
        known = ", ".join(sorted({*settings.backends, *settings.disabled}))
        raise click.UsageError(f"There is no backend {name!r}. There are: {known}.")
    sealer = load_keyring(at.home.secret, os.environ).sealer()
    try:
        return projected(passages, name, snapshot_of(settings, sealer), store, principal)
    except Problem as problem:
        raise Failed(f"{problem.said.what}: {problem.said.why}") from problem


def _with_keys(loaded: Loaded) -> Settings:
    """A block can be bound to an account, and the key says which that is. Where a key is not at hand, it is left open."""
    try:
        settings = load(loaded.file, os.environ).settings
    except SettingsInvalid:
        return loaded.settings
    backends = {**loaded.settings.backends, **settings.backends}
    return structs.replace(settings, backends=backends, disabled=loaded.settings.disabled)


def _projection_lines(projected: Projected, shows: Shows) -> Iterator[Line]:
    count = len(projected.changes)
    changes = f"{count} {'change' if count == 1 else 'changes'}" if count else "nothing changes"
    yield Line(printable(f"as {projected.backend} ({projected.model}) would get it: {changes}"), "head")
    yield Line("")
    yield from changed_lines(projected.asked, projected.changes, shows)
