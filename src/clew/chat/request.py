"""The request that a conversation sends: its line as messages, and how it wishes to be answered.

A line is sent as its client holds it; what a backend needs instead is the engine's business. One thing is added: after an
answer that was cut short, the next message says so, because the model must not take its own fragment for what it meant to
say. It is added each time in the same place, so that what was sent stays as it was sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec
from msgspec import Raw, Struct

from clew.chat.lines import held
from clew.chat.turns import Spot
from clew.model.json import JsonObject, JsonValue
from clew.pipeline.betas import needed_betas
from clew.thinking.seal import Sealer

__all__ = ["CUT", "Wishes", "history_of", "request_of"]

CUT: Final = "<system-reminder>The answer before this message was interrupted: it is not whole.</system-reminder>"
"""In the tag that recognition passes over, so that it is nobody's words."""


class Wishes(Struct, frozen=True, kw_only=True):
    """How a conversation is asked."""

    model: str = ""
    max_tokens: int = 16_000
    system: str | Sequence[JsonObject] = ""
    tools: Sequence[JsonObject] = ()
    thinking: JsonObject | None = None
    effort: str = ""
    schema: JsonObject | None = None
    """The JSON Schema that the text of an answer must fit."""
    tool_choice: JsonObject | None = None
    """Which tools may be called, where there are any."""

    def fields(self) -> dict[str, object]:
        """The fields of a request's body that were wished for; no others."""
        given: dict[str, object] = {
            "system": self.system,
            "tools": self.tools,
            "tool_choice": self.tool_choice if self.tools else None,
            "thinking": self.thinking,
            "output_config": self._output(),
        }
        return {name: value for name, value in given.items() if value}

    def _output(self) -> dict[str, object]:
        form = {"type": "json_schema", "schema": self.schema} if self.schema else None
        return {name: value for name, value in {"effort": self.effort, "format": form}.items() if value}


def request_of(
    model: str, wishes: Wishes, line: Sequence[Spot], asked: tuple[bytes, ...], sealer: Sealer
) -> tuple[bytes, tuple[str, ...]]:
    """The whole request for an answer to `asked`, after this line: its body, and its betas."""
    messages = [*history_of(line, sealer), *_asked(asked, line[-1] if line else None)]
    fixed = {"model": model, "max_tokens": wishes.max_tokens, "stream": True}
    body = msgspec.json.encode({**fixed, **wishes.fields(), "messages": messages})
    sent = _sent_betas(line)
    return body, (*sent, *needed_betas(messages, sent))


def _sent_betas(line: Sequence[Spot]) -> tuple[str, ...]:
    """Those that the newest request of the line was sent with, whoever sent it. It held the whole line, so they allow all of
    it."""
    sent = (spot.exchange.betas for spot in reversed(line) if spot.exchange is not None)
    return next(filter(None, sent), ())


def history_of(line: Iterable[Spot], sealer: Sealer) -> Iterator[Raw]:
    """The messages of a line, as its client holds them."""
    before: Spot | None = None
    for spot in line:
        yield from _asked(spot.passage.asked, before)
        if spot.answer is not None:
            yield Raw(msgspec.json.encode({"role": "assistant", "content": held(spot.answer, sealer)}))
        before = spot


def _asked(asked: tuple[bytes, ...], before: Spot | None) -> Iterator[Raw]:
    """As it was said; after an answer that was cut short, with a word of that."""
    cut = before is not None and before.answer is not None and not before.answer.whole
    for index, raw in enumerate(asked):
        yield Raw(_marked(raw) if cut and index == 0 else raw)


def _marked(raw: bytes) -> bytes:
    message = msgspec.json.decode(raw, type=JsonObject)
    content = message.get("content")
    said: list[JsonValue] = content if isinstance(content, list) else [{"type": "text", "text": content}]
    results = [block for block in said if isinstance(block, dict) and block.get("type") == "tool_result"]
    others = [block for block in said if block not in results]
    return msgspec.json.encode({**message, "content": [*results, {"type": "text", "text": CUT}, *others]})
