"""The messages of a request as items, one after the other.

What a message becomes depends on that message and on those before it, so a conversation that goes on is a list that goes on:
the backend's prefix cache holds. Within an answer the items stand in the order in which the model said them. Items that are
made here have no ids: those are for what the server keeps, and a made-up one may have the wrong form.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from clew.dialects.openai.fields import OBJECT, STRING, RawMessage, RawObject, RequestChanges, decode, invalid
from clew.dialects.openai.parameters import tool_name
from clew.dialects.openai.parts import AS_USER, Part, as_user_text, text_blocks
from clew.dialects.openai_responses.detail import ClientItem, ClientTool, Taker
from clew.dialects.openai_responses.options import ResponsesOptions
from clew.dialects.openai_responses.request_answer_items import AnswerItems, ThoughtWriter, message_item
from clew.dialects.openai_responses.request_client_items import MessageItems
from clew.dialects.openai_responses.request_parts import InputPartWriter, sent_id
from clew.errors import RequestInvalid
from clew.model.blocks import THINKING_TYPES
from clew.model.json import JsonObject

EMPTY = "the message is empty"
SERVER_SIDE = "only its own vendor can read this block"
RESULTS_FIRST = "tool outputs must come before the user's text"
NOT_KNOWN = "this backend does not know this kind of item"

_KNOWN: Final = {"text": frozenset({"type", "text"}), "tool_use": frozenset({"type", "id", "name", "input"})}


class InputItemWriter:
    """Takes the messages in their order."""

    def __init__(self, options: ResponsesOptions, changes: RequestChanges, tools: Mapping[str, ClientTool]) -> None:
        self.items: list[object] = []
        self.lost = False
        """A call has no reasoning, and this backend then wants thinking off."""
        self._options = options
        self._changes = changes
        self._tools = tools
        """The client's own tools, where they go to the backend as it offers them."""
        self._content = InputPartWriter(options, changes)
        self._thoughts = ThoughtWriter(options, changes)
        self._customs: set[str] = set()

    def take(self, message: RawMessage, own: MessageItems) -> None:
        """Raises RequestInvalid, Unrepresentable."""
        match message.role:
            case "assistant":
                self._answer(message, own)
            case "system":
                if 0 in own.by_block and own.by_block[0].more == len(message.blocks) - 1:
                    self.items.append(own.by_block[0].raw)
                elif message.blocks or not own.between:
                    self.say_system(list(message.blocks), self._options.late_system, message.path)
                self.keep([item for items in own.between.values() for item in items])
            case "user":
                self._user(message, own)
            case _:
                raise invalid(f"{message.path}.role", "Input should be 'user' or 'assistant'")

    def say_system(self, blocks: list[RawObject], role: str, path: str) -> None:
        """System text as a message of this role."""
        blocks = text_blocks(blocks, self._changes)
        parts = [part for block in blocks for part in self._content.parts_of(block) if part["text"] != ""]
        if not parts:
            self._changes.leave_out(path, EMPTY)
        elif role == "user":
            self._changes.add(path, "replaced", AS_USER)
            text = as_user_text("\n\n".join(str(part["text"]) for part in parts))
            self.items.append(message_item("user", [{"type": "input_text", "text": text}]))
        else:
            self.items.append(message_item(role, parts))

    def keep(self, items: Iterable[ClientItem]) -> None:
        """Items that the canonical request has no place for."""
        for item in items:
            kind = RawObject(item.path, decode(item.raw, OBJECT, item.path)).type
            known = {"additional_tools": self._options.namespaces, "message": True, "": True}
            if known.get(kind, self._options.own_items):
                self.items.append(item.raw)
            elif kind != "additional_tools":  # those are among the tools
                self._changes.leave_out(item.path, NOT_KNOWN)

    # What users say.

    def _user(self, message: RawMessage, own: MessageItems) -> None:
        parts: list[Part] = []
        begun, skip = len(self.items), 0
        for at, block in enumerate(message.blocks):
            self.keep(own.between.get(at, []))
            if skip:
                skip -= 1
            elif at in own.by_block and self.may_pass(own.by_block[at].takes):
                self._say(parts)
                self.items.append(own.by_block[at].raw)
                skip = own.by_block[at].more
            elif block.type == "tool_result":
                if parts:
                    self._changes.add(block.path, "moved", RESULTS_FIRST)
                parts += self._output(block)
            else:
                parts += self._content.parts_of(block)
        self._say(parts)
        if len(self.items) == begun:
            self._changes.leave_out(message.path, EMPTY)
        self.keep(own.between.get(len(message.blocks), []))

    def _say(self, parts: list[Part]) -> None:
        said = [part for part in parts if part.get("text") != ""]
        if said:
            self.items.append(message_item("user", said))
        parts.clear()

    def _output(self, block: RawObject) -> list[Part]:
        """Adds the output; the parts that have to follow it."""
        given = block.string("tool_use_id")
        call = sent_id(given, f"{block.path}.tool_use_id", self._changes)
        written = self._content.output_of(block, call)
        kind = "custom_tool_call_output" if given in self._customs else "function_call_output"
        self.items.append({"type": kind, "call_id": call, "output": written.output})
        return written.after

    # What the model said.

    def _answer(self, message: RawMessage, own: MessageItems) -> None:
        last_call = max((at for at, block in enumerate(message.blocks) if block.type == "tool_use"), default=-1)
        answer = AnswerItems(self._options.phases, self.items, last_call)
        skip = 0
        for at, block in enumerate(message.blocks):
            self._keep_in(answer, own.between.get(at, []))
            if skip:
                skip -= 1
            elif block.type in THINKING_TYPES:
                answer.think(*self._thoughts.write(block, own.by_block.get(at)), block.path)
            elif at in own.by_block and self.may_pass(own.by_block[at].takes):
                if block.type == "tool_use" and self._tool(block).kind == "custom":
                    self._customs.add(block.string("id"))
                answer.add(own.by_block[at].raw, is_call=block.type == "tool_use")
                skip = own.by_block[at].more
            elif block.type == "text":
                self._changes.leave_out_unknown(block.path, block.fields, _KNOWN["text"])
                answer.say(block.string("text"), at)
            elif block.type == "tool_use":
                self._changes.leave_out_unknown(block.path, block.fields, _KNOWN["tool_use"])
                answer.add(self._call(block), is_call=True)
            else:
                self._changes.leave_out(block.path, SERVER_SIDE)
        self._keep_in(answer, own.between.get(len(message.blocks), []))
        for path in answer.end():
            self._thoughts.leave_out_alone(path)
        self._fill(answer, message.path)

    def _keep_in(self, answer: AnswerItems, items: Sequence[ClientItem]) -> None:
        if items:
            answer.flush()
            self.keep(items)

    def _fill(self, answer: AnswerItems, path: str) -> None:
        """What stands for reasoning that is not there, where the backend needs some."""
        if answer.has_thought or not (answer.has_call or self._options.missing_on == "all") or answer.is_empty:
            return
        if self._options.missing == "off":
            self.lost = self.lost or answer.has_call
        elif (item := self._thoughts.filled(path)) is not None:
            self.items.insert(answer.start, item)

    def _tool(self, block: RawObject) -> ClientTool:
        return self._tools.get(block.string("name")) or ClientTool()

    def _call(self, block: RawObject) -> JsonObject:
        call = sent_id(block.string("id"), f"{block.path}.id", self._changes)
        tool = self._tool(block)
        space: JsonObject = {"namespace": tool.namespace} if tool.namespace else {}
        if tool.kind == "custom":
            self._customs.add(block.string("id"))
            text = _custom_input(block)
            return {"type": "custom_tool_call", "call_id": call, "name": tool.name, **space, "input": text}
        name = tool.name or tool_name(block.string("name"), f"{block.path}.name", self._changes)
        return {"type": "function_call", "call_id": call, "name": name, **space, "arguments": _arguments(block)}

    def may_pass(self, takes: Taker) -> bool:
        """Whether the backend takes such an item of the client's as it is."""
        match takes:
            case "all":
                return True
            case "own items":
                return self._options.own_items
            case "tools as offered":
                return bool(self._tools)
            case _:
                return False


def _arguments(block: RawObject) -> str:
    """JSON text without white space: two spellings of one input are one text, and no number is read and written again."""
    try:
        return msgspec.json.format(bytes(block.fields.get("input", b"{}")), indent=-1).decode()
    except UnicodeDecodeError as error:
        raise RequestInvalid(f"{block.path}.input: {error}", path=f"{block.path}.input") from None


def _custom_input(block: RawObject) -> str:
    """The text of a custom tool's call; the whole input where a model gave it another form."""
    try:
        given = block.object("input")
        text = given.value("input", STRING) if given.fields.keys() == {"input"} else None
    except RequestInvalid:
        text = None
    return _arguments(block) if text is None else text
