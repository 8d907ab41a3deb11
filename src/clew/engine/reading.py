"""Reading: a stream as it comes from a backend, to its first content and to its end.

Whoever passes it on hears the rest from inside the reads (`hearing`). Whoever wants all of it at once (`whole`) reads on:
the client has seen nothing then, so whatever is wrong with it leaves everything open.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, TypeVar

from clew.engine.dialects import Refused
from clew.engine.dialects.refused import refused_with
from clew.errors import BackendBroken, BackendError, BackendTimedOut
from clew.http.client.slices import SLICE_BYTES
from clew.model.bounds import check_before
from clew.model.events import StreamFailed
from clew.pipeline.stream.relay import Relays
from clew.upstream.reply import Reply

__all__ = ["END_SECONDS", "MOST_BYTES", "drained", "first_content", "in_time", "read_stream", "refusal_in"]

T = TypeVar("T")

MOST_BYTES = 64 * 1024 * 1024
"""Of an answer. What a model can say in one stream, a few characters to an event, is a third of that."""
END_SECONDS = 0.25
"""How long a backend may keep the connection open after the end event before it is closed."""


async def first_content(reply: Reply, relay: Relays, seconds: float, since: float | None = None) -> bytes:
    """Everything up to the first content, or to the error in its place. It may take so many seconds, from now or from
    `since`, on the loop's clock. Raises BackendError, StreamIllegal."""
    since = since or asyncio.get_running_loop().time()
    out = await in_time(_to_content(reply, relay), reply, seconds, since)
    if relay.begun or relay.failure is not None:
        return out
    out = relay.flush()
    if not relay.begun and relay.failure is None:
        raise BackendBroken(f"{reply.endpoint}: the answer ended before it began")
    return out


async def _to_content(reply: Reply, relay: Relays) -> bytes:
    came = 0
    while data := await reply.chunk():
        out = await _fed(relay, data)
        if relay.begun or relay.failure is not None:
            return out
        came += len(data)
        check_before(0, came)
    return b""


async def _fed(relay: Relays, data: bytes) -> bytes:
    """What may go on for these bytes. They may be many: between two slices everybody else has a turn."""
    out = [relay.feed(data[:SLICE_BYTES])]
    for at in range(SLICE_BYTES, len(data), SLICE_BYTES):
        await asyncio.sleep(0)
        out.append(relay.feed(data[at : at + SLICE_BYTES]))
    return b"".join(out)


async def in_time(work: Coroutine[Any, Any, T], reply: Reply, seconds: float, since: float) -> T:
    """What it gives, if that takes no longer than the first content may. Raises BackendTimedOut."""
    try:
        async with asyncio.timeout_at(since + seconds):
            return await work
    except TimeoutError:
        raise BackendTimedOut(f"{reply.endpoint}: no content within {seconds:g} s", phase="first content") from None


async def read_stream(reply: Reply, relay: Relays, seconds: float) -> Refused | None:
    """All of it, into the relay, whose first content may take so many seconds; or the refusal that an error event stands
    for, wherever it came. As long as something comes, it is waited for. Raises BackendError, StreamIllegal."""
    await first_content(reply, relay, seconds)
    while not relay.ended and relay.failure is None and (data := await reply.chunk()):
        await _fed(relay, data)
    if relay.failure is not None:
        return refusal_in(reply, relay.failure)
    if not relay.ended:
        relay.flush()
    if not relay.ended:
        raise BackendBroken(f"{reply.endpoint}: the answer broke off before its end")
    with suppress(BackendError):  # all was said
        await drained(reply)
    return None


def refusal_in(reply: Reply, failed: StreamFailed) -> Refused:
    """The no that an error stands for. Raises BackendBroken where the backend said none."""
    if failed.broken:
        raise BackendBroken(f"{reply.endpoint}: {failed.error['message']}")
    return refused_with(failed)


async def drained(reply: Reply) -> bool:
    """Read to the end of the body, which is nearly always here already, so that the connection can be kept."""
    try:
        async with asyncio.timeout(END_SECONDS):
            await reply.read(most=MOST_BYTES)
    except TimeoutError:
        return False
    return True
