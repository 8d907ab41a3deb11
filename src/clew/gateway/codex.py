"""How Codex finds a gateway: a provider of clew's own, in its configuration or as options of one run.

The provider must not be called OpenAI: Codex would let it compact conversations, and take its model list for OpenAI's.
"""

from __future__ import annotations

import json
from typing import Final

PROVIDER: Final = "clew"
RUN_KEY: Final = "CLEW_RUN_KEY"
"""The variable with the key of a gateway that `clew run` started. It is for the client alone; clew reads `CLEW_KEY`."""


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
