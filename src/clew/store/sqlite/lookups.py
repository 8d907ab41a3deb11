"""Look-ups of requests: in the file, and in the memory of what this process recorded or looked up lately."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import Future

import msgspec

from clew.errors import StoreError
from clew.model.recording import Recording
from clew.store.decoded import Decoded
from clew.store.lookup import LookedUp, Lookup
from clew.store.pending import Pending
from clew.store.pins import Pins
from clew.store.sessions import SessionThreads
from clew.store.sqlite import find, look
from clew.store.sqlite.commands import GENERATION, PINS
from clew.store.sqlite.readers import Readers

__all__ = ["Lookups"]


class Lookups:
    """Of one store. Any thread may ask."""

    def __init__(self, readers: Readers) -> None:
        self._readers = readers
        self._pending = Pending()
        self.decoded = Decoded()
        self.pins = Pins()
        self._sessions = SessionThreads()
        find.warm(readers)

    def expect(self, recording: Recording, recorded: Future[bool], *, remembers: bool) -> None:
        """It is being written, and found from now on; where it `remembers`, also without a look-up once it is committed. (An
        answer that is not over is replaced by another, and what is imported is not asked for soon.)"""

        def remember(recorded: Future[bool]) -> None:
            if remembers and recorded.exception() is None and recorded.result():
                self.decoded.add(recording)
                self._sessions.learn(recording.principal, recording.session, recording.agent, recording.thread)

        recorded.add_done_callback(remember)  # before it is no longer pending
        self._pending.add(recording, recorded)

    def found(self, principal: str) -> find.Found:
        return find.Found(self._readers, self.decoded, principal, self._pending.of(principal))

    def recall(self, wanted: Lookup) -> LookedUp | None:
        pending = self._pending.of(wanted.principal)
        recordings = self.decoded.all_of(wanted, pending.all if pending else ())
        if recordings is None:
            return None
        thread = self._sessions.get(wanted.principal, wanted.session, wanted.agent)
        threads = {thread, wanted.thread, *(each.thread for each in recordings)}
        return LookedUp(recordings=recordings, thread=thread, pins=self.pins.of(wanted.principal, threads))

    def forget(self, principal: str, thread: str) -> None:
        """A thread was deleted."""
        self.decoded.forget(principal, thread)
        self._sessions.forget(principal, thread)

    def clear(self) -> None:
        self.decoded.clear()
        self._sessions.clear()

    def gather(self, wanted: Lookup, check: Callable[[], None]) -> LookedUp:
        version, gathering = self.pins.version, find.Gathering(self.found(wanted.principal), wanted, check)
        recordings = gathering.recordings()
        answer = self._of_threads(wanted, dict.fromkeys(each.thread for each in recordings))
        self.pins.learn(wanted.principal, answer.pins, version)
        whole = msgspec.structs.replace(answer, recordings=recordings, failure=gathering.failure)
        return whole if whole.is_whole else msgspec.structs.replace(whole, has_pins=self._has_pins(wanted.principal))

    def _of_threads(self, wanted: Lookup, threads: Iterable[str]) -> LookedUp:
        """The thread of the session, and the pins. What can be read counts, whatever cannot."""
        thread, pins, failure = "", dict[str, str](), None
        try:
            with self._readers.use() as connection:
                thread = look.thread_of(connection, wanted.principal, wanted.session, wanted.agent) or ""
        except StoreError as error:
            failure = error
        for name in filter(None, (thread, wanted.thread, *threads)):
            try:
                with self._readers.use() as connection:
                    pins[name] = look.pin_of(connection, wanted.principal, name)
            except StoreError as error:
                failure = error
        return LookedUp(thread=thread, pins=pins, thread_failure=failure)

    def _has_pins(self, principal: str) -> bool:
        try:
            with self._readers.use() as connection:
                return bool(look.pinned(connection, principal, 1))
        except StoreError:
            return True

    def refresh(self) -> str:
        with self._readers.use() as connection:
            generation = look.settings(connection, PINS).get(GENERATION, "")
        self.pins.renew(generation)
        return generation
