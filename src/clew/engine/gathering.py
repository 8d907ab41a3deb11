"""Gathering: all that a store knows of a request, as values, before anything is decided.

The request says what it points at (`thinking.pointers`). What this process recorded or looked up lately is in memory, and
then nobody waits: that is an agent's next turn. Else the store is asked, in a thread: once for keys, ids, links, the thread
and its pin; and once more for places, where an answer is found by nothing else. Whatever comes after works on values.

A store that cannot be read takes nothing but memory with it: the client's own copy then goes as it came. Only where it
cannot say which backend a thread stays with, nobody is asked.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

from msgspec import Struct, structs

from clew.errors import PinUnreadable, StoreError
from clew.exchange.call import Call
from clew.model.past import Memo, Retold
from clew.model.recording import Recording, Shelf
from clew.model.request import Request, RequestMessage, blocks_of
from clew.store import Store
from clew.store.memory import weight_of
from clew.store.values import Lookup, LookupResult, RecalledRecordings
from clew.thinking.history import AnswerRun, answers_of, runs_of
from clew.thinking.keys import key_of
from clew.thinking.pointers import Pointers, places_wanted
from clew.thinking.recognise import Context, names_itself, recognise

_log = logging.getLogger("clew.engine")


class GatheredFacts(Struct, frozen=True, eq=False):
    """What is known of a request's history."""

    shelf: Shelf = Shelf()
    newest: Recording | None = None
    """The newest answer of this history that is recorded."""
    thread: str = ""
    """"" for one that is new."""
    pin: str = ""
    """The backend that was chosen for this answer, else the one that the thread stays with."""
    doubt: PinUnreadable | None = None
    """Why nobody can say which backend that is."""


class RecalledAnswers(Struct, frozen=True, eq=False):
    """What memory had of a history's first answers, each of which names its own recording; left for its next request."""

    runs: tuple[AnswerRun, ...]
    recordings: RecalledRecordings
    weight: int
    """About how many bytes the recordings take."""


_RECALLED = Memo[RecalledAnswers]()


def recalled_bytes(messages: Sequence[RequestMessage]) -> int:
    """About how many bytes are kept in memory because an earlier request of this history recalled them."""
    before = messages.past.left(_RECALLED) if isinstance(messages, Retold) else None
    return before.weight if before else 0


def recall(store: Store | None, call: Call, request: Request, new_thread: str) -> GatheredFacts | None:
    """What is known, from memory alone; None if the store has to be asked. `new_thread` is what the thread would be called
    if it is a new one. Of a history that was recalled before, only what is new is looked for."""
    if store is None:
        return GatheredFacts()
    messages, pointers = request.messages, Pointers(runs_of(request.messages))
    if not pointers.runs and not call.context.session and call.entry is None:
        return GatheredFacts()
    before = _recalled_before(messages, pointers)
    rest = Pointers(pointers.runs[len(before.runs) :]) if before else pointers
    found = store.recall(_wanted(call, rest, new_thread, before.recordings if before else None))
    if found is None and before is not None:
        before, rest = None, pointers
        found = store.recall(_wanted(call, rest, new_thread))
    if found is None:
        return None
    shelf = before.recordings.shelf.extended(found.recordings) if before else Shelf(found.recordings)
    known = [names_itself(run, shelf, call.context) for run in rest.runs]
    if None in known and places_wanted(messages, rest, shelf, call.context):
        return None
    if found.version and isinstance(messages, Retold) and None not in known:
        messages.past.leave(_RECALLED, _recalled(before, pointers, found, shelf))
    newest = known[-1] if known and not call.entry else None
    newest = newest or _newest(call, request, shelf)
    thread = call.entry.thread if call.entry else newest.thread if newest else found.thread
    pin = _pin(call, thread, found.pins)
    return GatheredFacts(shelf, newest, thread, pin) if thread and pin is not None else None


def _recalled_before(messages: Sequence[RequestMessage], pointers: Pointers) -> RecalledAnswers | None:
    """What an earlier request left, if this history begins with the same answers."""
    before = messages.past.left(_RECALLED) if isinstance(messages, Retold) else None
    return before if before and pointers.runs[: len(before.runs)] == before.runs else None


def _recalled(before: RecalledAnswers | None, pointers: Pointers, found: LookupResult, shelf: Shelf) -> RecalledAnswers:
    threads = frozenset([each.thread for each in found.recordings])
    weight = sum(map(weight_of, found.recordings))
    if before is not None:
        threads, weight = before.recordings.threads | threads, before.weight + weight
    return RecalledAnswers(pointers.runs, RecalledRecordings(found.version, shelf, threads), weight)


def gather(store: Store, call: Call, request: Request, new_thread: str) -> GatheredFacts:
    """The same from the store, with two look-ups at most. Raises NotWanted."""
    pointers, check = Pointers(runs_of(request.messages)), request.source.wanted.check
    found = store.gather(_wanted(call, pointers, new_thread), check)
    shelf = Shelf(found.recordings)
    if places := places_wanted(request.messages, pointers, shelf, call.context):
        more = store.gather(Lookup(principal=call.principal, places=places, links=pointers.links), check)
        shelf = _joined(found, more)
        found = structs.replace(
            found,
            pins={**found.pins, **more.pins},
            failure=found.failure or more.failure,
            thread_failure=found.thread_failure or more.thread_failure,
            has_pins=found.has_pins or more.has_pins,
        )
    if found.failure is not None:
        _log.warning("a recording cannot be read, so the client's copy is sent: %s", found.failure)
    newest = _newest(call, request, shelf)
    thread = call.entry.thread if call.entry else newest.thread if newest else found.thread
    pin = _pin(call, thread, found.pins)
    if pin is None or (not thread and not found.is_whole):
        return _without_pin(call, request, shelf, newest, thread, found)
    return GatheredFacts(shelf, newest, thread, pin)


def shelf_for(store: Store, request: Request, context: Context) -> Shelf:
    """The recordings of a history that is only looked at."""
    pointers = Pointers(runs_of(request.messages))
    wanted = Lookup(principal=context.principal, keys=pointers.keys, tools=pointers.tools, links=pointers.links)
    found = store.gather(wanted)
    shelf = Shelf(found.recordings)
    if places := places_wanted(request.messages, pointers, shelf, context):
        shelf = _joined(found, store.gather(Lookup(principal=context.principal, places=places, links=pointers.links)))
    return shelf


def _wanted(call: Call, pointers: Pointers, new_thread: str, known: RecalledRecordings | None = None) -> Lookup:
    context, entry = call.context, call.entry
    return Lookup(
        principal=call.principal,
        keys=pointers.keys,
        tools=pointers.tools,
        ids=(entry.follows,) if entry and entry.follows else (),
        links=pointers.links,
        session="" if entry else context.session,
        agent=context.agent,
        thread=entry.thread if entry else new_thread,  # which has no pin, and then that is known for its next request
        known=known,
    )


def _joined(found: LookupResult, more: LookupResult) -> Shelf:
    """Both, in the order in which each was found; what is in both counts once."""
    return Shelf((*found.recordings, *more.recordings))


def _pin(call: Call, thread: str, pins: Mapping[str, str]) -> str | None:
    """None if it is not known."""
    if call.entry and call.entry.backend:
        return call.entry.backend
    return pins.get(thread) if thread else ""


def _without_pin(
    call: Call, request: Request, shelf: Shelf, newest: Recording | None, thread: str, found: LookupResult
) -> GatheredFacts:
    """Where something could not be read, and the pin with it: in doubt if there may be one."""
    may_go_on = call.entry or call.context.session or any(message.role == "assistant" for message in request.messages)
    if not may_go_on or not (thread or found.thread_failure or found.has_pins):
        return GatheredFacts(shelf, newest, thread)
    return GatheredFacts(shelf, newest, thread, doubt=_unreadable(found.thread_failure or found.failure))


def _unreadable(error: StoreError | None) -> PinUnreadable:
    failure = PinUnreadable(
        "clew cannot read from its store which backend this conversation is pinned to, so it asks no backend. A new "
        f"conversation works. {error}",
        key="",
    )
    failure.__cause__ = error
    return failure


def _newest(call: Call, request: Request, shelf: Shelf) -> Recording | None:
    """Nearly always the last answer's own blocks say which it is; else the whole history is gone through."""
    if call.entry is not None:
        return shelf.by_id(call.entry.follows)
    if shelf.is_empty:
        return None
    last = next((message for message in reversed(request.messages) if message.role == "assistant"), None)
    if last is None:
        return None
    for block in reversed(blocks_of(last)):
        recording = None
        if key := key_of(block):
            recording = shelf.by_key(key)
        elif block.type == "tool_use" and isinstance(block.id, str) and block.id:
            recording = next(iter(shelf.by_tool(block.id)), None)
        if recording is not None and recording.principal == call.principal:
            return recording
    found = recognise(answers_of(request.messages), shelf, call.context)
    return next((each.recording for each in reversed(found) if each.recording), None)
