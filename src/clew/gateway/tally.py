"""What became of thinking in one run, added up for the person who started it.

A client sends its whole history with each request, so the same block is decided about again and again. Here each counts
once: by its place in its thread; and what was kept, by the longest history of each thread.
"""

from __future__ import annotations

from collections.abc import Iterable

from clew.model.change import THINKING_STEPS, What
from clew.model.origin import ANTHROPIC
from clew.model.recording import Recording
from clew.store.values import Exchange

__all__ = ["Tally"]

_SHOWN: tuple[What, ...] = ("restored", "left out", "handed over", "healed")


class Tally:
    """Give it every exchange that is over."""

    def __init__(self) -> None:
        self.requests = 0
        self.sealed = 0
        """Blocks that clew put a seal on, and that the client now holds."""
        self._backends: dict[str, None] = {}
        self._kept: dict[str, int] = {}
        self._changed: dict[What, dict[tuple[str, str], int]] = {what: {} for what in _SHOWN}

    def add(self, exchange: Exchange, recording: Recording | None) -> None:
        if exchange.kind != "messages":
            return
        self.requests += 1
        self._backends[exchange.backend] = None
        self._kept[exchange.thread] = max(exchange.kept, self._kept.get(exchange.thread, 0))
        for change in exchange.changes:
            if change.step in THINKING_STEPS and change.what in self._changed:
                places, place = self._changed[change.what], (exchange.thread, change.path)
                places[place] = max(change.count, places.get(place, 0))
        if recording is not None and recording.origin.realm != ANTHROPIC:
            self.sealed += len(recording.keys)

    def lines(self) -> list[str]:
        """For people. Nothing if nothing was asked."""
        if not self.requests:
            return []
        asked = _counted(self.requests, "request")
        return [f"clew: {asked} to {', '.join(self._backends)}; {self._thinking()}", *self._about_seals()]

    def _thinking(self) -> str:
        kept = sum(self._kept.values())
        counts = [f"{sum(places.values())} {what}" for what, places in self._changed.items() if places or what in _SHOWN[:2]]
        return f"{_counted(kept, 'block')} kept, {', '.join(counts)}"

    def _about_seals(self) -> Iterable[str]:
        if self.sealed:
            sealed = _counted(self.sealed, "sealed block")
            yield (
                f"clew: {sealed} of other vendors went into the client's transcript. Without clew, Claude refuses them: "
                "`clew check FILE --fix` cleans a transcript."
            )


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
