"""The messages of a client's request, and their parts, as canonical messages.

Leading system and developer messages are the system prompt; later ones stay in place, as messages of role system: moving
them would alter what stands before a thought. Tool messages in a row are one user message with their results. A message of
the assistant has its thoughts first (`client_parts`), then its text, then its calls.

The older `function_call` has no id. It gets one of its place, so that the call and its result are a pair in the canonical
request, and the same pair in each request of the conversation.
"""

from __future__ import annotations

from typing import Final

import msgspec
from msgspec import Raw

from clew.dialects.openai.fields import (
    OBJECT,
    OBJECTS,
    Canonical,
    RawObject,
    RequestChanges,
    blocks_in,
    check_count,
    decode,
    invalid,
)
from clew.dialects.openai.parameters import legal_id
from clew.dialects.openai.parts import file_document, image_source
from clew.dialects.openai_chat.client_parts import thinking_in
from clew.model.json import JsonObject, JsonValue

_SYSTEM: Final = ("system", "developer")
_REASONING: Final = ("reasoning_content", "reasoning", "reasoning_details")
_KEYS: Final = frozenset(
    {"role", "content", "tool_calls", "tool_call_id", "function_call", "refusal", "parsed", *_REASONING}
)
"""What is read of a message. (`parsed` is the content once more, as the Python SDK puts it there.)"""
_FUNCTION_KEYS: Final = _KEYS | {"name"}
"""Of a function's result, where the name only says once more which call it belongs to."""
_CALL_KEYS: Final = frozenset({"id", "type", "index", "function", "custom"})
_CALLED: Final = frozenset({"name", "arguments", "input", "parsed_arguments"})
"""Of a call's function or custom tool. (`parsed_arguments` are the arguments once more, as the SDKs put them there.)"""
_any: Final[msgspec.json.Decoder[JsonValue]] = msgspec.json.Decoder()


class MessageReader:
    """Takes the messages in their order. `changes` has what the canonical messages cannot hold."""

    def __init__(self, changes: RequestChanges) -> None:
        self.system: list[Canonical] = []
        self.messages: list[Canonical] = []
        self.places: list[list[int]] = []
        """The client's messages that each of these is made of."""
        self._changes = changes
        self._results: list[Canonical] | None = None  # of the user message that holds the tool messages so far
        self._legacy_call = ""  # the id that the last `function_call` got

    def read(self, parameters: RawObject) -> None:
        """Raises RequestInvalid with the path of what cannot be said."""
        given = parameters.value("messages", OBJECTS)
        if given is None:
            raise invalid("messages", "Field required")
        check_count(given, "messages")
        for index, fields in enumerate(given):
            message = RawObject(f"messages.{index}", fields)
            known = _FUNCTION_KEYS if message.string("role") == "function" else _KEYS
            self._changes.leave_out_others(message, known)
            self._take(message, index)
            if len(self.messages) > len(self.places):
                self.places.append([index])
            elif self._results is not None:
                self.places[-1].append(index)

    def _take(self, message: RawObject, index: int) -> None:
        role = message.string("role")
        if role in ("tool", "function"):
            call_id = message.string("tool_call_id") if role == "tool" else self._legacy_call
            if not call_id:
                missing = "tool_call_id: Field required" if role == "tool" else "there is no function_call before it"
                raise invalid(message.path, missing)
            if self._results is None:
                self._results = []
                self.messages.append({"role": "user", "content": self._results})
            call_id = legal_id(call_id, f"{message.path}.tool_call_id", self._changes)
            self._results.append({"type": "tool_result", "tool_use_id": call_id, "content": self._parts(message)})
            return
        self._results = None
        if role in _SYSTEM:
            blocks = self._parts(message, texts_only=True)
            if self.messages:
                self.messages.append({"role": "system", "content": blocks})
            else:
                self.system += blocks
        elif role == "user":
            self.messages.append({"role": "user", "content": self._parts(message)})
        elif role == "assistant":
            self.messages.append({"role": "assistant", "content": self._answer(message, index)})
        else:
            raise invalid(
                f"{message.path}.role", f"there is no role {role!r}: it is system, developer, user, assistant or tool"
            )

    def _parts(self, message: RawObject, *, texts_only: bool = False) -> list[Canonical]:
        """The content of a message, as blocks."""
        blocks: list[Canonical] = []
        for part in blocks_in(message.fields.get("content"), f"{message.path}.content"):
            if texts_only and part.type not in ("text", "refusal"):
                raise invalid(
                    part.path, f"a part of type {part.type!r} cannot be in a message of role {message.string('role')!r}"
                )
            blocks.append(read_part(part, self._changes))
        return blocks

    def _answer(self, message: RawObject, index: int) -> list[Canonical]:
        reasoning: JsonObject = {
            name: decode(raw, _any, f"{message.path}.{name}")
            for name in _REASONING
            if (raw := message.fields.get(name)) is not None
        }
        blocks: list[Canonical] = [dict(each) for each in thinking_in(reasoning)]
        # One text, as the client got it: whether it sends a string or parts, it is the same answer. The last mark counts.
        texts = self._parts(message, texts_only=True)
        if len(texts) > 1:
            marks = [{"cache_control": text["cache_control"]} for text in texts if "cache_control" in text]
            joined = "".join([str(text["text"]) for text in texts])
            texts = [{"type": "text", "text": joined, **(marks[-1] if marks else {})}]
        blocks += texts
        if refusal := message.string("refusal"):
            blocks.append({"type": "text", "text": refusal})
        for at, fields in enumerate(message.value("tool_calls", OBJECTS) or []):
            blocks.append(self._call(RawObject(f"{message.path}.tool_calls.{at}", fields)))
        legacy = message.object("function_call")
        if legacy.fields:
            self._legacy_call = f"call_{index}"
            blocks.append(self._call_block(self._legacy_call, legacy))
        return blocks

    def _call(self, call: RawObject) -> Canonical:
        if not (call_id := call.string("id")):
            raise invalid(f"{call.path}.id", "Field required")
        call_id = legal_id(call_id, f"{call.path}.id", self._changes)
        self._changes.leave_out_others(call, _CALL_KEYS)
        match call.type:
            case "" | "function":
                return self._call_block(call_id, call.object("function"))
            case "custom":
                custom = call.object("custom")
                self._changes.leave_out_others(custom, _CALLED)
                name = _name_of(custom)
                return {"type": "tool_use", "id": call_id, "name": name, "input": {"input": custom.string("input")}}
            case kind:
                raise invalid(f"{call.path}.type", f"a call of type {kind!r} cannot be passed on: only functions can")

    def _call_block(self, call_id: str, function: RawObject) -> Canonical:
        """The arguments as they are written. What is no object is what a model wrote: to refuse it would end the
        conversation for good, so the text is passed on in an object."""
        self._changes.leave_out_others(function, _CALLED)
        name, text = _name_of(function), function.string("arguments").strip()
        try:
            is_object = not text or isinstance(_any.decode(text), dict)
        except (msgspec.DecodeError, RecursionError):
            is_object = False
        given = Raw(text.encode() or b"{}") if is_object else {"arguments": text}
        return {"type": "tool_use", "id": call_id, "name": name, "input": given}


def _name_of(function: RawObject) -> str:
    name = function.string("name")
    if not name:
        raise invalid(f"{function.path}.name", "Field required")
    return name


NO_DETAIL: Final = "the Messages API has no field for the detail of an image"

_MARKS: Final = ("cache_control", "prompt_cache_breakpoint")
_EPHEMERAL: Final[JsonObject] = {"type": "ephemeral"}


def read_part(part: RawObject, changes: RequestChanges) -> Canonical:
    """The block of a part. Raises RequestInvalid."""
    kind = part.type
    changes.leave_out_others(part, {"type", kind, *_MARKS})
    match kind:
        case "text" | "refusal":
            block: Canonical = {"type": "text", "text": part.string(kind)}
        case "image_url":
            image = part.object("image_url")
            changes.leave_out_others(image, {"url", "detail"})
            if image.string("detail") not in ("", "auto"):
                changes.add_to_group("image.detail", f"{image.path}.detail", "left out", NO_DETAIL)
            block = {"type": "image", "source": image_source(image.string("url"), f"{image.path}.url")}
        case "file":
            file = part.object("file")
            block = file_document(file)
            changes.leave_out_others(file, {"file_data", "filename"})
        case _:
            raise invalid(part.path, f"a part of type {kind!r} cannot be passed on: send text, image_url or file")
    if part.value("cache_control", OBJECT):
        return {**block, "cache_control": part.fields["cache_control"]}
    return {**block, "cache_control": _EPHEMERAL} if part.value("prompt_cache_breakpoint", OBJECT) else block
