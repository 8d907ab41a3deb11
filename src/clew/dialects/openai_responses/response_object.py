"""The response object: what a client gets in one piece, and what the events at both ends of a stream hold.

It repeats the fields of the request. Its id, and those of its items, are made of the exchange's: the same in every event, in
every attempt to answer, and when the answer is asked for later.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec
from msgspec import Raw

from clew.dialects.openai_responses.detail import detail_of
from clew.dialects.shape import AnswerContext
from clew.model.json import JsonObject, JsonValue

_NULL: Final = b"null"
_REPEATED: Final = {
    "instructions": _NULL,
    "max_output_tokens": _NULL,
    "metadata": b"{}",
    "parallel_tool_calls": b"true",
    "previous_response_id": _NULL,
    "prompt_cache_key": _NULL,
    "reasoning": b'{"effort":null,"summary":null}',
    "safety_identifier": _NULL,
    "store": b"true",
    "temperature": b"1.0",
    "text": b'{"format":{"type":"text"}}',
    "tool_choice": b'"auto"',
    "tools": b"[]",
    "top_p": b"1.0",
    "truncation": b'"disabled"',
    "user": _NULL,
}
"""The fields of a request that its response repeats, each with its value where the request has none."""


def exchange_of(context: AnswerContext) -> str:
    """What the ids of an answer are made of."""
    return context.message_id.removeprefix("msg_")


def response_object(
    context: AnswerContext, status: str, output: Sequence[bytes] = (), usage: JsonObject | None = None, **more: JsonValue
) -> bytes:
    """The response as JSON. `output` are its items as JSON; `more` are fields that only some responses have."""
    if context.operation == "compact":
        # What a client gets that asks for a summary alone
        return msgspec.json.encode(
            {
                "id": f"resp_{exchange_of(context)}",
                "object": "response.compaction",
                "created_at": context.created,
                "output": Raw(b"[%b]" % b",".join(output)),
                "usage": usage,
            }
        )
    fields = detail_of(context.native).fields
    said: dict[str, object] = {
        "id": f"resp_{exchange_of(context)}",
        "object": "response",
        "created_at": context.created,
        "status": status,
        "background": False,
        "error": None,
        "incomplete_details": None,
        "model": context.model,
        "output": Raw(b"[%b]" % b",".join(output)),
        "usage": usage,
    }
    for name, default in _REPEATED.items():
        given = fields.get(name)
        said[name] = Raw(default) if given is None or bytes(given) == _NULL else given
    return msgspec.json.encode(said | more)
