"""Threads: the conversations, the last used first, and those in which words were said."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from typing import Final

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from clew.admin.desk import Desk
from clew.admin.parameters import number, principal
from clew.admin.status import status_of
from clew.store import Store
from clew.store.values import Hit
from clew.web.addresses import address
from clew.web.connecting import connecting
from clew.web.frame import page

__all__ = ["page_threads"]

PAGE: Final = 50
MOST_HITS: Final = 100
_FURNITURE: Final = re.compile(r"\*\*|(?:\| *)?(?::?(?<!-)-{2,}:? *\| *)+|\| *(?=\|)")
"""A row of dashes is looked at from its beginning alone: some are very long."""


class Part(Struct, frozen=True):
    """A part of a snippet; `found` is a word that was looked for."""

    text: str
    found: bool


class Found(Struct, frozen=True):
    """A place in which the words are."""

    hit: Hit
    parts: Sequence[Part]


async def page_threads(desk: Desk, request: Request) -> Response:
    words = request.query_params.get("q", "").strip()
    asked = _Asked(principal(request), words, number(request, "before"))
    return page(desk, request, "threads.html", await desk.read(lambda: _values(desk, asked)))


class _Asked(Struct, frozen=True):
    owner: str
    words: str
    before: float | None


def _values(desk: Desk, asked: _Asked) -> dict[str, object]:
    store, words = desk.kept, asked.words
    threads = [] if words else store.threads(asked.owner, limit=PAGE + 1, before=asked.before)
    found = _found(store, asked.owner, words) if words else []
    return {
        "words": words,
        "owner": asked.owner,
        "to": partial(address, owner=asked.owner),
        "found": found[:MOST_HITS],
        "others": len(found) > MOST_HITS,
        "threads": threads[:PAGE],
        "more": threads[PAGE - 1].used if len(threads) > PAGE else None,
        "first": asked.before is None,
        "connect": "" if threads or words else connecting(desk, status_of(desk).gateways),
        "keeps": desk.current.snapshot.settings.store.content,
    }


def _found(store: Store, owner: str, words: str) -> list[Found]:
    """One more than a page shows, if there are more."""
    return [Found(hit, parts_of(hit)) for hit in store.search(owner, words, limit=MOST_HITS + 1)]


def parts_of(hit: Hit) -> list[Part]:
    """The snippet, cut where words were found: a template escapes each part by itself."""
    parts: list[Part] = []
    at = 0
    for start, end in hit.marks:
        parts += [Part(hit.snippet[at:start], False), Part(hit.snippet[start:end], True)]
        at = end
    return [Part(_plain(part.text), part.found) for part in (*parts, Part(hit.snippet[at:], False)) if part.text]


def _plain(text: str) -> str:
    """Without the lines of tables and the marks of bold type: a snippet is one line."""
    return _FURNITURE.sub("", text)
