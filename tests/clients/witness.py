"""A simulator that remembers each proof it made, and so knows which of those that come back are its own.

Its journal says what the judge made of a block; the witness compares bytes. A proof is a signature, or the data of a
redacted block.
"""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from clew.model.json import JsonObject
from clew.simulator.anthropic.judge import judge
from clew.simulator.interfaces import JudgeVerdict, Signer
from clew.testing import Simulator


@dataclass(frozen=True, slots=True)
class _Signer:
    """The real one, and the notes of the judge."""

    real: Signer
    model: str
    made: list[tuple[str, str]]

    def sign(self, text: str, *, answer: Sequence[JsonObject]) -> str:
        return self._noted(self.real.sign(text, answer=answer))

    def redact(self, text: str, *, answer: Sequence[JsonObject]) -> str:
        return self._noted(self.real.redact(text, answer=answer))

    def _noted(self, proof: str) -> str:
        self.made.append((self.model, proof))
        return proof


@dataclass(frozen=True, slots=True)
class _Judge:
    """The real judge, with a signer that takes notes: each proof with its model, and how many there were at each request."""

    made: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    before: list[int] = field(default_factory=list[int])

    def __call__(self, body: bytes, headers: Any, **settings: Any) -> JudgeVerdict:
        verdict = judge(body, headers, **settings)
        if settings["path"] == "/v1/messages":
            self.before.append(len(self.made))
        signer = verdict.signer and _Signer(verdict.signer, str(verdict.request["model"]), self.made)
        return replace(verdict, signer=signer)


class Witness(Simulator):
    """A simulator that plays a script of the test's. `settings` are those of `Simulator`."""

    def __init__(self, script: str, directory: Path, **settings: Any) -> None:
        self._notes = _Judge()
        super().__init__(scenario=written(script, directory), judge=self._notes, **settings)

    @property
    def made(self) -> list[str]:
        """Each proof that it made, in order."""
        return [proof for _, proof in self._notes.made]

    def due(self) -> list[list[str]]:
        """For each request the proofs that its model had made until then: in a single conversation, what has to come back."""
        models = [entry["body"]["model"] for entry in self.asked()]
        known = [self._notes.made[:count] for count in self._notes.before]
        return [[proof for maker, proof in made if maker == model] for model, made in zip(models, known, strict=True)]

    def asked(self) -> list[dict[str, Any]]:
        """What it was asked to answer, in order of arrival."""
        return [entry for entry in self.journal() if (entry["method"], entry["path"]) == ("POST", "/v1/messages")]

    def refusals(self) -> list[Any]:
        """What it refused. Empty is what every test wants."""
        return [entry["verdict"] for entry in self.asked() if entry["verdict"] and not entry["verdict"]["ok"]]

    def given_back(self) -> list[list[str]]:
        """For each request the proofs in it, in order."""
        return [list(_proofs(entry["body"])) for entry in self.asked()]

    def foreign(self) -> list[str]:
        """Proofs that came back to it and that it had never made."""
        return [proof for proofs in self.given_back() for proof in proofs if proof not in self.made]

    def counts_by_agent(self) -> dict[str, list[int]]:
        """The same as numbers, apart for each sub-agent; the main conversation is ""."""
        counts: dict[str, list[int]] = {}
        for entry, proofs in zip(self.asked(), self.given_back(), strict=True):
            counts.setdefault(dict(entry["headers"]).get("x-claude-code-agent-id", ""), []).append(len(proofs))
        return counts

    def leave_faults(self, command: Path, faults: Sequence[str]) -> None:
        """Leave a file for a client's shell: run, it lets the next answers go wrong, one after the other."""
        orders = [json.dumps({"fault": fault}).encode() for fault in faults]
        lines = [
            "from urllib.request import urlopen",
            f"for order in {orders}:",
            f"    urlopen('{self.url}/_sim/fault', order)",
        ]
        command.write_text("\n".join([f"{sys.executable} - <<'END'", *lines, "END\n"]))


def _proofs(request: dict[str, Any]) -> list[str]:
    blocks = [
        block for message in request["messages"] if isinstance(message["content"], list) for block in message["content"]
    ]
    names = {"thinking": "signature", "redacted_thinking": "data"}
    return [block[names[block["type"]]] for block in blocks if block["type"] in names]


def written(script: str, directory: Path) -> str:
    path = directory / f"{len(list(directory.glob('*.scenario')))}.scenario"
    path.write_text(script)
    return str(path)
