"""The heads of an exchange, for people to look at: what the client said in its headers, what went out, what came back.

They are kept with the bodies, so nothing secret may be in them: a credential is known by its header's name, and hidden
before it is kept. (The client's own never get this far.) What went out is looked through for the shapes of secrets besides:
a proxy before us may put one under a name of its own. What a backend answers is so when it is shown, since it is never the
same twice.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from msgspec import structs

from clew.engine.call import Call
from clew.engine.outgoing import outgoing
from clew.engine.redact import HIDDEN, Redactor
from clew.engine.route import BackendRoute
from clew.model.http import ResponseHead
from clew.model.request import Request
from clew.model.turn import Heads

__all__ = ["HIDDEN", "heads_of"]

_SECRET: Final = re.compile(
    r"(^|[-_])(api-?key|key|token|secret|auth|authorization|cookie|password|passwd|credential|jwt|assertion)s?($|[-_])"
)
_BY_SHAPE: Final = Redactor()
_COUNTED: Final = "ratelimit"
"""How many tokens are left is no secret."""

Pairs = tuple[tuple[str, str], ...]


def heads_of(call: Call, route: BackendRoute, going: Request, answered: ResponseHead | None) -> Heads:
    """Clients and backends say nearly the same with each request, so that is worked out once."""
    sent = outgoing(call, route, going, b"")
    heads = Heads(
        asked=_of_client(tuple(call.headers.items())),
        sent=_of_backend(sent.headers),
        target=_first_line(sent.method, sent.target),
    )
    return heads if answered is None else structs.replace(heads, answered=_plain(answered.headers), status=answered.status)


@lru_cache(maxsize=64)
def _of_client(headers: Pairs) -> Pairs:
    return tuple((name, _BY_SHAPE(_shown(name, value))) for name, value in headers)


@lru_cache(maxsize=64)
def _of_backend(headers: tuple[tuple[bytes, bytes], ...]) -> Pairs:
    return _of_client(_plain(headers))


@lru_cache(maxsize=64)
def _first_line(method: bytes, target: bytes) -> str:
    return _BY_SHAPE(f"{method.decode('latin-1')} {target.decode('latin-1')}")


def _plain(headers: Iterable[tuple[bytes, bytes]]) -> Pairs:
    return tuple((name := raw.decode("latin-1"), _shown(name, value.decode("latin-1"))) for raw, value in headers)


def _shown(name: str, value: str) -> str:
    return HIDDEN if _SECRET.search(name.lower()) and _COUNTED not in name.lower() else value
