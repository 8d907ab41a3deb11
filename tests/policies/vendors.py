"""The backends of the comparison: Claude, and two others that speak its dialect.

Claude and GLM are the simulator's judge, each with a key of its own. Kimi signs nothing and refuses no thinking, so the judge
sees its requests without it: what is judged there is the layout alone.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from clew.model.origin import Origin
from clew.simulator.anthropic.judge import judge
from clew.simulator.interfaces import Account, JudgeVerdict, Kind, Stance
from clew.simulator.server import stance
from tests.build import Json, redacted, text, thinking, tool_use
from tests.identity.answers import THINKING

ACCOUNT = Account(name="me")
HEADERS = {"anthropic-version": "2023-06-01", "content-type": "application/json"}
STANCES = tuple(replace(stance(), prefix_enforcement="on", predecessor=reading) for reading in ("sent", "read"))
"""Prefix checks on, in either reading of what precedes a block."""


@dataclass(frozen=True)
class Vendor:
    name: str
    kind: Kind
    model: str = ""
    """What it calls its model; "": as the client asks."""
    signs: bool = True

    def origin(self, asked: str) -> Origin:
        realm = "anthropic" if self.kind == "anthropic" else self.name
        return Origin(realm=realm, backend=self.name, model=self.model or asked, account="me")

    def judged(self, body: bytes, stance: Stance) -> JudgeVerdict:
        read = body if self.signs else _without_thinking(body)
        return judge(read, HEADERS, kind=self.kind, account=ACCOUNT, stance=stance, path="/v1/messages", realm=self.name)

    def says(self, shape: str, verdict: JudgeVerdict, chance: random.Random, *, shown: bool = True) -> list[Json]:
        """An answer: h thinking, r redacted thinking, t text, u a tool call. `shown`: with the text of its thinking."""
        blocks: list[Json] = []
        for kind in shape:
            words = f"{kind}-{chance.getrandbits(60):x}"
            blocks.append(self._block(kind, words, verdict, blocks, shown=shown))
        return blocks

    def _block(self, kind: str, words: str, verdict: JudgeVerdict, before: list[Json], *, shown: bool) -> Json:
        assert verdict.signer is not None
        match kind:
            case "h" if self.signs:
                return thinking(words if shown else "", verdict.signer.sign(words, answer=before))
            case "h":
                return thinking(words, "")
            case "r" if self.signs:
                return redacted(verdict.signer.redact(words, answer=before))
            case "u":
                return tool_use(f"toolu_{words}", command=words)
            case _:
                return text(words)


CLAUDE = Vendor("claude", "anthropic")
GLM = Vendor("glm", "compat", "glm-5")
KIMI = Vendor("kimi", "compat", "kimi-k3", signs=False)


def id_of(block: Json) -> str:
    """What tells one thought from all others: its proof, or its text where nobody signed it. "" for anything else."""
    if block["type"] not in THINKING:
        return ""
    return block.get("signature") or block.get("data") or block.get("thinking") or ""


def thoughts_in(messages: Iterable[Json]) -> list[str]:
    blocks = [block for message in messages if isinstance(message["content"], list) for block in message["content"]]
    return [id for block in blocks if (id := id_of(block))]


def _without_thinking(body: bytes) -> bytes:
    asked: Any = json.loads(body)
    for message in asked["messages"]:
        if message["role"] == "assistant" and isinstance(message["content"], list):
            rest = [block for block in message["content"] if block["type"] not in THINKING]
            message["content"] = rest or [text("-")]
    return json.dumps(asked).encode()
