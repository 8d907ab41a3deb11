"""For the client that is started beside a gateway: the variables it needs, and what the gateway did for it.

A client keeps the variables that it has. The gateway's key goes beside the client's own credential, in the header
`x-clew-key`, by the variable that Claude Code and both makers' SDKs have for headers of the user's own. Where no backend
takes the client's credential, the key is the credential as well. That alone is not enough: Anthropic's SDKs prefer
ANTHROPIC_API_KEY. OpenAI's clients have one variable for a credential, and most have no other way to send one: so that
variable is replaced.

Codex and opencode find a gateway by a provider of clew's own, in their configuration or as options of one run. Codex reads
its address from there alone. In Codex the provider must not be called OpenAI: Codex would let it compact conversations, and
take its model list for OpenAI's. opencode also finds a gateway by the variables of a shell, but then only for the models of
its own provider `openai`; the provider in its configuration may have any model.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

from clew.model.change import THINKING_STEPS, What
from clew.model.origin import ANTHROPIC
from clew.settings.values import Settings

if TYPE_CHECKING:
    from clew.model.recording import Recording
    from clew.model.turn import Exchange


BASE_URL: Final = "ANTHROPIC_BASE_URL"
TOKEN: Final = "ANTHROPIC_AUTH_TOKEN"  # noqa: S105  (a variable's name)
CUSTOM_HEADERS: Final = "ANTHROPIC_CUSTOM_HEADERS"
OPENAI_BASE_URL: Final = "OPENAI_BASE_URL"
OPENAI_KEY: Final = "OPENAI_API_KEY"
OPENAI_HEADERS: Final = "OPENAI_CUSTOM_HEADERS"
_HEADER: Final = "x-clew-key"
_MESSAGES: Final = "anthropic"
_SHOWN: Final[tuple[What, ...]] = ("restored", "left out", "handed over", "healed")


def variables(settings: Settings, url: str, key: str, environ: Mapping[str, str]) -> dict[str, str]:
    """The variables to set for a client, beside those that its environment has."""
    headers = {name: _with_key(environ.get(name, ""), key) for name in (CUSTOM_HEADERS, OPENAI_HEADERS)}
    keeps_own = environ.get(OPENAI_KEY) and any(
        backend.auth == "passthrough" and backend.dialect != _MESSAGES for backend in settings.backends.values()
    )
    return {
        BASE_URL: url,
        **({} if takes_credentials(settings) else {TOKEN: key}),
        OPENAI_BASE_URL: f"{url}/v1",
        **({} if keeps_own else {OPENAI_KEY: key}),
        RUN_KEY: key,
        **headers,
    }


def with_options(command: Sequence[str], url: str) -> list[str]:
    """The command of a client, with the options that it needs to find the gateway. Most need none: they read variables."""
    name, *rest = command
    return [name, *(codex_options(url) if PurePath(name).stem == "codex" else ()), *rest]


def line_to_copy(settings: Settings, url: str, key: str, command: str = "claude", *, expands: bool = False) -> str:
    """A line for a shell, as short as Claude Code allows: it sends the token also where ANTHROPIC_API_KEY is set.

    `expands`: `key` is not the key itself, but an expression that the shell expands, such as `$CLEW_KEY`.
    """
    expression = key if expands else ""
    return " ".join(
        [*(_assignment(*pair, expression) for pair in _anthropic_variables(settings, url, key).items()), command]
    )


def shell_lines(settings: Settings, url: str, expression: str) -> list[str]:
    """What a shell runs so that every client that it starts finds the gateway. The shell makes the key from `expression`."""
    pairs = {
        **_anthropic_variables(settings, url, expression),
        OPENAI_BASE_URL: f"{url}/v1",
        OPENAI_KEY: expression,
    }
    return [f"export {_assignment(name, value, expression)}" for name, value in pairs.items()]


def _anthropic_variables(settings: Settings, url: str, key: str) -> dict[str, str]:
    shown = {CUSTOM_HEADERS: _with_key("", key)} if takes_credentials(settings) else {TOKEN: key}
    return {BASE_URL: url, **shown}


def _assignment(name: str, value: str, expression: str) -> str:
    """For a shell, which is to expand `expression` where it is part of the value."""
    return f'{name}="{value}"' if expression and expression in value else f"{name}={shlex.quote(value)}"


def takes_credentials(settings: Settings) -> bool:
    """Whether a backend is asked with the client's own credential."""
    return any(backend.auth == "passthrough" for backend in settings.backends.values())


def _with_key(headers: str, key: str) -> str:
    """One header a line. The key of another gateway around this one is replaced."""
    others = [line for line in headers.splitlines() if line.strip() and line.partition(":")[0].strip().lower() != _HEADER]
    return "\n".join([*others, f"{_HEADER}: {key}"])


class RunSummary:
    """What happened to thinking while a client ran, for the person who started it.

    A client sends its whole history with each request, so the same block is decided about again and again. Here each block
    counts once, by its place in its thread; and what was kept is counted by the longest history of each thread.
    """

    def __init__(self) -> None:
        self.requests = 0
        self.sealed = 0
        """Blocks that clew put a seal on, and that the client now holds."""
        self._backends: dict[str, None] = {}
        self._kept: dict[str, int] = {}
        self._changed: dict[What, dict[tuple[str, str], int]] = {what: {} for what in _SHOWN}

    def add(self, exchange: Exchange, recording: Recording | None) -> None:
        """To be called with every exchange that is over."""
        if exchange.kind != "messages":
            return
        self.requests += 1
        self._backends[exchange.backend] = None
        self._kept[exchange.thread] = max(exchange.kept, self._kept.get(exchange.thread, 0))
        for change in exchange.changes:
            if change.step in THINKING_STEPS and change.what in self._changed:
                places, place = self._changed[change.what], (exchange.thread, change.path)
                places[place] = max(change.count, places.get(place, 0))
        if recording is not None and recording.origin.realm != ANTHROPIC:
            self.sealed += len(recording.keys)

    def lines(self) -> list[str]:
        """The text; no lines if nothing was asked."""
        if not self.requests:
            return []
        lines = [f"clew: {_count(self.requests, 'request')} to {', '.join(self._backends)}; {self.thinking()}"]
        if self.sealed:
            lines.append(
                f"clew: {_count(self.sealed, 'sealed block')} of other vendors went into the client's transcript. "
                "Without clew, Claude refuses them: `clew check FILE --fix` cleans a transcript."
            )
        return lines

    def thinking(self) -> str:
        """What became of the thinking blocks; "" if nothing was asked."""
        if not self.requests:
            return ""
        changed = [f"{sum(each.values())} {what}" for what, each in self._changed.items() if each or what in _SHOWN[:2]]
        return f"{_count(sum(self._kept.values()), 'block')} kept, {', '.join(changed)}"


def _count(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


PROVIDER: Final = "clew"
RUN_KEY: Final = "CLEW_RUN_KEY"
"""The variable with the key of a gateway that `clew run` started. It is for the client alone; clew reads `CLEW_KEY`."""
_OPENCODE_MODELS: Final = ("gpt-5.5", "claude-opus-5-5")


def codex_options(url: str) -> list[str]:
    """Options for one run, which go behind the command's name. The key goes beside whatever credential the client has."""
    provider = (
        f'{{name = "{PROVIDER}", base_url = {json.dumps(f"{url}/v1")}, env_key = "OPENAI_API_KEY", '
        f'env_http_headers = {{"x-clew-key" = "{RUN_KEY}"}}, wire_api = "responses"}}'
    )
    return ["-c", f'model_provider="{PROVIDER}"', "-c", f"model_providers.{PROVIDER}={provider}"]


def codex_config(url: str, key_variable: str) -> str:
    """The text for `~/.codex/config.toml`. `model_provider` is a key of the whole file, so it stands before all tables."""
    return f"""model_provider = "{PROVIDER}"

[model_providers.{PROVIDER}]
name = "{PROVIDER}"
base_url = {json.dumps(f"{url}/v1")}
env_key = "{key_variable}"
wire_api = "responses"
"""


def opencode_config(url: str, key_variable: str) -> str:
    """The text for `opencode.json`, with one provider for all backends: between two, opencode makes text of thoughts."""
    provider = {
        "npm": "@ai-sdk/openai",
        "name": "clew",
        "options": {"baseURL": f"{url}/v1", "apiKey": f"{{env:{key_variable}}}"},
        "models": {name: {"reasoning": True} for name in _OPENCODE_MODELS},
    }
    return json.dumps({"$schema": "https://opencode.ai/config.json", "provider": {"clew": provider}}, indent=2) + "\n"
