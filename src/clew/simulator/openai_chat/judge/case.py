"""One chat request as the checks see it: body, vendor, traits, what the vendor remembers; and the book of rules.

The rules are rows of `rules.toml`, in the order of checking; a vendor may have words of its own for them.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib import resources
from typing import Final

import msgspec
from msgspec import Struct, structs

from clew.model.facts import path_order
from clew.model.json import JsonObject, JsonValue
from clew.simulator.interfaces import Grade, Stance, VendorRefusal
from clew.simulator.openai_chat.memory import AnswerMemory
from clew.simulator.openai_chat.vendors import ChatVendor, Form, Traits
from clew.simulator.values import as_dict, as_list, as_str

NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
"""The name of a tool."""
_KIND_NAMES: Final[dict[type, str]] = {
    type(None): "null",
    bool: "a boolean",
    int: "an integer",
    float: "a decimal",
    str: "a string",
    list: "an array",
    dict: "an object",
}


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
    """All that the checks look at."""

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
        """Whether the model thinks in answer to this request."""
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


def kind_of(value: JsonValue) -> str:
    """The kind of a value, in the vendor's words."""
    return _KIND_NAMES[type(value)]


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


class ChatRule(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One defect, and the words of a vendor that has none of its own."""

    means: str
    text: str
    status: int = 400
    type: str = "invalid_request_error"
    code: str = ""
    special: bool = False
    grade: Grade = "B"
    verified: bool = True
    source: str
    id: str = ""
    order: int = -1


@dataclass(frozen=True, slots=True)
class BrokenChatRule:
    """A rule that is broken, and where. `names` fill the rule's words."""

    rule: str
    path: str = ""
    names: Mapping[str, object] = field(default_factory=dict[str, object])


@cache
def chat_rules() -> dict[str, ChatRule]:
    """All rules by id."""
    text = resources.files(__package__ or "").joinpath("rules.toml").read_text("utf-8")
    rows = msgspec.convert(tomllib.loads(text)["chat"], dict[str, ChatRule])
    return {f"chat.{name}": structs.replace(row, id=f"chat.{name}", order=n) for n, (name, row) in enumerate(rows.items())}


def rule_of(vendor: ChatVendor, rule: str) -> ChatRule:
    """The rule in this vendor's words. Words that were never seen from this vendor are not verified."""
    row = chat_rules()[rule]
    own = vendor.words.get(rule.removeprefix("chat."))
    if own is None:
        return row if vendor.reference else structs.replace(row, verified=False)
    given = structs.asdict(own)
    changes = {name: given[name] for name in ("text", "status", "type", "code") if given[name] is not None}
    return structs.replace(row, verified=own.verified, **changes)


def first_in_force(found: Iterable[BrokenChatRule], vendor: ChatVendor, stance: Stance) -> BrokenChatRule | None:
    """The broken rule that the vendor names: the first in the book's order, then by place."""
    book = chat_rules()

    def is_in_force(rule: ChatRule) -> bool:
        name = rule.id.removeprefix("chat.")
        has = name in vendor.special if rule.special else name not in vendor.without
        return has and rule.grade not in stance.without_grades

    counted = [broken for broken in found if is_in_force(book[broken.rule])]
    return min(counted, key=lambda broken: (book[broken.rule].order, path_order(broken.path)), default=None)


def refusal_by(vendor: ChatVendor, broken: BrokenChatRule) -> VendorRefusal:
    """A broken rule in the vendor's words."""
    rule = rule_of(vendor, broken.rule)
    place = re.sub(r"\.(\d+)(?=\.|$)", r"[\1]", broken.path)  # `messages.3.tool_calls.0` as `messages[3].tool_calls[0]`
    return VendorRefusal(
        rule=rule.id,
        grade=rule.grade,
        status=rule.status,
        error_type=rule.type,
        message=rule.text.format(**{"path": broken.path, "place": place, **broken.names}),
        path=broken.path,
    )
