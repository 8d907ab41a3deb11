"""Addresses of pages: made of parts that are quoted one by one, whoever chose the names in them."""

from __future__ import annotations

from urllib.parse import quote, urlencode

from clew.settings.gateway_key import LOCAL

__all__ = ["address"]


def address(*parts: str, owner: str = LOCAL, **query: object) -> str:
    """A path with what it asks for; what is "" or None is not asked for. Another principal than the operator's is named.

    >>> address("threads", "a/b", at="x&y", start=None)
    '/threads/a%2Fb?at=x%26y'
    """
    wanted = {name.rstrip("_"): value for name, value in query.items() if value not in ("", None)}
    if owner != LOCAL:
        wanted["principal"] = owner
    path = "/" + "/".join(quote(part, safe="") for part in parts)
    return f"{path}?{urlencode(wanted)}" if wanted else path
