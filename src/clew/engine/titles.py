"""Whether a client asks for a title of a conversation. Such a request is answered like any other, and is no conversation."""

from __future__ import annotations

import msgspec
from msgspec import UNSET, Struct

from clew.exchange.call import Call
from clew.model.facts.shapes import TitleRequest, title_requests
from clew.model.json import JsonValue
from clew.model.request import Body
from clew.thinking.keys import question_content


def asks_for_title(call: Call, body: Body) -> bool:
    if call.kind != "messages" or call.entry is not None:
        return False
    agent = call.headers.get("user-agent", "")
    rows = [row for row in title_requests() if agent.startswith(row.agent)]
    return bool(rows) and _has_no_tools(body) and any(_fits(row, body) for row in rows)


def _has_no_tools(body: Body) -> bool:
    return body.tools is UNSET or bytes(body.tools) == b"[]"


def _fits(row: TitleRequest, body: Body) -> bool:
    if row.fields and _fields_of(body) != row.fields:
        return False
    return not row.begins or _first_words(body).startswith(row.begins)


class _Schema(Struct, frozen=True):
    properties: dict[str, JsonValue] = {}


class _Format(Struct, frozen=True):
    schema: _Schema = _Schema()


class _Output(Struct, frozen=True):
    format: _Format | None = None


def _fields_of(body: Body) -> frozenset[str]:
    """What the answer must be an object of."""
    if body.output_config is UNSET:
        return frozenset()
    try:
        wanted = msgspec.json.decode(body.output_config, type=_Output).format
    except (msgspec.MsgspecError, RecursionError):
        return frozenset()
    return frozenset(wanted.schema.properties) if wanted else frozenset()


def _first_words(body: Body) -> str:
    texts = question_content(message.content for message in body.messages[:1]).texts
    return texts[0] if texts else ""
