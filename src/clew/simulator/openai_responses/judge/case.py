"""One request as the checks see it: body, vendor, account, traits, the vendor's memory; and the book of rules.

The items are those of the whole conversation: kept ones of `previous_response_id` first, references replaced by what they
name. Items that were never given to the account are left out here, and refused by `state`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal, TypeAlias

from clew.model.json import JsonObject, JsonValue
from clew.simulator.interfaces import Stance
from clew.simulator.openai_responses.blobs import BlobKey
from clew.simulator.openai_responses.memory import OutputMemory
from clew.simulator.openai_responses.vendors import ResponsesTraits, ResponsesVendor
from clew.simulator.rule_book import RuleBook
from clew.simulator.values import as_dict, as_list, as_str, tokens_of_json

RESPONSES_RULES: Final = RuleBook.read(__package__ or "", "responses")
"""The rules."""
NAME: Final = re.compile(r"[a-zA-Z0-9_-]+")
"""The name of a tool, a call or a format."""
_TOKENS_PER_FILE: Final = 1500
_MOST_QUOTED: Final = 40

CALLS: Final[Mapping[str, str]] = {"function_call": "function call", "custom_tool_call": "custom tool call"}
"""Calls of the client's tools, and what errors call them."""
_MODEL_ITEMS: Final = re.compile(r"reasoning|.*_call|compaction|program|mcp_list_tools|mcp_approval_request")
Path: TypeAlias = Literal["/responses", "/responses/input_tokens", "/responses/compact"]


@dataclass(frozen=True, slots=True)
class PlacedItem:
    """An item of the conversation, and where it is in the request; `kept` items are from the vendor's memory."""

    path: str
    item: JsonObject
    kept: bool = False

    @property
    def kind(self) -> str:
        return kind_of_item(self.item)

    @property
    def id(self) -> str:
        return as_str(self.item.get("id"))

    @property
    def is_models(self) -> bool:
        """Whether the model made it."""
        if self.kind == "message":
            return self.item.get("role") == "assistant"
        return _MODEL_ITEMS.fullmatch(self.kind) is not None


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """A tool of the client's that the model may call."""

    kind: Literal["function", "custom"]
    namespace: str
    name: str
    tool: JsonObject


@dataclass(frozen=True, kw_only=True)
class ResponsesCase:
    """A request as the checks see it."""

    body: JsonObject
    vendor: ResponsesVendor
    stance: Stance
    memory: OutputMemory
    account: str
    path: Path = "/responses"

    @property
    def model(self) -> str:
        return as_str(self.body.get("model"))

    @cached_property
    def traits(self) -> ResponsesTraits:
        return self.vendor.traits_of(self.model) or self.vendor.traits

    @cached_property
    def key(self) -> BlobKey:
        """The key of the account, with which its blobs are encrypted."""
        shape = self.traits.blob if self.traits.blob != "none" else self.vendor.traits.blob
        return BlobKey(self.memory.secret, self.account, shape)

    @property
    def reasoning(self) -> JsonObject:
        return as_dict(self.body.get("reasoning"))

    @cached_property
    def thinking(self) -> bool:
        """Whether the model thinks before its answer to this request."""
        return self.traits.thinks == "always" or (self.traits.thinks == "on" and self.reasoning.get("effort") != "none")

    @property
    def stores(self) -> bool:
        """Whether the vendor keeps the answer."""
        return self.vendor.stores and self.body.get("store") is not False

    @property
    def compacts(self) -> bool:
        """Whether the request asks for a compaction of the conversation."""
        return bool(self.items) and self.items[-1].kind == "compaction_trigger"

    @cached_property
    def sent(self) -> tuple[PlacedItem, ...]:
        """The items of the request. A string is a message of the user."""
        given = self.body.get("input")
        if isinstance(given, str):
            return (PlacedItem("input", {"role": "user", "content": given}),) if given else ()
        return tuple(
            PlacedItem(f"input.{index}", item) for index, item in enumerate(as_list(given)) if isinstance(item, dict)
        )

    @cached_property
    def items(self) -> tuple[PlacedItem, ...]:
        """The items of the whole conversation."""
        kept = self.memory.kept(self.account, as_str(self.body.get("previous_response_id"))) if self.vendor.stores else None
        before = (PlacedItem(f"kept.{index}", item, kept=True) for index, item in enumerate(kept.items if kept else ()))
        items = [*before]
        for each in self.sent:
            if each.kind != "item_reference":
                items.append(each)
            elif self.vendor.stores and (found := self.memory.kept_item(self.account, each.id)) is not None:
                items.append(PlacedItem(each.path, found, kept=True))
        return tuple(items)

    @cached_property
    def turn_start(self) -> int:
        """The place in `items` of the user's last message."""
        users = [n for n, each in enumerate(self.items) if each.item.get("role") == "user"]
        return users[-1] if users else -1

    @cached_property
    def tools(self) -> dict[str, OfferedTool]:
        """The client's tools by a name that is unique: their own, or with the namespace before it."""
        found: dict[str, OfferedTool] = {}
        for tool in offered_tools(self.body):
            name = tool.name if tool.name not in found else f"{tool.namespace}.{tool.name}"
            found.setdefault(name, tool)
        return found

    def tool_named(self, name: str) -> OfferedTool | None:
        """The tool that a script calls so: by its name here, or by `NAMESPACE__NAME`."""
        flat = (tool for tool in self.tools.values() if f"{tool.namespace}__{tool.name}" == name)
        return self.tools.get(name) or next(flat, None)

    def segments(self) -> Iterator[tuple[JsonValue, int]]:
        """The prompt piece by piece, with the tokens of each."""
        texts = [value] if (value := self.body.get("instructions")) else []
        for segment in (*as_list(self.body.get("tools")), *texts, *(each.item for each in self.items)):
            yield segment, _tokens(segment)

    @cached_property
    def tokens(self) -> int:
        """The number of tokens in the whole prompt."""
        return sum(tokens for _, tokens in self.segments())


def kind_of_item(item: JsonObject) -> str:
    """The type of an item. Messages need not say it."""
    kind = item.get("type")
    return as_str(kind) if kind is not None or "role" not in item else "message"


def offered_tools(body: JsonObject) -> Iterator[OfferedTool]:
    """All functions and custom tools: at the top, in namespaces, and in items that add tools."""
    added = (as_dict(item) for item in as_list(body.get("input")))
    lists = [as_list(body.get("tools")), *(as_list(item.get("tools")) for item in added if "tools" in item)]
    for tools in lists:
        for tool in (as_dict(each) for each in tools):
            if tool.get("type") == "namespace":
                inner = (as_dict(each) for each in as_list(tool.get("tools")))
                yield from (made for each in inner for made in _offered(each, as_str(tool.get("name"))))
            else:
                yield from _offered(tool, "")


def _offered(tool: JsonObject, namespace: str) -> Iterator[OfferedTool]:
    match tool.get("type"):
        case "function" | "custom" as kind:
            yield OfferedTool(kind, namespace, as_str(tool.get("name")), tool)
        case _:
            pass


def quoted(values: Iterable[str]) -> str:
    """`'a', 'b', and 'c'`, as errors list values; two without the comma."""
    *first, last = [f"'{value}'" for value in values]
    if len(first) < 2:
        return " and ".join((*first, last))
    return f"{', '.join(first)}, and {last}"


def shortened(text: str) -> str:
    """A long opaque value as errors show it."""
    return text if len(text) <= _MOST_QUOTED else f"{text[:4]}...{text[-4:]}"


def _tokens(segment: JsonValue) -> int:
    """Images and files cost a constant."""
    parts = as_list(as_dict(segment).get("content")) or as_list(as_dict(segment).get("output"))
    files = sum(as_dict(part).get("type") in ("input_image", "input_file") for part in parts)
    if not files:
        return tokens_of_json(segment)
    light = [part for part in parts if as_dict(part).get("type") not in ("input_image", "input_file")]
    return tokens_of_json({**as_dict(segment), "content": light, "output": None}) + files * _TOKENS_PER_FILE
