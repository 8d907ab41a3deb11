"""Threads: the conversations, the last used first, and those in which words were found."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from typing import Final

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from clew.admin.parameters import number, principal
from clew.admin.services import AdminServices
from clew.admin.views import status_of
from clew.store.values import Hit
from clew.web.frame import address, page
from clew.web.now import connection_lines

PAGE: Final = 50
MOST_HITS: Final = 100
_MARKUP: Final = re.compile(r"\*\*|(?:\| *)?(?::?(?<!-)-{2,}:? *\| *)+|\| *(?=\|)")
"""Marks of bold type and lines of tables. A row of dashes is matched from its beginning alone: some are very long."""


class SnippetPart(Struct, frozen=True):
    """A part of a snippet; `found` is a word that was looked for."""

    text: str
    found: bool


class SearchHit(Struct, frozen=True):
    """A place in which the words are."""

    hit: Hit
    parts: Sequence[SnippetPart]


async def page_threads(services: AdminServices, request: Request) -> Response:
    owner, words = principal(request), request.query_params.get("q", "").strip()
    before = number(request, "before")
    return page(services, request, "threads.html", await services.read(lambda: _values(services, owner, words, before)))


def _values(services: AdminServices, owner: str, words: str, before: float | None) -> dict[str, object]:
    """One thread or hit more than a page shows is read, to know whether there are more."""
    store = services.kept
    threads = [] if words else store.threads(owner, limit=PAGE + 1, before=before)
    hits = store.search(owner, words, limit=MOST_HITS + 1) if words else []
    return {
        "words": words,
        "owner": owner,
        "to": partial(address, owner=owner),
        "found": [SearchHit(hit, snippet_parts(hit)) for hit in hits[:MOST_HITS]],
        "others": len(hits) > MOST_HITS,
        "threads": threads[:PAGE],
        "more": threads[PAGE - 1].used if len(threads) > PAGE else None,
        "first": before is None,
        "connect": "" if threads or words else connection_lines(services, status_of(services).gateways),
        "keeps": services.current.snapshot.settings.store.content,
    }


def snippet_parts(hit: Hit) -> list[SnippetPart]:
    """The snippet, cut where words were found: a template escapes each part by itself. Marks of Markdown are removed."""
    parts: list[tuple[str, bool]] = []
    at = 0
    for start, end in hit.marks:
        parts += [(hit.snippet[at:start], False), (hit.snippet[start:end], True)]
        at = end
    parts.append((hit.snippet[at:], False))
    return [SnippetPart(_MARKUP.sub("", text), found) for text, found in parts if text]
