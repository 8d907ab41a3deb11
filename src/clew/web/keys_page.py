"""Keys: who may use the gateway, what each key may do and until when; and the audit, who changed what.

Keys are made, edited, renewed and revoked by the page's script, through the admin's routes. The script asks for the rows
again after each change, so there is one way to draw them.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Final

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from clew.admin.requests import number
from clew.admin.services import AdminServices
from clew.backends.address import is_local
from clew.limits.keys import KEY_SCOPES, NamedKey, current_keys
from clew.settings.processes import registered_gateways
from clew.web.frame import fragment, page
from clew.web.rows import Mood

CHANGES: Final = 100
"""Entries of the audit on a page."""
_SOON: Final = 7 * 86_400.0
"""A key that ends within this time is marked."""


class KeyLine(Struct, frozen=True, kw_only=True):
    """A key on the page. No part of its secret."""

    key: NamedKey
    mood: Mood
    """About its end."""
    replaced: tuple[NamedKey, ...]
    """Those that it replaced, and that still open."""
    children: int


async def page_keys(services: AdminServices, request: Request) -> Response:
    rows, gateways = await services.read(lambda: (key_lines(services), registered_gateways(services.home)))
    url = gateways[-1].url if gateways else ""
    values = {"rows": rows, "scopes": KEY_SCOPES, "address": url, "is_local": is_local(url)}
    return page(services, request, "keys.html", {**values, "backends": tuple(services.current.snapshot.settings.backends)})


async def part_keys(services: AdminServices, request: Request) -> Response:
    return fragment("key_rows.html", {"rows": await services.read(lambda: key_lines(services))})


def key_lines(services: AdminServices) -> list[KeyLine]:
    """By name. Raises SettingsInvalid and StoreError if the table cannot be read."""
    rows, now = services.keys.all(), time.time()
    return [_line(key, rows, now) for key in sorted(current_keys(rows), key=lambda key: key.name.casefold())]


def _line(key: NamedKey, rows: Sequence[NamedKey], now: float) -> KeyLine:
    ends = key.rights.expires
    mood: Mood = "" if ends is None else "bad" if ends <= now else "warn" if ends <= now + _SOON else ""
    return KeyLine(
        key=key,
        mood=mood,
        replaced=tuple(row for row in rows if row.replaced_by and row.name == key.name and (row.rights.expires or 0) > now),
        children=sum(row.parent == key.name for row in current_keys(rows)),
    )


async def page_audit(services: AdminServices, request: Request) -> Response:
    number_before = number(request, "before")
    before = None if number_before is None else int(number_before)
    entries = await services.read(lambda: services.kept.audit.entries(limit=CHANGES + 1, before=before))
    values = {
        "entries": entries[:CHANGES],
        "older": entries[CHANGES - 1].seq if len(entries) > CHANGES else 0,
        "first": before is None,
    }
    return page(services, request, "audit.html", values)
