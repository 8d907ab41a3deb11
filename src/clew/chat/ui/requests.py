"""Requests of a chat front end: UI messages as the messages that an API takes.

A part of a front end can be a call and its result at once: it is split. Then the three transforms of `clew.pipeline.ui` run
in their order, on copies, and the remaining parts become blocks. The front end's messages are never changed, and never
stored in place of what a model said.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final
from urllib.parse import unquote_to_bytes

from msgspec import Struct

from clew.chat.agent.tools import Decision
from clew.chat.messages import Output, objects_from, result_block
from clew.chat.ui.parts import decisions_in, summary_text
from clew.errors import RequestInvalid
from clew.model.json import JsonObject, JsonValue
from clew.pipeline.ui import for_api

_DENIED: Final = "The user did not allow this call."
_STEP: Final = "step-start"
_NOT_SENT: Final = (_STEP, "source-url", "source-document")
_PICTURES: Final = ("image/png", "image/jpeg", "image/gif", "image/webp", "image/*")
_THREAD_ID: Final = re.compile(r"[0-9a-f]{22}")
"""A whole id, as `new_id` makes it: half of it is random."""


# A request to an app


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
    """The thread of the last answer, as `ui_stream` sent it; "" for a new one."""
    message: str = ""
    """The message that the answer continues, if it does."""


def ui_asked(body: JsonValue) -> UiAsked:
    """Read the JSON that `DefaultChatTransport` posts. Raises RequestInvalid.

    The thread is what the front end says, and must be a whole id: the beginning of an id could be guessed. Whether the
    thread belongs to this user is for the app to check.

    >>> said = {"role": "user", "parts": [{"type": "text", "text": "Hello"}]}
    >>> ui_asked({"id": "chat", "messages": [said], "trigger": "submit-message"}).content
    [{'type': 'text', 'text': 'Hello'}]
    """
    messages = objects_from(body.get("messages") if isinstance(body, dict) else None)
    if not messages:
        raise RequestInvalid("there is no message to answer", path="messages")
    last = messages[-1]
    answers = [message for message in messages if message.get("role") == "assistant"]
    metadata = [given for message in reversed(answers) if isinstance(given := message.get("metadata"), dict)]
    thread = next((named for each in metadata if isinstance(named := each.get("thread"), str)), "")
    if thread and not _THREAD_ID.fullmatch(thread):
        raise RequestInvalid("the last answer names no thread that there can be", path="messages")
    if last.get("role") == "user":
        return UiAsked(content=user_content(last), thread=thread)
    answered = (part for part in _parts_in(last) if part.get("state") == "approval-responded")
    decisions = {id: decision for part in answered for id, decision in decisions_in(part).items()}
    if not decisions:
        raise RequestInvalid("the last message is an answer, and nothing in it was decided", path="messages")
    return UiAsked(decisions=decisions, thread=thread, message=str(last.get("id") or ""))


# Messages and their parts


def api_messages(messages: Sequence[JsonObject]) -> list[JsonObject]:
    """UI messages as the Messages API takes them, without system messages. Raises RequestInvalid for unknown parts.

    >>> api_messages([{"id": "1", "role": "user", "parts": [{"type": "text", "text": "Hello"}]}])
    [{'role': 'user', 'content': [{'type': 'text', 'text': 'Hello'}]}]
    """
    ready = for_api([_split_calls(message) for message in messages], accepts=bool).messages
    read: list[JsonObject] = [{"role": message["role"], "content": [*map(_block, _parts_in(message))]} for message in ready]
    return [message for message in read if message["content"]]


def system_of(messages: Sequence[JsonObject]) -> str:
    """The texts of the system messages, which are no part of the conversation."""
    parts = [part for message in messages if message.get("role") == "system" for part in _parts_in(message)]
    texts = [part.get("text") for part in parts if part.get("type") == "text"]
    return "\n\n".join(text for text in texts if isinstance(text, str) and text)


def user_content(message: JsonObject) -> list[JsonObject]:
    """The blocks of the user's message. Raises RequestInvalid if there are none, or one cannot be sent."""
    blocks = [_block(part) for part in _parts_in(message) if _is_sent(part)]
    if not blocks:
        raise RequestInvalid("the user's message says nothing: it has no text and no file", path="messages")
    return blocks


def outputs_of(message: JsonObject) -> Mapping[str, Output]:
    """The outputs of the calls in an assistant's UI message, by the ids of the calls."""
    return {str(part["toolCallId"]): output for part in _parts_in(message) if _is_tool(part) for output in _outputs(part)}


def _parts_in(message: JsonObject) -> list[JsonObject]:
    return objects_from(message.get("parts"))


def _split_calls(message: JsonObject) -> JsonObject:
    """The message with calls and results as parts of their own. The calls of a step were made at once, so their results come
    after the step; without marked steps, after the calls that stand together."""
    given = _parts_in(message)
    has_steps = any(part.get("type") == _STEP for part in given)
    parts: list[JsonValue] = []
    results: list[JsonValue] = []
    for part in given:
        if part.get("type") == _STEP or (not has_steps and not _is_tool(part)):
            parts, results = [*parts, *results], []
        if _is_tool(part):
            call = str(part["toolCallId"])
            name = str(part.get("toolName") or str(part["type"]).removeprefix("tool-"))
            parts.append({"type": "tool-call", "toolCallId": call, "toolName": name, "input": part.get("input")})
            for output in _outputs(part):
                results.append({"type": "tool-result", "toolCallId": call, "block": result_block(call, output)})
        elif _is_sent(part):
            parts.append(part)
    return {**message, "parts": [*parts, *results]}


class _ToolFailed(Exception):
    """The text of a tool that failed."""


def _outputs(part: JsonObject) -> Iterator[Output]:
    """The output of a call, if there is one yet."""
    given = part.get("approval")
    approval: JsonObject = given if isinstance(given, dict) else {}
    state = part.get("state")
    if state == "output-available":
        yield part.get("output")
    elif state == "output-error":
        yield _ToolFailed(str(part.get("errorText") or "The tool failed."))
    elif state == "output-denied" or (state == "approval-responded" and approval.get("approved") is False):
        reason = approval.get("reason")
        yield _ToolFailed(f"{_DENIED} {reason}" if isinstance(reason, str) and reason else _DENIED)


def _block(part: JsonObject) -> JsonObject:
    match part:
        case {"type": "text", "text": str(text)}:
            return {"type": "text", "text": text}
        case {"type": "file"}:
            return file_block(part)
        case {"type": "data-compaction"}:
            return {"type": "text", "text": summary_text(part)}
        case {"type": "thinking", "thinking": str(text), "signature": str(signature)}:
            return {"type": "thinking", "thinking": text, "signature": signature}
        case {"type": "redacted_thinking", "data": str(data)}:
            return {"type": "redacted_thinking", "data": data}
        case {"type": "tool-call", "toolCallId": id, "toolName": name, "input": given}:
            return {"type": "tool_use", "id": id, "name": name, "input": given if isinstance(given, dict) else {}}
        case {"type": "tool-result", "block": dict(block)}:
            return block
        case _:
            kind = str(part.get("type"))[:50]
            raise RequestInvalid(f"a part of type {kind!r} cannot be sent to a model", path="messages")


def _is_tool(part: JsonObject) -> bool:
    kind = part.get("type")
    known = isinstance(kind, str) and (kind == "dynamic-tool" or kind.startswith("tool-"))
    return known and isinstance(part.get("toolCallId"), str)


def _is_sent(part: JsonObject) -> bool:
    """Is this part for the model, and not only for the front end? A summary is: it replaces earlier messages."""
    kind = str(part.get("type"))
    is_empty = kind == "text" and not part.get("text")
    return bool(summary_text(part)) or not (kind in _NOT_SENT or kind.startswith("data-") or is_empty)


# Files


def file_block(part: JsonObject) -> JsonObject:
    """The block of a file: a picture, a PDF or plain text, as data or by an address, which clew does not fetch.

    Raises RequestInvalid for a type that models do not take.

    >>> file_block({"type": "file", "mediaType": "image/png", "url": "https://example.org/a.png"})
    {'type': 'image', 'source': {'type': 'url', 'url': 'https://example.org/a.png'}}
    """
    kind, url = str(part.get("mediaType") or ""), str(part.get("url") or "")
    if not url.startswith("data:"):
        if not url.startswith(("https://", "http://")):
            raise RequestInvalid("a file needs a url: a data URL, or an address that the vendor can fetch", path="messages")
        return {"type": _file_type(kind), "source": {"type": "url", "url": url}}
    kind = kind or url[5:].partition(";")[0].partition(",")[0]
    head, _, encoded = url.partition(",")
    try:
        data = base64.b64decode(encoded, validate=True) if head.endswith(";base64") else unquote_to_bytes(encoded)
    except (binascii.Error, ValueError):
        raise RequestInvalid("a file's data URL is not base64", path="messages") from None
    if kind.startswith("text/"):
        text = data.decode("utf-8", "replace")
        return {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": text}}
    source: JsonObject = {"type": "base64", "media_type": kind, "data": base64.b64encode(data).decode("ascii")}
    return {"type": _file_type(kind), "source": source}


def _file_type(kind: str) -> str:
    if kind in _PICTURES:
        return "image"
    if kind == "application/pdf":
        return "document"
    raise RequestInvalid(f"a file of type {kind[:50]!r} cannot be sent: PNG, JPEG, GIF, WebP, PDF or text", path="messages")
