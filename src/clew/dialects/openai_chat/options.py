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
from clew.model.facts.chat_backends import Level
from clew.model.facts.text_calls import BY_MODEL
from clew.model.json import JsonObject
from clew.model.origin import Missing

Apart: TypeAlias = Literal["tool user", "tool system", "user user", "assistant assistant"]
"""Two roles, the second behind the first."""

Forced: TypeAlias = Literal["as asked", "auto", "thinking off"]
"""A forced tool with thinking on: sent as it is; as a free choice; or without thinking."""


class ChatRequestOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one backend wants of a request."""

    max_tokens: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    """The field for how long an answer may be."""
    most_tokens: int = 0
    """The most that it may be asked to say at once; 0: as much as the client likes."""
    system: Literal["system", "developer"] = "system"
    """The role of the system prompt."""
    late_system: Literal["system", "user"] = "system"
    """The role of system messages inside the conversation; `user` where the template takes only a first one."""
    apart: frozenset[Apart] = frozenset()
    """Roles that may not follow each other ("tool user"): a message of the other side stands between two such."""
    begun: JsonObject = {}
    """Fields for an answer that stands last, which the backend goes on with; it refuses one without them."""

    reasoning: str = "reasoning_content"
    """The field of an assistant message that takes its reasoning as text; "": none, and no payload either."""
    reasoning_text: bool = True
    """Whether plain text may go there; otherwise only what the maker itself gave."""
    missing: Missing = "nothing"
    """What stands in for reasoning that is not there; a backend's row says it as a quirk."""
    missing_on: Literal["calls", "all"] = "calls"
    """Which assistant messages must have reasoning: those that call tools, or all."""

    wordless: str = ""
    """What an answer says that has reasoning and nothing else, where such a one is refused."""

    empty: JsonObject = {}
    """Fields that say "no reasoning here", where that is not the field with an empty text."""
    entries: bool = True
    """Lists that only their maker can read go back as they came; otherwise the text alone."""
    entries_once: bool = False
    """Of those, one that is in the history already is not sent again: it would be refused by its id."""
    tags_back: bool = False
    """A thought that stood between tags in the content goes back there; otherwise not at all."""
    between: tuple[str, ...] = ()
    """The two tags between which reasoning goes back in the content, where that is wanted instead of a field."""
    signed_formats: frozenset[str] = frozenset()
    """Entries of `reasoning_details` with text in one of these formats ("": none is named) go back only with a signature."""
    unsigned_call: JsonObject = {}
    """Fields for the first call of an answer, where calls are signed and this one's signature is not there."""

    knob: str = ""
    """A row of `efforts.toml`; "": nothing is asked for, the backend's default holds."""
    thinks: bool = True
    """It may think. Otherwise it is told not to, whatever the client asks for."""
    levels: tuple[Level, ...] = ()
    """The levels that this model takes, if fewer than the knob can say."""

    budgets: bool = True
    """Whether a client's own number of tokens is said, by a knob with a field for it; otherwise the level it stands for."""

    images: Images = "take"
    """Images are sent, refused, or left out with a text in their place."""
    image_urls: bool = True
    """Whether an image may be given by its URL; otherwise only as data."""
    tool_images: bool = False
    """Whether a tool message may hold images; otherwise they follow in a user message."""
    documents: Documents = "omit"
    """Documents that are no text are sent as files, refused, or left out with a text in their place."""

    call_ids: Literal["kept", "nine"] = "kept"
    """`nine`: tool call ids are made to fit [a-zA-Z0-9]{9}."""
    parallel: bool = True
    """It takes `parallel_tool_calls`."""
    forced: Forced = "as asked"
    """A forced tool while it thinks is sent as it is, as a free choice, or with thinking off."""
    strict_tools: bool = False
    """It takes `strict` on tools."""
    validator: str = ""
    """A row of `validators.toml`: what its check of tool schemas refuses; "": they go as they are."""
    stops: int = 4
    """How many stop sequences it takes."""
    schema: Literal["json_schema", "json_object", "none"] = "json_schema"
    """How it is told that the answer must fit a schema."""
    user: str = "user"
    """The field for who asks; "": not told."""
    user_length: int = 64
    """How long that may be."""
    top_k: bool = False
    """It takes `top_k`."""
    stream_usage: bool = True
    """It is asked to tell usage in a stream."""

    drop: frozenset[str] = frozenset()
    """Fields of the finished body that it refuses."""
    always: JsonObject = {}
    """Fields that it always gets, merged with the rest."""


class ChatAnswerOptions(Struct, frozen=True, forbid_unknown_fields=True):
    """How one backend answers."""

    tags: Literal["leading", "anywhere", "never"] = "leading"
    """Where `<think>` and similar tags are markup: at the start of the content, anywhere outside code, or nowhere."""
    implicit_open: bool = False
    """The template has written the opening tag: content begins inside the thought."""
    snapshots: bool = False
    """Deltas may repeat all that came before; whether they do is seen from the second one."""
    empty_counts: bool = False
    """An explicitly empty thought before a tool call must be sent back, so it becomes a block."""
    reasoning_apart: bool = False
    """`completion_tokens` leaves reasoning out. (Where the total shows it, this is seen without the switch.)"""
    text_calls: str = BY_MODEL
    """Tool calls written as text become calls: `by model` where the model is of a family that is known to write them, a
    family (`grok`, `qwen`, `hermes`, `glm`, `gpt-oss`, `seed`) for a model under another name, or `never`."""
    cut_is_end: bool = False
    """A stream that just ends has ended well. Otherwise an answer without finish and without [DONE] was cut."""


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
