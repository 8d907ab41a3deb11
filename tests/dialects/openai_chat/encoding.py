"""Short words for the tests of the request side: encode, and look at one part of what comes out."""

from __future__ import annotations

import json
from typing import Any

from clew.dialects.openai_chat.requests import encode
from clew.dialects.openai_chat.wire import Wire
from clew.model.change import Change
from clew.model.request import Request
from tests.build import Json, request

__all__ = ["body", "changes", "messages", "told"]


def body(asked: Request, payloads: Any = None, **wire: Any) -> Json:
    return json.loads(encode(asked, Wire(**wire), payloads or {}).body)


def messages(*said: Json, payloads: Any = None, **wire: Any) -> list[Json]:
    return body(request(*said), payloads, **wire)["messages"]


def changes(asked: Request, payloads: Any = None, **wire: Any) -> tuple[Change, ...]:
    return encode(asked, Wire(**wire), payloads or {}).changes


def told(asked: Request, payloads: Any = None, **wire: Any) -> list[tuple[str, str]]:
    """Where, and what: the changes without their reasons."""
    return [(change.path, change.what) for change in changes(asked, payloads, **wire)]
