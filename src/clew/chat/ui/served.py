"""What a front end posts to an app of one's own: what is said, what was decided, and where it goes on."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct

from clew.chat.agent.approval import Decision
from clew.chat.ui.approvals import decisions_in
from clew.chat.ui.requests import parts_in, user_content
from clew.errors import RequestInvalid
from clew.model.json import JsonObject, JsonValue

__all__ = ["UiAsked", "ui_asked"]

_WHOLE_ID: Final = re.compile(r"[0-9a-f]{22}")
"""As `new_id` makes them: half of it is chance."""


class UiAsked(Struct, frozen=True, kw_only=True):
    """A request of `useChat`, as an agent can take it. Either there is `content`, or there are `decisions`.

    >>> UiAsked(thread="t1", decisions={"call_1": True}).decisions
    {'call_1': True}
    """

    content: list[JsonObject] = []
    """What the user says, as blocks."""
    decisions: Mapping[str, Decision] = {}
    """What the user decided about calls that waited, by their ids."""
    thread: str = ""
    """The thread of the last answer, as `ui_stream` told it; "" for a new one."""
    message: str = ""
    """The message that the answer goes on with, where it does."""


def ui_asked(body: JsonValue) -> UiAsked:
    """Read the JSON that `DefaultChatTransport` posts. Raises RequestInvalid.

    The thread is what the front end says it is, and whole: how an id begins is not enough, since anybody could try that.
    Whether it is this user's is for the app to know.

    >>> said = {"role": "user", "parts": [{"type": "text", "text": "Hello"}]}
    >>> ui_asked({"id": "chat", "messages": [said], "trigger": "submit-message"}).content
    [{'type': 'text', 'text': 'Hello'}]
    """
    messages = _messages(body)
    last, thread = messages[-1], _thread(messages)
    if thread and not _WHOLE_ID.fullmatch(thread):
        raise RequestInvalid("the last answer names no thread that there can be", path="messages")
    if last.get("role") == "user":
        return UiAsked(content=user_content(last), thread=thread)
    answered = (part for part in parts_in(last) if part.get("state") == "approval-responded")
    decisions = {id: decision for part in answered for id, decision in decisions_in(part).items()}
    if not decisions:
        raise RequestInvalid("the last message is an answer, and nothing in it was decided", path="messages")
    return UiAsked(decisions=decisions, thread=thread, message=str(last.get("id") or ""))


def _messages(body: JsonValue) -> Sequence[JsonObject]:
    given = body.get("messages") if isinstance(body, dict) else None
    messages = [message for message in given if isinstance(message, dict)] if isinstance(given, list) else []
    if not messages:
        raise RequestInvalid("there is no message to answer", path="messages")
    return messages


def _thread(messages: Sequence[JsonObject]) -> str:
    """The newest answer that names one."""
    for message in reversed(messages):
        metadata = message.get("metadata")
        thread = metadata.get("thread") if isinstance(metadata, dict) else None
        if isinstance(thread, str) and message.get("role") == "assistant":
            return thread
    return ""
