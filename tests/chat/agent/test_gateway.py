"""An agent on a gateway that runs elsewhere: the same runs, the tools in this process."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from clew import Agent, AsyncAgent, Limits, StepFinished, ToolStarted
from clew.chat.agent.calls import INTERRUPTED
from tests.chat.agent.conftest import MODELS, SHOWN, SetUp
from tests.chat.conversation.gateway import Gateway
from tests.engine.talk import MODEL, refusals

pytestmark = pytest.mark.slow

SCRIPT = """
turn:
  think: First a look.
  call: look {"place": "shelf"}
turn:
  think: Somebody else knows more.
  call: scout {"prompt": "Look! [[scenario:text]]"}
turn:
  text: {{result}}
"""


def look(place: str) -> str:
    """Looks at a place."""
    return f"dust on the {place}"


def test_a_run_over_a_gateway_switches_and_sends_sub_agents(stage: SetUp) -> None:
    on = stage(SCRIPT, "claude", "deepseek")
    with Gateway(on.home) as gateway:
        agent = Agent(model=MODEL, thinking=SHOWN, tools=[look, Agent(name="scout")])
        with agent.open(url=gateway.url, key=gateway.token, **on.place) as opened:

            def listen(event: object) -> None:
                if isinstance(event, StepFinished) and event.step == 2:
                    opened.conversation.use("deepseek", model=MODELS["deepseek"])

            result = opened.run("Look!", listen=listen)
            backends = [turn.backend for turn in opened.conversation.turns]
        assert gateway.runtime.store is not None
        tree = gateway.runtime.store.tree("local", result.thread)
    assert (result.ending, result.output) == ("answered", "Hello. This is a plain answer.")
    assert backends == ["claude", "claude", "deepseek"]
    assert [refusals(each) for each in on.backends.values()] == [[], []]
    assert [(branch.agent[:5], len(branch.exchanges)) for branch in tree] == [("", 3), ("scout", 1)]


def test_calls_that_are_pending_are_run_by_anyone_who_goes_on(stage: SetUp) -> None:
    """Nobody began them, and the gateway knows: another process goes on as the one that heard the answer would."""
    on = stage(SCRIPT)

    async def talk(gateway: Gateway) -> tuple[Any, ...]:
        place = {"url": gateway.url, "key": gateway.token, **on.place}
        short = AsyncAgent(model=MODEL, tools=[look], limits=Limits(steps=1))
        async with short.open(**place) as opened:
            first = await opened.run("Look!")
            second = await opened.resume()
            own: Any = opened.conversation.messages[2]["content"]
        other = await short.run("Look!", **place)
        async with short.open(other.thread, **place) as opened:
            await opened.resume()
            others: Any = opened.conversation.messages[2]["content"]
        return first.ending, second.ending, own[0]["content"], others[0]["content"]

    with Gateway(on.home) as gateway:
        endings = asyncio.run(talk(gateway))
    assert endings == ("limit", "limit", "dust on the shelf", "dust on the shelf")


def test_calls_that_were_left_in_the_middle_are_not_run_again(stage: SetUp) -> None:
    on = stage(SCRIPT)

    async def talk(gateway: Gateway) -> str:
        agent = AsyncAgent(model=MODEL, tools=[look], limits=Limits(steps=1))
        async with agent.open(url=gateway.url, key=gateway.token, **on.place) as opened:
            assert (await opened.run("Look!")).ending == "limit"
            async with opened.resume() as run:
                async for event in run:
                    if isinstance(event, ToolStarted):
                        break
            await opened.resume()
            content: Any = opened.conversation.messages[2]["content"]
            return content[0]["content"]

    with Gateway(on.home) as gateway:
        assert asyncio.run(talk(gateway)) == INTERRUPTED
