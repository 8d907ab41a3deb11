"""Signs what the model thinks in answer to one judged request.

A new block is bound to the conversation up to it: the request, then what the answer said before it. The answer's own earlier
blocks tell by their signatures where they stand in the row.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from clew.model.json import JsonObject
from clew.simulator import tokens
from clew.simulator.judge.bindings import Bound, follow
from clew.simulator.judge.canonical import Prefix, tools_of
from clew.simulator.judge.case import Case
from clew.simulator.judge.history import THINKING
from clew.simulator.judge.signature import Imprint, Link, hash_text, mint, noise, verify
from clew.simulator.judge.values import array, inner, string

__all__ = ["RequestSigner"]


@dataclass(frozen=True, slots=True)
class Point:
    """A place in the conversation: what was said, and the rows of thinking up to it."""

    prefix: Prefix
    sent: Link
    read: Link
    rank: int = 0


@dataclass(frozen=True, slots=True)
class RequestSigner:
    """The signer of one verdict."""

    key: bytes = field(repr=False)
    case: Case
    start: Point

    @classmethod
    def after(cls, key: bytes, case: Case, end: Prefix, bound: Bound) -> RequestSigner:
        return cls(key, case, Point(end, bound.sent, bound.read))

    def sign(self, text: str, *, answer: Sequence[JsonObject]) -> str | None:
        match self.case.vendor.signature:
            case "none":
                return None
            case "empty":
                return ""
            case "noise":
                return noise(self.key + hash_text(text), self.case.vendor.noise[self.case.body.get("stream") is True])
            case "bound" | "own":
                return mint(self.key, self._imprint(text, answer, redacted=False))

    def redact(self, text: str, *, answer: Sequence[JsonObject]) -> str:
        return mint(self.key, self._imprint(text, answer, redacted=True))

    def _imprint(self, text: str, answer: Sequence[JsonObject], *, redacted: bool) -> Imprint:
        here = self.start
        for block in answer:
            here = self._past(here, block)
        return Imprint(
            redacted=redacted,
            model=self.case.model.id,
            account=self.case.account.name,
            end_user=self._end_user(),
            accounts=self._accounts(),
            tokens=tokens.of_text(text),
            prefix=here.prefix.digest,
            base=here.prefix.base,
            head=here.prefix.head,
            count=here.prefix.count,
            sent=here.sent,
            read=here.read,
            answer=self._answer(),
            place=len(answer),
            rank=here.rank,
            text=hash_text(text),
        )

    def _past(self, here: Point, block: JsonObject) -> Point:
        """The place after one more block of the answer."""
        if block.get("type") not in THINKING:
            prefix = here.prefix.after("assistant", block, tools_of(self.case.body))
            return replace(here, prefix=prefix, rank=0)
        redacted = block.get("type") == "redacted_thinking"
        proof = verify(self.key, string(block.get("data" if redacted else "signature")), redacted=redacted)
        if proof is None:
            return replace(here, rank=here.rank + 1)
        block_id, own = proof
        sent, read = follow(here.sent, block_id, own.sent), follow(here.read, block_id, own.read)
        return Point(here.prefix, sent, read, here.rank + 1)

    def _answer(self) -> bytes:
        """One response: the same request to the same model for the same account gives the same one."""
        start = self.start
        said = (
            start.prefix.digest,
            start.sent.last,
            start.read.last,
            self.case.model.id.encode(),
            self.case.account.name.encode(),
        )
        return hashlib.sha256(b"\0".join(said)).digest()[:8]

    def _end_user(self) -> bytes:
        """AWS's block_binding can bind to the end user (C-4)."""
        asked = self._binding().get("bind_to_end_user") is True
        return hash_text(string(self.case.option("metadata", "user_id"))) if asked else b""

    def _accounts(self) -> tuple[str, ...]:
        return tuple(string(name) for name in array(self._binding().get("bind_to_additional_organizations")))

    def _binding(self) -> JsonObject:
        return inner(self.case.thinking.get("block_binding"))
