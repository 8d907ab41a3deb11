"""One chat request as all rules see it: the body, whose it is, what is true of the model, and what the vendor remembers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from clew.model.json import JsonObject, JsonValue
from clew.simulator.chat.books import ChatBooks
from clew.simulator.chat.vendors import Form, Traits, Vendor
from clew.simulator.interfaces import Stance
from clew.simulator.values import as_dict, as_list, as_str

__all__ = ["ChatCase", "Place", "calls_of", "text_of"]


@dataclass(frozen=True, slots=True)
class Place:
    """A message and where it stands."""

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
    """What the checks look at."""

    body: JsonObject
    vendor: Vendor
    stance: Stance
    books: ChatBooks

    @property
    def model(self) -> str:
        return as_str(self.body.get("model"))

    @cached_property
    def traits(self) -> Traits:
        return self.vendor.traits_of(self.model) or self.vendor.traits

    @cached_property
    def messages(self) -> tuple[Place, ...]:
        found = enumerate(as_list(self.body.get("messages")))
        return tuple(Place(index, message) for index, message in found if isinstance(message, dict))

    @property
    def assistants(self) -> tuple[Place, ...]:
        return tuple(place for place in self.messages if place.role == "assistant")

    @property
    def thinking(self) -> bool:
        """Does the model think in answer to this request?"""
        match self.traits.thinks:
            case "always":
                return True
            case "never":
                return False
            case "on":
                return False not in self._wishes()
            case "off":
                wishes = self._wishes()
                return True in wishes and False not in wishes

    @property
    def form(self) -> Form:
        """How this answer shows its reasoning."""
        for wish, form in self.traits.shows_if.items():
            if _is_wished(self.body, wish):
                return form
        return self.traits.shows

    @property
    def loop_start(self) -> int:
        """The index of the message that opened the current turn: the last of the user's own."""
        return max((place.index for place in self.messages if place.role == "user"), default=-1)

    @property
    def reads_earlier(self) -> bool:
        """Does it read the reasoning of turns before the current one?"""
        return not self.traits.earlier_if or self.body.get(self.traits.earlier_if) is True

    def _wishes(self) -> list[bool]:
        read = (_SWITCHES[name](self.body.get(name)) for name in self.traits.switches if name in self.body)
        return [wish for wish in read if wish is not None]


def calls_of(message: Mapping[str, JsonValue]) -> list[JsonObject]:
    """The tool calls of an assistant message."""
    return [call for call in as_list(message.get("tool_calls")) if isinstance(call, dict)]


def text_of(content: JsonValue) -> str:
    """What a content says, in words."""
    if isinstance(content, str):
        return content
    return "".join(as_str(as_dict(part).get("text")) for part in as_list(content) if as_dict(part).get("type") == "text")


def _is_wished(body: JsonObject, wish: str) -> bool:
    """`a.b` is true or a list with something in it; or `a.b=c`."""
    path, equals, wanted = wish.partition("=")
    value: JsonValue = body
    for name in path.split("."):
        value = as_dict(value).get(name)
    return value == wanted if equals else value is True or (isinstance(value, list) and bool(value))


def _typed(value: JsonValue) -> bool | None:
    return {"enabled": True, "adaptive": True, "disabled": False}.get(as_str(as_dict(value).get("type")))


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


_SWITCHES: Final[dict[str, Callable[[JsonValue], bool | None]]] = {
    "thinking": _typed,
    "reasoning_effort": _effort,
    "reasoning": _reasoning,
    "enable_thinking": _flag,
    "chat_template_kwargs": _template,
    "prompt_mode": lambda value: value == "reasoning",
    "extra_body": _google,
}
