"""A random walk through a conversation: switches between models and realms, tool loops, rewinds, forks, lost recordings.

The vendor is the simulator's judge, with prefix checks on, in either reading of what precedes a block. The client is one
that hides other models' thinking, as Claude Code does, or one that sends everything. clew stands between them: it projects
each request, heals what is refused, records what is answered. What is counted is what the client and the models would
notice; and at each step, what a reader gets must extend what it got (law 3), as long as nothing had to be healed.
"""

from __future__ import annotations

import copy
import json
import random
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal

import msgspec

from clew.model.blocks import made
from clew.model.facts import profile_for
from clew.model.origin import Origin, Target
from clew.model.recording import Shelf
from clew.model.request import Request
from clew.pipeline.heal import Remedy, heal, refusal_in
from clew.pipeline.project import project
from clew.pipeline.step import Facts
from clew.simulator.anthropic.judge import judge
from clew.simulator.interfaces import Account, JudgeVerdict
from clew.simulator.server import stance
from clew.thinking.history import answers_of
from clew.thinking.recognise import recognise
from clew.thinking.record import recording_of
from clew.thinking.seal import Seal, Sealer
from clew.wire.requests import encode, parse
from tests.build import GLM, OPUS, SONNET, Json, Scribe, assistant, redacted, text, thinking, tool_result, tool_use, user
from tests.identity.gathered import gathered
from tests.properties.talks import spaced

SEALER = Sealer({"k1": b"w" * 32}, "k1")
ACCOUNT = Account(name="me")
TOOLS = [{"name": "Bash", "input_schema": {"type": "object"}}]
HEADERS = {"anthropic-version": "2023-06-01", "content-type": "application/json"}


@dataclass(frozen=True)
class Plan:
    """One row of the table: which client, which reading, and what goes wrong."""

    client: Literal["drops", "sends all"]
    reading: Literal["sent", "read"]
    after_last: Literal["keep", "leave"] = "keep"
    holes: float = 0.0
    edits: float = 0.0
    changes: float = 0.0
    """How often the client sends each thought with another text under its signature."""
    turns: int = 30


@dataclass
class Tally:
    turns: int = 0
    refusals: int = 0
    surfaced: int = 0
    own: int = 0
    own_delivered: int = 0
    readable: int = 0
    readable_delivered: int = 0
    foreign_sent: int = 0

    def add(self, other: Tally) -> None:
        for each in fields(self):
            setattr(self, each.name, getattr(self, each.name) + getattr(other, each.name))


@dataclass
class Branch:
    """What the client holds: its messages, and which model it believes to have made each."""

    messages: list[Json] = field(default_factory=list)
    models: list[str] = field(default_factory=list)
    truth: list[list[str]] = field(default_factory=list)
    """The makers of the thinking blocks that each message truly had."""
    got: dict[str, list[Json]] = field(default_factory=dict)
    """What each reader last got of this branch."""

    def add(self, message: Json, model: str = "", truth: list[str] | None = None) -> None:
        self.messages.append(message)
        self.models.append(model)
        self.truth.append(truth or [])

    def cut(self, length: int) -> None:
        del self.messages[length:], self.models[length:], self.truth[length:]
        self.got = {reader: messages[:length] for reader, messages in self.got.items()}


class Walk:
    def __init__(self, plan: Plan, seed: int) -> None:
        self.plan = plan
        self.chance = random.Random(seed)
        self.scribe = Scribe()
        self.tally = Tally()
        self.branch = Branch()
        self.saved: list[Branch] = []
        self.origin: Origin = OPUS
        self._count = 0
        self.branch.add(user(f"task {seed}"))

    def run(self) -> Tally:
        for _ in range(self.plan.turns):
            self._wander()
            self._turn()
        return self.tally

    # --- what the user does

    def _wander(self) -> None:
        roll = self.chance.random()
        if not self._in_loop():
            if roll < 0.07:
                self._rewind()
            elif roll < 0.12:
                self.saved.append(copy.deepcopy(self.branch))
            elif roll < 0.18 and self.saved:
                self.branch = copy.deepcopy(self.chance.choice(self.saved))
        if self.chance.random() < self.plan.edits:
            self._edit()
        if self.chance.random() < 0.35:
            self.origin = self.chance.choice([OPUS, SONNET, GLM])

    def _in_loop(self) -> bool:
        content = self.branch.messages[-1]["content"]
        return isinstance(content, list) and any(block["type"] == "tool_result" for block in content)

    def _rewind(self) -> None:
        asks = [
            i for i, each in enumerate(self.branch.messages) if each["role"] == "user" and isinstance(each["content"], str)
        ]
        at = self.chance.choice(asks)
        self.branch.cut(at)
        self.branch.add(user(self._word("again")))

    def _edit(self) -> None:
        self.branch.messages[0] = user(self._word("rewritten task"))

    def _word(self, word: str) -> str:
        self._count += 1
        return f"{word} {self._count}"

    # --- one model call

    def _turn(self) -> None:
        asked = self._asked()
        shelf = gathered(asked, self.scribe.shelf, self.scribe.context)
        facts = Facts(recordings=shelf, context=self.scribe.context, sealer=SEALER)
        assert self._found(asked, shelf) == self._found(asked, self.scribe.shelf), "a look-up must find what all would find"
        target = self._target()
        going = project(asked, target, facts).request
        verdict = self._judged(going)
        tried: tuple[Remedy, ...] = ()
        while verdict.violation:
            self.tally.refusals += 1
            refusal = refusal_in(verdict.violation.status, verdict.violation.message)
            healed = heal(going, refusal, target, facts, tried) if refusal else None
            if healed is None:
                self.tally.surfaced += 1
                raise AssertionError(f"the client would see: {verdict.violation}")
            tried = (*tried, healed.remedy)
            going, verdict = healed.request, self._judged(healed.request)
        self._check_extension(going, healed=bool(tried))
        self._count_delivered(verdict)
        self._answer(asked, going, verdict)

    def _found(self, asked: Request, shelf: Shelf) -> list[str | None]:
        found = recognise(answers_of(asked.messages), shelf, self.scribe.context)
        return [each.recording.id if each.recording else None for each in found]

    def _check_extension(self, going: Request, *, healed: bool) -> None:
        now = json.loads(encode(going))["messages"]
        before = self.branch.got.get(self.origin.model, [])
        if not healed and not self.plan.edits and not self.plan.holes:
            assert now[: len(before)] == before, "what this reader gets must extend what it got"
        self.branch.got[self.origin.model] = now

    def _asked(self) -> Request:
        return parse(self._body())

    def _body(self) -> bytes:
        messages = [self._as_sent(each, model) for each, model in zip(self.branch.messages, self.branch.models, strict=True)]
        if self.plan.changes and self.chance.random() < self.plan.changes:
            messages = [spaced(each) for each in messages]
        body = {"model": self.origin.model, "max_tokens": 4000, "tools": TOOLS, "messages": messages}
        return msgspec.json.encode(body)

    def _as_sent(self, message: Json, model: str) -> Json:
        if self.plan.client == "sends all" or message["role"] != "assistant" or model == self.origin.model:
            return message
        rest = [block for block in message["content"] if block["type"] not in ("thinking", "redacted_thinking")]
        return {"role": "assistant", "content": rest}

    def _target(self) -> Target:
        facts = msgspec.structs.replace(profile_for(self.origin.model), others_after_last=self.plan.after_last)
        return Target(
            backend=self.origin.backend, model=self.origin.model, realm=self.origin.realm, account="me", profile=facts
        )

    def _judged(self, going: Request) -> JudgeVerdict:
        return judge(
            encode(going),
            HEADERS,
            kind="compat" if self.origin is GLM else "anthropic",
            account=ACCOUNT,
            stance=replace(stance(), predecessor=self.plan.reading),
            path="/v1/messages",
        )

    def _count_delivered(self, verdict: JudgeVerdict) -> None:
        self.tally.turns += 1
        kept = [block.maker for block in verdict.prompt.blocks if block.fate == "kept"]
        truth = [maker for makers in self.branch.truth for maker in makers]
        if self.origin is GLM:
            self.tally.foreign_sent += sum(maker != GLM.model for maker in kept)
            return
        reads = profile_for(self.origin.model).reads | {self.origin.model}
        self.tally.own += truth.count(self.origin.model)
        self.tally.own_delivered += kept.count(self.origin.model)
        self.tally.readable += sum(maker in reads for maker in truth)
        self.tally.readable_delivered += sum(maker in reads for maker in kept)

    # --- the answer, and what the client holds of it

    def _answer(self, asked: Request, going: Request, verdict: JudgeVerdict) -> None:
        native = self._said(verdict)
        held = self._sealed(native) if self.origin is GLM else native
        if self.chance.random() >= self.plan.holes:
            self.scribe.shelf.add(self._recording(asked, going, native, held))
        thoughts = [block for block in native if block["type"] in ("thinking", "redacted_thinking")]
        self.branch.add(assistant(*held), self.origin.model, [self.origin.model] * len(thoughts))
        tools = [block["id"] for block in native if block["type"] == "tool_use"]
        self.branch.add(user(*(tool_result(id) for id in tools)) if tools else user(self._word("next")))

    def _said(self, verdict: JudgeVerdict) -> list[Json]:
        signer = verdict.signer
        assert signer is not None
        blocks: list[Json] = []
        for kind in self.chance.choice(["th", "hth", "r", "t", "hh", "hrthu", "hu", "u", "tu", "rhuu"]):
            thought = self._word("thought")
            match kind:
                case "h":
                    blocks.append(thinking(thought, signer.sign(thought, answer=blocks)))
                case "r":
                    blocks.append(redacted(signer.redact(thought, answer=blocks)))
                case "t":
                    blocks.append(text(self.chance.choice(["OK", "done", thought])))
                case _:
                    blocks.append(tool_use(f"toolu_{self.chance.getrandbits(60):x}", command=thought))
        if blocks[-1]["type"] in ("thinking", "redacted_thinking"):
            blocks.append(text("OK"))
        return blocks

    def _sealed(self, blocks: list[Json]) -> list[Json]:
        held = copy.deepcopy(blocks)
        for index, block in enumerate(held):
            field = {"thinking": "signature", "redacted_thinking": "data"}.get(block["type"])
            if field:
                seal = Seal("local", GLM, self._word("exchange"), index, block[field].encode())
                block[field] = SEALER.mint(seal, block.get("thinking", ""))
        return held

    def _recording(self, asked: Request, going: Request, native: list[Json], held: list[Json]) -> Any:
        return recording_of(
            self._word("r"),
            asked=asked,
            going=going,
            blocks=[msgspec.json.encode(block) for block in native],
            held=[made(block) for block in held],
            origin=self.origin,
            shelf=self.scribe.shelf,
            context=self.scribe.context,
        )


def walk(plan: Plan, seeds: range) -> Tally:
    total = Tally()
    for seed in seeds:
        total.add(Walk(plan, seed).run())
    return total
