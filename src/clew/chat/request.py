"""The request that a conversation sends: its parameters, and its line of turns as messages.

The line is sent as the client has it: a backend's needs are the engine's task. What the store keeps is what the makers said;
seals and safe tool ids are added again exactly as the client got them, since they are a pure function of the recording. So a
projection of these messages finds its recordings by their own keys, and its changes are those of a real request. One thing
is added: after an answer that was cut, the next message says so, because the model must not take the fragment for its whole
answer. The reminder is always in the same place, so that the messages of later requests begin with the same bytes.

`asking_for` gives the parameters with which a model takes a request for thinking. Models differ in the form of that request
(`clew.pipeline.thinking_modes`), in the header for thinking between tool calls, and in the sampling parameters that they
take beside it. All of that is in their profiles.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec
from msgspec import Raw, Struct

from clew.chat.turns import StoredTurn
from clew.model.change import Change
from clew.model.facts import ModelFacts
from clew.model.facts.models import profile_for
from clew.model.facts.shapes import INTERLEAVED_BETA
from clew.model.json import JsonObject, JsonValue
from clew.model.origin import ANTHROPIC
from clew.model.recording import Recording
from clew.pipeline.betas import needed_betas
from clew.pipeline.stream.client_view import ClientView, ViewOptions
from clew.pipeline.thinking_modes import ThinkingSetting, fit_to_model, is_on, mode_of
from clew.store.values import Passage
from clew.thinking.seal import Sealer

CUT: Final = "<system-reminder>The answer before this message was interrupted: it is not whole.</system-reminder>"
"""In the tag that recognition ignores, so that it does not count as the user's words."""

_WHILE_THINKING: Final = "a model that thinks samples in its own way (R13)"
_DEPRECATED: Final = "deprecated for this model (R14)"
_NOT_BOTH: Final = "this model takes temperature or top_p, not both (R14)"


class Wishes(Struct, frozen=True, kw_only=True):
    """The parameters of a conversation's requests."""

    model: str = ""
    max_tokens: int = 16_000
    system: str | Sequence[JsonObject] = ""
    tools: Sequence[JsonObject] = ()
    thinking: JsonObject | None = None
    effort: str = ""
    schema: JsonObject | None = None
    """The JSON Schema that the text of an answer must fit."""
    tool_choice: JsonObject | None = None
    """Which tools may be called, if there are any."""

    def fields(self) -> dict[str, object]:
        """The fields of a request's body that are set."""
        form = {"type": "json_schema", "schema": self.schema} if self.schema else None
        output: dict[str, object] = {"effort": self.effort, "format": form}
        given: dict[str, object] = {
            "system": self.system,
            "tools": self.tools,
            "tool_choice": self.tool_choice if self.tools else None,
            "thinking": self.thinking,
            "output_config": {name: value for name, value in output.items() if value},
        }
        return {name: value for name, value in given.items() if value}


def request_of(
    model: str, wishes: Wishes, line: Sequence[StoredTurn], asked: tuple[bytes, ...], sealer: Sealer
) -> tuple[bytes, tuple[str, ...]]:
    """The whole request for an answer to `asked`, after this line: its body, and its betas."""
    messages = [*history_of(line, sealer), *_question(asked, line[-1] if line else None)]
    fixed = {"model": model, "max_tokens": wishes.max_tokens, "stream": True}
    body = msgspec.json.encode({**fixed, **wishes.fields(), "messages": messages})
    # The betas of the line's newest request: it held the whole line, so they allow all of it.
    sent = next(filter(None, (stored.exchange.betas for stored in reversed(line) if stored.exchange is not None)), ())
    return body, (*sent, *needed_betas(messages, sent))


def history_of(line: Iterable[StoredTurn], sealer: Sealer) -> Iterator[Raw]:
    """The messages of a line, as its client has them."""
    before: StoredTurn | None = None
    for stored in line:
        yield from _question(stored.passage.asked, before)
        if stored.answer is not None:
            yield Raw(msgspec.json.encode({"role": "assistant", "content": held_blocks_of(stored.answer, sealer)}))
        before = stored


def _question(asked: tuple[bytes, ...], before: StoredTurn | None) -> Iterator[Raw]:
    """The messages of a question; after an answer that was cut, with a reminder of that."""
    cut = before is not None and before.answer is not None and not before.answer.whole
    for index, raw in enumerate(asked):
        yield Raw(_with_reminder(raw) if cut and index == 0 else raw)


def _with_reminder(raw: bytes) -> bytes:
    message = msgspec.json.decode(raw, type=JsonObject)
    content = message.get("content")
    blocks: list[JsonValue] = content if isinstance(content, list) else [{"type": "text", "text": content}]
    results = [block for block in blocks if isinstance(block, dict) and block.get("type") == "tool_result"]
    others = [block for block in blocks if block not in results]
    return msgspec.json.encode({**message, "content": [*results, {"type": "text", "text": CUT}, *others]})


def line_of(passages: Sequence[Passage]) -> list[Passage]:
    """The newest answer and all answers that it followed, oldest first. A rewound thread has other branches too."""
    by_id = {passage.recording.id: passage for passage in passages if passage.recording and passage.recording.blocks}
    at = next((passage.recording for passage in reversed(passages) if passage.recording and passage.recording.blocks), None)
    line: list[Passage] = []
    while at is not None and at.id in by_id:
        passage = by_id.pop(at.id)
        line.append(passage)
        before = by_id.get(at.followed or "")
        at = before.recording if before else None
    return line[::-1]


def messages_of(passage: Passage, sealer: Sealer) -> Iterator[JsonObject]:
    """The messages of a question, and the answer if there is one."""
    for raw in passage.asked:
        yield msgspec.json.decode(raw, type=JsonObject)
    if passage.recording is not None and passage.recording.blocks:
        yield {"role": "assistant", "content": [*held_blocks_of(passage.recording, sealer)]}


def held_blocks_of(recording: Recording, sealer: Sealer) -> list[JsonObject]:
    """The blocks of an answer as its client has them."""
    foreign = recording.origin.realm != ANTHROPIC
    blocks = [msgspec.json.decode(raw, type=JsonObject) for raw in recording.blocks]
    ids = tuple(block.get("id") for block in blocks if block.get("type") == "tool_use")
    view = ClientView(
        ViewOptions(
            model=recording.origin.model,
            exchange=recording.id,
            principal=recording.principal,
            origin=recording.origin,
            sealer=sealer if foreign else None,
            safe_ids=ids != recording.said.ids,
            hide=foreign and not recording.keys,
        )
    )
    return [view.show_block(index, block) for index, block in enumerate(blocks) if not view.is_hidden(block)]


# Thinking parameters


class ThinkingParameters(Struct, frozen=True):
    """Fields for the body of a request, values for its `anthropic-beta` header, and the changes to what was asked."""

    fields: JsonObject
    betas: tuple[str, ...] = ()
    changes: tuple[Change, ...] = ()


def asking_for(
    model: str,
    *,
    max_tokens: int,
    thinking: JsonObject | None = None,
    effort: str | None = None,
    temperature: float | None = None,
    top_p: float | None = None,
    profile: ModelFacts | None = None,
) -> ThinkingParameters:
    """The parameters with which this model takes a request for thinking of any form.

    With thinking, `temperature` is 1 or absent, and `top_p` is absent.

    >>> asking_for("claude-sonnet-4-5", max_tokens=9000, thinking={"type": "enabled", "budget_tokens": 4000}).betas
    ('interleaved-thinking-2025-05-14',)
    >>> asking_for("claude-opus-5-5", max_tokens=9000, thinking={"type": "enabled", "budget_tokens": 4000}).fields
    {'max_tokens': 9000, 'thinking': {'type': 'adaptive'}, 'output_config': {'effort': 'low'}}
    """
    facts = profile or profile_for(model)
    setting = fit_to_model(ThinkingSetting(thinking=thinking, effort=effort, max_tokens=max_tokens), facts)
    given = {"temperature": temperature, "top_p": top_p}
    refused = _refused_sampling({name: value for name, value in given.items() if value is not None}, setting, facts)
    fields: JsonObject = {
        "max_tokens": max_tokens,
        "thinking": setting.thinking,
        "output_config": {"effort": setting.effort} if setting.effort else None,
        **{name: value for name, value in given.items() if name not in refused},
    }
    changes = tuple(Change("sampling", name, "removed", why) for name, why in refused.items())
    present: JsonObject = {name: value for name, value in fields.items() if value is not None}
    betas: tuple[str, ...] = ()
    if mode_of(setting.thinking) == "enabled":  # adaptive thinking needs no header to go on between tool calls
        beta = INTERLEAVED_BETA if facts.interleaved == "beta" else facts.thinking_beta
        betas = (beta,) if beta else ()
    return ThinkingParameters(present, betas, setting.changes + changes)


def _refused_sampling(given: dict[str, float], setting: ThinkingSetting, profile: ModelFacts) -> dict[str, str]:
    thinks = is_on(setting.thinking, profile)
    if thinks or profile.sampling == "reject":
        why = _WHILE_THINKING if thinks else _DEPRECATED
        return {name: why for name, value in given.items() if name != "temperature" or value != 1}
    return {"top_p": _NOT_BOTH} if len(given) > 1 and not profile.temperature_and_top_p else {}
