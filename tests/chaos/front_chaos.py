"""Fifty turns at random by clients of another front: backends and models switched, restarts, rewinds, forks, two at once.

A client holds what its kind keeps of each answer (`tests.identity.front_clients`). The journals of the simulators know what
came and whose each thought was; how many an answer had, the journal of who gave it says. Each client has a name of its own in
the system text, which no rule of identity looks at: by that its requests are found in the journals.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Literal

from clew.testing import Simulator
from tests.build import Json
from tests.chaos.chaos import MODELS, SCENES
from tests.chaos.gate import KEY, Way
from tests.chaos.oracle import Found
from tests.engine.gate import Answer, post
from tests.handoff.front_talk import events_in
from tests.identity.front_clients import FrontClient

MOST_TALKERS = 2
THOUGHTS = ("thinking", "redacted_thinking")


@dataclass(frozen=True)
class Said:
    """A question, an answer or results, as the client sends them; of an answer, who gave it, and its thoughts."""

    role: Literal["question", "answer", "results"]
    kept: tuple[Json, ...]
    reader: str = ""
    thoughts: int = 0


@dataclass(frozen=True, kw_only=True)
class Talker:
    """A client and its conversation. A value: a fork is another one."""

    name: str
    client: FrontClient
    model: str
    said: tuple[Said, ...] = ()

    @property
    def is_in_loop(self) -> bool:
        return bool(self.said) and self.said[-1].role == "answer" and bool(self._results())

    def ready(self, words: str) -> Talker:
        """With something to answer: results, or a question."""
        if self.said and self.said[-1].role != "answer":
            return self
        results = self._results() if self.said else []
        new = Said("results", tuple(results)) if results else Said("question", tuple(self.client.asked(words)))
        return replace(self, said=(*self.said, new))

    def rewound(self, chance: random.Random) -> Talker:
        at = chance.choice([index for index, each in enumerate(self.said) if each.role == "question"])
        return replace(self, said=self.said[:at])

    def body(self) -> Json:
        kept = list(chain.from_iterable(each.kept for each in self.said))
        return {**self.client.body(kept, f"You talk to {self.name}."), "model": self.model, "stream": True}

    def _results(self) -> list[Json]:
        return self.client.results(list(self.said[-1].kept))


@dataclass
class FrontOracle:
    """What the journals say against what the clients were told."""

    simulators: Mapping[str, Simulator]
    may_heal: bool = False
    """A refusal that the client does not see is counted, and nothing more."""
    healed: int = 0
    found: Found = field(default_factory=Found)
    due: int = 0
    alike: int = 0
    """Thoughts that were not due, since another answer has the same words at the same place, and nothing tells them apart."""
    answers: Counter[str] = field(default_factory=Counter[str])
    _histories: Counter[str] = field(default_factory=Counter[str])
    """How many answers ended each history, as clients send it: without a seal, an item or a call's id two can be equal."""
    _read: dict[str, int] = field(default_factory=dict[str, int])
    _last: dict[tuple[str, str], Json] = field(default_factory=dict[tuple[str, str], Json])

    def follow(self, talkers: list[Talker]) -> None:
        """Read what the journals have new."""
        for backend, simulator in self.simulators.items():
            for entry in simulator.journal(self._read.get(backend, 0)):
                self._read[backend] = entry["n"]
                where, body = f"{backend} {entry['n']}", json.dumps(entry["body"])
                verdict = entry["verdict"] or {"ok": True}
                if not verdict["ok"] and self.may_heal:
                    self.healed += 1
                elif not verdict["ok"]:
                    self.found.upstream.append(f"{where}: {verdict['message'][:200]}")
                foreign = [each["path"] for each in entry["thinking"] if each["whose"] not in ("own", "placeholder")]
                self.found.foreign += [f"{where}: {path}" for path in foreign]
                if verdict["ok"]:
                    self._last |= {(backend, each.name): entry for each in talkers if f"You talk to {each.name}." in body}

    def judge(self, talker: Talker, backend: str) -> Said:
        """Whether all came that was due for this answer; and whose it is."""
        entry = self._last[backend, talker.name]
        reader = f"{backend} {entry['response']['model']}"
        due = self._due(talker, reader)
        kept = [each for each in entry["thinking"] if each["fate"] in ("kept", "unread")]  # whether it reads it or not
        own = [each for each in kept if each["whose"] == "own" or each.get("same")]  # an empty thought is nobody's
        if backend == "claude":
            own = [each for each in own if each["maker"] == entry["response"]["model"]]
        self.due += due
        self.answers[reader] += 1
        if len(own) < due:
            self.found.lost.append(f"{reader}, request {entry['n']}: {len(own)} of {due} for {talker.name}")
        thoughts = sum(kind in THOUGHTS for kind in entry["response"]["content"])
        has_one_field = entry["path"].endswith("/chat/completions")  # for all thoughts of an answer
        return Said("answer", (), reader, min(thoughts, 1) if has_one_field else thoughts)

    def answered(self, said: tuple[Said, ...]) -> None:
        """A client holds an answer to what it had said."""
        self._histories[_as_sent(said)] += 1

    def _due(self, talker: Talker, reader: str) -> int:
        """How many thoughts of this reader's must come with what the client says now."""
        due = 0
        for index, each in enumerate(talker.said):
            if each.reader == reader and self._histories[_as_sent(talker.said[: index + 1])] > 1:
                self.alike += each.thoughts
            elif each.reader == reader:
                due += each.thoughts
        return due


def _as_sent(said: tuple[Said, ...]) -> str:
    return json.dumps([each.kept for each in said])


class FrontChaos:
    def __init__(self, way: Way, oracle: FrontOracle, client: FrontClient, seed: int) -> None:
        self.way = way
        self.oracle = oracle
        self.chance = random.Random(seed)
        self.turns = 0
        self.done: list[str] = []
        """What was done, for anyone who has to find out why it went wrong."""
        self._client = client
        self._count = 0
        self._talkers = [self._new()]
        self._saved: list[Talker] = []

    def run(self, turns: int) -> None:
        with ThreadPoolExecutor(MOST_TALKERS) as pool:
            while self.turns < turns and self.oracle.found.clean:
                self._meddle()
                self._step(pool)

    def _new(self) -> Talker:
        self._count += 1
        return Talker(name=f"client {self._count}", client=self._client, model=self.chance.choice(MODELS))

    # --- what happens to them

    def _meddle(self) -> None:
        if self._happens(0.35):
            self._do("use", self.chance.choice(list(self.oracle.simulators)))
        if self._happens(0.05):
            self._do("restart")
        if self._happens(0.15) and len(self._talkers) < MOST_TALKERS:
            self._talkers.append(self._new())
        elif self._happens(0.1) and len(self._talkers) > 1:
            self._talkers.pop(0)
        self._talkers = [self._bothered(each) for each in self._talkers]

    def _do(self, what: str, *how: str) -> None:
        self.done.append(" ".join([what, *how]))
        getattr(self.way, what)(*how)

    def _bothered(self, talker: Talker) -> Talker:
        if self._happens(0.15):
            talker = self._told(replace(talker, model=self.chance.choice(MODELS)), "takes another model")
        if talker.is_in_loop or not talker.said:
            return talker
        roll = self.chance.random()
        if roll < 0.08:
            return self._told(talker.rewound(self.chance), "rewinds")
        if roll < 0.16:
            self._saved.append(self._told(talker, "is saved"))
        elif roll < 0.22 and (alike := [each for each in self._saved if each.name == talker.name]):
            return self._told(self.chance.choice(alike), "is taken up")
        return talker

    def _told(self, talker: Talker, what: str) -> Talker:
        self.done.append(f"{talker.name} {what}")
        return talker

    def _happens(self, odds: float) -> bool:
        return self.chance.random() < odds

    # --- one model call each

    def _step(self, pool: ThreadPoolExecutor) -> None:
        asking = [each.ready(self._question()) for each in self._talkers]
        answers = list(pool.map(self._call, asking))
        self.oracle.follow(asking)
        self._talkers = [self._after(talker, answer) for talker, answer in zip(asking, answers, strict=True)]
        self.turns += len(asking)

    def _question(self) -> str:
        """Often the same words: conversations must not be told apart by them."""
        words = self.chance.choice(["Go on.", "Again.", f"Question {self.chance.randint(1, 1000)}."])
        return f"{words} [[scenario:{self.chance.choice(SCENES)}]]"

    def _call(self, talker: Talker) -> Answer:
        given = {"authorization": f"Bearer {KEY}", "anthropic-version": ""}
        return post(self.way.url, talker.body(), path=talker.client.path, headers=given)

    def _after(self, talker: Talker, answer: Answer) -> Talker:
        said = talker.client.accumulated(events_in(answer.raw)) if answer.status == 200 else {}
        if not said:
            self.oracle.found.refused.append(f"{talker.name}: {answer.status} {answer.raw[:300]!r}")
            return talker
        judged = self.oracle.judge(talker, answer.headers["x-clew-backend"])
        self.done.append(f"{talker.name} hears {judged.reader}: {judged.thoughts} thoughts")
        after = replace(talker, said=(*talker.said, replace(judged, kept=tuple(talker.client.returned(said)))))
        self.oracle.answered(after.said)
        return after
