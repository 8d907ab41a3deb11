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
from clew.thinking.registry.blocks import content_of, documented_key, has_answer, objects_in, path_of, thinking_in, without
from clew.thinking.registry.watch import AnswerWatch, Registered, Registration

ORPHAN_THRESHOLD = 300.0
"""Seconds that a block may wait for its first return."""

_PREVIEW = 50

KeyOf: TypeAlias = Callable[[JsonObject], bytes | None]

_Rule: TypeAlias = Literal["old session", "confirmed unused", "orphaned"]


class RegistryEntry(Struct, frozen=True):
    """What the table holds of a block."""

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
    decisions: tuple[Decision, ...] = ()


class CacheStats(Struct, frozen=True):
    """`total` is the sum of the next two, and of the last two."""

    total: int = 0
    confirmed: int = 0
    unconfirmed: int = 0
    current_session: int = 0
    old_session: int = 0


class ThinkingRegistry:
    """`key_of` names a block: as documented, or `product_key`, which tells equal ends apart.

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
        """Counts the switches. `Filtered.session` is the one that a request went out in, and its answer belongs to."""
        return self._session

    @property
    def backend(self) -> str:
        """The one that was named last; "" before the first."""
        return self._backend

    @property
    def entries(self) -> dict[bytes, RegistryEntry]:
        """A copy of the table."""
        with self._lock:
            return self._entries.copy()

    def notify_backend(self, name: str) -> BackendSwitch | None:
        """Before each request. Another name than last time begins a session, also one that was there before."""
        with self._lock:
            if name == self._backend:
                return None
            switch = BackendSwitch(self._backend, name, self._session, self._session + 1)
            self._backend, self._session = switch.new_backend, switch.new_session
            return switch

    def register_response(self, body: bytes, now: float, *, session: int | None = None) -> Registration:
        """The blocks of an answer that came whole. `session` is the one its request went out in; the current one if None."""
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
        """Those of the blocks that are thinking and have a key. An incomplete one is known, and never sent on."""
        with self._lock:
            entry = RegistryEntry(self._session if session is None else session, now, complete=complete)
            return Registration(tuple(new for block in blocks if (new := self._register(block, entry))))

    def watch(self, session: int | None = None) -> AnswerWatch:
        """Reads the events of one answer. `session` is the one its request went out in; the current one if None."""
        return AnswerWatch(self, self._session if session is None else session)

    def filter_request(self, body: JsonValue, now: float, *, only_looks: bool = False) -> Filtered:
        """The request without the blocks that are not the current session's, and the table brought up to date.

        With `only_looks` it says nothing of what a conversation holds: a token count may be of any part of one.
        """
        with self._lock:
            found = [(place, self._key_of(block)) for place, block in thinking_in(body)]
            keys = {key for _, key in found if key is not None}
            confirmed = 0 if only_looks else self._confirm(keys)
            cleaned = self._cleanup(keys if has_answer(body) and keys and not only_looks else None, now)
            verdicts = [(place, self._decide(path_of(place), key)) for place, key in found]
            gone = [place for place, decision in verdicts if not decision.kept]
            return Filtered(
                body=without(body, gone),
                session=self._session,
                removed=len(gone),
                confirmed=confirmed,
                cleanup_old_session=cleaned["old session"],
                cleanup_confirmed_unused=cleaned["confirmed unused"],
                cleanup_orphaned=cleaned["orphaned"],
                cache_size_after=len(self._entries),
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

    def _confirm(self, keys: Iterable[bytes]) -> int:
        count = 0
        for key in keys:
            entry = self._entries.get(key)
            if entry is not None and entry.session == self._session and not entry.confirmed:
                self._entries[key] = replace(entry, confirmed=True)
                count += 1
        return count

    def _cleanup(self, in_use: Collection[bytes] | None, now: float) -> Counter[_Rule]:
        """How many each rule removed. Without `in_use` only the first rule runs: the request does not say what is in use."""
        removed: Counter[_Rule] = Counter()
        for key, entry in list(self._entries.items()):
            unused = in_use is not None and key not in in_use
            if entry.session != self._session:
                removed["old session"] += 1
            elif unused and entry.confirmed:
                removed["confirmed unused"] += 1
            elif unused and now - entry.registered_at > self.orphan_threshold:
                removed["orphaned"] += 1
            else:
                continue
            del self._entries[key]
        return removed

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
