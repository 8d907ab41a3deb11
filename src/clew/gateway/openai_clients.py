"""How Codex and opencode find a gateway: a provider of clew's own, in their configuration or as options of one run.

In Codex the provider must not be called OpenAI: Codex would let it compact conversations, and take its model list for
OpenAI's. opencode also finds a gateway by the variables of a shell, but then only for the models of its own provider
`openai`; the provider in its configuration may have any model.
"""

from __future__ import annotations

import json
from typing import Final

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
