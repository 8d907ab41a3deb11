"""Why an answer ended, in the client's words.

What was seen weighs more than what was said: servers end with `stop`, null or a word of their own although they called
tools, and with `tool_calls` although they called none. Only a cut and a refusal outweigh a call, since a call that was cut
must not be run.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from clew.model.json import JsonObject
from clew.model.loose_json import text_of

__all__ = ["stop_of"]

_STRONG: Final = {
    "length": "max_tokens",
    "max_tokens": "max_tokens",
    "max_output_tokens": "max_tokens",
    "model_length": "max_tokens",
    "content_filter": "refusal",
    "safety": "refusal",
    "sensitive": "refusal",
    "refusal": "refusal",
    "recitation": "refusal",
    "prohibited_content": "refusal",
    "blocklist": "refusal",
    "model_context_window_exceeded": "model_context_window_exceeded",
}


def stop_of(choice: JsonObject, *, called: bool, refused: bool, stops: Collection[str] = ()) -> JsonObject:
    """The delta of the last message_delta. `choice` is the one with the finish; `stops` are the sequences asked for."""
    reason = _STRONG.get(text_of(choice.get("finish_reason")).lower())
    if reason is None and refused:
        reason = "refusal"
    matched = _matched(choice, stops) if stops else None
    if reason is None and matched is not None and not called:
        return {"stop_reason": "stop_sequence", "stop_sequence": matched}
    return {"stop_reason": reason or ("tool_use" if called else "end_turn"), "stop_sequence": None}


def _matched(choice: JsonObject, stops: Collection[str]) -> str | None:
    """vLLM and SGLang name the sequence, each in its own member; a number there is an ordinary end."""
    said = (text_of(choice.get(name)) for name in ("stop_reason", "matched_stop"))
    return next((word for word in said if word and word in stops), None)
