"""What the models of OpenAI's dialects share: the request that scripts read, how it is played, and the prompt cache.

Scripts and the built-in model read requests of the Messages API, so a request of another dialect is written as one first.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Final

import msgspec

from clew.model.json import JsonObject, JsonValue
from clew.simulator.identity import Ids
from clew.simulator.interfaces import Prompt
from clew.simulator.player import PlayedTurn
from clew.simulator.thought_index import add_mark
from clew.simulator.values import as_dict, as_list
from clew.simulator.vendor_server import ScriptedModel

_DEFAULT_LIMIT: Final = 4096
_CHOICES: Final[Mapping[str, str]] = {"none": "none", "auto": "auto", "required": "any", "any": "any"}


def model_request(
    body: JsonObject,
    *,
    model: str,
    limit: JsonValue,
    messages: list[JsonValue],
    tools: Iterable[tuple[JsonValue, JsonObject]],
    chosen: str,
    schema: JsonValue,
) -> JsonObject:
    """The request as one of the Messages API. `tools` are names and schemas, `chosen` is the tool that has to be called,
    `schema` is that of the answer."""
    request: JsonObject = {
        "model": model,
        "max_tokens": limit if isinstance(limit, int) else _DEFAULT_LIMIT,
        "messages": messages,
        "tools": [{"name": name, "input_schema": each or {"type": "object"}} for name, each in tools],
    }
    given = body.get("tool_choice")
    if isinstance(given, str):
        kind = _CHOICES.get(given, "auto")
    else:
        kind = "tool" if chosen else "any" if as_dict(given).get("mode") == "required" else ""
    single: JsonObject = {"disable_parallel_tool_use": True} if body.get("parallel_tool_calls") is False else {}
    if kind or single:
        request["tool_choice"] = {"type": kind or "auto", **({"name": chosen} if kind == "tool" else {}), **single}
    if isinstance(schema, dict):
        request["output_config"] = {"format": {"type": "json_schema", "schema": schema}}
    return request


def text_blocks(content: JsonValue) -> list[JsonValue]:
    """The texts of a content, which is a text or parts."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    parts = (as_dict(part) for part in as_list(content))
    return [{"type": "text", "text": part.get("text")} for part in parts if isinstance(part.get("text"), str)]


class OpenaiModel:
    """All models of one simulator. They remember how the prompts began that they have seen."""

    def __init__(self, *, scenario: str, seed: int) -> None:
        self._model = ScriptedModel(scenario=scenario, seed=seed)
        self._seen: set[bytes] = set()

    def play(self, request: JsonObject, *, thinks: bool, secret: bytes, ids: Ids) -> PlayedTurn:
        """The turn that is due. Raises SettingsInvalid if the request names an unknown scenario."""
        prompt = Prompt(thinking="adaptive" if thinks else "off", interleaved=True)
        return self._model.play(
            request, prompt=prompt, signer=None, ids=ids, empty_delta=False, mark=partial(add_mark, secret)
        )

    def cached(self, segments: Iterable[tuple[JsonValue, int]], *, owner: str, model: str, unit: int) -> int:
        """The number of prompt tokens that this owner sent before, from the beginning on, in whole units.

        A segment is a piece of the prompt and its tokens. The whole prompt counts as seen from now on.
        """
        running = hashlib.sha256(f"{owner}\n{model}".encode())
        cached = count = 0
        for segment, tokens in segments:
            running.update(msgspec.json.encode(segment, order="sorted"))
            count += tokens
            if running.digest() in self._seen:
                cached = count
            self._seen.add(running.digest())
        return cached // unit * unit if unit else 0

    def reset(self) -> None:
        self._seen.clear()
