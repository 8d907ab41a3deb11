"""Credentials: keys that do not show themselves, and the client's own.

A key leaves a `Secret` in one place, `reveal`, and in one form, the header of the request that needs it. Everything else
(logs, cool-downs, the account of an origin) knows it by a fingerprint.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Final, Literal, TypeAlias

Auth: TypeAlias = Literal["passthrough", "key", "bearer", "api-key", "none"]
"""Whose credential a call shows: the client's own, a configured key in `x-api-key`, `Authorization: Bearer` or `api-key`, or
none."""

Credential: TypeAlias = Sequence[tuple[str, str]]
"""The client's own `x-api-key` and `authorization` headers, as they came."""

CREDENTIAL_VARIABLES: Final[Mapping[str, str]] = {"ANTHROPIC_API_KEY": "x-api-key", "ANTHROPIC_AUTH_TOKEN": "authorization"}
"""Where clients on this machine have their credential, and the header that shows it. The first that is set counts."""

_FINGERPRINT: Final = 8
_ANTHROPIC_KEY: Final = re.compile(r"(?i:bearer) +(sk-ant-api\S+)")
"""An API key of Anthropic's; tokens of its subscriptions begin with sk-ant-oat, and are bearer tokens."""


class Secret:
    """A key. `str`, `repr` and formatting do not show it; two are equal if their keys are."""

    __slots__ = ("_value", "fingerprint")

    def __init__(self, value: str) -> None:
        self._value: Final = value
        self.fingerprint: Final = _fingerprint(value)

    def reveal(self) -> str:
        """The key itself, for the header of a request and for nothing else."""
        return self._value

    def __repr__(self) -> str:
        return "<secret>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and hmac.compare_digest(_bytes(self._value), _bytes(other._value))

    def __hash__(self) -> int:
        return hash(self.fingerprint)


def credential_account(credential: Credential) -> str:
    """A name for the account behind a client's own credential; "" without one."""
    return _fingerprint("\n".join(value for _, value in sorted(credential))) if credential else ""


def as_anthropic_takes_it(credential: Credential) -> Credential:
    """The same with an API key in `x-api-key`: Anthropic takes it nowhere else, and clients of OpenAI's dialects show every
    key as a bearer token."""
    if [name for name, _ in credential] != ["authorization"]:
        return credential
    key = _ANTHROPIC_KEY.fullmatch(credential[0][1])
    return (("x-api-key", key[1]),) if key else credential


def _fingerprint(value: str) -> str:
    return sha256(_bytes(value)).hexdigest()[:_FINGERPRINT]


def _bytes(value: str) -> bytes:
    return value.encode("utf-8", "surrogatepass")


def credential_in(environ: Mapping[str, str]) -> Credential:
    """What a client on this machine would show: the first of its usual variables that is set."""
    for variable, header in CREDENTIAL_VARIABLES.items():
        if value := environ.get(variable, "").strip():
            return ((header, f"Bearer {value}" if header == "authorization" else value),)
    return ()
