"""What an answer teaches about token counts: how many its request had, beside what was estimated.

The size in bytes is looked at each time, since that costs nothing. An estimate reads the whole request, so it is made now
and then, in a thread, and nobody waits for it.
"""

from __future__ import annotations

import asyncio

from clew.engine.story import Story
from clew.engine.token_counts import TokenCounts
from clew.model.json import JsonObject
from clew.pipeline.stream.answer import Answer
from clew.pipeline.token_estimate import estimate

__all__ = ["learn"]

_INPUT = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")


def learn(counts: TokenCounts, story: Story, answer: Answer) -> None:
    """From an answer that is whole."""
    reported = _reported(answer.usage)
    if story.asking.call.kind != "messages" or not reported:
        return
    backend, model = story.way.backend.name, story.way.target.model
    counts.learn_size(backend, model, len(story.sent), reported)
    if counts.is_due(backend, model):
        work = asyncio.get_running_loop().run_in_executor(None, estimate, story.going)
        work.add_done_callback(lambda done: _learnt(done, counts, backend, model, reported))


def _learnt(done: asyncio.Future[int], counts: TokenCounts, backend: str, model: str, reported: int) -> None:
    if not done.cancelled():
        counts.learn(backend, model, done.result(), reported)


def _reported(usage: JsonObject) -> int:
    return sum(value for name in _INPUT if isinstance(value := usage.get(name), int))
