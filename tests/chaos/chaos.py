"""Fifty turns at random: backends and models switched, agents in parallel, restarts, rewinds, forks, dropped blocks.

The clients are the imitation of Claude Code and speak HTTP. Each step, whatever the dice say is done to the gateway and to
the clients, and then every client makes one model call, all of them at once.
"""

from __future__ import annotations

import random
from concurrent.futures import ThreadPoolExecutor
from itertools import takewhile

from tests.build import Json
from tests.chaos.gate import Way
from tests.chaos.oracle import Oracle
from tests.chaos.wire import Heard, post
from tests.identity.answers import LATEST, NODE_20
from tests.identity.client import ClaudeCode
from tests.identity.hearing import heard

MODELS = ("claude-opus-5-5", "claude-sonnet-5-5")
SCENES = ("loop", "interleaved", "parallel", "redacted", "thinking", "text", "omitted", "default")
TOOLS = [{"name": name, "description": name, "input_schema": {"type": "object"}} for name in ("Read", "Bash", "Edit")]
MOST_AGENTS = 2


class Chaos:
    def __init__(self, way: Way, oracle: Oracle, backends: list[str], seed: int, escapes: float = 0.0) -> None:
        self.way = way
        self.oracle = oracle
        self.chance = random.Random(seed)
        self.turns = 0
        self.done: list[str] = []
        """What was done, for anyone who has to find out why it went wrong."""
        self._backends = backends
        self._escapes = escapes
        self._words = 0
        version = self.chance.choice([LATEST, NODE_20])
        self._main = ClaudeCode(session=f"s{seed}", version=version, model=self.chance.choice(MODELS))
        self._agents: list[ClaudeCode] = []
        self._saved: list[ClaudeCode] = []

    def run(self, turns: int) -> None:
        with ThreadPoolExecutor(MOST_AGENTS + 1) as pool:
            while self.turns < turns and self.oracle.found.clean:
                self._meddle()
                self._step(pool)

    # --- what happens to them

    def _meddle(self) -> None:
        if self._happens(0.30):
            self._do("use", self.chance.choice(self._backends))
        if self._happens(0.05):
            self._do("restart")
        if self._happens(0.15) and len(self._agents) < MOST_AGENTS:
            self._spawn()
        self._main = self._bothered(self._main)
        self._agents = [self._bothered(each) for each in self._agents]

    def _do(self, what: str, *how: str) -> None:
        self.done.append(" ".join([what, *how]))
        getattr(self.way, what)(*how)

    def _spawn(self) -> None:
        self._words += 1
        name = f"agent-{self._words}"
        self.done.append(f"spawn {name}")
        self._agents.append(self._main.spawns(name, self._question()))

    def _bothered(self, client: ClaudeCode) -> ClaudeCode:
        drops = 0.0 if self._escapes else 0.06  # half an answer without its thinking is one that nobody can recognise
        for odds, change in ((0.15, self._switched), (drops, self._dropped), (0.06, self._resumed)):
            if self._happens(odds):
                client = change(client)
        if client.agent or self._is_in_loop(client):
            return client
        return self._wandered(client)

    def _switched(self, client: ClaudeCode) -> ClaudeCode:
        model = self.chance.choice(MODELS)
        return self._told(client, f"model {model}").switches(model)

    def _dropped(self, client: ClaudeCode) -> ClaudeCode:
        """As after a refusal: what it holds so far goes out without thinking from now on."""
        return self._told(client, "drops").refused()

    def _resumed(self, client: ClaudeCode) -> ClaudeCode:
        return self._told(client, "resumes").resumes()

    def _wandered(self, client: ClaudeCode) -> ClaudeCode:
        """Rewind, save for a fork, or take up a fork. Only between questions."""
        roll = self.chance.random()
        if roll < 0.08 and len(client.entries) > 4:
            return self._told(client, "rewinds").rewinds(1)
        if roll < 0.16 and client.entries:
            self._saved.append(self._told(client, "is saved"))
        elif roll < 0.22 and self._saved:
            return self._told(self.chance.choice(self._saved), "is taken up")
        return client

    def _told(self, client: ClaudeCode, what: str) -> ClaudeCode:
        self.done.append(f"{client.agent or 'main'} {what}")
        return client

    def _happens(self, odds: float) -> bool:
        return self.chance.random() < odds

    # --- one model call each

    def _step(self, pool: ThreadPoolExecutor) -> None:
        asking = [self._ready(each) for each in (self._main, *self._agents)]
        leaving = [self.chance.randint(200, 4000) if self._happens(self._escapes) else 0 for _ in asking]
        answers = list(pool.map(self._call, asking, leaving))
        self.oracle.follow()
        after = [self._after(client, answer) for client, answer in zip(asking, answers, strict=True)]
        self.turns += len(after)
        self._main, *agents = after
        self._agents = [each for each in agents if self._is_in_loop(each) or self._happens(0.5)]

    def _ready(self, client: ClaudeCode) -> ClaudeCode:
        """With something to answer: results, or a question."""
        last = client.entries[-1] if client.entries else None
        if last is not None and last.role == "user":
            return client
        return client.runs() if self._is_in_loop(client) else client.asks(self._question())

    def _is_in_loop(self, client: ClaudeCode) -> bool:
        return bool(client.entries) and any(block["type"] == "tool_use" for block in client.entries[-1].blocks)

    def _question(self) -> str:
        """Often the same words: conversations must not be told apart by them."""
        scene = self.chance.choice(SCENES)
        words = self.chance.choice(["Go on.", "Again.", f"Question {self.chance.randint(1, 1000)}."])
        return f"{words} [[scenario:{scene}]]"

    def _call(self, client: ClaudeCode, leaving: int) -> Heard:
        return post(self.way.url, {**self.way.headers, **client.headers}, self._body(client), leaving)

    def _body(self, client: ClaudeCode) -> Json:
        return {**client.request(), "tools": TOOLS, "thinking": {"type": "adaptive"}}

    def _after(self, client: ClaudeCode, answer: Heard) -> ClaudeCode:
        if answer.status == 200 and self._escapes and not answer.whole:
            return self._interrupted(client, answer)
        if not answer.whole:
            self.oracle.found.refused.append(f"{client.agent or 'main'}: {answer.status} {answer.words[:300]}")
            return client
        blocks = heard(answer.events)
        self.oracle.heard(client, answer.message, blocks)
        self.done.append(f"{client.agent or 'main'} hears {[block['type'][:5] for block in blocks]}")
        return client.hears(blocks, answer.message["model"])

    def _interrupted(self, client: ClaudeCode, answer: Heard) -> ClaudeCode:
        """It keeps the blocks that came whole; a tool that was called is not run. Thinking alone it replaces."""
        came = heard(answer.events)
        said = list(takewhile(lambda block: block["type"] != "tool_use", came))
        if answer.events:
            stays = any(block["type"] == "text" for block in said)
            self.oracle.heard(client, answer.message, said if stays else [])
        return self._told(client, f"escapes after {[block['type'][:5] for block in said]}").escapes(said)
