"""Current: the snapshot of settings that requests get now, and the thread that keeps it up to date.

Three things can change while a gateway runs: its settings file (or the file of authorities that it names), the active
backend in the store (`clew use`, by any process), and what may be remembered, when somebody deletes a thread. One thread
looks twice a second, and reads nothing while nothing happened; a command that changed something wakes it.
A new snapshot replaces the old one as a whole, and requests under way keep theirs. A file that cannot be used, or that lost
all its backends, changes nothing: `problem` says what is wrong until it is repaired. Nor does a store that cannot be read.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TypeAlias

from clew.engine.aside import apart
from clew.engine.choices import ACTIVE, rules_chosen
from clew.engine.snapshot import Snapshot, snapshot_of, widened
from clew.engine.wakeup import Stamp, Wakeup, stamp_of
from clew.errors import SettingsInvalid, StoreError
from clew.settings.home import file_digest
from clew.settings.load import Loaded, config_place, load
from clew.settings.own_keys import SECRET_VARIABLE, load_keyring
from clew.settings.processes import FILE_WRITTEN, AppliedSettings
from clew.settings.values import Settings
from clew.store import Store
from clew.store.values import Deletions
from clew.thinking.seal import Sealer

_EVERY = 0.4
"""Seconds between two polls, where nobody wakes the one who polls."""
_WRITE_SECONDS = 10.0
_END = b"e"

Switched: TypeAlias = Callable[[str, str], None]
"""Told of the old and the new active backend, in the thread that polled."""

Reloaded: TypeAlias = Callable[[Settings], None]
"""Told of the settings of a new file, before anybody is served by them, in the thread that polled."""

_Stamps: TypeAlias = tuple[Stamp, Stamp]
"""Of the settings file, and of the authorities that it names."""

_log = logging.getLogger("clew.engine")


class Current:
    """Holds the present snapshot."""

    _awaits = False
    """The settings name authorities that are not there, or are none."""

    def __init__(
        self,
        loaded: Loaded,
        sealer: Sealer,
        *,
        store: Store | None = None,
        gateway: str = "",
        environ: Mapping[str, str] = os.environ,
        file: Path | None = None,
        choice: str = "",
        secret: Path | None = None,
        switched: Switched = lambda old, new: None,
        reloaded: Reloaded = lambda settings: None,
        deleted: Callable[[], None] = lambda: None,
        stored: Callable[[], None] = lambda: None,
    ) -> None:
        """`file` is the one that was asked for, if one was; `choice` the backend that this gateway was started with;
        `secret` the file of the sealing keys, which another process may rotate; `deleted` is told that somebody deleted a
        thread, and `stored` of each change in the store, in the thread that polled."""
        self.loaded = loaded
        self.problem = ""
        """What is wrong with the settings file, if it cannot be used."""
        self.gateway = gateway
        self._sealer = sealer
        self._store = store
        self._environ = environ
        self._file = file
        self._choice = choice
        self._switched = switched
        self._reloaded = reloaded
        self._deleted = deleted
        self._stored = stored
        self._secret = secret
        self._secret_stamp = stamp_of(secret)
        self._place = config_place(environ, file)
        self._looked_at = loaded.digest
        is_newest = loaded.is_given or file_digest(self._place) == loaded.digest  # it may have changed since it was read
        self._stamps: _Stamps | None = self._stamped() if is_newest else None
        self._pending: _Stamps | None = None
        self._seen = -1
        self._polling = threading.Lock()
        self._attending: tuple[Callable[[], object], ...] = ()
        self._beside: tuple[Callable[[], None], ...] = ()
        self._read: dict[str, Mapping[str, str]] = {}
        """What the store said last, by its scopes."""
        self._deletions = self._noted()
        self._pins = ""
        self._refresh()
        self.snapshot = self._fresh()

    @property
    def settings(self) -> Settings:
        return self.snapshot.settings

    @property
    def file(self) -> Path | None:
        """Where they are from; None if there is no file."""
        return self.loaded.file

    async def follow(self, wakeup: Wakeup | None = None) -> None:
        """Keep the snapshot up to date, until cancelled. Others may wake it by `wakeup`, which is closed at the end."""
        waits = wakeup or Wakeup()
        thread = threading.Thread(target=self._follow, args=(waits,), name="clew poll", daemon=True)
        thread.start()
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            waits.wake(_END)
            await apart(thread.join)
            waits.close()

    def _follow(self, wakeup: Wakeup) -> None:
        while _END not in (heard := wakeup.wait(_EVERY)):
            try:
                self.look(whole=FILE_WRITTEN in heard)
            except Exception:  # the next one may fare better, and without any nothing would be followed
                _log.exception("the poll for changes of settings, pins and keys failed")

    def look(self, *, whole: bool = False) -> None:
        """Poll, and let those look who look beside."""
        self.poll(whole=whole)
        for look in self._beside:
            look()

    @contextmanager
    def attend(self, told: Callable[[], None]) -> Generator[None]:
        """Be called after each change, in the loop that runs here, until the context is left."""
        tell = partial(asyncio.get_running_loop().call_soon_threadsafe, told)
        self._attending = (*self._attending, tell)
        try:
            yield
        finally:
            self._attending = tuple(each for each in self._attending if each is not tell)

    @contextmanager
    def beside(self, look: Callable[[], None]) -> Generator[None]:
        """Be called with each poll, in its thread, until the context is left: who looks so needs no clock of its own."""
        self._beside = (*self._beside, look)
        try:
            yield
        finally:
            self._beside = tuple(each for each in self._beside if each is not look)

    def poll(self, *, whole: bool = False) -> None:
        """Take over what changed since the last poll. Any thread may. `whole`: nobody is writing the settings file now."""
        with self._polling:
            reloaded = self._reload(whole)
            problem = "" if reloaded else self.problem
            reloads = self._rekeyed() | reloaded | (problem != self.snapshot.problem)
            stored = self._store_changed()
            changed = reloads or stored
            if changed:
                self._swap(self._fresh(problem), reloads=reloads)
            if stored:
                self._refresh()
                self._stored()
                deletions = self._noted()
                if deletions not in (None, self._deletions):  # what any process deleted stays in nobody's memory
                    self._deletions = deletions
                    self._deleted()
            self.problem = problem  # only now: a reader that finds no problem must be served by the repaired settings
        for tell in self._attending if changed else ():
            tell()

    def choose(self, backend: str | None) -> None:
        """This gateway uses the backend from now on, whatever all were told; None: no longer. Waits for the store. Raises
        StoreError."""
        if self._store is not None:
            self._store.set(ACTIVE, backend, scope=self.gateway, at=time.time()).result(_WRITE_SECONDS)
        else:
            self._choice = backend or ""
        with self._polling:
            self._swap(self._fresh(self.snapshot.problem), reloads=False)
        self.poll()

    def applied(self) -> AppliedSettings:
        """What holds now. The keys are not known here."""
        with self._polling:
            settings = self.snapshot.settings
            return AppliedSettings(
                file=str(self._place.absolute()),
                config=self.loaded.digest,
                looked_at=self._looked_at,
                problem=self.problem,
                choices=self._read.get("", {}),
                own_choices=self._read.get(self.gateway, {}) if self.gateway else {},
                active=self.snapshot.active,
                active_from=self.snapshot.active_from,
                backends=tuple(settings.backends),
                disabled={name: f"{each.why} ({each.where})" for name, each in settings.disabled.items()},
                pins=self._pins,
                seal_key=self._sealer.current,
                seal_key_is_given=bool(self._environ.get(SECRET_VARIABLE, "").strip()),
            )

    @property
    def taken(self) -> int:
        """Up to which of the store's changes this process has taken over what others chose; -1 if it could not be read."""
        return self._seen

    def _swap(self, fresh: Snapshot, *, reloads: bool) -> None:
        """The store changes with every turn, and nearly never in what was chosen: then all that is known under the old
        snapshot stays known."""
        old = self.snapshot
        same = (fresh.active, fresh.active_from, fresh.chosen) == (old.active, old.active_from, old.chosen)
        if same and not reloads:
            return
        self.snapshot = fresh
        if old.active != fresh.active:
            self._switched(old.active, fresh.active)

    def _fresh(self, problem: str = "") -> Snapshot:
        """What this gateway was told alone overrides what all were told; both override the file."""
        kept = self._kept("")
        active, source = kept.get(ACTIVE, ""), "clew use"
        if self.gateway and (own := self._kept(self.gateway).get(ACTIVE, "")):
            active, source = own, "clew use --gateway"
        elif self._choice:
            active, source = self._choice, "clew run --backend"
        return snapshot_of(
            self.loaded.settings,
            self._sealer,
            active=active,
            active_from=source,
            chosen=rules_chosen(kept),
            problem=problem,
        )

    def _kept(self, scope: str) -> Mapping[str, str]:
        if self._store is None:
            return {}
        try:
            self._read[scope] = self._store.settings(scope)
        except StoreError as error:
            _log.warning("the active backend cannot be read from the store: %s", error)
            self._seen = -1  # look again, though nothing more may be written
        return self._read.get(scope, {})

    def _store_changed(self) -> bool:
        if self._store is None:
            return False
        try:
            now = self._store.changes()
        except StoreError:
            return False
        seen, self._seen = self._seen, now
        return now != seen

    def _refresh(self) -> None:
        """What any process chose for a thread holds from now on."""
        try:
            self._pins = self._store.refresh_pins() if self._store is not None else ""
        except StoreError as error:
            _log.warning("the pins of threads cannot be read from the store: %s", error)
            self._seen = -1

    def _noted(self) -> Deletions | None:
        try:
            return self._store.deletions() if self._store is not None else None
        except StoreError:
            return None

    def _reload(self, whole: bool) -> bool:
        """Read the file again if it, or the one with the authorities, is another than before, and was left alone for a
        moment, or is known to be whole."""
        stamps = self._stamped()
        if stamps == self._stamps and not self._awaits:
            return False
        if stamps != self._pending and not whole:
            self._pending = stamps
            return False
        self._stamps, self._awaits = stamps, False
        self._looked_at = file_digest(self._place)
        if stamps[0] is None:
            self.problem = f"{self.loaded.file} is gone: the settings were not changed"
            _log.error("%s", self.problem)
            return False
        try:
            fresh = self._read_again()
        except SettingsInvalid as error:
            self._awaits = error.key == "ca_file"  # the authorities may come after the settings that name them
            if self.problem != str(error):  # said once, though it may be looked for again and again
                self.problem = str(error)
                _log.error("the settings were not changed: %s", error)
            return False
        for said in widened(self.loaded.settings, fresh.settings):
            _log.warning("the new settings allow more clients: %s", said)
        for each in fresh.settings.disabled.values():
            _log.warning("%s", each.says)
        self.loaded = fresh
        self._stamps = (stamps[0], stamp_of(self.loaded.settings.ca_file))  # it may name another one now
        self._reloaded(self.loaded.settings)
        return True

    def _read_again(self) -> Loaded:
        """A file that lost all its backends was cut off or cleared: going on with what the environment gives would send
        requests to a vendor that nobody chose."""
        fresh = load(self._file, self._environ, asked=self.loaded.asked)
        if self.loaded.names_backends and not fresh.names_backends:
            raise SettingsInvalid(
                f"{fresh.file} has no backends any more. Put them back; or, to use backends from the environment, delete "
                "the file and restart the gateway",
                file=str(fresh.file),
                key="backends",
            )
        return fresh

    def _stamped(self) -> _Stamps:
        return stamp_of(None if self.loaded.is_given else self._place), stamp_of(self.loaded.settings.ca_file)

    def _rekeyed(self) -> bool:
        """Seals that another gateway minted with a new key must open here too."""
        stamp = stamp_of(self._secret)
        if self._secret is None or stamp in (None, self._secret_stamp):
            return False
        self._secret_stamp = stamp
        try:
            self._sealer = load_keyring(self._secret, self._environ).sealer()
        except SettingsInvalid as error:
            _log.error("the sealing keys were not changed: %s", error)
            return False
        return True
