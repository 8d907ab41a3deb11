"""Viewing: the part of a thread that a page shows, along one of its lines, as the templates take it.

Long threads come in pages. Everything here is read and set in a thread of its own, so that nobody's answer waits for a long
conversation that is looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec
from msgspec import Struct, structs

from clew.admin.desk import Desk
from clew.admin.problem import Problem
from clew.admin.thread_view import projected
from clew.chat.request import line_of
from clew.chat.turns import StoredTurn
from clew.store import Store
from clew.store.values import Passage, Thread
from clew.web.addresses import address
from clew.web.as_sent import Compared, compared
from clew.web.exchange_row import cost_in
from clew.web.lines import Stretch, first_words, line_through, stretches
from clew.web.turns import Shown, Way, shown_turns

__all__ = ["PAGE", "Asked", "View", "view_of"]

PAGE: Final = 40
"""Turns on a page."""


class Asked(Struct, frozen=True, kw_only=True):
    """Which part of which thread, and how."""

    owner: str
    id: str
    at: str = ""
    """A turn that is to be on the page."""
    start: int | None = None
    backend: str = ""
    part: bool = False
    """Only the turns, to be put behind others."""
    place: str
    """The page's: links to other turns lead there."""

    def to(self, *parts: str, **query: object) -> str:
        """The address of something of the same owner's."""
        return address(*parts, owner=self.owner, **query)

    def turn(self, at: str = "", start: int | None = None) -> str:
        """This page at another turn, or at another part."""
        return self.to(self.place, self.id, as_=self.backend, from_=start, at=at)


class View(Struct, frozen=True, kw_only=True):
    """What the templates get. A line of so many turns, of which those from `first` to before `last` are shown."""

    thread: Thread
    line: int
    first: int
    last: int
    turns: Sequence[Shown] = ()
    compared: Compared | None = None
    branches: Sequence[Stretch] = ()
    beginnings: Sequence[Way] = ()
    """Where the thread was begun more than once."""

    @property
    def newest(self) -> int:
        """Where the last page begins."""
        return max(0, self.line - PAGE)


def view_of(desk: Desk, asked: Asked, *, newest: bool = False) -> View:
    """`newest`: the end of the line, unless a part is asked for. Raises Problem if there is no such thread."""
    store, passages = desk.kept, desk.kept.passages(asked.owner, asked.id)
    thread = store.thread(asked.owner, asked.id)
    if thread is None or not passages:
        raise Problem(404, "there is no such thread", "it may have been forgotten", "look for it in Threads")
    line = line_through(passages, asked.at)
    first, last = _window(line, asked, newest)
    view = View(thread=thread, line=len(line), first=first, last=last, branches=_branches(store, asked, passages, line))
    if asked.backend:
        return structs.replace(view, compared=_beside(desk, asked, line, view))
    spots = [StoredTurn(each, store.exchange(asked.owner, each.exchange)) for each in line[first:last]]
    exchanges = {spot.id: found for spot in spots if (found := spot.exchange)}
    ways = _ways(passages, line)
    turns = [_completed(turn, desk) for turn in shown_turns(line, first, last, exchanges, ways)]
    return structs.replace(view, turns=turns, beginnings=ways.get("", ()))


def _completed(turn: Shown, desk: Desk) -> Shown:
    """With what it cost; and why it failed, without secrets."""
    if turn.happened is None:
        return turn
    cost = cost_in(turn.happened, desk.current.snapshot.settings.backends)
    return structs.replace(turn, cost=cost, why=desk.redactor()(turn.why) if turn.why else "")


def _branches(store: Store, asked: Asked, passages: Sequence[Passage], line: Sequence[Passage]) -> list[Stretch]:
    """None for a mere part of a page. Of a sub-agent, the thread's title says what it was sent for."""
    tree = [] if asked.part else store.tree(asked.owner, asked.id)
    starts = {branch.exchanges[0] for branch in tree}
    words = {each.exchange: first_words(each) for each in passages if each.exchange in starts}
    others = {branch.thread for branch in tree} - {asked.id}
    titles = {id: found.title for id in others if (found := store.thread(asked.owner, id))}
    words |= {branch.exchanges[0]: titles.get(branch.thread, "") for branch in tree if branch.thread in others}
    return stretches(tree, words, asked.id, line)


def _window(line: Sequence[Passage], asked: Asked, newest: bool) -> tuple[int, int]:
    """From which turn to which: as asked; else around the turn that is to be seen; else from the beginning."""
    place = next((index for index, each in enumerate(line) if each.exchange == asked.at), None)
    usual = max(0, len(line) - PAGE) if newest else max(0, place - PAGE // 2) if place is not None else 0
    first = min(usual if asked.start is None else asked.start, max(0, len(line) - 1))
    return first, min(len(line), first + PAGE)


def _beside(desk: Desk, asked: Asked, line: Sequence[Passage], view: View) -> Compared:
    """A projection is of the whole line; the page shows a part. A turn is a question and an answer: two pairs."""
    answered = line_of(line)
    try:
        found = projected(answered, asked.backend, desk.current.snapshot, desk.kept, asked.owner)
    except (msgspec.MsgspecError, RecursionError):
        raise Problem(409, "this thread cannot be sent", "something in it is no text that JSON can say", _READ) from None
    return compared(found, answered, 2 * view.first, 2 * view.last)


_READ: Final = "read it as it was said"


def _ways(passages: Sequence[Passage], line: Sequence[Passage]) -> dict[str, list[Way]]:
    """Where several answers followed one turn: all of them, by that turn; by "" those that begin the thread."""
    on = {each.exchange for each in line}
    by_answer = {each.recording.id: each.exchange for each in passages if each.recording}
    after: dict[str, list[Passage]] = {}
    for each in passages:
        if each.recording and each.recording.blocks:
            after.setdefault(by_answer.get(each.recording.followed or "", ""), []).append(each)
    return {before: [_way(each, on) for each in found] for before, found in after.items() if len(found) > 1}


def _way(passage: Passage, on: set[str]) -> Way:
    maker = passage.recording.origin.backend if passage.recording else ""
    return Way(
        exchange=passage.exchange, begins=first_words(passage), shown=passage.exchange in on, at=passage.at, backend=maker
    )
