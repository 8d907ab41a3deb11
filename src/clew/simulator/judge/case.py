"""One request as all rules see it: the body, what its headers say, whose model it asks for, and under which stance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from clew.model.facts import ModelFacts
from clew.model.json import JsonObject, JsonValue
from clew.simulator.interfaces import Account, Books, Kind, Stance
from clew.simulator.judge.history import Message, Run, messages_of, runs_of
from clew.simulator.judge.values import array, inner, string
from clew.simulator.vendors import Vendor, vendor_of

__all__ = ["Case", "betas_of"]


@dataclass(frozen=True, kw_only=True)
class Case:
    """What the phases after parsing look at. Derived views are made when first asked for."""

    body: JsonObject
    version: str
    betas: frozenset[str]
    counting: bool
    kind: Kind
    account: Account
    stance: Stance
    books: Books = field(default_factory=Books)

    @property
    def vendor(self) -> Vendor:
        return vendor_of(self.kind)

    @cached_property
    def model(self) -> ModelFacts:
        return self.vendor.facts_of(string(self.body.get("model")), self.stance.models)

    @cached_property
    def messages(self) -> tuple[Message, ...]:
        return messages_of(self.body)

    @cached_property
    def runs(self) -> tuple[Run, ...]:
        return runs_of(self.messages)

    @property
    def thinking(self) -> JsonObject:
        return inner(self.body.get("thinking"))

    @property
    def thinking_type(self) -> str:
        """As asked for; "" if the request does not say."""
        return string(self.thinking.get("type"))

    @property
    def thinking_on(self) -> bool:
        if "thinking" in self.body:
            return self.thinking_type in ("enabled", "adaptive")
        return self.model.thinking_default != "off"

    @property
    def tools(self) -> list[JsonObject]:
        return [tool for tool in array(self.body.get("tools")) if isinstance(tool, dict)]

    @property
    def forced(self) -> bool:
        return inner(self.body.get("tool_choice")).get("type") in ("any", "tool")

    @property
    def ends_with_assistant(self) -> bool:
        return bool(self.messages) and self.messages[-1].role == "assistant"

    @property
    def loop_is_open(self) -> bool:
        """The last message that is not of role system is a user message with a tool_result."""
        spoken = [message for message in self.messages if message.role != "system"]
        return bool(spoken) and spoken[-1].role == "user" and spoken[-1].has("tool_result")

    def option(self, name: str, key: str) -> JsonValue:
        """`body[name][key]`, or None."""
        return inner(self.body.get(name)).get(key)


def betas_of(headers: Mapping[str, str]) -> tuple[str, ...]:
    """The values of the beta header, in order."""
    given = (value.strip() for value in headers.get("anthropic-beta", "").split(","))
    return tuple(value for value in given if value)
