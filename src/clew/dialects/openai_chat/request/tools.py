"""Tools and the choice among them.

A tool of the client's own is a function. A tool that Anthropic runs, or whose schema only Anthropic's models know, cannot be
one, and is refused: a model that believes it can search must not be told that it searched. A deferred tool is not shown to
the model before a tool result has loaded it, so it is sent from then on. Schemas go as they are, unless this backend's
check of them is known to refuse what is in them.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Raw

from clew.dialects.openai_chat.request.notes import Notes
from clew.dialects.openai_chat.request.reading import BOOLEAN, OBJECT, OBJECTS, Fields, Piece, Said, decoded, pieces
from clew.dialects.openai_chat.request.tool_names import tool_name
from clew.dialects.openai_chat.request.tool_schemas import is_closed, schema_to_send
from clew.dialects.openai_chat.wire import Wire
from clew.errors import Unrepresentable

__all__ = ["encode_choice", "encode_tools", "is_forced", "refuse_server_tools"]

NOT_LOADED = "a deferred tool that nothing has loaded yet"
NO_STRICT = "this backend does not check tool inputs strictly"
OPEN = "this backend is strict only about objects that require all their properties and allow no others"
NO_TOOLS = "there are no tools to choose from"
NO_PARALLEL = "this backend has no switch for parallel tool calls"
THINKING = "this backend refuses a forced tool while it thinks; the choice is left to the model"

THEIRS = "is run by Anthropic's servers, and this backend cannot run it: leave the tool out, or ask a Claude model"
UNDESCRIBED = "is known by its name only to Claude models: describe it as a tool of your own, with an input_schema"

_NAMED = ("bash_", "computer_", "memory_", "text_editor_")
"""Tools of Anthropic's that the client runs itself."""

_KNOWN = frozenset({"type", "name", "description", "input_schema", "strict"})
_CHOICES = {"auto": "auto", "any": "required", "none": "none"}
_ANY_OBJECT = Raw(b'{"type":"object","properties":{}}')


def encode_tools(fields: Fields, said: Iterable[Said], wire: Wire, notes: Notes) -> dict[str, object]:
    """The `tools` of the body; no such key if there are none."""
    given = decoded(fields["tools"], OBJECTS, "tools") if "tools" in fields else []
    found = [Piece(f"tools.{index}", each) for index, each in enumerate(given)]
    loaded = _loaded(said) if any("defer_loading" in each for each in given) else frozenset[str]()
    shown = [piece for piece in found if _is_shown(piece, loaded, notes)]
    return {"tools": [_function(piece, wire, notes) for piece in shown]} if shown else {}


def refuse_server_tools(fields: Fields) -> None:
    """MCP servers are called by Anthropic, not by the client."""
    if "mcp_servers" in fields and decoded(fields["mcp_servers"], OBJECTS, "mcp_servers"):
        raise Unrepresentable(
            "mcp_servers: only Anthropic calls MCP servers for its clients: call them in the client, or ask a Claude model"
        )


def _is_shown(piece: Piece, loaded: frozenset[str], notes: Notes) -> bool:
    if not piece.value("defer_loading", BOOLEAN) or piece.string("name") in loaded:
        return True
    notes.left_out(piece.path, NOT_LOADED)
    return False


def _loaded(said: Iterable[Said]) -> frozenset[str]:
    """The names of the tools that some tool result has loaded."""
    results = (piece for each in said for piece in each.pieces if piece.type == "tool_result")
    inner = (each for piece in results for each in pieces(piece.fields.get("content"), f"{piece.path}.content"))
    return frozenset(each.string("tool_name") for each in inner if each.type == "tool_reference")


def _function(piece: Piece, wire: Wire, notes: Notes) -> dict[str, object]:
    if piece.type not in ("", "custom"):
        why = UNDESCRIBED if piece.type.startswith(_NAMED) else THEIRS
        raise Unrepresentable(f"{piece.path}: {piece.type!r} {why}")
    notes.unsaid(piece.path, piece.fields, _KNOWN)
    function: dict[str, object] = {"name": tool_name(piece.string("name"), f"{piece.path}.name", notes)}
    if description := piece.string("description"):
        function["description"] = description
    schema = piece.fields.get("input_schema", _ANY_OBJECT)
    if parameters := schema_to_send(schema, f"{piece.path}.input_schema", wire, notes):
        function["parameters"] = parameters
    return {"type": "function", "function": function | _strict(piece, schema, wire, notes)}


def _strict(piece: Piece, schema: Raw, wire: Wire, notes: Notes) -> dict[str, object]:
    if not piece.value("strict", BOOLEAN):
        return {}
    if not wire.strict_tools or not is_closed(schema, f"{piece.path}.input_schema"):
        notes.left_out(f"{piece.path}.strict", OPEN if wire.strict_tools else NO_STRICT)
        return {}
    return {"strict": True}


def is_forced(fields: Fields) -> bool:
    """Whether the client wants a tool called, whatever the model thinks."""
    return "tool_choice" in fields and _choice(fields).type in ("any", "tool")


def encode_choice(fields: Fields, tools: bool, free: bool, wire: Wire, notes: Notes) -> dict[str, object]:
    """`tool_choice` and `parallel_tool_calls`. `free`: a forced choice is made a free one."""
    if "tool_choice" not in fields:
        return {}
    if not tools:
        notes.left_out("tool_choice", NO_TOOLS)
        return {}
    choice = _choice(fields)
    notes.unsaid("tool_choice", choice.fields, {"type", "name", "disable_parallel_tool_use"})
    if free:
        notes.add("tool_choice", "set", THINKING)
    return {"tool_choice": "auto" if free else _said_choice(choice, notes)} | _parallel(choice, wire, notes)


def _choice(fields: Fields) -> Piece:
    return Piece("tool_choice", decoded(fields["tool_choice"], OBJECT, "tool_choice"))


def _said_choice(choice: Piece, notes: Notes) -> object:
    if choice.type == "tool":
        return {"type": "function", "function": {"name": tool_name(choice.string("name"), "tool_choice.name", notes)}}
    if choice.type not in _CHOICES:
        raise Unrepresentable(f"tool_choice: a choice of type {choice.type!r} cannot be said to this backend")
    return _CHOICES[choice.type]


def _parallel(choice: Piece, wire: Wire, notes: Notes) -> dict[str, object]:
    if not choice.value("disable_parallel_tool_use", BOOLEAN):
        return {}
    if not wire.parallel:
        notes.left_out("tool_choice.disable_parallel_tool_use", NO_PARALLEL)
        return {}
    return {"parallel_tool_calls": False}
