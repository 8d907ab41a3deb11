"""A connection in full flow: nearly every read is one event of a stream, and goes on from here (`chunks`)."""

from __future__ import annotations

from abc import abstractmethod

from clew.http.chunks import Flow
from clew.http.client.waiting import Awaited
from clew.http.turn import Turn

__all__ = ["Flowing"]


class Flowing(Awaited):
    """The part of a connection that events of a stream pass."""

    __slots__ = ("_flow", "_turn")

    def __init__(self) -> None:
        super().__init__()
        self._flow: Flow | None = None
        self._turn: Turn

    @property
    def is_due(self) -> bool:
        """Is an answer, or the rest of one, still to come?"""
        reader = self._reader
        return self._error is None and reader is not None and not reader.done

    @property
    def heard_at(self) -> float:
        """When something came last, on the loop's clock."""
        return max(self._watch.since, self.shown_at) if self._watch is not None else 0.0

    @property
    def shown_at(self) -> float:
        """When something came last that went on at once; 0 if that was never."""
        return self._flow.shown if self._flow is not None else 0.0

    def data_received(self, data: bytes) -> None:
        """Written in one piece, because every event of every stream goes through it.

        What is called out of a slot is taken out first: the interpreter learns how to find an attribute, or a method of a
        class, but not how to call what an attribute holds.
        """
        flow = self._flow
        if flow is None:
            self._came(data)
            return
        size, passes = len(data), flow.passes
        try:
            new = passes(data, size) if size <= flow.room else b""
        except Exception as error:
            self._sink_failed(error)
            return
        if not new:
            self._came(data)
            return
        flow.room -= size
        turn, transport = self._turn, flow.out.eager
        if not turn.writes:
            turn.begin()
        flow.shown = turn.time
        if transport is None:
            flow.push(new)
        else:
            turn.writes.append((transport, new))

    def _flows(self, flow: Flow | None) -> None:
        """Something came the usual way, and the next event may go on at once, if it has not ended meanwhile."""
        if flow is not None and flow is self._flow and self._reader is not None and self._error is None:
            flow.goes_on(self._reader)

    @abstractmethod
    def _came(self, data: bytes) -> None:
        """The usual way."""

    @abstractmethod
    def _sink_failed(self, error: Exception) -> None: ...
