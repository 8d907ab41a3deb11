"""One look-up: what a request wants to know of a store, and what the store answers, both as values.

A store answers it in one go. What cannot be read of it is as if it had never been recorded: one damaged record costs its
own thinking, not that of the conversation around it, and `failure` says why.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import Struct

from clew.errors import StoreError
from clew.model.recording import Recording

__all__ = ["LookedUp", "Lookup"]


class Lookup(Struct, frozen=True, kw_only=True):
    """Of one principal: recordings by block key, tool id, place and id, and what these followed or came after, `links` of
    them in a row at most; the thread with this session and agent, where a session is given; and the pin of `thread`."""

    principal: str
    keys: tuple[bytes, ...] = ()
    tools: tuple[str, ...] = ()
    places: tuple[bytes, ...] = ()
    ids: tuple[str, ...] = ()
    links: int = 0
    session: str = ""
    agent: str = ""
    thread: str = ""


class LookedUp(Struct, frozen=True, kw_only=True):
    """The recordings in the order in which they were made; the thread of the session, "" for none; the pin of each thread
    that is named here, "" for none, as far as it can be read."""

    recordings: tuple[Recording, ...] = ()
    thread: str = ""
    pins: Mapping[str, str] = {}
    failure: StoreError | None = None
    """Why a recording could not be read, the first time."""
    thread_failure: StoreError | None = None
    """Why the thread, or a pin, could not be read."""
    has_pins: bool = False
    """Whether some thread of this principal has a pin, or may have. Only told where something could not be read."""

    @property
    def is_whole(self) -> bool:
        return self.failure is None and self.thread_failure is None
