"""Keys as people type them and see them: what a key may do, when it ends, and how it is now."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from clew.errors import SettingsInvalid
from clew.limits.keys import KEY_SCOPES, KeyRights, KeyScope, NamedKey
from clew.limits.limit import DAY, HOUR

LONGEST: Final = 100 * 366 * DAY
_SPAN: Final = re.compile(r"(\d{1,5})(m|h|d|w)")
_SPANS: Final = {"m": 60, "h": HOUR, "d": DAY, "w": 7 * DAY}
_SCOPES: Final[Mapping[str, KeyScope]] = {scope: scope for scope in KEY_SCOPES}
_NEVER: Final = "never"
_ALL: Final = "all"


def read_rights(
    old: KeyRights,
    *,
    now: float,
    scopes: str | None = None,
    models: str | None = None,
    backends: str | None = None,
    expires: str | None = None,
) -> KeyRights:
    """The rights after what was typed; None leaves a right as it was. Raises SettingsInvalid.

    >>> read_rights(KeyRights(), now=0.0, models="claude-haiku-*, glm-5").words
    'models claude-haiku-*, glm-5'
    """
    return KeyRights(
        scopes=old.scopes if scopes is None else _read_scopes(scopes),
        models=old.models if models is None else _read_names(models),
        backends=old.backends if backends is None else _read_names(backends),
        expires=old.expires if expires is None else read_end(expires, now),
    )


def _read_names(text: str) -> tuple[str, ...]:
    names = tuple(dict.fromkeys(filter(None, (part.strip() for part in text.split(",")))))
    if not names:
        raise SettingsInvalid(f"name one or more, with commas between, or {_ALL!r}", key="names")
    return () if names == (_ALL,) else names


def _read_scopes(text: str) -> tuple[KeyScope, ...]:
    names = [part.strip() for part in text.split(",") if part.strip()]
    if not names or any(name not in _SCOPES for name in names):
        raise SettingsInvalid(f"{text!r}: the scopes of a key are some of {', '.join(KEY_SCOPES)}", key="scopes")
    return tuple(scope for scope in KEY_SCOPES if scope in names)


def read_span(text: str) -> float:
    """`30m`, `24h`, `7d` or `4w` as seconds; `0` is none. Raises SettingsInvalid.

    >>> read_span("24h")
    86400.0
    """
    if text.strip() == "0":
        return 0.0
    found = _SPAN.fullmatch(text.strip())
    if found is None:
        raise SettingsInvalid(f"{text!r} is not a time: use 30m, 24h, 7d or 4w", key="time")
    return float(int(found[1]) * _SPANS[found[2]])


def read_end(text: str, now: float) -> float | None:
    """When a key ends: a time from now, a day such as 2027-01-31 (its end, in UTC), or `never`. Raises SettingsInvalid."""
    if text.strip() == _NEVER:
        return None
    try:
        end = datetime.strptime(text.strip(), "%Y-%m-%d").replace(tzinfo=UTC).timestamp() + DAY
    except ValueError:
        end = now + read_span(text)
    if not now < end <= now + LONGEST:
        raise SettingsInvalid(f"{text!r} is not in the future: use 30d, a day such as 2027-01-31, or never", key="expires")
    return end


def key_state(key: NamedKey, now: float) -> str:
    """For people: until when it opens, if that is limited."""
    end = key.rights.expires
    if end is None:
        return ""
    day = datetime.fromtimestamp(end, UTC).strftime("%Y-%m-%d %H:%M UTC")
    return f"expired {day}" if end <= now else f"until {day}"


def key_json(key: NamedKey, rows: Sequence[NamedKey]) -> dict[str, object]:
    """A key as JSON, with the secrets that it replaced and that still open. No part of a secret is in it."""
    rights = key.rights
    old = [{"kid": row.kid, "expires": row.rights.expires} for row in rows if row.replaced_by and row.name == key.name]
    return {
        "name": key.name,
        "kid": key.kid,
        "principal": key.principal,
        "team": key.team,
        "created": key.created,
        "scopes": rights.scopes,
        "models": rights.models,
        "backends": rights.backends,
        "expires": rights.expires,
        "parent": key.parent,
        "made_by": key.made_by,
        "last_used": key.last_used,
        "replaced": old,
    }
