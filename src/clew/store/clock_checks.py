"""Whether this machine's clock can be believed when things are deleted for their age.

A clock that is ahead makes everything old. So the time of each check is kept in the store. A clock that is a week and more
past the last check is in doubt (past the newest row, before the first check): the machine was off for long, or the clock is
wrong, at a start or in the middle of a run. For a day from then on nothing is deleted for its age. A clock that is set back
is not in doubt: it makes nothing older. The doubt is kept too. Otherwise the first turn that is recorded under a wrong clock
would be the newest row, and the next start would believe the clock.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from clew.store.values import DAY, ClockDoubt

CLOCK_SCOPE: Final = "clock"
"""The scope of the settings in which the checks of the clock are kept."""
LEAP: Final = 7 * DAY
WAIT: Final = DAY
_SEEN, _SINCE, _BEFORE = "seen", "doubted-since", "believed-before"


def doubt_of(settings: Mapping[str, str], newest: float | None, now: float) -> ClockDoubt | None:
    """What a check at this moment says, by the notes of earlier ones, or else by the time of the newest row."""
    kept = {name: float(value) for name, value in settings.items()}
    last = kept.get(_SEEN, newest)
    if last is not None and now > last + LEAP:
        return ClockDoubt(now, last, is_new=True)
    since = kept.get(_SINCE)
    if since is not None and since <= now < since + WAIT:
        return ClockDoubt(since, kept[_BEFORE])
    return None


def notes_of(doubt: ClockDoubt | None, now: float) -> dict[str, str | None]:
    """The settings that a check leaves behind; None removes one."""
    kept = {_SEEN: now, _SINCE: doubt.since if doubt else None, _BEFORE: doubt.before if doubt else None}
    return {name: None if value is None else repr(value) for name, value in kept.items()}
