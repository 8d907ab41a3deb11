"""Three makers behind one gateway, each as its preset says: Claude, and two vendors that speak dialects of OpenAI's.

All are judges: each knows every piece of reasoning that it gave, by its bytes. All play the same script, and the turn that is
due follows from the history. So whichever is asked goes on where another stopped, and a script can let the client itself run
`sh use claude`, or `sh again`, which kills the gateway and waits until it is back.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clew.testing import Simulator
from tests.clients.gateway import Gateway
from tests.clients.translated import PLANTED, ChatWitness
from tests.clients.witness import Witness

CONFIG = """
active = "vendor"

[backends.vendor]
{row}
url = "{vendor}/v1"
key = "${{SIM_KEY}}"

[backends.claude]
preset = "anthropic"
model = "claude-opus-5-5"
url = "{claude}"
key = "${{SIM_KEY}}"

[backends.deepseek]
preset = "deepseek"
dialect = "openai-chat"
url = "{deepseek}/v1"
key = "${{SIM_KEY}}"
"""

LOOP = """
turn:
  think: A xylophone first, "quoted", näher 木琴.
  call: run {"command": "echo one"}
turn:
  think: Two xylophones at once.
  text: Two at once.
  call: run {"command": "echo two"}
  call: run {"command": "sh use claude"}
turn:
  think: Claude has a xylophone of its own.
  redacted: And one in the dark.
  call: run {"command": "sh use deepseek"}
turn:
  think: A deep xylophone.
  call: run {"command": "sh again"}
turn:
  think: The xylophone survives.
  call: run {"command": "sh use vendor"}
turn:
  think: The last xylophone.
  text: Done.
"""
"""Vendor → Claude → DeepSeek, where the gateway dies → vendor, all in one loop."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Makers:
    """What a test looks at when a client is done."""

    claude: Witness
    vendor: ChatWitness
    deepseek: ChatWitness
    gateway: Gateway

    def is_well(self) -> bool:
        """Nobody refused anything; each got all of its own back, and nothing else."""
        others = (self.vendor, self.deepseek)
        assert [self.claude.refusals(), *(each.refusals() for each in others)] == [[], [], []]
        assert [self.claude.foreign(), *(each.wrong() for each in others)] == [[], [], []]
        assert self.claude.given_back() == self.claude.due()
        assert [each.passed_back() for each in others] == [each.due() for each in others]
        return True

    def counts(self) -> dict[str, int]:
        """How often each was asked."""
        return {name: len(getattr(self, name).asked()) for name in ("vendor", "claude", "deepseek")}

    def says_nothing_aloud(self) -> bool:
        """No seal reached a maker; and the planted word only as often as there is reasoning that belongs there."""
        for witness in (self.claude, self.vendor, self.deepseek):
            bodies = [witness.body(entry["n"]) for entry in witness.asked()]
            assert [body for body in bodies if b"clew1." in body or b"clew2." in body] == []
        assert [entry for entry in self.claude.asked() if PLANTED in str(_without_thinking(entry["body"]))] == []
        return True


def _without_thinking(body: dict[str, Any]) -> list[Any]:
    messages = [message["content"] for message in body["messages"]]
    return [
        content if isinstance(content, str) else [block for block in content if "thinking" not in block["type"]]
        for content in messages
    ]


@contextmanager
def makers(kind: str, row: str, script: str, directory: Path) -> Iterator[Makers]:
    """Start it all. `kind` is the vendor that the simulator plays, and `row` how a user would configure it."""
    with ExitStack() as stack:
        claude = stack.enter_context(Witness(script, directory, stance={"prefix_enforcement": "on"}))
        vendor = stack.enter_context(ChatWitness(script, directory, kind))
        deepseek = stack.enter_context(ChatWitness(script, directory, "deepseek-chat"))
        config = CONFIG.format(row=row, vendor=vendor.url, claude=claude.url, deepseek=deepseek.url)
        gateway = stack.enter_context(Gateway(config, {"SIM_KEY": Simulator.key}))
        yield Makers(claude=claude, vendor=vendor, deepseek=deepseek, gateway=gateway)
