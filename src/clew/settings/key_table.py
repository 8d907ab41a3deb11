"""Whose key is this? Answered for every request, from memory alone: no disk, no database, nothing to wait for.

The thread that follows the settings calls `look`, which reads the table again. What cannot be read changes nothing: a
database that is away keeps nobody out who was let in before. The public `kid` finds the row, and the comparison takes the
same time whether there is such a row or not.
"""

from __future__ import annotations

import hmac
import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from typing import Final

from clew.errors import SettingsInvalid, StoreError
from clew.limits.keys import LOCAL, KeyHolder, NamedKey, current_keys, keys_digest, rights_of
from clew.settings.named_keys import NamedKeys, hash_of
from clew.settings.own_keys import KEY_PREFIX

USED_SECONDS: Final = 60.0
"""How often the last use of keys is written, at most."""
_NO_HASH: Final = "0" * 64

_log = logging.getLogger("clew")


class KeyTable:
    """Of one process. `holder_of` belongs to the loop; `look` may be called by any thread."""

    def __init__(
        self,
        own: str,
        source: NamedKeys | None = None,
        *,
        known: Sequence[NamedKey] = (),
        extra: Mapping[str, str] | None = None,
        wall: Callable[[], float] = time.time,
    ) -> None:
        """`own` is the gateway's own key; `extra` gives principals by other keys that are not in any table. `known` are the
        keys to begin with, until `source` was read."""
        self._own = [(sha256(own.encode()).digest(), LOCAL)] if own else []
        self._own += [(sha256(key.encode()).digest(), principal) for key, principal in (extra or {}).items()]
        self._source = source
        self._wall = wall
        self._holders: Mapping[str, tuple[str, KeyHolder]] = {}
        """The hash of the secret and the holder, by the public part."""
        self._used: dict[str, float] = {}
        self._used_at = 0.0
        self._changes: object = None
        self._problem = ""
        self._reading = threading.Lock()
        self.digest = ""
        """Of the table as it was read last; "" where there is none."""
        self.is_current = True
        """Whether the table could be read since the start: before, a key that is not known may be a new one."""
        self._take(known)

    def await_source(self) -> None:
        """A source will be there soon: until it is read, the keys that are known are not all."""
        self.is_current = False

    def follow(self, source: NamedKeys) -> None:
        self._source = source

    def principal_of(self, presented: str) -> str | None:
        """The principal of a key that a client presents; None if it is not valid."""
        holder = self.holder_of(presented)
        return holder.principal if holder else None

    def holder_of(self, presented: str) -> KeyHolder | None:
        """Who holds a key that a client presents; None if it is not valid. What the holder may, is not looked at."""
        shown = sha256(presented.encode("utf-8", "surrogatepass")).digest()
        found: str | None = None
        for digest, principal in self._own:
            found = principal if hmac.compare_digest(shown, digest) else found
        if found:
            return KeyHolder(found)
        prefix, _, rest = presented.partition("_")
        kid, _, secret = rest.partition("_") if prefix == KEY_PREFIX else ("", "", "")
        hash, holder = self._holders.get(kid, (_NO_HASH, None))
        if not hmac.compare_digest(hash_of(secret), hash) or holder is None:
            return None
        self._used[kid] = self._wall()
        return holder

    def look(self) -> None:
        """Read the table if its store changed, and note which keys were used."""
        if self._source is None:
            return
        with self._reading:
            try:
                self._read(self._source)
            except (SettingsInvalid, StoreError) as error:  # what is known stays known
                if str(error) != self._problem:
                    _log.warning("the named keys cannot be read: %s", error)
                self._problem, self._changes = str(error), None

    def _read(self, source: NamedKeys) -> None:
        now = self._wall()
        if self._used and now - self._used_at >= USED_SECONDS:
            used, self._used, self._used_at = self._used, {}, now
            source.note_used(dict(used))  # another thread may still add to it
        changes = source.store.changes() if source.store is not None else None
        if self.is_current and changes is not None and changes == self._changes:
            return
        rows = source.all()
        known = self.digest if self._changes is not None else None
        self._take(rows)
        self._changes, self._problem, self.is_current = changes, "", True
        if self.digest != known:
            source.remember(rows)

    def _take(self, rows: Sequence[NamedKey]) -> None:
        by_name = {row.name: row for row in current_keys(rows)}
        self._holders = {
            row.kid: (row.hash, KeyHolder(row.principal, row.name, row.team, rights_of(by_name, row))) for row in rows
        }
        self.digest = keys_digest(rows)
