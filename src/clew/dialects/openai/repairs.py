"""What to change after a backend refused a request, by tables of a dialect: vendors' words, and weaker options to try.

A repair is a weaker form of the options: the same request is written again with it. Each kind of refusal has its own list
of repairs, and none is tried twice. The words are the vendors' and unstable, so they are searched for what cannot be left
out; a refusal that is not recognised goes to the client as it is. Only a refusal counts (`refused` in `failures.toml`): a
signature that is refused with a 403 is a credential's, and a server that fails refuses nothing, unless it repeats the
refusal of a vendor. Images are refused with other statuses too; a conversation with one in it could not go on at such a
backend otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

from msgspec import Struct

from clew.dialects.failures.reading import room_in
from clew.dialects.shape import RequestRepair
from clew.model.facts.failures import is_refusal

MOST_REPAIRS: Final = 3
_MOST: Final = 4000
"""Characters that are searched. Some servers send the whole request back with their error, where all words are found."""

LESS: Final = "less"
IMAGES: Final = "images"
BLIND: Final = re.compile(
    r"not a multimodal model|image input is not supported|support image input|image_url is only supported"
    r"|unknown variant `?image_url|(?:does not|doesn't) support (?:image|vision)"
    r"|Invalid API parameter, please check the documentation",
    re.IGNORECASE,
)
"""vLLM, llama.cpp, OpenRouter, Groq, DeepSeek; what others say; and Z.ai, which says no more than that of an image (nor of
other things: where there is no image, this changes nothing and is not tried)."""
_NOT_FOUND: Final = 404
_GONE: Final = re.compile(r"item with id \S+ not found", re.IGNORECASE)
"""What OpenAI says of a thought that it can read no more: it is no route that is missing."""
_BLIND_STATUS: Final = frozenset({400, 404, 422, 500})

Weaken: TypeAlias = Callable[[object, Mapping[str, object]], object]
"""Options with others in their place."""


class RepairKind(Struct, frozen=True):
    """One kind of repair: the options that it changes, and why it is done."""

    options: Mapping[str, object]
    why: str
    is_plain: bool = False
    """It alters something that is no matter of thinking."""


class TableRepairs:
    """The repairs of a dialect, from its tables. `less` and `images` are among the kinds."""

    def __init__(
        self,
        kinds: Mapping[str, RepairKind],
        refusals: Sequence[tuple[str, tuple[str, ...]]],
        weaken: Weaken,
        *,
        loop_long: Sequence[str],
        passing: Sequence[str],
        reducing: str,
        account_long: Sequence[str] = (),
    ) -> None:
        """`refusals` are vendors' words and what to try after them, in order; the first that fits counts. `passing` repairs
        hold for one request alone."""
        self.lasting: Sequence[str] = [name for name in kinds if name not in (*loop_long, *passing)]
        self.loop_long = loop_long
        self.account_long = account_long
        self.reducing = reducing
        self._kinds = kinds
        self._weaken = weaken
        self._refusals = tuple((re.compile(words, re.IGNORECASE), names) for words, names in refusals)

    def repair(self, options: object, status: int, words: str, tried: Sequence[str]) -> RequestRepair | None:
        """What to try after this refusal; None if it is about something else, or nothing is left."""
        words = words[:_MOST]
        if len(frozenset(tried)) >= MOST_REPAIRS:
            return None
        if IMAGES not in tried and status in _BLIND_STATUS and BLIND.search(words):
            found = self._weaker(options, IMAGES)
            if found.options != options:
                return found
        if not is_refusal(status, words) and not (status == _NOT_FOUND and _GONE.search(words)):
            return None
        room = room_in(words)
        if room is not None and LESS not in tried:
            weaker = self._weaken(options, {"most_tokens": room})
            return RequestRepair(LESS, weaker, "replaced", "max_tokens", self._kinds[LESS].why)
        names = next((names for pattern, names in self._refusals if pattern.search(words)), ())
        weaker_ones = (self._weaker(options, name) for name in names if name not in tried)
        return next((each for each in weaker_ones if each.options != options), None)

    def repeat(self, options: object, names: Sequence[str]) -> Sequence[RequestRepair]:
        """Each of these repairs that changes anything, one upon the other: the last has the options to begin with."""
        done: list[RequestRepair] = []
        for name in names:
            found = self._weaker(options, name)
            if found.options != options:
                done.append(found)
                options = found.options
        return done

    def _weaker(self, options: object, name: str) -> RequestRepair:
        kind = self._kinds[name]
        weaker = self._weaken(options, kind.options)
        return RequestRepair(name, weaker, "replaced" if kind.is_plain else "healed", "messages", kind.why)
