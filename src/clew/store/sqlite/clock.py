"""Whether this machine's clock can be believed. Retention deletes by age, and a clock that is ahead makes everything old.

The time of each look is kept in the store. A clock that is a week and more past the last look is in doubt (past the newest
row, if nobody looked yet): the machine was off for long, or the clock is wrong, at a start or in the middle of a run. For a
day from then on nothing is deleted for its age. A clock that is set back is not in doubt: nothing is older by it.

The doubt is kept too. Otherwise the first turn that is recorded under a wrong clock would be the newest row, and the next
start would believe the clock.
"""

from __future__ import annotations

from typing import Final

from clew.store.doubt import Doubt
from clew.store.sqlite.commands import set_setting
from clew.store.sqlite.database import Database
from clew.store.sqlite.look import settings
from clew.store.values import DAY

__all__ = ["SCOPE", "check_clock", "doubt_at"]

SCOPE: Final = "clock"
"""Of the settings that this keeps."""
LEAP: Final = 7 * DAY
WAIT: Final = DAY

_SEEN, _SINCE, _BEFORE = "seen", "doubted-since", "believed-before"
_NEWEST = """
SELECT max(at) FROM (
    SELECT max(ended) AS at FROM exchanges UNION ALL SELECT max(used) FROM recordings
    UNION ALL SELECT max(at) FROM bodies UNION ALL SELECT max(at) FROM usage
)
"""


def check_clock(connection: Database, now: float) -> Doubt | None:
    """Look at the clock, in a transaction of the writer. Why nothing may be deleted for its age; None if it may."""
    doubt = doubt_at(connection, now)
    kept = {_SEEN: now, _SINCE: doubt.since if doubt else None, _BEFORE: doubt.before if doubt else None}
    for name, value in kept.items():
        set_setting(connection, SCOPE, name, None if value is None else repr(value), now)
    return doubt


def doubt_at(connection: Database, now: float) -> Doubt | None:
    """What a look at this moment would say. Nothing is kept of it."""
    kept = {name: float(value) for name, value in settings(connection, SCOPE).items()}
    last = kept[_SEEN] if _SEEN in kept else _newest(connection)
    if last is not None and now > last + LEAP:
        return Doubt(now, last, is_new=True)
    since = kept.get(_SINCE)
    if since is not None and since <= now < since + WAIT:
        return Doubt(since, kept[_BEFORE])
    return None


def _newest(connection: Database) -> float | None:
    found = connection.execute(_NEWEST).get
    return found if isinstance(found, float) else None
