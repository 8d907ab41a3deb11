"""What every request must show before anybody asks who sent it: a Host that is ours, and no foreign web page behind it.

A listener on 127.0.0.1 is within reach of every page that a browser on this machine shows. A page of another origin is given
away by `Origin`; one whose name was made to point here (DNS rebinding) has the right origin, and only `Host` still names the
attacker. Both are looked at, always, before the route and the key. No answer carries a CORS header.

JSON is asked for by name: a form of a foreign page can post, but not with that content type.
"""

from __future__ import annotations

from collections.abc import Iterable

from clew.http.message import HttpRequest, Refusal

__all__ = ["WILDCARDS", "Border", "check_content", "is_loopback"]

_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
WILDCARDS = ("0.0.0.0", "::", "")  # noqa: S104  (named so that they are not taken for a name of ours)
_SINGLE = ("authorization", "content-type", "host", "origin", "x-api-key", "x-clew-key")
_JSON = "application/json"


def is_loopback(host: str) -> bool:
    """Is this address to listen on one that only this machine can reach?"""
    return host in ("localhost", "::1") or host.startswith("127.")


class Border:
    """The names by which this listener may be called. `host` and `port` are where it listens."""

    def __init__(self, host: str, port: int, *, hosts: Iterable[str] = (), origins: Iterable[str] = ()) -> None:
        own = _LOOPBACK if host in WILDCARDS or is_loopback(host) else (*_LOOPBACK, _bracketed(host))
        self._near = _with_port(_LOOPBACK, port)
        self._own = _with_port(own, port)
        self._named = frozenset(name.lower() for name in hosts)
        self._origins = frozenset(origin.lower().rstrip("/") for origin in origins)

    def check(self, request: HttpRequest) -> Refusal | None:
        """Why this request goes no further, whoever sent it; None if it may."""
        return _check_form(request) or self._check_host(request) or self._check_origin(request)

    def is_near(self, request: HttpRequest) -> bool:
        """Was it called by a loopback name?"""
        return (request.header("host") or "").lower() in self._near

    def _check_host(self, request: HttpRequest) -> Refusal | None:
        host = (request.header("host") or "").lower()
        if not host:
            return Refusal(400, "A Host header is needed.")
        if host in self._own or host in self._named or _without_port(host) in self._named:
            return None
        return Refusal(421, "This gateway is not called by that name. Add it to `hosts` under [gateway] if it should be.")

    def _check_origin(self, request: HttpRequest) -> Refusal | None:
        origin = (request.header("origin") or "").lower()
        if origin and (origin in self._origins or origin == f"http://{(request.header('host') or '').lower()}"):
            return None
        if origin or request.header("sec-fetch-site") == "cross-site":
            return Refusal(
                403, "Web pages may not call this gateway. Add theirs to `origins` under [gateway] if one should."
            )
        return None


def check_content(request: HttpRequest) -> Refusal | None:
    """Is the body JSON, as it is?"""
    kind = (request.header("content-type") or "").partition(";")[0].strip().lower()
    if kind != _JSON:
        return Refusal(415, f"The content type must be {_JSON}.")
    if (request.header("content-encoding") or "identity").strip().lower() != "identity":
        return Refusal(415, "Compressed requests are not taken: send the body without Content-Encoding.")
    return None


def _check_form(request: HttpRequest) -> Refusal | None:
    """One way to say where a request goes, and one of each header that decides something."""
    if not request.target.startswith("/"):
        return Refusal(400, "The request target must be a path.")
    names = [name for name, _ in request.headers if name in _SINGLE]
    if len(names) != len(set(names)):
        return Refusal(400, f"Each of {', '.join(_SINGLE)} may be there once.")
    return None


def _with_port(names: Iterable[str], port: int) -> frozenset[str]:
    """As clients write them: with the port, which may be left out where it is HTTP's own."""
    return frozenset(f"{name.lower()}:{port}" for name in names) | frozenset(names if port == 80 else ())


def _without_port(host: str) -> str:
    name, colon, port = host.rpartition(":")
    return name if colon and port.isdecimal() else host


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
