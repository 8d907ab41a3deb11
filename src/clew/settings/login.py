"""`[login]`: the admin behind a proxy that logs people in, and what is wrong with such settings."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_network
from typing import Annotated, Final
from urllib.parse import urlsplit

from msgspec import Meta, Struct

from clew.settings.problems import Problem


class LoginSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The admin behind a proxy that logs people in: which tokens (JWT) it believes. Needs the extra `clew[jwt]`. Off without
    an issuer."""

    issuer: str = ""
    """The claim `iss` of its tokens."""
    audience: str = ""
    """The claim `aud` that they must have."""
    jwks: str = ""
    """Where the issuer's public keys are: file:/path, or an https address."""
    peers: tuple[str, ...] = ()
    """Addresses or networks that the proxy connects from, such as 127.0.0.1 or 10.1.0.0/16. Other tokens are ignored."""
    hosts: tuple[str, ...] = ()
    """Names under which browsers reach the proxy, such as clew.example.com, with the port if they name one."""
    header: str = "authorization"
    """The header with the token; in `authorization` it stands behind Bearer."""
    principal_claim: str = "sub"
    """The claim that names the caller: whose conversations the chat opens, and who changed what."""
    role_claim: str = "groups"
    """The claim with the caller's groups or roles: a text or a list."""
    viewers: tuple[str, ...] = ()
    """Its values for people who may look at everything,"""
    operators: tuple[str, ...] = ()
    """for those who may chat, switch, pin, limit and delete too,"""
    owners: tuple[str, ...] = ()
    """and for those who may also change keys and backends."""
    refresh_seconds: Annotated[int, Meta(ge=1)] = 300
    """How often the issuer's keys are read again."""

    @property
    def is_on(self) -> bool:
        return bool(self.issuer)


_NO_LOGIN: Final = LoginSettings()


def login_problems(login: LoginSettings) -> Iterator[Problem]:
    """What is missing where tokens of a proxy are believed, and what would believe too much."""
    given = any(getattr(login, name) != getattr(_NO_LOGIN, name) for name in login.__struct_fields__)
    for name in ("issuer", "audience", "jwks", "peers") if given else ():
        if not getattr(login, name):
            yield Problem(("login", name), "this is needed where [login] is used")
    if given and not (login.viewers or login.operators or login.owners):
        yield Problem(("login",), "say who may come in: viewers, operators or owners, by the values of role_claim")
    for at, peer in enumerate(login.peers):
        try:
            ip_network(peer, strict=False)
        except ValueError:
            yield Problem(
                ("login", "peers", at), f"{peer!r} is not an address or a network, such as 127.0.0.1 or 10.1.0.0/16"
            )
    url = urlsplit(login.jwks)
    is_file, is_near = (
        login.jwks.startswith("file:/"),
        url.scheme == "http" and url.hostname in ("127.0.0.1", "localhost", "::1"),
    )
    if login.jwks and not (is_file or is_near or url.scheme == "https"):
        yield Problem(("login", "jwks"), "expected file:/path or an https address: who changes these keys comes in")
    if login.header != login.header.lower() or not login.header.replace("-", "").isalnum():
        yield Problem(("login", "header"), "expected the name of a header in small letters")
