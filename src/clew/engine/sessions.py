"""The policy `session`: a counter of backend switches decides which thinking goes, as one of the documents describes it.

Kept for those who want exactly that. One table for the whole process, gone with it; blocks reach the client as their makers
signed them, without a seal. What it loses, the default policy keeps.
"""

from __future__ import annotations

import threading

import msgspec

from clew.exchange.call import Call
from clew.model.json import JsonObject, JsonValue
from clew.thinking.registry.table import Filtered, ThinkingRegistry


class Sessions:
    """The table. From any thread."""

    def __init__(self) -> None:
        self._registry = ThinkingRegistry(lock=threading.Lock())

    def filter(self, call: Call, backend: str, now: float, orphan_seconds: float) -> Filtered:
        """What this backend made since the last switch goes, and nothing else."""
        self._registry.orphan_threshold = orphan_seconds
        self._registry.notify_backend(backend)
        body: JsonValue = msgspec.json.decode(call.body)
        return self._registry.filter_request(body, now, only_looks=call.kind == "count_tokens")

    def register(self, blocks: tuple[JsonObject, ...], session: int, now: float) -> None:
        """What an answer brought. It belongs to the session of its request, whatever was switched meanwhile."""
        self._registry.register_blocks(blocks, now, session=session)
