"""The client's side of a streamed answer: bytes from inside the backend's reads, and a ping where there are none.

No task and no queue stand between the two sides. A client that is behind stops the backend's read until it has caught up, so
memory stays bounded however fast the one and slow the other. Nothing goes out before somebody says `open`; but a client that
has waited too long gets its 200 and a ping, and from then on hears of failures inside the stream.

When a ping is due, `exchange.states.SilenceWatch` says; its timer is here.

A seal that only refers to what the store has is worth nothing without it. So whatever holds one waits here until the store
has committed that, or cannot do so in time; and the source waits with it. Streams without such seals do not know of this.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TypeAlias

from clew.exchange.answering import BackendAnswer
from clew.exchange.heads import STREAM_TYPE
from clew.exchange.states import HIDDEN_SECONDS, SilenceWatch
from clew.http.client.connection import ClientConnection
from clew.http.responder import ChunkWriter, Responder
from clew.http.timers import timer_groups_of

Commit: TypeAlias = Callable[[Callable[[], None]], None]
"""Keeps what came so far, and calls back when that is done, or takes too long."""


class ClientStream:
    """The client's side of one streamed answer."""

    __slots__ = (
        *("_catching_up", "_push", "_round", "_rounds", "_silence", "_source"),
        *("_asking", "_commit", "_flow", "_referred", "_withheld"),
        *("_answering", "client"),
    )

    def __init__(
        self,
        client: Responder,
        answering: BackendAnswer,
        ping_seconds: float,
        *,
        is_eager: bool = False,
    ) -> None:
        """`is_eager`: answers in another dialect begin at once, and are never silent for longer than a second."""
        self.client = client
        self._answering = answering
        self._source: ClientConnection | None = None
        self._rounds = timer_groups_of(asyncio.get_running_loop())
        self._silence = SilenceWatch(ping_seconds, self._rounds.now(), is_eager=is_eager)
        self._round = 0.0
        """When it is looked whether it is quiet; 0 if it is not."""
        self._push: Callable[[bytes], bool] | None = None
        self._catching_up: asyncio.Task[None] | None = None
        self._commit: Commit | None = None
        self._asking = False
        """Is the store at it?"""
        self._flow: Callable[[bytes], bool] | None = None
        self._withheld: list[bytes] | None = None
        self._referred = False
        """There is a seal in what is withheld that the store was not asked about yet."""

    def watch_silence(self) -> None:
        """From now on the client is not left without a word for longer than it may be."""
        if not self._round:
            silence = self._silence
            silence.last = self._rounds.now()
            self._round = self._rounds.join(silence.last + silence.seconds, self)

    def look(self) -> None:
        """The time limit is up: see whether nothing went out since, and ping if so."""
        self._round, source = 0.0, self._source
        heard, shown = (source.heard_at, source.shown_at) if source else (0.0, 0.0)
        check = self._silence.check(self._rounds.now(), heard, shown)
        if check.is_due and self._withheld is None:  # what is withheld comes first, in a moment
            if not self.client.started:
                self.open(self._answering.early_headers())
            self.client.push(self._answering.keep_alive())
        self._look_after(check.wait)

    def open(self, headers: Sequence[tuple[str, str]]) -> None:
        """The 200, if it has not gone yet."""
        if not self.client.started:
            self.client.start(200, [*STREAM_TYPE, *headers])

    def push(self, data: bytes, headers: Sequence[tuple[str, str]] = ()) -> None:
        """Whole events, at once. The answer has begun, also where nothing of it can be seen yet (hidden thinking)."""
        self.open(headers)
        if data and self._withheld is None:
            self.client.push(data)
        elif data:
            self._withhold(data)

    def framed(self) -> ChunkWriter | None:
        """Who takes chunks of HTTP/1.1 as they come; None where such are not what goes out."""
        return self.client.framed()

    def flow(self, source: ClientConnection, *, hides: bool = False) -> Callable[[bytes], bool]:
        """A push for every read of `source`. Where it says False, `falls_behind` has to be called.

        `hides`: not all that comes can be shown.
        """
        self._source, self._silence.hides = source, hides
        self._flow = push = self.client.flow()
        if self._withheld is not None:
            source.pause()
            push = self._withhold
        if hides:
            self._silence.last = self._rounds.now()
            if self._round:
                self._look_after(HIDDEN_SECONDS)
            self._push = push
            return self._noted
        if self._commit is None:
            return push
        self._push = push
        return self._switched

    def _switched(self, data: bytes) -> bool:
        assert self._push is not None
        return self._push(data)

    # What waits for the store.

    @property
    def withholds(self) -> bool:
        """Does something wait for the store? Then all that comes has to wait behind it."""
        return self._withheld is not None

    def secure(self, commit: Commit) -> Callable[[], None]:
        """What to call when a seal was put on that refers to the store: all from there on waits for `commit`."""
        self._commit = commit
        return self._refer

    def _refer(self) -> None:
        """From inside a read, whose bytes are about to be pushed."""
        self._referred, self._push = True, self._withhold
        if self._withheld is None:
            self._withheld = []

    def _withhold(self, data: bytes) -> bool:
        assert self._withheld is not None
        self._withheld.append(data)
        if self._source is not None:
            self._source.pause()
        if self._referred and self._commit is not None and not self._asking:
            self._referred, self._asking = False, True
            self._commit(self._committed)
        return True

    def _committed(self) -> None:
        self._asking = False
        if self._withheld is None:
            return
        if self._referred:  # another seal, since the store was asked
            self._withhold(b"")
            return
        self.let_go()
        if self._source is not None:
            self._source.resume()

    def let_go(self) -> None:
        """What was withheld goes out."""
        if (held := self._withheld) is not None:
            self._withheld, self._referred, self._push = None, False, self._flow
            self.client.push(b"".join(held))

    def finish(self, data: bytes) -> None:
        """The turn is kept: all of it goes out, and this last."""
        self.hush()
        self.let_go()
        self.client.push(data)
        self.client.end()

    def _noted(self, data: bytes) -> bool:
        assert self._push is not None
        self._silence.last = self._rounds.now()
        return self._push(data)

    def _look_after(self, seconds: float) -> None:
        self.hush()
        self._round = self._rounds.join(self._rounds.now() + seconds, self)

    def falls_behind(self) -> None:
        """The client is behind: the source has to wait until it has caught up."""
        source = self._source
        assert source is not None
        if self._catching_up is None:
            source.pause()
            self._catching_up = asyncio.get_running_loop().create_task(self._catch_up(source))

    def hush(self) -> None:
        """No more pings: the end is near, or somebody else speaks."""
        if self._round:
            self._rounds.leave(self._round, self)
            self._round = 0.0

    def close(self) -> None:
        """All is over: no more pings, and nothing sets the source going."""
        if self._round:
            self.hush()
        self.leave_source()

    def leave_source(self) -> None:
        """The source is over, or not ours any more: nothing sets it going."""
        self._source = None
        if self._catching_up is not None:
            self._catching_up.cancel()

    async def _catch_up(self, source: ClientConnection) -> None:
        try:
            await self.client.drained()
        except ConnectionError:
            return  # the server cancels the exchange of a client that is gone
        finally:
            self._catching_up = None
        source.resume()
