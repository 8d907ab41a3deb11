"""What to change after a backend refused a request for its reasoning, length, roles or images, before its answer began.

A repair is a weaker form of the options: the same request is written again with it. Each kind of refusal has its own list
of repairs, and none is tried twice. The words are the vendors' and unstable, so they are searched for what cannot be left
out; a refusal that is not recognised goes to the client as it is. Only a refusal counts (`refused` in `failures.toml`): a
signature that is refused with a 403 is a credential's, and a server that fails refuses nothing, unless it repeats the
refusal of a vendor. Images are refused with other statuses too; a conversation with one in it could not go on at such a
backend otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, Literal, TypeAlias, cast, get_args

from msgspec import structs

from clew.dialects.failures.reading import room_in
from clew.dialects.openai_chat.options import Apart, ChatOptions
from clew.dialects.shape import RequestRepair
from clew.model.facts.failures import is_refusal

MOST_REPAIRS: Final = 3
_MOST: Final = 4000
"""Characters that are searched. Some servers send the whole request back with their error, where all words are found."""

RepairName: TypeAlias = Literal[
    "less", "images", "roles", "fill", "none", "entries", "signatures", "budget", "levels", "effort", "free tools", "off"
]

_UNCHECKED: Final = {"extra_content": {"google": {"thought_signature": "skip_thought_signature_validator"}}}
"""Google's own word, on a call, for a signature that is not there. Others than Google's endpoint serve its models, too."""

_CHANGES: Final[dict[RepairName, dict[str, object]]] = {
    "images": {"images": "omit"},
    "roles": {"apart": frozenset(get_args(Apart))},
    "fill": {"missing": "space", "missing_on": "all", "empty": {}},
    "none": {"reasoning": "", "missing": "nothing"},
    "entries": {"entries": False},
    "signatures": {"unsigned_call": _UNCHECKED},
    "budget": {"budgets": False},
    "levels": {"levels": ("low", "medium", "high")},
    "effort": {"knob": ""},
    "free tools": {"forced": "auto"},
    "off": {"thinks": False},
}
"""The options that each repair changes."""

_WHY: Final[dict[RepairName, str]] = {
    "less": "refused for the length of the answer that was asked for: it is asked for less",
    "images": "refused for an image: each is left out, with a text in its place",
    "roles": "refused for the order of its roles: those that may not follow each other have a message between them",
    "fill": "refused for missing reasoning: every answer gets the least that can stand for it",
    "none": "refused for reasoning that came back: none goes",
    "entries": "refused for reasoning that it could not read: only its text goes",
    "signatures": "refused for a call without a signature: each such gets the vendor's word for that",
    "budget": "refused for the tokens to think with: a level is asked for instead",
    "levels": "refused for this effort: the nearest of low, medium and high is asked for",
    "effort": "refused for the effort: the backend's default holds",
    "free tools": "refused for a forced tool: the choice is free",
    "off": "refused for its reasoning: no thinking this time",
}

_VALUES: Final = r"supported values|does not support '|invalid value|one of|input should be"
"""How it is said that a field has another value than it may have."""

_REFUSALS: Final[tuple[tuple[str, tuple[RepairName, ...]], ...]] = (
    (r"reasoning_content\b.*(?:must be passed back|is missing)|missing reasoning_content", ("fill", "off")),
    (r"thinking\b.*must be passed back", ("fill", "off")),
    (r"reasoning_(?:content|details)\W[^.]{0,60}(?:not (?:allowed|permitted|supported)|unsupported)", ("none",)),
    (r"(?:unknown|unrecognized|unsupported) \w+\W{0,3}messages?\b.{0,20}reasoning_(?:content|details)", ("none",)),
    (r"missing an?\W+thought_?signature|thought_?signature\W+is\W+(?:missing|required)", ("signatures", "off")),
    (r"(?:corrupted|invalid)\W+thought\W*signature|thought_?signature is invalid", ("entries", "off")),
    (r"signature in the reasoningcontent block.{0,80}is invalid", ("entries", "off")),
    (r"invalid\W+signature\W+in\W+\W*thinking|invalid\W+data\W+in\W+\W*redacted_thinking", ("entries", "off")),
    (r"thinking\W+blocks.*cannot be modified|bound to a different conversation", ("entries", "off")),
    (
        r"invalid_encrypted_content|encrypted content.*(?:could not be verified|decrypted|did not match|recognized prefix)",
        ("entries", "off"),
    ),
    (r"duplicate item|item with id 'rs_|without its required", ("entries", "off")),
    (r"thinking mode does not support this tool_choice|tool_choice.*(?:thinking|reasoning)", ("free tools", "off")),
    (r"thinking_token_budget|thinking_budget|reasoning_budget", ("budget", "effort")),
    (rf"(?:{_VALUES})[\s\S]*effort|effort[\s\S]*(?:{_VALUES})", ("levels", "effort")),
    (r"reasoning_effort|reasoning\.effort|unsupported (?:value|effort).*effort", ("effort",)),
    (r"unexpected role '\w+' after role 'tool'|roles must alternate|successive user or assistant messages", ("roles",)),
    (r"does not support thinking|think value\b.*is not supported", ("effort",)),
)
"""Vendors' words, and what to try after them, in order; the first that fits counts."""

_BLIND: Final = re.compile(
    r"not a multimodal model|image input is not supported|support image input|image_url is only supported"
    r"|unknown variant `?image_url|(?:does not|doesn't) support (?:image|vision)"
    r"|Invalid API parameter, please check the documentation",
    re.IGNORECASE,
)
"""vLLM, llama.cpp, OpenRouter, Groq, DeepSeek; what others say; and Z.ai, which says no more than that of an image (nor of
other things: where there is no image, this changes nothing and is not tried)."""
_BLIND_STATUS: Final = frozenset({400, 404, 422, 500})

_BY_WORDS: Final = tuple((re.compile(words, re.IGNORECASE), names) for words, names in _REFUSALS)


class ChatRepairs:
    """The repairs of this dialect. Options are `ChatOptions`."""

    lasting: Sequence[str] = ("images", "roles", "fill", "none", "signatures", "budget", "levels", "effort", "free tools")
    """What holds for the rest of a conversation: the backend would refuse it again. (How long an answer may be depends on
    each request; which entries could not be read is in the strand itself, thought by thought:
    `model.blocks.reduce_thought`.)"""
    loop_long: Sequence[str] = ("off",)
    """What holds until the tool loop is over."""
    reducing = "entries"

    def repair(self, options: object, status: int, words: str, tried: Sequence[str]) -> RequestRepair | None:
        """What to try after this refusal; None if it is about something else, or nothing is left."""
        given, words = _chat(options), words[:_MOST]
        if len(frozenset(tried)) >= MOST_REPAIRS:
            return None
        takes_images = given.request.images == "take" and "images" not in tried
        if takes_images and status in _BLIND_STATUS and _BLIND.search(words):
            return _weaker(given, "images")
        if not is_refusal(status, words):
            return None
        room = room_in(words)
        if room is not None and "less" not in tried:
            weaker = structs.replace(given, request=structs.replace(given.request, most_tokens=room))
            return RequestRepair("less", weaker, "replaced", "max_tokens", _WHY["less"])
        names = next((names for pattern, names in _BY_WORDS if pattern.search(words)), ())
        found = (_weaker(given, name) for name in names if name not in tried)
        return next((each for each in found if each.options != given), None)

    def repeat(self, options: object, names: Sequence[str]) -> Sequence[RequestRepair]:
        """Each of these repairs that changes anything, one upon the other: the last has the options to begin with."""
        given = _chat(options)
        done: list[RequestRepair] = []
        for name in names:
            found = _weaker(given, cast("RepairName", name))
            if found.options != given:
                done.append(found)
                given = _chat(found.options)
        return done


REPAIRS: Final = ChatRepairs()


def _chat(options: object) -> ChatOptions:
    assert isinstance(options, ChatOptions), "the options of this dialect"
    return options


def _weaker(options: ChatOptions, name: RepairName) -> RequestRepair:
    """A role or an image that is altered is no matter of thinking; every other repair is."""
    weaker = structs.replace(options, request=structs.replace(options.request, **_CHANGES[name]))
    return RequestRepair(name, weaker, "replaced" if name in ("images", "roles") else "healed", "messages", _WHY[name])
