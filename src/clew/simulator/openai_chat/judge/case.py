"""One chat request as the checks see it: the body, the vendor, the model's traits, and what the vendor remembers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from clew.model.json import JsonObject, JsonValue
from clew.simulator.interfaces import Stance
from clew.simulator.openai_chat.memory import AnswerMemory
from clew.simulator.openai_chat.vendors import ChatVendor, Form, Traits
from clew.simulator.values import as_dict, as_list, as_str


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
        read = (_SWITCHES[name](self.body.get(name)) for name in self.traits.switches if name in self.body)
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
        """How this answer shows its reasoning."""
        for wish, form in self.traits.shows_if.items():
            if _has_wish(self.body, wish):
                return form
        return self.traits.shows

    @cached_property
    def loop_start(self) -> int:
        """The index of the message that opened the current turn: the user's last one."""
        return max((each.index for each in self.messages if each.role == "user"), default=-1)

    @property
    def reads_earlier(self) -> bool:
        """Whether the model reads the reasoning of earlier turns."""
        return not self.traits.earlier_if or self.body.get(self.traits.earlier_if) is True


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


def _has_wish(body: JsonObject, wish: str) -> bool:
    """Whether `a.b` is true or a list with items; or, written `a.b=c`, has the value c."""
    path, equals, wanted = wish.partition("=")
    value: JsonValue = body
    for name in path.split("."):
        value = as_dict(value).get(name)
    return value == wanted if equals else value is True or (isinstance(value, list) and bool(value))


# The fields that switch thinking on or off; None if a value does neither.


def _effort(value: JsonValue) -> bool | None:
    return value != "none" if isinstance(value, str) else None


def _reasoning(value: JsonValue) -> bool | None:
    asked = as_dict(value)
    if asked.get("enabled") is False:
        return False
    return _effort(asked.get("effort")) if "effort" in asked else bool(asked)


def _flag(value: JsonValue) -> bool | None:
    return value if isinstance(value, bool) else None


def _template(value: JsonValue) -> bool | None:
    asked = as_dict(value)
    return _flag(asked.get("enable_thinking", asked.get("thinking")))


def _google(value: JsonValue) -> bool | None:
    config = as_dict(as_dict(as_dict(value).get("google")).get("thinking_config"))
    return config.get("thinking_budget") != 0 if config else None


_TYPES: Final = {"enabled": True, "adaptive": True, "disabled": False}
_SWITCHES: Final[dict[str, Callable[[JsonValue], bool | None]]] = {
    "thinking": lambda value: _TYPES.get(as_str(as_dict(value).get("type"))),
    "reasoning_effort": _effort,
    "reasoning": _reasoning,
    "enable_thinking": _flag,
    "chat_template_kwargs": _template,
    "prompt_mode": lambda value: value == "reasoning",
    "extra_body": _google,
}
