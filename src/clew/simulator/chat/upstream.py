"""What an aggregator tells of an error that the vendor behind it raised: that vendor's own body, as a text in a text."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Final

import msgspec

from clew.model.json import JsonObject

__all__ = ["provider_error"]

_BEHIND: Final = ("chat.reasoning-*", "chat.details-*", "chat.signature-*", "chat.tool-choice-thinking")
_OWN: Final = ("chat.details-shape",)
_ADVICE: Final = (
    "Gemini models require OpenRouter reasoning details to be preserved in each request. Please refer to our docs: "
    "https://openrouter.ai/docs/guides/best-practices/reasoning-tokens#preserving-reasoning-blocks. Upstream error: "
)


def provider_error(rule: str, message: str, kind: str, code: str, maker: str) -> JsonObject | None:
    """The metadata of an error from behind; None if the aggregator itself refuses."""
    if rule in _OWN or not any(fnmatchcase(rule, pattern) for pattern in _BEHIND):
        return None
    body: JsonObject = {"error": {"message": message, "type": kind, "param": None, "code": code or None}}
    if maker == "Anthropic":
        body = {"type": "error", "error": {"type": "invalid_request_error", "message": message}}
    elif maker == "Google AI Studio":
        body = {"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT"}}
    raw = msgspec.json.encode(body).decode()
    advice = _ADVICE if rule == "chat.signature-missing" else ""
    return {"raw": advice + raw, "provider_name": maker, "is_byok": False}
