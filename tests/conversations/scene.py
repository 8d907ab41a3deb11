"""What one drawn request agrees on: model, API version, thinking; and what it collects on the way: betas, ids, tools."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from hypothesis import strategies as st

from clew.model.facts import ModelFacts
from tests.build import Json
from tests.conversations.asked import NEWER

T = TypeVar("T")

WORDS = st.sampled_from(["a", "two words", "ünïcode \U0001f9f6", "line\nbreak", " padded", "x" * 40, "{}", "0"])
BLANKS = st.sampled_from([" ", "\n", "\t \n"])
SIGNATURES = st.sampled_from(["s1g", "EqQBCkYICxgC", "A" * 300])


def _any(_: ModelFacts) -> bool:
    return True


class Wish(NamedTuple):
    """What a request is to be like, where that is not left to chance."""

    fits: Callable[[ModelFacts], bool] = _any
    mode: str = ""
    version: str = ""
    counting: bool | None = None


class Scene:
    """The draw in progress. Its choices come from hypothesis, so that they shrink."""

    def __init__(self, draw: Any, profile: ModelFacts, model: str, version: str) -> None:
        self.draw = draw
        self.profile = profile
        self.model = model
        self.version = version
        self.betas: set[str] = set()
        self.thinking: Json | None = None
        self.effort = ""
        self.tools: list[Json] = []
        self._ids = 0

    # ── choices

    def pick(self, *options: T) -> T:
        return self.draw(st.sampled_from(options))

    def often(self) -> bool:
        return self.draw(st.booleans())

    def seldom(self) -> bool:
        return self.draw(st.sampled_from([False, False, False, False, True]))

    def several(self, least: int, most: int) -> range:
        return range(self.draw(st.integers(least, most)))

    def words(self) -> str:
        return self.draw(WORDS)

    def fresh(self, prefix: str) -> str:
        self._ids += 1
        return f"{prefix}{self._ids}"

    def with_beta(self, *choices: str) -> None:
        self.betas.add(self.pick(*choices))

    # ── what the choices so far mean

    @property
    def newer(self) -> bool:
        return self.version == NEWER

    @property
    def mode(self) -> str:
        return "" if self.thinking is None else self.thinking["type"]

    @property
    def manual(self) -> bool:
        return self.mode == "enabled"

    @property
    def thinks(self) -> bool:
        if self.thinking is None:
            return self.profile.thinking_default != "off"
        return self.mode in ("enabled", "adaptive")

    @property
    def thinking_is_out_of_place(self) -> bool:
        """R38: older models refuse it in the open loop while thinking is off."""
        return not self.thinks and "R38" in self.profile.legacy_texts
