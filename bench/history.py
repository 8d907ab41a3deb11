"""An agent's history of a given size, with its recordings: every seventh answer is another backend's, sealed."""

from __future__ import annotations

import base64
import json
import random
from typing import Any

from clew.model.blocks import made
from clew.model.origin import Origin
from clew.model.recording import Recording, Shelf, Strand
from clew.thinking.history import place_after
from clew.thinking.keys import ProofRow, answer_content, key_of, proof_of
from clew.thinking.seal import Seal, Sealer

CLAUDE = Origin(realm="anthropic", backend="claude", model="claude-opus-5-5", account="me")
GLM = Origin(realm="glm", backend="glm", model="glm-5", account="me")
SEALER = Sealer({"bench": b"b" * 32}, "bench")

_WORDS = ["parse", "the", "buffer", "because", "it", "holds", 'a "quoted"', "line\n", "naïve", "state", "return", "value"]


class Talk:
    """A conversation of about `size` bytes: the request's body, and the shelf that a store would hand over.

    Every so many answers, one is another backend's, sealed; 0: none is.
    """

    def __init__(self, size: int, *, foreign_every: int = 7) -> None:
        self._random = random.Random(size)  # two histories in one store must not be one conversation twice
        self.shelf = Shelf()
        self.messages: list[dict[str, Any]] = [{"role": "user", "content": [{"type": "text", "text": self._prose(60)}]}]
        self._row = ProofRow()
        self._last: str | None = None
        written, turn = 0, 0
        while written < size:
            written += self._turn(turn, foreign=foreign_every > 0 and turn % foreign_every == 3)
            turn += 1
        self.body = self._body()
        self.raw = json.dumps(self.body, separators=(",", ":"), ensure_ascii=False).encode()

    def _turn(self, turn: int, *, foreign: bool) -> int:
        thought = self._prose(200)
        own = base64.b64encode(self._random.randbytes(480)).decode()
        seal = Seal(principal="local", origin=GLM, exchange=f"e{turn}", index=0, payload=own.encode())
        signature = SEALER.mint(seal, thought) if foreign else own
        answer = [
            {"type": "thinking", "thinking": thought, "signature": signature},
            {"type": "text", "text": self._prose(25)},
            {"type": "tool_use", "id": f"toolu_{turn:05d}", "name": "Edit", "input": {"new": self._prose(60)}},
        ]
        output = [{"type": "text", "text": self._code()}]
        result = {"type": "tool_result", "tool_use_id": f"toolu_{turn:05d}", "content": output}
        self._record(turn, answer, foreign=foreign)
        self.messages += [{"role": "assistant", "content": answer}, {"role": "user", "content": [result]}]
        return len(json.dumps(answer)) + len(json.dumps(result))

    def _record(self, turn: int, answer: list[dict[str, Any]], *, foreign: bool) -> None:
        blocks = [made(json.dumps(block).encode()) for block in answer]
        said = answer_content(blocks)
        if not foreign:
            self._row = self._row.extended([block for block in blocks if proof_of(block)])
        self.shelf.add(
            Recording(
                id=f"r{turn}",
                principal="local",
                origin=GLM if foreign else CLAUDE,
                blocks=tuple(block.raw for block in blocks),
                keys=tuple(key for block in blocks if (key := key_of(block))),
                said=said,
                place=place_after("local", (), said),
                strand=Strand(after=self._last) if self._last else Strand(listed=()),
                digest=b"" if foreign else self._row.digest(),
                followed=f"r{turn - 1}" if turn else None,
                thread="bench",
            )
        )
        if not foreign:
            self._last = f"r{turn}"

    def _body(self) -> dict[str, Any]:
        schema = {"type": "object", "properties": {"new": {"type": "string", "description": self._prose(8)}}}
        tools = [{"name": f"tool_{k}", "description": self._prose(60), "input_schema": schema} for k in range(15)]
        return {
            "model": CLAUDE.model,
            "max_tokens": 4096,
            "system": [{"type": "text", "text": self._prose(1500)}],
            "tools": [*tools, {"name": "Edit", "description": "edits", "input_schema": schema}],
            "messages": [*self.messages, {"role": "user", "content": [{"type": "text", "text": "continue"}]}],
            "thinking": {"type": "adaptive"},
            "stream": True,
        }

    def _prose(self, words: int) -> str:
        return " ".join(self._random.choice(_WORDS) for _ in range(words))

    def _code(self) -> str:
        return "\n".join("    " + self._prose(8) for _ in range(90))
