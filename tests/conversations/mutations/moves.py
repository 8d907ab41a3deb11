"""How a mutation works: on a copy, with choices drawn by hypothesis, or not at all if the request has no fitting place."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeVar

from hypothesis import strategies as st

from clew.model.facts import ModelFacts, profile_for
from tests.build import Json
from tests.conversations.asked import Asked
from tests.conversations.scene import Wish

T = TypeVar("T")


class NoPlaceError(Exception):
    """This request has nothing that this mutation could alter."""


class Move:
    """A legal request, being altered."""

    def __init__(self, draw: Any, asked: Asked) -> None:
        self.draw = draw
        self.body: Json = copy.deepcopy(asked.body)
        self.headers = dict(asked.headers)
        self.counting = asked.counting
        self.raw: bytes | None = None

    def done(self) -> Asked:
        return Asked(self.body, self.headers, self.counting, self.raw)

    # ── choices

    def pick(self, *options: T) -> T:
        if not options:
            raise NoPlaceError
        return self.draw(st.sampled_from(options))

    def need(self, holds: object) -> None:
        if not holds:
            raise NoPlaceError

    # ── where

    @property
    def profile(self) -> ModelFacts:
        return profile_for(self.body["model"])

    @property
    def mode(self) -> str:
        return self.body.get("thinking", {}).get("type", "")

    @property
    def betas(self) -> list[str]:
        return [beta for beta in self.headers.get("anthropic-beta", "").split(",") if beta]

    @property
    def messages(self) -> list[Json]:
        return self.body["messages"]

    def spoken_by(self, *roles: str) -> list[Json]:
        return [message for message in self.messages if message["role"] in roles]

    def listed(self, *roles: str) -> list[Json]:
        """Messages with a list of blocks."""
        return [each for each in self.spoken_by(*roles) if isinstance(each.get("content"), list)]

    def blocks(self, *kinds: str) -> list[Json]:
        return [block for block in self.all_blocks() if block["type"] in kinds]

    def all_blocks(self) -> Iterator[Json]:
        for message in self.listed("user", "assistant", "system"):
            yield from message["content"]

    def a_block(self, *kinds: str) -> Json:
        return self.pick(*self.blocks(*kinds))

    def with_blocks(self, *kinds: str) -> Json:
        """A message that has such a block."""
        return self.pick(*(each for each in self.listed("user", "assistant") if _has(each, kinds)))

    # ── what

    def set_beta(self, *more: str) -> None:
        self.headers["anthropic-beta"] = ",".join(dict.fromkeys([*self.betas, *more]))

    def drop_beta(self, *gone: str) -> None:
        kept = [beta for beta in self.betas if beta not in gone]
        self.headers.pop("anthropic-beta", None)
        if kept:
            self.headers["anthropic-beta"] = ",".join(kept)

    def as_list(self, message: Json) -> list[Json]:
        """The message's content as a list, made one if it was a string."""
        if not isinstance(message.get("content"), list):
            message["content"] = [{"type": "text", "text": message["content"]}] if message.get("content") else []
        return message["content"]


def _has(message: Json, kinds: tuple[str, ...]) -> bool:
    return any(block["type"] in kinds for block in message["content"])


class Mutation(NamedTuple):
    """One step. `rule` is what it aims at, "" for anything; `wish` is the request that has a place for it."""

    name: str
    rule: str
    alter: Callable[[Move], None]
    wish: Wish


class Catalogue:
    """Collects a module's mutations: `@steps.breaks("R22.empty-text")`."""

    def __init__(self) -> None:
        self.mutations: list[Mutation] = []

    def breaks(self, rule: str = "", **wish: Any) -> Callable[[Callable[[Move], None]], Callable[[Move], None]]:
        def keep(alter: Callable[[Move], None]) -> Callable[[Move], None]:
            self.mutations.append(Mutation(alter.__name__, rule, alter, Wish(**wish)))
            return alter

        return keep


def mutate(draw: Any, mutation: Mutation, asked: Asked) -> Asked | None:
    """The altered request, or None if there is no place for the step."""
    move = Move(draw, asked)
    try:
        mutation.alter(move)
    except NoPlaceError:
        return None
    return move.done()
