"""Answers that come in another process of the same store: followed and stopped by way of the store alone.

A question is stored as an open turn before a backend is asked, and each block of its answer when it is whole. So any gateway
can show the answer block by block, a moment later than the gateway that gets it, and then its end. A request to stop it
is a note in the store, which that gateway finds there: gateways need no way to each other.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Iterator
from functools import partial
from typing import Final

from clew.admin.chat.answering import ChatContext
from clew.admin.chat.runs import PING_SECONDS, ChatRuns, ThreadKey
from clew.admin.services import AdminServices
from clew.chat.turns import StoredTurn
from clew.chat.ui.messages import parts_of_group
from clew.chat.ui.parts import DONE, PING, Part, error_text, finish_reason, frame_of
from clew.chat.ui.positions import TurnGroup, groups_of
from clew.errors import StoreError
from clew.store import Store

LOOK_SECONDS: Final = 0.5
"""Between two looks at an answer that comes elsewhere."""
STOP_SECONDS: Final = 5.0
"""How long another gateway may take to stop an answer."""
_STOP_LOOK_SECONDS: Final = 0.1
_LAST: Final = 20
"""So many of a thread's last exchanges are looked through for one that is open."""


# Following


class StoredAnswer:
    """The newest open turn of a thread, and what follows it in the same message."""

    def __init__(self, context: ChatContext, ending: asyncio.Event) -> None:
        """The thread was just read. `ending` is set when this process ends."""
        self._context = context
        self._ending = ending
        self._service = context.service
        self._turn = context.service.tree.open_turn

    async def follow(self) -> AsyncGenerator[bytes]:
        """The parts of the message as stream frames, from its beginning to its end."""
        sent, told_at = 0, time.monotonic()
        try:
            while self._turn in self._service.tree and not self._ending.is_set():
                parts, is_over = await asyncio.to_thread(self._parts_so_far)
                if new := parts[sent:]:
                    sent, told_at = len(parts), time.monotonic()
                    yield b"".join(map(frame_of, new))
                if is_over and not await self._goes_on():
                    yield b"".join(map(frame_of, self._end_parts()))
                    break
                if time.monotonic() - told_at >= PING_SECONDS:
                    told_at = time.monotonic()
                    yield PING
                # Wait for a moment, then read what is new.
                try:
                    await asyncio.wait_for(self._ending.wait(), LOOK_SECONDS)
                except TimeoutError:
                    await asyncio.to_thread(self._read)
        except StoreError as error:
            yield frame_of({"type": "error", "errorText": error_text(error)})
        yield DONE

    @property
    def _group(self) -> TurnGroup:
        return groups_of(self._service.tree.line(self._turn))[-1]

    @property
    def _stored(self) -> StoredTurn:
        return self._service.tree[self._turn]

    def _parts_so_far(self) -> tuple[list[Part], bool]:
        """The parts that are stored, and whether the newest turn is over. A later call gives the same parts and perhaps
        more."""
        parts = [*parts_of_group(self._group, self._service.runtime.current.snapshot.sealer)]
        is_over = self._stored.outcome != "open"
        if not is_over and parts[-1]["type"] == "finish-step":
            parts.pop()
        return parts, is_over

    async def _goes_on(self) -> bool:
        """Whether the answer has calls that are being run: then another turn comes."""
        begun = await self._service.calls_begun()
        return begun.lives and begun.turn == self._turn

    def _read(self) -> None:
        service, before = self._service, self._group
        owner, thread = service.thread.principal, service.thread.id
        found = service.store.thread(owner, thread)
        if (
            found is None
            or service.store.exchange(owner, self._turn) != self._stored.exchange
            or found.turns != len(service.tree)
        ):
            service.load()
        next_turn = service.tree.open_turn
        if next_turn and groups_of(service.tree.line(next_turn))[-1].id == before.id:
            self._turn = next_turn

    def _end_parts(self) -> Iterator[Part]:
        exchange, metadata = self._stored.exchange, self._context.account(self._group.turns)
        if self._stored.outcome == "whole":
            reason = finish_reason(exchange.stop_reason if exchange else None)
            yield {"type": "finish", "finishReason": reason, "messageMetadata": metadata}
            return
        yield {"type": "message-metadata", "messageMetadata": metadata}
        yield {
            "type": "error",
            "errorText": "The answer ended early on another gateway. The part that came is kept.",
        }


# Stopping


def _note_name(thread: str) -> str:
    return f"chat-stop:{thread}"


async def stop_elsewhere(services: AdminServices, key: ThreadKey) -> bool:
    """Have another gateway stop the answer that comes in this thread. False if no answer comes, or no gateway stopped it."""
    store, (principal, thread) = services.kept, key
    turn = await services.read(lambda: _open_turn(store, key))
    if not turn:
        return False
    note = partial(store.set, _note_name(thread), scope=principal)
    await services.wait_for_write(note(turn, at=time.time()))
    try:
        end = time.monotonic() + STOP_SECONDS
        while time.monotonic() < end:
            if not await services.read(lambda: _is_open(store, principal, turn)):
                return True
            await asyncio.sleep(_STOP_LOOK_SECONDS)
        return False
    finally:
        await services.wait_for_write(note(None, at=time.time()))


def _open_turn(store: Store, key: ThreadKey) -> str:
    principal, thread = key
    found = store.exchanges(principal, thread=thread, limit=_LAST)
    return next((each.id for each in found if each.outcome == "open"), "")


def _is_open(store: Store, principal: str, turn: str) -> bool:
    exchange = store.exchange(principal, turn)
    return exchange is not None and exchange.outcome == "open"


class StopNotes:
    """Finds the notes by which other gateways want answers stopped that come here."""

    def __init__(self, runs: ChatRuns, store: Store) -> None:
        self._runs = runs
        self._store = store
        self._loop = asyncio.get_running_loop()
        self._seen = -1
        self._stopping = set[asyncio.Task[bool]]()

    def look(self) -> None:
        """Called now and then, in any thread. It asks the store only when something was noted by anybody."""
        running = self._runs.threads()
        changes = self._store.changes() if running else self._seen
        if changes == self._seen:
            return
        try:
            wanted = [each for each in running if self._is_to_stop(each)]
        except StoreError:
            return  # the next look reads again
        self._seen = changes
        for each in wanted:
            self._loop.call_soon_threadsafe(self._stop, each)

    def _is_to_stop(self, key: ThreadKey) -> bool:
        principal, thread = key
        turn = self._store.settings(principal).get(_note_name(thread), "")
        return bool(turn) and _is_open(self._store, principal, turn)

    def _stop(self, key: ThreadKey) -> None:
        task = self._loop.create_task(self._runs.stop(key), name="clew chat stop")
        self._stopping.add(task)
        task.add_done_callback(self._stopping.discard)
