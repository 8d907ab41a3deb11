"""A connection that does not wait for ever for a reply.

A network that swallows packets is noticed by the kernel. A server, or a pooler in front of it, that takes packets and says
nothing is not: a statement would wait for ever, and with it all that waits for its thread, also at the end of the process.
"""

from __future__ import annotations

from collections.abc import Generator
from time import monotonic
from typing import Any, TypeVar

import psycopg

from clew.store.rows import Row

T = TypeVar("T")


class NoReply(psycopg.OperationalError):
    """The server said nothing in time."""


class LimitedConnection(psycopg.Connection[Row]):
    """Breaks if a reply takes longer than `reply_seconds`; None waits for ever, which vacuums and checks of everything
    need."""

    reply_seconds: float | None = None

    def wait(self, gen: Generator[Any, Any, T], *how: Any, **named: Any) -> T:
        limit = self.reply_seconds
        return super().wait(gen if limit is None else self._limited(gen, limit), *how, **named)

    def _limited(self, work: Generator[Any, Any, T], limit: float) -> Generator[Any, Any, T]:
        """The same work, ended by an OperationalError where it takes too long."""
        end = monotonic() + limit
        try:
            wanted = next(work)
            while True:
                ready = yield wanted
                if not ready and monotonic() > end:
                    self.pgconn.finish()
                    raise NoReply(f"no reply within {limit:.1f} s")
                wanted = work.send(ready)
        except StopIteration as done:
            return done.value
