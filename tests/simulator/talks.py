"""A conversation with the judge's own signatures: each reply is asked for, judged and signed like a real answer."""

import copy
from dataclasses import dataclass, field
from typing import Any

from clew.simulator.interfaces import JudgeVerdict
from tests.simulator.judging import HOME, OLD, ask, text, user


@dataclass(frozen=True)
class Think:
    """A thinking block of an answer, given with its text or without it."""

    words: str
    omitted: bool = False


@dataclass(frozen=True)
class Redact:
    """A redacted_thinking block of an answer."""

    words: str


@dataclass
class Talk:
    """Messages so far, and under which terms they are judged. Tests edit `messages` as a client would."""

    model: str = "claude-opus-5-5"
    messages: list[dict[str, Any]] = field(default_factory=list)
    more: dict[str, Any] = field(default_factory=dict)
    terms: dict[str, Any] = field(default_factory=dict)

    def copy(self, **changes: Any) -> "Talk":
        """The same history in other hands: another model, another account, other settings."""
        other = copy.deepcopy(self)
        for name, value in changes.items():
            setattr(other, name, value)
        return other

    def body(self) -> dict[str, Any]:
        return {"model": self.model, "max_tokens": 4096, "messages": copy.deepcopy(self.messages), **self.more}

    def judged(self, **terms: Any) -> JudgeVerdict:
        return ask(self.body(), **{"account": HOME, "version": OLD, **self.terms, **terms})

    def ask(self, *content: Any) -> "Talk":
        self.messages.append(user(*content))
        return self

    def reply(self, *blocks: Any) -> "Talk":
        """Let the model answer with these blocks."""
        verdict = self.judged()
        assert verdict.signer is not None, verdict.violation
        answer: list[dict[str, Any]] = []
        for block in blocks:
            answer.append(_spoken(block, verdict.signer, list(answer)))
        self.messages.append({"role": "assistant", "content": answer})
        return self

    def block(self, message: int, index: int) -> dict[str, Any]:
        return self.messages[message]["content"][index]


def _spoken(block: Any, signer: Any, answer: list[dict[str, Any]]) -> dict[str, Any]:
    match block:
        case Think(words, omitted):
            signature = signer.sign(words, answer=answer)
            return {"type": "thinking", "thinking": "" if omitted else words, "signature": signature}
        case Redact(words):
            return {"type": "redacted_thinking", "data": signer.redact(words, answer=answer)}
        case str():
            return text(block)
        case _:
            return block
