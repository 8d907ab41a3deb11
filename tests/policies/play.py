"""One conversation after the other through one policy, and what its users and models would notice.

The client is the imitation of Claude Code: it hides other models' thinking, and after a refusal it tries once more without
any. *Due* are the blocks of the client's history that the backend asked now made itself and that nothing has spoilt since;
*lost* are those of them that it did not get. A block counts once, however often it is lost.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, fields
from typing import Any

from clew.model.origin import Origin
from clew.simulator.interfaces import JudgeVerdict
from tests.build import Json
from tests.identity.client import ClaudeCode
from tests.policies.policies import Policy
from tests.policies.vendors import CLAUDE, STANCES, Vendor, id_of, thoughts_in

TOOLS = [{"name": "Bash", "input_schema": {"type": "object"}}]
LOOP = 3
"""The most answers with a tool call, until one ends the loop."""


@dataclass
class Tally:
    requests: int = 0
    due: int = 0
    lost: int = 0
    refused: int = 0
    """400s that the client saw."""
    healed: int = 0
    """400s that it did not see."""
    stuck: int = 0

    @property
    def harm(self) -> int:
        """All that should be zero."""
        return self.lost + self.refused + self.stuck

    def add(self, other: Tally) -> None:
        for each in fields(self):
            setattr(self, each.name, getattr(self, each.name) + getattr(other, each.name))


class Stuck(Exception):
    """The conversation cannot go on: also without thinking the request is refused."""


class Play:
    def __init__(self, policy: Policy, seed: int) -> None:
        self.policy = policy
        self.chance = random.Random(seed)
        self._stance = STANCES[seed % len(STANCES)]
        self.tally = Tally()
        self.fields: Json = {}
        """What every request has besides; e.g. a thinking parameter."""
        self.shown = True
        self._maker: dict[str, tuple[Origin, str]] = {}
        """Who made each block that a client holds, and what the maker calls it."""
        self._due: set[str] = set()
        self._lost: set[str] = set()
        self._spoilt: set[str] = set()
        self._words = 0

    # --- what a scenario is made of

    def begins(self, **how: Any) -> ClaudeCode:
        return ClaudeCode(session=f"s{self.chance.getrandbits(40):x}", **how)

    def exchange(self, client: ClaudeCode, vendor: Vendor = CLAUDE) -> ClaudeCode:
        """A question, a tool loop, an answer."""
        client = self.asks(client)
        for _ in range(self.chance.randint(0, LOOP)):
            client = self.answer(client, vendor, self.chance.choice(["hu", "htu", "hthu", "rhuu"])).runs()
        return self.answer(client, vendor, self.chance.choice(["ht", "rht", "hthht"]))

    def asks(self, client: ClaudeCode) -> ClaudeCode:
        self._words += 1
        return client.asks(f"question {self._words}")

    def answer(self, client: ClaudeCode, vendor: Vendor, shape: str) -> ClaudeCode:
        """One model call, whole."""
        client, blocks = self._call(client, vendor, shape)
        return client.hears(self._held(blocks, client, vendor, whole=True))

    def interrupted(self, client: ClaudeCode, vendor: Vendor, shape: str) -> ClaudeCode:
        """One model call; the client hangs up when the last block has half come."""
        client, blocks = self._call(client, vendor, shape)
        whole = self._held(blocks[:-1], client, vendor, whole=False)
        half = [{**blocks[-1], "text": blocks[-1]["text"][:4]}]
        return client.escapes([*whole, *half])

    def side(self, client: ClaudeCode, body: Json, vendor: Vendor = CLAUDE) -> None:
        """A request beside the conversation; its answer never comes back."""
        verdict = self._asked(client, vendor, body)[0]
        if not verdict.violation:
            self.policy.held(vendor.says("t", verdict, self.chance), whole=True)

    def body(self, request: Json) -> Json:
        """The client's request with what every one of them has."""
        return {**request, "max_tokens": 4000, "tools": TOOLS, **self.fields}

    def spoils(self, client: ClaudeCode) -> None:
        """The client has altered what stands before its blocks: no vendor would take them back."""
        self._spoilt |= {id for _, id in self._in(client)}

    # --- one call

    def _call(self, client: ClaudeCode, vendor: Vendor, shape: str) -> tuple[ClaudeCode, list[Json]]:
        verdict, body = self._asked(client, vendor, self.body(client.request()))
        if verdict.violation:
            client = client.refused()
            verdict, body = self._asked(client, vendor, self.body(client.request()))
        self._count(client, vendor, [] if verdict.violation else thoughts_in(json.loads(body)["messages"]))
        if verdict.violation:
            self.tally.stuck += 1
            raise Stuck(verdict.violation.message)
        allowed = shape if verdict.prompt.thinking != "off" else shape.replace("h", "").replace("r", "") or "t"
        return client, vendor.says(allowed, verdict, self.chance, shown=self.shown)

    def _asked(self, client: ClaudeCode, vendor: Vendor, body: Json) -> tuple[JudgeVerdict, bytes]:
        """To the backend, corrected as often as the policy can."""
        self.tally.requests += 1
        going: bytes | None = self.policy.going(body, client, vendor)
        while True:
            assert going is not None
            verdict, sent = vendor.judged(going, self._stance), going
            if verdict.violation is None:
                return verdict, sent
            going = self.policy.corrected(verdict.violation)
            if going is None:
                self.tally.refused += 1
                return verdict, sent
            self.tally.healed += 1

    def _held(self, blocks: list[Json], client: ClaudeCode, vendor: Vendor, *, whole: bool) -> list[Json]:
        held = self.policy.held(blocks, whole=whole)
        for native, shown in zip(blocks, held, strict=True):
            if id_of(native):
                self._maker[id_of(shown)] = (vendor.origin(client.model), id_of(native))
        return held

    # --- what is counted

    def _count(self, client: ClaudeCode, vendor: Vendor, delivered: list[str]) -> None:
        due = {id for maker, id in self._in(client) if maker == vendor.origin(client.model)} - self._spoilt
        self._due |= due
        self._lost |= due - set(delivered)
        self.tally.due, self.tally.lost = len(self._due), len(self._lost)

    def _in(self, client: ClaudeCode) -> list[tuple[Origin, str]]:
        """Every thought of the client's history, whether it would send it or not."""
        ids = [id_of(block) for entry in client.entries for block in entry.blocks]
        return [self._maker[id] for id in ids if id in self._maker]
