"""One thread: in its original order, along one of its lines; or beside what a backend would get of it.

Long threads come in pages, which a script puts behind one another as they are scrolled to. Everything is read and set in a
thread, so that nobody's answer waits for a long conversation that is looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from msgspec import Struct, structs
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from clew.admin.desk import Desk
from clew.admin.parameters import principal
from clew.admin.problem import Problem
from clew.admin.thread_view import projected
from clew.chat.formats import FORMATS
from clew.chat.lines import line_of
from clew.store import Store
from clew.store.values import Passage, Thread
from clew.web.as_sent import Compared, Pair, compared
from clew.web.frame import fragment, page
from clew.web.lines import Stretch, first_words, line_through, stretches
from clew.web.turns import Shown, Way, shown_turns

__all__ = ["page_thread"]

PAGE: Final = 40
"""Turns on a page."""


class Asked(Struct, frozen=True, kw_only=True):
    """Which part of which thread, and how."""

    owner: str
    id: str
    at: str
    """A turn that is to be on the page."""
    start: int | None
    backend: str
    part: bool
    """Only the turns, to be put behind others."""


class View(Struct, frozen=True, kw_only=True):
    """What the template gets."""

    thread: Thread
    line: int
    """How many turns the line has."""
    first: int
    last: int
    at: str
    turns: Sequence[Shown] = ()
    compared: Compared | None = None
    branches: Sequence[Stretch] = ()

    @property
    def pairs(self) -> Sequence[Pair]:
        """Of this page: a turn is a question and an answer."""
        return self.compared.pairs[2 * self.first : 2 * self.last] if self.compared else ()

    @property
    def newest(self) -> int:
        """Where the last page begins."""
        return max(0, self.line - PAGE)


async def page_thread(desk: Desk, request: Request) -> Response:
    asked = _asked(request)
    return await desk.read(lambda: _answer(desk, request, asked))


def _asked(request: Request) -> Asked:
    query = request.query_params
    start = query.get("from", "")
    return Asked(
        owner=principal(request),
        id=request.path_params["id"],
        at=query.get("at", ""),
        start=int(start[:9]) if start.isdecimal() else None,
        backend=query.get("as", ""),
        part=query.get("part", "") == "1",
    )


def _answer(desk: Desk, request: Request, asked: Asked) -> Response:
    view = _view(desk, asked)
    if asked.part:
        return HTMLResponse(fragment("pairs.html" if asked.backend else "turns.html", {"view": view, "asked": asked}))
    backends = sorted(desk.current.snapshot.settings.backends)
    values = {"view": view, "asked": asked, "backends": backends, "formats": tuple(FORMATS.values())}
    return page(desk, request, "thread.html", values)


def _view(desk: Desk, asked: Asked) -> View:
    store, passages = desk.kept, desk.kept.passages(asked.owner, asked.id)
    thread = store.thread(asked.owner, asked.id)
    if thread is None or not passages:
        raise Problem(404, "there is no such thread", "it may have been forgotten", "look for it in Threads")
    line = line_through(passages, asked.at)
    first, last = _window(line, asked)
    branches = _branches(desk.kept, asked, passages, line)
    view = View(thread=thread, line=len(line), first=first, last=last, at=asked.at, branches=branches)
    if asked.backend:
        return structs.replace(view, compared=_beside(desk, asked, line))
    exchanges = {each.exchange: found for each in line[first:last] if (found := store.exchange(asked.owner, each.exchange))}
    return structs.replace(view, turns=shown_turns(line, first, last, exchanges, _ways(passages, line)))


def _branches(store: Store, asked: Asked, passages: Sequence[Passage], line: Sequence[Passage]) -> list[Stretch]:
    """Of a sub-agent, the thread's title says what it was sent for."""
    tree = store.tree(asked.owner, asked.id)
    words = {each.exchange: first_words(each) for each in passages}
    others = {branch.thread for branch in tree} - {asked.id}
    titles = {id: found.title for id in others if (found := store.thread(asked.owner, id))}
    words |= {branch.exchanges[0]: titles.get(branch.thread, "") for branch in tree if branch.thread in others}
    return stretches(tree, words, asked.id, line)


def _window(line: Sequence[Passage], asked: Asked) -> tuple[int, int]:
    """From which turn to which: as asked; else around the turn that is to be seen; else from the beginning."""
    place = next((index for index, each in enumerate(line) if each.exchange == asked.at), None)
    start = asked.start if asked.start is not None else max(0, place - PAGE // 2) if place is not None else 0
    first = min(start, max(0, len(line) - 1))
    return first, min(len(line), first + PAGE)


def _beside(desk: Desk, asked: Asked, line: Sequence[Passage]) -> Compared:
    """The whole line, since a projection is of the whole; the page shows its part of the pairs."""
    answered = line_of(line)
    return compared(projected(answered, asked.backend, desk.current.snapshot, desk.kept, asked.owner), answered)


def _ways(passages: Sequence[Passage], line: Sequence[Passage]) -> dict[str, list[Way]]:
    """Where several answers followed one turn: all of them, by that turn."""
    on = {each.exchange for each in line}
    by_answer = {each.recording.id: each.exchange for each in passages if each.recording}
    ways: dict[str, list[Way]] = {}
    for each in passages:
        before = by_answer.get(each.recording.followed or "", "") if each.recording and each.recording.blocks else ""
        if before:
            ways.setdefault(before, []).append(
                Way(exchange=each.exchange, begins=first_words(each), shown=each.exchange in on)
            )
    return {before: found for before, found in ways.items() if len(found) > 1}
