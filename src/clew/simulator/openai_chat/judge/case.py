"""One chat request as the checks see it: body, vendor, traits, what the vendor remembers; and the book of rules.

The rules are rows of `rules.toml`, in the order of checking; a vendor may have words of its own for them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from clew.model.facts import path_order
from clew.model.json import JsonObject, JsonValue
from clew.simulator.interfaces import Stance
from clew.simulator.openai_chat.memory import AnswerMemory
from clew.simulator.openai_chat.vendors import ChatVendor, Form, Traits
from clew.simulator.rule_book import RuleBook, RuleBreach
from clew.simulator.values import as_dict, as_list, as_str

NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
"""The name of a tool."""


@dataclass(frozen=True, slots=True)
class IndexedMessage:
    """A message and its index in the request."""

    index: int
    message: JsonObject

    @property
    def role(self) -> str:
        return as_str(self.message.get("role"))

    @property
    def path(self) -> str:
        return f"messages.{self.index}"


@dataclass(frozen=True, kw_only=True)
class ChatCase:
    """A request as the checks see it."""

    body: JsonObject
    vendor: ChatVendor
    stance: Stance
    memory: AnswerMemory

    @property
    def model(self) -> str:
        return as_str(self.body.get("model"))

    @cached_property
    def traits(self) -> Traits:
        return self.vendor.traits_of(self.model) or self.vendor.traits

    @cached_property
    def messages(self) -> tuple[IndexedMessage, ...]:
        found = enumerate(as_list(self.body.get("messages")))
        return tuple(IndexedMessage(index, message) for index, message in found if isinstance(message, dict))

    @cached_property
    def assistants(self) -> tuple[IndexedMessage, ...]:
        return tuple(each for each in self.messages if each.role == "assistant")

    @cached_property
    def thinking(self) -> bool:
        """Whether the model thinks before its answer to this request."""
        read = (_switch(name, self.body.get(name)) for name in self.traits.switches if name in self.body)
        switches = [switch for switch in read if switch is not None]
        match self.traits.thinks:
            case "always":
                return True
            case "never":
                return False
            case "on":
                return False not in switches
            case "off":
                return True in switches and False not in switches

    @cached_property
    def form(self) -> Form:
        """How this answer shows its reasoning. The key `a.b=c` asks for that value, `a.b` for true or a list with items."""
        for wish, form in self.traits.shows_if.items():
            path, equals, wanted = wish.partition("=")
            value: JsonValue = self.body
            for name in path.split("."):
                value = as_dict(value).get(name)
            if value == wanted if equals else value is True or (isinstance(value, list) and value):
                return form
        return self.traits.shows

    @cached_property
    def loop_start(self) -> int:
        """The index of the message that opened the current turn: the user's last one."""
        return max((each.index for each in self.messages if each.role == "user"), default=-1)


def calls_of(message: Mapping[str, JsonValue]) -> list[JsonObject]:
    """The tool calls of an assistant message."""
    return [call for call in as_list(message.get("tool_calls")) if isinstance(call, dict)]


def text_of(content: JsonValue) -> str:
    """The text of a message's content."""
    if isinstance(content, str):
        return content
    parts = (as_dict(part) for part in as_list(content))
    return "".join(as_str(part.get("text")) for part in parts if part.get("type") == "text")


def answer_limit(body: JsonObject) -> int:
    """How many tokens the answer may have; 0 if the request does not say."""
    given = body.get("max_completion_tokens") or body.get("max_tokens")
    return given if isinstance(given, int) and not isinstance(given, bool) else 0


def _switch(name: str, value: JsonValue) -> bool | None:
    """Whether this field switches thinking on or off; None if its value does neither."""
    asked = as_dict(value)
    match name:
        case "thinking":
            return {"enabled": True, "adaptive": True, "disabled": False}.get(as_str(asked.get("type")))
        case "reasoning_effort":
            return value != "none" if isinstance(value, str) else None
        case "reasoning" if asked.get("enabled") is False:
            return False
        case "reasoning":
            return _switch("reasoning_effort", asked["effort"]) if "effort" in asked else bool(asked)
        case "chat_template_kwargs":
            return _switch("enable_thinking", asked.get("enable_thinking", asked.get("thinking")))
        case "prompt_mode":
            return value == "reasoning"
        case "extra_body":
            config = as_dict(as_dict(asked.get("google")).get("thinking_config"))
            return config.get("thinking_budget") != 0 if config else None
        case _:  # `enable_thinking`
            return value if isinstance(value, bool) else None


# Rules.

CHAT_RULES: Final = RuleBook.read(__package__ or "", "chat")
"""The rules, in the order of checking."""


def first_in_force(found: Iterable[RuleBreach], vendor: ChatVendor, stance: Stance) -> RuleBreach | None:
    """The broken rule that the vendor names: the first in the book's order, then by place."""
    rules = CHAT_RULES.rules
    counted = [breach for breach in found if CHAT_RULES.is_in_force(breach.rule, vendor, stance)]
    return min(counted, key=lambda breach: (rules[breach.rule].order, path_order(breach.path)), default=None)
