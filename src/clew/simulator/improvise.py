"""The built-in model: what it does when no scenario tells it.

It thinks, calls one of the tools that it was offered, reads what came back and answers with it. So a real agent loop runs
against it, does something harmless, and ends. Asked for JSON, it answers with the smallest that the schema takes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Final, cast

import msgspec

from clew.model.json import JsonObject
from clew.simulator.acts import Act, Call, Say, Think, Turn
from clew.simulator.conversation import Exchange, tools_on_offer
from clew.simulator.plausible import value_for

__all__ = ["improvise", "pick_tool"]

_QUOTED: Final = 300
_GENTLE: Final = ("read", "get", "list", "ls", "glob", "grep", "search", "find", "look", "view", "fetch", "show", "echo")
_OPENINGS: Final = (
    "The user wants something of me; let me see what I have.",
    "First I should understand what is asked.",
    "One step at a time: what do I need to know?",
)
_READINGS: Final = (
    "The tool has answered. That is enough to reply.",
    "Now I know what I needed; I can say it in one sentence.",
    "This settles it.",
)


def improvise(request: JsonObject, exchange: Exchange, seed: int) -> Turn:
    """The built-in model's next turn."""
    acts: list[Act]
    tool = None if exchange.results else pick_tool(request)
    if tool is not None:
        acts = [Think(_pick(_OPENINGS, seed, exchange.prompt)), Call(str(tool["name"]))]
    elif _forced(request) and tools_on_offer(request):
        acts = [Call("*")]
    else:
        acts = [Think(_pick(_READINGS if exchange.results else _OPENINGS, seed, exchange.prompt))]
        acts.append(Say(_answer(request, exchange)))
    return Turn(tuple(acts))


def pick_tool(request: JsonObject) -> JsonObject | None:
    """The tool that `*` means: the one that is forced, else the gentlest by its name, else the first."""
    offered = tools_on_offer(request)
    choice = request.get("tool_choice")
    if isinstance(choice, dict) and choice.get("type") == "tool":
        return next((tool for tool in offered if tool.get("name") == choice.get("name")), None)
    if isinstance(choice, dict) and choice.get("type") == "none":
        return None
    return min(offered, key=_gentleness, default=None)


def _forced(request: JsonObject) -> bool:
    """Must the model call a tool?"""
    choice = request.get("tool_choice")
    return isinstance(choice, dict) and choice.get("type") in ("any", "tool")


def _gentleness(tool: JsonObject) -> int:
    name = str(tool.get("name", "")).lower()
    return next((rank for rank, word in enumerate(_GENTLE) if name.startswith(word)), len(_GENTLE))


def _answer(request: JsonObject, exchange: Exchange) -> str:
    config = request.get("output_config")
    form = config.get("format") if isinstance(config, dict) else None
    if isinstance(form, dict) and isinstance(schema := form.get("schema"), dict):
        return msgspec.json.encode(value_for(cast(JsonObject, schema), exchange.prompt)).decode()
    if exchange.results:
        return f"I read: {_quote(' / '.join(exchange.results))}"
    return f"You said: {_quote(exchange.prompt)}"


def _quote(text: str) -> str:
    flat = " ".join(text.split())
    return f"“{flat[:_QUOTED]}{'…' if len(flat) > _QUOTED else ''}”"


def _pick(words: Sequence[str], seed: int, about: str) -> str:
    digest = hashlib.sha256(f"{seed} {about}".encode("utf-8", "surrogatepass")).digest()
    return words[digest[0] % len(words)]
