"""A tool conversation with the official SDK against the strict simulator, kept and sent by the library alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import anthropic
import pytest
from msgspec import structs

from clew import (
    Estimate,
    Message,
    Target,
    asking_for,
    cache_efficiency,
    extract_thinking_blocks,
    format_messages,
    format_response,
    profile_for,
    thinking_report,
    thinking_tokens,
)
from clew.testing import Simulator
from clew.testing.plugin import StartSimulator
from tests.build import Json
from tests.manifest import proves, public
from tests.simulator.wire import TOOL

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:The model 'claude-sonnet-4-5' is deprecated"),  # it is the document's model
]

TURNS = 3
MANUAL = {"type": "enabled", "budget_tokens": 4000}
ADAPTIVE = {"type": "adaptive", "display": "summarized"}
MODES: dict[str, tuple[str, str, Json]] = {
    "manual": ("claude-haiku-4-5", "default", MANUAL),
    "interleaved": ("claude-sonnet-4-5", "interleaved", MANUAL),
    "adaptive": ("claude-opus-5-5", "interleaved", ADAPTIVE),
    "hidden": ("claude-opus-5-5", "loop", {"type": "adaptive", "display": "omitted"}),
    "redacted": ("claude-sonnet-5-5", "redacted", ADAPTIVE),
}


@pytest.fixture
def client(simulator: Simulator) -> Iterator[anthropic.Anthropic]:
    with anthropic.Anthropic(base_url=simulator.url, api_key=simulator.key, max_retries=0) as client:
        yield client


class Talk:
    """An app that keeps its messages as JSON lines, and knows nothing else between two requests."""

    def __init__(self, client: anthropic.Anthropic, model: str, thinking: Json, *, cache: bool = False) -> None:
        self._client = client
        self._asking = asking_for(model, max_tokens=9000, thinking=thinking, temperature=0.3, top_p=0.5)
        self._model, self._cache = model, cache
        self.lines: list[str] = []

    @property
    def messages(self) -> list[Message]:
        return [Message.from_json(line) for line in self.lines]

    def turn(self, words: str) -> None:
        """One turn of the user's: calls are answered until there are none."""
        self.keep(Message(role="user", content=words))
        while (said := self.answered()).tool_calls:
            for call in said.tool_calls:
                self.keep(Message(role="tool", content="sunny", tool_call_id=call.id))

    def answered(self) -> Message:
        said = format_response(self.asked())
        self.keep(said)
        return said

    def asked(self) -> anthropic.types.beta.BetaMessage | Json:
        sent: Any = format_messages(self.messages, cache=self._cache)
        fields: Any = self._asking.fields
        betas = [*self._asking.betas]
        return self._client.beta.messages.create(
            model=self._model, messages=sent, tools=[TOOL], **fields, **({"betas": betas} if betas else {})
        )

    def keep(self, message: Message) -> None:
        self.lines.append(message.to_json())


class Untold(Talk):
    """The same against an API that counts no thinking apart."""

    def asked(self) -> Json:
        message: Any = super().asked()
        answer = message.to_dict()
        del answer["usage"]["output_tokens_details"]
        return answer


def judged(simulator: Simulator) -> list[bool]:
    return [entry["verdict"]["ok"] for entry in simulator.journal()]


def returned(simulator: Simulator) -> list[str]:
    """Whose the thinking blocks are that came with the last request."""
    return [block["whose"] for block in simulator.journal()[-1]["thinking"]]


@public("library")
@proves("req:S2-40")
@pytest.mark.parametrize("cache", [False, True], ids=["plain", "cached"])
@pytest.mark.parametrize(("model", "scenario", "thinking"), MODES.values(), ids=MODES)
def test_three_turns_with_tools(
    simulator: Simulator, client: anthropic.Anthropic, model: str, scenario: str, thinking: Json, cache: bool
) -> None:
    """S2-40: no request is refused, and every block comes back as it was given."""
    talk = Talk(client, model, thinking, cache=cache)
    for turn in range(TURNS):
        talk.turn(f"[[scenario:{scenario}]] question {turn}")
    answers = [message for message in talk.messages if message.role == "assistant"]
    assert len(answers) >= 2 * TURNS
    assert judged(simulator) == [True] * len(answers)
    thoughts = [block for each in answers[:-1] for block in extract_thinking_blocks(each.raw_content)]
    assert returned(simulator) == ["own"] * len(thoughts) != []


@public("library")
@proves("req:S2-40")
def test_the_simulator_is_strict_enough_to_tell(simulator: Simulator, client: anthropic.Anthropic) -> None:
    """S2-40: the document's own mistake, keeping text and calls alone, is refused with the words that it quotes."""

    class Forgetful(Talk):
        def keep(self, message: Message) -> None:
            super().keep(structs.replace(message, raw_content=None))

    with pytest.raises(anthropic.BadRequestError, match="Expected `thinking` or `redacted_thinking`, but found `tool_use`"):
        Forgetful(client, "claude-sonnet-4-5", MANUAL).turn("What is the weather?")


@public("library")
@proves("req:S2-41")
@pytest.mark.parametrize(("model", "scenario", "thinking"), MODES.values(), ids=MODES)
def test_thinking_is_shown_whether_or_not_its_tokens_are_reported(
    client: anthropic.Anthropic, model: str, scenario: str, thinking: Json
) -> None:
    """S2-41: told, the count is the vendor's; untold, it is marked as a guess, and not far from what was told."""
    told, untold = Talk(client, model, thinking), Untold(client, model, thinking)
    for talk in (told, untold):
        talk.turn(f"[[scenario:{scenario}]] question")
    pairs = zip(told.messages, untold.messages, strict=True)
    for one, other in ((one, other) for one, other in pairs if extract_thinking_blocks(one.raw_content)):
        tokens, guess = thinking_tokens(one), thinking_tokens(other)
        assert isinstance(tokens, int)
        assert shown(one) == [*shown(other)[:-1], f"📊 Thinking Metrics: {tokens} tokens used for reasoning"]
        if isinstance(guess, Estimate):
            assert abs(guess.tokens - tokens) <= 20
            assert shown(other)[-1] == f"📊 Thinking Metrics: ≈{guess.tokens} tokens used for reasoning"
        else:
            assert "hidden by the provider" in shown(other)[0]
            assert shown(other)[-1] == "📊 Thinking Metrics: token count not reported"


def shown(message: Message) -> list[str]:
    return thinking_report(thinking_tokens(message), extract_thinking_blocks(message.raw_content))


@public("library")
@proves("req:S2-41")
def test_a_conversation_goes_on_without_any_usage(simulator: Simulator, client: anthropic.Anthropic) -> None:
    """S2-41, S2-39: what is not reported is not needed."""
    simulator.fault("no-usage", times=None)
    talk = Talk(client, "claude-sonnet-4-5", MANUAL)
    talk.turn("[[scenario:redacted]] question")
    answers = [message for message in talk.messages if message.role == "assistant"]
    assert [message.usage for message in answers] == [None] * len(answers)
    assert isinstance(thinking_tokens(answers[0]), Estimate)
    assert thinking_tokens(answers[-1]) is None
    assert judged(simulator) == [True] * len(answers)


@public("library")
@proves("req:S2-42")
def test_the_cache_is_read_from_the_second_request_on(client: anthropic.Anthropic) -> None:
    """S2-42: a true share, of a prompt long enough to be kept."""
    talk = Talk(client, "claude-opus-5-5", ADAPTIVE, cache=True)
    talk.turn("[[scenario:loop]] " + "a long story " * 3000)
    shares = [cache_efficiency(message.usage) for message in talk.messages if message.role == "assistant"]
    assert shares[0] == 0
    assert all(share is not None and 90 < share <= 100 for share in shares[1:])
    assert len(shares) > 1


@public("library")
@proves("req:S2-17", "req:C17")
def test_a_conversation_changes_its_backend_and_comes_back(simulators: StartSimulator) -> None:
    """S2-17: each vendor gets its own thinking and nobody else's, in the middle of a tool loop too."""
    seats = {"claude": (simulators(), "anthropic", "claude-opus-5-5"), "zai": (simulators(kind="zai"), "zai", "glm-5")}
    kept = [Message(role="user", content="What is the weather?")]
    for backend in ("claude", "zai", "claude", "zai", "claude"):
        simulator, realm, model = seats[backend]
        target = Target(backend=backend, model=model, realm=realm, profile=profile_for(model))
        kept += answered(simulator, target, kept)
        assert returned(simulator) == ["own"] * own(kept[:-2], realm)
    assert [judged(simulator) for simulator, *_ in seats.values()] == [[True] * 3, [True] * 2]
    assert [len(returned(simulator)) for simulator, *_ in seats.values()] == [2, 1]


def answered(simulator: Simulator, target: Target, kept: list[Message]) -> list[Message]:
    """What this backend says next, and the results of its calls, or another question."""
    with anthropic.Anthropic(base_url=simulator.url, api_key=simulator.key, max_retries=0) as client:
        messages: Any = format_messages(kept, target=target)
        response = client.messages.create(model=target.model, max_tokens=4000, tools=[TOOL], messages=messages)
    said = format_response(response, target=target)
    results = [Message(role="tool", content="sunny", tool_call_id=call.id) for call in said.tool_calls]
    return [said, *(results or [Message(role="user", content="And tomorrow?")])]


def own(kept: list[Message], realm: str) -> int:
    made = [message.raw_content for message in kept if message.origin and message.origin.realm == realm]
    return sum(len(extract_thinking_blocks(raw)) for raw in made)
