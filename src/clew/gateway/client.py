"""What a client needs in its environment to talk to a gateway.

A client keeps all that it has. The gateway's key goes beside the client's own credential, in the header `x-clew-key`, by the
variable that Claude Code and both of Anthropic's SDKs have for headers of the user's own. Where no backend takes the
client's credential, the key is the credential as well. That alone is not enough: the SDKs prefer ANTHROPIC_API_KEY.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Final

from clew.settings.values import Settings

__all__ = ["BASE_URL", "CUSTOM_HEADERS", "TOKEN", "line_to_copy", "variables"]

BASE_URL: Final = "ANTHROPIC_BASE_URL"
TOKEN: Final = "ANTHROPIC_AUTH_TOKEN"  # noqa: S105  (a variable's name)
CUSTOM_HEADERS: Final = "ANTHROPIC_CUSTOM_HEADERS"
_HEADER: Final = "x-clew-key"


def variables(settings: Settings, url: str, key: str, environ: Mapping[str, str]) -> dict[str, str]:
    """The variables to set, on top of what the client has."""
    beside = {CUSTOM_HEADERS: _with_key(environ.get(CUSTOM_HEADERS, ""), key)}
    return {BASE_URL: url, **({} if _takes_credentials(settings) else {TOKEN: key}), **beside}


def line_to_copy(settings: Settings, url: str, key: str, command: str = "claude", *, expands: bool = False) -> str:
    """A line for a shell, as short as Claude Code allows: it sends the token also where ANTHROPIC_API_KEY is set.

    `expands`: the key is not there itself, but as what the shell makes it of, such as `$CLEW_KEY`.
    """
    shown = {CUSTOM_HEADERS: _with_key("", key)} if _takes_credentials(settings) else {TOKEN: key}
    pairs = {BASE_URL: url, **shown}
    return " ".join([*(f"{name}={_quoted(value, expands and key in value)}" for name, value in pairs.items()), command])


def _takes_credentials(settings: Settings) -> bool:
    return any(backend.auth == "passthrough" for backend in settings.backends.values())


def _with_key(headers: str, key: str) -> str:
    """One header a line; a key of another gateway around this one makes room."""
    others = [line for line in headers.splitlines() if line.strip() and line.partition(":")[0].strip().lower() != _HEADER]
    return "\n".join([*others, f"{_HEADER}: {key}"])


def _quoted(value: str, expands: bool) -> str:
    return f'"{value}"' if expands else shlex.quote(value)
