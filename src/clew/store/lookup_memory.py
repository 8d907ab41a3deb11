"""Look-ups in memory: what this process recorded or looked up lately, of a store of any kind."""

from __future__ import annotations

from clew.model.recording import Recording
from clew.store.memory import PendingRecordings, PinCache, RecordingCache, SessionThreads
from clew.store.values import Lookup, LookupResult


class LookupMemory:
    """Any thread may ask."""

    def __init__(self) -> None:
        self.pending = PendingRecordings()
        self.cache = RecordingCache()
        self.pins = PinCache()
        self._sessions = SessionThreads()

    def expect(self, recording: Recording) -> None:
        """Have a recording found that is being written. `settle` has to follow."""
        self.pending.add(recording)

    def settle(self, recording: Recording, *, remembers: bool) -> None:
        """Its write is over. If it `remembers`, the recording is found without a look-up from now on."""
        if remembers:
            self.cache.add(recording)  # before it is no longer pending
            self._sessions.learn(recording.principal, recording.session, recording.agent, recording.thread)
        self.pending.discard(recording)

    def recall(self, wanted: Lookup) -> LookupResult | None:
        pending, version = self.pending.of(wanted.principal), self.cache.version
        recordings = self.cache.find_all(wanted, pending.all if pending else ())
        if recordings is None:
            return None
        if not recordings or (pending and any(pending.by_id(each.id) for each in recordings)):
            version = 0  # there is nothing to know; or its commit may fail
        thread = self._sessions.get(wanted.principal, wanted.session, wanted.agent)
        threads = {thread, wanted.thread, *[each.thread for each in recordings]}
        if wanted.known is not None:
            threads |= wanted.known.threads
        pins = self.pins.of(wanted.principal, threads)
        return LookupResult(recordings=recordings, thread=thread, pins=pins, version=version)

    def thread_of(self, wanted: Lookup) -> str:
        """The last thread of the session and agent, "" if it is not known here."""
        return self._sessions.get(wanted.principal, wanted.session, wanted.agent)

    def learn_session(self, principal: str, session: str, agent: str, thread: str) -> None:
        """Which thread a session and agent used last."""
        self._sessions.learn(principal, session, agent, thread)

    def forget(self, principal: str, thread: str) -> None:
        """Drop a deleted thread from memory."""
        self.cache.forget(principal, thread)
        self._sessions.forget(principal, thread)

    def clear(self) -> None:
        self.cache.clear()
        self._sessions.clear()
