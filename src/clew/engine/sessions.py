"""The policy `session`: a counter of backend switches decides which thinking goes, as one of the documents describes it.

Kept for those who want exactly that. One table for the whole process, gone with it; blocks reach the client as their makers
signed them, without a seal. What it loses, the default policy keeps.
"""

from __future__ import annotations

import threading

import msgspec

from clew.engine.exchange_notes import ExchangeNotes
from clew.engine.log.request_log import RequestLog
from clew.engine.route import BackendRoute
from clew.model.json import JsonValue
from clew.pipeline.project import Projection, project, steps_for
from clew.pipeline.thinking import keep_thinking, leave_out
from clew.thinking.registry import ThinkingRegistry


class Sessions:
    """The table, and what the engine does with it."""

    def __init__(self) -> None:
        self._registry = ThinkingRegistry(lock=threading.Lock())

    def project(self, notes: ExchangeNotes, route: BackendRoute, now: float, log: RequestLog | None) -> Projection:
        """The request with what this backend made since the last switch, and nothing else."""
        self._registry.orphan_threshold = notes.received.snapshot.settings.thinking.orphan_seconds
        self._registry.notify_backend(route.backend.name)
        body: JsonValue = msgspec.json.decode(notes.received.call.body)
        told = self._registry.filter_request(body, now, only_looks=notes.received.call.kind == "count_tokens")
        notes.session = told.session
        if log is not None:
            log.filtered(notes.id, told)
        step = leave_out({each.path: each.why for each in told.decisions if not each.kept})
        steps = tuple(step if each is keep_thinking else each for each in steps_for(route.target))
        return project(notes.received.request, route.target, notes.received.facts, steps=steps)

    def register(self, notes: ExchangeNotes, blocks: tuple[dict[str, JsonValue], ...], now: float) -> None:
        """What an answer brought. It belongs to the session of its request, whatever was switched meanwhile."""
        self._registry.register_blocks(blocks, now, session=notes.session)
