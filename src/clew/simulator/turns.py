"""Which turn answers a request: one of a scenario, or an improvised one.

A tool loop is open from the last user message without a tool result. Messages of role `system` do not count. Its turns are
the assistant messages since.

`[[scenario:NAME]]` in the newest user text with such a mark names the scenario; else it is the one that the simulator was
started with; else the built-in model improvises. The shipped scenarios are the files in `scenarios/`; a user's own is given
by its path.

The built-in model thinks, calls one of the tools on offer, reads the result and answers with it. So a real agent loop runs
against it, does something harmless, and ends. If the request asks for JSON, the answer is the smallest value that fits the
schema.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Final, cast

import msgspec

from clew.errors import SettingsInvalid
from clew.model.json import JsonObject, JsonValue
from clew.simulator.plausible import value_for
from clew.simulator.script import Act, CallTool, Say, Scenario, ScriptTurn, Think, parse
from clew.simulator.values import as_dict, as_list, text_blocks

# The conversation so far.

_REMINDER: Final = re.compile(r"\s*<system-reminder>.*</system-reminder>\s*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ConversationState:
    """How far the open tool loop of a request has come."""

    prompt: str
    """The texts of the user message that opened it, without the reminders that clients add."""
    turn: int
    """The number of answers so far."""
    results: tuple[str, ...]
    """The results of the tools that the last answer called."""


def state_of(request: JsonObject) -> ConversationState:
    messages = [message for message in _messages(request) if message.get("role") != "system"]
    opening = (
        i
        for i, message in enumerate(messages)
        if message.get("role") == "user" and not any(block.get("type") == "tool_result" for block in _blocks(message))
    )
    start = max(opening, default=0)
    since = messages[start:]
    answers = [i for i, message in enumerate(since) if message.get("role") == "assistant"]
    results = [
        "\n".join(_texts(block.get("content")))
        for message in since[answers[-1] + 1 if answers else 0 :]
        for block in _blocks(message)
        if block.get("type") == "tool_result"
    ]
    texts = _texts(since[0].get("content")) if since else ()
    prompt = "\n".join(text for text in texts if not _REMINDER.fullmatch(text))
    return ConversationState(prompt=prompt, turn=len(answers), results=tuple(results))


def calls_in(request: JsonObject) -> int:
    """The number of tool calls in the whole conversation."""
    blocks = (block for message in _messages(request) for block in _blocks(message))
    return sum(block.get("type") == "tool_use" for block in blocks)


def texts_of_users(request: JsonObject) -> Iterator[str]:
    """Every text of a user, the newest first."""
    for message in reversed(_messages(request)):
        if message.get("role") == "user":
            yield from reversed([*_texts(message.get("content"))])


def tools_on_offer(request: JsonObject) -> list[JsonObject]:
    """The client's own tools that the model may call now: without server tools and deferred ones."""
    tools = [tool for tool in as_list(request.get("tools")) if isinstance(tool, dict)]
    return [tool for tool in tools if isinstance(tool.get("input_schema"), dict) and not tool.get("defer_loading")]


def _messages(request: JsonObject) -> list[JsonObject]:
    return [message for message in as_list(request.get("messages")) if isinstance(message, dict)]


def _blocks(message: JsonObject) -> list[JsonObject]:
    return [block for block in as_list(message.get("content")) if isinstance(block, dict)]


def _texts(content: JsonValue) -> Iterator[str]:
    for block in text_blocks(content):
        if isinstance(block, dict) and isinstance(text := block.get("text"), str):
            yield text


DEFAULT: Final = "default"
"""The name of the built-in model."""

_MARK: Final = re.compile(r"\[\[scenario:([\w.-]+)\]\]")
_SUFFIX: Final = ".scenario"
_MOST_QUOTED: Final = 300
_HARMLESS: Final = ("read", "get", "list", "ls", "glob", "grep", "search", "find", "look", "view", "fetch", "show", "echo")
"""How the names of harmless tools begin, the most harmless first."""
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


# Scenarios.


@cache
def shipped() -> Mapping[str, Scenario]:
    """The scenarios in the package, by name."""
    files = sorted(resources.files("clew.simulator").joinpath("scenarios").iterdir(), key=lambda file: file.name)
    names = [file.name.removesuffix(_SUFFIX) for file in files]
    return {name: parse(file.read_text("utf-8"), name) for name, file in zip(names, files, strict=True)}


def load(name: str) -> Scenario | None:
    """A scenario by its name or its path; None is the built-in model. Raises SettingsInvalid if there is none."""
    if name == DEFAULT:
        return None
    if name in shipped():
        return shipped()[name]
    path = Path(name)
    if path.suffix != _SUFFIX:
        known = ", ".join([DEFAULT, *shipped()])
        raise SettingsInvalid(f"there is no scenario {name!r}; there are {known}, or give a file that ends in {_SUFFIX}")
    try:
        return parse(path.read_text("utf-8-sig"), path.stem)  # editors on Windows put a byte order mark before the text
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsInvalid(f"scenario {name}: {error}", file=name) from error


class ScenarioPicker:
    """Picks the scenario of each request; `standing` is the one for requests that name none."""

    def __init__(self, standing: str = DEFAULT) -> None:
        self._standing = load(standing)
        self._known = dict(shipped())
        if self._standing is not None:
            self._known[self._standing.name] = self._standing

    def scenario_for(self, request: JsonObject) -> Scenario | None:
        """The scenario that answers; None for the built-in model. Raises SettingsInvalid for an unknown name."""
        marks = (found[-1] for text in texts_of_users(request) if (found := _MARK.findall(text)))
        name = next(marks, None)
        if name is None:
            return self._standing
        if name not in self._known and name.endswith(_SUFFIX):  # a request must not open files
            raise SettingsInvalid(f"a prompt can only name a scenario, not a file: {name!r}")
        return self._known[name] if name in self._known else load(name)


def turn_of(scenario: Scenario, state: ConversationState) -> ScriptTurn:
    """The turn that is due. After the last one there is only a closing sentence, so that every tool loop ends."""
    if state.turn < len(scenario.turns):
        return scenario.turns[state.turn]
    return ScriptTurn((Say(f"The scenario {scenario.name} ends here."),))


# The built-in model.


def improvise(request: JsonObject, state: ConversationState, seed: int, mark: Callable[[str], str] = str) -> ScriptTurn:
    """The built-in model's next turn. `mark` changes its thoughts."""
    tool = None if state.results else pick_tool(request)
    acts: tuple[Act, ...]
    if tool is not None:
        acts = (Think(mark(_pick(_OPENINGS, seed, state.prompt))), CallTool(str(tool["name"])))
    elif as_dict(request.get("tool_choice")).get("type") in ("any", "tool") and tools_on_offer(request):
        acts = (CallTool("*"),)
    else:
        thoughts = _READINGS if state.results else _OPENINGS
        schema = as_dict(as_dict(request.get("output_config")).get("format")).get("schema")
        if isinstance(schema, dict):
            reply = msgspec.json.encode(value_for(cast(JsonObject, schema), state.prompt)).decode()
        else:
            reply = f"I read: {_quote(' / '.join(state.results))}" if state.results else f"You said: {_quote(state.prompt)}"
        acts = (Think(mark(_pick(thoughts, seed, state.prompt))), Say(reply))
    return ScriptTurn(acts)


def pick_tool(request: JsonObject) -> JsonObject | None:
    """The tool that `*` means: the forced one, else the most harmless by its name, else the first."""
    offered = tools_on_offer(request)
    choice = as_dict(request.get("tool_choice"))
    if choice.get("type") == "tool":
        return next((tool for tool in offered if tool.get("name") == choice.get("name")), None)
    if choice.get("type") == "none":
        return None

    def harm(tool: JsonObject) -> int:
        name = str(tool.get("name", "")).lower()
        return next((rank for rank, word in enumerate(_HARMLESS) if name.startswith(word)), len(_HARMLESS))

    return min(offered, key=harm, default=None)


def _quote(text: str) -> str:
    flat = " ".join(text.split())
    return f"“{flat[:_MOST_QUOTED]}{'…' if len(flat) > _MOST_QUOTED else ''}”"


def _pick(texts: Sequence[str], seed: int, about: str) -> str:
    digest = hashlib.sha256(f"{seed} {about}".encode("utf-8", "surrogatepass")).digest()
    return texts[digest[0] % len(texts)]
