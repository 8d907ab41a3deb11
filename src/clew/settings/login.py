"""`[login]`: the admin behind a proxy that logs people in, and what is wrong with such settings."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_network
from typing import Annotated, Final
from urllib.parse import urlsplit

from msgspec import Meta, Struct

from clew.settings.problems import Problem


class LoginSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Logins through a proxy in front of the web UI: which of its tokens (JWT) to believe. Needs the extra `clew[jwt]`, and
    an issuer."""

    issuer: str = ""
    """The claim `iss` of the tokens. Empty: off."""
    audience: str = ""
    """The claim `aud` of the tokens."""
    jwks: str = ""
    """Where the issuer's public keys are: `file:/path`, or an https address."""
    peers: tuple[str, ...] = ()
    """Addresses or networks of the proxy, such as 127.0.0.1 or 10.1.0.0/16. Tokens from elsewhere are ignored."""
    hosts: tuple[str, ...] = ()
    """Names by which browsers reach the proxy, such as clew.example.com, with the port if they use one."""
    header: str = "authorization"
    """The header with the token. In `authorization` the token follows `Bearer`."""
    principal_claim: str = "sub"
    """The claim that names the user: the owner of the conversations in Chat, and the name in the audit."""
    role_claim: str = "groups"
    """The claim with the user's groups or roles: a text or a list."""
    viewers: tuple[str, ...] = ()
    """Groups whose members may read everything."""
    operators: tuple[str, ...] = ()
    """Groups whose members may also chat, switch, pin, set limits and delete."""
    owners: tuple[str, ...] = ()
    """Groups whose members may also change keys and backends."""
    refresh_seconds: Annotated[int, Meta(ge=1)] = 300
    """How often to read the issuer's keys again."""

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
