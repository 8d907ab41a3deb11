"""One thread: in its original order, along one of its lines; or beside what a backend would get of it.

A thread that was rewound has several lines; a page shows one, in the order in which it was said, and marks where others
begin. An unanswered question is shown where it was asked. The line is the one that ends with the newest answer, or the
newest that goes through a requested turn. Long threads come in pages. Pages are made in a thread of their own, so that no
answer of the gateway waits for a long conversation that is looked at.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import msgspec
from msgspec import Struct, structs
from starlette.requests import Request
from starlette.responses import Response

from clew.admin.problems import AdminProblem
from clew.admin.requests import principal
from clew.admin.services import AdminServices
from clew.admin.threads import projected
from clew.chat.formats import FORMATS
from clew.chat.turns import StoredTurn, line_of
from clew.limits.keys import LOCAL
from clew.model.turn import Exchange
from clew.store import Store
from clew.store.text import texts_asked
from clew.store.values import Branch, Passage, Thread
from clew.web.blocks import read_object
from clew.web.client_form import ClientTurn, client_turn, has_own_form
from clew.web.comparison import Comparison, compare
from clew.web.frame import address, fragment, page
from clew.web.rows import cost_in
from clew.web.turns import BranchLink, ShownTurn, shown_turns

PAGE: Final = 40
"""Turns on a page."""
_SUMMARY: Final = "<conversation-summary "
"""A line that goes on from a summary begins with this: it is nobody's first words."""


class ThreadQuery(Struct, frozen=True, kw_only=True):
    """Which part of which thread, and how."""

    owner: str
    id: str
    at: str = ""
    """A turn that is to be on the page."""
    start: int | None = None
    backend: str = ""
    form: str = ""
    """"client": in the client's own form."""
    part: bool = False
    """Only the turns, to be put behind others."""
    place: str
    """The page's: links to other turns lead there."""

    def to(self, *parts: str, **query: object) -> str:
        """The address of another page about the same owner."""
        return address(*parts, owner=self.owner, **query)

    def turn(self, at: str = "", start: int | None = None) -> str:
        """The address of this page at another turn, or from another turn on."""
        return self.to(self.place, self.id, as_=self.backend, form=self.form, from_=start, at=at)


class BranchRow(Struct, frozen=True, kw_only=True):
    """A branch as the page lists it. `thread` is "" for this one."""

    number: int
    thread: str
    agent: str
    after: int
    """The number of the branch that it goes on from; 0 for a beginning."""
    depth: int
    turns: int
    ended: float
    begins: str
    """The first words that were asked in it."""
    last: str
    """Its last exchange, to go there."""
    shown: bool
    backend: str = ""
    """The backend of its last answer; "" for one of another thread."""
    ending: str = ""
    """How its last answer ended, if it is not whole."""


class ThreadView(Struct, frozen=True, kw_only=True):
    """What the templates get. A line of so many turns, of which those from `first` to before `last` are shown."""

    thread: Thread
    line: int
    first: int
    last: int
    turns: Sequence[ShownTurn] = ()
    compared: Comparison | None = None
    api: str = ""
    """What the client of its newest turn speaks, if that has a form of its own."""
    branches: Sequence[BranchRow] = ()
    beginnings: Sequence[BranchLink] = ()
    """Where the thread was begun more than once."""

    @property
    def newest(self) -> int:
        """The first turn of the last page."""
        return max(0, self.line - PAGE)


async def page_thread(services: AdminServices, request: Request) -> Response:
    query = query_of(request, "threads")

    def answer() -> Response:
        values = {"view": view_of(services, query), "asked": query}
        if query.part:
            return fragment("pairs.html" if query.backend else "turns.html", values)
        backends = sorted(services.current.snapshot.settings.backends)
        more = {"backends": backends, "formats": tuple(FORMATS.values()), "own": query.owner == LOCAL}
        return page(services, request, "thread.html", {**values, **more})

    return await services.read(answer)


def query_of(request: Request, place: str) -> ThreadQuery:
    """What a request for a page below this place asks for."""
    query = request.query_params
    start = query.get("from", "")
    return ThreadQuery(
        owner=principal(request),
        id=request.path_params["id"],
        at=query.get("at", ""),
        start=int(start[:9]) if start.isdecimal() else None,
        backend=query.get("as", ""),
        form="client" if query.get("form", "") == "client" and not query.get("as") else "",
        part=query.get("part", "") == "1",
        place=place,
    )


def view_of(services: AdminServices, query: ThreadQuery, *, newest: bool = False) -> ThreadView:
    """The view that is asked for. `newest`: the end of the line, unless a part is asked for. Raises Problem if there is no
    such thread."""
    store, passages = services.kept, services.kept.passages(query.owner, query.id)
    thread = store.thread(query.owner, query.id)
    if thread is None or not passages:
        raise AdminProblem(404, "there is no such thread", "it may have been deleted", "look for it in Threads")
    line = line_through(passages, query.at)
    # From which turn to which: as asked; else around the requested turn; else from the beginning.
    place = next((index for index, each in enumerate(line) if each.exchange == query.at), None)
    usual = max(0, len(line) - PAGE) if newest else max(0, place - PAGE // 2) if place is not None else 0
    first = min(usual if query.start is None else query.start, max(0, len(line) - 1))
    last = min(len(line), first + PAGE)
    tree = [] if query.part else store.tree(query.owner, query.id)
    branches = branch_rows(tree, _first_words_in(store, query, tree, passages), query.id, line, passages)
    newest_exchange = store.exchange(query.owner, line[-1].exchange) if line else None
    api = newest_exchange.client_api if newest_exchange and has_own_form(newest_exchange.dialect) else ""
    view = ThreadView(thread=thread, line=len(line), first=first, last=last, api=api, branches=branches)
    if query.backend:
        return structs.replace(view, compared=_comparison(services, query, line, view))
    spots = [StoredTurn(each, store.exchange(query.owner, each.exchange)) for each in line[first:last]]
    exchanges = {spot.id: found for spot in spots if (found := spot.exchange)}
    links = _branch_links(passages, line)
    backends, redact = services.current.snapshot.settings.backends, services.redactor()
    turns = [
        structs.replace(turn, cost=cost_in(turn.happened, backends), why=redact(turn.why) if turn.why else "")
        if turn.happened
        else turn
        for turn in shown_turns(line, first, last, exchanges, links)
    ]
    if query.form:
        forms = _client_turns(services, query, line[first:last], exchanges)
        turns = [structs.replace(turn, client=forms.get(turn.exchange)) for turn in turns]
    return structs.replace(view, turns=turns, beginnings=links.get("", ()))


def _client_turns(
    services: AdminServices, query: ThreadQuery, line: Sequence[Passage], exchanges: Mapping[str, Exchange]
) -> dict[str, ClientTurn]:
    """The turns whose clients have a form of their own, by their exchanges."""
    store, sealer, found = services.kept, services.current.snapshot.sealer, dict[str, ClientTurn]()
    natives = {each.exchange: each for each in store.native_turns(query.owner, exchanges)}
    for passage in line:
        exchange = exchanges.get(passage.exchange)
        if exchange is None or not has_own_form(exchange.dialect):
            continue
        bodies = None if passage.exchange in natives else store.bodies(query.owner, passage.exchange)
        body = bodies.asked if bodies else b""
        if turn := client_turn(passage, exchange, body, natives.get(passage.exchange), sealer):
            found[passage.exchange] = turn
    return found


def _comparison(services: AdminServices, query: ThreadQuery, line: Sequence[Passage], view: ThreadView) -> Comparison:
    """A projection is of the whole line; the page shows a part. A turn is a question and an answer: two pairs."""
    answered = line_of(line)
    try:
        found = projected(answered, query.backend, services.current.snapshot, services.kept, query.owner)
    except (msgspec.MsgspecError, RecursionError):
        why, read = "a text in it cannot be written as JSON", "read it as it was said"
        raise AdminProblem(409, "this thread cannot be sent", why, read) from None
    return compare(found, answered, 2 * view.first, 2 * view.last)


# Lines and branches


def line_through(passages: Sequence[Passage], at: str = "") -> list[Passage]:
    """Oldest first: the turns that lead to the newest answer that goes through `at`, and unanswered questions among them.

    Without such a turn, to the newest answer of all.
    """
    answered = [(each.exchange, each.recording) for each in passages if each.recording and each.recording.blocks]
    known = any(exchange == at for exchange, _ in answered)
    below: set[str] = set()
    tip = ""
    for exchange, recording in answered:
        if not known or exchange == at or (recording.followed or "") in below:
            below.add(recording.id)
            tip = exchange
    before = {each.exchange: each.recording.followed or "" for each in passages if each.recording}
    by_answer = {each.recording.id: each.exchange for each in passages if each.recording}
    on: set[str] = set()
    while tip and tip not in on:
        on.add(tip)
        tip = by_answer.get(before.get(tip, ""), "")
    answers = {each.recording.id for each in passages if each.recording and each.exchange in on}
    unanswered = {each.exchange for each in passages} - {exchange for exchange, _ in answered}
    return [
        each
        for each in passages
        if each.exchange in on
        or (each.exchange in unanswered and (not before.get(each.exchange) or before[each.exchange] in answers))
    ]


def branch_rows(
    branches: Sequence[Branch],
    words: Mapping[str, str],
    thread: str,
    line: Sequence[Passage],
    passages: Sequence[Passage] = (),
) -> list[BranchRow]:
    """Every branch and sub-agent; nothing for a thread with one branch. `words` are the first of each branch, by its first
    exchange; `passages` are all of the thread."""
    if len(branches) < 2:
        return []
    numbers = {exchange: number for number, branch in enumerate(branches, 1) for exchange in branch.exchanges}
    on = {passage.exchange for passage in line}
    said = {passage.exchange: passage for passage in passages}
    depths: dict[int, int] = {0: -1}
    rows: list[BranchRow] = []
    for number, branch in enumerate(branches, 1):
        after, tip = numbers.get(branch.after, 0), said.get(branch.exchanges[-1])
        depths[number] = depths.get(after, -1) + 1
        row = BranchRow(
            number=number,
            thread=branch.thread if branch.thread != thread else "",
            agent=branch.agent,
            after=after,
            depth=min(depths[number], 4),
            turns=len(branch.exchanges),
            ended=branch.ended,
            begins=words.get(branch.exchanges[0], ""),
            last=branch.exchanges[-1],
            shown=branch.exchanges[-1] in on,
            backend=tip.recording.origin.backend if tip and tip.recording else "",
            ending=ending_of(tip) if tip else "",
        )
        rows.append(row)
    return rows


def _branch_links(passages: Sequence[Passage], line: Sequence[Passage]) -> dict[str, list[BranchLink]]:
    """Where several answers followed one turn: all of them, by that turn; by "" those that begin the thread."""
    on = {each.exchange for each in line}
    by_answer = {each.recording.id: each.exchange for each in passages if each.recording}
    after: dict[str, list[Passage]] = {}
    for each in passages:
        if each.recording and each.recording.blocks:
            after.setdefault(by_answer.get(each.recording.followed or "", ""), []).append(each)
    return {
        before: [
            BranchLink(
                exchange=each.exchange,
                begins=first_words(each),
                shown=each.exchange in on,
                at=each.at,
                backend=each.recording.origin.backend if each.recording else "",
                ending=ending_of(each),
            )
            for each in found
        ]
        for before, found in after.items()
        if len(found) > 1
    }


def ending_of(passage: Passage) -> str:
    """How an answer ended that is not whole; "" for one that is."""
    if passage.recording is None or not passage.recording.blocks:
        return "no answer"
    return "" if passage.recording.whole else "cut off"


def _first_words_in(store: Store, query: ThreadQuery, tree: Sequence[Branch], passages: Sequence[Passage]) -> dict[str, str]:
    """The first words of each branch, by its first exchange. Of a sub-agent, the title of its thread."""
    starts = {branch.exchanges[0] for branch in tree}
    words = {each.exchange: first_words(each) for each in passages if each.exchange in starts}
    others = {branch.thread for branch in tree} - {query.id}
    titles = {id: found.title for id in others if (found := store.thread(query.owner, id))}
    return words | {branch.exchanges[0]: titles.get(branch.thread, "") for branch in tree if branch.thread in others}


def first_words(passage: Passage) -> str:
    """The beginning of what was asked, as far as it is words."""
    try:
        texts = [*texts_asked(msgspec.json.encode(read_object(raw)) for raw in passage.asked)]
    except msgspec.MsgspecError:
        return ""
    own = [text for text in texts if not text.startswith(_SUMMARY)] or texts
    return " ".join(" ".join(own).split())[:80].strip()
