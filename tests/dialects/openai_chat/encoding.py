"""Short words for the tests of the request side: encode, and look at one part of what comes out."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from clew.dialects.openai_chat.options import ChatOptions, ChatRequestOptions
from clew.dialects.openai_chat.repairs import REPAIRS
from clew.dialects.openai_chat.requests import write_request
from clew.model.change import Change
from clew.model.request import Request
from tests.build import Json, request

__all__ = ["Repaired", "body", "changes", "messages", "repaired", "told"]


def body(asked: Request, **wire: Any) -> Json:
    return json.loads(write_request(asked, ChatOptions(ChatRequestOptions(**wire))).body)


def messages(*said: Json, **wire: Any) -> list[Json]:
    return body(request(*said), **wire)["messages"]


def changes(asked: Request, **wire: Any) -> tuple[Change, ...]:
    return write_request(asked, ChatOptions(ChatRequestOptions(**wire))).changes


def told(asked: Request, **wire: Any) -> list[tuple[str, str]]:
    """Where, and what: the changes without their reasons."""
    return [(change.path, change.what) for change in changes(asked, **wire)]


class Repaired(NamedTuple):
    """A repair, with the options of the request alone."""

    name: str
    options: ChatRequestOptions
    why: str


def repaired(options: ChatRequestOptions, status: int, words: str, tried: Sequence[str] = ()) -> Repaired | None:
    """What is tried after this refusal."""
    found = REPAIRS.repair(ChatOptions(options), status, words, tried)
    if found is None:
        return None
    assert isinstance(found.options, ChatOptions)
    return Repaired(found.name, found.options.request, found.why)
