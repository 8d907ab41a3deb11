"""Parameters that a client for another model cannot get right: each step makes one of them legal for the target.

`answer_length`: a longer answer than the model gives is asked for as its longest (R7). So is one whose length a client of
another dialect left open, since the Messages API does not.

`sampling` (R2, R13, R14): the newer API version has no sampling parameters. In the older one, newer models take only the
defaults, older ones are narrow while they think, and some take `temperature` or `top_p`, but not both. Refused values are
left out, and nothing else: a default that is legal stays.

`stop_words`: blank ones, which clients of other dialects may send, are refused (R15), and left out.

`answer_form`: a schema for the answer, which older Claude models do not take, is left out for clients of other dialects.

`forced_tools`: a forced tool that the model refuses (R49) is left to the vendor to refuse, in its own words, unless the
config says to let the model choose instead. So it may where the client speaks another dialect: what it asks is legal there.

`safeguards`: Anthropic's own safeguard settings go to Anthropic alone. To every other backend they are an unknown field.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

import msgspec
from msgspec import UNSET, Raw, Struct

from clew.model.change import Change
from clew.model.facts import ModelFacts, blocks, fields
from clew.model.json import JsonObject
from clew.model.origin import ANTHROPIC, Target
from clew.model.request import Request
from clew.pipeline.step import Facts
from clew.pipeline.thinking_modes import mode_of
from clew.pipeline.values import number_of, object_of, rewrite_object, with_changed_fields

_strings = msgspec.json.Decoder(list[str])
LIMITS = "limits"
"""The name of four steps, in their changes."""

SAMPLING_PARAMETERS = ("temperature", "top_p", "top_k")
WITHOUT_SAMPLING = "2026-10-21"
"""The API version that has no sampling parameters."""

NOT_ASKED = "the client sent no max_tokens, and the Messages API needs one: this is the model's maximum"
BLANK = "a blank stop sequence is refused (R15)"
VERSION = f"anthropic-version {WITHOUT_SAMPLING} has no sampling parameters (R2)"
DEPRECATED = "deprecated for this model (R14)"
THINKING = "not with thinking (R13)"
BOTH = "this model takes temperature or top_p, not both (R14)"


def answer_length(request: Request, target: Target, facts: Facts) -> tuple[Request, tuple[Change, ...]]:
    """The step: `max_tokens`, within the model's cap."""
    asked, cap = number_of(request.body.max_tokens), target.profile.max_tokens
    if request.body.max_tokens is UNSET and request.source.native is not None:
        cap, why = cap or target.profile.max_tokens_usual, NOT_ASKED
    elif not cap or asked is None or asked <= cap:
        return request, ()
    else:
        why = f"{asked} is more than this model allows ({cap}) (R7)"
    return request.with_fields(max_tokens=Raw(msgspec.json.encode(cap))), (Change(LIMITS, "max_tokens", "set", why),)


def forced_tools(request: Request, target: Target, facts: Facts) -> tuple[Request, tuple[Change, ...]]:
    """The step: `auto` instead of a forced tool that is refused, if the config asks for it, or the client cannot know."""
    choice = object_of(request.body.tool_choice)
    keeps = facts.options.forced_tools == "keep" and request.source.native is None
    if keeps or choice is None or request.body.tool_choice is UNSET:
        return request, ()
    manual = mode_of(object_of(request.body.thinking)) == "enabled"
    is_refused = target.profile.forced_tools == "reject" or manual
    if choice.get("type") not in ("any", "tool") or not is_refused:
        return request, ()
    free: JsonObject = {**{key: value for key, value in choice.items() if key != "name"}, "type": "auto"}
    new = rewrite_object(request.body.tool_choice, free, path="tool_choice")
    why = "not with thinking.type enabled (R49)" if manual else "this model refuses forced tools (R49)"
    return with_changed_fields(request, tool_choice=new), (Change(LIMITS, "tool_choice", "set", why),)


def stop_words(request: Request, target: Target, facts: Facts) -> tuple[Request, tuple[Change, ...]]:
    """The step: stop sequences of a client of another dialect, without blank ones."""
    if request.body.stop_sequences is UNSET or request.source.native is None:
        return request, ()
    given = _strings.decode(request.body.stop_sequences)
    left = [each for each in given if each.strip()]
    if len(left) == len(given):
        return request, ()
    changes = tuple(
        Change(LIMITS, f"stop_sequences.{at}", "removed", BLANK) for at, each in enumerate(given) if not each.strip()
    )
    return request.with_fields(stop_sequences=Raw(msgspec.json.encode(left)) if left else UNSET), changes


def answer_form(request: Request, target: Target, facts: Facts) -> tuple[Request, tuple[Change, ...]]:
    """The step: no schema for the answer, where a client of another dialect gives one and this Claude takes none."""
    if request.body.output_config is UNSET or request.source.native is None:
        return request, ()
    config = object_of(request.body.output_config) or {}
    if "format" not in config or target.profile.structured or target.realm != ANTHROPIC:
        return request, ()
    rest: JsonObject = {key: value for key, value in config.items() if key != "format"}
    new = rewrite_object(request.body.output_config, rest or None, path="output_config")
    change = Change(LIMITS, "output_config.format", "removed", "this model's answers cannot be held to a schema")
    return with_changed_fields(request, output_config=new), (change,)


def sampling(request: Request, target: Target, facts: Facts) -> tuple[Request, tuple[Change, ...]]:
    """The step: sampling parameters that the target refuses are left out."""
    refused = _refused_sampling(request, target.profile, facts.version)
    if not refused:
        return request, ()
    changes = tuple(Change("sampling", name, "removed", why) for name, why in refused.items())
    return request.with_fields(**dict.fromkeys(refused, UNSET)), changes


def _refused_sampling(request: Request, profile: ModelFacts, version: str) -> dict[str, str]:
    """The parameters that may not go, and why."""
    given = [name for name in SAMPLING_PARAMETERS if getattr(request.body, name) is not UNSET]
    if not given or version == WITHOUT_SAMPLING:
        return dict.fromkeys(given, VERSION)
    numbers = {name: value for name in given if (value := number_of(getattr(request.body, name))) is not None}
    thinks = mode_of(object_of(request.body.thinking)) in ("enabled", "adaptive")
    refused: dict[str, str] = {}
    for name, value in numbers.items():
        is_default = name != "top_k" and value == 1
        if profile.sampling == "reject" and not is_default:
            refused[name] = DEPRECATED
        elif profile.sampling != "reject" and thinks and not (0.95 <= value <= 1 if name == "top_p" else is_default):
            refused[name] = THINKING
    left = numbers.keys() - refused.keys()
    both = not profile.temperature_and_top_p and {"temperature", "top_p"} <= left
    return {**refused, "top_p": BOTH} if both else refused


def safeguards(request: Request, target: Target, facts: Facts) -> tuple[Request, tuple[Change, ...]]:
    """The step: Anthropic's safeguard settings are left out for all others."""
    if target.realm == ANTHROPIC or request.body.safeguards is UNSET:
        return request, ()
    change = Change("safeguards", "safeguards", "removed", f"only Anthropic knows them, not {target.backend}")
    return request.with_fields(safeguards=UNSET), (change,)


# ── betas: some fields and blocks of messages are refused without a value of the `anthropic-beta` header


_Either: TypeAlias = tuple[str, ...]
"""Betas of which one is enough. The tables of facts name them (`fields.toml`, `blocks.toml`)."""


class _Block(Struct):
    type: str = ""


class _Message(Struct):
    role: str
    content: list[_Block] | str | None = None

    @property
    def blocks(self) -> list[_Block]:
        return self.content if isinstance(self.content, list) else []


_message = msgspec.json.Decoder(_Message)
_keys = msgspec.json.Decoder(dict[str, Raw])


def needed_betas(messages: Iterable[bytes | Raw], given: Sequence[str] = ()) -> tuple[str, ...]:
    """What must be sent besides `given`. Where one of several is enough, it is the first that the tables name.

    >>> needed_betas([b'{"role": "system", "content": [], "output_config": {"effort": "low"}}'])
    ('mid-conversation-output-config-2026-07-01',)
    """
    found = list(given)
    for either in dict.fromkeys(each for message in messages for each in _gates(message)):
        if not set(either).intersection(found):
            found.append(either[0])
    return tuple(found[len(given) :])


def _gates(raw: bytes | Raw) -> Iterator[_Either]:
    """Of one message. One of another shape has none: it is refused for its shape."""
    try:
        message, values = _message.decode(raw), _keys.decode(raw)
    except msgspec.MsgspecError:
        return
    shape = fields().shapes.get(f"message.{message.role}")
    for name, field in shape.fields.items() if shape else ():
        if field.beta and name in values and bytes(values[name]) != b"null":
            yield field.beta
    for block in message.blocks:
        known = blocks().get(block.type)
        if known and known.beta:
            yield known.beta
