"""The eight steps of the message flow, in the order in which they can be seen; and its example in all three forms."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from clew import AsyncConversation, Ended, TextDelta, ThinkingDelta, ToolCall
from clew.exchange import machine
from clew.pipeline.project import project
from clew.pipeline.ui import for_api
from clew.testing import Simulator
from clew.upstream.pool import Pool
from tests.chat.conversation.conftest import Opening
from tests.engine.talk import SHOWN
from tests.manifest import proves, public

pytestmark = pytest.mark.slow

TOOL = {
    "name": "nansenFlowIntelligence",
    "input_schema": {"type": "object", "properties": {"token_address": {"type": "string"}}},
}
EXAMPLE = """
turn:
  text: Let me fetch flow intelligence data for you
  think: I need to use the nansenFlowIntelligence tool.
  call: nansenFlowIntelligence {"token_address": "3S8q"}

turn:
  think: Based on the flow data.
  text: Here's the analysis: {{result}}
"""


def kinds(message: Any) -> list[str]:
    return [block["type"] for block in message["content"]]


@pytest.fixture
def scripted(tmp_path: Path, simulators: Any) -> Simulator:
    """A Claude that plays the example."""
    script = tmp_path / "example.scenario"
    script.write_text(EXAMPLE)
    simulator: Simulator = simulators(scenario=str(script))
    home = tmp_path / "scripted"
    home.mkdir(mode=0o700)
    (home / "clew.toml").write_text(
        f'[backends.claude]\npreset = "anthropic"\nurl = "{simulator.url}"\nkey = "{simulator.key}"\n'
    )
    return simulator


def watch(monkeypatch: pytest.MonkeyPatch, conversation: AsyncConversation) -> list[str]:
    """What happens, as it happens."""
    seen: list[str] = []
    desk: Any = conversation.service
    store = desk.store
    record, ask = store.record, Pool.ask

    def recorded(turn: Any) -> Any:
        done = record(turn)
        answer = [json.loads(raw)["type"] for raw in turn.recording.blocks]
        seen.append(f"save {json.loads(turn.asked[-1])['content']!r} {turn.exchange.outcome} {answer}")
        done.add_done_callback(lambda _: seen.append(f"saved {turn.exchange.outcome}"))
        return done

    def projected(*given: Any, **more: Any) -> Any:
        seen.append("transform")
        return project(*given, **more)

    def asked(self: Pool, *given: Any, **more: Any) -> Any:
        seen.append("send")
        return ask(self, *given, **more)

    monkeypatch.setattr(store, "record", recorded)
    monkeypatch.setattr(machine, "project", projected)
    monkeypatch.setattr(Pool, "ask", asked)
    return seen


@proves("req:S4-2", "req:S4-3", "req:S4-5", "req:S4-6")
def test_the_eight_steps_happen_in_their_order(here: Opening, monkeypatch: pytest.MonkeyPatch) -> None:
    """Document 004: saved as it came, transformed, sent, streamed as generated, saved as generated, and then the end."""

    async def talk() -> tuple[list[str], list[str]]:
        async with here() as conversation:
            seen = watch(monkeypatch, conversation)
            async for event in conversation.ask("Look. [[scenario:interleaved]]"):
                seen.append(type(event).__name__)
            return seen, kinds(conversation.messages[-1])

    seen, shown = asyncio.run(talk())
    said = "'Look. [[scenario:interleaved]]'"
    assert shown == ["thinking", "text", "thinking", "tool_use"]
    assert [step for at, step in enumerate(seen) if step != seen[at - 1]] == [
        f"save {said} open []",
        "saved open",
        "transform",
        "send",
        "ThinkingDelta",
        "TextDelta",
        "ThinkingDelta",
        "ToolCall",
        f"save {said} whole {shown}",
        "saved whole",
        "Ended",
    ]


@public("library")
@proves("req:S4-31", "req:S4-7", "req:S4-6", "req:C14")
def test_the_example_is_stored_shown_and_sent_each_in_its_form(scripted: Simulator, tmp_path: Path) -> None:
    """Document 004's token analysis: stored and shown as generated; what goes back is signed, so it goes as generated."""

    async def talk() -> tuple[Any, ...]:
        opened = AsyncConversation.open(
            home=tmp_path / "scripted", environ={}, model="claude-opus-5-5", tools=[TOOL], thinking=SHOWN
        )
        async with opened as conversation:
            first = [event async for event in conversation.ask("Analyze MOTHER token")]
            [call] = conversation.calls
            shown = conversation.messages
            last = await conversation.results({call.id: {"data": "…"}})
            passages = conversation.service.store.passages("local", conversation.thread)
            return first, shown, last, conversation.messages, await conversation.as_sent(), passages

    first, shown, last, after, sent, passages = asyncio.run(talk())
    assert [type(event) for event in first if isinstance(event, ToolCall | Ended)] == [ToolCall, Ended]
    assert isinstance(first[0], TextDelta)
    assert ThinkingDelta in [type(event) for event in first]
    assert kinds(shown[1]) == ["text", "thinking", "tool_use"]
    assert shown == after[:2]
    assert [message["role"] for message in after] == ["user", "assistant", "user", "assistant"]
    assert after[2]["content"][0]["content"] == '{"data": "…"}'
    assert kinds(after[3]) == ["thinking", "text"]
    assert last.content == 'Here\'s the analysis: {"data": "…"}'
    stored = [[json.loads(raw) for raw in passage.recording.blocks] for passage in passages]
    assert stored == [after[1]["content"], after[3]["content"]]
    went = json.loads(scripted.body(scripted.journal()[-1]["n"]))["messages"]
    assert went[1]["content"] == after[1]["content"]
    assert list(sent.messages) == after
    assert sent.changes == ()


@proves("req:S4-31", "req:S4-32")
def test_the_documents_own_mode_puts_unsigned_thinking_first_in_what_is_sent_alone(
    scripted: Simulator, tmp_path: Path
) -> None:
    """S4-31: in compat mode [thinking, text, tool-call] is sent; reading still gives what was generated."""

    async def talk() -> tuple[Any, Any, Any]:
        opened = AsyncConversation.open(
            home=tmp_path / "scripted", environ={}, model="claude-opus-5-5", tools=[TOOL], thinking=SHOWN
        )
        async with opened as conversation:
            await conversation.ask("Analyze MOTHER token")
            before = msgspec.json.encode(conversation.messages)
            ui = [
                {"role": each["role"], "id": str(at), "parts": parts(each)} for at, each in enumerate(conversation.messages)
            ]
            return before, for_api(ui, thinking_first="reorder"), msgspec.json.encode(conversation.messages)

    before, sent, after = asyncio.run(talk())
    assert [part["type"] for part in sent.messages[1]["parts"]] == ["thinking", "text", "tool-call"]
    assert [part["type"] for part in for_api(sent.messages).messages[0]["parts"]] == ["text"]
    assert before == after


def parts(message: Any) -> list[Any]:
    """As a front end of the document keeps them: of reasoning the text alone."""
    if isinstance(message["content"], str):
        return [{"type": "text", "text": message["content"]}]
    made = [{**block, "type": "tool-call"} if block["type"] == "tool_use" else block for block in message["content"]]
    return [{"type": "reasoning", "text": part["thinking"]} if part["type"] == "thinking" else part for part in made]
