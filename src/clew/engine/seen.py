"""Which thinking blocks requests have brought lately, so that the store is told once a minute and not with every request."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from itertools import takewhile

from clew.model.past import each_of
from clew.model.request import RequestMessage
from clew.thinking.keys import key_of

MOST = 20_000
AGAIN = 60.0
"""Seconds after which it is news again: as coarse as the store's own marks."""


class SeenKeys:
    """Bounded; the longest known goes first."""

    def __init__(self) -> None:
        self._at: OrderedDict[tuple[str, bytes], float] = OrderedDict()

    def news(self, principal: str, keys: Sequence[bytes], now: float) -> tuple[bytes, ...]:
        """Those of a history that were not told of, or not for a while; from now on they were.

        What stands first was told first. So as long as that is no news, only the end of the history is looked at: another of
        its blocks waits for the first one, which is a minute at most.
        """

        def is_news(key: bytes) -> bool:
            return self._at.get((principal, key), -AGAIN) <= now - AGAIN

        if not keys or is_news(keys[0]):
            fresh = tuple(key for key in keys if is_news(key))
        else:
            fresh = tuple(takewhile(is_news, reversed(keys)))[::-1]
        for key in fresh:
            self._at[principal, key] = now
            self._at.move_to_end((principal, key))
        while len(self._at) > MOST:
            self._at.popitem(last=False)
        return fresh


def _keys_in(messages: Sequence[RequestMessage]) -> list[bytes]:
    return [
        key
        for message in messages
        if message.role == "assistant" and isinstance(message.content, tuple)
        for block in message.content
        if (key := key_of(block))
    ]


BLOCK_KEYS = each_of(_keys_in)
"""Of all blocks that a history brings."""
