"""The items of a client's input as canonical messages.

What a model said stands there as many items: thoughts, messages, calls. Neighbours of that kind are one answer. Outputs of
tools go into the user message right after the answer that called, wherever they stand: other messages may stand between the
two here, and nowhere else. System and developer messages at the front are the system prompt; later ones stay in place, since
moving them would alter what stands before a thought. What only this dialect has becomes no block, and is kept as the item
that it is (`ResponsesDetail.items`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from msgspec import Raw

from clew.dialects.openai.fields import Canonical, RawObject, RequestChanges, invalid
from clew.dialects.openai.parameters import LONGEST_ID, is_legal_name
from clew.dialects.openai_responses.detail import SYSTEM, ClientItem, Taker
from clew.dialects.openai_responses.item_parts import (
    call_block,
    call_id,
    content_blocks,
    effort_of,
    thinking_block,
)
from clew.dialects.openai_responses.tools import ToolNames

MOVED = "an output must come directly after the answer with its call"
NOTHING = "it has nothing that can be passed on"
ONLY_HERE = "only OpenAI's models can read this"
FORMAT = "the format of the answer is set for the whole request"

_OF_ALL: Final = frozenset({"type", "id", "status"})
_OUTPUT: Final = _OF_ALL | {"call_id", "output", "name", "namespace"}
_SUMMARY: Final = _OF_ALL | {"encrypted_content"}
_MEMBERS: Final[Mapping[str, frozenset[str]]] = {
    "message": _OF_ALL | {"role", "content", "phase"},
    "reasoning": _OF_ALL | {"summary", "content", "encrypted_content", "format", "signature"},
    "function_call": _OF_ALL | {"call_id", "name", "namespace", "arguments"},
    "custom_tool_call": _OF_ALL | {"call_id", "name", "namespace", "input"},
    "function_call_output": _OUTPUT,
    "custom_tool_call_output": _OUTPUT,
    "additional_tools": _OF_ALL | {"role", "tools"},
    "configuration_update": _OF_ALL | {"reasoning", "text"},
    "agent_message": _OF_ALL | {"content"},
    "compaction": _SUMMARY,
    "compaction_summary": _SUMMARY,
    "context_compaction": _SUMMARY,
}
"""What is read of an item by its type, and what is the vendor's own bookkeeping. (A phase is kept in the recording.)"""
_CUSTOM: Final = frozenset({"custom_tool_call", "custom_tool_call_output"})
_ROLES: Final = "system, developer, user or assistant"
_SYSTEM: Final = ("system", "developer")


class _Message:
    """A canonical message that is being made, with the items that it is made of."""

    __slots__ = ("blocks", "config", "items", "results", "role")

    def __init__(self, role: str) -> None:
        self.role = role
        self.blocks: list[Canonical] = []
        self.items: list[ClientItem] = []
        self.config: Canonical = {}
        self.results: _Message | None = None

    def add(self, item: RawObject, raw: Raw, blocks: list[Canonical], takes: Taker = "all") -> None:
        self.items.append(ClientItem(raw, item.path, len(self.blocks), len(blocks), takes))
        self.blocks += blocks

    def document(self) -> Canonical:
        config = {"output_config": self.config} if self.config else {}
        return {"role": self.role, "content": self.blocks, **config}


def is_reference(item: RawObject) -> bool:
    """Whether it only names an item. The type may be left out where there is nothing but the id."""
    return item.type == "item_reference" or (
        item.fields.keys() <= {"id", "type"} and bool(item.string("id")) and not item.type
    )


class ItemReader:
    """Takes the items in their order."""

    def __init__(self, names: ToolNames, changes: RequestChanges, opened: Mapping[str, str]) -> None:
        self._names = names
        self._changes = changes
        self._opened = opened
        self._prompt = _Message("system")
        self._messages: list[_Message] = []
        self._callers: dict[str, _Message] = {}
        self._handlers: Mapping[str, Callable[[RawObject, Raw], None]] = {
            "message": self._message,
            "reasoning": self._reasoning,
            "function_call": self._call,
            "custom_tool_call": self._call,
            "function_call_output": self._output,
            "custom_tool_call_output": self._output,
            "additional_tools": self._add_tools,
            "configuration_update": self._configuration,
            "agent_message": self._agent_message,
            "compaction": self._compaction,
            "compaction_summary": self._compaction,
            "context_compaction": self._compaction,
            "item_reference": self._refer,
            "compaction_trigger": self._trigger,
        }

    def begin(self, instructions: str) -> None:
        if instructions:
            self._prompt.blocks.append({"type": "text", "text": instructions})

    def take(self, item: RawObject, raw: Raw) -> None:
        """Raises RequestInvalid with the path of what cannot be passed on."""
        kind = item.type or ("message" if "role" in item.fields else "item_reference" if is_reference(item) else "")
        if not kind:
            raise invalid(f"{item.path}.type", "Field required")
        self._handlers.get(kind, self._keep)(item, raw)
        if known := _MEMBERS.get(kind):
            self._changes.leave_out_others(item, known)

    def messages(self) -> list[Canonical]:
        return [each.document() for each in self._in_order()]

    def prompt(self) -> list[Canonical]:
        return self._prompt.blocks

    def items(self) -> dict[int, tuple[ClientItem, ...]]:
        found = {index: tuple(each.items) for index, each in enumerate(self._in_order()) if each.items}
        return {SYSTEM: tuple(self._prompt.items), **found}

    def _in_order(self) -> list[_Message]:
        """The messages, each answer followed by the outputs of its calls."""
        pairs = ([each, each.results] if each.results else [each] for each in self._messages)
        return [each for pair in pairs for each in pair]

    def _last(self) -> _Message:
        """The message that an item belongs to that is none itself."""
        if not self._messages:
            return self._prompt
        last = self._messages[-1]
        return last.results or last

    def _answer(self) -> _Message:
        """The answer that goes on; a new one behind anything else."""
        if self._messages and self._messages[-1].role == "assistant" and self._messages[-1].results is None:
            return self._messages[-1]
        return self._new("assistant")

    def _new(self, role: str) -> _Message:
        self._messages.append(_Message(role))
        return self._messages[-1]

    # What becomes of an item, by its type.

    def _message(self, item: RawObject, raw: Raw) -> None:
        role = item.string("role")
        if role not in ("user", "assistant", *_SYSTEM):
            raise invalid(f"{item.path}.role", f"there is no role {role!r}: it is {_ROLES}")
        blocks = content_blocks(item, "content", self._changes)
        if role == "assistant":
            self._answer().add(item, raw, blocks)
        elif role == "user":
            self._new("user").add(item, raw, blocks)
        elif self._messages:
            self._new("system").add(item, raw, blocks)
        else:
            self._prompt.add(item, raw, blocks)

    def _reasoning(self, item: RawObject, raw: Raw) -> None:
        block = thinking_block(item)
        if block is None:
            self._changes.leave_out_thought(item.path, NOTHING)
            return
        self._answer().add(item, raw, [block])

    def _call(self, item: RawObject, raw: Raw) -> None:
        answer = self._answer()
        block = call_block(item, self._names, self._changes)
        self._callers[str(block["id"])] = answer
        answer.add(item, raw, [block], _taker_of_call(item))

    def _output(self, item: RawObject, raw: Raw) -> None:
        called = call_id(item, self._changes)
        blocks = content_blocks(item, "output", self._changes)
        result: Canonical = {"type": "tool_result", "tool_use_id": called, "content": blocks}
        caller = self._callers.get(called)
        if caller is None:  # it answers nothing, and the projection says what becomes of it
            last = self._last()
            holder = last if last.role == "user" and last.blocks and last.blocks[-1]["type"] == "tool_result" else None
            (holder or self._new("user")).add(item, raw, [result], _taker_of_call(item))
            return
        if caller is not self._messages[-1]:
            self._changes.add_to_group("output", item.path, "moved", MOVED)
        caller.results = caller.results or _Message("user")
        caller.results.add(item, raw, [result], _taker_of_call(item))

    def _agent_message(self, item: RawObject, raw: Raw) -> None:
        """What one agent says to another is what a user says."""
        self._new("user").add(item, raw, content_blocks(item, "content", self._changes), "own items")

    def _configuration(self, item: RawObject, raw: Raw) -> None:
        if item.object("text").fields:
            self._changes.leave_out(f"{item.path}.text", FORMAT)
        if effort := effort_of(item):
            update = self._new("system")
            update.config = {"effort": effort}
            update.add(item, raw, [])

    def _compaction(self, item: RawObject, raw: Raw) -> None:
        """A summary under clew's seal is a user's text; any other is for its maker alone."""
        text = self._opened.get(item.string("encrypted_content"))
        if text is None:
            self._keep(item, raw)
        else:
            self._new("user").blocks.append({"type": "text", "text": text})

    def _add_tools(self, item: RawObject, raw: Raw) -> None:
        """They are among the tools of the request."""
        self._last().add(item, raw, [])

    def _refer(self, item: RawObject, raw: Raw) -> None:
        raise invalid(item.path, f"Item with id '{item.string('id')}' not found.")

    def _trigger(self, item: RawObject, raw: Raw) -> None:
        raise invalid(item.path, "a compaction_trigger must be the last item of the input")

    def _keep(self, item: RawObject, raw: Raw) -> None:
        self._changes.leave_out(item.path, ONLY_HERE)
        self._last().add(item, raw, [])


def _taker_of_call(item: RawObject) -> Taker:
    """Who takes this call of a tool, or its output, as it is."""
    if len(item.string("call_id")) > LONGEST_ID or not is_legal_name(item.string("name")):
        return "none"
    return "tools as offered" if item.type in _CUSTOM or item.string("namespace") else "all"
