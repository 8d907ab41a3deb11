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
    """All that one backend, or one of its models, differs in."""

    system: Literal["instructions", "developer", "system"] = "instructions"
    """Where the system prompt goes: the field, or a message of this role at the front."""
    late_system: Literal["developer", "system", "user"] = "developer"
    """The role of system messages inside the conversation."""
    most_tokens: int = 0
    """The most that it may be asked to say at once; 0: as much as the client likes."""
    least_tokens: int = 0
    """The least that it may be asked to say at most."""

    items: bool = True
    """A thought goes back as the item that its maker gave; otherwise only as text."""
    encrypted: bool = True
    """It takes `encrypted_content`, and is asked for it."""
    encrypted_is_text: bool = False
    """What it puts into `encrypted_content` is the plain thought, and it reads it from there."""
    thought_text: Literal["", "content", "summary", "encrypted_content"] = ""
    """The member of a reasoning item that takes plain text; "": none, only what the maker itself gave goes back."""
    missing: Missing = "nothing"
    """What stands in for reasoning that is not there; a backend's row says it as a quirk."""
    missing_on: Literal["calls", "all"] = "calls"
    """Which answers must have reasoning: those that call tools, or all."""

    knob: str = ""
    """A row of `efforts.toml`; "": nothing is asked for, the backend's default holds."""
    thinks: bool = True
    """It may think. Otherwise it is told not to, whatever the client asks for."""
    levels: tuple[Level, ...] = ()
    """The levels that this model takes, if fewer than the knob can say."""
    budgets: bool = True
    """Whether a client's own number of tokens is said, by a knob with a field for it; otherwise the level it stands for."""
    summary: Literal["", "as asked", "auto", "concise", "detailed"] = "as asked"
    """Which summary of its thoughts is asked for, if the client does not name one; "": never any."""

    custom_tools: bool = False
    """It knows custom tools, which take one text. Otherwise they go as functions."""
    namespaces: bool = False
    """It knows tools in namespaces, and tools that are added inside the conversation. Otherwise all stand in `tools`."""
    own_items: bool = False
    """It is OpenAI's own API: tools and items that only its models know go to it as the client sent them."""
    ids: bool = True
    """Items of the client's that go as they came keep their ids."""
    phases: bool = False
    """Its messages have a `phase`: whether they are a comment before calls, or the final answer."""
    parallel: bool = True
    """It takes `parallel_tool_calls`."""
    forced: ForcedTool = "as asked"
    """A forced tool while it thinks is sent as it is, as a free choice, or with thinking off."""
    strict_tools: bool = False
    """It takes `strict: true` on tools."""
    validator: str = ""
    """A row of `validators.toml`: what its check of tool schemas refuses; "": they go as they are."""

    images: Images = "take"
    """Images are sent, refused, or left out with a text in their place."""
    image_urls: bool = True
    """Whether an image may be given by its URL; otherwise only as data."""
    tool_images: bool = True
    """Whether the output of a tool may hold images and files; otherwise they follow in a user message."""
    documents: Documents = "omit"
    """Documents that are no text are sent as files, refused, or left out with a text in their place."""
    cache_marks: int = 0
    """How many `prompt_cache_breakpoint`s it takes; 0: none."""
    sampling: bool = True
    """It takes `temperature` and `top_p`."""
    schema: Literal["json_schema", "json_object", "none"] = "json_schema"
    """How it is told that the answer must fit a schema."""
    user: Literal["", "safety_identifier", "user"] = ""
    """The field for who asks; "": not told."""
    user_length: int = 64
    """How long that may be."""

    drop: frozenset[str] = frozenset()
    """Fields of the finished body that it refuses."""
    always: JsonObject = {}
    """Fields that it always gets, merged with the rest."""
    counts_tokens: bool = False
    """It has `/responses/input_tokens`. Otherwise counts are estimated."""
    cut_is_end: bool = False
    """A stream that just ends has ended well. Otherwise an answer without its last event was cut."""


def options_of(facts: BackendFacts) -> ResponsesOptions:
    """From the table of a backend's row."""
    options = facts.tables["responses"]
    assert isinstance(options, ResponsesOptions)
    return options
