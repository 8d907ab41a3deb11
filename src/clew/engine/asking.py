"""Asking: a client's request, read, with what is remembered of its history.

Synchronous and without any waiting but the store's look-ups, so that a small request is read at once and a large one in a
thread. A store that cannot be read takes nothing but memory with it: the client's own copy then goes as it came. Only where
it cannot say which backend a thread stays with, nobody is asked.
"""

from __future__ import annotations

import logging

from msgspec import UNSET, Struct

from clew.backends.row import Credential
from clew.dialects.anthropic.requests import parse
from clew.engine.call import AGENT, CLASS, Call
from clew.engine.route import Seeking, Way, class_of, ways_of
from clew.engine.snapshot import Snapshot
from clew.engine.spared import Spared
from clew.engine.titles import asks_for_title
from clew.errors import BackendUnknown, PinUnreadable, StoreError
from clew.http.client.message import Timeouts
from clew.model.blocks import Block
from clew.model.recording import Recording, Recordings, Shelf
from clew.model.request import Request, blocks_of
from clew.pipeline.step import Facts
from clew.store import Store
from clew.thinking.history import answers_of
from clew.thinking.keys import key_of
from clew.thinking.recognise import Context, recognise

__all__ = ["Asking", "asking_of"]

MOST_WAYS = 1000
"""Answers to remember; names of models come from clients, so there is no end to them."""

_NOTHING = Shelf()

_log = logging.getLogger("clew.engine")


class Asking(Struct, frozen=True, kw_only=True, eq=False):
    """What is asked, and all that decides where it goes and in which form."""

    call: Call
    request: Request
    snapshot: Snapshot
    facts: Facts
    shelf: Recordings
    newest: Recording | None
    """The newest answer of this history that is recorded."""
    thread: str
    ways: tuple[Way, ...]
    streams: bool
    """An answer is wanted, and event by event."""
    is_title: bool = False
    """The client wants a title of a conversation: no part of that, and none of its own."""

    @property
    def has_one_way(self) -> bool:
        """Whether nobody but one backend, with one of its models, can answer."""
        return len({(way.backend.name, way.target.model) for way in self.ways}) == 1

    def patience_with(self, way: Way) -> Timeouts:
        """How long each phase of the call may last."""
        in_one_piece = self.call.kind == "messages" and not self.streams
        return way.whole_patience if in_one_piece else way.patience


def asking_of(
    call: Call, snapshot: Snapshot, store: Store | None, new_thread: str, request: Request | None = None
) -> Asking:
    """Read it, unless it is read. Raises RequestInvalid and its kin, SettingsInvalid where a name leads nowhere."""
    request = request or parse(call.body, betas=call.betas)
    try:
        return _asking(call, request, snapshot, store, new_thread)
    except StoreError as error:
        _log.warning("recordings cannot be read, the client's own copy goes: %s", error)
        pin = _pin_without_recordings(call, request, store, error) if store else ""
        return _asking(call, request, snapshot, None, new_thread, pin)


def _asking(call: Call, request: Request, snapshot: Snapshot, store: Store | None, new_thread: str, pin: str = "") -> Asking:
    context = call.context
    shelf = Spared(store.recordings(call.principal)) if store else _NOTHING
    newest = _newest(request, shelf, context) if call.entry is None else shelf.by_id(call.entry.follows)
    thread = call.entry.thread if call.entry else newest.thread if newest else _thread_of(store, context)
    if store and not thread and isinstance(shelf, Spared) and shelf.failure:
        pin = _pin_without_recordings(call, request, store, shelf.failure)
    return Asking(
        call=call,
        request=request,
        snapshot=snapshot,
        facts=Facts(
            options=snapshot.options,
            recordings=shelf,
            context=context,
            sealer=snapshot.sealer,
            version=call.version,
        ),
        shelf=shelf,
        newest=newest,
        thread=thread or new_thread,
        ways=_ways(call, request, snapshot, newest, pin or _pin(call, store, thread)),
        streams=call.kind == "messages" and _streams(request),
        is_title=asks_for_title(call, request.body),
    )


def _pin(call: Call, store: Store | None, thread: str) -> str:
    """The backend that was chosen for this answer, else the one that the thread stays with."""
    if call.entry and call.entry.backend:
        return call.entry.backend
    return store.pin_of(call.principal, thread) if store and thread else ""


def _pin_without_recordings(call: Call, request: Request, store: Store, error: StoreError) -> str:
    """The backend that the thread stays with, where recordings cannot be read. Raises PinUnreadable if that is in doubt."""
    may_go_on = call.entry or call.context.session or any(message.role == "assistant" for message in request.messages)
    if not may_go_on:
        return ""
    try:
        thread = call.entry.thread if call.entry else _thread_of(store, call.context)
        if thread or not store.pinned(call.principal, limit=1):
            return store.pin_of(call.principal, thread) if thread else ""
    except StoreError:
        pass
    raise PinUnreadable(
        "clew cannot read from its store which backend this conversation stays with, so it asks none. A new conversation is "
        f"answered. {error}",
        key="",
    ) from error


def _streams(request: Request) -> bool:
    stream = request.body.stream
    return stream is not UNSET and bytes(stream) == b"true"


def _ways(call: Call, request: Request, snapshot: Snapshot, newest: Recording | None, pin: str) -> tuple[Way, ...]:
    settings = snapshot.settings
    hint = call.headers.get(CLASS, "")
    seeking = Seeking(
        model=request.body.model,
        agent=call.headers.get(AGENT, ""),
        request_class=class_of(call.kind, request.body, hint) if settings.rules else "",
        pin=pin,
        began_with=newest.origin.backend if newest else "",
    )
    return _known_ways(snapshot, seeking, call.credential)


def _known_ways(snapshot: Snapshot, seeking: Seeking, credential: Credential) -> tuple[Way, ...]:
    """The same question has the same answer as long as the settings are the same."""
    memo, asked = snapshot.ways, (seeking, tuple(credential))
    ways = memo.get(asked)  # large requests are read in threads, so it may be gone a moment later
    if ways is None:
        if len(memo) >= MOST_WAYS:
            memo.clear()
        try:
            ways = memo[asked] = ways_of(snapshot.settings, snapshot.active, seeking, credential)
        except BackendUnknown as error:
            raise _explained(error, snapshot) from None
    return ways


def _explained(error: BackendUnknown, snapshot: Snapshot) -> BackendUnknown:
    """With the reason, and with what helps, for whoever reads it in a client."""
    why = f"It could not use the newest settings: {snapshot.problem}. " if snapshot.problem else ""
    return BackendUnknown(
        f"clew does not know the backend {error.key!r} that was chosen for this request, and asks no other in its place. "
        f"{why}It has: {', '.join(sorted(snapshot.settings.backends))}. "
        "Choose one of these with `clew use NAME`, or add the backend to the settings; `clew doctor` says more.",
        key=error.key,
    )


def _thread_of(store: Store | None, context: Context) -> str:
    if store is None or not context.session:
        return ""
    return store.thread_of(context.principal, context.session, context.agent) or ""


def _newest(request: Request, shelf: Recordings, context: Context) -> Recording | None:
    """Nearly always the last answer's own blocks say which it is; else the whole history is gone through."""
    if shelf is _NOTHING:
        return None
    last = next((message for message in reversed(request.messages) if message.role == "assistant"), None)
    if last is None:
        return None
    for block in reversed(blocks_of(last)):
        recording = _pointed_at(block, shelf)
        if recording is not None and recording.principal == context.principal:
            return recording
    found = recognise(answers_of(request.messages), shelf, context)
    return next((each.recording for each in reversed(found) if each.recording), None)


def _pointed_at(block: Block, shelf: Recordings) -> Recording | None:
    if key := key_of(block):
        return shelf.by_key(key)
    if block.type == "tool_use" and isinstance(block.id, str) and block.id:
        return next(iter(shelf.by_tool(block.id)), None)
    return None
