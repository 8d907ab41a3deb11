"""The messages of a client's request as canonical messages.

Leading system and developer messages are the system prompt; later ones stay in place, as messages of role system: moving
them would alter what stands before a thought. Tool messages in a row are one user message with their results. A message of
the assistant has its thoughts first (`carrier`), then its text, then its calls.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import msgspec
from msgspec import Raw

from clew.dialects.openai.fields import OBJECT, OBJECTS, Canonical, RawObject, blocks_in, decode, invalid
from clew.dialects.openai.media import file_document, image_source
from clew.dialects.openai_chat.carrier import thinking_in
from clew.model.json import JsonObject, JsonValue

_SYSTEM: Final = ("system", "developer")
_any: Final[msgspec.json.Decoder[JsonValue]] = msgspec.json.Decoder()


class CanonicalMessages(NamedTuple):
    """The blocks of the system prompt, and the messages."""

    system: list[Canonical]
    messages: list[Canonical]


def read_messages(parameters: RawObject) -> CanonicalMessages:
    """Raises RequestInvalid with the path of what cannot be said."""
    given = parameters.value("messages", OBJECTS)
    if given is None:
        raise invalid("messages", "Field required")
    reader = _MessageReader()
    for index, fields in enumerate(given):
        reader.take(RawObject(f"messages.{index}", fields), index)
    return CanonicalMessages(reader.system, reader.messages)


class _MessageReader:
    """Takes the messages in their order."""

    def __init__(self) -> None:
        self.system: list[Canonical] = []
        self.messages: list[Canonical] = []
        self._results: list[Canonical] | None = None  # of the user message that holds the tool messages so far
        self._legacy_call = ""  # the id that the last `function_call` got: it has none of its own

    def take(self, message: RawObject, index: int) -> None:
        role = message.string("role")
        if role in ("tool", "function"):
            self._take_result(message, role)
            return
        self._results = None
        if role in _SYSTEM:
            blocks = _text_parts(message)
            if self.messages:
                self.messages.append({"role": "system", "content": blocks})
            else:
                self.system += blocks
        elif role == "user":
            parts = blocks_in(message.fields.get("content"), f"{message.path}.content")
            content = [_with_cache_mark(_user_block(part), part) for part in parts]
            self.messages.append({"role": "user", "content": content})
        elif role == "assistant":
            self.messages.append({"role": "assistant", "content": self._answer(message, index)})
        else:
            raise invalid(
                f"{message.path}.role", f"there is no role {role!r}: it is system, developer, user, assistant or tool"
            )

    def _take_result(self, message: RawObject, role: str) -> None:
        call_id = message.string("tool_call_id") if role == "tool" else self._legacy_call
        if not call_id:
            missing = "tool_call_id: Field required" if role == "tool" else "there is no function_call before it"
            raise invalid(message.path, missing)
        if self._results is None:
            self._results = []
            self.messages.append({"role": "user", "content": self._results})
        self._results.append({"type": "tool_result", "tool_use_id": call_id, "content": _text_parts(message)})

    def _answer(self, message: RawObject, index: int) -> list[Canonical]:
        reasoning: JsonObject = {
            name: decode(raw, _any, f"{message.path}.{name}")
            for name in ("reasoning_content", "reasoning", "reasoning_details")
            if (raw := message.fields.get(name)) is not None
        }
        blocks: list[Canonical] = [dict(each) for each in thinking_in(reasoning)]
        blocks += _joined(_text_parts(message))
        if refusal := message.string("refusal"):
            blocks.append({"type": "text", "text": refusal})
        for at, fields in enumerate(message.value("tool_calls", OBJECTS) or []):
            call = RawObject(f"{message.path}.tool_calls.{at}", fields)
            if call.type not in ("", "function"):
                raise invalid(f"{call.path}.type", f"a call of type {call.type!r} cannot be passed on: only functions can")
            if not (call_id := call.string("id")):
                raise invalid(f"{call.path}.id", "Field required")
            blocks.append(_call_block(call_id, call.object("function")))
        legacy = message.object("function_call")
        if legacy.fields:
            self._legacy_call = f"call_{index}"
            blocks.append(_call_block(self._legacy_call, legacy))
        return blocks


def _text_parts(message: RawObject) -> list[Canonical]:
    """The content of a message that holds only text: of the system, of a tool, of the assistant."""
    blocks: list[Canonical] = []
    for part in blocks_in(message.fields.get("content"), f"{message.path}.content"):
        if part.type not in ("text", "refusal"):
            raise invalid(
                part.path, f"a part of type {part.type!r} cannot be in a message of role {message.string('role')!r}"
            )
        blocks.append(_with_cache_mark({"type": "text", "text": part.string(part.type)}, part))
    return blocks


def _joined(texts: list[Canonical]) -> list[Canonical]:
    """The texts of an answer as one, as the client got them: whether it sends a string or parts, it is the same answer. The
    last mark counts."""
    if len(texts) < 2:
        return texts
    marks = [{"cache_control": text["cache_control"]} for text in texts if "cache_control" in text]
    return [{"type": "text", "text": "".join([str(text["text"]) for text in texts]), **(marks[-1] if marks else {})}]


def _with_cache_mark(block: Canonical, part: RawObject) -> Canonical:
    return {**block, "cache_control": part.fields["cache_control"]} if part.value("cache_control", OBJECT) else block


def _user_block(part: RawObject) -> Canonical:
    match part.type:
        case "text":
            return {"type": "text", "text": part.string("text")}
        case "image_url":
            image = part.object("image_url")
            return {"type": "image", "source": image_source(image.string("url"), f"{image.path}.url")}
        case "file":
            return file_document(part.object("file"))
        case kind:
            raise invalid(part.path, f"a part of type {kind!r} cannot be passed on: send text, image_url or file")


def _call_block(call_id: str, function: RawObject) -> Canonical:
    """The arguments as they are written. What is no object is what a model wrote: to refuse it would end the conversation
    for good, so the text is passed on in an object."""
    name, text = function.string("name"), function.string("arguments").strip()
    if not name:
        raise invalid(f"{function.path}.name", "Field required")
    try:
        is_object = not text or isinstance(_any.decode(text), dict)
    except (msgspec.DecodeError, RecursionError):
        is_object = False
    given = Raw(text.encode() or b"{}") if is_object else {"arguments": text}
    return {"type": "tool_use", "id": call_id, "name": name, "input": given}
