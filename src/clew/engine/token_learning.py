"""What an answer teaches about token counts: how many its request had, beside what was estimated.

The size in bytes is looked at each time, since that costs nothing. An estimate reads the whole request, so it is made now
and then, in a thread, and nobody waits for it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from clew.engine.route import BackendRoute
from clew.engine.token_counts import TokenCounts
from clew.engine.turns import counts_of
from clew.model.json import JsonObject
from clew.model.request import Request
from clew.pipeline.token_estimate import estimate


def learn(counts: TokenCounts, route: BackendRoute, size: int, usage: JsonObject, going: Callable[[], Request]) -> None:
    """From an answer that is whole, to a request of so many bytes. `going` is asked for in another thread, if at all."""
    reported = _reported(usage)
    if not reported:
        return
    backend, model = route.backend.name, route.target.model
    counts.learn_size(backend, model, size, reported)
    if counts.is_due(backend, model):
        work = asyncio.get_running_loop().run_in_executor(None, lambda: estimate(going()))
        work.add_done_callback(lambda done: _learnt(done, counts, backend, model, reported))


def _learnt(done: asyncio.Future[int], counts: TokenCounts, backend: str, model: str, reported: int) -> None:
    if not done.cancelled():
        counts.learn(backend, model, done.result(), reported)


def _reported(usage: JsonObject) -> int:
    asked, _, read, written = counts_of(usage)
    return asked + read + written
