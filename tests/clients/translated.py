"""Claude itself and a vendor that speaks Chat Completions, behind one gateway, each as its preset says.

Both are judges. Claude's checks what came before each block; the vendor's knows each piece of reasoning that it gave, by its
bytes and by the field that it belongs in, also where it turns up as plain text.
"""

import json
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from clew.testing import Simulator
from tests.clients.claude import ClaudeCode
from tests.clients.gateway import Gateway
from tests.clients.witness import Witness, written

PLANTED = "xylophone"
"""A word that is in every thought, and in nothing else."""

CONFIG = """
active = "vendor"
{more}
[backends.claude]
preset = "anthropic"
url = "{claude}"
key = "${{SIM_KEY}}"

[backends.vendor]
{row}
dialect = "openai-chat"
url = "{vendor}/v1"
key = "${{SIM_KEY}}"
"""


class Vendor(NamedTuple):
    """How a user would configure it, and where its reasoning goes back: "" if it must not."""

    row: str
    field: str


VENDORS = {
    "deepseek-chat": Vendor('preset = "deepseek"', "reasoning_content"),
    "kimi-chat": Vendor('preset = "kimi"', "reasoning_content"),
    "openrouter": Vendor('preset = "openrouter"\nmodel = "anthropic/claude-opus-5"', "reasoning_details"),
    "tags": Vendor('model = "local-thinker"', ""),
}
"""The simulator's kinds. The last has no preset: nobody has heard of it."""


class ChatWitness(Simulator):
    """A vendor that plays a script of the test's."""

    def __init__(self, script: str, directory: Path, kind: str) -> None:
        super().__init__(scenario=written(script, directory), kind=kind, realm="vendor")
        self.field = VENDORS[kind].field

    def asked(self) -> list[dict[str, Any]]:
        """What it was asked to answer, in order of arrival."""
        return [entry for entry in self.journal() if entry["path"] == "/v1/chat/completions"]

    def refusals(self) -> list[Any]:
        """What it refused. Empty is what every test wants."""
        return [entry["verdict"] for entry in self.asked() if entry["verdict"] and not entry["verdict"]["ok"]]

    def passed_back(self) -> list[int]:
        """For each request how many pieces of its own reasoning came back, where they belong and byte for byte."""
        return [sum(map(self._is_right, entry["thinking"])) for entry in self.asked()]

    def due(self) -> list[int]:
        """For each request how many pieces it had given until then: in one conversation, what has to come back."""
        given = [self._pieces(entry) for entry in self.asked()]
        return [sum(given[:place]) for place in range(len(given))]

    def wrong(self) -> list[dict[str, Any]]:
        """All other reasoning in what came: somebody else's, altered, out of place, in plain text; or its own and not there,
        where that belongs back."""
        found = [piece for entry in self.asked() for piece in entry["thinking"] if not self._is_right(piece)]
        return [piece for piece in found if not self._is_nothing(piece)]

    def _is_right(self, piece: dict[str, Any]) -> bool:
        return (piece["field"], piece["whose"], piece["same"], piece["fate"]) == (self.field, "own", True, "kept")

    def _is_nothing(self, piece: dict[str, Any]) -> bool:
        """A stand-in for what another thought, or tags that are not sent back."""
        return piece["whose"] == "placeholder" or (not self.field and piece["fate"] == "missing")

    def _pieces(self, entry: dict[str, Any]) -> int:
        """A field holds all thoughts of an answer, and nothing that is not shown; entries are one for each."""
        kinds = (entry["response"] or {}).get("content", [])
        if self.field == "reasoning_details":
            return kinds.count("thinking") + kinds.count("redacted_thinking")
        return int("thinking" in kinds and bool(self.field))


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """What a test looks at when a client is done."""

    claude: Witness
    vendor: ChatWitness
    gateway: Gateway

    def is_well(self) -> bool:
        """Nobody refused anything; each got all of its own back, and nothing else."""
        assert (self.claude.refusals(), self.vendor.refusals()) == ([], [])
        assert (self.claude.foreign(), self.vendor.wrong()) == ([], [])
        assert self.claude.given_back() == self.claude.due()
        assert self.vendor.passed_back() == self.vendor.due()
        return True

    def says_nothing_aloud(self) -> bool:
        """No thought stands in any text that a backend got; and no seal reached one."""
        for witness in (self.claude, self.vendor):
            bodies = [witness.body(entry["n"]) for entry in witness.asked()]
            assert [body for body in bodies if b"clew1." in body] == []
        texts = [text for entry in self.claude.asked() for text in texts_in(entry["body"]["messages"])]
        texts += [text for entry in self.vendor.asked() for text in map(_said, entry["body"]["messages"])]
        assert [text for text in texts if PLANTED in text] == []
        return True


@contextmanager
def translated(kind: str, script: str, directory: Path, more: str = "") -> Iterator[Stage]:
    """Start it all; `more` goes into the gateway's config."""
    with ExitStack() as stack:
        claude = stack.enter_context(Witness(script, directory, stance={"prefix_enforcement": "on"}))
        vendor = stack.enter_context(ChatWitness(script, directory, kind))
        config = CONFIG.format(more=more, claude=claude.url, vendor=vendor.url, row=VENDORS[kind].row)
        gateway = stack.enter_context(Gateway(config, {"SIM_KEY": Simulator.key}))
        yield Stage(claude=claude, vendor=vendor, gateway=gateway)


def _said(message: dict[str, Any]) -> str:
    """A message of a chat without its fields for reasoning."""
    return json.dumps({name: value for name, value in message.items() if not name.startswith("reasoning")})


def texts_in(messages: list[dict[str, Any]]) -> list[str]:
    """All that is said, and not thought, in a history of the Messages API."""
    plain = [message["content"] for message in messages if isinstance(message["content"], str)]
    blocks = [block for message in messages if isinstance(message["content"], list) for block in message["content"]]
    return [*plain, *(json.dumps(block) for block in blocks if "thinking" not in block["type"])]


def remembered_aloud(client: ClaudeCode) -> list[str]:
    """What is said with the planted word in the transcripts that a client keeps, which is what it sends."""
    lines = [
        json.loads(line)
        for file in (client.home / ".claude/projects").rglob("*.jsonl")
        for line in file.read_text().splitlines()
    ]
    messages = [line["message"] for line in lines if line["type"] in ("user", "assistant")]
    assert re.search(PLANTED, json.dumps(messages)), "it remembers no thought at all"
    return [text for text in texts_in(messages) if PLANTED in text]
