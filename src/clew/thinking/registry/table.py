"""The table itself: register, confirm, clean up, filter. What it is for stands in the package's docstring.

The names of the counts are those of the log lines in the registry's document.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import Literal, TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from clew.model.json import JsonObject, JsonValue
from clew.thinking.registry.blocks import (
    AnswerWatch,
    Registered,
    Registration,
    content_of,
    documented_key,
    has_answer,
    objects_in,
    path_of,
    thinking_in,
    without,
)

ORPHAN_THRESHOLD = 300.0
"""Seconds that a block may wait for its first return."""

_PREVIEW = 50

KeyOf: TypeAlias = Callable[[JsonObject], bytes | None]

CleanupRule: TypeAlias = Literal["old session", "confirmed unused", "orphaned"]


class RegistryEntry(Struct, frozen=True):
    """What the registry knows about one block.

    >>> registry = ThinkingRegistry()
    >>> _ = registry.register_blocks([{"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}], now=12.0)
    >>> list(registry.entries.values())
    [RegistryEntry(session=0, registered_at=12.0, confirmed=False, complete=True)]
    """

    session: int
    registered_at: float
    confirmed: bool = False
    complete: bool = True


class BackendSwitch(Struct, frozen=True):
    """The backend changed, and a new session began."""

    old_backend: str
    new_backend: str
    old_session: int
    new_session: int


class CleanedEntry(Struct, frozen=True):
    """A block that one of the three rules removed from the table."""

    key: bytes
    entry: RegistryEntry
    rule: CleanupRule


class Decision(Struct, frozen=True):
    """What became of one thinking block of a request. The key is None for a block that nothing names."""

    path: str
    key: bytes | None
    kept: bool
    why: str


class Filtered(Struct, frozen=True, kw_only=True):
    """The request to send (the very same object if nothing was removed) and what there is to say about it."""

    body: JsonValue
    session: int
    removed: int = 0
    confirmed: int = 0
    cleanup_old_session: int = 0
    cleanup_confirmed_unused: int = 0
    cleanup_orphaned: int = 0
    cache_size_after: int = 0
    switch: BackendSwitch | None = None
    """Where the request goes to another backend than the last one."""
    confirmations: tuple[bytes, ...] = ()
    """The keys of the blocks that were confirmed."""
    cleanups: tuple[CleanedEntry, ...] = ()
    decisions: tuple[Decision, ...] = ()


class CacheStats(Struct, frozen=True):
    """How many blocks a registry holds. `total` is `confirmed` + `unconfirmed`, and also `current_session` + `old_session`.

    >>> registry = ThinkingRegistry()
    >>> _ = registry.register_blocks([{"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}], now=0.0)
    >>> registry.cache_stats()
    CacheStats(total=1, confirmed=0, unconfirmed=1, current_session=1, old_session=0)
    """

    total: int = 0
    confirmed: int = 0
    unconfirmed: int = 0
    current_session: int = 0
    old_session: int = 0


class ThinkingRegistry:
    """Remembers thinking blocks by session, and removes those that are not from the current session from a request.

    `key_of` names a block: as documented, or `exact_block_key`, which also distinguishes blocks with the same beginning and
    end, and blocks of two makers.

    >>> registry = ThinkingRegistry()
    >>> registry.notify_backend("claude").new_session
    1
    >>> thought = {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}
    >>> _ = registry.register_blocks([thought], now=0.0)
    >>> request = {"messages": [{"role": "assistant", "content": [thought, {"type": "text", "text": "Hi."}]}]}
    >>> registry.filter_request(request, now=1.0).removed
    0
    >>> _ = registry.notify_backend("glm")
    >>> registry.filter_request(request, now=2.0).removed
    1
    """

    def __init__(
        self,
        orphan_threshold: float = ORPHAN_THRESHOLD,
        *,
        key_of: KeyOf = documented_key,
        lock: AbstractContextManager[object] | None = None,
    ) -> None:
        self.orphan_threshold = orphan_threshold
        self._key_of = key_of
        self._lock = nullcontext() if lock is None else lock
        self._session = 0
        self._backend = ""
        self._entries: dict[bytes, RegistryEntry] = {}

    @property
    def session(self) -> int:
        """The number of switches. `Filtered.session` is the one in which a request was sent, for its answer too."""
        return self._session

    @property
    def backend(self) -> str:
        """The backend that was named last; "" before the first."""
        return self._backend

    @property
    def entries(self) -> dict[bytes, RegistryEntry]:
        """A copy of the table."""
        with self._lock:
            return self._entries.copy()

    def notify_backend(self, name: str) -> BackendSwitch | None:
        """Call this before each request. A name other than the last one begins a session, also if it was used earlier."""
        with self._lock:
            return self._switch_to(name)

    def register_response(self, body: bytes, now: float, *, session: int | None = None) -> Registration:
        """Register the blocks of an answer in one piece. `session` is that of its request; None means the current one."""
        try:
            answer: JsonValue = msgspec.json.decode(body)
        except (ValueError, RecursionError) as error:
            return Registration(note=f"the answer is not JSON: {error}")
        content = answer.get("content") if isinstance(answer, dict) else None
        if not isinstance(content, list):
            return Registration(note="the answer has no content")
        return self.register_blocks(objects_in(content), now, session=session)

    def register_blocks(
        self, blocks: Iterable[JsonObject], now: float, *, session: int | None = None, complete: bool = True
    ) -> Registration:
        """Register the blocks that are thinking and have a key. An incomplete block is remembered, and never sent on."""
        with self._lock:
            entry = RegistryEntry(self._session if session is None else session, now, complete=complete)
            return Registration(tuple(new for block in blocks if (new := self._register(block, entry))))

    def watch(self, session: int | None = None) -> AnswerWatch:
        """Return a reader for the events of one answer. `session` is that of its request; None means the current one."""
        return AnswerWatch(self, self._session if session is None else session)

    def filter_request(
        self, body: JsonValue, now: float, *, backend: str | None = None, only_looks: bool = False
    ) -> Filtered:
        """The request without the blocks that are not the current session's, and the table brought up to date.

        `backend` is where the request goes, as `notify_backend` is told; in one step, so that no other request comes between
        the two. With `only_looks` it says nothing of what a conversation holds: a token count may be of any part of one.
        """
        with self._lock:
            switch = self._switch_to(backend) if backend is not None else None
            found = [(place, self._key_of(block)) for place, block in thinking_in(body)]
            keys = {key for _, key in found if key is not None}
            confirmed = () if only_looks else self._confirm(keys)
            cleaned = self._cleanup(keys if has_answer(body) and keys and not only_looks else None, now)
            counts = Counter(each.rule for each in cleaned)
            verdicts = [(place, self._decide(path_of(place), key)) for place, key in found]
            gone = [place for place, decision in verdicts if not decision.kept]
            return Filtered(
                body=without(body, gone),
                session=self._session,
                removed=len(gone),
                confirmed=len(confirmed),
                cleanup_old_session=counts["old session"],
                cleanup_confirmed_unused=counts["confirmed unused"],
                cleanup_orphaned=counts["orphaned"],
                cache_size_after=len(self._entries),
                switch=switch,
                confirmations=confirmed,
                cleanups=cleaned,
                decisions=tuple(decision for _, decision in verdicts),
            )

    def cache_stats(self) -> CacheStats:
        """How many blocks are known: in all, confirmed or not, of this session or of others."""
        entries = self.entries.values()
        confirmed = sum(entry.confirmed for entry in entries)
        current = sum(entry.session == self._session for entry in entries)
        return CacheStats(len(entries), confirmed, len(entries) - confirmed, current, len(entries) - current)

    def _register(self, block: JsonObject, entry: RegistryEntry) -> Registered | None:
        """A block that is known in this session stays as it is; only its missing end may still arrive."""
        key = self._key_of(block)
        if key is None:
            return None
        known = self._entries.get(key)
        if known is not None and known.session >= entry.session:
            self._entries[key] = replace(known, complete=known.complete or entry.complete)
            return None
        self._entries[key] = entry
        return Registered(key, entry.session, (content_of(block) or "")[:_PREVIEW], entry.complete)

    def _switch_to(self, name: str) -> BackendSwitch | None:
        if name == self._backend:
            return None
        switch = BackendSwitch(self._backend, name, self._session, self._session + 1)
        self._backend, self._session = switch.new_backend, switch.new_session
        return switch

    def _confirm(self, keys: Iterable[bytes]) -> tuple[bytes, ...]:
        """The keys that this request confirmed, and none before it."""
        confirmed: list[bytes] = []
        for key in keys:
            entry = self._entries.get(key)
            if entry is not None and entry.session == self._session and not entry.confirmed:
                self._entries[key] = replace(entry, confirmed=True)
                confirmed.append(key)
        return tuple(confirmed)

    def _cleanup(self, in_use: Collection[bytes] | None, now: float) -> tuple[CleanedEntry, ...]:
        """What each rule removed. Without `in_use` only the first rule runs: the request does not say what is in use."""
        removed: list[CleanedEntry] = []
        for key, entry in list(self._entries.items()):
            unused = in_use is not None and key not in in_use
            rule: CleanupRule
            if entry.session != self._session:
                rule = "old session"
            elif unused and entry.confirmed:
                rule = "confirmed unused"
            elif unused and now - entry.registered_at > self.orphan_threshold:
                rule = "orphaned"
            else:
                continue
            del self._entries[key]
            removed.append(CleanedEntry(key, entry, rule))
        return tuple(removed)

    def _decide(self, path: str, key: bytes | None) -> Decision:
        entry = self._entries.get(key) if key is not None else None
        if key is None:
            why = "malformed: nothing names it"
        elif entry is None:
            why = "not made in this session"
        elif not entry.complete:
            why = "cut before its end"
        else:
            return Decision(path, key, True, "made in this session")
        return Decision(path, key, False, why)
