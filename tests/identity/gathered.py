"""What a request would be given of a full shelf: the same look-ups as a store's, over values."""

from __future__ import annotations

from collections.abc import Sequence

from clew.model.recording import Recording, Shelf
from clew.model.request import Request
from clew.thinking.history import runs_of
from clew.thinking.pointers import Pointers, places_wanted
from clew.thinking.recognise import Context

__all__ = ["gathered"]


def gathered(request: Request, full: Shelf, context: Context) -> Shelf:
    pointers = Pointers(runs_of(request.messages))
    exact = [found for key in pointers.keys if (found := full.by_key(key))]
    by_tool = [found for tool in pointers.tools for found in full.by_tool(tool)]
    first = _with_links([*by_tool, *exact], full, pointers.links)
    places = places_wanted(request.messages, pointers, Shelf(first), context)
    there = [found for place in places for found in full.by_place(place)]
    return Shelf([*_with_links(there, full, pointers.links), *first])


def _with_links(found: Sequence[Recording], full: Shelf, links: int) -> list[Recording]:
    """What these followed and came after goes ahead of them: of two with one key the one that was asked for is found."""
    every, at = {each.id: each for each in found}, [*found]
    for _ in range(links):
        names = dict.fromkeys(name for each in at for name in (each.followed, each.strand.after) if name)
        at = [each for name in names if name not in every and (each := full.by_id(name))]
        every = {each.id: each for each in at} | every
    return list(every.values())
