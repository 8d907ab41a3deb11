"""Requests of a chat front end: UI messages as the messages that an API takes.

Calls and results become parts of their own (`tool_parts`). Then the three transforms of `clew.pipeline.ui` run in their
order, on copies, and the remaining parts become blocks. The front end's messages are never changed, and never
stored in place of what a model said.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import unquote_to_bytes

from msgspec import Struct

from clew.chat.agent.tools import Decision
from clew.chat.messages import blocks_in, objects_from
from clew.chat.ui.parts import decisions_in, summary_text
from clew.chat.ui.tool_parts import STEP, parts_in, split_tool_parts
from clew.errors import RequestInvalid
from clew.model.json import JsonObject, JsonValue
from clew.pipeline.ui import Conversion, for_api

_ROLES: Final = ("user", "assistant", "system")
_NOT_SENT: Final = (STEP, "source-url", "source-document")
_MODELS_ONLY: Final = {"tool_use": "a tool call", "thinking": "reasoning", "redacted_thinking": "reasoning"}
_PICTURES: Final = ("image/png", "image/jpeg", "image/gif", "image/webp", "image/*")
_MOST_TITLE: Final = 200
_THREAD_ID: Final = re.compile(r"[0-9a-f]{22}")
"""A whole id, as `new_id` makes it: half of it is random."""


# A request to an app


class UiAsked(Struct, frozen=True, kw_only=True):
    """A request of `useChat`, in the form that an agent needs. It has either `content` or `decisions`.

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
    """Read the JSON that `DefaultChatTransport` posts. Raises RequestInvalid if it is not valid.

    The thread is the id that the front end sends. It must be a whole id, because the beginning of an id could be guessed.
    The app must check that the thread belongs to this user.

    >>> said = {"role": "user", "parts": [{"type": "text", "text": "Hello"}]}
    >>> ui_asked({"id": "chat", "messages": [said], "trigger": "submit-message"}).content
    [{'type': 'text', 'text': 'Hello'}]
    """
    messages = objects_from(body.get("messages") if isinstance(body, dict) else None)
    if not messages:
        raise RequestInvalid("there is no message to answer", path="messages")
    last = with_known_role(messages[-1])
    answers = [message for message in messages if message.get("role") == "assistant"]
    metadata = [given for message in reversed(answers) if isinstance(given := message.get("metadata"), dict)]
    thread = next((named for each in metadata if isinstance(named := each.get("thread"), str)), "")
    if thread and not _THREAD_ID.fullmatch(thread):
        raise RequestInvalid("the last answer names no thread that there can be", path="messages")
    if last.get("role") == "user":
        return UiAsked(content=user_content(last), thread=thread)
    answered = (part for part in parts_in(last) if part.get("state") == "approval-responded")
    decisions = {id: decision for part in answered for id, decision in decisions_in(part).items()}
    if not decisions:
        raise RequestInvalid("the last message is an answer, and no call in it was decided", path="messages")
    return UiAsked(decisions=decisions, thread=thread, message=str(last.get("id") or ""))


# Messages and their parts


def api_messages(messages: Sequence[JsonObject], *, mode: Conversion = "signed") -> list[JsonObject]:
    """Convert UI messages to the form of the Messages API, without system messages. The messages are those of the AI SDK, or
    have `tool-call` and `tool-result` parts. Raises RequestInvalid for messages that no model accepts.

    By default reasoning without its maker's signature is left out. With `mode="all"` it is a thinking block with an empty
    signature: to be stored, or for `project`, which decides who gets it.

    >>> call = {"type": "tool-call", "toolCallId": "c1", "toolName": "look", "args": {"at": "sky"}}
    >>> result = {"type": "tool-result", "toolCallId": "c1", "result": "It is blue."}
    >>> for message in api_messages([{"id": "1", "role": "assistant", "parts": [call, result]}]):
    ...     print(message)
    {'role': 'assistant', 'content': [{'type': 'tool_use', 'id': 'c1', 'name': 'look', 'input': {'at': 'sky'}}]}
    {'role': 'user', 'content': [{'type': 'tool_result', 'tool_use_id': 'c1', 'content': 'It is blue.'}]}
    """
    known = [split_tool_parts(with_known_role(message)) for message in messages]
    sent: list[JsonObject] = [{**message, "parts": [*filter(_is_sent, parts_in(message))]} for message in known]
    ready = for_api(sent, accepts=bool, mode=mode).messages
    read: list[JsonObject] = [{"role": message["role"], "content": [*map(_block, parts_in(message))]} for message in ready]
    for block in (block for message in read if message["role"] == "user" for block in blocks_in(message)):
        if what := _MODELS_ONLY.get(str(block["type"])):
            raise RequestInvalid(f"a user message has {what}: only a message of the assistant can have it", path="messages")
    return [message for message in read if message["content"]]


def with_known_role(message: JsonObject) -> JsonObject:
    """The message with a role of the Messages API, or `system`. Tool results can be messages of the role `tool`; the API has
    them in user messages. Raises RequestInvalid for any other role."""
    role = message.get("role")
    if role in _ROLES:
        return message
    if role == "tool":
        return {**message, "role": "user"}
    raise RequestInvalid(
        f"a message has the role {str(role)[:50]!r}: it must be one of {', '.join(_ROLES)}, tool", path="messages"
    )


def system_of(messages: Sequence[JsonObject]) -> str:
    """The texts of the system messages, which are no part of the conversation."""
    parts = [part for message in messages if message.get("role") == "system" for part in parts_in(message)]
    texts = [part.get("text") for part in parts if part.get("type") == "text"]
    return "\n\n".join(text for text in texts if isinstance(text, str) and text)


def user_content(message: JsonObject) -> list[JsonObject]:
    """The blocks of the user's message. Raises RequestInvalid if there are none, or one cannot be sent."""
    blocks = [block for read in api_messages([message]) for block in blocks_in(read)]
    if not blocks:
        raise RequestInvalid("the user's message is empty: it has no text, no file and no tool result", path="messages")
    return blocks


def _is_sent(part: JsonObject) -> bool:
    """Parts for the front end alone are not. A summary is for the model: it replaces earlier messages."""
    kind = str(part.get("type"))
    is_empty = kind == "text" and not part.get("text")
    return bool(summary_text(part)) or not (kind in _NOT_SENT or kind.startswith("data-") or is_empty)


def _block(part: JsonObject) -> JsonObject:
    match part:
        case {"type": "text", "text": str(text)}:
            return {"type": "text", "text": text}
        case {"type": "file"}:
            return file_block(part)
        case {"type": "data-compaction"}:
            return {"type": "text", "text": summary_text(part)}
        case {"type": "thinking"}:
            text, signature = part.get("thinking", part.get("text")), part.get("signature")
            return {"type": "thinking", "thinking": str(text or ""), "signature": str(signature or "")}
        case {"type": "redacted_thinking", "data": str(data)}:
            return {"type": "redacted_thinking", "data": data}
        case {"type": "tool-call", "toolCallId": id, "toolName": name, "input": given}:
            return {"type": "tool_use", "id": id, "name": name, "input": given}
        case {"type": "tool-result", "block": dict(block)}:
            return block
        case _:
            kind = str(part.get("type"))[:50]
            raise RequestInvalid(f"a part of type {kind!r} cannot be sent to a model", path="messages")


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
        source: JsonObject = {"type": "text", "media_type": "text/plain", "data": text}
        return {"type": "document", "source": source, **_title_of(part)}
    source = {"type": "base64", "media_type": kind, "data": base64.b64encode(data).decode("ascii")}
    type = _file_type(kind)
    return {"type": type, "source": source, **(_title_of(part) if type == "document" else {})}


def _title_of(part: JsonObject) -> JsonObject:
    """The file's name, as the title of its document: the model can refer to it."""
    name = part.get("filename")
    return {"title": name[:_MOST_TITLE]} if isinstance(name, str) and name.strip() else {}


def _file_type(kind: str) -> str:
    if kind in _PICTURES:
        return "image"
    if kind == "application/pdf":
        return "document"
    raise RequestInvalid(f"a file of type {kind[:50]!r} cannot be sent: PNG, JPEG, GIF, WebP, PDF or text", path="messages")
