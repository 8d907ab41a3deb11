"""Which refusals are about thinking, read from the vendor's words.

The words are the vendor's and unstable; several spellings of each are in the wild, also wrapped by other hosts. A refusal
that is not recognised here goes to the client as it is.
"""

from __future__ import annotations

import re
from typing import Literal, TypeAlias

from msgspec import Struct

from clew.model.facts.failures import is_refusal

Rule: TypeAlias = Literal["R33", "R34", "R35", "R37", "R38", "R44"]

# In the order of trial: R44's text begins with R33's.
_WORDS: tuple[tuple[Rule, str], ...] = (
    ("R44", r"bound to a different conversation"),
    ("R33", r"invalid\W+signature\W+in\W+thinking"),
    ("R33", r"invalid\W+data\W+in\W+redacted_thinking"),
    ("R33", r"signature in the reasoningcontent block.{0,80}is invalid"),
    ("R33", r"thinking\.(signature|thinking)(\.str)?: (field required|input should be a valid string)"),
    ("R33", r"each thinking block must contain thinking"),
    ("R34", r"thinking\W+blocks in the latest assistant message cannot be modified"),
    ("R34", r"the blocks must match the parameters during the original request"),
    ("R35", r"expected\W+thinking\W+or\W+redacted_thinking\W+but found"),
    ("R37", r"final block in an assistant message cannot be\W+thinking"),
    ("R38", r"when thinking is disabled, an\W+assistant\W+message in the final position cannot contain"),
)
_PATTERNS: tuple[tuple[Rule, re.Pattern[str]], ...] = tuple(
    (rule, re.compile(words, re.IGNORECASE)) for rule, words in _WORDS
)
_MOST = 4000
"""Characters that are searched. Some servers send the whole request back with their error, where all words are found."""
_INDEX = re.compile(r"messages\.(\d+)(?:\.content\.(\d+))?")


class ThinkingRefusal(Struct, frozen=True):
    """What a vendor refused: the rule, and the message and block that it names (its own indices, which can be off)."""

    rule: Rule
    message: int | None = None
    block: int | None = None


def refusal_in(status: int, words: str) -> ThinkingRefusal | None:
    """The refusal, if it is one and speaks of thinking."""
    words = words[:_MOST]
    if not is_refusal(status, words):
        return None
    rule: Rule | None = next((rule for rule, pattern in _PATTERNS if pattern.search(words)), None)
    if rule is None:
        return None
    index = _INDEX.search(words)
    if index is None:
        return ThinkingRefusal(rule)
    return ThinkingRefusal(rule, int(index[1]), int(index[2]) if index[2] else None)
