"""Which headers cross the gateway, in each direction. Both are lists of what passes; whatever is not named does not.

A list of what must not pass would have to know every hop-by-hop header, cookie and forwarding note that there is, and every
one that will be. What passes is what the two ends say to each other in the dialect's own words. Credentials are on no list:
the backend's row decides what it is sent. Names that the other side lists in `Connection` are meant for one hop only
(RFC 9110 §7.6.1), so they do not pass either; they still count here, or a client could talk us out of its own key.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Final, TypeAlias

_Pairs: TypeAlias = tuple[tuple[bytes, bytes], ...]

REQUEST_NAMES: Final[Mapping[str, str]] = {
    "accept": "the SDKs ask for JSON or for a stream with it",
    "idempotency-key": "the SDKs' retries are one call to the vendor",
    "user-agent": "vendors tell clients apart by it, and some serve only those they know",
    "x-app": "Claude Code says here that it is a command line",
}
"""What a client may tell a backend, and why."""

REQUEST_PREFIXES: Final[Mapping[str, str]] = {
    "anthropic-": "version, betas and whatever the vendor adds to its own dialect; new ones come every few weeks",
    "x-claude-1p-": "Claude Code's own word on what a request is for",
    "x-claude-code-": "session, agent and request class of Claude Code, which the vendor's own servers read",
    "x-stainless-": "the SDKs' own notes: language, retry count, timeout",
}

RESPONSE_NAMES: Final[Mapping[str, str]] = {
    "anthropic-organization-id": "whose account it was",
    "request-id": "what the vendor's support asks for",
    "retry-after": "Claude Code and the SDKs wait as long as it says",
    "retry-after-ms": "the same, finer; the SDKs prefer it",
    "x-should-retry": "Claude Code stops at once if it is false",
}
"""What a backend may tell a client, and why. The type of the content is the engine's to say: it knows what it writes."""

RESPONSE_PREFIXES: Final[Mapping[str, str]] = {"anthropic-ratelimit-": "how much is left, and until when"}

_CREDENTIALS: Final = frozenset({"authorization", "cookie", "proxy-authorization", "x-api-key", "x-clew-key"})
_UNSAFE = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")


def request_headers(headers: Mapping[str, str]) -> _Pairs:
    """What of a client's headers (lower case, joined) goes to a backend."""
    return _request_headers(tuple(headers.items()))


@lru_cache(maxsize=64)
def _request_headers(headers: tuple[tuple[str, str], ...]) -> _Pairs:
    """A client says nearly the same with each request, so that is worked out once."""
    one_hop = _listed([value for name, value in headers if name == "connection"])
    return tuple(
        [
            (name.encode("latin-1"), value.encode("latin-1"))
            for name, value in headers
            if _passes(name, REQUEST_NAMES, REQUEST_PREFIXES) and name not in one_hop
        ]
    )


def response_headers(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[str, str]]:
    """What of a backend's headers goes to the client, names in lower case. A value that could break a line does not."""
    found: list[tuple[str, str]] = []
    one_hop: list[str] = []
    for given, value in headers:
        name, passes = _answered(given)
        if passes and not _UNSAFE.search(value):
            found.append((name, value.decode("latin-1")))
        elif name == "connection":
            one_hop.append(value.decode("latin-1"))
    if not one_hop:
        return found
    stays = _listed(one_hop)
    return [pair for pair in found if pair[0] not in stays]


@lru_cache(maxsize=1024)
def _answered(given: bytes) -> tuple[str, bool]:
    """A name, and whether it passes. A backend sends the same few names with every answer."""
    name = given.lower().decode("latin-1")
    return name, _passes(name, RESPONSE_NAMES, RESPONSE_PREFIXES)


def _passes(name: str, names: Mapping[str, str], prefixes: Mapping[str, str]) -> bool:
    return name not in _CREDENTIALS and (name in names or name.startswith(tuple(prefixes)))


def _listed(values: Iterable[str]) -> frozenset[str]:
    """The names in `Connection` headers."""
    return frozenset(word.strip().lower() for value in values for word in value.split(","))
