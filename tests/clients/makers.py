"""Three makers behind one gateway, each in its own dialect and as its preset says: OpenAI, Claude and DeepSeek.

All are judges: each knows every piece of reasoning that it gave, by its bytes. All play the same script, and the turn that is
due follows from the history. So whichever is asked goes on where another stopped, and a script can let the client itself run
`sh use claude`, or `sh again 4`, which kills the gateway and waits until it is back.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clew.testing import Simulator
from tests.clients.gateway import Gateway
from tests.clients.translated import PLANTED, ChatWitness
from tests.clients.witness import Witness, written

CONFIG = """
active = "openai"

[backends.openai]
preset = "openai"
model = "gpt-5.5"
url = "{openai}/v1"
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
  call: run {"command": "sh again 4"}
turn:
  think: The xylophone survives.
  call: run {"command": "sh use openai"}
turn:
  think: The last xylophone.
  text: Done.
"""
"""OpenAI → Claude → DeepSeek, where the gateway dies → OpenAI, all in one loop."""


class ResponsesWitness(Simulator):
    """OpenAI itself, which plays a script of the test's."""

    def __init__(self, script: str, directory: Path) -> None:
        super().__init__(scenario=written(script, directory), kind="openai-responses")

    def asked(self) -> list[dict[str, Any]]:
        """What it was asked to answer, in order of arrival."""
        return [entry for entry in self.journal() if (entry["method"], entry["path"]) == ("POST", "/v1/responses")]

    def refusals(self) -> list[Any]:
        """What it refused. Empty is what every test wants."""
        return [entry["verdict"] for entry in self.asked() if entry["verdict"] and not entry["verdict"]["ok"]]

    def passed_back(self) -> list[int]:
        """For each request how many of its own reasoning items came back, byte for byte."""
        return [sum(map(self._is_right, entry["thinking"])) for entry in self.asked()]

    def due(self) -> list[int]:
        """For each request how many items it had given until then: in one conversation, what has to come back."""
        given = [(entry["response"] or {}).get("content", []).count("thinking") for entry in self.asked()]
        return [sum(given[:place]) for place in range(len(given))]

    def wrong(self) -> list[dict[str, Any]]:
        """All other reasoning in what came: somebody else's, altered, or its own and not there."""
        return [piece for entry in self.asked() for piece in entry["thinking"] if not self._is_right(piece)]

    def _is_right(self, piece: dict[str, Any]) -> bool:
        """Reasoning of earlier turns is taken, and by some models not read."""
        return (piece["whose"], piece["same"]) == ("own", True) and piece["fate"] in ("kept", "unread")


@dataclass(frozen=True, slots=True, kw_only=True)
class Makers:
    """What a test looks at when a client is done."""

    openai: ResponsesWitness
    claude: Witness
    deepseek: ChatWitness
    gateway: Gateway

    def is_well(self) -> bool:
        """Nobody refused anything; each got all of its own back, and nothing else."""
        others = (self.openai, self.deepseek)
        assert [self.claude.refusals(), *(each.refusals() for each in others)] == [[], [], []]
        assert [self.claude.foreign(), *(each.wrong() for each in others)] == [[], [], []]
        assert self.claude.given_back() == self.claude.due()
        assert [each.passed_back() for each in others] == [each.due() for each in others]
        return True

    def counts(self) -> dict[str, int]:
        """How often each was asked."""
        return {name: len(getattr(self, name).asked()) for name in ("openai", "claude", "deepseek")}

    def says_nothing_aloud(self) -> bool:
        """No seal reached a maker; and the planted word only as often as there is reasoning that belongs there."""
        for witness in (self.claude, self.openai, self.deepseek):
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
def makers(script: str, directory: Path, *, gateway: type[Gateway] = Gateway) -> Iterator[Makers]:
    """Start it all; OpenAI is asked first."""
    with ExitStack() as stack:
        claude = stack.enter_context(Witness(script, directory, stance={"prefix_enforcement": "on"}))
        openai = stack.enter_context(ResponsesWitness(script, directory))
        deepseek = stack.enter_context(ChatWitness(script, directory, "deepseek-chat"))
        config = CONFIG.format(openai=openai.url, claude=claude.url, deepseek=deepseek.url)
        started = stack.enter_context(gateway(config, {"SIM_KEY": Simulator.key}))
        yield Makers(openai=openai, claude=claude, deepseek=deepseek, gateway=started)
