"""How opencode finds a gateway: a provider in its configuration.

By the variables of a shell it finds one too, for the models of its own provider `openai`; here it may have any model.
"""

from __future__ import annotations

import json

_MODELS = ("gpt-5.5", "claude-opus-5-5")


def opencode_config(url: str, key_variable: str) -> str:
    """The text for `opencode.json`, with one provider for all backends: between two, opencode makes text of thoughts."""
    provider = {
        "npm": "@ai-sdk/openai",
        "name": "clew",
        "options": {"baseURL": f"{url}/v1", "apiKey": f"{{env:{key_variable}}}"},
        "models": {name: {"reasoning": True} for name in _MODELS},
    }
    return json.dumps({"$schema": "https://opencode.ai/config.json", "provider": {"clew": provider}}, indent=2) + "\n"
