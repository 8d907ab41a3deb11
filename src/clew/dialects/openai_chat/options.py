"""Where backends that speak Chat Completions differ: what one wants to be sent, and how it answers.

Values, not code: a backend's row fills them in (its tables `wire` and `speech`), and no code asks for a backend's name. The
defaults suit a server that nobody has described: the most widely understood form of a request, every field of an answer
read, and nothing guessed that could turn an answer into a thought.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

from clew.dialects.openai.parts import Documents, Images
from clew.dialects.shape import BackendFacts
from clew.model.facts.chat_backends import BY_MODEL, Level
from clew.model.json import JsonObject
from clew.model.origin import Missing

Apart: TypeAlias = Literal["tool user", "tool system", "user user", "assistant assistant"]
"""Two roles, the second behind the first."""

Forced: TypeAlias = Literal["as asked", "auto", "thinking off"]
"""A forced tool with thinking on: sent as it is; as a free choice; or without thinking."""


class ChatRequestOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the requests of a backend differ."""

    max_tokens: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    """The field for the limit on output tokens."""
    most_tokens: int = 0
    """The highest limit on output tokens that it accepts. 0: any."""
    system: Literal["system", "developer"] = "system"
    """The role of the system prompt."""
    late_system: Literal["system", "user"] = "system"
    """The role of system messages inside the conversation. `user` if the template accepts only one system message, at the
    beginning."""
    apart: frozenset[Apart] = frozenset()
    """Roles that may not follow each other ("tool user"). A message of the other side is put between them."""
    begun: JsonObject = {}
    """Fields that it needs to continue an answer that stands last in the request."""

    reasoning: str = "reasoning_content"
    """The field of an assistant message for its reasoning as text. Empty: there is none, and nothing is sent back."""
    reasoning_text: bool = True
    """Whether plain text may go into that field. If not, only what this backend itself made."""
    missing: Missing = "nothing"
    """What to send where reasoning is missing. The backend's `quirks.missing` overrides it."""
    missing_on: Literal["calls", "all"] = "calls"
    """Which assistant messages need reasoning: those that call tools, or all."""

    wordless: str = ""
    """A text for answers that have reasoning only, if the backend refuses such answers."""

    empty: JsonObject = {}
    """Fields that say "no reasoning here", if an empty text does not."""
    entries: bool = True
    """Send lists that only their maker can read back unchanged. Otherwise only their text is sent."""
    entries_once: bool = False
    """Do not send an entry of these lists twice: it would be refused because of its id."""
    tags_back: bool = False
    """Put reasoning that came between tags in the content back there. Otherwise it is not sent."""
    between: tuple[str, ...] = ()
    """The two tags around reasoning in the content, if it is sent there instead of in a field."""
    signed_formats: frozenset[str] = frozenset()
    """Formats of `reasoning_details` ("": none is named) whose text is sent back only with a signature."""
    unsigned_call: JsonObject = {}
    """Fields for the first tool call of an answer, if calls are signed and this signature is missing."""

    knob: str = ""
    """How to ask it to think: the name of a row of `efforts.toml`. Empty: nothing is sent, and the backend's default
    applies."""
    thinks: bool = True
    """Whether it may think. If not, it is told not to think, whatever the client asks for."""
    levels: tuple[Level, ...] = ()
    """The effort levels of this model, if it accepts fewer than the knob has."""

    budgets: bool = True
    """Send the client's own number of thinking tokens, if the knob has a field for it. Otherwise send the effort level that
    it stands for."""

    images: Images = "take"
    """Images are sent (`take`), refused (`refuse`), or replaced by a text (`omit`)."""
    image_urls: bool = True
    """Whether it accepts images by URL. If not, they are sent as data."""
    tool_images: bool = False
    """Whether tool messages may contain images. If not, the images follow in a user message."""
    documents: Documents = "omit"
    """Documents that are not text are sent as files (`file`), refused (`refuse`), or replaced by a text (`omit`)."""

    call_ids: Literal["kept", "nine"] = "kept"
    """`nine`: make tool call ids fit [a-zA-Z0-9]{9}. `kept`: send them unchanged."""
    parallel: bool = True
    """Whether it accepts `parallel_tool_calls`."""
    forced: Forced = "as asked"
    """How to send a forced tool while the model thinks: unchanged, as a free choice (`auto`), or with thinking off."""
    strict_tools: bool = False
    """Whether it accepts `strict` on tools."""
    validator: str = ""
    """What its check of tool schemas refuses: the name of a row of `validators.toml`. Empty: schemas are sent unchanged."""
    stops: int = 4
    """The most stop sequences that it accepts."""
    schema: Literal["json_schema", "json_object", "none"] = "json_schema"
    """How to tell it that the answer must fit a JSON schema."""
    user: str = "user"
    """The field for the id of the user. Empty: it is not sent."""
    user_length: int = 64
    """The longest id of a user, in characters."""
    top_k: bool = False
    """Whether it accepts `top_k`."""
    stream_usage: bool = True
    """Ask it for the token usage in streams."""

    drop: frozenset[str] = frozenset()
    """Fields that it refuses; they are removed from the finished request."""
    always: JsonObject = {}
    """Fields that are added to every request."""


class ChatAnswerOptions(Struct, frozen=True, forbid_unknown_fields=True):
    """How the answers of a backend differ."""

    tags: Literal["leading", "anywhere", "never"] = "leading"
    """Where `<think>` and similar tags are markup: at the start of the content, anywhere outside code, or nowhere."""
    implicit_open: bool = False
    """Whether the template has already written the opening tag, so the content begins inside the reasoning."""
    snapshots: bool = False
    """Whether deltas may repeat everything before them. clew finds out from the second one."""
    empty_counts: bool = False
    """Whether an empty reasoning text before a tool call must be sent back. If so, it becomes a block."""
    reasoning_apart: bool = False
    """`completion_tokens` does not include reasoning. (Not needed if the total shows it.)"""
    text_calls: str = BY_MODEL
    """Turn tool calls that are written as text into calls. `by model`: for model families that are known to write them. A
    family (`grok`, `qwen`, `hermes`, `glm`, `gpt-oss`, `seed`): for a model with another name. `never`: do not."""
    cut_is_end: bool = False
    """Whether a stream without an end marker is complete. If not, an answer without finish reason and without [DONE] counts
    as cut."""


class ChatOptions(Struct, frozen=True):
    """All that one backend, or one of its models, differs in."""

    request: ChatRequestOptions = ChatRequestOptions()
    answer: ChatAnswerOptions = ChatAnswerOptions()


def options_of(facts: BackendFacts) -> ChatOptions:
    """From the tables of a backend's row."""
    request, answer = facts.tables["wire"], facts.tables["speech"]
    assert isinstance(request, ChatRequestOptions)
    assert isinstance(answer, ChatAnswerOptions)
    return ChatOptions(request, answer)
