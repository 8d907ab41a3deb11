"""Short words for the tests of the request side: encode, and look at one part of what comes out."""

from __future__ import annotations

import json
from typing import Any

from clew.dialects.openai_chat.request.requests import encode
from clew.dialects.openai_chat.wire import Wire
from clew.model.change import Change
from clew.model.request import Request
from tests.build import Json, request

__all__ = ["body", "changes", "messages", "told"]


def body(asked: Request, **wire: Any) -> Json:
    return json.loads(encode(asked, Wire(**wire)).body)


def messages(*said: Json, **wire: Any) -> list[Json]:
    return body(request(*said), **wire)["messages"]


def changes(asked: Request, **wire: Any) -> tuple[Change, ...]:
    return encode(asked, Wire(**wire)).changes


def told(asked: Request, **wire: Any) -> list[tuple[str, str]]:
    """Where, and what: the changes without their reasons."""
    return [(change.path, change.what) for change in changes(asked, **wire)]
