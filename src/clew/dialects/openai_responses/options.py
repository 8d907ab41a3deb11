"""Where backends that speak the Responses API differ: what one wants to be sent, and how it answers.

Values, not code: a backend's row fills them in (its table `responses`), and no code asks for a backend's name. The defaults
suit a server that nobody has described: stateless, functions only, reasoning returned as it came.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from msgspec import Struct

from clew.dialects.openai.parts import Documents, Images
from clew.dialects.shape import BackendFacts
from clew.model.facts.chat_backends import Level
from clew.model.json import JsonObject
from clew.model.origin import Missing

ForcedTool: TypeAlias = Literal["as asked", "auto", "thinking off"]
"""A forced tool with thinking on: sent as it is; as a free choice; or without thinking."""


class ResponsesOptions(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the requests and answers of a backend differ."""

    system: Literal["instructions", "developer", "system"] = "instructions"
    """Where the system prompt goes: the field `instructions`, or a first message with this role."""
    late_system: Literal["developer", "system", "user"] = "developer"
    """The role of system messages inside the conversation."""
    most_tokens: int = 0
    """The highest limit on output tokens that it accepts. 0: any."""
    least_tokens: int = 0
    """The lowest limit on output tokens that it accepts."""

    items: bool = True
    """Send reasoning back as the item that the backend made. Otherwise only as text."""
    encrypted: bool = True
    """Whether it accepts `encrypted_content`, and is asked for it."""
    encrypted_is_text: bool = False
    """Whether its `encrypted_content` is plain text, and it reads it from there."""
    thought_text: Literal["", "content", "summary", "encrypted_content"] = ""
    """The member of a reasoning item for plain text. Empty: there is none; only what the backend itself made is sent
    back."""
    missing: Missing = "nothing"
    """What to send where reasoning is missing. The backend's `quirks.missing` overrides it."""
    missing_on: Literal["calls", "all"] = "calls"
    """Which answers need reasoning: those that call tools, or all."""

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
    summary: Literal["", "as asked", "auto", "concise", "detailed"] = "as asked"
    """Which summary of the reasoning to ask for, if the client does not name one. Empty: never ask."""

    custom_tools: bool = False
    """Whether it knows custom tools, which take one text. If not, they are sent as functions."""
    namespaces: bool = False
    """Whether it knows tools in namespaces, and tools that are added inside the conversation. If not, all tools are sent in
    `tools`."""
    own_items: bool = False
    """Whether it is OpenAI's own API: tools and items that only its models know are sent to it unchanged."""
    ids: bool = True
    """Whether the client's items keep their ids when they are sent unchanged."""
    phases: bool = False
    """Whether its messages have a `phase`: a comment before tool calls, or the final answer."""
    parallel: bool = True
    """Whether it accepts `parallel_tool_calls`."""
    forced: ForcedTool = "as asked"
    """How to send a forced tool while the model thinks: unchanged, as a free choice (`auto`), or with thinking off."""
    strict_tools: bool = False
    """Whether it accepts `strict: true` on tools."""
    validator: str = ""
    """What its check of tool schemas refuses: the name of a row of `validators.toml`. Empty: schemas are sent unchanged."""

    images: Images = "take"
    """Images are sent (`take`), refused (`refuse`), or replaced by a text (`omit`)."""
    image_urls: bool = True
    """Whether it accepts images by URL. If not, they are sent as data."""
    tool_images: bool = True
    """Whether outputs of tools may contain images and files. If not, these follow in a user message."""
    documents: Documents = "omit"
    """Documents that are not text are sent as files (`file`), refused (`refuse`), or replaced by a text (`omit`)."""
    cache_marks: int = 0
    """The most `prompt_cache_breakpoint`s that it accepts. 0: none."""
    sampling: bool = True
    """Whether it accepts `temperature` and `top_p`."""
    schema: Literal["json_schema", "json_object", "none"] = "json_schema"
    """How to tell it that the answer must fit a JSON schema."""
    user: Literal["", "safety_identifier", "user"] = ""
    """The field for the id of the user. Empty: it is not sent."""
    user_length: int = 64
    """The longest id of a user, in characters."""

    drop: frozenset[str] = frozenset()
    """Fields that it refuses; they are removed from the finished request."""
    always: JsonObject = {}
    """Fields that are added to every request."""
    counts_tokens: bool = False
    """Whether it has `/responses/input_tokens`. If not, token counts are estimated."""
    cut_is_end: bool = False
    """Whether a stream without its last event is complete. If not, such an answer counts as cut."""


def options_of(facts: BackendFacts) -> ResponsesOptions:
    """From the table of a backend's row."""
    options = facts.tables["responses"]
    assert isinstance(options, ResponsesOptions)
    return options
