"""One request as the rules see it, and the broken rules that the checks find in it.

Content given as a string counts as one text block. Neighbouring messages of one role form one *run*, with system messages
between them ignored, because the vendor merges them (R21). A block keeps its index in the client's own arrays, since every
path in an error refers to the request as the client sent it.

A check yields `BrokenRule`s. The rule book (`rules.toml`) has the rest: order, grade, status and words.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from clew.model.facts import ModelFacts, Rule, path_order, rules
from clew.model.json import JsonObject, JsonValue
from clew.simulator.anthropic.vendors import MessagesVendor, vendor_of
from clew.simulator.interfaces import Account, Books, Display, Kind, Stance, ThinkingMode, VendorRefusal
from clew.simulator.values import as_dict, as_list, as_str, text_blocks

ROLES = ("user", "assistant", "system")
THINKING = frozenset({"thinking", "redacted_thinking"})


@dataclass(frozen=True, slots=True)
class RequestBlock:
    """A content block of the request, with its path."""

    message: int
    index: int
    value: JsonObject

    @property
    def type(self) -> str:
        return as_str(self.value.get("type"))

    @property
    def path(self) -> str:
        return f"messages.{self.message}.content.{self.index}"

    @property
    def is_thinking(self) -> bool:
        return self.type in THINKING


@dataclass(frozen=True, slots=True)
class JudgedMessage:
    """One message and its place in the request. `content` is as the client sent it; `blocks` is the same as blocks."""

    index: int
    role: str
    value: JsonObject
    blocks: tuple[RequestBlock, ...]

    @property
    def content(self) -> JsonValue:
        return self.value.get("content")

    @property
    def path(self) -> str:
        return f"messages.{self.index}"

    def has(self, type_: str) -> bool:
        return any(block.type == type_ for block in self.blocks)


@dataclass(frozen=True, slots=True)
class RoleRun:
    """Messages of one role that the vendor merges into one."""

    role: str
    messages: tuple[JudgedMessage, ...]
    blocks: tuple[RequestBlock, ...]


@dataclass(frozen=True, kw_only=True)
class Case:
    """All that the checks look at. Views of the body are made on first use."""

    body: JsonObject
    version: str
    betas: frozenset[str]
    counting: bool
    kind: Kind
    account: Account
    stance: Stance
    books: Books = field(default_factory=Books)

    @property
    def vendor(self) -> MessagesVendor:
        return vendor_of(self.kind)

    @cached_property
    def model(self) -> ModelFacts:
        return self.vendor.facts_of(as_str(self.body.get("model")), self.stance.models)

    @cached_property
    def messages(self) -> tuple[JudgedMessage, ...]:
        """The messages with a known role. Nothing looks at the others."""
        found: list[JudgedMessage] = []
        for index, item in enumerate(as_list(self.body.get("messages"))):
            value = as_dict(item)
            if value.get("role") in ROLES:
                content = enumerate(text_blocks(value.get("content")))
                blocks = tuple(RequestBlock(index, j, block) for j, block in content if isinstance(block, dict))
                found.append(JudgedMessage(index, as_str(value.get("role")), value, blocks))
        return tuple(found)

    @cached_property
    def runs(self) -> tuple[RoleRun, ...]:
        """The user and assistant runs, in order."""
        groups: list[list[JudgedMessage]] = []
        for message in self.messages:
            if message.role == "system":
                continue
            if groups and groups[-1][0].role == message.role:
                groups[-1].append(message)
            else:
                groups.append([message])
        return tuple(
            RoleRun(group[0].role, tuple(group), tuple(block for message in group for block in message.blocks))
            for group in groups
        )

    @property
    def last_answer(self) -> RoleRun | None:
        """The assistant messages of the last answer in the request."""
        return next((run for run in reversed(self.runs) if run.role == "assistant"), None)

    @property
    def thinking(self) -> JsonObject:
        return as_dict(self.body.get("thinking"))

    @property
    def thinking_type(self) -> str:
        """The requested type; "" if the request does not say."""
        return as_str(self.thinking.get("type"))

    @property
    def thinking_on(self) -> bool:
        if "thinking" in self.body:
            return self.thinking_type in ("enabled", "adaptive")
        return self.model.thinking_default != "off"

    @property
    def thinking_mode(self) -> ThinkingMode:
        """The requested mode, or the model's default. A manual tool loop that does not begin with thinking is off (R50)."""
        match self.thinking_type:
            case "":
                return "off" if self.model.thinking_default == "off" else "adaptive"
            case "enabled":
                first = self.first_of_loop
                without = "enabled" not in self.model.thinking or (first is not None and not first.is_thinking)
                return "off" if without else "enabled"
            case "adaptive" | "between_tools" as asked:
                return asked
            case _:
                return "off"

    @property
    def display(self) -> Display:
        asked = self.thinking.get("display")
        if asked in ("summarized", "omitted", "updates"):
            return asked
        return "omitted" if self.model.display_default == "omitted" else "summarized"

    @property
    def tools(self) -> list[JsonObject]:
        return [tool for tool in as_list(self.body.get("tools")) if isinstance(tool, dict)]

    @property
    def forces_tool(self) -> bool:
        return as_dict(self.body.get("tool_choice")).get("type") in ("any", "tool")

    @property
    def ends_with_assistant(self) -> bool:
        return bool(self.messages) and self.messages[-1].role == "assistant"

    @property
    def questions(self) -> list[int]:
        """The indices of the user messages without a tool_result: each begins a turn."""
        return [message.index for message in self.messages if message.role == "user" and not message.has("tool_result")]

    @property
    def turns(self) -> list[int]:
        """The indices of the messages that begin a turn with an answer, in order."""
        starts: list[int] = []
        questions = set(self.questions)
        start = 0
        for message in self.messages:
            if message.role == "assistant" and start not in starts[-1:]:
                starts.append(start)
            if message.index in questions:
                start = message.index
        return starts

    @property
    def loop_is_open(self) -> bool:
        """Whether the last message that is not of role system is a user message with a tool_result."""
        last = next((message for message in reversed(self.messages) if message.role != "system"), None)
        return last is not None and last.role == "user" and last.has("tool_result")

    @property
    def first_of_loop(self) -> RequestBlock | None:
        """The first block of the first assistant run in the open tool loop. In manual mode it must be thinking."""
        if not self.loop_is_open:
            return None
        start = max(self.questions, default=-1)
        runs = (run for run in self.runs if run.role == "assistant" and run.messages[0].index > start)
        first = next(runs, None)
        return first.blocks[0] if first and first.blocks else None

    def option(self, name: str, key: str) -> JsonValue:
        """`body[name][key]`, or None."""
        return as_dict(self.body.get(name)).get(key)


def betas_of(headers: Mapping[str, str]) -> tuple[str, ...]:
    """The values of the beta header, in order."""
    given = (value.strip() for value in headers.get("anthropic-beta", "").split(","))
    return tuple(value for value in given if value)


@dataclass(frozen=True, slots=True)
class BrokenRule:
    """A rule that is broken, and where. `names` fill the rule's words; `after` is text that follows them."""

    rule: str
    path: str = ""
    names: Mapping[str, object] = field(default_factory=dict[str, object])
    after: str = ""


def violations(found: Iterable[BrokenRule], stance: Stance, *, asked: frozenset[str] = frozenset()) -> list[VendorRefusal]:
    """The broken rules that are in force; first the one that the vendor would name.

    `asked` are rules that hold only on demand (`enforced = false` in the book).
    """
    book = rules()

    def is_in_force(rule: Rule) -> bool:
        enforced = (rule.enforced or rule.id in asked) and rule.id not in stance.without_rules
        return enforced and rule.grade not in stance.without_grades and rule.in_force(stance.choices)

    counted = [broken for broken in found if is_in_force(book[broken.rule])]
    counted.sort(key=lambda broken: (book[broken.rule].order, path_order(broken.path)))
    return [refusal_of(broken) for broken in counted]


def refusal_of(broken: BrokenRule) -> VendorRefusal:
    """A broken rule in the vendor's words."""
    rule = rules()[broken.rule]
    return VendorRefusal(
        rule=rule.id,
        grade=rule.grade,
        status=rule.status,
        error_type=rule.type,
        message=rule.words(**{"path": broken.path, **broken.names}) + broken.after,
        path=broken.path,
    )
