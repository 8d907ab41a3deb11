"""The guided start: choose a client, choose a backend, paste one line, see the first request arrive."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Final

from msgspec import Struct
from starlette.requests import Request
from starlette.responses import Response

from clew.admin.services import AdminServices
from clew.admin.views import status_of
from clew.gateway.client import OPENAI_KEY, RUN_KEY, line_to_copy, shell_lines, with_options
from clew.settings.own_keys import KEY_VARIABLE
from clew.settings.values import Settings
from clew.web.frame import page

_QUESTION: Final = '{"model":"claude-sonnet-5-5","max_tokens":1000,"messages":[{"role":"user","content":"Hello"}]}'


class ClientGuide(Struct, frozen=True, kw_only=True):
    """A client, and the line that starts it so that it finds the gateway."""

    id: str
    name: str
    line: str
    then: str
    """What to do after the line was pasted."""


async def page_start(services: AdminServices, request: Request) -> Response:
    status = await services.read(lambda: status_of(services))
    settings = services.current.snapshot.settings
    gateway = status.gateways[-1] if status.gateways else None
    values = {
        "status": status,
        "guides": list(client_guides(settings, gateway.url, key_expression(services))) if gateway else [],
        "own": gateway.name if gateway else "",
    }
    return page(services, request, "start.html", values)


def key_expression(services: AdminServices) -> str:
    """What a shell expands to the gateway's key. The key itself is not shown."""
    key = services.home.key
    return f"$(cat {shlex.quote(str(key))})" if key.is_file() else f"${KEY_VARIABLE}"


def client_guides(settings: Settings, url: str, key: str) -> Iterator[ClientGuide]:
    yield ClientGuide(
        id="claude-code",
        name="Claude Code",
        line=line_to_copy(settings, url, key, expands=True),
        then="Claude Code starts. Ask it something.",
    )
    yield ClientGuide(
        id="codex",
        name="Codex",
        line=f'{OPENAI_KEY}="{key}" {RUN_KEY}="{key}" {shlex.join(with_options(["codex"], url))}',
        then="Codex starts. Ask it something.",
    )
    yield ClientGuide(
        id="sdk",
        name="A program with Anthropic's or OpenAI's SDK",
        line="; ".join(shell_lines(settings, url, key)),
        then="Start your program in the same shell. It needs no other change.",
    )
    yield ClientGuide(
        id="curl",
        name="curl, just to try",
        line=f'curl {url}/v1/messages -H "x-clew-key: {key}" -H "content-type: application/json" '
        f"-H 'anthropic-version: 2023-06-01' -d {shlex.quote(_QUESTION)}",
        then="The answer appears in the shell.",
    )
